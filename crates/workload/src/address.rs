//! Where on a network, or on this machine, somebody listens.

/// How to reach a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// TCP, to a host name or IP address (IPv6 without brackets).
    Tcp {
        /// The host.
        host: String,
        /// The port.
        port: u16,
    },
    /// A Unix socket.
    Unix(String),
}
