//! The target of a run: the real server, and the connections to it.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

use super::breaker::CircuitBreaker;
use super::retry::Retry;
use super::script::Auth;
use super::sql::Pool;
use super::url::Url;
use crate::template::Template;
use offered_base::time::Nanos;
use offered_distributions::Distribution;

/// Default timeout for opening a connection.
pub(super) const CONNECT_TIMEOUT: Nanos = Nanos::from_secs(5);
/// Default timeout for a response.
pub(super) const RESPONSE_TIMEOUT: Nanos = Nanos::from_secs(30);

/// The real server, and the settings of connections to it. [`Workload::new`](super::Workload::new) refuses conflicting
/// settings (TLS with a plain address, ...).
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    pub(super) folder: PathBuf,
    pub(super) name: Option<String>,
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
    pub(super) omit_headers: Vec<String>,
    pub(super) auth: Option<Auth>,
    pub(super) cookies: bool,
    pub(super) redirects: u32,
    pub(super) retry: Option<Retry>,
    pub(super) breaker: Option<CircuitBreaker>,
    pub(super) patience: Option<Distribution>,
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
    /// The headers that the generator adds to requests without them.
    pub const OWN_HEADERS: [&str; 2] = ["Accept", "User-Agent"];

    /// Maximum number of consecutive redirects.
    pub const MOST_REDIRECTS: u32 = 100;

    /// A target with a shared connection pool, HTTP/1.1 and defaults otherwise.
    pub fn new(url: Url) -> Self {
        Self {
            folder: PathBuf::new(),
            name: None,
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
            omit_headers: Vec::new(),
            auth: None,
            cookies: false,
            redirects: 0,
            retry: None,
            breaker: None,
            patience: None,
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

    /// Sets the maximum number of connections; for a database, the exact number.
    #[must_use]
    pub fn with_connections(self, connections: u32) -> Self {
        Self { connections: Some(connections), ..self }
    }

    /// Sets the URL.
    #[must_use]
    pub fn with_url(self, url: Url) -> Self {
        Self { url, ..self }
    }

    /// Sets how connections are reused.
    #[must_use]
    pub fn with_reuse(self, reuse: Reuse) -> Self {
        Self { reuse, ..self }
    }

    /// Sets which of several addresses of the host a connection tries first.
    #[must_use]
    pub fn with_resolve(self, resolve: Resolve) -> Self {
        Self { resolve, ..self }
    }

    /// Sets the time limit for opening a connection.
    #[must_use]
    pub fn with_connect_timeout(self, connect_timeout: Nanos) -> Self {
        Self { connect_timeout, ..self }
    }

    /// Sets the timeout for a response, from the time of sending.
    #[must_use]
    pub fn with_response_timeout(self, response_timeout: Nanos) -> Self {
        Self { response_timeout, ..self }
    }

    /// Sets whether each session keeps its cookies, in its own cookie store.
    #[must_use]
    pub fn with_cookies(self, cookies: bool) -> Self {
        Self { cookies, ..self }
    }

    /// Sets the maximum number of consecutive redirects that are followed.
    #[must_use]
    pub fn with_redirects(self, redirects: u32) -> Self {
        Self { redirects, ..self }
    }

    /// Sets the name.
    #[must_use]
    pub fn with_name(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    /// Sets the default authentication.
    #[must_use]
    pub fn with_auth(self, auth: Option<Auth>) -> Self {
        Self { auth, ..self }
    }

    /// Sets which of the [`OWN_HEADERS`](Self::OWN_HEADERS) are omitted in requests that do not set them.
    #[must_use]
    pub fn with_omit_headers(self, omit_headers: Vec<String>) -> Self {
        Self { omit_headers, ..self }
    }

    /// Sets the default headers of every request.
    #[must_use]
    pub fn with_headers(self, headers: Vec<(String, Template)>) -> Self {
        Self { headers, ..self }
    }

    /// Sets the TLS settings.
    #[must_use]
    pub fn with_tls(self, tls: Tls) -> Self {
        Self { tls, ..self }
    }

    /// Sets the proxy; `None`: direct connections.
    #[must_use]
    pub fn with_proxy(self, proxy: Option<Proxy>) -> Self {
        Self { proxy, ..self }
    }

    /// Sets the version of HTTP.
    #[must_use]
    pub fn with_protocol(self, protocol: Protocol) -> Self {
        Self { protocol, ..self }
    }

    /// The name of the target; `None` if the workload has only one target without a name.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The URL.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// How connections are reused.
    pub fn reuse(&self) -> Reuse {
        self.reuse
    }

    /// Maximum number of connections of all threads together; requests without a free connection are `unsent`. For a database: the exact
    /// number, opened before the run; requests wait for a free connection. `None`: unlimited.
    pub fn connections(&self) -> Option<u32> {
        self.connections
    }

    /// Maximum number of requests in flight of all threads together; further requests are `unsent`. `None`: unlimited.
    pub fn in_flight(&self) -> Option<u32> {
        self.in_flight
    }

    /// Time limit for opening a connection.
    pub fn connect_timeout(&self) -> Nanos {
        self.connect_timeout
    }

    /// Timeout for a response, from the time of sending.
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

    /// Interval of DNS lookups; `None`: once per run.
    pub fn resolve_every(&self) -> Option<Nanos> {
        self.resolve_every
    }

    /// Default headers; a header of the request with the same name overrides them.
    pub fn headers(&self) -> &[(String, Template)] {
        &self.headers
    }

    /// Whether requests that do not set the header `name` are sent without it.
    pub fn omits_header(&self, name: &str) -> bool {
        self.omit_headers.iter().any(|omitted| omitted.eq_ignore_ascii_case(name))
    }

    /// Default authentication; that of the request overrides it.
    pub fn auth(&self) -> Option<&Auth> {
        self.auth.as_ref()
    }

    /// Whether each session keeps its cookies.
    pub fn cookies(&self) -> bool {
        self.cookies
    }

    /// Maximum number of consecutive redirects that are followed.
    pub fn redirects(&self) -> u32 {
        self.redirects
    }

    /// Whether a request is sent again if an HTTP/2 server reports that it was not processed, or if a server closed its reused HTTP/1.1 connection
    /// and the request can be repeated.
    pub fn resend(&self) -> bool {
        self.resend
    }

    /// The TLS settings.
    pub fn tls(&self) -> &Tls {
        &self.tls
    }

    /// The proxy; `None`: direct connections.
    pub fn proxy(&self) -> Option<&Proxy> {
        self.proxy.as_ref()
    }

    /// The version of HTTP.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// The named pools of connections to a database; empty if there is only one pool, without a name.
    pub fn pools(&self) -> &[Pool] {
        &self.pools
    }

    /// SQL statements that are executed on every new connection to a database.
    pub fn on_connect(&self) -> &[String] {
        &self.on_connect
    }

    /// A command and its arguments that is run for every new connection to a database. `{pid}` is replaced by the server process
    /// of the connection, `{class}` by the name of its pool. Empty: no command.
    pub fn hook(&self) -> &[String] {
        &self.hook
    }

    /// The source of gRPC descriptors; `None` if the workload has none.
    pub fn descriptors(&self) -> Option<&Descriptors> {
        self.descriptors.as_ref()
    }
}

/// The source of gRPC descriptors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Descriptors {
    /// A descriptor set in a file, as `protoc` writes it.
    File(PathBuf),
    /// By server reflection, before the run.
    Reflection,
}

/// Settings of TLS connections. Relative files are in the folder of the workload and are read before the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    /// Whether any certificate is accepted.
    pub insecure: bool,
    /// A PEM file of trusted root certificates, instead of the system's.
    pub roots: Option<PathBuf>,
    /// The client certificate and its key.
    pub identity: Option<Identity>,
    /// The server name for SNI and the certificate check; `None`: the host of the URL.
    pub server_name: Option<String>,
    /// Whether TLS sessions are resumed, also between user sessions; otherwise every connection makes a full handshake.
    pub resume: bool,
}

/// A client certificate with its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// A PEM file with the certificate and its intermediate certificates.
    pub certificate: PathBuf,
    /// A PEM file of its private key.
    pub key: PathBuf,
}

/// A proxy. It forwards plain requests; for TLS it opens a tunnel.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    /// The host name or IP address (IPv6 without brackets).
    pub host: String,
    /// The port.
    pub port: u16,
    /// `user:password`; `None`: no authentication.
    pub user: Option<String>,
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = self.user.as_ref().map(|_| "...");
        f.debug_struct("Proxy").field("host", &self.host).field("port", &self.port).field("user", &user).finish()
    }
}

offered_base::named! {
    /// The version of HTTP.
    #[derive(Default)]
    pub enum Protocol {
        /// HTTP/1.1.
        #[default]
        Http1 = "http1",
        /// HTTP/2: over TLS by ALPN, otherwise by prior knowledge.
        Http2 = "h2",
        /// HTTP/2 or HTTP/1.1, negotiated with the server once before the run.
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
    /// How connections are reused.
    pub enum Reuse {
        /// A free connection, or a new one: an arrival never waits for a connection.
        Pool = "pool",
        /// Each session has its own connection, opened by its first request.
        PerSession = "per-session",
        /// A new connection for each request.
        Fresh = "fresh",
    }
}
