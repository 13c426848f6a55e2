//! Statistics of times and gaps: estimates, confidence intervals and tests. All functions are pure; the crate depends
//! on no other crate of this workspace.
//!
//! The null hypothesis is usually a Poisson process: independent exponential gaps, Poisson counts. Functions that need
//! randomness (spreading ticks, the bootstrap) take a source of uniform numbers in (0, 1), so results depend only on
//! the data and the caller's seed.
//!
//! Conventions: a *gap* is the time between consecutive requests. Gaps and times may have any unit, the same within a
//! call. "Sorted" means ascending. A *p-value* is two-sided unless documented otherwise. Percentiles are defined by
//! [`summary::quantile_at`].
//!
//! # Example
//! Ten workers share a ticker of 100 ms, each slightly late: the rate is right, but the arrivals are bunched.
//! ```
//! use offered_stats::{bunches, cov, summary};
//!
//! let requests: Vec<u64> = (0..1_000).map(|i| i / 10 * 100_000_000 + i % 10 * 50_000).collect(); // ns
//! let gaps: Vec<f64> = summary::gaps(&requests).map(|gap| gap as f64).collect();
//! let found = cov::cov(&gaps).unwrap();
//! assert!(found > 2.9, "a Poisson process has a CoV of 1, these requests {found}");
//! assert!(cov::greenwood(found, gaps.len()).p_value < 1e-9);
//! assert_eq!(bunches::find(&requests).unwrap().size, 10.0);
//! ```
//!
//! # Limitations
//! All tests are calibrated (book/src/background/calibration.md). No test can detect a pattern that the clock did not
//! record; see [`ticks`].

pub mod bunches;
pub mod cov;
pub mod dispersion;
pub mod exponential;
pub mod frequent;
pub mod groups;
pub mod growth;
pub mod histogram;
pub mod independence;
pub mod linear_regression;
pub mod order;
pub mod percentile;
pub mod periodicity;
pub mod queue;
pub mod regression;
pub mod requirements;
pub mod sequential;
pub mod spectrum;
pub mod steady_state;
pub mod summary;
pub mod ticks;
pub mod trend;
pub mod values;
pub mod windows;

#[cfg(test)]
mod tests;

pub use summary::Summary;

use statrs::function::erf::erfc;

/// The result of a significance test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Test {
    /// The test statistic.
    pub statistic: f64,
    /// The p-value: the probability under the null hypothesis of a statistic at least as extreme.
    pub p_value: f64,
}

/// A confidence interval, 95 % unless documented otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The 97.5th percentile of the standard normal distribution.
pub(crate) const Z95: f64 = 1.959_963_984_540_054;

/// P(|Z| > |z|) for a standard normal Z.
pub(crate) fn two_sided(z: f64) -> f64 {
    erfc(z.abs() / std::f64::consts::SQRT_2)
}
