//! The workload: what is meant, as one small TOML text, parsed once and then trusted.

mod read;
pub mod script;
mod source;
#[cfg(test)]
mod tests;
mod url;
mod write;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

pub use crate::sessions::{Closed, Length, Start};
pub use read::Files;
pub use source::Mistake;
pub use url::{Address, Url};

use crate::Wrong;
use crate::arrivals::Schedule;
use crate::flow::Flows;
use crate::launch::Launch;
use crate::law::Law;
use crate::policy::Policy;
use crate::random::{Purpose, Seed};
use crate::template::Template;
use crate::threshold::Threshold;
use crate::time::Nanos;
use crate::trace::{Replay, Way};
use script::{Auth, Body, Check, Content, Extraction, Objects, OnFailure, Variable};

/// A test as it was meant.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    seed: Seed,
    duration: Nanos,
    skip_first: Nanos,
    skip_last: Nanos,
    late: Late,
    sessions: Sessions,
    target: Option<Target>,
    server: Option<Server>,
    stations: Vec<Station>,
    generator: Generator,
    variables: Vec<Variable>,
    requests: Vec<Request>,
    thresholds: Vec<Threshold>,
}

impl Workload {
    /// The same with another seed.
    #[must_use]
    pub fn with_seed(self, seed: Seed) -> Self {
        Self { seed, ..self }
    }

    /// The same with launches meant up to here.
    ///
    /// # Errors
    /// No time at all, or no more than is left out at both ends.
    pub fn with_duration(self, duration: Nanos) -> Result<Self, Wrong> {
        counted(duration, self.skip_first, self.skip_last)?;
        Ok(Self { duration, ..self })
    }

    /// The same with another system model.
    ///
    /// # Errors
    /// Flows or a trace that ask for requests the workload does not have.
    pub fn with_sessions(self, sessions: Sessions) -> Result<Self, Wrong> {
        let asked = match &sessions {
            Sessions::Replay(replay) => Some(replay.trace().most()),
            sessions => sessions.flows().and_then(|flows| flows.steps().iter().map(|step| step.request).max()),
        };
        match asked {
            Some(request) if usize::from(request) >= self.requests.len() => Err(Wrong::new(format!(
                "sessions ask for request {request}, and there are only {}",
                self.requests.len()
            ))),
            _ => Ok(Self { sessions, ..self }),
        }
    }

    /// The same with these weights of its requests, one each.
    ///
    /// # Errors
    /// Another number of weights, one that is not zero or more, or none above zero.
    pub fn with_weights(mut self, weights: &[f64]) -> Result<Self, Wrong> {
        let fits = weights.len() == self.requests.len() && weights.iter().all(|w| *w >= 0.0 && w.is_finite());
        if !fits || weights.iter().all(|w| *w == 0.0) {
            return Err(Wrong::new("each request needs a weight of zero or more, and one of them a weight above zero"));
        }
        self.requests.iter_mut().zip(weights).for_each(|(request, weight)| request.weight = *weight);
        Ok(self)
    }

    /// From which every random choice follows.
    pub fn seed(&self) -> Seed {
        self.seed
    }

    /// Launches are meant from 0 up to here.
    pub fn duration(&self) -> Nanos {
        self.duration
    }

    /// Ramp-up, kept in the data, left out of statistics.
    pub fn skip_first(&self) -> Nanos {
        self.skip_first
    }

    /// Ramp-down, likewise.
    pub fn skip_last(&self) -> Nanos {
        self.skip_last
    }

    /// What to do about launches that are late.
    pub fn late(&self) -> Late {
        self.late
    }

    /// The system model: who arrives, and what sessions do.
    pub fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// The real server.
    pub fn target(&self) -> Option<&Target> {
        self.target.as_ref()
    }

    /// The modelled server, where requests take the same way through it.
    pub fn server(&self) -> Option<&Server> {
        self.server.as_ref()
    }

    /// The modelled network in its stead, where only the mean visits to each station are known; else empty.
    pub fn stations(&self) -> &[Station] {
        &self.stations
    }

    /// How the generator itself works.
    pub fn generator(&self) -> Generator {
        self.generator
    }

    /// What templates may ask for, besides what is extracted from answers.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// What is asked; never empty.
    pub fn requests(&self) -> &[Request] {
        &self.requests
    }

    /// What the run must keep to pass.
    pub fn thresholds(&self) -> &[Threshold] {
        &self.thresholds
    }
}

/// Checks that something of the duration is left to count.
fn counted(duration: Nanos, skip_first: Nanos, skip_last: Nanos) -> Result<(), Wrong> {
    if skip_first + skip_last < duration {
        return Ok(());
    }
    Err(Wrong::new(format!(
        "skip_first {skip_first} and skip_last {skip_last} leave nothing of the duration {duration}; make it longer or skip less"
    )))
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
            Self::Replay(replay) => matches!(replay.way(), Way::Sessions { .. }),
            Self::Open(_) | Self::Closed(_) => false,
        }
    }

    /// The flows that they walk through.
    pub fn flows(&self) -> Option<&Arc<Flows>> {
        match self {
            Self::Closed(closed) => closed.flows(),
            Self::PartlyOpen { length, .. } => length.flows(),
            Self::Open(_) | Self::Replay(_) => None,
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
    folder: PathBuf,
    url: Url,
    reuse: Reuse,
    connections: Option<u32>,
    in_flight: Option<u32>,
    connect_timeout: Nanos,
    response_timeout: Nanos,
    sources: Vec<std::net::IpAddr>,
    resolve_every: Option<Nanos>,
    headers: Vec<(String, Template)>,
    auth: Option<Auth>,
    cookies: bool,
    redirects: u32,
    resend: bool,
    tls: Tls,
    proxy: Option<Proxy>,
    protocol: Protocol,
    descriptors: Option<Descriptors>,
}

impl Target {
    /// Where.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// How launches find a connection.
    pub fn reuse(&self) -> Reuse {
        self.reuse
    }

    /// At most so many connections over all threads; launches that find none are `unsent`.
    pub fn connections(&self) -> Option<u32> {
        self.connections
    }

    /// At most so many requests under way over all threads; launches beyond are `unsent`.
    pub fn in_flight(&self) -> Option<u32> {
        self.in_flight
    }

    /// The longest a connection may take to open.
    pub fn connect_timeout(&self) -> Nanos {
        self.connect_timeout
    }

    /// The longest an answer may take, from the moment of sending.
    pub fn response_timeout(&self) -> Nanos {
        self.response_timeout
    }

    /// Addresses of this machine that connections come from, in turn; empty: the system chooses. One address has some 28,000
    /// ports for connections to one server.
    pub fn sources(&self) -> &[std::net::IpAddr] {
        &self.sources
    }

    /// Resolve the name again so often; `None`: once per run.
    pub fn resolve_every(&self) -> Option<Nanos> {
        self.resolve_every
    }

    /// Sent with every request that has none of that name itself.
    pub fn headers(&self) -> &[(String, Template)] {
        &self.headers
    }

    /// Who asks, where the request does not say.
    pub fn auth(&self) -> Option<&Auth> {
        self.auth.as_ref()
    }

    /// Whether each session keeps its cookies.
    pub fn cookies(&self) -> bool {
        self.cookies
    }

    /// How many redirects in a row are followed.
    pub fn redirects(&self) -> u32 {
        self.redirects
    }

    /// Whether a request that the server says it did not process (HTTP/2) is sent again.
    pub fn resend(&self) -> bool {
        self.resend
    }

    /// How it proves who it is, and who we are, where TLS is spoken.
    pub fn tls(&self) -> &Tls {
        &self.tls
    }

    /// Through whom connections go.
    pub fn proxy(&self) -> Option<&Proxy> {
        self.proxy.as_ref()
    }

    /// Which HTTP is spoken.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Where the messages of gRPC are described, if they are.
    pub fn descriptors(&self) -> Option<&Descriptors> {
        self.descriptors.as_ref()
    }
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
    threads: Option<u16>,
    precision: Precision,
}

impl Generator {
    /// How many threads launch; `None`: as many as the rate needs.
    pub fn threads(&self) -> Option<u16> {
        self.threads
    }

    /// How they wait for the next launch.
    pub fn precision(&self) -> Precision {
        self.precision
    }
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
    servers: u32,
    discipline: Policy,
    service: Law,
    room: Option<u32>,
}

impl Server {
    /// So many servers that work by this discipline, with room for any number of requests.
    ///
    /// # Errors
    /// No servers.
    pub fn new(servers: u32, discipline: Policy, service: Law) -> Result<Self, Wrong> {
        match servers {
            0 => Err(Wrong::new("there must be at least 1 server")),
            _ => Ok(Self { servers, discipline, service, room: None }),
        }
    }

    /// m.
    pub fn servers(&self) -> u32 {
        self.servers
    }

    /// The scheduling policy.
    pub fn discipline(&self) -> Policy {
        self.discipline
    }

    /// The law of service demands (the papers' S), in seconds.
    pub fn service(&self) -> &Law {
        &self.service
    }

    /// Room for so many requests, those being served included; who finds it full is refused. `None`: for any number.
    pub fn room(&self) -> Option<u32> {
        self.room
    }
}

/// One station of a modelled network: a `[[station]]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Station {
    name: String,
    servers: u32,
    discipline: Policy,
    service: Law,
    visits: f64,
}

impl Station {
    /// Its name, unlike the others'.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// m.
    pub fn servers(&self) -> u32 {
        self.servers
    }

    /// The scheduling policy.
    pub fn discipline(&self) -> Policy {
        self.discipline
    }

    /// The law of the work of one visit, in seconds.
    pub fn service(&self) -> &Law {
        &self.service
    }

    /// How often a request comes by on average, above zero.
    pub fn visits(&self) -> f64 {
        self.visits
    }
}

/// One kind of request.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    name: String,
    call: Call,
    method: String,
    path: Template,
    weight: f64,
    headers: Vec<(String, Template)>,
    body: Body,
    auth: Option<Auth>,
    extract: Vec<Extraction>,
    checks: Vec<Check>,
    on_failure: OnFailure,
    objects: Option<Objects>,
    service: Option<Law>,
}

impl Request {
    /// Its label.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What kind of exchange it is.
    pub fn call(&self) -> &Call {
        &self.call
    }

    /// `GET`, `POST`, ...
    pub fn method(&self) -> &str {
        &self.method
    }

    /// Path and query; where it begins with a place, that may bring a whole URL of the target.
    pub fn path(&self) -> &Template {
        &self.path
    }

    /// How often it is chosen, against the others.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// Sent besides the target's headers.
    pub fn headers(&self) -> &[(String, Template)] {
        &self.headers
    }

    /// What it carries.
    pub fn body(&self) -> &Body {
        &self.body
    }

    /// Who asks; `None`: as the target says.
    pub fn auth(&self) -> Option<&Auth> {
        self.auth.as_ref()
    }

    /// What is taken out of the answer.
    pub fn extract(&self) -> &[Extraction] {
        &self.extract
    }

    /// What the answer must be.
    pub fn checks(&self) -> &[Check] {
        &self.checks
    }

    /// What becomes of the session when it does not go well.
    pub fn on_failure(&self) -> OnFailure {
        self.on_failure
    }

    /// What is fetched with it, as a browser does.
    pub fn objects(&self) -> Option<&Objects> {
        self.objects.as_ref()
    }

    /// The law of its service demand on the modelled server, where it has its own.
    pub fn service(&self) -> Option<&Law> {
        self.service.as_ref()
    }
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
        self.sessions.flows()
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
            Sessions::Open(schedule) => Some(schedule.rate().cumulative(end)),
            Sessions::PartlyOpen { schedule, length, .. } => Some(length.mean() * schedule.rate().cumulative(end)),
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
