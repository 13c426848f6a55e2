//! Errors that prevent a run from starting.

use std::io;

use offered_io::resource_error;
use offered_workload::SingleBraces;

/// Why a run cannot start. Failures of single requests are outcomes of their events, not errors.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The workload has no target.
    #[error("the workload has no target; add [target] with url = \"http://127.0.0.1:8080/\"")]
    NoTarget,
    /// The host name of the target cannot be resolved.
    #[error("cannot resolve `{host}`: {reason}; check the name, or give an IP address")]
    Resolve {
        /// The host name.
        host: String,
        /// The error of the resolver.
        reason: io::Error,
    },
    /// No server accepts connections at the target.
    #[error("cannot connect to {address}: {reason}; start the server, or check host and port")]
    Unreachable {
        /// The address.
        address: String,
        /// The error of the operating system.
        reason: String,
    },
    /// This machine cannot open a connection: file descriptors or local ports are exhausted.
    #[error("cannot open a connection to {address} from this machine: {reason}")]
    NoResources {
        /// The address.
        address: String,
        /// The exhausted resource, and how to get more.
        reason: String,
    },
    /// The target is a database and refuses the login or a statement.
    #[error("the database at {address} refused the connection: {reason}")]
    Database {
        /// The address.
        address: String,
        /// The message of the server.
        reason: String,
    },
    /// The command that puts the first policy in place failed.
    #[error("{0} ([policies])")]
    Policy(String),
    /// The TLS settings of the workload cannot be used.
    #[error("{0}")]
    Tls(String),
    /// The TLS handshake failed.
    #[error("the TLS handshake with {address} failed: {reason}")]
    Handshake {
        /// The address.
        address: String,
        /// The cause.
        reason: String,
    },
    /// The certificate of the target is not trusted.
    #[error(
        "the certificate of {address} is not trusted: {reason}; set target.tls.roots or target.tls.server_name, \
         or accept any certificate with target.tls.insecure = true"
    )]
    Certificate {
        /// The address.
        address: String,
        /// Why the certificate is rejected.
        reason: String,
    },
    /// The workload requires HTTP/2 and the target does not speak it.
    #[error("{address} does not speak HTTP/2: {reason}; set target.protocol = \"http1\"")]
    NoHttp2 {
        /// The address.
        address: String,
        /// The behaviour of the target.
        reason: &'static str,
    },
    /// The target speaks TLS, and the URL is plain `http`.
    #[error("{address} speaks TLS; use https:// in the URL")]
    SpeaksTls {
        /// The address.
        address: String,
    },
    /// The gRPC descriptors cannot be obtained or used.
    #[error("gRPC descriptors: {0}")]
    Descriptors(String),
    /// A path, header or body cannot be sent.
    #[error("request `{name}`: {reason}")]
    Request {
        /// The name of the request.
        name: String,
        /// The reason why it is invalid.
        reason: String,
    },
    /// The name of a value is in single braces, but a placeholder has double braces.
    #[error("{0}")]
    SingleBraces(SingleBraces),
    /// A variable without a value.
    #[error("variable `{name}`: {reason}")]
    Variable {
        /// The name of the variable.
        name: String,
        /// What is missing.
        reason: String,
    },
    /// A condition of a flow cannot be evaluated.
    #[error("a condition of a flow: {reason}")]
    Condition {
        /// The reason.
        reason: String,
    },
    /// A source address cannot be used.
    #[error(
        "cannot connect from {source_address} (target.sources): {reason}; use addresses of this machine, IPv4 or IPv6 like the target"
    )]
    Source {
        /// The address.
        source_address: std::net::IpAddr,
        /// The reason why it is invalid.
        reason: String,
    },
    /// A limit is smaller than the number of threads, so a thread would get none of it.
    #[error(
        "{what} = {limit} is less than the number of threads ({threads}); raise {what}, or set generator.threads = {limit}"
    )]
    Limit {
        /// The key of the limit, such as `connections` or `in_flight`.
        what: &'static str,
        /// The limit.
        limit: u32,
        /// The number of threads that share it.
        threads: u16,
    },
    /// The operating system refused a poller or a thread.
    #[error("cannot prepare a sending thread: {}", resource_error(.0))]
    System(#[from] io::Error),
}
