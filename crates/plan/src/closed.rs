//! Closed systems: N users who think, ask, wait for the answer, and think again.

pub mod bounds;
mod launches;
pub mod machine_repair;
pub mod multiclass;
pub mod mva;
pub mod phases;
pub mod priority;
pub mod schweitzer;

pub use launches::Launches;

/// The means of a closed system of one station.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Means {
    /// X, per second.
    pub throughput: f64,
    /// R, seconds.
    pub response: f64,
    /// Q.
    pub in_system: f64,
    /// U of each server.
    pub utilisation: f64,
}
