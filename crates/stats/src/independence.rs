//! Tests of independent gaps.
//!
//! The tests use ranks, because gaps are skewed: the distribution of ranks does not depend on that of the gaps.

use std::cmp::Ordering;

use crate::dispersion::chi_square_above;
use crate::{Test, two_sided};

/// The ranks of a series of gaps, computed once for all tests of independence.
pub struct Ranks {
    /// Ranks minus their mean.
    centred: Vec<f64>,
}

impl Ranks {
    /// Ranks `gaps`; ties share their mean rank.
    pub fn new(gaps: &[f64]) -> Self {
        Self { centred: centred_ranks(gaps) }
    }

    /// The autocorrelations at lags 1 to `lags`. Empty unless there are more gaps than lags, or if all gaps are equal.
    /// The run time is proportional to gaps x lags.
    pub fn autocorrelations(&self, lags: usize) -> Vec<f64> {
        let centred = &self.centred;
        let total = dot(centred, centred);
        if centred.len() <= lags || total == 0.0 {
            return Vec::new();
        }
        (1..=lags).map(|k| dot(&centred[..centred.len() - k], &centred[k..]) / total).collect()
    }

    /// Spearman's rank correlation of each gap with the next one; the statistic is the correlation. `None` with fewer
    /// than ten gaps.
    pub fn spearman_next(&self) -> Option<Test> {
        let [first, .., last] = self.centred[..] else { return None };
        if self.centred.len() < 10 {
            return None;
        }
        // The ranks among all gaps but one: those above it are one lower, and those equal to it half of that. The mean
        // is one half lower.
        let without = |gap: f64| {
            move |&rank: &f64| match rank.total_cmp(&gap) {
                Ordering::Less => rank + 0.5,
                Ordering::Equal => rank,
                Ordering::Greater => rank - 0.5,
            }
        };
        let all_but_last = &self.centred[..self.centred.len() - 1];
        let x: Vec<f64> = all_but_last.iter().map(without(last)).collect();
        let y: Vec<f64> = self.centred[1..].iter().map(without(first)).collect();
        let scale = (dot(&x, &x) * dot(&y, &y)).sqrt();
        if scale == 0.0 {
            return None;
        }
        let rho = dot(&x, &y) / scale;
        Some(Test { statistic: rho, p_value: two_sided(rho * ((x.len() - 1) as f64).sqrt()) })
    }
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

/// Ranks minus their mean; ties share their mean rank.
fn centred_ranks(values: &[f64]) -> Vec<f64> {
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
