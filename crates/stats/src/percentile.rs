//! Confidence intervals of percentiles of correlated values, from consecutive batches.

use statrs::function::beta::beta_reg;

use crate::Z95;
use crate::groups::SortedGroups;
use crate::steady_state::{t_975, variance_of_mean};
use crate::summary::quantile_at;
use crate::values::Sorted;

/// Number of batches for measured values. [`interval`] accepts other numbers from [`MIN_BATCHES`] on, but the sample must
/// not choose the number.
pub const BATCHES: usize = 60;

/// Minimum number of batches of [`interval`].
pub const MIN_BATCHES: usize = 12;

/// Values in consecutive batches of about the same number or duration.
pub trait BatchedValues {
    /// Number of values of each batch.
    fn counts(&self) -> Vec<f64>;
    /// Number of values above `value` in each batch.
    fn above(&self, value: f64) -> Vec<f64>;
    /// The value that `share` of all values, 0 to 1, do not exceed.
    fn quantile(&self, share: f64) -> f64;
}

/// Measured values by group, where each group is a batch, and the number of infinite values (failed requests) in each
/// group.
#[derive(Clone, Copy, Debug)]
pub struct SortedBatches<'a> {
    /// The finite values.
    pub finite: &'a SortedGroups<i64>,
    /// Number of infinite values in each batch; its length is the number of batches.
    pub infinite: &'a [u64],
}

impl SortedBatches<'_> {
    /// Adds the number of infinite values of each batch to this number of its finite values.
    fn each(&self, number: impl Fn(&Sorted<i64>) -> u64) -> Vec<f64> {
        let finite = |batch| self.finite.group(batch).map_or(0, &number);
        self.infinite.iter().enumerate().map(|(batch, infinite)| (finite(batch) + infinite) as f64).collect()
    }
}

impl BatchedValues for SortedBatches<'_> {
    fn counts(&self) -> Vec<f64> {
        self.each(Sorted::len)
    }

    fn above(&self, value: f64) -> Vec<f64> {
        if value.is_infinite() {
            return vec![0.0; self.infinite.len()];
        }
        self.each(|values| values.above(value as i64))
    }

    /// The order statistic of index [`quantile_at`], as in all tables.
    fn quantile(&self, share: f64) -> f64 {
        let (all, infinite) = (self.finite.all(), self.infinite.iter().sum::<u64>());
        let rank = quantile_at((all.len() + infinite).max(1), share);
        all.at(rank).filter(|_| rank < all.len()).map_or(f64::INFINITY, |value| value as f64)
    }
}

/// The 95 % confidence interval of a percentile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PercentileInterval {
    /// Lower and upper end.
    Known(f64, f64),
    /// The sample is too short for an interval; a sample about this many times as long would suffice.
    NeedsLongerSample(f64),
}

/// The number of values in a sample this many times as long as one of `values`, rounded up.
pub fn values_needed(times: f64, values: u64) -> u64 {
    // A ratio of two numbers, multiplied by one of them, may exceed the other in the last digit.
    (times * values as f64 * (1.0 - 1e-12)).ceil() as u64
}

/// Minimum number of independent clusters of values beyond a percentile.
const MIN_CLUSTERS: f64 = 2.0;
/// From this number of clusters on, the lengths of batches are not tested.
pub(crate) const MANY_CLUSTERS: f64 = 20.0;
/// Minimum number of correlation lengths of the median in a sample with few clusters.
pub(crate) const MIN_CORRELATION_LENGTHS: f64 = 200.0;
/// The upper end allows for a correlation length that is larger than the estimate by this number divided by the number of correlation
/// lengths. The value was chosen by coverage.
const ALLOWANCE: f64 = 240.0;
/// Relative variance of the variance estimate that a single cluster causes. It depends on the distribution of the
/// lengths of clusters: 0 if they are equal, 3 if they are exponential. The value was chosen by coverage.
const CLUSTER_VARIANCE: f64 = 1.5;
/// Number of clusters from which an interval usually ends inside the sample.
const ENOUGH_CLUSTERS: f64 = 7.0;
/// A sample that is too short has too few long clusters, so that it needs to be longer than it appears.
const MARGIN: f64 = 1.5;

/// The confidence interval of the percentile `p` (in (0, 1)).
///
/// If the share of values above the true percentile is `s` in this sample, the percentile has rank 1 - s in it. The interval
/// therefore extends over the likely ranks (Woodruff 1952). For n independent values, s has a binomial distribution. For
/// correlated values, n is divided by the correlation length L, which is the factor by which the variance of s exceeds
/// that of independent values; and by (t / z)^2 because L is estimated (Korn and Graubard 1998, Survey Methodology 24,
/// with a beta distribution for s).
///
/// *The variance of s* comes from the batches and from groups of three of them. A variance from batches of m values is too
/// small by a share of about 1/m, so 1.5 times that of the groups minus 0.5 times that of the batches has no bias of this
/// order (the flat-top estimator; Vats and Flegal 2022, Biometrika 109). The degrees of freedom of t follow from the variance
/// of this estimate: high values come in clusters, and few clusters say little about the variance.
///
/// *Correlation lengths* at less extreme percentiles (median, 90th) are known better, and those at more extreme ones are
/// rarely smaller; so L is the largest of them.
///
/// *The upper end* takes L times 1 + 240/k, where k is the number of correlation lengths of the median in the sample.
/// In a short sample that was taken in a calm period of a busy server, high values are missing and L is also too small.
/// So almost all intervals that miss the true value are too low.
///
/// *A known queue* has a known number of correlation lengths, `known_lengths`. Service times at many servers, and sizes under processor
/// sharing, hide the correlation of the queue in the responses, so that a short sample looks long. The smaller number counts.
///
/// There is no interval with fewer than two clusters of length L on the rarer side; with fewer than twenty if k is below 200,
/// which makes every L too small; or if it would end outside the sample.
///
/// Why ranks: percentiles by batch do not work, because a batch that is short compared with a cluster has no meaningful
/// 99th percentile.
pub fn interval(values: &impl BatchedValues, p: f64, known_lengths: Option<f64>) -> PercentileInterval {
    let counts = values.counts();
    let n: f64 = counts.iter().sum();
    let rarer = p.min(1.0 - p);
    // At least two values on the rarer side are needed.
    if counts.len() < MIN_BATCHES || n * rarer < MIN_CLUSTERS {
        return PercentileInterval::NeedsLongerSample((ENOUGH_CLUSTERS / (n * rarer)).max(MARGIN));
    }
    let length = |level: f64| correlation_length(values, &counts, level);
    let of_median = length(0.5);
    let outer = if p < 0.5 { 0.1 } else { 0.9 };
    let levels = [outer, p].into_iter().filter(|level| (level - 0.5).abs() <= (p - 0.5).abs() && *level != 0.5);
    let longest = levels.map(length).fold(of_median, f64::max);
    let clusters = rarer * n / longest;
    // Of independent values, every batch is long enough.
    let lengths = (n / (of_median - 1.0)).min(known_lengths.unwrap_or(f64::INFINITY));
    let is_short = clusters < MANY_CLUSTERS && lengths < MIN_CORRELATION_LENGTHS;
    let needed = if is_short { MARGIN * MIN_CORRELATION_LENGTHS / lengths } else { MARGIN };
    let needed = PercentileInterval::NeedsLongerSample(needed.max(ENOUGH_CLUSTERS / clusters));
    if is_short || clusters < MIN_CLUSTERS {
        return needed;
    }
    let end = |length: f64, q: f64| {
        let relative_variance = flat_top_variance(counts.len()) + CLUSTER_VARIANCE * length / (rarer * n);
        let effective = n / length * (Z95 / t_975(1.0 + 2.0 / relative_variance)).powi(2);
        beta_quantile(effective * p, effective * (1.0 - p), q)
    };
    let (low, high) = (end(longest, 0.025), end(longest * (1.0 + ALLOWANCE / lengths), 0.975));
    if n * low < 1.0 || n * (1.0 - high) < 1.0 {
        return needed;
    }
    PercentileInterval::Known(values.quantile(low), values.quantile(high))
}

/// The correlation length: this number of consecutive values determines the share above the percentile `p` as well as
/// one independent value; 1 or more.
fn correlation_length(values: &impl BatchedValues, counts: &[f64], p: f64) -> f64 {
    let n: f64 = counts.iter().sum();
    let each = n / counts.len() as f64;
    let residual = |(above, of): (f64, &f64)| (above - (1.0 - p) * of) / each;
    let residuals: Vec<f64> = values.above(values.quantile(p)).into_iter().zip(counts).map(residual).collect();
    let groups: Vec<f64> = residuals.chunks(3).map(|group| group.iter().sum::<f64>() / 3.0).collect();
    let (single, grouped) = (variance_of_mean(&residuals), variance_of_mean(&groups));
    // Batches that vary less than their groups by chance must not remove most of the variance.
    (1.5 * grouped - 0.5 * single).max(0.8 * grouped).max(p * (1.0 - p) / n) * n / (p * (1.0 - p))
}

/// The relative variance of the variance estimate from this number of batches and from groups of three, for normal values.
/// Their covariance is the variance of the former.
fn flat_top_variance(batches: usize) -> f64 {
    4.5 / (batches as f64 / 3.0 - 1.0) - 2.5 / (batches as f64 - 1.0)
}

/// The quantile `q` of the beta distribution.
fn beta_quantile(a: f64, b: f64, q: f64) -> f64 {
    // `beta_reg` is inaccurate for large parameters; the approximation (Abramowitz and Stegun 26.5.22) for small ones.
    if a + b > 5000.0 {
        let y = if q > 0.5 { -Z95 } else { Z95 };
        let h = 2.0 / (1.0 / (2.0 * a - 1.0) + 1.0 / (2.0 * b - 1.0));
        let lambda = (y * y - 3.0) / 6.0;
        let w = y * (h + lambda).sqrt() / h
            - (1.0 / (2.0 * b - 1.0) - 1.0 / (2.0 * a - 1.0)) * (lambda + 5.0 / 6.0 - 2.0 / (3.0 * h));
        return a / (a + b * (2.0 * w).exp());
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        if beta_reg(a, b, middle) < q {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of batches, of the same number each.
    struct Batched {
        each: Vec<Vec<f64>>,
        all: Vec<f64>,
    }

    impl Batched {
        fn new(values: &[f64]) -> Self {
            let each = values.chunks(values.len().div_ceil(BATCHES)).map(<[f64]>::to_vec).collect();
            let mut all = values.to_vec();
            all.sort_by(f64::total_cmp);
            Self { each, all }
        }
    }

    impl BatchedValues for Batched {
        fn counts(&self) -> Vec<f64> {
            self.each.iter().map(|batch| batch.len() as f64).collect()
        }

        fn above(&self, value: f64) -> Vec<f64> {
            self.each.iter().map(|batch| batch.iter().filter(|x| **x > value).count() as f64).collect()
        }

        fn quantile(&self, share: f64) -> f64 {
            crate::summary::quantile(&self.all, share)
        }
    }

    /// Reproducible uniform numbers.
    fn uniform(state: &mut u64) -> f64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((*state >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Of `runs` samples of `n` responses of M/M/1 at this load: the number of intervals of `p`, and of those that contain it.
    fn coverage(load: f64, n: usize, p: f64, runs: u64) -> (u64, u64) {
        let truth = -(1.0 - p).ln() / (1.0 - load);
        let (mut given, mut held) = (0, 0);
        for run in 0..runs {
            let mut state = 7 + 1000 * run;
            let mut exponential = || -uniform(&mut state).ln();
            // The first response is in steady state.
            let mut wait = if exponential() < -load.ln() { exponential() / (1.0 - load) } else { 0.0 };
            let mut next = || {
                let response = wait + exponential();
                wait = if load > 0.0 { (response - exponential() / load).max(0.0) } else { 0.0 };
                response
            };
            let values: Vec<f64> = (0..n).map(|_| next()).collect();
            if let PercentileInterval::Known(low, high) = interval(&Batched::new(&values), p, None) {
                given += 1;
                held += u64::from(low <= truth && truth <= high);
            }
        }
        (given, held)
    }

    #[test]
    fn nineteen_of_twenty_intervals_contain_the_percentile() {
        for (load, n, p) in
            [(0.0, 300, 0.5), (0.0, 1200, 0.95), (0.5, 6000, 0.9), (0.5, 20_000, 0.99), (0.8, 24_000, 0.5)]
        {
            let (given, held) = coverage(load, n, p, 200);
            assert!(given >= 195 && held * 100 >= given * 92, "load {load}, {n} values, {p}: {held} of {given}");
        }
    }

    #[test]
    fn a_sample_without_information_has_no_interval() {
        // 14 correlation lengths of the median.
        let (given, _) = coverage(0.95, 7000, 0.99, 100);
        assert!(given <= 3, "{given} of 100");
        // Five minutes at 95/s of 100/s. The few samples that look long enough are calm by chance.
        let (given, _) = coverage(0.95, 28_500, 0.95, 100);
        assert!(given <= 8, "{given} of 100");
        assert_eq!(coverage(0.0, 60, 0.99, 20).0, 0);
    }

    #[test]
    fn a_short_sample_says_how_long_it_must_be() {
        let mut state = 3;
        let values: Vec<f64> = (0..120).map(|_| uniform(&mut state)).collect();
        let PercentileInterval::NeedsLongerSample(times) = interval(&Batched::new(&values), 0.99, None) else {
            panic!()
        };
        assert!((1.1..10.0).contains(&times), "{times}");
        let values: Vec<f64> = (0..(120.0 * 2.0 * times) as usize).map(|_| uniform(&mut state)).collect();
        assert!(matches!(interval(&Batched::new(&values), 0.99, None), PercentileInterval::Known(..)));
    }

    /// The service times of many servers vary more than their queue, whose correlation the sample therefore does not show.
    #[test]
    fn a_known_queue_moves_the_upper_end_of_a_sample_that_looks_independent() {
        let mut state = 5;
        let values: Vec<f64> = (0..6000).map(|_| uniform(&mut state)).collect();
        let ends = |p: f64, known| match interval(&Batched::new(&values), p, known) {
            PercentileInterval::Known(low, high) => Some((low, high)),
            PercentileInterval::NeedsLongerSample(_) => None,
        };
        let (low, high) = ends(0.9, None).unwrap();
        let (new_low, new_high) = ends(0.9, Some(80.0)).unwrap();
        // 1 + 240 / 80 times the correlation length.
        assert!(low == new_low && (1.7..2.3).contains(&((new_high - 0.9) / (high - 0.9))), "{high} {new_high}");
        assert_eq!(ends(0.9, Some(1e9)), Some((low, high)));
        // Fewer than 20 clusters in fewer than 200 lengths.
        let few = &values[..1500];
        assert!(matches!(interval(&Batched::new(few), 0.99, None), PercentileInterval::Known(..)));
        assert!(matches!(interval(&Batched::new(few), 0.99, Some(150.0)), PercentileInterval::NeedsLongerSample(_)));
    }

    #[test]
    fn a_constant_is_its_own_interval() {
        assert_eq!(interval(&Batched::new(&vec![7.0; 6000]), 0.9, None), PercentileInterval::Known(7.0, 7.0));
    }

    #[test]
    fn infinite_values_are_the_highest() {
        let mut groups = crate::groups::Groups::default();
        (0..6000).for_each(|i| groups.add(i % BATCHES, (i * 7919 % 6000) as i64));
        let (finite, infinite) = (groups.sorted(), [10; BATCHES]);
        let batched = SortedBatches { finite: &finite, infinite: &infinite };
        assert_eq!(
            (batched.counts()[0], batched.above(f64::INFINITY)[0], batched.quantile(0.95)),
            (110.0, 0.0, f64::INFINITY)
        );
        let PercentileInterval::Known(low, high) = interval(&batched, 0.5, None) else { panic!() };
        assert!(low < 3300.0 && 3300.0 < high && high < 3700.0, "{low} to {high}");
        assert_eq!(interval(&batched, 0.95, None), PercentileInterval::Known(f64::INFINITY, f64::INFINITY));
    }

    #[test]
    fn both_forms_of_the_beta_quantile_agree() {
        // By bisection of the continued fraction in double precision.
        for (a, b, low, high) in [
            (2.0, 98.0, 0.002_456_0, 0.054_996_8),
            (50.0, 4949.0, 0.007_434_0, 0.012_940_8),
            (60.0, 5941.0, 0.007_639_5, 0.012_666_2),
            (5e5, 5e5, 0.499_020_0, 0.500_980_0),
        ] {
            let found = [0.025, 0.975].map(|q| beta_quantile(a, b, q));
            assert!((found[0] / low - 1.0).abs() < 5e-4 && (found[1] / high - 1.0).abs() < 5e-4, "{a} {b}: {found:?}");
        }
    }
}
