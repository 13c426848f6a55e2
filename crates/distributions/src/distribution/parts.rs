//! Parts of a distribution: its tail, its partial moments and its atoms.

use super::incomplete::{lower_gamma, upper_gamma};
use super::{Distribution, Shape, bounded_pareto_moment, power_integral, weibull_moment};

impl Distribution {
    /// The tail, P(X > x), without loss of digits where it is small.
    pub fn tail(&self, x: f64) -> f64 {
        if x < 0.0 {
            return 1.0;
        }
        match self.shape() {
            Shape::Exponential(mean) => libm::exp(-x / mean),
            Shape::Hyperexponential { p, first, second } => {
                p * libm::exp(-x / first) + (1.0 - p) * libm::exp(-x / second)
            }
            Shape::Gamma { shape, scale } => upper_gamma(*shape, x / scale),
            Shape::Lognormal { mu, sigma } if x > 0.0 => {
                0.5 * libm::erfc((libm::log(x) - mu) / (sigma * std::f64::consts::SQRT_2))
            }
            Shape::Weibull { shape, scale } => libm::exp(-libm::pow(x / scale, *shape)),
            Shape::Pareto { min, shape } if x > *min => libm::pow(min / x, *shape),
            _ => 1.0 - self.cdf(x),
        }
    }

    /// The largest value; `None` if it has no bound.
    pub fn largest(&self) -> Option<f64> {
        match self.shape() {
            Shape::Constant(value) => Some(*value),
            Shape::Uniform(_, high) => Some(*high),
            Shape::BoundedPareto { max, .. } => Some(*max),
            Shape::Empirical(recorded) => recorded.values().last().copied(),
            Shape::Truncated(truncated) => Some(truncated.ends().1),
            Shape::Exponential(_)
            | Shape::Hyperexponential { .. }
            | Shape::Gamma { .. }
            | Shape::Lognormal { .. }
            | Shape::Weibull { .. }
            | Shape::Pareto { .. }
            | Shape::Poisson(_) => None,
        }
    }

    /// The density at x > 0; within the bounds of a truncated distribution; 0 for a discrete distribution.
    pub fn density(&self, x: f64) -> f64 {
        let exponential = |mean: f64| libm::exp(-x / mean) / mean;
        match self.shape() {
            Shape::Uniform(low, high) => 1.0 / (high - low),
            Shape::Exponential(mean) => exponential(*mean),
            Shape::Gamma { shape, scale } => {
                let y = x / scale;
                libm::exp((shape - 1.0) * libm::log(y) - y - libm::lgamma(*shape)) / scale
            }
            Shape::Hyperexponential { p, first, second } => p * exponential(*first) + (1.0 - p) * exponential(*second),
            Shape::Lognormal { mu, sigma } => {
                let z = (libm::log(x) - mu) / sigma;
                libm::exp(-z * z / 2.0) / (x * sigma * libm::sqrt(std::f64::consts::TAU))
            }
            Shape::Weibull { shape, scale } => {
                let y = libm::pow(x / scale, *shape);
                // Far beyond the scale y overflows, and the density is zero to any precision.
                if y < 1e3 { shape / x * y * libm::exp(-y) } else { 0.0 }
            }
            Shape::Pareto { min, shape } => shape / x * libm::pow(min / x, *shape),
            Shape::BoundedPareto { min, max, shape } => {
                shape / x * libm::pow(min / x, *shape) / -libm::expm1(-shape * libm::log(max / min))
            }
            Shape::Truncated(truncated) => truncated.distribution().density(x) / truncated.inside(),
            Shape::Constant(_) | Shape::Poisson(_) | Shape::Empirical(_) => 0.0,
        }
    }

    /// The partial moment E[X^k; X <= x], k = 1 or 2.
    pub fn partial_moment(&self, k: i32, x: f64) -> f64 {
        let power = f64::from(k);
        if x <= 0.0 {
            return 0.0;
        }
        // The share of the whole moment that values up to x make.
        let share = lower_gamma;
        let exponential = |mean: f64| power * libm::pow(mean, power) * share(power + 1.0, x / mean);
        match self.shape() {
            Shape::Uniform(low, high) => {
                let x = x.clamp(*low, *high);
                // (x^(k+1) - low^(k+1)) / (k+1), as a product, in which nothing cancels.
                let whole = if k == 1 { (x + low) / 2.0 } else { (x * x + x * low + low * low) / 3.0 };
                (x - low) / (high - low) * whole
            }
            Shape::Exponential(mean) => exponential(*mean),
            Shape::Hyperexponential { p, first, second } => p * exponential(*first) + (1.0 - p) * exponential(*second),
            Shape::Gamma { shape, scale } => {
                let whole = if k == 1 { shape * scale } else { shape * (shape + 1.0) * scale * scale };
                whole * share(shape + power, x / scale)
            }
            Shape::Lognormal { mu, sigma } => {
                let variance = sigma * sigma;
                let z = (libm::log(x) - mu - power * variance) / sigma;
                let whole = libm::exp(power * mu + power * power * variance / 2.0);
                whole * 0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
            }
            Shape::Weibull { shape, scale } => {
                weibull_moment(*shape, *scale, power) * share(1.0 + power / shape, libm::pow(x / scale, *shape))
            }
            Shape::Pareto { min, shape } => {
                shape * libm::pow(*min, power) * power_integral((x / min).max(1.0), power - shape - 1.0)
            }
            Shape::BoundedPareto { min, max, shape } => {
                libm::pow(*min, power) * power_integral(x.clamp(*min, *max) / min, power - shape - 1.0)
                    / power_integral(max / min, -shape - 1.0)
            }
            Shape::Truncated(truncated) => truncated.moment(k, x),
            Shape::Constant(_) | Shape::Poisson(_) | Shape::Empirical(_) => {
                let atoms = self.atoms().unwrap_or_default();
                atoms.iter().take_while(|(_, at)| *at <= x).map(|(p, at)| p * libm::pow(*at, power)).sum()
            }
        }
    }

    /// P(X' > t), where X' is the residual of an interval X at a random instant: the integral of the tail above t, divided by the mean.
    /// 1 at zero; NaN for the constant zero.
    pub fn residual_tail(&self, t: f64) -> f64 {
        let mean = self.mean();
        ((mean - self.partial_moment(1, t) - t * self.tail(t)) / mean).max(0.0)
    }

    /// E[X^3]; infinite for a Pareto distribution of shape 3 or below.
    pub fn third_moment(&self) -> f64 {
        match self.shape() {
            Shape::Constant(value) => value.powi(3),
            Shape::Uniform(low, high) => (high * high + low * low) * (high + low) / 4.0,
            Shape::Exponential(mean) => 6.0 * mean.powi(3),
            Shape::Gamma { shape, scale } => shape * (shape + 1.0) * (shape + 2.0) * scale.powi(3),
            Shape::Hyperexponential { p, first, second } => 6.0 * (p * first.powi(3) + (1.0 - p) * second.powi(3)),
            Shape::Lognormal { mu, sigma } => libm::exp(3.0 * mu + 4.5 * sigma * sigma),
            Shape::Weibull { shape, scale } => weibull_moment(*shape, *scale, 3.0),
            Shape::Pareto { min, shape } if *shape > 3.0 => shape * min.powi(3) / (shape - 3.0),
            Shape::Pareto { .. } => f64::INFINITY,
            Shape::BoundedPareto { min, max, shape } => bounded_pareto_moment(*min, *max, *shape, 3.0),
            Shape::Truncated(truncated) => truncated.moment(3, f64::MAX),
            Shape::Poisson(m) => (m.powi(3) + 3.0 * m * m + m) / 1e9,
            Shape::Empirical(e) => e.moment(3),
        }
    }

    /// E[X^4]; infinite for a Pareto distribution of shape 4 or below.
    pub fn fourth_moment(&self) -> f64 {
        match self.shape() {
            Shape::Constant(value) => value.powi(4),
            Shape::Uniform(low, high) => (0..=4).map(|k| low.powi(k) * high.powi(4 - k)).sum::<f64>() / 5.0,
            Shape::Exponential(mean) => 24.0 * mean.powi(4),
            Shape::Gamma { shape, scale } => shape * (shape + 1.0) * (shape + 2.0) * (shape + 3.0) * scale.powi(4),
            Shape::Hyperexponential { p, first, second } => 24.0 * (p * first.powi(4) + (1.0 - p) * second.powi(4)),
            Shape::Lognormal { mu, sigma } => libm::exp(4.0 * mu + 8.0 * sigma * sigma),
            Shape::Weibull { shape, scale } => weibull_moment(*shape, *scale, 4.0),
            Shape::Pareto { min, shape } if *shape > 4.0 => shape * min.powi(4) / (shape - 4.0),
            Shape::Pareto { .. } => f64::INFINITY,
            Shape::BoundedPareto { min, max, shape } => bounded_pareto_moment(*min, *max, *shape, 4.0),
            Shape::Truncated(truncated) => truncated.moment(4, f64::MAX),
            Shape::Poisson(m) => (m.powi(4) + 6.0 * m.powi(3) + 7.0 * m * m + m) / 1e12,
            Shape::Empirical(e) => e.moment(4),
        }
    }

    /// The values of a discrete distribution in ascending order, as pairs of probability and value; `None` for a
    /// distribution with a density.
    pub fn atoms(&self) -> Option<Vec<(f64, f64)>> {
        match self.shape() {
            Shape::Constant(value) => Some(vec![(1.0, *value)]),
            Shape::Poisson(millis) => Some(poisson_atoms(*millis)),
            Shape::Empirical(e) => Some(e.atoms()),
            _ => None,
        }
    }
}

/// Probabilities and values (seconds) of a Poisson count of milliseconds, without values rarer than 1e-18.
fn poisson_atoms(mean: f64) -> Vec<(f64, f64)> {
    let reach = 10.0 * libm::sqrt(mean) + 40.0;
    let first = (mean - reach).max(0.0) as u64;
    let atom = |j: u64| {
        let j = j as f64;
        (libm::exp(j * libm::log(mean) - mean - libm::lgamma(j + 1.0)), j / 1e3)
    };
    (first..=(mean + reach) as u64).map(atom).filter(|(p, _)| *p > 1e-18).collect()
}
