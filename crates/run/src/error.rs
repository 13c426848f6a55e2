//! Why a run cannot start.

use std::io;

use offered_model::workload::Single;

/// Why a run cannot start; what goes wrong later is an event's outcome.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The workload names no target.
    #[error("the workload has no [target]; give it a url, for example http://127.0.0.1:8080/")]
    NoTarget,
    /// The target's name is not known.
    #[error("cannot resolve `{host}`: {reason}; check the name, or give an IP address")]
    Resolve {
        /// The name.
        host: String,
        /// What the resolver said.
        reason: io::Error,
    },
    /// Nobody listens at the target.
    #[error("nobody answers at {address}: {reason}; start the server, or check host and port")]
    Unreachable {
        /// Where.
        address: String,
        /// What the system said.
        reason: String,
    },
    /// The target is a database and does not let us in, or does not know what it is asked.
    #[error("the database at {address}: {reason}")]
    Database {
        /// Where.
        address: String,
        /// What is wrong.
        reason: String,
    },
    /// The first of the policies that take turns could not be put in place.
    #[error("{0} ([policies])")]
    Policy(String),
    /// TLS cannot be spoken as asked.
    #[error("{0}")]
    Tls(String),
    /// The target does not agree to it.
    #[error("no TLS with {address}: {reason}")]
    Handshake {
        /// Where.
        address: String,
        /// What is wrong.
        reason: String,
    },
    /// The target's certificate does not hold.
    #[error(
        "the certificate of {address} does not hold: {reason}; give its root (target.tls.roots) or its name (target.tls.server_name), \
         or take any (target.tls.insecure = true)"
    )]
    Certificate {
        /// Where.
        address: String,
        /// What is wrong with it.
        reason: String,
    },
    /// HTTP/2 is asked of a target that does not speak it.
    #[error("{address} does not speak HTTP/2: {reason}; write target.protocol = \"http1\"")]
    NoHttp2 {
        /// Where.
        address: String,
        /// What it did instead.
        reason: &'static str,
    },
    /// The target speaks TLS, and was asked without.
    #[error("{address} speaks TLS; write https:// before the host")]
    SpeaksTls {
        /// Where.
        address: String,
    },
    /// The messages of gRPC are not known.
    #[error("the descriptors of gRPC: {0}")]
    Descriptors(String),
    /// A path, header or body that cannot be sent.
    #[error("request `{name}`: {reason}")]
    Request {
        /// Its label.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A value's name in single braces, where two make a place for it.
    #[error("{0}")]
    Single(Single),
    /// A variable without values.
    #[error("variable `{name}`: {reason}")]
    Variable {
        /// Its name.
        name: String,
        /// What is missing.
        reason: String,
    },
    /// A source address that cannot be used.
    #[error(
        "cannot connect from {source_address} (target.sources): {reason}; give addresses of this machine, of the target's family"
    )]
    Source {
        /// The address.
        source_address: std::net::IpAddr,
        /// What is wrong with it.
        reason: String,
    },
    /// A limit that leaves threads with nothing.
    #[error("{what} = {limit} is less than the {threads} threads; raise it, or use fewer threads")]
    Limit {
        /// `connections` or `in_flight`.
        what: &'static str,
        /// The limit.
        limit: u32,
        /// How many threads share it.
        threads: u16,
    },
    /// The system has no room for another poller or thread.
    #[error("cannot prepare a launching thread: {0}")]
    System(#[from] io::Error),
}
