//! Periodicity: a pattern of gaps that comes back every so many launches, the trace of fixed timers.
//!
//! N users with constant think times launch in the same order with the same gaps round after round, so gap i and gap i + N
//! agree: the rank autocorrelation of gaps has a peak at lag N, although the CoV of the gaps is sqrt((N-1)/(N+1)), near 1.

use crate::{Test, two_sided};

/// The lag at which a series of gaps repeats itself most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Repeat {
    /// After how many launches.
    pub lag: usize,
    /// The rank autocorrelation there, and its p-value: Bonferroni's for the number of lags searched.
    pub test: Test,
}

/// The strongest positive rank autocorrelation among lags 1 to `lags`. `None` when there are not more than that many gaps.
///
/// The work is gaps x lags: hand over a bounded stretch of neighbouring gaps. Among lags about as strong (nine tenths of the
/// strongest) the shortest is taken, so that a period is not reported as its double.
pub fn strongest(gaps: &[f64], lags: usize) -> Option<Repeat> {
    let correlations = crate::independence::rank_autocorrelations(gaps, lags);
    let most = correlations.iter().copied().max_by(f64::total_cmp)?;
    let first = correlations.iter().position(|&r| r >= 0.9 * most)?;
    let statistic = correlations[first];
    let p = two_sided(statistic * (gaps.len() as f64).sqrt()) * lags as f64;
    Some(Repeat { lag: first + 1, test: Test { statistic, p: p.min(1.0) } })
}
