//! The neutral plan: what every format is read into, and one workload is written from.

use offered_model::arrivals::Process;
use offered_model::workload::script::{AtEnd, Auth, Body, Check, Extraction, OnFailure, Per};
use offered_model::workload::{Pace, Sql, Target, Visitor};
use offered_model::{Count, Law, Nanos};

use crate::address::{is_reserved_header, is_valid_header};
use crate::note::Note;
use crate::text::Text;

/// One workload as another tool meant it.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// What the file calls it: the name of its thread group.
    pub name: String,
    /// Where it comes from, in a few words.
    pub origin: String,
    /// Phase it runs, against the other plans of the file.
    pub phase: Phase,
    /// How long it launches; [`Nanos::MAX`] where only the count ends it.
    pub duration: Nanos,
    /// How much it launches at most.
    pub count: Option<Count>,
    /// Who comes.
    pub arrivals: Arrivals,
    /// Who is asked.
    pub target: Target,
    /// What is put into the requests, besides what is taken from answers.
    pub variables: Vec<Variable>,
    /// What is asked; never empty.
    pub requests: Vec<Request>,
    /// In what order; empty: each request by its weight.
    pub flows: Vec<Flow>,
    /// What the reader of the workload must know before anything else, where there is something.
    pub remark: Option<&'static str>,
    /// What was not translated, in the order of the file.
    pub notes: Vec<Note>,
}

/// Phase a plan runs, against the other plans of its file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Before the load.
    Setup,
    /// It is the load.
    #[default]
    Load,
    /// After the load.
    Teardown,
}

/// The system model.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrivals {
    /// Users who come and stay.
    Closed {
        /// N.
        users: u64,
        /// So many visits, after which a user leaves; `None`: it never does.
        visits: Option<u32>,
        /// How often a user begins something at most.
        pace: Option<Pace>,
        /// Who a user is after a visit.
        visitor: Visitor,
        /// They start one after another over this time.
        ramp: Nanos,
        /// The law of the think times of steps without one of their own; before its first request a user thinks so, too.
        think: Law,
    },
    /// Sessions that come and leave, and single requests where there are no flows.
    Open {
        /// Sessions per second.
        rate: RateProfile,
        /// Their arrival process.
        process: Process,
        /// The law of the think times of steps without one of their own.
        think: Law,
    },
}

/// A rate over time, per second.
#[derive(Clone, Debug, PartialEq)]
pub enum RateProfile {
    /// Always the same.
    Constant(f64),
    /// From the one to the other over a time, and on at that.
    Ramp(f64, f64, Nanos),
    /// One after another.
    Steps(Vec<(f64, Nanos)>),
}

/// Something with a name that is put into requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name: letters, digits and `_`.
    pub name: String,
    /// Where its value comes from.
    pub value: ValueSource,
    /// How often it takes a new one; means nothing of one that never does.
    pub per: Per,
}

impl Variable {
    /// One that always has this value.
    pub(crate) fn constant(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: ValueSource::Constant(value.into()), per: Per::Session }
    }
}

/// Where the value of a variable comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueSource {
    /// Always this.
    Constant(String),
    /// The variable of the environment so named.
    Env(String),
    /// The rows of a file, one after another.
    File {
        /// Its name as the plan says it.
        file: String,
        /// The names of its columns; empty: its first row names them.
        columns: Vec<String>,
        /// What is done after the last row.
        at_end: AtEnd,
    },
    /// A new random identifier (UUID, version 4).
    Uuid,
    /// The numbers from this one on.
    Sequence(u64),
    /// A whole number drawn between these two, both included.
    UniformInteger(i64, i64),
}

/// One kind of request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Its name, unique_name the others'.
    pub name: String,
    /// In small letters.
    pub method: String,
    /// Path and query, valid to be sent.
    pub path: Text,
    /// How often, against the others, where there are no flows.
    pub weight: f64,
    /// Its own headers.
    pub headers: Vec<(String, Text)>,
    /// Its body.
    pub body: Body,
    /// Who asks, where that is not the target's.
    pub auth: Option<Auth>,
    /// What is taken from its answer.
    pub extract: Vec<Extraction>,
    /// What its answer must be.
    pub check: Vec<Check>,
    /// What its session does where it fails.
    pub on_failure: OnFailure,
    /// What it says to a database, where that is asked; method, path and what belongs to them then mean nothing.
    pub sql: Option<Sql>,
    /// Paths that are fetched after the answer, as a browser does.
    pub objects: Vec<Text>,
    /// Whether all is well though one of them fails.
    pub objects_may_fail: bool,
}

/// One kind of visit.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Its name, unique_name the others'.
    pub name: String,
    /// How often, against the others.
    pub weight: f64,
    /// Its steps; the first is where it starts.
    pub steps: Vec<Step>,
}

/// One step of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Its name, unique_name those of the flow's other steps.
    pub name: String,
    /// The name of its request.
    pub request: String,
    /// So many times in a row.
    pub repeat: u32,
    /// The think time after each, where it is not that of the arrivals.
    pub think: Option<Law>,
    /// Where it goes, by weight: to a step of the flow (an index), or out.
    pub next: Vec<(Option<usize>, f64)>,
}

impl Plan {
    /// The files it names are in `folder`; names that say where they are stay.
    pub fn find_files_in(&mut self, folder: &std::path::Path) {
        let found = |name: &str| folder.join(name).to_string_lossy().into_owned();
        for variable in &mut self.variables {
            if let ValueSource::File { file, .. } = &mut variable.value {
                *file = found(file);
            }
        }
        let mut tls = self.target.tls().clone();
        let own = tls.identity.as_mut().map(|own| [&mut own.certificate, &mut own.key]);
        for file in tls.roots.iter_mut().chain(own.into_iter().flatten()) {
            *file = folder.join(&*file);
        }
        self.target = self.target.clone().with_tls(tls);
        for request in &mut self.requests {
            match &mut request.body {
                Body::File { file, .. } => *file = found(file),
                Body::Multipart(parts) => {
                    parts.iter_mut().filter_map(|part| part.file.as_mut()).for_each(|file| *file = found(file));
                }
                _ => {}
            }
        }
    }
}

impl Request {
    /// A request without anything else.
    pub(crate) fn new(method: &str, path: Text) -> Self {
        Self { method: method.to_lowercase(), path, weight: 1.0, ..Self::default() }
    }

    /// The value of its header `name`.
    pub(crate) fn header(&self, name: &str) -> Option<&Text> {
        self.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Adds a header, where it can be sent and is not offered's own affair; to one of that name, which is there once, as
    /// another value.
    pub(crate) fn add_header(&mut self, name: &str, value: Text) -> bool {
        let valid = is_valid_header(name, &value) && !is_reserved_header(name);
        match self.headers.iter_mut().find(|(other, _)| other.eq_ignore_ascii_case(name)) {
            _ if !valid => {}
            None => self.headers.push((name.to_owned(), value)),
            Some((_, before)) => {
                before.push_str(if name.eq_ignore_ascii_case("cookie") { "; " } else { ", " });
                before.push(&value);
            }
        }
        valid
    }
}

impl RateProfile {
    /// This profile with every rate so many times as high.
    pub(crate) fn scaled(self, factor: f64) -> Self {
        match self {
            Self::Constant(rate) => Self::Constant(rate * factor),
            Self::Ramp(from, to, over) => Self::Ramp(from * factor, to * factor, over),
            Self::Steps(steps) => Self::Steps(steps.into_iter().map(|(rate, time)| (rate * factor, time)).collect()),
        }
    }
}

/// `wanted`, or with a number behind it where that is `taken`; never one of the words a workload keeps for itself.
pub(crate) fn unique_name(wanted: &str, taken: impl Fn(&str) -> bool) -> String {
    let wanted = if wanted == "leave" { "leave it" } else { wanted };
    if !taken(wanted) {
        return wanted.to_owned();
    }
    let mut numbered = (2..u32::MAX).map(|n| format!("{wanted} ({n})"));
    numbered.find(|name| !taken(name)).expect("some number is free")
}
