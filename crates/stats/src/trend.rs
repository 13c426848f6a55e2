//! Tests of a trend of the rate.

use crate::{Test, two_sided};

/// The Mann-Kendall test of a trend (Mann 1945), with the slope.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// S, the number of increasing pairs minus the number of decreasing ones, and its p-value (normal approximation,
    /// corrected for continuity and ties).
    pub test: Test,
    /// The Theil-Sen slope: the median of all pairwise slopes, per block.
    pub slope: f64,
}

/// The trend of a series of blocks. `None` with fewer than eight blocks, which the normal approximation needs.
pub fn mann_kendall(blocks: &[f64]) -> Option<Trend> {
    let n = blocks.len();
    if n < 8 {
        return None;
    }
    let mut s = 0i64;
    let mut slopes = Vec::with_capacity(n * (n - 1) / 2);
    for (i, a) in blocks.iter().enumerate() {
        for (j, b) in blocks.iter().enumerate().skip(i + 1) {
            s += i64::from(b > a) - i64::from(b < a);
            slopes.push((b - a) / (j - i) as f64);
        }
    }
    slopes.sort_by(f64::total_cmp);
    let pairs = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let mut sorted = blocks.to_vec();
    sorted.sort_by(f64::total_cmp);
    let ties: f64 = sorted.chunk_by(|a, b| a == b).map(|tied| pairs(tied.len() as f64)).sum();
    let variance = (pairs(n as f64) - ties) / 18.0;
    let z = if variance > 0.0 { (s - s.signum()) as f64 / variance.sqrt() } else { 0.0 };
    let middle = slopes.len() / 2;
    let slope = if slopes.len() % 2 == 1 { slopes[middle] } else { f64::midpoint(slopes[middle - 1], slopes[middle]) };
    Some(Trend { test: Test { statistic: s as f64, p_value: two_sided(z) }, slope })
}
