//! Summaries of a sample: the row of a table.

/// Count, mean, spread and percentiles of a sample, as one row of the web-generator-toolkit's tables.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// How many values.
    pub n: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Sample standard deviation (divisor n - 1); zero for a single value.
    pub sdev: f64,
    /// Coefficient of variation, sdev / mean; zero when the mean is not above zero.
    pub cov: f64,
    /// The smallest value.
    pub min: f64,
    /// The 50 % point.
    pub median: f64,
    /// The 90 % point.
    pub p90: f64,
    /// The 95 % point.
    pub p95: f64,
    /// The 99 % point.
    pub p99: f64,
    /// The 99.9 % point.
    pub p999: f64,
    /// The largest value.
    pub max: f64,
}

impl Summary {
    /// Of whole numbers in ascending order, each worth `1 / per_unit` (nanoseconds into milliseconds: 1e6).
    ///
    /// `None` for an empty sample. The deviations are taken from the mean in a second pass, so nothing cancels.
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

/// The nearest double.
pub(crate) fn real(x: impl Into<i128>) -> f64 {
    x.into() as f64
}

/// The nearest order statistic: element number floor(p (n - 1/2)), from 0, of a sample in ascending order.
///
/// The web-generator-toolkit's rule, kept so that tables agree with it to the digit; its median, element floor((n - 1)/2), is
/// the same rule at p = 1/2. Nothing is interpolated: the answer is a value that occurred.
///
/// # Panics
/// On an empty sample.
pub fn quantile<T: Copy>(sorted: &[T], p: f64) -> T {
    sorted[quantile_at(sorted.len() as u64, p) as usize]
}

/// The number of that element among `n`, of which there is at least one.
pub fn quantile_at(n: u64, p: f64) -> u64 {
    ((p * (n as f64 - 0.5)) as u64).min(n - 1)
}

/// The differences of neighbouring instants: one fewer than there are instants.
pub fn gaps(sorted: &[u64]) -> impl Iterator<Item = u64> + Clone + '_ {
    sorted.windows(2).map(|pair| pair[1] - pair[0])
}
