//! Think times: the gaps within sessions, and the law that fits them best.

use offered_model::Law;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::gaps::Bin;

/// The think times of a log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Think {
    /// How many.
    pub count: u64,
    /// Seconds.
    pub mean: f64,
    /// Coefficient of variation.
    pub cov: f64,
    /// Seconds.
    pub median: f64,
    /// Seconds.
    pub p90: f64,
    /// Seconds.
    pub p99: f64,
    /// The best-fitting law, as a workload file writes it.
    pub law: Option<String>,
    /// The largest distance between its distribution function and the log's.
    pub law_distance: Option<f64>,
    /// The law itself.
    #[serde(skip)]
    pub fit: Option<Law>,
}

/// Above this distance no law is said to fit.
pub(crate) const FITS: f64 = 0.05;
/// A law whose CoV differs by more than this part is not said to fit either.
const SAME: f64 = 0.05;

impl Think {
    /// Whether the fitted law can stand for the think times: near them everywhere, and as variable. Sessions cut think times
    /// off at the timeout; a law whose tail goes far beyond it would make other sessions.
    pub(crate) fn fits(&self) -> bool {
        let near = self.law_distance.is_some_and(|distance| distance <= FITS);
        near && self.fit.as_ref().is_some_and(|law| (law.scv().sqrt() / self.cov - 1.0).abs() <= SAME)
    }

    /// Of the gaps in `bins`, stamped in ticks of `tick` seconds; `None` without gaps.
    pub fn of(bins: &[Bin], tick: f64) -> Option<Self> {
        let count: u64 = bins.iter().map(|bin| bin.count).sum();
        let total = |f: fn(f64) -> f64| bins.iter().map(|bin| f(bin.mean) * bin.count as f64).sum::<f64>();
        if count == 0 {
            return None;
        }
        let n = count as f64;
        let mean = total(|x| x) / n;
        let variance = (total(|x| x * x) / n - mean * mean).max(0.0);
        let best = best(bins, mean, tick);
        Some(Self {
            count,
            mean,
            cov: if mean > 0.0 { variance.sqrt() / mean } else { 0.0 },
            median: quantile(bins, 0.5),
            p90: quantile(bins, 0.9),
            p99: quantile(bins, 0.99),
            law: best.as_ref().map(|(law, _)| law.to_string()),
            law_distance: best.as_ref().map(|(_, distance)| *distance),
            fit: best.map(|(law, _)| law),
        })
    }
}

/// The mean of the cell in which the `p` point lies.
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

/// A law by its mean and a second parameter.
type Family = fn(f64, f64) -> Result<Law, offered_model::Wrong>;

/// The likeliest law among exponential, gamma, lognormal, Weibull and hyperexponential with the log's mean, and its distance.
///
/// The mean is kept, because it decides how much load a workload offers; the second parameter is by maximum likelihood, on
/// intervals as wide as the stamps are uncertain. The exponential has one parameter less (Schwarz's criterion).
fn best(bins: &[Bin], mean: f64, tick: f64) -> Option<(Law, f64)> {
    let intervals: Vec<(f64, f64, f64)> = bins
        .iter()
        .map(|bin| {
            let half = (tick / 2.0).max((bin.high - bin.low) / 2.0);
            ((bin.mean - half).max(0.0), bin.mean + half, bin.count as f64)
        })
        .collect();
    let likelihood =
        |law: &Law| -> f64 { intervals.iter().map(|(a, b, n)| n * (law.cdf(*b) - law.cdf(*a)).max(1e-300).ln()).sum() };
    let families: [(Family, f64, f64); 4] = [
        (Law::gamma, 0.01, 1000.0),
        (Law::lognormal, 0.01, 1000.0),
        (Law::weibull, 0.1, 20.0),
        (Law::hyperexponential, 1.001, 1000.0),
    ];
    let exponential = Law::exponential(mean).ok()?;
    let n: f64 = intervals.iter().map(|(_, _, n)| n).sum();
    let mut best = (likelihood(&exponential) + 0.5 * n.ln(), exponential);
    for (family, low, high) in families {
        let fitted = |ln: f64| family(mean, ln.exp()).ok();
        let at = golden(low.ln(), high.ln(), |ln| fitted(ln).map_or(f64::NEG_INFINITY, |law| likelihood(&law)));
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

/// Where a function with one peak between `low` and `high` has it, by golden sections, to 1e-4.
fn golden(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
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
    use offered_model::{Purpose, Seed};

    #[test]
    fn the_law_that_made_the_think_times_is_found_even_from_whole_seconds() {
        for tick in [1e-9, 1.0] {
            for law in [
                Law::exponential(30.0).unwrap(),
                Law::gamma(30.0, 0.25).unwrap(),
                Law::lognormal(30.0, 2.0).unwrap(),
                Law::weibull(30.0, 0.6).unwrap(),
                Law::hyperexponential(30.0, 6.0).unwrap(),
            ] {
                let (mut stream, mut gaps) = (Seed(3).stream(Purpose::Think), Gaps::default());
                for _ in 0..20_000 {
                    let (from, think) = (stream.uniform(), law.sample(&mut stream));
                    // The difference of two stamps, as a log has it.
                    let stamped = ((from + think) / tick).floor() - (from / tick).floor();
                    gaps.add((stamped * tick * 1e9) as i64);
                }
                let think = Think::of(&gaps.within(10_800), tick).unwrap();
                let fit = think.fit.unwrap();
                assert_eq!(
                    std::mem::discriminant(fit.shape()),
                    std::mem::discriminant(law.shape()),
                    "{law} read as {fit}"
                );
                assert!((fit.scv() / law.scv() - 1.0).abs() < 0.2, "{law} read as {fit}");
                assert!(think.law_distance.unwrap() < FITS, "{law}: {:?}", think.law_distance);
            }
        }
    }
}
