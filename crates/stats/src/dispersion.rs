//! The dispersion of counts: how much the number of launches per window varies, and at which time scale.
//!
//! The CoV looks at one gap at a time; the index of dispersion of counts, IDC(w) = variance / mean of the counts in windows of
//! length w, is 1 at *every* w for a Poisson process. A closed system of N users with nearly independent think times has a CoV
//! near 1 but its IDC falls, at windows longer than a think time, towards the scv of one user's cycle: 1/3 for uniform think
//! times, 0 for constant ones. Batches and unsteady rates raise it instead. (Cox and Lewis 1966, chapter 4.)

use statrs::distribution::{ChiSquared, ContinuousCDF, Discrete, DiscreteCDF, Poisson};

use crate::values::Moments;
use crate::{Interval, Test};

/// The dispersion of counts at one window length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dispersion {
    /// The window length, in the unit of the instants.
    pub window: u64,
    /// How many whole windows were counted.
    pub windows: usize,
    /// Variance (divisor windows - 1) over mean.
    pub idc: f64,
    /// The 95 % interval of `idc`.
    pub interval: Interval,
    /// The test of an index of 1.
    pub test: Test,
}

impl Dispersion {
    /// The test of an index of `idc` in place of 1: under counts that are nearly normal, (k - 1) IDC / `idc` is chi-square with
    /// k - 1 degrees of freedom.
    pub fn test_of(&self, idc: f64) -> Test {
        let df = (self.windows - 1) as f64;
        let statistic = df * self.idc / idc;
        let p = 2.0 * chi_square_below(statistic, df).min(chi_square_above(statistic, df));
        Test { statistic, p: p.min(1.0) }
    }
}

/// The counts of `sorted` instants in consecutive whole windows from `from` until before `to`.
pub fn counts(sorted: &[u64], from: u64, to: u64, window: u64) -> Vec<u32> {
    let mut counts = vec![0; (to.saturating_sub(from) / window) as usize];
    for &instant in sorted {
        if let Some(count) = instant.checked_sub(from).and_then(|t| counts.get_mut((t / window) as usize)) {
            *count += 1;
        }
    }
    counts
}

/// The index of dispersion of counts in windows of length `window`. `None` with fewer than two windows or no counts.
///
/// Under the Poisson hypothesis (k - 1) IDC is chi-square with k - 1 degrees of freedom (Fisher's dispersion test), which gives
/// both the interval and the p-value.
pub fn dispersion(counts: &[u32], window: u64) -> Option<Dispersion> {
    let mut moments = Moments::default();
    for count in counts {
        moments.add(*count, 1);
    }
    of_moments(&moments, window)
}

/// The same of counts whose sums are known.
pub(crate) fn of_moments(counts: &Moments, window: u64) -> Option<Dispersion> {
    let (k, mean) = (counts.n, counts.mean());
    if k < 2 || counts.sum == 0 {
        return None;
    }
    let squares = counts.squares_about_mean();
    let df = (k - 1) as f64;
    let idc = squares / df / mean;
    let statistic = squares / mean;
    let p = 2.0 * chi_square_below(statistic, df).min(chi_square_above(statistic, df));
    let interval =
        Interval { low: statistic / chi_square_point(0.975, df), high: statistic / chi_square_point(0.025, df) };
    let test = Test { statistic, p: p.min(1.0) };
    Some(Dispersion { window, windows: k as usize, idc, interval, test })
}

/// Pearson's chi-square of counts against the Poisson law with their own mean; cells of fewer than five expected are pooled.
/// `seen` says how many windows had none, one, two, ... of all `instants` (the last cell may hold larger counts too).
///
/// One-sided (large values reject). `None` when the counts do not fill three cells.
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
    (cells >= 3).then(|| Test { statistic, p: chi_square_above(statistic, f64::from(cells - 2)) })
}

fn chi_square(df: f64) -> ChiSquared {
    ChiSquared::new(df).expect("degrees of freedom above zero")
}

pub(crate) fn chi_square_above(statistic: f64, df: f64) -> f64 {
    chi_square(df).sf(statistic)
}

fn chi_square_below(statistic: f64, df: f64) -> f64 {
    chi_square(df).cdf(statistic)
}

/// The `p` point of chi-square; above a thousand degrees of freedom by Wilson and Hilferty (1931), right to five digits there.
fn chi_square_point(p: f64, df: f64) -> f64 {
    if df < 1000.0 {
        return chi_square(df).inverse_cdf(p);
    }
    let z = -std::f64::consts::SQRT_2 * statrs::function::erf::erfc_inv(2.0 * p);
    let c = 2.0 / (9.0 * df);
    df * (1.0 - c + z * c.sqrt()).powi(3)
}
