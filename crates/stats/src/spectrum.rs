//! The spectrum of counts at low frequencies: the variation of the number of requests over long times.
//!
//! The ordinates of the periodogram of a Poisson process at the frequencies j / T, |sum exp(-2 pi i j t / T)|^2 2 / n, are nearly independent
//! and chi-square distributed with two degrees of freedom (Bartlett 1963, "The spectral analysis of point processes"). Their mean over two is
//! the dispersion of counts at these frequencies: 1 for a Poisson process. The users of a closed system return after a cycle, so their
//! requests have a lower spectrum at lower frequencies: 1/3 for uniform think times. The sum of ordinates has twice as
//! many degrees of freedom as there are frequencies. These are more than the dispersion in windows of the same time
//! scale has, and faster changes do not affect the sum.

use std::f64::consts::TAU;

use crate::dispersion::{chi_square_above, chi_square_below, chi_square_point};
use crate::{Interval, Test};

/// The fewest frequencies of a test, and the most.
const FREQUENCIES: (usize, usize) = (8, 128);
/// Maximum number of frequencies per time: more would show the times themselves rather than their rate.
const PER_TIME: f64 = 0.25;

/// The dispersion of counts at the lowest frequencies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LowFrequencies {
    /// Number of frequencies. Their periods are the total length divided by 1, 2, and so on up to this number.
    pub frequencies: usize,
    /// Half the mean ordinate of the periodogram at these frequencies: 1 for a Poisson process.
    pub dispersion: f64,
    /// Its 95 % confidence interval for a Poisson process with this dispersion.
    pub interval: Interval,
    /// The test of a dispersion of 1, with the sum of ordinates as its statistic; the p-value is multiplied by the number of tests.
    pub test: Test,
}

/// The dispersion of `counts` in consecutive windows of one length at the 8, 16, 32, 64 or 128 lowest frequencies, whichever is most
/// significant. `None` with too few windows or times.
pub fn low_frequencies(counts: &[f64]) -> Option<LowFrequencies> {
    let n: f64 = counts.iter().sum();
    let most = FREQUENCIES.1.min((n * PER_TIME) as usize).min(counts.len() / 4);
    let (mut sum, mut tests) = (0.0, Vec::new());
    for frequency in 1..=most {
        sum += ordinate(counts, frequency) / n;
        if frequency >= FREQUENCIES.0 && frequency.is_power_of_two() {
            let df = 2.0 * frequency as f64;
            let p = 2.0 * chi_square_below(sum, df).min(chi_square_above(sum, df));
            let interval = Interval { low: sum / chi_square_point(0.975, df), high: sum / chi_square_point(0.025, df) };
            let test = Test { statistic: sum, p_value: p };
            tests.push(LowFrequencies { frequencies: frequency, dispersion: sum / df, interval, test });
        }
    }
    let all = tests.len() as f64;
    let mut found = tests.into_iter().min_by(|a, b| a.test.p_value.total_cmp(&b.test.p_value))?;
    found.test.p_value = (found.test.p_value * all).min(1.0);
    Some(found)
}

/// Twice the squared size of the Fourier sum of `counts` at this number of periods.
fn ordinate(counts: &[f64], frequency: usize) -> f64 {
    let (sin, cos) = (TAU * frequency as f64 / counts.len() as f64).sin_cos();
    let (mut turn, mut sum) = ((1.0, 0.0), (0.0, 0.0));
    for count in counts {
        sum = (sum.0 + count * turn.0, sum.1 + count * turn.1);
        turn = (turn.0 * cos - turn.1 * sin, turn.0 * sin + turn.1 * cos);
    }
    2.0 * (sum.0 * sum.0 + sum.1 * sum.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A source of uniform numbers (Park and Miller 1988).
    fn uniform(seed: u64) -> impl FnMut() -> f64 {
        let mut state = seed * 7919 + 1;
        move || {
            state = state * 48_271 % 2_147_483_647;
            state as f64 / 2_147_483_647.0
        }
    }

    /// The counts in 1,024 windows of the requests of users with these gaps, over 60 times the mean gap of a user.
    fn counts(users: u32, mut gap: impl FnMut() -> f64) -> Vec<f64> {
        let mut counts = vec![0.0; 1024];
        for _ in 0..users {
            let mut at = -10.0;
            while at < 60.0 {
                at += gap();
                if let Some(count) = counts.get_mut((at / 60.0 * 1024.0) as usize).filter(|_| at >= 0.0) {
                    *count += 1.0;
                }
            }
        }
        counts
    }

    #[test]
    fn closed_users_are_under_dispersed_and_independent_requests_are_not() {
        let (mut false_alarms, mut detected) = (0, 0);
        for seed in 1..=200 {
            let mut chance = uniform(seed);
            let poisson = low_frequencies(&counts(50, || -chance().ln())).unwrap();
            false_alarms += u32::from(poisson.test.p_value < 0.05);
            let mut chance = uniform(seed);
            let closed = low_frequencies(&counts(50, || 2.0 * chance())).unwrap();
            detected += u32::from(closed.test.p_value < 0.05 && closed.dispersion < 0.9);
        }
        assert!(false_alarms < 20, "{false_alarms} of 200 at 5 %");
        assert!(detected > 160, "{detected} of 200");
    }

    #[test]
    fn a_single_frequency_is_found() {
        // 20 periods, as large as the mean.
        let counts: Vec<f64> = (0..1024).map(|i| 10.0 * (1.0 + (TAU * 20.0 * f64::from(i) / 1024.0).cos())).collect();
        assert!(ordinate(&counts, 20) > 1e6 && ordinate(&counts, 19) < 1e-6);
        assert_eq!(low_frequencies(&[1.0; 20]), None);
        assert_eq!(low_frequencies(&[]), None);
    }
}
