//! What a user waits before a request: the sum of all timers there.

use offered_model::Law;

/// A sum of independent times, seconds.
///
/// Sums that have a name stay exact (a constant and a uniform law are a uniform law); any other becomes the gamma law of
/// the same mean and variance, and says so.
#[derive(Clone, Debug, PartialEq, Default)]
pub(crate) struct Delay {
    fixed: f64,
    law: Option<Law>,
    bent: bool,
}

impl Delay {
    /// Always `secs`; negative ones are none.
    pub(crate) fn fixed(secs: f64) -> Self {
        Self { fixed: if secs.is_finite() { secs.max(0.0) } else { 0.0 }, ..Self::default() }
    }

    /// Drawn from `law`.
    pub(crate) fn drawn(law: Law) -> Self {
        Self { law: Some(law), ..Self::default() }
    }

    /// |a normal number|, as `JMeter` draws it, of this mean and standard deviation before the sign is taken away.
    pub(crate) fn folded_normal(mean: f64, sdev: f64) -> Self {
        if sdev <= 0.0 || !sdev.is_finite() {
            return Self::fixed(mean);
        }
        // Leone, Nelson and Nottingham (1961): the moments of the folded normal law.
        let z = mean / sdev;
        let folded = sdev * libm::sqrt(2.0 / std::f64::consts::PI) * libm::exp(-z * z / 2.0)
            + mean * libm::erf(z / std::f64::consts::SQRT_2);
        Self::of_moments(folded, mean * mean + sdev * sdev - folded * folded)
    }

    /// One of these, by weight.
    pub(crate) fn mixed(all: &[(f64, Self)]) -> Self {
        match all {
            [] => Self::default(),
            [(_, first), others @ ..] if others.iter().all(|(_, other)| other == first) => first.clone(),
            _ => {
                let total: f64 = all.iter().map(|(weight, _)| weight).sum();
                let mean = all.iter().map(|(weight, delay)| weight * delay.mean()).sum::<f64>() / total;
                let second = |delay: &Self| delay.variance() + delay.mean() * delay.mean();
                let square = all.iter().map(|(weight, delay)| weight * second(delay)).sum::<f64>() / total;
                Self::of_moments(mean, square - mean * mean)
            }
        }
    }

    fn of_moments(mean: f64, variance: f64) -> Self {
        // To the microsecond and the sixth digit: no timer is better known.
        let mean = libm::round(mean * 1e6) / 1e6;
        let scv = libm::round(variance / (mean * mean) * 1e6) / 1e6;
        match Law::gamma(mean, scv) {
            Ok(law) => Self { law: Some(law), bent: true, fixed: 0.0 },
            Err(_) => Self::fixed(mean),
        }
    }

    /// After this one, another.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        let fixed = self.fixed + other.fixed;
        let bent = self.bent || other.bent;
        match (&self.law, &other.law) {
            (Some(_), Some(_)) => {
                let sum = Self::of_moments(self.mean() + other.mean(), self.variance() + other.variance());
                Self { bent: true, ..sum }
            }
            (law, None) | (None, law) => Self { fixed, law: law.clone(), bent },
        }
    }

    /// Whether nothing is waited.
    pub(crate) fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    /// The mean, seconds.
    pub(crate) fn mean(&self) -> f64 {
        self.fixed + self.law.as_ref().map_or(0.0, Law::mean)
    }

    fn variance(&self) -> f64 {
        self.law.as_ref().map_or(0.0, |law| law.scv() * law.mean() * law.mean())
    }

    /// Its law, and whether it is only alike.
    pub(crate) fn law(&self) -> (Law, bool) {
        let zero = || Law::constant(0.0).expect("zero is a constant");
        let Some(law) = &self.law else { return (Law::constant(self.fixed).unwrap_or_else(|_| zero()), false) };
        if self.fixed == 0.0 {
            return (law.clone(), self.bent);
        }
        if let offered_model::law::Shape::Uniform(low, high) = law.shape() {
            return (Law::uniform(low + self.fixed, high + self.fixed).unwrap_or_else(|_| zero()), false);
        }
        let bent = Self::of_moments(self.mean(), self.variance());
        (bent.law.unwrap_or_else(|| Law::constant(self.mean()).unwrap_or_else(|_| zero())), true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_that_have_a_name_are_exact() {
        let uniform = Delay::drawn(Law::uniform(0.0, 10.0).unwrap());
        assert_eq!(uniform.plus(&Delay::fixed(2.0)).law(), (Law::uniform(2.0, 12.0).unwrap(), false));
        let poisson = Delay::drawn(Law::poisson_millis(0.1).unwrap());
        assert_eq!(poisson.law(), (Law::poisson_millis(0.1).unwrap(), false));
    }

    #[test]
    fn other_sums_keep_mean_and_variance() {
        let poisson = Delay::drawn(Law::poisson_millis(0.1).unwrap()).plus(&Delay::fixed(0.3));
        let (law, bent) = poisson.law();
        assert!(bent && (law.mean() - 0.4).abs() < 1e-9, "{law}");
        assert!((law.scv() - 1e-4 / 0.16).abs() < 1e-6, "{law}");
        let two = Delay::drawn(Law::uniform(0.0, 6.0).unwrap());
        let (law, _) = two.plus(&two).law();
        assert!((law.mean() - 6.0).abs() < 1e-9 && (law.scv() - 6.0 / 36.0).abs() < 1e-5, "{law}");
    }

    #[test]
    fn a_folded_normal_far_from_zero_is_the_normal() {
        let (law, bent) = Delay::folded_normal(5.0, 0.5).law();
        assert!(bent && (law.mean() - 5.0).abs() < 1e-6 && (law.scv() - 0.01).abs() < 1e-6, "{law}");
        let (half, _) = Delay::folded_normal(0.0, 1.0).law();
        assert!((half.mean() - (2.0 / std::f64::consts::PI).sqrt()).abs() < 1e-6, "{half}");
    }
}
