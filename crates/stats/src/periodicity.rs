//! Periodicity: a repeated pattern of gaps, caused by fixed timers.
//!
//! N users with constant think times send in the same order with the same gaps round after round, so gap i equals gap i
//! + N: the rank autocorrelation of gaps has a peak at lag N, although the CoV of the gaps is sqrt((N-1)/(N+1)), near
//! 1.

use crate::{Test, two_sided};

/// The period of a series of gaps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Period {
    /// The period, in requests.
    pub lag: usize,
    /// The rank autocorrelation at this lag, and its p-value with Bonferroni's correction for the number of lags.
    pub test: Test,
}

/// The largest positive one of these rank autocorrelations of `n` gaps, at lags 1, 2, ...; `None` if there are none. The
/// result is the shortest lag with at least nine tenths of the largest correlation, so that a period is not reported as
/// its double.
pub fn find_period(autocorrelations: &[f64], n: usize) -> Option<Period> {
    let most = autocorrelations.iter().copied().max_by(f64::total_cmp)?;
    let first = autocorrelations.iter().position(|&r| r >= 0.9 * most)?;
    let statistic = autocorrelations[first];
    let p = two_sided(statistic * (n as f64).sqrt()) * autocorrelations.len() as f64;
    Some(Period { lag: first + 1, test: Test { statistic, p_value: p.min(1.0) } })
}
