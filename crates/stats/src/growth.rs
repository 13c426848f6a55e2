//! Whether a level grows: the mean of its changes over equal intervals, with a confidence interval.
//!
//! In a stable system the number in the system fluctuates around a level, and its changes cancel. In an overloaded
//! system every interval adds about the same amount. Student's t assumes independent changes. In a stable system the
//! changes are not independent, because decreases follow increases. Therefore the interval is too wide and the test
//! conservative. Its error rates are in book/src/background/calibration.md.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::Interval;

/// The mean change of a quantity per interval, over equal intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// The mean change per interval.
    pub mean: f64,
    /// The 99 % confidence interval of `mean`.
    pub interval: Interval,
}

/// The growth from the changes in equal intervals; `None` with fewer than two.
pub fn growth(changes: &[f64]) -> Option<Growth> {
    let n = changes.len() as f64;
    let t = StudentsT::new(0.0, 1.0, n - 1.0).ok()?.inverse_cdf(0.995);
    let mean = changes.iter().sum::<f64>() / n;
    let variance = changes.iter().map(|change| (change - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let half = t * (variance / n).sqrt();
    Some(Growth { mean, interval: Interval { low: mean - half, high: mean + half } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steady_growth_differs_from_a_rise_that_ends() {
        assert_eq!(growth(&[3.0]), None);
        // The 99.5th percentile of t with 9 degrees of freedom is 3.250; the standard deviation of 1..10 is 3.028.
        let rise: Vec<f64> = (1..=10).map(f64::from).collect();
        let Growth { mean, interval } = growth(&rise).unwrap();
        assert_eq!(mean, 5.5);
        assert!((interval.low - (5.5 - 3.250 * 3.028 / 10f64.sqrt())).abs() < 1e-3, "{interval:?}");
        let back: Vec<f64> = (0..20).map(|i| if i % 2 == 0 { 5.0 } else { -5.0 }).collect();
        assert!(growth(&back).unwrap().interval.low < 0.0);
    }
}
