//! The workload file: requests, their schedule and their target, in one TOML file that is checked once.
//!
//! # Example
//! The schedule of one minute of Poisson arrivals, and the part of the second of three workers: every third request, to the
//! nanosecond.
//! ```
//! use offered_base::{Instant, Share};
//! use offered_workload::Workload;
//!
//! let text = r#"
//!     seed = 42
//!     duration = "1m"
//!     arrivals.open = { rate = "100/s" }
//!     target.url = "http://127.0.0.1:8080/"
//! "#;
//! let workload = Workload::parse(text, "workload.toml", &|path| Err(format!("{path}: no files here")))?;
//! let launches = |share: Share| -> Vec<Instant> {
//!     let mut agenda = workload.agenda(share);
//!     std::iter::from_fn(|| agenda.due(Instant::MAX)).map(|launch| launch.intended).collect()
//! };
//! let (all, second) = (launches(Share::ALL), launches("2/3".parse()?));
//! assert!((all.len() as f64 - 6000.0).abs() < 4.0 * 6000f64.sqrt());
//! assert!(second.iter().eq(all.iter().skip(1).step_by(3)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod address;
pub mod attempts;
mod auth;
pub mod breaker;
mod by_label;
pub mod catalogue;
mod check;
mod composed;
pub mod condition;
mod defaults;
mod draw;
pub mod engine;
mod event_stream;
pub mod failed_checks;
mod failure;
mod generator;
mod goodput;
mod group;
mod local_access;
mod login;
mod misfit;
mod mix;
mod names;
mod oauth2;
mod observe;
mod policies;
pub mod policy;
pub mod prompt;
mod rates;
mod read;
mod request;
pub mod retry;
mod scenario;
pub mod script;
pub mod secret;
mod server;
mod shape;
mod source;
mod sql;
mod submit;
mod target;
pub mod template;
#[cfg(test)]
mod tests;
pub mod threshold;
pub mod token_lengths;
pub mod token_trace;
mod toml_text;
mod url;
mod work;
mod write;

use std::ops::Range;
use std::sync::Arc;

pub use address::Address;
pub use event_stream::{EventStream, StreamFormat};
pub use generator::{Generator, OnDiskFull, Priority, WaitMode};
pub use goodput::Goodput;
pub use group::Group;
pub use local_access::EnvironmentVariable;
pub use login::{Encryption, Login};
pub use mix::Mix;
pub use names::SingleBraces;
pub use observe::{Observe, Scrape};
pub use policies::{Policies, Turn};
pub use policy::Policy;
pub use rates::Rates;
pub use read::{Files, digest};
pub use request::{Call, Chat, Request, bytes_of_hex};
pub use server::{Region, Server, Station, WhenFull};
pub use shape::schema;
pub use source::Mistake;
pub use sql::{Pool, Sql, Statement};
pub use submit::{Field, Submit};
pub use target::{Descriptors, Identity, Protocol, Proxy, Resolve, Reuse, Target, Tls};
pub use template::Template;
pub use threshold::{Objective, Threshold};
pub use url::Url;
pub use work::Works;
pub use write::sessions_to_toml;

use condition::Condition;
use offered_base::InvalidValue;
use offered_base::Share;
use offered_base::random::Seed;
use offered_base::time::{Instant, Nanos};
use offered_schedule::Agenda;
use offered_schedule::Count;
use offered_schedule::Sessions;
use offered_schedule::flow::Flows;
use script::Variable;
use secret::SecretNames;

/// A checked workload. [`Workload::parse`] reads the text of its [`Display`](std::fmt::Display) as the same workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload(Draft);

/// The parts of a workload, unchecked; [`Workload::new`] checks them.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// The seed of all random choices.
    pub seed: Seed,
    /// Duration of the schedule; [`Nanos::MAX`] if only the count ends the run.
    pub duration: Nanos,
    /// Maximum number of requests or sessions; `None`: no maximum.
    pub count: Option<Count>,
    /// Duration at the start that is excluded from statistics (warm-up); its events are recorded.
    pub skip_first: Nanos,
    /// Duration at the end that is excluded from statistics (ramp-down); its events are recorded.
    pub skip_last: Nanos,
    /// Time for which visits in progress may continue after the end; if it is zero, the end cuts them off.
    pub finish: Nanos,
    /// Policy for late requests.
    pub late: Late,
    /// Names of fields with secret values.
    pub secret_names: SecretNames,
    /// The system model.
    pub sessions: Sessions,
    /// The real server.
    pub target: Option<Target>,
    /// Further real servers, each with a name.
    pub more_targets: Vec<Target>,
    /// The modelled server.
    pub server: Option<Server>,
    /// The modelled network instead of a server; otherwise empty.
    pub stations: Vec<Station>,
    /// Regions of the modelled network with a limited capacity, besides stations with a capacity.
    pub regions: Vec<Region>,
    /// Settings of the load generator.
    pub generator: Generator,
    /// Observers and scrapes of the server side.
    pub observe: Observe,
    /// Server policies that alternate within the run.
    pub policies: Option<Policies>,
    /// Variables for templates, in addition to values extracted from responses.
    pub variables: Vec<Variable>,
    /// The requests; for a replay, those of its trace.
    pub requests: Vec<Request>,
    /// The conditions of the flows, by number.
    pub conditions: Vec<Condition>,
    /// The parts of visits that are measured as groups.
    pub groups: Vec<Group>,
    /// The limits of a good request, if stated.
    pub goodput: Option<Goodput>,
    /// Pass criteria of the run.
    pub thresholds: Vec<Threshold>,
}

impl Draft {
    /// The real server of a request.
    pub(crate) fn target_of(&self, request: &Request) -> Option<&Target> {
        self.target.iter().chain(&self.more_targets).nth(request.target.into())
    }

    /// A draft with these sessions and this duration, seed 1 and one request, `GET /`; defaults otherwise.
    pub fn new(sessions: Sessions, duration: Nanos) -> Self {
        Self {
            seed: Seed(1),
            duration,
            count: None,
            skip_first: Nanos::ZERO,
            skip_last: Nanos::ZERO,
            finish: Nanos::ZERO,
            late: Late::Send,
            secret_names: SecretNames::default(),
            sessions,
            target: None,
            more_targets: Vec::new(),
            server: None,
            stations: Vec::new(),
            regions: Vec::new(),
            generator: Generator::default(),
            observe: Observe::default(),
            policies: None,
            variables: Vec::new(),
            requests: vec![Request::get("/")],
            conditions: Vec::new(),
            groups: Vec::new(),
            goodput: None,
            thresholds: Vec::new(),
        }
    }
}

impl Workload {
    /// The scheduled requests of `share` of the run.
    pub fn agenda(&self, share: Share) -> Agenda {
        let agenda = Agenda::new(self.sessions(), self.seed(), self.end(), self.count(), share);
        if self.0.finish > Nanos::ZERO { agenda.finishing(self.0.finish) } else { agenda }
    }

    /// The same workload with another seed.
    #[must_use]
    pub fn with_seed(self, seed: Seed) -> Self {
        Self(Draft { seed, ..self.0 })
    }

    /// This workload with another duration.
    ///
    /// # Errors
    /// A duration of zero, or one that `skip_first` and `skip_last` exclude completely.
    pub fn with_duration(self, duration: Nanos) -> Result<Self, InvalidValue> {
        Self::new(Draft { duration, ..self.0 })
    }

    /// This workload with another count.
    ///
    /// # Errors
    /// A count of zero, or a workload that cannot have a count.
    pub fn with_count(self, count: Option<Count>) -> Result<Self, InvalidValue> {
        Self::new(Draft { count, ..self.0 })
    }

    /// This workload with another system model.
    ///
    /// # Errors
    /// Flows or a trace with requests that the workload lacks, or without some of its requests.
    pub fn with_sessions(self, sessions: Sessions) -> Result<Self, InvalidValue> {
        Self::new(Draft { sessions, ..self.0 })
    }

    /// This workload with these weights of its requests.
    ///
    /// # Errors
    /// Another number of weights than of requests, a weight below zero, only zeros, or a replay, which has no weights.
    pub fn with_weights(mut self, weights: &[f64]) -> Result<Self, InvalidValue> {
        if weights.len() != self.0.requests.len() {
            return Err(InvalidValue::new(format!("{} weights for {} requests", weights.len(), self.0.requests.len())));
        }
        self.0.requests.iter_mut().zip(weights).for_each(|(request, weight)| request.weight = *weight);
        Self::new(self.0)
    }

    /// The seed of all random choices.
    pub fn seed(&self) -> Seed {
        self.0.seed
    }

    /// Duration of the schedule; [`Nanos::MAX`] if only the count ends the run.
    pub fn duration(&self) -> Nanos {
        self.0.duration
    }

    /// Duration of the schedule; `None` if only the count ends the run.
    pub fn time_limit(&self) -> Option<Nanos> {
        Some(self.0.duration).filter(|duration| *duration < Nanos::MAX)
    }

    /// Maximum number of requests or sessions; `None`: no maximum.
    pub fn count(&self) -> Option<Count> {
        self.0.count
    }

    /// Maximum number of requests; `None` without a count of requests.
    pub fn max_requests(&self) -> Option<u64> {
        match (self.0.count?, &self.0.sessions) {
            (Count::Requests(n), _) | (Count::Sessions(n), Sessions::Open(_)) => Some(n),
            (Count::Sessions(_), _) => None,
        }
    }

    /// End of the schedule: requests are scheduled before this instant.
    pub fn end(&self) -> Instant {
        Instant::ZERO + self.0.duration
    }

    /// Time for which visits in progress may continue after the end; if it is zero, the end cuts them off.
    pub fn finish(&self) -> Nanos {
        self.0.finish
    }

    /// The end of the last visits: requests are sent before this instant.
    pub fn last(&self) -> Instant {
        self.end() + self.0.finish
    }

    /// Duration at the start that is excluded from statistics (warm-up); its events are recorded.
    pub fn skip_first(&self) -> Nanos {
        self.0.skip_first
    }

    /// Duration at the end that is excluded from statistics (ramp-down); its events are recorded.
    pub fn skip_last(&self) -> Nanos {
        self.0.skip_last
    }

    /// The measured time, without ramp-up and ramp-down.
    pub fn counted(&self) -> Range<Instant> {
        Instant::ZERO + self.0.skip_first..self.end().earlier(self.0.skip_last)
    }

    /// Policy for late requests.
    pub fn late(&self) -> Late {
        self.0.late
    }

    /// Names of fields with secret values.
    pub fn secret_names(&self) -> &SecretNames {
        &self.0.secret_names
    }

    /// The system model.
    pub fn sessions(&self) -> &Sessions {
        &self.0.sessions
    }

    /// The real server. If there are several, this is the first, which is the default.
    pub fn target(&self) -> Option<&Target> {
        self.0.target.as_ref()
    }

    /// All real servers, in the order of [`Request::target`].
    pub fn targets(&self) -> impl Iterator<Item = &Target> {
        self.0.target.iter().chain(&self.0.more_targets)
    }

    /// The real server of a request.
    pub fn target_of(&self, request: &Request) -> Option<&Target> {
        self.0.target_of(request)
    }

    /// The connections that a run needs: a protocol client for each target, by index, and another (`true`) for its WebSocket messages.
    pub fn clients(&self) -> Vec<(u16, bool)> {
        let is_socket = |request: &Request| matches!(request.call, Call::WebSocket(_));
        let has_sockets = |target| self.0.requests.iter().any(|request| request.target == target && is_socket(request));
        let targets = (self.targets().count() as u16).max(1);
        let has_tokens = |request: &Request| {
            let auth = self.target_of(request).and_then(|target| request.auth_to(target));
            matches!(auth, Some(script::Auth::OAuth2(_)))
        };
        if targets == 1 && self.0.requests.iter().all(|request| is_socket(request) && !has_tokens(request)) {
            return vec![(0, true)];
        }
        let plain = (0..targets).map(|target| (target, false));
        plain.chain((0..targets).filter(|target| has_sockets(*target)).map(|target| (target, true))).collect()
    }

    /// This workload with target `index` as its default, to prepare the connections to it.
    #[must_use]
    pub fn for_target(&self, index: u16) -> Self {
        let target = self.targets().nth(index.into()).cloned();
        Self(Draft { target, ..self.0.clone() })
    }

    /// Settings of the load generator.
    pub fn generator(&self) -> Generator {
        self.0.generator
    }

    /// Observers and scrapes of the server side.
    pub fn observe(&self) -> &Observe {
        &self.0.observe
    }

    /// Server policies that alternate within the run.
    pub fn policies(&self) -> Option<&Policies> {
        self.0.policies.as_ref()
    }

    /// Variables for templates, in addition to values extracted from responses.
    pub fn variables(&self) -> &[Variable] {
        &self.0.variables
    }

    /// The requests; at least one.
    pub fn requests(&self) -> &[Request] {
        &self.0.requests
    }

    /// The conditions of the flows, by number.
    pub fn conditions(&self) -> &[Condition] {
        &self.0.conditions
    }

    /// Checks that the paths of sessions can be drawn without responses.
    ///
    /// # Errors
    /// A condition of a flow states no probability.
    pub fn check_probabilities(&self) -> Result<(), InvalidValue> {
        let Some(step) = self.flows().and_then(|flows| flows.unstated()) else { return Ok(()) };
        Err(InvalidValue::new(format!(
            "step `{}` has a condition that only responses decide; to simulate sessions, state its probability in it: {{ ..., probability = 0.1 }}",
            step.name
        )))
    }

    /// Whether two runs send different texts, because a text contains the run ID or a value derived from it.
    pub fn uses_run_id(&self) -> bool {
        let of_run = |variable: &Variable| match &variable.source {
            script::Source::Uuid => true,
            script::Source::Composed(text) => text.pieces().iter().any(template::Piece::uses_run_id),
            _ => false,
        };
        self.0.variables.iter().any(of_run)
            || self.0.requests.iter().any(|request| names::uses_run_id(request, self.target_of(request)))
    }

    /// Names of values in single braces, which were placeholders in earlier versions.
    pub fn singles(&self) -> Vec<SingleBraces> {
        names::singles(&self.0)
    }

    /// The limits of a good request, if stated.
    pub fn goodput(&self) -> Option<Goodput> {
        self.0.goodput
    }

    /// Pass criteria of the run.
    pub fn thresholds(&self) -> &[Threshold] {
        &self.0.thresholds
    }
}

/// Policy for a request that cannot be sent at its scheduled time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Late {
    /// Send the request as soon as possible and record its lateness.
    Send,
    /// Do not send it if it is later than this; record an event with outcome `unsent`.
    Skip(Nanos),
}

impl Workload {
    /// The flows that its sessions walk through.
    pub fn flows(&self) -> Option<&Arc<Flows>> {
        self.0.sessions.flows()
    }

    /// The names of the metrics of requests that have some, each with the name of its request.
    pub fn metrics(&self) -> Vec<(String, Vec<String>)> {
        let of = |request: &Request| (request.name.clone(), request.metrics().map(str::to_owned).collect::<Vec<_>>());
        self.0.requests.iter().map(of).filter(|(_, metrics)| !metrics.is_empty()).collect()
    }

    /// The parts of visits that are measured as groups.
    pub fn groups(&self) -> &[Group] {
        &self.0.groups
    }

    /// The name of flow and step at each place of the flows: `visitor/look`; empty without flows.
    pub fn place_names(&self) -> Vec<String> {
        let Some(flows) = self.flows() else { return Vec::new() };
        let names = flows.step_names();
        (0..).map_while(|place| Some(names[flows.step_number(place)?].clone())).collect()
    }

    /// The expected share of each request in all requests; they add up to 1. For a replay: in all entries of the trace.
    pub fn shares(&self) -> Vec<f64> {
        if let Sessions::Replay(replay) = &self.0.sessions
            && replay.trace().has_requests()
        {
            let counts = replay.counts(self.0.requests.len());
            let total: u64 = counts.iter().sum();
            return counts.iter().map(|count| *count as f64 / total as f64).collect();
        }
        if self.scenarios().is_some() {
            return self.shares_of_scenarios();
        }
        let total: f64 = self.0.requests.iter().map(|request| request.weight).sum();
        let by_weight = || self.0.requests.iter().map(|request| request.weight / total).collect();
        self.flows().map_or_else(by_weight, |flows| flows.shares(self.0.requests.len()))
    }

    /// The mean think time after a request, seconds; `None` if sessions do not think by a distribution.
    pub fn mean_think(&self) -> Option<f64> {
        let distribution = match &self.0.sessions {
            Sessions::Closed(closed) => return Some(closed.mean_think()),
            Sessions::PartlyOpen { think, .. } => think,
            _ => return None,
        };
        Some(self.flows().map_or_else(|| distribution.mean(), |flows| flows.mean_think(distribution)))
    }

    /// The mean scheduled rate of the whole run, in requests per second; `None` for a closed system, whose
    /// rate depends on the server.
    pub fn scheduled_rate(&self) -> Option<f64> {
        let end = self.scheduled_until();
        Some(self.scheduled_before(end)? / end.as_secs_f64())
    }

    /// The highest expected rate at any time, in requests per second, if responses take no time; `None` if only responses limit the
    /// rate of users.
    pub fn max_rate_per_s(&self) -> Option<f64> {
        let end = self.scheduled_until();
        match &self.0.sessions {
            Sessions::Open(schedule) => Some(schedule.rate().peak(end)),
            Sessions::Replay(replay) => Some(replay.peak(end) as f64),
            Sessions::PartlyOpen { schedule, length, .. } => Some(schedule.rate().peak(end) * length.mean()),
            Sessions::Closed(closed) => closed.max_rate_per_s(),
            Sessions::Scenarios(_) => self.sum_of_scenarios(end, |one, _| one.max_rate_per_s()),
        }
    }

    /// The expected end of the schedule: the time at which the count is reached, if that does not depend on the server, otherwise the
    /// duration.
    pub fn scheduled_until(&self) -> Instant {
        let reached = self.0.count.and_then(|count| match &self.0.sessions {
            Sessions::Open(schedule) => schedule.rate().instant(count.sessions(1.0)),
            Sessions::PartlyOpen { schedule, length, .. } => schedule.rate().instant(count.sessions(length.mean())),
            Sessions::Replay(replay) => Some(replay.clone().first(count).last() + Nanos(1)),
            Sessions::Closed(_) | Sessions::Scenarios(_) => None,
        });
        reached.map_or(self.end(), |reached| reached.min(self.end()))
    }

    /// The expected number of requests scheduled before `end`; `None` if it depends on the server. For a partly-open
    /// system: all requests of sessions that arrive before `end`.
    pub fn scheduled_before(&self, end: Instant) -> Option<f64> {
        let end = end.min(self.scheduled_until());
        match &self.0.sessions {
            Sessions::Open(schedule) => Some(schedule.rate().cumulative(end)),
            Sessions::PartlyOpen { schedule, length, .. } => Some(length.mean() * schedule.rate().cumulative(end)),
            Sessions::Replay(replay) => {
                let replay = self.0.count.map_or_else(|| replay.clone(), |count| replay.clone().first(count));
                Some(replay.entries_before(end)? as f64)
            }
            Sessions::Closed(_) => None,
            Sessions::Scenarios(_) => self.sum_of_scenarios(end, Self::scheduled_before),
        }
    }

    /// Whether closed users become new visitors after each visit.
    pub fn renews(&self) -> bool {
        match &self.0.sessions {
            Sessions::Closed(closed) => closed.renews(),
            Sessions::Scenarios(_) => self.each_scenario().any(|one| one.renews()),
            _ => false,
        }
    }

    /// Whether requests need a script: values, cookies, checks, streams or objects, which a plain transport does not
    /// support.
    pub fn is_scripted(&self) -> bool {
        let target = self.0.target.as_ref().is_some_and(|target| target.cookies || target.redirects > 0);
        let rules = !self.0.conditions.is_empty()
            || self.flows().is_some_and(|flows| flows.steps().iter().any(|step| step.rules.on_failure.is_some()));
        // For users that become new visitors, only a script has the number of the visitor.
        let numbered =
            || self.0.requests.iter().any(|request| names::uses_session_number(request, self.target_of(request)));
        target
            || rules
            || self.clients().len() > 1
            || self.0.requests.iter().any(|request| request.is_scripted(self.target_of(request)))
            || (self.renews() && numbered())
    }

    /// The labels of events, in the order of the requests.
    pub fn labels(&self) -> Vec<String> {
        self.0.requests.iter().map(|request| request.name.clone()).collect()
    }

    /// The class of each request that has one, with its label.
    pub fn classes(&self) -> Vec<(String, String)> {
        let class = |request: &Request| match &request.call {
            Call::Sql(Sql { class, .. }) => Some((request.name.clone(), class.clone()?)),
            Call::Http | Call::Grpc | Call::WebSocket { .. } => None,
        };
        self.0.requests.iter().filter_map(class).collect()
    }

    /// For each request with checks: its label and the names of its checks.
    pub fn checks(&self) -> Vec<(String, Vec<String>)> {
        let checked = self.0.requests.iter().filter(|request| !request.checks.is_empty());
        let names = |request: &Request| request.checks.iter().map(|check| check.name.clone()).collect();
        checked.map(|request| (request.name.clone(), names(request))).collect()
    }

    /// The labels of requests with embedded objects.
    pub fn pages(&self) -> Vec<String> {
        let pages = self.0.requests.iter().filter(|request| request.objects.is_some());
        pages.map(|request| request.name.clone()).collect()
    }
}
