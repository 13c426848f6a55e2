//! Truncated distributions: the values of a distribution that are within two bounds.

use std::f64::consts::SQRT_2;

use super::incomplete::lower_gamma;
use super::{Distribution, Shape, positive};
use offered_base::InvalidValue;
use offered_base::random::Stream;

/// A hyperexponential or lognormal distribution, truncated to the values within two bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Truncated {
    distribution: Distribution,
    low: f64,
    high: f64,
    /// The probability that a value of `distribution` is within the bounds.
    inside: f64,
}

/// Smallest probability of a value within the bounds, and smallest share of the sum of all values; below it, sampling by rejection is slow.
const MIN_INSIDE: f64 = 0.01;
/// Maximum number of rejected values; the probability that all are outside the bounds is 1e-43.
const TRIES: usize = 10_000;

impl Distribution {
    /// This distribution, truncated to the values from `low` to `high`. Truncation changes the mean and the scv;
    /// [`Distribution::mean`] and [`Distribution::scv`] of the result return the new values.
    ///
    /// # Errors
    /// A distribution that is neither hyperexponential nor lognormal; bounds other than 0 <= low < high; less than one hundredth of the values,
    /// or of their sum, within the bounds.
    pub fn truncated(self, low: f64, high: f64) -> Result<Self, InvalidValue> {
        if !matches!(self.shape(), Shape::Hyperexponential { .. } | Shape::Lognormal { .. }) {
            return Err(InvalidValue::new(format!(
                "only hyperexponential and lognormal distributions can have bounds, not {self}"
            )));
        }
        if !(low >= 0.0 && low < high) {
            return Err(InvalidValue::new(format!(
                "bounds must be two values, the first at least zero and below the second, not {low} and {high}"
            )));
        }
        let high = positive("the upper bound", high)?;
        let mean = self.mean();
        let truncated = Truncated { low, high, inside: 1.0, distribution: self };
        let (values, sum) = (truncated.share(0, high), truncated.share(1, high) / mean);
        if !(values >= MIN_INSIDE && sum >= MIN_INSIDE) {
            return Err(InvalidValue::new(format!(
                "the bounds contain {:.2} % of the values of {} and {:.2} % of the sum of the values; each share must be at least 1 %: change the bounds or the mean",
                100.0 * values,
                truncated.distribution,
                100.0 * sum
            )));
        }
        Ok(Self(Shape::Truncated(Truncated { inside: values, ..truncated }.into()), super::Parameters::Shape))
    }
}

impl Truncated {
    /// The distribution without bounds.
    pub fn distribution(&self) -> &Distribution {
        &self.distribution
    }

    /// The bounds (low, high).
    pub fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// The probability that a value of [`Truncated::distribution`] is within the bounds.
    pub fn inside(&self) -> f64 {
        self.inside
    }

    /// E\[X^k; X <= x\].
    pub(super) fn moment(&self, k: i32, x: f64) -> f64 {
        self.share(k, x) / self.inside
    }

    /// E\[X^k; low <= X <= x\] of the distribution without bounds.
    fn share(&self, k: i32, x: f64) -> f64 {
        let (power, x) = (f64::from(k), x.clamp(self.low, self.high));
        let exponential = |mean: f64| {
            let up_to = |x: f64| if x > 0.0 { lower_gamma(power + 1.0, x / mean) } else { 0.0 };
            libm::tgamma(power + 1.0) * libm::pow(mean, power) * (up_to(x) - up_to(self.low))
        };
        let share = match self.distribution.shape() {
            Shape::Hyperexponential { p, first, second } => p * exponential(*first) + (1.0 - p) * exponential(*second),
            Shape::Lognormal { mu, sigma } => {
                let variance = sigma * sigma;
                let up_to = |x: f64| 0.5 * libm::erfc((mu + power * variance - libm::log(x)) / (sigma * SQRT_2));
                libm::exp(power * mu + power * power * variance / 2.0) * (up_to(x) - up_to(self.low))
            }
            other => unreachable!("a distribution of this form is never truncated: {other:?}"),
        };
        share.max(0.0)
    }

    /// The first value of `draw` within the bounds.
    pub(super) fn first(&self, mut draw: impl FnMut(&Distribution) -> f64) -> f64 {
        let mut value = self.low;
        for _ in 0..TRIES {
            value = draw(&self.distribution);
            if (self.low..=self.high).contains(&value) {
                return value;
            }
        }
        value.clamp(self.low, self.high)
    }

    /// A value within the bounds, by rejection.
    pub(super) fn sample(&self, stream: &mut Stream) -> f64 {
        self.first(|distribution| distribution.sample(stream))
    }
}
