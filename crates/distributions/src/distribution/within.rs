//! A distribution within bounds: its values that lie between two ends, and no others.

use std::f64::consts::SQRT_2;

use super::incomplete::lower_gamma;
use super::{Distribution, Shape, positive};
use offered_base::InvalidValue;
use offered_base::random::Stream;

/// A hyperexponential or lognormal distribution of which only the values between two ends are drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Within {
    distribution: Distribution,
    low: f64,
    high: f64,
    /// The share of the values of `distribution` that lie between them.
    inside: f64,
}

/// A value is drawn again until it lies within; this share of the values, and of their sum, does so at least.
const LEAST: f64 = 0.01;
/// After so many none was inside with a probability of 1e-43.
const TRIES: usize = 10_000;

impl Distribution {
    /// This distribution with none of its values below `low` or above `high`. The mean and scv that it was made of are those before; what is
    /// left has others, which it knows.
    ///
    /// # Errors
    /// Any other distribution than a hyperexponential or lognormal one; anything but 0 <= low < high; bounds between which less than a hundredth of
    /// its values lies, or of their sum.
    pub fn within(self, low: f64, high: f64) -> Result<Self, InvalidValue> {
        if !matches!(self.shape(), Shape::Hyperexponential { .. } | Shape::Lognormal { .. }) {
            return Err(InvalidValue::new(format!(
                "hyperexponential and lognormal distributions lie within bounds, not {self}"
            )));
        }
        if !(low >= 0.0 && low < high) {
            return Err(InvalidValue::new(format!(
                "bounds are two values, the first zero or more and below the second, not {low} and {high}"
            )));
        }
        let high = positive("the upper bound", high)?;
        let mean = self.mean();
        let within = Within { low, high, inside: 1.0, distribution: self };
        let (values, sum) = (within.share(0, high), within.share(1, high) / mean);
        if !(values >= LEAST && sum >= LEAST) {
            return Err(InvalidValue::new(format!(
                "{:.2} % of the values of {}, and {:.2} % of their sum, lie within these bounds; it takes 1 % of each: move the bounds or the mean",
                100.0 * values,
                within.distribution,
                100.0 * sum
            )));
        }
        Ok(Self(Shape::Within(Within { inside: values, ..within }.into()), super::Given::Shape))
    }
}

impl Within {
    /// The distribution before.
    pub fn distribution(&self) -> &Distribution {
        &self.distribution
    }

    /// The ends between which all values lie.
    pub fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// The share of the values of [`Within::distribution`] that lie between them.
    pub fn inside(&self) -> f64 {
        self.inside
    }

    /// E\[X^k; X <= x\].
    pub(super) fn moment(&self, k: i32, x: f64) -> f64 {
        self.share(k, x) / self.inside
    }

    /// E\[X^k; low <= X <= x\] of the distribution before.
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
            other => unreachable!("no distribution of this form lies within bounds: {other:?}"),
        };
        share.max(0.0)
    }

    /// The first value of `draw` that lies within.
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

    /// One value.
    pub(super) fn sample(&self, stream: &mut Stream) -> f64 {
        self.first(|distribution| distribution.sample(stream))
    }
}
