//! Think times: the gaps within sessions, and the distribution that fits them best.

use offered_distributions::Distribution;
use serde::{Deserialize, Serialize};

use crate::gaps::Bin;

/// Think times of a log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThinkTimes {
    /// Number of think times.
    pub count: u64,
    /// Mean think time, in seconds.
    pub mean_s: f64,
    /// Coefficient of variation.
    pub cov: f64,
    /// Median, in seconds.
    pub p50_s: f64,
    /// 90th percentile, in seconds.
    pub p90_s: f64,
    /// 99th percentile, in seconds.
    pub p99_s: f64,
    /// Best-fitting distribution, in the syntax of workload files.
    pub distribution: Option<String>,
    /// Maximum difference between the fitted distribution function and that of the log.
    pub distribution_distance: Option<f64>,
    /// The fitted distribution.
    #[serde(skip)]
    pub fit: Option<Distribution>,
}

/// Maximum distance of a distribution that fits.
pub(crate) const MAX_DISTANCE: f64 = 0.05;
/// Maximum relative difference of the CoV of a distribution that fits.
const MAX_COV_DIFFERENCE: f64 = 0.05;

impl ThinkTimes {
    /// Whether the fitted distribution can replace the think times: the distribution functions are close and the CoV is
    /// similar. Recorded think times end at the session timeout; a distribution with a longer tail would produce other
    /// sessions.
    pub(crate) fn fits(&self) -> bool {
        let near = self.distribution_distance.is_some_and(|distance| distance <= MAX_DISTANCE);
        near && self.fit.as_ref().is_some_and(|law| (law.scv().sqrt() / self.cov - 1.0).abs() <= MAX_COV_DIFFERENCE)
    }

    /// Fits the gaps in `bins`, from timestamps with a resolution of `tick` seconds; `None` without gaps.
    pub fn of(bins: &[Bin], tick: f64) -> Option<Self> {
        let count: u64 = bins.iter().map(|bin| bin.count).sum();
        let total = |f: fn(f64) -> f64| bins.iter().map(|bin| f(bin.mean) * bin.count as f64).sum::<f64>();
        if count == 0 {
            return None;
        }
        let n = count as f64;
        let mean = total(|x| x) / n;
        let variance = (total(|x| x * x) / n - mean * mean).max(0.0);
        let best = best_fit(bins, mean, tick);
        Some(Self {
            count,
            mean_s: mean,
            cov: if mean > 0.0 { variance.sqrt() / mean } else { 0.0 },
            p50_s: quantile(bins, 0.5),
            p90_s: quantile(bins, 0.9),
            p99_s: quantile(bins, 0.99),
            distribution: best.as_ref().map(|(law, _)| law.to_string()),
            distribution_distance: best.as_ref().map(|(_, distance)| *distance),
            fit: best.map(|(law, _)| law),
        })
    }
}

/// Mean of the bin that contains the quantile `p`.
fn quantile(bins: &[Bin], p: f64) -> f64 {
    let count: u64 = bins.iter().map(|bin| bin.count).sum();
    let mut left = (p * (count as f64 - 0.5)) as u64;
    for bin in bins {
        if left < bin.count {
            return bin.mean;
        }
        left -= bin.count;
    }
    0.0
}

/// A family of distributions with mean and a second parameter.
type Family = fn(f64, f64) -> Result<Distribution, offered_base::InvalidValue>;

/// The most likely of the exponential, gamma, lognormal, Weibull and hyperexponential distributions with the log's mean,
/// and its distance.
///
/// The mean is fixed because it determines the load. The second parameter is estimated by maximum likelihood on
/// intervals as wide as the resolution of the timestamps. Schwarz's criterion accounts for the exponential's missing
/// parameter.
fn best_fit(bins: &[Bin], mean: f64, tick: f64) -> Option<(Distribution, f64)> {
    let intervals: Vec<(f64, f64, f64)> = bins
        .iter()
        .map(|bin| {
            let half = (tick / 2.0).max((bin.high - bin.low) / 2.0);
            ((bin.mean - half).max(0.0), bin.mean + half, bin.count as f64)
        })
        .collect();
    let likelihood = |law: &Distribution| -> f64 {
        intervals.iter().map(|(a, b, n)| n * (law.cdf(*b) - law.cdf(*a)).max(1e-300).ln()).sum()
    };
    let families: [(Family, f64, f64); 4] = [
        (Distribution::gamma, 0.01, 1000.0),
        (Distribution::lognormal, 0.01, 1000.0),
        (Distribution::weibull, 0.1, 20.0),
        (Distribution::hyperexponential, 1.001, 1000.0),
    ];
    let exponential = Distribution::exponential(mean).ok()?;
    let n: f64 = intervals.iter().map(|(_, _, n)| n).sum();
    let mut best = (likelihood(&exponential) + 0.5 * n.ln(), exponential);
    for (family, low, high) in families {
        let fitted = |ln: f64| family(mean, ln.exp()).ok();
        let at = golden_section_maximum(low.ln(), high.ln(), |ln| {
            fitted(ln).map_or(f64::NEG_INFINITY, |law| likelihood(&law))
        });
        if let Some(law) = fitted(at) {
            let likely = likelihood(&law);
            if likely > best.0 {
                best = (likely, law);
            }
        }
    }
    let mut below = 0.0;
    let distance = intervals.iter().fold(0.0, |distance: f64, (_, high, count)| {
        below += count / n;
        distance.max((best.1.cdf(*high) - below).abs())
    });
    Some((best.1, distance))
}

/// Position of the maximum of a unimodal function between `low` and `high`, by golden-section search to 1e-4.
fn golden_section_maximum(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
    let share = (5f64.sqrt() - 1.0) / 2.0;
    let (mut a, mut b) = (high - share * (high - low), low + share * (high - low));
    let (mut fa, mut fb) = (f(a), f(b));
    while high - low > 1e-4 {
        if fa >= fb {
            (high, b, fb) = (b, a, fa);
            a = high - share * (high - low);
            fa = f(a);
        } else {
            (low, a, fa) = (a, b, fb);
            b = low + share * (high - low);
            fb = f(b);
        }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gaps::Gaps;
    use offered_base::{Purpose, Seed};

    #[test]
    fn the_true_distribution_is_found_even_from_whole_seconds() {
        for tick in [1e-9, 1.0] {
            for law in [
                Distribution::exponential(30.0).unwrap(),
                Distribution::gamma(30.0, 0.25).unwrap(),
                Distribution::lognormal(30.0, 2.0).unwrap(),
                Distribution::weibull(30.0, 0.6).unwrap(),
                Distribution::hyperexponential(30.0, 6.0).unwrap(),
            ] {
                let (mut stream, mut gaps) = (Seed(3).stream(Purpose::Think), Gaps::default());
                for _ in 0..20_000 {
                    let (from, think) = (stream.uniform(), law.sample(&mut stream));
                    // The difference of two timestamps, as in a log.
                    let stamped = ((from + think) / tick).floor() - (from / tick).floor();
                    gaps.add((stamped * tick * 1e9) as i64);
                }
                let think = ThinkTimes::of(&gaps.within(10_800), tick).unwrap();
                let fit = think.fit.unwrap();
                assert_eq!(
                    std::mem::discriminant(fit.shape()),
                    std::mem::discriminant(law.shape()),
                    "{law} read as {fit}"
                );
                assert!((fit.scv() / law.scv() - 1.0).abs() < 0.2, "{law} read as {fit}");
                assert!(
                    think.distribution_distance.unwrap() < MAX_DISTANCE,
                    "{law}: {:?}",
                    think.distribution_distance
                );
            }
        }
    }
}
