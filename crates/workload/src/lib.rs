//! The workload file: what is to be sent, when and to whom, as one small TOML text that is checked once and then trusted.
//!
//! # Example
//! The launches of a minute of Poisson arrivals, and those of the second of three workers: every third of them, to the
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
pub mod catalogue;
mod check;
mod generator;
mod local_access;
mod login;
mod mix;
mod names;
mod observe;
mod policies;
pub mod policy;
mod read;
mod request;
pub mod script;
pub mod secret;
mod server;
mod shape;
mod source;
mod sql;
mod target;
pub mod template;
#[cfg(test)]
mod tests;
pub mod threshold;
mod toml_text;
mod url;
mod work;
mod write;

use std::ops::Range;
use std::sync::Arc;

pub use address::Address;
pub use generator::{Generator, OnDiskFull, Priority, WaitMode};
pub use local_access::EnvironmentVariable;
pub use login::{Encryption, Login};
pub use mix::Mix;
pub use names::Single;
pub use observe::{Observe, Scrape};
pub use policies::{Policies, Turn};
pub use policy::Policy;
pub use read::{Files, digest};
pub use request::{Call, Chat, Request, bytes_of_hex};
pub use server::{Server, Station};
pub use shape::schema;
pub use source::Mistake;
pub use sql::{Pool, Sql, Statement};
pub use target::{Descriptors, Identity, Protocol, Proxy, Resolve, Reuse, Target, Tls};
pub use template::Template;
pub use threshold::{Objective, Threshold};
pub use url::Url;
pub use work::Works;
pub use write::sessions_to_toml;

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

/// A test as it was meant. Written with [`Display`](std::fmt::Display), it is the text that [`Workload::parse`] reads as the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload(Draft);

/// What a workload is made of, unchecked: [`Workload::new`] says whether it fits together.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// From which every random choice follows.
    pub seed: Seed,
    /// Launches are meant from 0 up to here; [`Nanos::MAX`] where only the count ends them.
    pub duration: Nanos,
    /// How much is launched at most, whichever comes first.
    pub count: Option<Count>,
    /// Ramp-up, kept in the data, left out of statistics.
    pub skip_first: Nanos,
    /// Ramp-down, likewise.
    pub skip_last: Nanos,
    /// What to do about launches that are late.
    pub late: Late,
    /// The names whose values are secrets.
    pub secret_names: SecretNames,
    /// The system model: who arrives, and what sessions do.
    pub sessions: Sessions,
    /// The real server.
    pub target: Option<Target>,
    /// The modelled server.
    pub server: Option<Server>,
    /// The modelled network in its stead; else empty.
    pub stations: Vec<Station>,
    /// How the generator itself works.
    pub generator: Generator,
    /// What is asked of the machines that serve.
    pub observe: Observe,
    /// Policies that take turns within the run.
    pub policies: Option<Policies>,
    /// What templates may ask for, besides what is extracted from answers.
    pub variables: Vec<Variable>,
    /// What is asked; of a replay, what its trace counts.
    pub requests: Vec<Request>,
    /// What the run must keep to pass.
    pub thresholds: Vec<Threshold>,
}

impl Draft {
    /// These sessions for so long, from seed 1, asking for `/`; nothing else is said.
    pub fn new(sessions: Sessions, duration: Nanos) -> Self {
        Self {
            seed: Seed(1),
            duration,
            count: None,
            skip_first: Nanos::ZERO,
            skip_last: Nanos::ZERO,
            late: Late::Send,
            secret_names: SecretNames::default(),
            sessions,
            target: None,
            server: None,
            stations: Vec::new(),
            generator: Generator::default(),
            observe: Observe::default(),
            policies: None,
            variables: Vec::new(),
            requests: vec![Request::get("/")],
            thresholds: Vec::new(),
        }
    }
}

impl Workload {
    /// The scheduled requests of `share` of the run.
    pub fn agenda(&self, share: Share) -> Agenda {
        Agenda::new(self.sessions(), self.seed(), self.end(), self.count(), share)
    }

    /// The same with another seed.
    #[must_use]
    pub fn with_seed(self, seed: Seed) -> Self {
        Self(Draft { seed, ..self.0 })
    }

    /// The same with launches meant up to here.
    ///
    /// # Errors
    /// No time at all, or no more than is left out at both ends.
    pub fn with_duration(self, duration: Nanos) -> Result<Self, InvalidValue> {
        Self::new(Draft { duration, ..self.0 })
    }

    /// The same launching this at most.
    ///
    /// # Errors
    /// None of something, or what [`Draft::count`] does not go with.
    pub fn with_count(self, count: Option<Count>) -> Result<Self, InvalidValue> {
        Self::new(Draft { count, ..self.0 })
    }

    /// The same with another system model.
    ///
    /// # Errors
    /// Flows or a trace that ask for requests the workload does not have, or leave out some that it has.
    pub fn with_sessions(self, sessions: Sessions) -> Result<Self, InvalidValue> {
        Self::new(Draft { sessions, ..self.0 })
    }

    /// The same with these weights of its requests, one each.
    ///
    /// # Errors
    /// Another number of weights, one that is not zero or more, or none above zero; weights of what a trace asks for.
    pub fn with_weights(mut self, weights: &[f64]) -> Result<Self, InvalidValue> {
        if weights.len() != self.0.requests.len() {
            return Err(InvalidValue::new(format!("{} weights for {} requests", weights.len(), self.0.requests.len())));
        }
        self.0.requests.iter_mut().zip(weights).for_each(|(request, weight)| request.weight = *weight);
        Self::new(self.0)
    }

    /// From which every random choice follows.
    pub fn seed(&self) -> Seed {
        self.0.seed
    }

    /// How long launches are meant to be made at most.
    pub fn duration(&self) -> Nanos {
        self.0.duration
    }

    /// The same, where there is one: a workload with a count may have none.
    pub fn time_limit(&self) -> Option<Nanos> {
        Some(self.0.duration).filter(|duration| *duration < Nanos::MAX)
    }

    /// How much is launched at most.
    pub fn count(&self) -> Option<Count> {
        self.0.count
    }

    /// How many launches there are at most, where that is counted.
    pub fn most_launches(&self) -> Option<u64> {
        match (self.0.count?, &self.0.sessions) {
            (Count::Requests(n), _) | (Count::Sessions(n), Sessions::Open(_)) => Some(n),
            (Count::Sessions(_), _) => None,
        }
    }

    /// When that is over: launches are meant from the start of the run up to here, which is not included.
    pub fn end(&self) -> Instant {
        Instant::ZERO + self.0.duration
    }

    /// Ramp-up, kept in the data, left out of statistics.
    pub fn skip_first(&self) -> Nanos {
        self.0.skip_first
    }

    /// Ramp-down, likewise.
    pub fn skip_last(&self) -> Nanos {
        self.0.skip_last
    }

    /// The instants that statistics count: neither in the ramp-up nor in the ramp-down.
    pub fn counted(&self) -> Range<Instant> {
        Instant::ZERO + self.0.skip_first..self.end().earlier(self.0.skip_last)
    }

    /// What to do about launches that are late.
    pub fn late(&self) -> Late {
        self.0.late
    }

    /// The names whose values are secrets.
    pub fn secret_names(&self) -> &SecretNames {
        &self.0.secret_names
    }

    /// The system model: who arrives, and what sessions do.
    pub fn sessions(&self) -> &Sessions {
        &self.0.sessions
    }

    /// The real server.
    pub fn target(&self) -> Option<&Target> {
        self.0.target.as_ref()
    }

    /// The modelled server, where requests take the same way through it.
    pub fn server(&self) -> Option<&Server> {
        self.0.server.as_ref()
    }

    /// The modelled network in its stead, where only the mean visits to each station are known; else empty.
    pub fn stations(&self) -> &[Station] {
        &self.0.stations
    }

    /// How the generator itself works.
    pub fn generator(&self) -> Generator {
        self.0.generator
    }

    /// What is asked of the machines that serve.
    pub fn observe(&self) -> &Observe {
        &self.0.observe
    }

    /// Policies that take turns within the run.
    pub fn policies(&self) -> Option<&Policies> {
        self.0.policies.as_ref()
    }

    /// What templates may ask for, besides what is extracted from answers.
    pub fn variables(&self) -> &[Variable] {
        &self.0.variables
    }

    /// What is asked; never empty.
    pub fn requests(&self) -> &[Request] {
        &self.0.requests
    }

    /// Whether what is sent differs between two runs of it: it says the run's id, or draws what must be there once only.
    pub fn asks_for_run(&self) -> bool {
        let target = self.0.target.as_ref();
        self.0.variables.iter().any(|variable| matches!(variable.source, script::Source::Uuid))
            || self.0.requests.iter().any(|request| names::asks_for_run(request, target))
    }

    /// What stands in single braces, as places for values once did, and has the name of a value.
    pub fn singles(&self) -> Vec<Single> {
        names::singles(&self.0.requests, self.0.target.as_ref(), &self.0.variables)
    }

    /// What the run must keep to pass.
    pub fn thresholds(&self) -> &[Threshold] {
        &self.0.thresholds
    }
}

/// What becomes of a launch that cannot be sent when it was meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Late {
    /// It is sent as soon as possible; its lateness is recorded.
    Send,
    /// It is not sent when later than this; an event with outcome `unsent` is recorded.
    Skip(Nanos),
}

impl Workload {
    /// The flows that its sessions walk through.
    pub fn flows(&self) -> Option<&Arc<Flows>> {
        self.0.sessions.flows()
    }

    /// The share of the launches that falls to each request; they sum to 1. Of a replay, of all that its trace asks for.
    pub fn shares(&self) -> Vec<f64> {
        if let Sessions::Replay(replay) = &self.0.sessions {
            let counts = replay.counts(self.0.requests.len());
            let total: u64 = counts.iter().sum();
            return counts.iter().map(|count| *count as f64 / total as f64).collect();
        }
        let total: f64 = self.0.requests.iter().map(|request| request.weight).sum();
        let by_weight = || self.0.requests.iter().map(|request| request.weight / total).collect();
        self.flows().map_or_else(by_weight, |flows| flows.shares(self.0.requests.len()))
    }

    /// The mean think time after a request, seconds; `None` where sessions do not think by a distribution.
    pub fn mean_think(&self) -> Option<f64> {
        let distribution = match &self.0.sessions {
            Sessions::Closed(closed) => return Some(closed.mean_think()),
            Sessions::PartlyOpen { think, .. } => think,
            _ => return None,
        };
        Some(self.flows().map_or_else(|| distribution.mean(), |flows| flows.mean_think(distribution)))
    }

    /// The launches per second meant, over the whole run, where the workload alone says so: not for a closed system, whose
    /// rate depends on the server.
    pub fn asked_rate(&self) -> Option<f64> {
        let end = self.asked_until();
        Some(self.asked_before(end)? / end.as_secs_f64())
    }

    /// The most launches per second that are meant at any time, in the mean over all seeds and if answers take no time; `None` where
    /// nothing but answers holds users back.
    pub fn most_per_s(&self) -> Option<f64> {
        let end = self.asked_until();
        match &self.0.sessions {
            Sessions::Open(schedule) => Some(schedule.rate().peak(end)),
            Sessions::Replay(replay) => Some(replay.peak(end) as f64),
            Sessions::PartlyOpen { schedule, length, .. } => Some(schedule.rate().peak(end) * length.mean()),
            Sessions::Closed(closed) => closed.most_per_s(),
        }
    }

    /// When the time is over in which launches are asked for, in the mean over all seeds: with the count, where the workload alone says
    /// when that is reached, or else with the duration.
    pub fn asked_until(&self) -> Instant {
        let reached = self.0.count.and_then(|count| match &self.0.sessions {
            Sessions::Open(schedule) => schedule.rate().instant(count.sessions(1.0)),
            Sessions::PartlyOpen { schedule, length, .. } => schedule.rate().instant(count.sessions(length.mean())),
            Sessions::Replay(replay) => Some(replay.clone().first(count).last() + Nanos(1)),
            Sessions::Closed(_) => None,
        });
        reached.map_or(self.end(), |reached| reached.min(self.end()))
    }

    /// How many launches are meant before `end`, in the mean over all seeds, where the workload alone says so. Of a partly-open
    /// system: by the sessions that arrive before `end`.
    pub fn asked_before(&self, end: Instant) -> Option<f64> {
        let end = end.min(self.asked_until());
        match &self.0.sessions {
            Sessions::Open(schedule) => Some(schedule.rate().cumulative(end)),
            Sessions::PartlyOpen { schedule, length, .. } => Some(length.mean() * schedule.rate().cumulative(end)),
            Sessions::Replay(replay) => {
                let replay = self.0.count.map_or_else(|| replay.clone(), |count| replay.clone().first(count));
                Some(replay.entries_before(end)? as f64)
            }
            Sessions::Closed(_) => None,
        }
    }

    /// Whether closed users are somebody else after each visit.
    pub fn renews(&self) -> bool {
        matches!(&self.0.sessions, Sessions::Closed(closed) if closed.renews())
    }

    /// Whether sessions remember, listen or fetch: all that a transport cannot do that only sends and times.
    pub fn is_scripted(&self) -> bool {
        let target = self.0.target.as_ref().is_some_and(|target| target.cookies || target.redirects > 0);
        let target_of = self.0.target.as_ref();
        // Of a user who is somebody else with each visit only a script knows the visitor's number.
        let numbered = || self.0.requests.iter().any(|request| names::asks_for_session(request, target_of));
        target || self.0.requests.iter().any(|request| request.is_scripted(target_of)) || (self.renews() && numbered())
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

    /// The labels of those requests that bring objects with them.
    pub fn pages(&self) -> Vec<String> {
        let pages = self.0.requests.iter().filter(|request| request.objects.is_some());
        pages.map(|request| request.name.clone()).collect()
    }
}
