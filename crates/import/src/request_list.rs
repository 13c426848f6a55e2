//! Builds the plan of a file that lists requests but specifies neither users nor rates.

use std::collections::HashMap;

use offered_base::Nanos;
use offered_distributions::Distribution;
use offered_schedule::Visitor;
use offered_schedule::arrivals::Process;
use offered_workload::Target;

use crate::Error;
use crate::address::{Candidate, MAX_TARGETS, Server, TargetChoice, choose_targets, targets_at};
use crate::distinct_requests::DistinctRequests;
use crate::note::Note;
use crate::plan::{Arrivals, Flow, Phase, Plan, RateProfile, Request, Step, Variable};
use crate::text::{Text, file_name};
use crate::unique_names::UniqueNames;

/// Maximum number of requests.
const MAX_REQUESTS: usize = 2_000;
/// Default duration.
const DURATION: Nanos = Nanos::from_secs(600);

/// A request of the file. Its `name` is made unique later.
pub(crate) struct PlannedRequest {
    pub(crate) line: usize,
    /// Position in the file, for notes.
    pub(crate) element: String,
    pub(crate) server: Server,
    pub(crate) request: Request,
}

impl PlannedRequest {
    /// The request for the choice of the target.
    pub(crate) fn candidate(&self) -> Candidate<'_> {
        Candidate { server: &self.server, line: self.line, element: &self.element, times: 1 }
    }
}

/// A visit: request indices, each with its think time if that differs from the default.
pub(crate) struct Visit {
    pub(crate) name: String,
    pub(crate) steps: Vec<(usize, Option<Distribution>)>,
}

/// Arrivals for files that do not specify any.
pub(crate) enum DefaultArrivals {
    /// One user who repeats the visit with this distribution of think times.
    OneUser(Distribution),
    /// One visit per second, or one request per second if there are no flows.
    OnePerSecond,
}

impl DefaultArrivals {
    fn arrivals(self) -> Arrivals {
        match self {
            Self::OneUser(think) => Arrivals::Closed {
                users: 1,
                visits: None,
                pace: None,
                visitor: Visitor::New,
                ramp: Nanos::ZERO,
                stages: Vec::new(),
                think,
            },
            Self::OnePerSecond => Arrivals::Open {
                rate: RateProfile::Constant(1.0),
                process: Process::Poisson,
                think: Distribution::constant(0.0).expect("zero is a constant"),
            },
        }
    }
}

/// Which servers become targets.
pub(crate) enum Targets {
    /// One: the given server, or else the one with most requests. Servers of others may be among the rest.
    One(Option<Server>),
    /// The servers of all requests, the given one first, and further ones, to which objects or redirects lead.
    All { first: Option<Server>, further: Vec<Server> },
}

/// The content of a file, from which a plan is built.
pub(crate) struct RequestList {
    pub(crate) origin: &'static str,
    pub(crate) remark: &'static str,
    pub(crate) requests: Vec<PlannedRequest>,
    pub(crate) targets: Targets,
    pub(crate) visits: Vec<Visit>,
    /// Whether visits stay flows even if each is a single request.
    pub(crate) keep_flows: bool,
    pub(crate) target: Target,
    pub(crate) variables: Vec<Variable>,
    pub(crate) arrivals_default: DefaultArrivals,
    pub(crate) notes: Vec<Note>,
}

impl RequestList {
    /// Builds the plan of `file`.
    ///
    /// # Errors
    /// There are too many requests or none, or the host of a request is unknown.
    pub(crate) fn into_plan(mut self, file: &str) -> Result<Plan, Error> {
        let refused = |message: String| Error::File { file: file.to_owned(), message };
        if self.requests.len() > MAX_REQUESTS {
            return Err(refused(format!(
                "{} requests; a workload can have at most {MAX_REQUESTS}",
                self.requests.len()
            )));
        }
        for planned in &mut self.requests {
            let method = &mut planned.request.method;
            if method.is_empty() || !method.bytes().all(|b| b.is_ascii_lowercase() || b == b'-') {
                let message = format!("`{method}` is not a valid HTTP method; replaced by get");
                self.notes.push(Note { line: planned.line, element: planned.element.clone(), message });
                "get".clone_into(method);
            }
        }
        let (first, further, most) = match self.targets {
            Targets::One(first) => (first, Vec::new(), 1),
            Targets::All { first, further } => (first, further, MAX_TARGETS),
        };
        let further = further.iter().map(|server| Candidate { server, line: 0, element: "", times: 1 });
        let candidates = self.requests.iter().map(PlannedRequest::candidate).chain(further);
        let TargetChoice { urls, target_of, notes } = choose_targets(candidates, first.as_ref(), most, file)?;
        self.notes.extend(notes);
        let mut requests = DistinctRequests::default();
        let planned = self.requests.iter().zip(target_of);
        let names: Vec<Option<String>> = planned
            .map(|(planned, target)| Some(requests.find_or_add(Request { target: target?, ..planned.request.clone() })))
            .collect();
        let mut requests = requests.into_requests();
        if requests.is_empty() {
            return Err(refused("no HTTP request found".to_owned()));
        }
        let shared = shared_headers(&mut requests);
        let shared = shared.iter().map(|(name, value)| (name.clone(), value.template())).collect();
        let (target, more_targets) = targets_at(&self.target.with_headers(shared), &urls);
        let visits: Vec<Visit> = self.visits.iter().filter_map(|visit| visit.retain_included(&names)).collect();
        let single = visits.iter().all(|visit| visit.steps.len() == 1) && !self.keep_flows;
        let mut flows: Vec<Flow> = Vec::new();
        let mut flow_names = UniqueNames::default();
        if single {
            // Number of occurrences of each request.
            let mut often: HashMap<&str, f64> = HashMap::new();
            for (at, _) in visits.iter().flat_map(|visit| &visit.steps) {
                *often.entry(names[*at].as_deref().unwrap_or_default()).or_default() += 1.0;
            }
            for request in &mut requests {
                request.weight = often.get(request.name.as_str()).copied().unwrap_or(1.0);
            }
        } else {
            for visit in &visits {
                let name = flow_names.take(&visit.name);
                flows.push(Flow { name, weight: 1.0, steps: visit.steps(&names), blocks: Vec::new() });
            }
        }
        self.notes.sort_by_key(|note| note.line);
        Ok(Plan {
            name: file_name(file).to_owned(),
            origin: self.origin.to_owned(),
            thresholds: Vec::new(),
            start: Nanos::ZERO,
            phase: Phase::Load,
            serial: false,
            duration: DURATION,
            count: None,
            arrivals: self.arrivals_default.arrivals(),
            target,
            more_targets,
            variables: self.variables,
            requests,
            flows,
            once: None,
            remark: Some(self.remark),
            notes: self.notes,
        })
    }
}

impl Visit {
    /// The visit without excluded requests; `None` if no request remains.
    fn retain_included(&self, names: &[Option<String>]) -> Option<Self> {
        let steps: Vec<_> = self.steps.iter().filter(|(at, _)| names[*at].is_some()).cloned().collect();
        (!steps.is_empty()).then(|| Self { name: self.name.clone(), steps })
    }

    fn steps(&self, names: &[Option<String>]) -> Vec<Step> {
        let last = self.steps.len() - 1;
        let (mut steps, mut step_names) = (Vec::new(), UniqueNames::default());
        for (here, (at, think)) in self.steps.iter().enumerate() {
            let request = names[*at].clone().unwrap_or_default();
            let name = step_names.take(&request);
            let next = vec![((here < last).then_some(here + 1), 1.0)];
            steps.push(Step { name, request, repeat: 1, think: think.clone(), only_if: None, until: None, next });
        }
        steps
    }
}

/// Moves headers that all requests share out of the requests; they become headers of the target.
fn shared_headers(requests: &mut [Request]) -> Vec<(String, Text)> {
    let [first, others @ ..] = &requests[..] else { return Vec::new() };
    if others.is_empty() {
        return Vec::new();
    }
    let shared: Vec<_> = first
        .headers
        .iter()
        .filter(|header| others.iter().all(|other| other.headers.contains(header)))
        .cloned()
        .collect();
    for request in requests {
        request.headers.retain(|header| !shared.contains(header));
    }
    shared
}

/// Default name of a request: its path, with the method unless it is GET.
pub(crate) fn default_name(request: &Request) -> String {
    let path = request.path.to_display();
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let path: String = path.chars().take(80).collect();
    match request.method.as_str() {
        "get" => path,
        method => format!("{} {path}", method.to_uppercase()),
    }
}
