//! Stationary probabilities of a birth-death chain, computed without overflow.

/// P(n) for n = 0..=last. `up(n)` is the rate from n to n+1 and `down(n)` the rate from n to n-1. P must have one mode.
///
/// Source: detailed balance, p(n+1) = p(n) up(n) / down(n+1).
pub(crate) fn stationary(last: usize, up: impl Fn(usize) -> f64, down: impl Fn(usize) -> f64) -> Vec<f64> {
    let mode = (0..last).find(|&n| up(n) < down(n + 1)).unwrap_or(last);
    let mut p = vec![0.0; last + 1];
    p[mode] = 1.0;
    for n in mode..last {
        p[n + 1] = p[n] * up(n) / down(n + 1);
    }
    for n in (0..mode).rev() {
        p[n] = p[n + 1] * down(n + 1) / up(n);
    }
    let total: f64 = p.iter().sum();
    p.into_iter().map(|p| p / total).collect()
}

/// Logarithms of the weights of n = 0..=last, where weight n is weight n-1 times `ratio(n)`.
pub(crate) fn logarithms(last: u64, ratio: impl Fn(u64) -> f64) -> Vec<f64> {
    let next = |sum: &mut f64, n: u64| {
        *sum += libm::log(ratio(n));
        Some(*sum)
    };
    [0.0].into_iter().chain((1..=last).scan(0.0, next)).collect()
}

/// P(n) from the logarithms of weights, which may have several modes.
pub(crate) fn normalised(logarithms: &[f64]) -> Vec<f64> {
    let largest = logarithms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logarithms.iter().map(|logarithm| libm::exp(logarithm - largest)).collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / total).collect()
}
