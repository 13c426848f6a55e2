//! The neutral plan: what every format is read into, and one workload is written from.

use offered_model::workload::script::{Otherwise, Per, Which};
use offered_model::{Law, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::Text;

/// One workload as another tool meant it.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// What the file calls it: the name of its thread group.
    pub name: String,
    /// Where it comes from, in a few words.
    pub origin: String,
    /// When it runs, against the other plans of the file.
    pub when: When,
    /// How long it launches.
    pub duration: Nanos,
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

/// When a plan runs, against the other plans of its file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum When {
    /// Before the load.
    Before,
    /// It is the load.
    #[default]
    Load,
    /// After the load.
    After,
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

/// The server that is asked, and how.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Target {
    /// Its address as a workload writes it.
    pub url: String,
    /// How launches find a connection, where the plan says so.
    pub reuse: Option<&'static str>,
    /// The longest a connection may take to open.
    pub connect_timeout: Option<Nanos>,
    /// The longest an answer may take.
    pub response_timeout: Option<Nanos>,
    /// Whether each session keeps the cookies it is given.
    pub cookies: bool,
    /// Redirects that are followed at most.
    pub redirects: u32,
    /// Who asks, where requests do not say.
    pub auth: Option<Auth>,
    /// Headers of every request.
    pub headers: Vec<(String, Text)>,
    /// Which HTTP is spoken, where that is not the usual.
    pub protocol: Option<&'static str>,
    /// The proxy it is reached by.
    pub proxy: Option<String>,
    /// How it shows who it is.
    pub tls: Tls,
}

/// How an https server shows who it is, and who we are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    /// Whether any certificate will do.
    pub insecure: bool,
    /// The file of the certificates that are trusted.
    pub roots: Option<String>,
    /// The files of our own certificate and its key.
    pub own: Option<(String, String)>,
}

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Auth {
    /// A user's name, a colon and a password.
    Basic(Text),
    /// A token.
    Bearer(Text),
}

/// Something with a name that is put into requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name: letters, digits and `_`.
    pub name: String,
    /// Where its value comes from.
    pub value: Value,
    /// How often it takes a new one; means nothing of one that never does.
    pub per: Per,
}

impl Variable {
    /// One that always has this value.
    pub(crate) fn constant(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: Value::Constant(value.into()), per: Per::Session }
    }
}

/// Where the value of a variable comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
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
        /// What is done after the last row: "repeat" or "stop".
        at_end: &'static str,
    },
    /// A new random identifier (UUID, version 4).
    Uuid,
    /// The numbers from this one on.
    Sequence(u64),
    /// A whole number drawn between these two, both included.
    Between(i64, i64),
}

/// One kind of request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Its name, unlike the others'.
    pub name: String,
    /// In small letters.
    pub method: String,
    /// Path and query, fit to be sent.
    pub path: Text,
    /// How often, against the others, where there are no flows.
    pub weight: f64,
    /// Its own headers.
    pub headers: Vec<(String, Text)>,
    /// Its body.
    pub body: Option<Body>,
    /// Who asks, where that is not the target's.
    pub auth: Option<Auth>,
    /// What is taken from its answer.
    pub extract: Vec<Extract>,
    /// What its answer must be.
    pub check: Vec<Check>,
    /// Paths that are fetched after the answer, as a browser does.
    pub objects: Vec<Text>,
    /// Over at most so many connections, where the plan says so.
    pub connections: Option<u32>,
}

/// The body of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// A text.
    Text(Text),
    /// What stands in a file, as it stands.
    File(String),
    /// Names and values as a form sends them, each name once.
    Form(Vec<(String, Text)>),
    /// Parts, each by itself.
    Parts(Vec<Part>),
}

/// One part of a body in parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The field's name.
    pub name: String,
    /// Its value; for a file, the file's name.
    pub value: Text,
    /// Whether it is what stands in a file.
    pub file: bool,
    /// Its media type, where it has one of its own.
    pub kind: Option<String>,
}

/// Something that is taken from an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extract {
    /// The name it has from then on.
    pub name: String,
    /// Where it stands.
    pub from: Source,
    /// Which of those found.
    pub which: Which,
    /// What it is where none is found.
    pub otherwise: Otherwise,
}

/// Where in an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// At a `JSONPath`.
    Json(String),
    /// What a group of a regular expression matches in the body.
    Regex(String, u32),
    /// A header.
    Header(String),
    /// What a CSS selector finds: its text, or an attribute.
    Css(String, Option<String>),
}

/// One thing an answer must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Its name, where the plan gives one.
    pub name: Option<String>,
    /// What must hold.
    pub must: Must,
}

/// What must hold of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Must {
    /// One of these statuses.
    Status(Vec<u16>),
    /// A status of this class, such as 2 for 200 to 299.
    Class(u16),
    /// Any status at all: from 400 on, too, is no failure.
    AnyStatus,
    /// This header has this in it.
    Header(String, String),
    /// The body has this in it.
    Contains(String),
    /// The body has a match of this regular expression.
    Matches(String),
    /// What stands at a `JSONPath` is this; `None`: it stands there.
    Json(String, Option<String>),
    /// The body is so long, as `< 1000`.
    Size(String),
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
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Note {
    /// The line in the file, from 1; 0 where the file has no lines.
    pub line: usize,
    /// What it is called there: its kind and its name.
    pub element: String,
    /// What it would have done, or what was made of it.
    pub what: String,
}

impl Target {
    /// Without what does not go with its address.
    pub(crate) fn consistent(mut self) -> Self {
        if !self.url.starts_with("https:") {
            self.tls = Tls::default();
            self.protocol = self.protocol.filter(|protocol| *protocol == "h2" && self.proxy.is_none());
        }
        if self.url.starts_with("unix:") {
            self.proxy = None;
        }
        if self.tls.insecure {
            self.tls.roots = None;
        }
        self
    }
}

impl Plan {
    /// The files it names are in `folder`; names that say where they are stay.
    pub fn find_files_in(&mut self, folder: &std::path::Path) {
        let found = |name: &str| folder.join(name).to_string_lossy().into_owned();
        for variable in &mut self.variables {
            if let Value::File { file, .. } = &mut variable.value {
                *file = found(file);
            }
        }
        let tls = &mut self.target.tls;
        let own = tls.own.as_mut().map(|(certificate, key)| [certificate, key]);
        for file in tls.roots.iter_mut().chain(own.into_iter().flatten()) {
            *file = found(file);
        }
        for request in &mut self.requests {
            match &mut request.body {
                Some(Body::File(file)) => *file = found(file),
                Some(Body::Parts(parts)) => {
                    for part in parts.iter_mut().filter(|part| part.file) {
                        part.value = Text::from(found(&part.value.shown()));
                    }
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
        let fit = crate::address::header(name, &value) && !crate::address::own_header(name);
        match self.headers.iter_mut().find(|(other, _)| other.eq_ignore_ascii_case(name)) {
            _ if !fit => {}
            None => self.headers.push((name.to_owned(), value)),
            Some((_, before)) => {
                before.say(if name.eq_ignore_ascii_case("cookie") { "; " } else { ", " });
                before.push(&value);
            }
        }
        fit
    }
}

impl Body {
    /// Pairs as a form; where a name is there twice, which a workload's table cannot say, as the text of one.
    pub(crate) fn form(pairs: Vec<(String, Text)>, headers: &mut Vec<(String, Text)>) -> Self {
        let twice = pairs.iter().enumerate().any(|(at, (name, _))| pairs[..at].iter().any(|(other, _)| other == name));
        if !twice {
            return Self::Form(pairs);
        }
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
            headers.push(("Content-Type".to_owned(), Text::from("application/x-www-form-urlencoded")));
        }
        let mut body = Text::default();
        for (at, (name, value)) in pairs.iter().enumerate() {
            body.say(if at == 0 { "" } else { "&" });
            body.say(&crate::address::form(name));
            body.say("=");
            body.push(&value.map(crate::address::form));
        }
        Self::Text(body)
    }
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
