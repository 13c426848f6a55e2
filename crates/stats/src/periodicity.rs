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

/// The largest positive rank autocorrelation at lags 1 to `lags`. `None` unless there are more gaps than lags.
///
/// The run time is proportional to gaps x lags, so pass a bounded number of consecutive gaps. The result is the shortest lag with at least
/// nine tenths of the largest correlation, so that a period is not reported as its double.
pub fn find_period(gaps: &[f64], lags: usize) -> Option<Period> {
    let correlations = crate::independence::rank_autocorrelations(gaps, lags);
    let most = correlations.iter().copied().max_by(f64::total_cmp)?;
    let first = correlations.iter().position(|&r| r >= 0.9 * most)?;
    let statistic = correlations[first];
    let p = two_sided(statistic * (gaps.len() as f64).sqrt()) * lags as f64;
    Some(Period { lag: first + 1, test: Test { statistic, p_value: p.min(1.0) } })
}
