//! The plan of a file that says requests one after another, but neither who comes nor how often.

use std::collections::HashMap;

use offered_model::arrivals::Process;
use offered_model::workload::{Target, Visitor};
use offered_model::{Law, Nanos};

use crate::Error;
use crate::address::{Chosen, Goal, Server, choose, consistent};
use crate::note::Note;
use crate::plan::{Arrivals, Flow, Plan, Profile, Request, Step, Variable, When, unlike};
use crate::text::Text;

/// Requests at most.
const MAX_REQUESTS: usize = 2_000;
/// How long, where nothing is said of it.
const DURATION: Nanos = Nanos::from_secs(600);

/// A request as the file says it; its `name` is only wished.
pub(crate) struct Asked {
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

/// Who comes, where the file does not say.
pub(crate) enum Who {
    /// One user, who begins again and again, with this law of think times.
    OneUser(Law),
    /// A visit (or, where there is no order, a request) a second.
    OneASecond,
}

/// Everything that is known.
pub(crate) struct Known {
    pub(crate) origin: &'static str,
    pub(crate) remark: &'static str,
    pub(crate) asked: Vec<Asked>,
    /// The server that it is about, where that is known.
    pub(crate) own: Option<Server>,
    pub(crate) visits: Vec<Visit>,
    /// Whether visits stay visits, even if each is one request.
    pub(crate) flows: bool,
    pub(crate) target: Target,
    pub(crate) variables: Vec<Variable>,
    pub(crate) who: Who,
    pub(crate) notes: Vec<Note>,
}

impl Known {
    /// The plan of `file`.
    pub(crate) fn plan(mut self, file: &str) -> Result<Plan, Error> {
        let refused = |what: String| Error::File { file: file.to_owned(), what };
        if self.asked.len() > MAX_REQUESTS {
            return Err(refused(format!("{} requests; {MAX_REQUESTS} at most are one workload", self.asked.len())));
        }
        for asked in &mut self.asked {
            let method = &mut asked.request.method;
            if method.is_empty() || !method.bytes().all(|b| b.is_ascii_lowercase() || b == b'-') {
                let what = format!("the method `{method}` is none of HTTP; get instead");
                self.notes.push(Note { line: asked.line, element: asked.element.clone(), what });
                "get".clone_into(method);
            }
        }
        let goals = self.asked.iter().map(|asked| Goal {
            server: &asked.server,
            line: asked.line,
            element: &asked.element,
            times: 1,
        });
        let Chosen { url, kept, notes } = choose(goals, self.own.as_ref(), file)?;
        self.notes.extend(notes);
        let mut requests: Vec<Request> = Vec::new();
        let names: Vec<Option<String>> = self
            .asked
            .iter()
            .zip(&kept)
            .map(|(asked, kept)| kept.then(|| same_or_new(&mut requests, &asked.request)))
            .collect();
        if requests.is_empty() {
            return Err(refused("no request of a web server in it; there is nothing to ask".to_owned()));
        }
        let shared = shared_headers(&mut requests);
        let shared = shared.iter().map(|(name, value)| (name.clone(), value.template())).collect();
        let target = consistent(self.target.with_headers(shared).with_url(url));
        let visits: Vec<Visit> = self.visits.iter().filter_map(|visit| visit.without(&names)).collect();
        let single = visits.iter().all(|visit| visit.steps.len() == 1) && !self.flows;
        let mut flows: Vec<Flow> = Vec::new();
        if single {
            // How often each is asked.
            let mut often: HashMap<&str, f64> = HashMap::new();
            for (at, _) in visits.iter().flat_map(|visit| &visit.steps) {
                *often.entry(names[*at].as_deref().unwrap_or_default()).or_default() += 1.0;
            }
            for request in &mut requests {
                request.weight = often.get(request.name.as_str()).copied().unwrap_or(1.0);
            }
        } else {
            for visit in &visits {
                let name = unlike(&visit.name, |name| flows.iter().any(|flow| flow.name == name));
                flows.push(Flow { name, weight: 1.0, steps: visit.chain(&names) });
            }
        }
        let arrivals = match self.who {
            Who::OneUser(think) => {
                Arrivals::Closed { users: 1, visits: None, pace: None, visitor: Visitor::New, ramp: Nanos(0), think }
            }
            Who::OneASecond => Arrivals::Open {
                rate: Profile::Constant(1.0),
                process: Process::Poisson,
                think: Law::constant(0.0).expect("zero is a constant"),
            },
        };
        self.notes.sort_by_key(|note| note.line);
        Ok(Plan {
            name: file.rsplit(['/', '\\']).next().unwrap_or(file).to_owned(),
            origin: self.origin.to_owned(),
            when: When::Load,
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
    fn without(&self, names: &[Option<String>]) -> Option<Self> {
        let steps: Vec<_> = self.steps.iter().filter(|(at, _)| names[*at].is_some()).cloned().collect();
        (!steps.is_empty()).then(|| Self { name: self.name.clone(), steps })
    }

    fn chain(&self, names: &[Option<String>]) -> Vec<Step> {
        let last = self.steps.len() - 1;
        let mut taken: HashMap<String, u32> = HashMap::new();
        let mut steps: Vec<Step> = Vec::new();
        for (here, (at, think)) in self.steps.iter().enumerate() {
            let request = names[*at].clone().unwrap_or_default();
            // A name that was taken begins to be looked for where the last search ended.
            let from = taken.entry(request.clone()).or_insert(0);
            *from += 1;
            let name = match *from {
                1 => unlike(&request, |name| steps.iter().any(|step| step.name == name)),
                n => unlike(&format!("{request} ({n})"), |name| steps.iter().any(|step| step.name == name)),
            };
            let next = vec![((here < last).then_some(here + 1), 1.0)];
            steps.push(Step { name, request, repeat: 1, think: think.clone(), next });
        }
        steps
    }
}

/// The name of the request among `requests` that is `wanted`, which is added where it is not there.
fn same_or_new(requests: &mut Vec<Request>, wanted: &Request) -> String {
    let same = |request: &&Request| {
        let plain = request.name.rsplit_once(" (").map_or(request.name.as_str(), |(plain, _)| plain);
        (plain == wanted.name || request.name == wanted.name)
            && **request == Request { name: request.name.clone(), ..wanted.clone() }
    };
    if let Some(same) = requests.iter().find(same) {
        return same.name.clone();
    }
    let name = unlike(&wanted.name, |name| requests.iter().any(|request| request.name == name));
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
pub(crate) fn name(request: &Request) -> String {
    let path = request.path.shown();
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let path: String = path.chars().take(80).collect();
    match request.method.as_str() {
        "get" => path,
        method => format!("{} {path}", method.to_uppercase()),
    }
}
