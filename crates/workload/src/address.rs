//! Addresses of servers: a host and port, or a Unix socket.

/// The address of a target.
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
