//! Statistics of instants and gaps: from a sample to a number, an interval or a test. Pure functions, nothing of ours used.
//!
//! The null hypothesis nearly everywhere is the Poisson process: gaps independent and exponential, counts Poisson. Where a
//! function needs chance (spreading ticks, the bootstrap) it is handed a source of uniform numbers in (0, 1), so the caller's
//! seed decides and the same data give the same answer.
//!
//! Conventions: a *gap* is the time between neighbouring launches; gaps and instants may be in any unit of time, one and the
//! same within a call. "Sorted" means ascending. A *p-value* is two-sided unless its function says otherwise.
//!
//! # Example
//! Ten workers on one ticker of 100 ms, each a little late: the rate is as asked, and nothing else is.
//! ```
//! use offered_stats::{bunches, cov, summary};
//!
//! let launches: Vec<u64> = (0..1_000).map(|i| i / 10 * 100_000_000 + i % 10 * 50_000).collect(); // ns
//! let gaps: Vec<f64> = summary::gaps(&launches).map(|gap| gap as f64).collect();
//! let found = cov::cov(&gaps).unwrap();
//! assert!(found > 2.9, "a Poisson process has 1, and this {found}");
//! assert!(cov::greenwood(found, gaps.len()).p < 1e-9);
//! assert_eq!(bunches::find(&launches).unwrap().size, 10.0);
//! ```
//!
//! # Limitations
//! Every test here is calibrated (book/src/background/calibration.md); none can see what the clock did not write down: see
//! [`ticks`].

pub mod bunches;
pub mod cov;
pub mod dispersion;
pub mod exponential;
pub mod frequent;
pub mod groups;
pub mod growth;
pub mod histogram;
pub mod independence;
pub mod line;
pub mod order;
pub mod periodicity;
pub mod regression;
pub mod steadiness;
pub mod steady_state;
pub mod summary;
pub mod ticks;
pub mod values;
pub mod windows;

#[cfg(test)]
mod tests;

pub use summary::Summary;

use statrs::function::erf::erfc;

/// What a test of significance found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Test {
    /// The value of the test's statistic.
    pub statistic: f64,
    /// How often a true null hypothesis would show a statistic at least as far out.
    pub p: f64,
}

/// An interval of confidence, 95 % unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// The 97.5 % point of the normal law.
pub(crate) const Z95: f64 = 1.959_963_984_540_054;

/// P(|Z| > |z|) for a standard normal Z.
pub(crate) fn two_sided(z: f64) -> f64 {
    erfc(z.abs() / std::f64::consts::SQRT_2)
}
