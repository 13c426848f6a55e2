//! The coefficient of variation of gaps, as in Principle B (Brady and Gunther 2016); it is 1 for a Poisson process.

use crate::{Interval, Test, Z95, two_sided};

/// The coefficient of variation of gaps: standard deviation (divisor n - 1) over mean. `None` with fewer than two gaps, or if all are zero.
pub fn cov(gaps: &[f64]) -> Option<f64> {
    let n = gaps.len() as f64;
    let mean = gaps.iter().sum::<f64>() / n;
    if gaps.len() < 2 || mean <= 0.0 {
        return None;
    }
    let squares: f64 = gaps.iter().map(|x| (x - mean).powi(2)).sum();
    Some((squares / (n - 1.0)).sqrt() / mean)
}

/// The 95 % confidence interval of a CoV estimated from `n` exponential gaps: cov +- 1.96 / sqrt(n).
///
/// By the delta method, with the skewness 2 and kurtosis 9 of the exponential distribution: n Var(cov) = (9 - 1)/4 - 2
/// + 1 = 1.
pub fn exponential_interval(cov: f64, n: usize) -> Interval {
    let half = Z95 / (n as f64).sqrt();
    Interval { low: (cov - half).max(0.0), high: cov + half }
}

/// Greenwood's test of a CoV of 1 from `n` gaps, two-sided; the statistic is (cov - 1) sqrt(n).
///
/// The gaps of a Poisson process divided by their sum are n uniform spacings, and G, the sum of their squares, is (1 +
/// cov^2 (n-1)/n) / n for any rate (Greenwood 1946; Moran 1947). G is right-skewed up to thousands of gaps, so a normal
/// approximation would cause false alarms. Instead a power of n G - 1 without skewness is used. The limit by Jensen and
/// Solomon (1972, equations 2.3 to 2.5) is -2/3; -2/3 + 22/n is accurate from 60 gaps on. Compared with simulations of
/// 60 to 2,000 gaps, its p-values are 1.0 to 1.2 times the true ones near 5 %, and 0.8 to 1.1 times near 0.1 %, on
/// either side (`tests/oracle/p_values.py`).
pub fn greenwood(cov: f64, n: usize) -> Test {
    let statistic = (cov - 1.0) * (n as f64).sqrt();
    if n < 3 {
        return Test { statistic, p_value: 1.0 };
    }
    let n = n as f64;
    // Mean and variance of x = n G - 1.
    let x = cov * cov * (n - 1.0) / n;
    let mean = (n - 1.0) / (n + 1.0);
    let variance = 4.0 * n * n * (n - 1.0) / ((n + 1.0).powi(2) * (n + 2.0) * (n + 3.0));
    let power = 22.0 / n.max(60.0) - 2.0 / 3.0;
    let expected = 1.0 + power * (power - 1.0) * variance / (2.0 * mean * mean);
    Test { statistic, p_value: two_sided(((x / mean).powf(power) - expected) * mean / (power * variance.sqrt())) }
}

/// The normal score of `x` under the shifted lognormal distribution with this mean, variance and positive skewness.
pub(crate) fn lognormal_score(x: f64, mean: f64, variance: f64, skewness: f64) -> f64 {
    // With w = exp(sigma^2) and s = sqrt(w - 1) the skewness is (w + 2) s = s^3 + 3s, solved by fixed-point iteration
    // without cancellation.
    let mut s = skewness / 3.0;
    for _ in 0..60 {
        s = skewness / (s * s + 3.0);
    }
    let (sigma, w) = ((s * s).ln_1p().sqrt(), 1.0 + s * s);
    let scale = (variance / w).sqrt() / s;
    // (x - shift) / scale, where shift = mean - scale sqrt(w).
    let ratio = (x - mean) / scale + w.sqrt();
    if ratio <= 0.0 { f64::NEG_INFINITY } else { ratio.ln() / sigma }
}

/// The 95 % percentile-bootstrap interval of the CoV of `gaps`, for streams that are far from exponential.
///
/// It draws `resamples` samples with replacement, using `uniform`. The run time is proportional to gaps x resamples, so
/// pass a bounded sample. `None` if [`cov`] is `None`.
pub fn bootstrap_interval(gaps: &[f64], resamples: usize, mut uniform: impl FnMut() -> f64) -> Option<Interval> {
    cov(gaps)?;
    let n = gaps.len();
    let mut drawn = Vec::with_capacity(resamples);
    for _ in 0..resamples {
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..n {
            let x = gaps[((uniform() * n as f64) as usize).min(n - 1)];
            sum += x;
            squares += x * x;
        }
        let mean = sum / n as f64;
        let variance = (squares - sum * mean).max(0.0) / (n - 1) as f64;
        drawn.push(if mean > 0.0 { variance.sqrt() / mean } else { 0.0 });
    }
    drawn.sort_by(f64::total_cmp);
    Some(Interval { low: crate::summary::quantile(&drawn, 0.025), high: crate::summary::quantile(&drawn, 0.975) })
}
