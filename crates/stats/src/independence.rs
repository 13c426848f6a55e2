//! Tests of independent gaps.
//!
//! The tests use ranks, because gaps are skewed: the distribution of ranks does not depend on that of the gaps.

use crate::dispersion::chi_square_above;
use crate::{Test, two_sided};

/// The autocorrelations of the ranks of `gaps` at lags 1 to `lags`. Empty unless there are more gaps than lags.
pub fn rank_autocorrelations(gaps: &[f64], lags: usize) -> Vec<f64> {
    if gaps.len() <= lags {
        return Vec::new();
    }
    let centred = centred_ranks(gaps);
    let total = dot(&centred, &centred);
    if total == 0.0 {
        return Vec::new();
    }
    (1..=lags).map(|k| dot(&centred[..centred.len() - k], &centred[k..]) / total).collect()
}

/// The dot product of two series of equal length, with eight independent sums, because a single sum waits for each
/// addition.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let ((a, left_a), (b, left_b)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut sums = [0.0; 8];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..8 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<f64>() + left_a.iter().zip(left_b).map(|(a, b)| a * b).sum::<f64>()
}

/// The Ljung-Box test (1978) that all these autocorrelations of a series of length `n` are zero. One-sided.
pub fn ljung_box(autocorrelations: &[f64], n: usize) -> Test {
    let n = n as f64;
    let terms = autocorrelations.iter().zip(1..).map(|(r, k)| r * r / (n - f64::from(k)));
    let statistic = n * (n + 2.0) * terms.sum::<f64>();
    Test { statistic, p_value: chi_square_above(statistic, autocorrelations.len().max(1) as f64) }
}

/// Spearman's rank correlation of each gap with the next one; the statistic is the correlation. `None` with fewer than
/// ten gaps.
pub fn spearman_next(gaps: &[f64]) -> Option<Test> {
    if gaps.len() < 10 {
        return None;
    }
    let (x, y) = (centred_ranks(&gaps[..gaps.len() - 1]), centred_ranks(&gaps[1..]));
    let scale = (dot(&x, &x) * dot(&y, &y)).sqrt();
    if scale == 0.0 {
        return None;
    }
    let rho = dot(&x, &y) / scale;
    Some(Test { statistic: rho, p_value: two_sided(rho * ((x.len() - 1) as f64).sqrt()) })
}

/// Ranks minus their mean; ties share their mean rank.
pub(crate) fn centred_ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<u32> = (0..values.len() as u32).collect();
    order.sort_unstable_by(|&a, &b| values[a as usize].total_cmp(&values[b as usize]));
    let middle = (values.len() as f64 - 1.0) / 2.0;
    let mut ranks = vec![0.0; values.len()];
    let mut start = 0;
    for tied in order.chunk_by(|&a, &b| values[a as usize] == values[b as usize]) {
        let rank = start as f64 + (tied.len() as f64 - 1.0) / 2.0 - middle;
        for &i in tied {
            ranks[i as usize] = rank;
        }
        start += tied.len();
    }
    ranks
}
