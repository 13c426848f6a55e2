//! Closed systems: N users who think, send a request, wait for the response, and think again.

pub mod bounds;
mod classes;
mod constants;
pub(crate) mod finite_source;
pub mod load_dependent;
pub mod machine_repair;
pub mod multiclass;
pub mod mva;
pub mod phases;
pub mod priority;
mod request_stream;
pub mod schweitzer;

pub use request_stream::RequestStream;

/// Mean metrics of a closed system with one station.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Means {
    /// X, throughput, per second.
    pub throughput: f64,
    /// R, response time, seconds.
    pub response: f64,
    /// Q, number of requests at the station.
    pub in_system: f64,
    /// U, utilisation of each server.
    pub utilisation: f64,
}
