//! Queueing formulas that answer questions about a load test before it runs. Every function is pure.
//!
//! Times are seconds and rates are per second, as `f64`, in the whole crate. The command line converts `10s` and `20/s`
//! to them. Letters in formulas: N users, Z think time, R response time, S service time, X throughput, Q mean number in
//! the system, D = visits x S demand, rho load, C2 squared coefficient of variation, p stay probability.
//!
//! # Three questions
//! * *With which number of users does a closed tool send requests like web users?* [`emulate`], [`web_users`],
//!   [`superposition`](offered_distributions::superposition).
//! * *How fast will this system respond?* [`open`], [`closed`], [`partly_open`], [`jackson`]. Each solver names its
//!   source.
//! * *Which rate or think time produces this load?* [`load`].
//!
//! # Example
//! Which think time makes 200 users of a closed tool send 31.73 requests per second, when a response takes 53 ms?
//! ```
//! use offered_plan::emulate::OpenTraffic;
//!
//! let emulation = OpenTraffic::new(31.73, 0.053)?.with_users(200)?;
//! assert!((emulation.think - 200.0 / 31.73).abs() < 1e-12);
//! // The actual rate N / (Z + R) is a little lower, because users also wait for responses.
//! assert!((emulation.rate - 31.465).abs() < 1e-3);
//! # Ok::<(), offered_plan::Error>(())
//! ```
//!
//! # Limitations
//! A solver returns an error for a system that it does not cover; it never uses another method instead. Closed solvers
//! never subtract nearly equal numbers, so a population of 100,000 users at any load neither overflows nor yields
//! negative numbers.

pub mod analytic;
mod birth_death;
pub mod closed;
pub mod document;
pub mod emulate;
mod error;
pub mod jackson;
mod levels;
pub mod littles_law;
pub mod load;
mod matrix;
mod moments;
mod occupancy;
pub mod open;
pub mod partly_open;
mod percentile;
mod phase_type;
mod station;
mod transform;
pub mod web_users;

pub use error::Error;
pub use percentile::Percentiles;
pub use station::{Solution, Station, StationKind, StationMetrics};

/// Mean and standard deviation of a response time, seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Response {
    /// Mean response time E\[R\], in seconds.
    pub mean: f64,
    /// Standard deviation of the response time, in seconds.
    pub sdev: f64,
}

#[cfg(test)]
mod checks;
#[cfg(test)]
mod load_dependent_tests;
#[cfg(test)]
mod percentile_tests;
#[cfg(test)]
mod tests;
