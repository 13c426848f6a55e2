//! Repeated confidence intervals, for data that are evaluated several times while they are collected.
//!
//! If an ordinary 95 % interval is computed after every batch until it gives an answer, it misses the true value far
//! more often than one time in twenty. A repeated interval is wider by a constant, so that all intervals of one
//! sequence contain the truth together with a probability of 95 %, whatever rule ends the sequence (Jennison and
//! Turnbull, Group Sequential Methods with Applications to Clinical Trials, 1999, chapter 9).
//!
//! The constant is Pocock's: the same for every look (section 2.4), computed by the recursion of Armitage, McPherson and Rowe (J. R. Statist. Soc.
//! A 132, 1969; section 19.2 of the book). With an unknown variance, the normal constant is turned into a significance level, and that into a
//! quantile of Student's t (section 4.4).

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use crate::steady_state::{Estimate, variance_of_mean};

/// Repeated 95 % confidence intervals at planned looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RepeatedIntervals {
    /// The probability that an interval of one look misses the truth, two-sided; smaller than 5 %.
    level: f64,
}

/// The probability that one of the intervals misses the truth.
const ALPHA: f64 = 0.05;

impl RepeatedIntervals {
    /// Intervals for looks at these amounts of information, ascending: numbers of observations, or reciprocals of
    /// variances.
    pub fn new(looks: &[f64]) -> Self {
        let normal = Normal::standard();
        Self { level: 2.0 * normal.cdf(-pocock_constant(looks, ALPHA)) }
    }

    /// The mean of independent values with its interval; infinite with fewer than two.
    pub fn mean(&self, values: &[f64]) -> Estimate {
        let (mean, variance) = mean_and_its_variance(values);
        self.around(mean, variance, values.len() as f64 - 1.0)
    }

    /// The mean of `values` minus that of `others`, two independent samples, with its interval by Welch's t; infinite with fewer than two of either.
    pub fn difference(&self, values: &[f64], others: &[f64]) -> Estimate {
        let ((one, of_one), (other, of_other)) = (mean_and_its_variance(values), mean_and_its_variance(others));
        let part = |variance: f64, n: usize| variance * variance / (n as f64 - 1.0);
        let freedom = (of_one + of_other).powi(2) / (part(of_one, values.len()) + part(of_other, others.len()));
        // Without any variance.
        let fewest = values.len().min(others.len()) as f64 - 1.0;
        self.around(one - other, of_one + of_other, if freedom.is_finite() { freedom } else { fewest })
    }

    fn around(self, value: f64, variance: f64, freedom: f64) -> Estimate {
        let t = StudentsT::new(0.0, 1.0, freedom).map_or(f64::INFINITY, |t| t.inverse_cdf(1.0 - self.level / 2.0));
        let half = t * variance.sqrt();
        let half = if half.is_finite() { half } else { f64::INFINITY };
        Estimate { value, low: value - half, high: value + half }
    }
}

/// The mean and the variance of the mean; the latter is NaN for fewer than two values.
fn mean_and_its_variance(values: &[f64]) -> (f64, f64) {
    (values.iter().sum::<f64>() / values.len() as f64, variance_of_mean(values))
}

/// Steps of the integration per standard deviation of an increment.
const STEPS: f64 = 6.0;
/// Looks with less than this ratio of information count as one: their intervals are almost the same.
const CLOSE: f64 = 1.04;

/// The constant that no standardised sum at these amounts of information exceeds in absolute value, with probability 1
/// - `alpha`.
fn pocock_constant(looks: &[f64], alpha: f64) -> f64 {
    let mut distinct: Vec<f64> = Vec::new();
    for look in looks {
        if distinct.last().is_none_or(|last| *look >= CLOSE * last) {
            distinct.push(*look);
        }
    }
    let looks = &distinct[..];
    // Between the quantile of one look and that of independent looks.
    let quantile = |alpha: f64| Normal::standard().inverse_cdf(1.0 - alpha / 2.0);
    let (mut low, mut high) = (quantile(alpha), quantile(alpha / looks.len().max(1) as f64));
    while high - low > 1e-4 {
        let middle = low.midpoint(high);
        if probability_inside(looks, middle) < 1.0 - alpha { low = middle } else { high = middle }
    }
    low.midpoint(high)
}

/// The probability that Brownian motion is within `constant` times the square root of the time at all these times.
fn probability_inside(times: &[f64], constant: f64) -> f64 {
    let Some(first) = times.first() else { return 1.0 };
    // The smallest step between two times decides how finely densities are integrated.
    let least = times.windows(2).map(|pair| pair[1] - pair[0]).fold(*first, f64::min).sqrt();
    // The density at the last time, on the paths that were inside so far.
    let mut density = Grid::new(constant * first.sqrt(), least, |x| bell(x, *first));
    for pair in times.windows(2) {
        let step = pair[1] - pair[0];
        density = Grid::new(constant * pair[1].sqrt(), least, |x| density.integral(|u| bell(x - u, step)));
    }
    density.integral(|_| 1.0)
}

/// The density of a normal distribution with this variance.
fn bell(x: f64, variance: f64) -> f64 {
    (-x * x / (2.0 * variance)).exp() / (2.0 * std::f64::consts::PI * variance).sqrt()
}

/// A function at equidistant points from -`end` to `end`.
struct Grid {
    end: f64,
    values: Vec<f64>,
}

impl Grid {
    /// `scale` is the distance over which the function changes.
    fn new(end: f64, scale: f64, function: impl Fn(f64) -> f64) -> Self {
        let steps = ((STEPS * 2.0 * end / scale) as usize).max(20).next_multiple_of(2);
        let at = |i: usize| -end + 2.0 * end * i as f64 / steps as f64;
        Self { end, values: (0..=steps).map(|i| function(at(i))).collect() }
    }

    /// The integral of the function times `other`, by Simpson's rule.
    fn integral(&self, other: impl Fn(f64) -> f64) -> f64 {
        let steps = self.values.len() - 1;
        let width = 2.0 * self.end / steps as f64;
        let weight = |i: usize| match i {
            0 => 1.0,
            i if i == steps => 1.0,
            i if i % 2 == 1 => 4.0,
            _ => 2.0,
        };
        let sum: f64 =
            self.values.iter().enumerate().map(|(i, y)| weight(i) * y * other(-self.end + width * i as f64)).sum();
        sum * width / 3.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_base::{Purpose, Seed};

    #[test]
    fn the_constants_are_those_of_pocock() {
        // Jennison and Turnbull (1999), table 2.1, alpha = 0.05.
        for (looks, constant) in [(1, 1.960), (2, 2.178), (3, 2.289), (5, 2.413), (10, 2.555), (20, 2.672)] {
            let times: Vec<f64> = (1..=looks).map(f64::from).collect();
            let found = pocock_constant(&times, 0.05);
            assert!((found - constant).abs() < 2e-3, "{looks} looks: {found}");
        }
        // Fewer looks at the same times need less, and looks that are close together hardly count.
        let (few, many) = (pocock_constant(&[4.0, 20.0], 0.05), pocock_constant(&[4.0, 5.0, 6.0, 20.0], 0.05));
        assert!(1.96 < few && few < many && many < 2.361, "{few} {many}");
        assert!((pocock_constant(&[10.0, 10.001], 0.05) - 1.96).abs() < 0.02);
    }

    /// Ten looks, stopped as soon as the interval excludes zero, which is the truth: at most one sequence in twenty is wrong.
    #[test]
    fn a_sequence_that_stops_when_it_decides_is_wrong_one_time_in_twenty() {
        let looks: Vec<usize> = (4..=22).step_by(2).collect();
        let intervals = RepeatedIntervals::new(&looks.iter().map(|n| *n as f64).collect::<Vec<_>>());
        let once = RepeatedIntervals::new(&[22.0]);
        let mut normal = Seed(20_261_126).stream(Purpose::Judge);
        let mut draw = || (0..12).map(|_| normal.uniform()).sum::<f64>() - 6.0;
        let (mut wrong, mut naive) = (0, 0);
        for _ in 0..2000 {
            let values: Vec<f64> = (0..22).map(|_| draw()).collect();
            let excludes = |of: Estimate| of.low > 0.0 || of.high < 0.0;
            wrong += usize::from(looks.iter().any(|n| excludes(intervals.mean(&values[..*n]))));
            naive += usize::from(looks.iter().any(|n| excludes(once.mean(&values[..*n]))));
        }
        assert!((60..=130).contains(&wrong), "{wrong} of 2000");
        assert!(naive > 250, "{naive} of 2000: looking ten times at ordinary intervals is wrong more often");
    }

    #[test]
    fn few_values_have_an_infinite_interval() {
        let intervals = RepeatedIntervals::new(&[4.0, 8.0]);
        assert_eq!(intervals.mean(&[1.0]).half_width(), f64::INFINITY);
        assert_eq!(intervals.difference(&[1.0, 2.0], &[1.0]).half_width(), f64::INFINITY);
        let same = intervals.difference(&[3.0, 3.0, 3.0], &[1.0, 1.0]);
        assert_eq!((same.value, same.low, same.high), (2.0, 2.0, 2.0));
        let welch = intervals.difference(&[1.0, 2.0, 3.0, 4.0], &[1.0, 2.0, 3.0, 4.0]);
        assert!(welch.value == 0.0 && welch.low < -2.0 && welch.high > 2.0, "{welch:?}");
    }
}
