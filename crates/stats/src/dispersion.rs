//! The dispersion of counts: the variation of the number of requests per window, by length of the window.
//!
//! The CoV considers single gaps. The index of dispersion for counts, IDC(w) = variance / mean of the counts in
//! windows of length w, is 1 for *every* w in a Poisson process. A closed system of N users with nearly independent
//! think times has a CoV near 1, but its IDC falls, for windows longer than a think time, towards the squared CoV of a
//! user's cycle: 1/3 for uniform think times, 0 for constant ones. Batches and varying rates increase it. (Cox and
//! Lewis 1966, chapter 4.)

use statrs::distribution::{ChiSquared, ContinuousCDF, Discrete, DiscreteCDF, Poisson};

use crate::values::Moments;
use crate::{Interval, Test};

/// The dispersion of counts for one window length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dispersion {
    /// The window length, in the unit of the times.
    pub window: u64,
    /// Number of whole windows.
    pub windows: usize,
    /// The index of dispersion: variance (divisor windows - 1) over mean.
    pub idc: f64,
    /// The 95 % confidence interval of `idc`.
    pub interval: Interval,
    /// The test of an index of 1.
    pub test: Test,
}

impl Dispersion {
    /// The test of an index of `idc` instead of 1: for nearly normal counts (k - 1) IDC / `idc` has a chi-square
    /// distribution with k - 1 degrees of freedom.
    pub fn test_of(&self, idc: f64) -> Test {
        let df = (self.windows - 1) as f64;
        let statistic = df * self.idc / idc;
        let p = 2.0 * chi_square_below(statistic, df).min(chi_square_above(statistic, df));
        Test { statistic, p_value: p.min(1.0) }
    }
}

/// The counts of ascending times in consecutive whole windows in [`from`, `to`).
pub fn counts(sorted: &[u64], from: u64, to: u64, window: u64) -> Vec<u32> {
    let mut counts = vec![0; (to.saturating_sub(from) / window) as usize];
    for &instant in sorted {
        if let Some(count) = instant.checked_sub(from).and_then(|t| counts.get_mut((t / window) as usize)) {
            *count += 1;
        }
    }
    counts
}

/// The index of dispersion of counts in windows of length `window`. `None` with fewer than two windows or without
/// counts.
///
/// For a Poisson process (k - 1) IDC has a chi-square distribution with k - 1 degrees of freedom (Fisher's dispersion
/// test), which gives the interval and the p-value.
pub fn dispersion(counts: &[u32], window: u64) -> Option<Dispersion> {
    let mut moments = Moments::default();
    for count in counts {
        moments.add(*count, 1);
    }
    of_moments(&moments, window)
}

/// The same, from sums of the counts.
pub(crate) fn of_moments(counts: &Moments, window: u64) -> Option<Dispersion> {
    let (k, mean) = (counts.n, counts.mean());
    if k < 2 || counts.sum == 0 {
        return None;
    }
    let squares = counts.sum_of_squared_deviations();
    let df = (k - 1) as f64;
    let idc = squares / df / mean;
    let statistic = squares / mean;
    let p = 2.0 * chi_square_below(statistic, df).min(chi_square_above(statistic, df));
    let interval =
        Interval { low: statistic / chi_square_point(0.975, df), high: statistic / chi_square_point(0.025, df) };
    let test = Test { statistic, p_value: p.min(1.0) };
    Some(Dispersion { window, windows: k as usize, idc, interval, test })
}

/// Pearson's chi-square test of counts against the Poisson distribution with their mean; cells with fewer than five
/// expected counts are pooled. `seen[i]` is the number of windows with count i (the last may include larger counts),
/// and `instants` is the sum of all counts.
///
/// One-sided: large values reject. `None` if the counts do not fill three cells.
pub fn poisson_chi_square(seen: &[u64], instants: u64) -> Option<Test> {
    let n = seen.iter().sum::<u64>() as f64;
    let law = Poisson::new(instants as f64 / n).ok()?;
    let (mut statistic, mut cells, mut low) = (0.0, 0u32, 0);
    loop {
        let (mut high, mut expected) = (low, n * law.pmf(low as u64));
        while expected < 5.0 && high < seen.len() {
            high += 1;
            expected += n * law.pmf(high as u64);
        }
        let last = n * law.sf(high as u64) < 5.0 || high >= seen.len();
        if last {
            (high, expected) = (seen.len(), if low == 0 { n } else { n * law.sf(low as u64 - 1) });
        }
        let observed: u64 = seen[low.min(seen.len())..(high + 1).min(seen.len())].iter().sum();
        if expected > 0.0 {
            statistic += (observed as f64 - expected).powi(2) / expected;
            cells += 1;
        }
        if last {
            break;
        }
        low = high + 1;
    }
    (cells >= 3).then(|| Test { statistic, p_value: chi_square_above(statistic, f64::from(cells - 2)) })
}

fn chi_square(df: f64) -> ChiSquared {
    ChiSquared::new(df).expect("degrees of freedom above zero")
}

pub(crate) fn chi_square_above(statistic: f64, df: f64) -> f64 {
    chi_square(df).sf(statistic)
}

pub(crate) fn chi_square_below(statistic: f64, df: f64) -> f64 {
    chi_square(df).cdf(statistic)
}

/// The `p` quantile of chi-square; above a thousand degrees of freedom by Wilson and Hilferty (1931), accurate to five
/// digits there.
pub(crate) fn chi_square_point(p: f64, df: f64) -> f64 {
    if df < 1000.0 {
        return chi_square(df).inverse_cdf(p);
    }
    let z = -std::f64::consts::SQRT_2 * statrs::function::erf::erfc_inv(2.0 * p);
    let c = 2.0 / (9.0 * df);
    df * (1.0 - c + z * c.sqrt()).powi(3)
}
