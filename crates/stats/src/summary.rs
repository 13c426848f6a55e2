//! Summary statistics of a sample: one row of a table.
//!
//! # Percentiles
//! [`quantile_at`] is the one definition of percentiles in this workspace: the nearest rank, that is, the smallest value that at least the
//! share p of all values does not exceed (type 1 of Hyndman and Fan 1996; `HdrHistogram` has the same). It never interpolates, so the
//! result is a value of the sample. With n = 10, the p99 is the value of rank ceil(0.99 * 10) = 10, the maximum.

/// Count, mean, standard deviation and percentiles of a sample: one row of the tables of the web-generator-toolkit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Number of values.
    pub n: usize,
    /// The arithmetic mean.
    pub mean: f64,
    /// The sample standard deviation (divisor n - 1); zero for a single value.
    pub sdev: f64,
    /// The coefficient of variation, standard deviation over mean; zero if the mean is not positive.
    pub cov: f64,
    /// The minimum.
    pub min: f64,
    /// The median.
    pub median: f64,
    /// The 90th percentile.
    pub p90: f64,
    /// The 95th percentile.
    pub p95: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The 99.9th percentile.
    pub p999: f64,
    /// The maximum.
    pub max: f64,
}

impl Summary {
    /// The summary of integers in ascending order, divided by `per_unit` (1e6 converts nanoseconds into milliseconds).
    ///
    /// `None` for an empty sample. Deviations are computed from the mean in a second pass, which avoids cancellation.
    pub fn of_sorted<T: Copy + Into<i128>>(sorted: &[T], per_unit: f64) -> Option<Self> {
        let (first, last) = (*sorted.first()?, *sorted.last()?);
        let n = sorted.len();
        let sum: i128 = sorted.iter().map(|&x| x.into()).sum();
        let mean = sum as f64 / n as f64;
        let squares: f64 = sorted.iter().map(|&x| (real(x) - mean).powi(2)).sum();
        let sdev = if n > 1 { (squares / (n - 1) as f64).sqrt() } else { 0.0 };
        let at = |p| real(quantile(sorted, p)) / per_unit;
        Some(Self {
            n,
            mean: mean / per_unit,
            sdev: sdev / per_unit,
            cov: if mean > 0.0 { sdev / mean } else { 0.0 },
            min: real(first) / per_unit,
            median: at(0.5),
            p90: at(0.9),
            p95: at(0.95),
            p99: at(0.99),
            p999: at(0.999),
            max: real(last) / per_unit,
        })
    }
}

/// The nearest `f64`.
pub(crate) fn real(x: impl Into<i128>) -> f64 {
    x.into() as f64
}

/// The quantile of a sample in ascending order: the order statistic of index [`quantile_at`], without interpolation.
///
/// # Panics
/// The sample is empty.
pub fn quantile<T: Copy>(sorted: &[T], p: f64) -> T {
    sorted[quantile_at(sorted.len() as u64, p) as usize]
}

/// The index, from 0, of the `p` quantile of `n` values in ascending order: the nearest rank, ceil(p n) counted from 1. `n` must be
/// positive.
pub fn quantile_at(n: u64, p: f64) -> u64 {
    // Products such as 0.07 * 100 are rounded up.
    const ROUNDING: f64 = 1e-12;
    let rank = (p * n as f64 * (1.0 - ROUNDING)).ceil() as u64;
    rank.clamp(1, n) - 1
}

/// The differences of consecutive times: one fewer than there are times.
pub fn gaps(sorted: &[u64]) -> impl Iterator<Item = u64> + Clone + '_ {
    sorted.windows(2).map(|pair| pair[1] - pair[0])
}
