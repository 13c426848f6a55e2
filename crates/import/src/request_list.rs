//! The plan of a file that says requests one after another, but neither arrivals_default comes nor how often.

use std::collections::HashMap;

use offered_model::arrivals::Process;
use offered_model::workload::{Target, Visitor};
use offered_model::{Law, Nanos};

use crate::Error;
use crate::address::{Candidate, Server, TargetChoice, choose_target, drop_conflicting_options};
use crate::note::Note;
use crate::plan::{Arrivals, Flow, Phase, Plan, RateProfile, Request, Step, Variable, unique_name};
use crate::text::Text;

/// Requests at most.
const MAX_REQUESTS: usize = 2_000;
/// How long, where nothing is said of it.
const DURATION: Nanos = Nanos::from_secs(600);

/// A request as the file says it; its `name` is only wished.
pub(crate) struct PlannedRequest {
    pub(crate) line: usize,
    /// Its place in the file.
    pub(crate) element: String,
    pub(crate) server: Server,
    pub(crate) request: Request,
}

/// One visit: requests (indices), and what is thought after each, where that is not what is usual.
pub(crate) struct Visit {
    pub(crate) name: String,
    pub(crate) steps: Vec<(usize, Option<Law>)>,
}

/// DefaultArrivals comes, where the file does not say.
pub(crate) enum DefaultArrivals {
    /// One user, arrivals_default begins again and again, with this law of think times.
    OneUser(Law),
    /// A visit (or, where there is no order, a request) a second.
    OnePerSecond,
}

/// Everything that is known.
pub(crate) struct RequestList {
    pub(crate) origin: &'static str,
    pub(crate) remark: &'static str,
    pub(crate) requests: Vec<PlannedRequest>,
    /// The server that it is about, where that is known.
    pub(crate) preferred_server: Option<Server>,
    pub(crate) visits: Vec<Visit>,
    /// Whether visits stay visits, even if each is one request.
    pub(crate) keep_flows: bool,
    pub(crate) target: Target,
    pub(crate) variables: Vec<Variable>,
    pub(crate) arrivals_default: DefaultArrivals,
    pub(crate) notes: Vec<Note>,
}

impl RequestList {
    /// The plan of `file`.
    pub(crate) fn into_plan(mut self, file: &str) -> Result<Plan, Error> {
        let refused = |what: String| Error::File { file: file.to_owned(), message: what };
        if self.requests.len() > MAX_REQUESTS {
            return Err(refused(format!("{} requests; {MAX_REQUESTS} at most are one workload", self.requests.len())));
        }
        for planned in &mut self.requests {
            let method = &mut planned.request.method;
            if method.is_empty() || !method.bytes().all(|b| b.is_ascii_lowercase() || b == b'-') {
                let what = format!("the method `{method}` is none of HTTP; get instead");
                self.notes.push(Note { line: planned.line, element: planned.element.clone(), message: what });
                "get".clone_into(method);
            }
        }
        let candidates = self.requests.iter().map(|planned| Candidate {
            server: &planned.server,
            line: planned.line,
            element: &planned.element,
            times: 1,
        });
        let TargetChoice { url, included, notes } = choose_target(candidates, self.preferred_server.as_ref(), file)?;
        self.notes.extend(notes);
        let mut requests: Vec<Request> = Vec::new();
        let names: Vec<Option<String>> = self
            .requests
            .iter()
            .zip(&included)
            .map(|(planned, included)| included.then(|| find_or_add(&mut requests, &planned.request)))
            .collect();
        if requests.is_empty() {
            return Err(refused("no request of a web server in it; there is nothing to ask".to_owned()));
        }
        let shared = shared_headers(&mut requests);
        let shared = shared.iter().map(|(name, value)| (name.clone(), value.template())).collect();
        let target = drop_conflicting_options(self.target.with_headers(shared).with_url(url));
        let visits: Vec<Visit> = self.visits.iter().filter_map(|visit| visit.retain_included(&names)).collect();
        let single = visits.iter().all(|visit| visit.steps.len() == 1) && !self.keep_flows;
        let mut flows: Vec<Flow> = Vec::new();
        if single {
            // How often each is planned.
            let mut often: HashMap<&str, f64> = HashMap::new();
            for (at, _) in visits.iter().flat_map(|visit| &visit.steps) {
                *often.entry(names[*at].as_deref().unwrap_or_default()).or_default() += 1.0;
            }
            for request in &mut requests {
                request.weight = often.get(request.name.as_str()).copied().unwrap_or(1.0);
            }
        } else {
            for visit in &visits {
                let name = unique_name(&visit.name, |name| flows.iter().any(|flow| flow.name == name));
                flows.push(Flow { name, weight: 1.0, steps: visit.steps(&names) });
            }
        }
        let arrivals = match self.arrivals_default {
            DefaultArrivals::OneUser(think) => {
                Arrivals::Closed { users: 1, visits: None, pace: None, visitor: Visitor::New, ramp: Nanos(0), think }
            }
            DefaultArrivals::OnePerSecond => Arrivals::Open {
                rate: RateProfile::Constant(1.0),
                process: Process::Poisson,
                think: Law::constant(0.0).expect("zero is a constant"),
            },
        };
        self.notes.sort_by_key(|note| note.line);
        Ok(Plan {
            name: file.rsplit(['/', '\\']).next().unwrap_or(file).to_owned(),
            origin: self.origin.to_owned(),
            phase: Phase::Load,
            duration: DURATION,
            count: None,
            arrivals,
            target,
            variables: self.variables,
            requests,
            flows,
            remark: Some(self.remark),
            notes: self.notes,
        })
    }
}

impl Visit {
    /// Without the requests that are left out; `None`: nothing is left.
    fn retain_included(&self, names: &[Option<String>]) -> Option<Self> {
        let steps: Vec<_> = self.steps.iter().filter(|(at, _)| names[*at].is_some()).cloned().collect();
        (!steps.is_empty()).then(|| Self { name: self.name.clone(), steps })
    }

    fn steps(&self, names: &[Option<String>]) -> Vec<Step> {
        let last = self.steps.len() - 1;
        let mut taken: HashMap<String, u32> = HashMap::new();
        let mut steps: Vec<Step> = Vec::new();
        for (here, (at, think)) in self.steps.iter().enumerate() {
            let request = names[*at].clone().unwrap_or_default();
            // A name that was taken begins to be looked for where the last search ended.
            let from = taken.entry(request.clone()).or_insert(0);
            *from += 1;
            let name = match *from {
                1 => unique_name(&request, |name| steps.iter().any(|step| step.name == name)),
                n => unique_name(&format!("{request} ({n})"), |name| steps.iter().any(|step| step.name == name)),
            };
            let next = vec![((here < last).then_some(here + 1), 1.0)];
            steps.push(Step { name, request, repeat: 1, think: think.clone(), next });
        }
        steps
    }
}

/// The name of the request among `requests` that is `wanted`, which is added where it is not there.
fn find_or_add(requests: &mut Vec<Request>, wanted: &Request) -> String {
    let same = |request: &&Request| {
        let plain = request.name.rsplit_once(" (").map_or(request.name.as_str(), |(plain, _)| plain);
        (plain == wanted.name || request.name == wanted.name)
            && **request == Request { name: request.name.clone(), ..wanted.clone() }
    };
    if let Some(same) = requests.iter().find(same) {
        return same.name.clone();
    }
    let name = unique_name(&wanted.name, |name| requests.iter().any(|request| request.name == name));
    requests.push(Request { name: name.clone(), ..wanted.clone() });
    name
}

/// Headers that all requests have, taken from them: they are the target's.
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

/// What a request is called that has no name: its method, unless it is the usual one, and its path.
pub(crate) fn default_name(request: &Request) -> String {
    let path = request.path.to_display();
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let path: String = path.chars().take(80).collect();
    match request.method.as_str() {
        "get" => path,
        method => format!("{} {path}", method.to_uppercase()),
    }
}
