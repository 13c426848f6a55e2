//! The arithmetic of a load test before it is run: pure functions from a question to numbers.
//!
//! Times are seconds and rates are per second, as `f64`, everywhere in this room; the command line turns `10s` and `20/s`
//! into them. Letters in formulas: N users, Z think, R response, S service, X throughput, Q number at the server,
//! D = visits x S demand, rho load, C2 squared coefficient of variation, p stay probability.
//!
//! # Three questions
//! * *How do I make a closed tool launch like the open web?* [`emulate`], [`web_users`], [`superposition`](offered_model::superposition).
//! * *What will this system answer?* [`open`], [`closed`], [`partly_open`], [`jackson`]: each solver names its source.
//! * *Which rate or think time gives this load?* [`load`].
//!
//! # Example
//! Which think time makes 200 users of a closed tool launch 31.73 requests a second, when an answer takes 53 ms?
//! ```
//! use offered_plan::emulate::Wanted;
//!
//! let emulation = Wanted::new(31.73, 0.053)?.with_users(200)?;
//! assert!((emulation.think - 200.0 / 31.73).abs() < 1e-12);
//! // What is launched is a little less, because users also wait: N / (Z + R).
//! assert!((emulation.rate - 31.465).abs() < 1e-3);
//! # Ok::<(), offered_plan::Error>(())
//! ```
//!
//! # Limitations
//! A solver refuses what it cannot do; none falls back to another method. Every closed solver here is free of
//! subtractions of nearly equal numbers, so a population of 100,000 users at any load neither overflows nor goes negative.

pub mod analytic;
mod birth_death;
pub mod closed;
pub mod emulate;
mod error;
pub mod jackson;
mod levels;
pub mod littles;
pub mod load;
mod matrix;
mod moments;
pub mod open;
pub mod partly_open;
mod percentile;
mod phase_type;
mod station;
pub mod web_users;

pub use error::Error;
pub use percentile::Percentiles;
pub use station::{AtStation, Kind, Solution, Station};

/// A response time: its mean and its standard deviation, seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Response {
    /// E\[R\].
    pub mean: f64,
    /// The square root of its variance.
    pub sdev: f64,
}

#[cfg(test)]
mod checks;
#[cfg(test)]
mod tests;
