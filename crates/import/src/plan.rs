//! The neutral plan: what every format is read into, and one workload is written from.

use offered_model::{Law, Nanos};

/// One workload as another tool meant it.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// What the file calls it: the name of its thread group.
    pub name: String,
    /// Where it comes from, in a few words.
    pub origin: String,
    /// How long it launches.
    pub duration: Nanos,
    /// Who comes.
    pub arrivals: Arrivals,
    /// Who is asked.
    pub target: Target,
    /// What is asked; never empty.
    pub requests: Vec<Request>,
    /// In what order; empty: each request by its weight.
    pub flows: Vec<Flow>,
    /// What was not translated, in the order of the file.
    pub notes: Vec<Note>,
}

/// The system model.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrivals {
    /// Users who never leave.
    Closed {
        /// N.
        users: u64,
        /// They start one after another over this time.
        ramp: Nanos,
        /// The law of the think times of steps without one of their own; before its first request a user thinks so, too.
        think: Law,
    },
    /// Sessions that come and leave, and single requests where there are no flows.
    Open {
        /// Sessions per second.
        rate: Profile,
        /// Their arrival process as a workload spells it.
        process: &'static str,
        /// The law of the think times of steps without one of their own.
        think: Law,
    },
}

/// A rate over time, per second.
#[derive(Clone, Debug, PartialEq)]
pub enum Profile {
    /// Always the same.
    Constant(f64),
    /// From the one to the other over a time, and on at that.
    Ramp(f64, f64, Nanos),
    /// One after another.
    Steps(Vec<(f64, Nanos)>),
}

/// The server that is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Its address as a workload writes it.
    pub url: String,
    /// How launches find a connection, where the plan says so.
    pub reuse: Option<&'static str>,
    /// The longest a connection may take to open.
    pub connect_timeout: Option<Nanos>,
    /// The longest an answer may take.
    pub response_timeout: Option<Nanos>,
}

/// One kind of request.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Its name, unlike the others'.
    pub name: String,
    /// In small letters.
    pub method: String,
    /// Path and query, fit to be sent.
    pub path: String,
    /// How often, against the others, where there are no flows.
    pub weight: f64,
    /// Its own headers.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: Option<String>,
}

/// One kind of visit.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Its name, unlike the others'.
    pub name: String,
    /// How often, against the others.
    pub weight: f64,
    /// Its steps; the first is where it starts.
    pub steps: Vec<Step>,
}

/// One step of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Its name, unlike those of the flow's other steps.
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

/// Something of the file that the workload does not say.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note {
    /// The line in the file, from 1; 0 where the file has no lines.
    pub line: usize,
    /// What it is called there: its kind and its name.
    pub element: String,
    /// What it would have done, or what was made of it.
    pub what: String,
}

impl Profile {
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
pub(crate) fn unlike(wanted: &str, taken: impl Fn(&str) -> bool) -> String {
    let wanted = if wanted == "leave" { "leave it" } else { wanted };
    if !taken(wanted) {
        return wanted.to_owned();
    }
    let mut numbered = (2..u32::MAX).map(|n| format!("{wanted} ({n})"));
    numbered.find(|name| !taken(name)).expect("some number is free")
}
