//! Session lengths: number of requests per session, and the fit of a geometric distribution.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ChiSquared, ContinuousCDF};

use crate::sessions::Session;

/// Distribution of the number of requests per session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionLengths {
    /// Mean number of requests per session.
    pub mean: f64,
    /// Median.
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
    /// Maximum.
    pub max: u64,
    /// Shares of sessions with 1, 2, 3 to 5, 6 to 10, 11 to 20, 21 to 50, 51 to 100, and more requests.
    pub histogram: Vec<LengthShare>,
}

/// Share of sessions with `from` to `to` requests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LengthShare {
    /// Minimum number of requests.
    pub from: u64,
    /// Maximum number of requests; `null` for no maximum.
    pub to: Option<u64>,
    /// Share in [0, 1].
    pub share: f64,
}

/// Fit of a geometric distribution with the same mean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GeometricFit {
    /// Stay probability 1 - 1/mean (p in the paper), the maximum-likelihood estimate.
    pub stay_probability: f64,
    /// Maximum distance between the distribution functions.
    pub distance: f64,
    /// p-value of Pearson's chi-square test (bins with at least five expected sessions); `null` if there are too few
    /// sessions.
    pub p_value: Option<f64>,
}

/// Number of requests of each session, in ascending order.
pub(crate) fn sorted(sessions: &[Session]) -> Vec<u64> {
    let mut lengths: Vec<u64> = sessions.iter().map(|session| u64::from(session.requests)).collect();
    lengths.sort_unstable();
    lengths
}

impl SessionLengths {
    /// Computes the result from lengths in ascending order (at least one).
    pub fn of(sorted: &[u64]) -> Self {
        let n = sorted.len() as f64;
        let share = |from: u64, to: Option<u64>| {
            let below = |limit: u64| sorted.partition_point(|length| *length < limit);
            LengthShare { from, to, share: (to.map_or(sorted.len(), |to| below(to + 1)) - below(from)) as f64 / n }
        };
        let cells = [(1, 1), (2, 2), (3, 5), (6, 10), (11, 20), (21, 50), (51, 100)];
        let at = |p| offered_stats::summary::quantile(sorted, p);
        Self {
            mean: sorted.iter().sum::<u64>() as f64 / n,
            p50: at(0.5),
            p90: at(0.9),
            max: sorted[sorted.len() - 1],
            histogram: cells.into_iter().map(|(a, b)| share(a, Some(b))).chain([share(101, None)]).collect(),
        }
    }
}

impl GeometricFit {
    /// Computes the result from lengths in ascending order (at least one).
    pub fn of(sorted: &[u64]) -> Self {
        let n = sorted.len() as f64;
        let stay = 1.0 - n / sorted.iter().sum::<u64>() as f64;
        // P(length > k) = p^k, in bins with at least five expected sessions.
        let beyond = |k: u64| stay.powf(k as f64);
        let (mut distance, mut statistic, mut cells) = (0.0f64, 0.0, 0u32);
        let (mut from, mut k) = (0, 0);
        let largest = sorted[sorted.len() - 1];
        while from < largest {
            k += 1;
            let seen = sorted.partition_point(|length| *length <= k);
            distance = distance.max((1.0 - beyond(k) - seen as f64 / n).abs());
            let last = k >= largest || n * beyond(k) < 5.0;
            let expected = n * (beyond(from) - if last { 0.0 } else { beyond(k) });
            if expected >= 5.0 || last {
                let observed =
                    if last { sorted.len() } else { seen } - sorted.partition_point(|length| *length <= from);
                statistic += (observed as f64 - expected).powi(2) / expected.max(1e-9);
                cells += 1;
                from = k;
            }
            if last {
                break;
            }
        }
        let p = (cells > 2).then(|| ChiSquared::new(f64::from(cells - 2)).expect("at least one").sf(statistic));
        Self { stay_probability: stay, distance, p_value: p }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_base::{Purpose, Seed};

    #[test]
    fn geometric_lengths_pass_the_test_at_its_level_and_others_fail() {
        let mut stream = Seed(11).stream(Purpose::Length);
        let mut rejected = 0;
        for _ in 0..400 {
            let mut lengths: Vec<u64> = (0..500)
                .map(|_| {
                    let mut length = 1;
                    while stream.uniform() < 0.8 {
                        length += 1;
                    }
                    length
                })
                .collect();
            lengths.sort_unstable();
            let fit = GeometricFit::of(&lengths);
            assert!((fit.stay_probability - 0.8).abs() < 0.05 && fit.distance < 0.1);
            rejected += usize::from(fit.p_value.unwrap() < 0.05);
        }
        assert!((8..=34).contains(&rejected), "{rejected} of 400 rejected at 5 %");
        let fixed = GeometricFit::of(&[5; 500]);
        assert!(fixed.p_value.unwrap() < 1e-6 && fixed.distance > 0.3);
        assert_eq!(GeometricFit::of(&[1; 10]), GeometricFit { stay_probability: 0.0, distance: 0.0, p_value: None });
    }

    #[test]
    fn shares_add_up() {
        let lengths = SessionLengths::of(&[1, 1, 2, 4, 10, 11, 50, 51, 100, 101]);
        assert_eq!((lengths.mean, lengths.p50, lengths.p90, lengths.max), (33.1, 10, 100, 101));
        let shares: Vec<f64> = lengths.histogram.iter().map(|cell| cell.share).collect();
        assert_eq!(shares, [0.2, 0.1, 0.1, 0.1, 0.1, 0.1, 0.2, 0.1]);
    }
}
