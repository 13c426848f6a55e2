//! Who is asked, and how: the real server.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

use super::script::Auth;
use super::sql::Pool;
use super::url::Url;
use crate::template::Template;
use offered_base::time::Nanos;

/// The longest a connection may take to open, where nothing is said of it.
pub(super) const CONNECT_TIMEOUT: Nanos = Nanos::from_secs(5);
/// The longest an answer may take, where nothing is said of it.
pub(super) const RESPONSE_TIMEOUT: Nanos = Nanos::from_secs(30);

/// The real server, and how to talk to it. What does not go together (TLS with a plain address, ...) is refused by
/// [`Workload::new`](super::Workload::new).
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    pub(super) folder: PathBuf,
    pub(super) url: Url,
    pub(super) reuse: Reuse,
    pub(super) connections: Option<u32>,
    pub(super) in_flight: Option<u32>,
    pub(super) connect_timeout: Nanos,
    pub(super) response_timeout: Nanos,
    pub(super) sources: Vec<IpAddr>,
    pub(super) resolve_every: Option<Nanos>,
    pub(super) resolve: Resolve,
    pub(super) headers: Vec<(String, Template)>,
    pub(super) auth: Option<Auth>,
    pub(super) cookies: bool,
    pub(super) redirects: u32,
    pub(super) resend: bool,
    pub(super) tls: Tls,
    pub(super) proxy: Option<Proxy>,
    pub(super) protocol: Protocol,
    pub(super) descriptors: Option<Descriptors>,
    pub(super) pools: Vec<Pool>,
    pub(super) on_connect: Vec<String>,
    pub(super) hook: Vec<String>,
}

impl Target {
    /// More redirects in a row lead nowhere.
    pub const MOST_REDIRECTS: u32 = 100;

    /// This server, over connections that launches share, HTTP/1.1 spoken, and nothing else said.
    pub fn new(url: Url) -> Self {
        Self {
            folder: PathBuf::new(),
            url,
            reuse: Reuse::Pool,
            connections: None,
            in_flight: None,
            connect_timeout: CONNECT_TIMEOUT,
            response_timeout: RESPONSE_TIMEOUT,
            sources: Vec::new(),
            resolve_every: None,
            resolve: Resolve::default(),
            headers: Vec::new(),
            auth: None,
            cookies: false,
            redirects: 0,
            resend: true,
            tls: Tls::default(),
            proxy: None,
            protocol: Protocol::default(),
            descriptors: None,
            pools: Vec::new(),
            on_connect: Vec::new(),
            hook: Vec::new(),
        }
    }

    /// The same over so many connections at most; to a database, over exactly so many.
    #[must_use]
    pub fn with_connections(self, connections: u32) -> Self {
        Self { connections: Some(connections), ..self }
    }

    /// The same at another address.
    #[must_use]
    pub fn with_url(self, url: Url) -> Self {
        Self { url, ..self }
    }

    /// The same, whose launches find their connections so.
    #[must_use]
    pub fn with_reuse(self, reuse: Reuse) -> Self {
        Self { reuse, ..self }
    }

    /// The same, whose connections choose among several addresses so.
    #[must_use]
    pub fn with_resolve(self, resolve: Resolve) -> Self {
        Self { resolve, ..self }
    }

    /// The same, waiting so long for a connection.
    #[must_use]
    pub fn with_connect_timeout(self, connect_timeout: Nanos) -> Self {
        Self { connect_timeout, ..self }
    }

    /// The same, waiting so long for an answer.
    #[must_use]
    pub fn with_response_timeout(self, response_timeout: Nanos) -> Self {
        Self { response_timeout, ..self }
    }

    /// The same, where each session keeps its cookies or does not.
    #[must_use]
    pub fn with_cookies(self, cookies: bool) -> Self {
        Self { cookies, ..self }
    }

    /// The same, following so many redirects in a row.
    #[must_use]
    pub fn with_redirects(self, redirects: u32) -> Self {
        Self { redirects, ..self }
    }

    /// The same, asked by these.
    #[must_use]
    pub fn with_auth(self, auth: Option<Auth>) -> Self {
        Self { auth, ..self }
    }

    /// The same, with these sent with every request.
    #[must_use]
    pub fn with_headers(self, headers: Vec<(String, Template)>) -> Self {
        Self { headers, ..self }
    }

    /// The same, over TLS so.
    #[must_use]
    pub fn with_tls(self, tls: Tls) -> Self {
        Self { tls, ..self }
    }

    /// The same, through this proxy.
    #[must_use]
    pub fn with_proxy(self, proxy: Option<Proxy>) -> Self {
        Self { proxy, ..self }
    }

    /// The same, spoken to so.
    #[must_use]
    pub fn with_protocol(self, protocol: Protocol) -> Self {
        Self { protocol, ..self }
    }

    /// Where.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// How launches find a connection.
    pub fn reuse(&self) -> Reuse {
        self.reuse
    }

    /// At most so many connections over all threads; launches that find none are `unsent`. To a database exactly so many, made
    /// before the run, which launches wait for.
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
    pub fn sources(&self) -> &[IpAddr] {
        &self.sources
    }

    /// Which of several addresses a connection tries first.
    pub fn resolve(&self) -> Resolve {
        self.resolve
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

    /// The pools of connections to a database, where they have names.
    pub fn pools(&self) -> &[Pool] {
        &self.pools
    }

    /// What every connection to a database says first, in SQL.
    pub fn on_connect(&self) -> &[String] {
        &self.on_connect
    }

    /// A command and its arguments, run for every connection to a database before requests go there; `{pid}` in it is the process
    /// that serves the connection, `{class}` the name of its pool. Empty: none.
    pub fn hook(&self) -> &[String] {
        &self.hook
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

offered_base::named! {
    /// Which HTTP is spoken.
    #[derive(Default)]
    pub enum Protocol {
        /// HTTP/1.1.
        #[default]
        Http1 = "http1",
        /// HTTP/2: over TLS by ALPN, else by prior knowledge.
        Http2 = "h2",
        /// What the server takes of the two; it is asked once, before the run.
        Auto = "auto",
    }
}

offered_base::named! {
    /// Which of several addresses of the target a connection tries first. After a failure it tries the others.
    #[derive(Default)]
    pub enum Resolve {
        /// The first one, in the order of the resolver (RFC 6724).
        First = "first",
        /// Each in turn.
        #[default]
        Rotate = "rotate",
        /// The first of each IP version at the same time; the connection that is open first is used (after RFC 8305).
        Race = "race",
    }
}

offered_base::named! {
    /// How launches find a connection.
    pub enum Reuse {
        /// A free one, or a new one: an arrival never waits for a connection.
        Pool = "pool",
        /// Its session's own, opened by the session's first request.
        PerSession = "per-session",
        /// A new one each time.
        Fresh = "fresh",
    }
}
