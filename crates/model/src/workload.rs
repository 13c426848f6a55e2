//! The workload: what is meant, as one small TOML text, parsed once and then trusted.

mod read;
pub mod script;
mod source;
#[cfg(test)]
mod tests;
mod url;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

pub use read::Files;
pub use source::Mistake;
pub use url::{Address, Url};

use crate::Wrong;
use crate::agenda::Launch;
use crate::arrivals::Schedule;
use crate::flow::Flows;
use crate::law::Law;
use crate::random::{Purpose, Seed};
use crate::template::Template;
use crate::threshold::Threshold;
use crate::time::Nanos;
use crate::trace::{Replay, Way};
use script::{Auth, Body, Check, Content, Extraction, Objects, OnFailure, Variable};

/// A test as it was meant.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// From which every random choice follows.
    pub seed: Seed,
    /// Launches are meant from 0 up to here.
    pub duration: Nanos,
    /// Ramp-up, kept in the data, left out of statistics.
    pub skip_first: Nanos,
    /// Ramp-down, likewise.
    pub skip_last: Nanos,
    /// What to do about launches that are late.
    pub late: Late,
    /// The system model: who arrives, and what sessions do.
    pub sessions: Sessions,
    /// The real server.
    pub target: Option<Target>,
    /// The modelled server, where requests take the same way through it.
    pub server: Option<Server>,
    /// The modelled network in its stead, where only the mean visits to each station are known; else empty.
    pub stations: Vec<Station>,
    /// How the generator itself works.
    pub generator: Generator,
    /// What templates may ask for, besides what is extracted from answers.
    pub variables: Vec<Variable>,
    /// What is asked; never empty.
    pub requests: Vec<Request>,
    /// What the run must keep to pass.
    pub thresholds: Vec<Threshold>,
}

/// The three system models (Schroeder, Wierman and Harchol-Balter, section 2), said once: sessions arrive and take turns.
#[derive(Clone, Debug, PartialEq)]
pub enum Sessions {
    /// Sessions of one request.
    Open(Schedule),
    /// Sessions that arrive, make some requests with think times between, and leave.
    PartlyOpen {
        /// When sessions arrive.
        schedule: Schedule,
        /// How many requests each makes.
        length: Length,
        /// The time from a completion to the session's next launch.
        think: Law,
    },
    /// Sessions that are there from the start and never leave.
    Closed(Closed),
    /// What a trace recorded, as any of the three.
    Replay(Replay),
}

impl Sessions {
    /// Whether sessions make several requests and then end.
    pub fn end(&self) -> bool {
        match self {
            Self::PartlyOpen { .. } => true,
            Self::Replay(replay) => matches!(replay.way, Way::Sessions { .. }),
            Self::Open(_) | Self::Closed(_) => false,
        }
    }
}

/// A closed system.
#[derive(Clone, Debug, PartialEq)]
pub struct Closed {
    /// N, at least 1.
    pub users: u64,
    /// The time from a completion to the user's next launch (the papers' Z).
    pub think: Law,
    /// Users start one after another, evenly over this time.
    pub ramp: Nanos,
    /// What a user does first.
    pub start: Start,
    /// How many visits each user makes before it leaves, from 1 to [`Visit::MOST`](crate::Visit::MOST); without flows, requests. `None`: it never
    /// leaves.
    pub visits: Option<u32>,
    /// The visits it makes one after another; `None`: each request is chosen by weight.
    pub flows: Option<Arc<Flows>>,
}

impl Closed {
    /// The mean think time after a request, seconds (the papers' Z).
    pub fn mean_think(&self) -> f64 {
        self.flows.as_ref().map_or_else(|| self.think.mean(), |flows| flows.mean_think(&self.think))
    }

    /// The same users with this mean think time, in seconds: every think law stretched alike.
    ///
    /// # Errors
    /// A mean that is not above zero, or users who do not think at all.
    pub fn with_mean_think(&self, mean: f64) -> Result<Self, Wrong> {
        let factor = mean / self.mean_think();
        let think = if self.think.is_zero() { self.think.clone() } else { self.think.scaled(factor)? };
        let flows = self.flows.as_ref().map(|flows| flows.stretched(factor).map(Arc::new)).transpose()?;
        Ok(Self { think, flows, ..self.clone() })
    }
}

/// What a closed user does first, after its place in the ramp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Finishes a think time under way: the stream is stationary from the first instant.
    MidThought,
    /// Thinks a whole think time (`JMeter`'s timers before the first sampler).
    Thinking,
    /// Launches at once: N users without a ramp make a bunch of N.
    AtOnce,
}

/// How many requests a session makes.
#[derive(Clone, Debug, PartialEq)]
pub enum Length {
    /// After each it stays with this probability (the papers' p), in [0, 1); the mean is 1/(1-p).
    Geometric {
        /// The stay probability.
        stay: f64,
    },
    /// Always so many, at least 1.
    Fixed(u32),
    /// One of these, each as likely; all at least 1.
    Empirical(Arc<[u32]>),
    /// As many as there are on its way through these.
    Flows(Arc<Flows>),
}

impl Length {
    /// The mean number of requests of a session.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Geometric { stay } => 1.0 / (1.0 - stay),
            Self::Fixed(requests) => f64::from(*requests),
            Self::Empirical(all) => all.iter().map(|n| f64::from(*n)).sum::<f64>() / all.len() as f64,
            Self::Flows(flows) => flows.mean(),
        }
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

/// The real server, and how to talk to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Where.
    pub url: Url,
    /// How launches find a connection.
    pub reuse: Reuse,
    /// At most so many connections over all threads; launches that find none are `unsent`.
    pub connections: Option<u32>,
    /// At most so many requests under way over all threads; launches beyond are `unsent`.
    pub in_flight: Option<u32>,
    /// The longest a connection may take to open.
    pub connect_timeout: Nanos,
    /// The longest an answer may take, from the moment of sending.
    pub response_timeout: Nanos,
    /// Addresses of this machine that connections come from, in turn; empty: the system chooses. One address has some 28,000
    /// ports for connections to one server.
    pub sources: Vec<std::net::IpAddr>,
    /// Resolve the name again so often; `None`: once per run.
    pub resolve_every: Option<Nanos>,
    /// Sent with every request that has none of that name itself.
    pub headers: Vec<(String, Template)>,
    /// Who asks, where the request does not say.
    pub auth: Option<Auth>,
    /// Whether each session keeps its cookies.
    pub cookies: bool,
    /// How many redirects in a row are followed.
    pub redirects: u32,
    /// How it proves who it is, and who we are, where TLS is spoken.
    pub tls: Tls,
    /// Through whom connections go.
    pub proxy: Option<Proxy>,
    /// Which HTTP is spoken.
    pub protocol: Protocol,
    /// Where the messages of gRPC are described, if they are.
    pub descriptors: Option<Descriptors>,
}

/// Where the messages of gRPC are described.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Descriptors {
    /// In this file, a set of descriptors as `protoc` writes it.
    File(PathBuf),
    /// The server says, before the run.
    Reflection,
}

/// How a TLS connection is made. Files stand beside the workload and are read before launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    /// Take any certificate.
    pub insecure: bool,
    /// A PEM file of the certificates that are trusted, in place of the system's.
    pub roots: Option<PathBuf>,
    /// PEM files of our own certificate and its key.
    pub identity: Option<Identity>,
    /// The name asked for and held against the certificate; `None`: the URL's host.
    pub server_name: Option<String>,
    /// Resume earlier handshakes, of other sessions too; else every connection makes a whole one.
    pub resume: bool,
}

/// Who we are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// A PEM file of the certificate and those between it and its root.
    pub certificate: PathBuf,
    /// A PEM file of its private key.
    pub key: PathBuf,
}

/// A proxy: plain requests are given to it whole, for TLS it makes a tunnel.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    /// Its host name or IP address (IPv6 without brackets).
    pub host: String,
    /// Its port.
    pub port: u16,
    /// `user:password`, where it wants them.
    pub user: Option<String>,
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = self.user.as_ref().map(|_| "...");
        f.debug_struct("Proxy").field("host", &self.host).field("port", &self.port).field("user", &user).finish()
    }
}

/// Which HTTP is spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1.
    #[default]
    Http1,
    /// HTTP/2: over TLS by ALPN, else by prior knowledge.
    Http2,
    /// What the server takes of the two; it is asked once, before the run.
    Auto,
}

/// How launches find a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// A free one, or a new one: an arrival never waits for a connection.
    Pool,
    /// Its session's own, opened by the session's first request.
    PerSession,
    /// A new one each time.
    Fresh,
}

/// How the generator works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generator {
    /// How many threads launch; `None`: as many as the rate needs.
    pub threads: Option<u16>,
    /// How they wait for the next launch.
    pub precision: Precision,
}

/// How a thread waits for its next launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// Sleeps to shortly before it, then spins: within microseconds, for processor time.
    Spin,
    /// Only sleeps: some tens of microseconds late, for almost nothing.
    Sleep,
}

/// The modelled server.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// m.
    pub servers: u32,
    /// The scheduling policy, by name.
    pub discipline: String,
    /// The law of service demands (the papers' S), in seconds.
    pub service: Law,
    /// Room for so many requests, those being served included; who finds it full is refused. `None`: for any number.
    pub room: Option<u32>,
}

/// One station of a modelled network: a `[[station]]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Station {
    /// Its name, unlike the others'.
    pub name: String,
    /// m.
    pub servers: u32,
    /// The scheduling policy, by name.
    pub discipline: String,
    /// The law of the work of one visit, in seconds.
    pub service: Law,
    /// How often a request comes by on average, above zero.
    pub visits: f64,
}

/// One kind of request.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Its label.
    pub name: String,
    /// What kind of exchange it is.
    pub call: Call,
    /// `GET`, `POST`, ...
    pub method: String,
    /// Path and query; where it begins with a place, that may bring a whole URL of the target.
    pub path: Template,
    /// How often it is chosen, against the others.
    pub weight: f64,
    /// Sent besides the target's headers.
    pub headers: Vec<(String, Template)>,
    /// What it carries.
    pub body: Body,
    /// Who asks; `None`: as the target says.
    pub auth: Option<Auth>,
    /// What is taken out of the answer.
    pub extract: Vec<Extraction>,
    /// What the answer must be.
    pub checks: Vec<Check>,
    /// What becomes of the session when it does not go well.
    pub on_failure: OnFailure,
    /// What is fetched with it, as a browser does.
    pub objects: Option<Objects>,
    /// The law of its service demand on the modelled server, where it has its own.
    pub service: Option<Law>,
}

/// What kind of exchange a request is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Call {
    /// One of HTTP.
    #[default]
    Http,
    /// A unary call of gRPC: the path names service and method, the body is its message in JSON.
    Grpc,
    /// Something said on the session's own WebSocket: the path is where that is opened, the body what is said.
    WebSocket {
        /// A regular expression that the answer matches; `None`: the next message is the answer.
        awaited: Option<String>,
    },
}

/// Chooses which request a launch sends.
#[derive(Clone, Debug)]
pub struct Mix {
    seed: Seed,
    /// Running sums of the weights.
    sums: Vec<f64>,
    /// Of a replay the trace chooses.
    replay: Option<Replay>,
    /// Where there are flows, the place.
    flows: Option<Arc<Flows>>,
}

impl Workload {
    /// The choice of requests by weight.
    pub fn mix(&self) -> Mix {
        let sums = self.requests.iter().scan(0.0, |sum, request| {
            *sum += request.weight;
            Some(*sum)
        });
        let replay = match &self.sessions {
            Sessions::Replay(replay) => Some(replay.clone()),
            _ => None,
        };
        Mix { seed: self.seed, sums: sums.collect(), replay, flows: self.flows().cloned() }
    }

    /// The flows that its sessions walk through.
    pub fn flows(&self) -> Option<&Arc<Flows>> {
        match &self.sessions {
            Sessions::Closed(closed) => closed.flows.as_ref(),
            Sessions::PartlyOpen { length: Length::Flows(flows), .. } => Some(flows),
            _ => None,
        }
    }

    /// The share of the launches that falls to each request; they sum to 1. (Of a replay, the trace is not counted: by weight.)
    pub fn shares(&self) -> Vec<f64> {
        let total: f64 = self.requests.iter().map(|request| request.weight).sum();
        let by_weight = || self.requests.iter().map(|request| request.weight / total).collect();
        self.flows().map_or_else(by_weight, |flows| flows.shares(self.requests.len()))
    }

    /// The mean think time after a request, seconds; `None` where sessions do not think by a law.
    pub fn mean_think(&self) -> Option<f64> {
        let law = match &self.sessions {
            Sessions::Closed(closed) => return Some(closed.mean_think()),
            Sessions::PartlyOpen { think, .. } => think,
            _ => return None,
        };
        Some(self.flows().map_or_else(|| law.mean(), |flows| flows.mean_think(law)))
    }

    /// The launches per second meant, over the whole run, where the workload alone says so: not for a closed system, whose
    /// rate depends on the server.
    pub fn asked_rate(&self) -> Option<f64> {
        Some(self.asked_before(self.duration)? / self.duration.as_secs_f64())
    }

    /// How many launches are meant before `end`, in the mean over all seeds, where the workload alone says so. Of a partly-open
    /// system: by the sessions that arrive before `end`.
    pub fn asked_before(&self, end: Nanos) -> Option<f64> {
        let end = end.min(self.duration);
        match &self.sessions {
            Sessions::Open(schedule) => Some(schedule.rate.cumulative(end)),
            Sessions::PartlyOpen { schedule, length, .. } => Some(length.mean() * schedule.rate.cumulative(end)),
            Sessions::Replay(replay) => Some(replay.entries_before(end)? as f64),
            Sessions::Closed(_) => None,
        }
    }

    /// Whether sessions remember, listen or fetch: all that a transport cannot do that only sends and times.
    pub fn is_scripted(&self) -> bool {
        let target = self.target.as_ref().is_some_and(|target| target.cookies || target.redirects > 0);
        target || self.requests.iter().any(|request| request.is_scripted(self.target.as_ref()))
    }

    /// The labels of events, in the order of the requests.
    pub fn labels(&self) -> Vec<String> {
        self.requests.iter().map(|request| request.name.clone()).collect()
    }
}

impl Request {
    /// The headers it is sent with to `target`: its own, each in the stead of the target's of the same name.
    pub fn headers_to<'a>(
        &'a self,
        target: impl Into<Option<&'a Target>>,
    ) -> impl Iterator<Item = &'a (String, Template)> {
        let own = |name: &str| self.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
        let shared = target.into().into_iter().flat_map(|target| &target.headers);
        shared.filter(move |(name, _)| !own(name)).chain(&self.headers)
    }

    /// Who asks `target` by it; `None`: nobody, or a header says so already.
    pub fn auth_to<'a>(&'a self, target: &'a Target) -> Option<&'a Auth> {
        let auth = self.auth.as_ref().or(target.auth.as_ref()).filter(|auth| !matches!(auth, Auth::Nobody));
        let said = self.headers_to(target).any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        auth.filter(|_| !said)
    }

    fn is_scripted(&self, target: Option<&Target>) -> bool {
        let plain_body = match &self.body {
            Body::None => true,
            Body::Text(text) => text.is_plain(),
            Body::File { content: Ok(Content::Text(text)), .. } => text.is_plain(),
            _ => false,
        };
        let plain_auth = match self.auth.as_ref().or_else(|| target.and_then(|target| target.auth.as_ref())) {
            Some(Auth::Basic(text) | Auth::Bearer(text)) => text.text().is_some(),
            Some(Auth::Nobody) | None => true,
        };
        let mut headers = target.into_iter().flat_map(|target| &target.headers).chain(&self.headers);
        let says = !self.path.is_plain() || !plain_body || headers.any(|(_, value)| !value.is_plain()) || !plain_auth;
        let hears = !self.extract.is_empty() || !self.checks.is_empty() || self.objects.is_some();
        says || hears || self.on_failure != OnFailure::Continue
    }
}

impl Mix {
    /// The index of the request that `launch` sends.
    #[inline]
    pub fn choose(&self, launch: Launch) -> u16 {
        if self.sums.len() == 1 {
            return 0;
        }
        let Launch { session, step, place, .. } = launch;
        if let Some(replay) = &self.replay {
            return replay.request(session, step);
        }
        if let Some(flows) = &self.flows {
            return flows.request(place);
        }
        let at = self.seed.at(Purpose::Choice, session, step).uniform() * self.sums[self.sums.len() - 1];
        self.sums.partition_point(|sum| *sum <= at).min(self.sums.len() - 1) as u16
    }
}
