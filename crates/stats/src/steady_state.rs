//! Steady-state statistics of a long run: its warm-up, and confidence intervals of its means.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// A value with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

impl Estimate {
    /// Half the width of the interval.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// The half-width relative to the value; infinite if the value is zero or unknown.
    pub fn relative(&self) -> f64 {
        if self.value > 0.0 { self.half_width() / self.value } else { f64::INFINITY }
    }
}

/// The number of initial batch means to exclude (the *warm-up*): the cut by [`mser`] if the mean before it is lower than
/// the mean after it by more than [`WARM_UP_ERRORS`] standard errors, otherwise zero.
///
/// A system that starts empty responds faster at first, so only a start with a lower mean is a warm-up. MSER alone also
/// cuts stationary runs, if this minimises the error by chance. It then removes clusters of long responses near the
/// start, and the result is too low. The standard error is that of correlated batches.
pub fn warm_up(means: &[f64]) -> usize {
    let cut = mser(means);
    let (head, rest) = means.split_at(cut);
    let (d, n) = (head.len() as f64, rest.len() as f64);
    let (before, after) = (head.iter().sum::<f64>() / d, rest.iter().sum::<f64>() / n);
    let variance = variance_of_correlated_mean(rest) * n;
    // Without a head the difference is NaN, which is not greater.
    if after - before > WARM_UP_ERRORS * (variance * (1.0 / d + 1.0 / n)).sqrt() { cut } else { 0 }
}

/// Standard errors by which a warm-up differs from the rest. More than the two of a cut at a fixed place, because the cut
/// is chosen where the difference is large.
const WARM_UP_ERRORS: f64 = 3.0;

/// The marginal standard error rule (White 1997): the number of initial batch means to exclude.
///
/// It selects the cut d in the first half that minimises sum((x - mean)^2) / (n - d)^2 over the remaining values. With
/// means of 5 observations it is MSER-5; with larger batches the result is coarser and less sensitive to single values.
/// A cut at one half means that the run may not have settled.
pub fn mser(means: &[f64]) -> usize {
    let (mut sum, mut squares, mut best) = (0.0, 0.0, (f64::INFINITY, 0));
    let n = means.len();
    // A constant shift near the mean avoids cancellation in the squares.
    let shift = means.last().copied().unwrap_or(0.0);
    for (d, mean) in means.iter().enumerate().rev() {
        let x = mean - shift;
        sum += x;
        squares += x * x;
        let left = (n - d) as f64;
        let error = (squares - sum * sum / left) / (left * left);
        if d <= n / 2 && error <= best.0 {
            best = (error, d);
        }
    }
    best.1
}

/// sum(numerators) / sum(denominators) with its 95 % confidence interval, from consecutive pairs (one per batch).
///
/// The classical ratio estimator, with residuals n - R d (Law and Kelton, Simulation Modeling and Analysis, section
/// 9.5). With fewer than two pairs the interval is infinite.
///
/// Batches of a queue near saturation are correlated and skewed, so plain batch means give intervals that are too
/// narrow. As in Skart (Tafazzoli and Wilson 2011) the variance of the mean is multiplied by A = (1 + phi)/(1 - phi),
/// where phi is the lag-1 correlation, as for an autoregression; and Student's t with k - 1 degrees of freedom is
/// corrected for the skewness B of the batches (Johnson 1978, Willink 2005):
///
/// ```text
/// b = B sqrt(A) / (6 sqrt k),    G(t) = (cbrt(1 + 6 b (t - b)) - 1) / (2 b)
/// from  value - G(t) sqrt(A s^2 / k)  to  value - G(-t) sqrt(A s^2 / k)
/// ```
///
/// If the correlation extends further than in an autoregression, larger batches show it: the variance from batches of
/// two and of four, treated as independent, is used if it is larger. The degrees of freedom are not reduced (to those
/// of k/A batches): for ten uncorrelated parts, phi exceeds one half by chance in 5 % of cases, and the intervals would
/// become fifty times too wide.
pub fn ratio(pairs: &[(f64, f64)]) -> Estimate {
    let (value, residuals) = residuals(pairs);
    skart_interval(value, &residuals)
}

/// Like [`ratio`], from independent pairs; corrected for skewness as in [`from_trials`]. With fewer than three pairs
/// the interval is infinite.
pub fn ratio_of_trials(pairs: &[(f64, f64)]) -> Estimate {
    let (value, residuals) = residuals(pairs);
    let variance = if residuals.len() < 3 { f64::INFINITY } else { variance_of_mean(&residuals) };
    turned(value, &residuals, variance)
}

/// The ratio of two ratios of sums, from paired observations that may be correlated. With fewer than three pairs the
/// interval is infinite.
pub fn ratio_of_ratios(pairs: &[(f64, f64)], to: &[(f64, f64)]) -> Estimate {
    let ((one, of_one), (other, of_other)) = (residuals(pairs), residuals(to));
    let value = one / other;
    let residuals: Vec<f64> = of_one.iter().zip(&of_other).map(|(a, b)| value * (a / one - b / other)).collect();
    let variance = if residuals.len() < 3 { f64::INFINITY } else { variance_of_mean(&residuals) };
    turned(value, &residuals, variance)
}

/// sum(numerators) / sum(denominators), and the residual of each pair.
fn residuals(pairs: &[(f64, f64)]) -> (f64, Vec<f64>) {
    let k = pairs.len() as f64;
    let (n, d) = pairs.iter().fold((0.0, 0.0), |(n, d), pair| (n + pair.0, d + pair.1));
    let value = n / d;
    (value, pairs.iter().map(|pair| (pair.0 - value * pair.1) / (d / k)).collect())
}

/// The mean of independent values (trials, each with its own seed), with its 95 % confidence interval; Student's t is
/// corrected for skewness as in [`ratio`]. With fewer than three values the interval is infinite.
pub fn from_trials(values: &[f64]) -> Estimate {
    let variance = if values.len() < 3 { f64::INFINITY } else { variance_of_mean(values) };
    turned(values.iter().sum::<f64>() / values.len() as f64, values, variance)
}

/// The correlation of each value with the next; `None` with fewer than three values, or if all are equal up to
/// rounding.
pub fn lag1_autocorrelation(values: &[f64]) -> Option<f64> {
    let n = values.len();
    let mean = values.iter().sum::<f64>() / n as f64;
    let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
    if n < 3 || squares <= n as f64 * (1e-12 * mean).powi(2) {
        return None;
    }
    Some(values.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum::<f64>() / squares)
}

/// `value`, with the 95 % confidence interval of the mean of `batches`; see [`ratio`].
fn skart_interval(value: f64, batches: &[f64]) -> Estimate {
    turned(value, batches, variance_of_correlated_mean(batches))
}

/// The variance of the mean of batches that may be correlated; see [`ratio`].
fn variance_of_correlated_mean(batches: &[f64]) -> f64 {
    let merged = |size: &usize| -> Vec<f64> {
        batches.chunks(*size).map(|chunk| chunk.iter().sum::<f64>() / chunk.len() as f64).collect()
    };
    let larger = [2, 4].iter().map(merged).filter(|few| few.len() >= 8).map(|few| variance_of_mean(&few));
    larger.fold(variance_of_mean(batches) * inflation(batches), f64::max)
}

/// The variance of the mean of independent values.
pub(crate) fn variance_of_mean(values: &[f64]) -> f64 {
    let k = values.len() as f64;
    let mean = values.iter().sum::<f64>() / k;
    values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (k - 1.0) / k
}

/// The confidence interval by Student's t, corrected for skewness, with this variance of the mean.
fn turned(value: f64, batches: &[f64], variance: f64) -> Estimate {
    let k = batches.len() as f64;
    let mean = batches.iter().sum::<f64>() / k;
    let moment = |power: i32| batches.iter().map(|x| (x - mean).powi(power)).sum::<f64>();
    let (error, t) = (variance.sqrt(), t_975(k));
    if !(error * t).is_finite() {
        return Estimate { value, low: f64::NEG_INFINITY, high: f64::INFINITY };
    }
    let each = moment(2) / (k - 1.0);
    // With few values the skewness is chance: the correction would triple some intervals and make others miss.
    let skewness = if k < 16.0 { 0.0 } else { k / (k - 1.0) / (k - 2.0) * moment(3) / each.powf(1.5) };
    // The mean of fewer independent batches is more skewed by the same factor by which it is more variable.
    let b = skewness / (6.0 * k.sqrt()) * (variance / (each / k)).sqrt();
    // Without skewness or variance, plain Student's t.
    let turned = |t: f64| if b.abs() > 1e-3 { ((1.0 + 6.0 * b * (t - b)).cbrt() - 1.0) / (2.0 * b) } else { t };
    Estimate { value, low: value - turned(t) * error, high: value - turned(-t) * error }
}

/// A = (1 + phi)/(1 - phi), the factor by which the variance of a mean of correlated values exceeds that of independent
/// ones; phi is their lag-1 correlation, if positive.
///
/// The correlation of a sample is too small by about (1 + 4 phi)/k (Marriott and Pope 1954), which is corrected.
fn inflation(values: &[f64]) -> f64 {
    let k = values.len() as f64;
    let Some(found) = lag1_autocorrelation(values) else { return 1.0 };
    let phi = (found + (1.0 + 4.0 * found) / k).clamp(0.0, 0.9);
    (1.0 + phi) / (1.0 - phi)
}

/// The effective sample size: the number of values over A, see [`ratio`].
pub fn effective_sample_size(values: &[f64]) -> f64 {
    values.len() as f64 / inflation(values)
}

/// The 97.5th percentile of Student's t for a sample of `n`, which need not be an integer.
pub(crate) fn t_975(n: f64) -> f64 {
    StudentsT::new(0.0, 1.0, n - 1.0).map_or(f64::INFINITY, |t| t.inverse_cdf(0.975))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reproducible uniform numbers.
    fn noise() -> impl FnMut() -> f64 {
        let mut state = 1u64;
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        }
    }

    #[test]
    fn student_is_student() {
        assert!((t_975(20.0) - 2.093_024_054).abs() < 1e-6, "{}", t_975(20.0));
        assert!((t_975(2.0) - 12.706_204_736).abs() < 1e-5, "{}", t_975(2.0));
        assert_eq!(t_975(1.0), f64::INFINITY);
    }

    #[test]
    fn a_warm_up_is_found_only_if_it_exists() {
        let mut noise = noise();
        let late: Vec<f64> = (0..100).map(|i| 10.0 - 10.0 * (-f64::from(i) / 6.0).exp() + noise()).collect();
        assert!((10..40).contains(&mser(&late)) && warm_up(&late) == mser(&late), "{}", mser(&late));
        // White noise needs no cut; MSER alone makes one in more than half of the cases.
        let cuts = (0..500).filter(|_| warm_up(&(0..100).map(|_| noise()).collect::<Vec<_>>()) > 0).count();
        assert!(cuts < 50, "cuts {cuts} runs of 500");
        assert_eq!((warm_up(&[]), warm_up(&[3.0]), warm_up(&[2.0; 9])), (0, 0, 0));
    }

    #[test]
    fn nineteen_of_twenty_intervals_hold_the_truth() {
        let mut noise = noise();
        let (mut ratios, mut quantiles) = (0, 0);
        for _ in 0..2000 {
            // Sums of 10 gaps over counts of 10: mean 0.5.
            let pairs: Vec<(f64, f64)> = (0..20).map(|_| ((0..10).map(|_| noise()).sum(), 10.0)).collect();
            let r = ratio(&pairs);
            ratios += usize::from(r.low < 0.5 && 0.5 < r.high);
            let means: Vec<f64> = pairs.iter().map(|(n, d)| n / d).collect();
            let q = skart_interval(means.iter().sum::<f64>() / 20.0, &means);
            quantiles += usize::from(q.low < 0.5 && 0.5 < q.high);
        }
        assert!((1860..1940).contains(&ratios) && ratios == quantiles, "{ratios} and {quantiles} of 2000");
    }

    /// A cell of a sweep reported 44.78 +- 15.73, where Student's t gives +- 0.33: its ten parts counted as 1.8.
    #[test]
    fn parts_that_look_alike_by_chance_do_not_make_an_interval_explode() {
        let mut noise = noise();
        let (mut held, mut widest): (usize, f64) = (0, 0.0);
        for _ in 0..4000 {
            let parts: Vec<f64> = (0..10).map(|_| noise() + noise() + noise()).collect();
            let found = skart_interval(parts.iter().sum::<f64>() / 10.0, &parts);
            held += usize::from(found.low < 1.5 && 1.5 < found.high);
            widest = widest.max(found.half_width() / (t_975(10.0) * variance_of_mean(&parts).sqrt()));
        }
        assert!((3720..3920).contains(&held), "{held} of 4000 hold");
        assert!(widest < 6.0, "{widest} times Student's");
    }

    #[test]
    fn trials_miss_about_one_time_in_twenty() {
        let mut noise = noise();
        for k in [3, 10] {
            let missed = (0..4000).filter(|_| {
                let trials: Vec<f64> = (0..k).map(|_| noise()).collect();
                let mean = from_trials(&trials);
                mean.low > 0.5 || mean.high < 0.5
            });
            let missed = missed.count();
            // 200 would be exact. With three uniform values Student's t misses more.
            assert!((100..330).contains(&missed), "{missed} of 4000 with {k}");
        }
        assert_eq!(from_trials(&[1.0, 2.0]).half_width(), f64::INFINITY);
    }

    #[test]
    fn one_batch_has_no_interval() {
        assert_eq!(ratio(&[(3.0, 2.0)]).relative(), f64::INFINITY);
        assert_eq!(lag1_autocorrelation(&[1.0, 1.0, 1.0]), None);
        assert!((lag1_autocorrelation(&[1.0, 2.0, 3.0, 4.0]).unwrap() - 0.25).abs() < 1e-12);
    }
}
