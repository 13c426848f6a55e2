//! The wait before a request: the sum of all timers that apply.

use offered_distributions::Distribution;

/// A sum of independent times in seconds.
///
/// A constant plus a uniform distribution stays exact. Any other sum becomes the gamma distribution with the same mean
/// and variance, and is marked as approximate.
#[derive(Clone, Debug, PartialEq, Default)]
pub(crate) struct Delay {
    constant: f64,
    distribution: Option<Distribution>,
    approximate: bool,
}

impl Delay {
    /// A constant time; negative values count as zero.
    pub(crate) fn constant(secs: f64) -> Self {
        Self { constant: if secs.is_finite() { secs.max(0.0) } else { 0.0 }, ..Self::default() }
    }

    /// Drawn from `distribution`.
    pub(crate) fn from_distribution(distribution: Distribution) -> Self {
        Self { distribution: Some(distribution), ..Self::default() }
    }

    /// The absolute value of a normal variable with this mean and standard deviation, as `JMeter` draws it,
    /// approximated by a gamma distribution.
    pub(crate) fn folded_normal(mean: f64, sdev: f64) -> Self {
        if sdev <= 0.0 || !sdev.is_finite() {
            return Self::constant(mean);
        }
        // Leone, Nelson and Nottingham (1961): moments of the folded normal distribution.
        let z = mean / sdev;
        let folded = sdev * libm::sqrt(2.0 / std::f64::consts::PI) * libm::exp(-z * z / 2.0)
            + mean * libm::erf(z / std::f64::consts::SQRT_2);
        Self::from_moments(folded, mean * mean + sdev * sdev - folded * folded)
    }

    /// A mixture of delays by weight. Different delays become a gamma distribution with the mean and variance of the
    /// mixture.
    pub(crate) fn mixture(all: &[(f64, Self)]) -> Self {
        match all {
            [] => Self::default(),
            [(_, first), others @ ..] if others.iter().all(|(_, other)| other == first) => first.clone(),
            _ => {
                let total: f64 = all.iter().map(|(weight, _)| weight).sum();
                let mean = all.iter().map(|(weight, delay)| weight * delay.mean()).sum::<f64>() / total;
                let second = |delay: &Self| delay.variance() + delay.mean() * delay.mean();
                let square = all.iter().map(|(weight, delay)| weight * second(delay)).sum::<f64>() / total;
                Self::from_moments(mean, square - mean * mean)
            }
        }
    }

    fn from_moments(mean: f64, variance: f64) -> Self {
        // Rounded to a microsecond and six digits, which is finer than any timer.
        let mean = libm::round(mean * 1e6) / 1e6;
        let scv = libm::round(variance / (mean * mean) * 1e6) / 1e6;
        match Distribution::gamma(mean, scv) {
            Ok(distribution) => Self { distribution: Some(distribution), approximate: true, constant: 0.0 },
            Err(_) => Self::constant(mean),
        }
    }

    /// The sum of this delay and another.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        let constant = self.constant + other.constant;
        let approximate = self.approximate || other.approximate;
        match (&self.distribution, &other.distribution) {
            (Some(_), Some(_)) => {
                let sum = Self::from_moments(self.mean() + other.mean(), self.variance() + other.variance());
                Self { approximate: true, ..sum }
            }
            (distribution, None) | (None, distribution) => {
                Self { constant, distribution: distribution.clone(), approximate }
            }
        }
    }

    /// Whether the delay is always zero.
    pub(crate) fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    /// Mean in seconds.
    pub(crate) fn mean(&self) -> f64 {
        self.constant + self.distribution.as_ref().map_or(0.0, Distribution::mean)
    }

    fn variance(&self) -> f64 {
        self.distribution
            .as_ref()
            .map_or(0.0, |distribution| distribution.scv() * distribution.mean() * distribution.mean())
    }

    /// The distribution, and whether it is an approximation.
    pub(crate) fn distribution(&self) -> (Distribution, bool) {
        let zero = || Distribution::constant(0.0).expect("zero is a constant");
        let Some(distribution) = &self.distribution else {
            return (Distribution::constant(self.constant).unwrap_or_else(|_| zero()), false);
        };
        if self.constant == 0.0 {
            return (distribution.clone(), self.approximate);
        }
        if let offered_distributions::Shape::Uniform(low, high) = distribution.shape() {
            return (
                Distribution::uniform(low + self.constant, high + self.constant).unwrap_or_else(|_| zero()),
                false,
            );
        }
        let approximate = Self::from_moments(self.mean(), self.variance());
        (
            approximate.distribution.unwrap_or_else(|| Distribution::constant(self.mean()).unwrap_or_else(|_| zero())),
            true,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_constant_and_uniform_are_exact() {
        let uniform = Delay::from_distribution(Distribution::uniform(0.0, 10.0).unwrap());
        assert_eq!(
            uniform.plus(&Delay::constant(2.0)).distribution(),
            (Distribution::uniform(2.0, 12.0).unwrap(), false)
        );
        let poisson = Delay::from_distribution(Distribution::poisson_millis(0.1).unwrap());
        assert_eq!(poisson.distribution(), (Distribution::poisson_millis(0.1).unwrap(), false));
    }

    #[test]
    fn other_sums_keep_mean_and_variance() {
        let poisson = Delay::from_distribution(Distribution::poisson_millis(0.1).unwrap()).plus(&Delay::constant(0.3));
        let (distribution, approximate) = poisson.distribution();
        assert!(approximate && (distribution.mean() - 0.4).abs() < 1e-9, "{distribution}");
        assert!((distribution.scv() - 1e-4 / 0.16).abs() < 1e-6, "{distribution}");
        let two = Delay::from_distribution(Distribution::uniform(0.0, 6.0).unwrap());
        let (distribution, _) = two.plus(&two).distribution();
        assert!(
            (distribution.mean() - 6.0).abs() < 1e-9 && (distribution.scv() - 6.0 / 36.0).abs() < 1e-5,
            "{distribution}"
        );
    }

    #[test]
    fn folded_normal_far_from_zero_has_the_moments_of_the_normal() {
        let (distribution, approximate) = Delay::folded_normal(5.0, 0.5).distribution();
        assert!(
            approximate && (distribution.mean() - 5.0).abs() < 1e-6 && (distribution.scv() - 0.01).abs() < 1e-6,
            "{distribution}"
        );
        let (half, _) = Delay::folded_normal(0.0, 1.0).distribution();
        assert!((half.mean() - (2.0 / std::f64::consts::PI).sqrt()).abs() < 1e-6, "{half}");
    }
}
