//! Simple linear regression: ordinary least squares, with Student confidence intervals of slope and intercept.
//!
//! Residuals are assumed to be independent with equal variance. Errors in x flatten the slope; callers choose windows
//! long enough for them to be negligible. Source: Montgomery and Runger, Applied Statistics and Probability for
//! Engineers, sections 11-2 to 11-5.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::Interval;

/// A regression line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinearRegression {
    /// The slope.
    pub slope: f64,
    /// The 95 % confidence interval of the slope.
    pub slope_interval: Interval,
    /// The intercept at x = 0.
    pub intercept: f64,
    /// The 95 % confidence interval of the intercept.
    pub intercept_interval: Interval,
    /// The correlation of x and y; `None` if y is constant.
    pub correlation: Option<f64>,
}

/// The regression line through these points; `None` with fewer than three points, or if x is constant.
pub fn linear_regression(points: &[[f64; 2]]) -> Option<LinearRegression> {
    let n = points.len() as f64;
    let t = StudentsT::new(0.0, 1.0, n - 2.0).ok()?.inverse_cdf(0.975);
    let mean = |of: usize| points.iter().map(|point| point[of]).sum::<f64>() / n;
    let (x, y) = (mean(0), mean(1));
    let sum = |of: fn(f64, f64) -> f64| points.iter().map(|point| of(point[0] - x, point[1] - y)).sum::<f64>();
    let (sxx, sxy, syy) = (sum(|x, _| x * x), sum(|x, y| x * y), sum(|_, y| y * y));
    if sxx <= 0.0 || !sxx.is_finite() || !syy.is_finite() {
        return None;
    }
    let slope = sxy / sxx;
    let intercept = y - slope * x;
    let left = points.iter().map(|point| (point[1] - intercept - slope * point[0]).powi(2)).sum::<f64>();
    let variance = left / (n - 2.0);
    let around = |middle: f64, error: f64| Interval { low: middle - t * error, high: middle + t * error };
    Some(LinearRegression {
        slope,
        slope_interval: around(slope, (variance / sxx).sqrt()),
        intercept,
        intercept_interval: around(intercept, (variance * (1.0 / n + x * x / sxx)).sqrt()),
        correlation: (syy > 0.0).then(|| sxy / (sxx * syy).sqrt()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table 11-1 of Montgomery and Runger, oxygen purity against hydrocarbons, with the results of section 11-2 and
    /// example 11-4.
    #[test]
    fn the_line_of_the_textbook_is_found() {
        let x = [
            0.99, 1.02, 1.15, 1.29, 1.46, 1.36, 0.87, 1.23, 1.55, 1.40, 1.19, 1.15, 0.98, 1.01, 1.11, 1.20, 1.26, 1.32,
            1.43, 0.95,
        ];
        let y = [
            90.01, 89.05, 91.43, 93.74, 96.73, 94.45, 87.59, 91.77, 99.42, 93.65, 93.54, 92.52, 90.56, 89.54, 89.85,
            90.39, 93.25, 93.41, 94.98, 87.33,
        ];
        let points: Vec<[f64; 2]> = x.into_iter().zip(y).map(|(x, y)| [x, y]).collect();
        let found = linear_regression(&points).unwrap();
        let near = |found: f64, expected: f64| assert!((found - expected).abs() < 2e-3, "{found} {expected}");
        near(found.slope, 14.947);
        near(found.intercept, 74.283);
        near(found.slope_interval.low, 12.181);
        near(found.slope_interval.high, 17.713);
        near(found.correlation.unwrap().powi(2), 0.877);
        assert!(found.intercept_interval.low < 74.283 && found.intercept_interval.high > 74.283);
    }

    #[test]
    fn degenerate_points_have_no_line() {
        assert_eq!(linear_regression(&[[0.0, 1.0], [1.0, 2.0]]), None);
        assert_eq!(linear_regression(&[[1.0, 1.0], [1.0, 2.0], [1.0, 3.0]]), None);
        assert_eq!(linear_regression(&[[1.0, 1.0], [f64::NAN, 2.0], [1.0, 3.0]]), None);
        let level = linear_regression(&[[0.0, 2.0], [1.0, 2.0], [2.0, 2.0]]).unwrap();
        assert_eq!((level.slope, level.intercept, level.correlation), (0.0, 2.0, None));
    }
}
