//! Drawing from a distribution.

use super::{Distribution, Shape, bounded_pareto_quantile};
use offered_base::random::{Purpose, Seed, Stream};
use offered_base::time::Nanos;

impl Distribution {
    /// The think time before step `step` of `session`.
    #[inline]
    pub fn think(&self, seed: Seed, session: u64, step: u32) -> Nanos {
        if self.is_zero() {
            return Nanos::ZERO;
        }
        Nanos::from_secs_f64(self.draw(seed, Purpose::Think, session, step))
    }

    /// The value for this purpose, session and step: the first of their stream.
    #[inline]
    pub fn draw(&self, seed: Seed, purpose: Purpose, session: u64, step: u32) -> f64 {
        match self.shape() {
            // Only one number is drawn, which needs half of the seeding of the stream; inlined here, the compiler removes the other half.
            Shape::Exponential(mean) => mean * seed.at(purpose, session, step).exponential(),
            _ => self.sample(&mut seed.at(purpose, session, step)),
        }
    }

    /// [`Distribution::draw`] for step 0 of every session from `first` on: independent draws take half the time.
    pub fn draw_each(&self, seed: Seed, purpose: Purpose, first: u64, values: &mut [f64]) {
        let streams = (first..).map(|session| seed.at(purpose, session, 0));
        let each = streams.zip(values);
        match self.shape() {
            Shape::Exponential(mean) => each.for_each(|(mut stream, value)| *value = mean * stream.exponential()),
            Shape::Hyperexponential { p, first, second } => {
                each.for_each(|(mut stream, value)| *value = hyperexponential(*p, *first, *second, &mut stream));
            }
            _ => each.for_each(|(mut stream, value)| *value = self.sample(&mut stream)),
        }
    }

    /// Draws one value from the stream.
    #[inline]
    pub fn sample(&self, stream: &mut Stream) -> f64 {
        match self.shape() {
            Shape::Constant(value) => *value,
            Shape::Uniform(low, high) => low + stream.uniform() * (high - low),
            Shape::Exponential(mean) => mean * stream.exponential(),
            Shape::Gamma { shape, scale } => scale * gamma(*shape, stream),
            Shape::Hyperexponential { p, first, second } => hyperexponential(*p, *first, *second, stream),
            Shape::Lognormal { mu, sigma } => libm::exp(mu + sigma * stream.normal()),
            Shape::Weibull { shape, scale } => scale * libm::pow(stream.exponential(), 1.0 / shape),
            Shape::Pareto { min, shape } => min * libm::pow(stream.uniform(), -1.0 / shape),
            Shape::BoundedPareto { min, max, shape } => bounded_pareto_quantile(*min, *max, *shape, stream.uniform()),
            Shape::Poisson(millis) => poisson(*millis, stream) / 1e3,
            Shape::Empirical(e) => e.sample(stream),
            Shape::Truncated(truncated) => truncated.sample(stream),
        }
    }

    /// A sample of the residual of an interval at a random instant (the equilibrium residual life), in seconds.
    ///
    /// Its density is (1 - cdf(x)) / mean. A closed user whose first request waits this long is in the middle of a think time when the run
    /// starts, so N users make a stationary stream from the first instant, not a bunch. The sample is a uniform fraction of a
    /// *length-biased* value, which has a closed form for every distribution here.
    pub fn sample_residual(&self, stream: &mut Stream) -> f64 {
        stream.uniform() * self.length_biased(stream)
    }

    /// A sample of the length of the interval that contains a random instant, in seconds; long intervals are more likely to contain it.
    fn length_biased(&self, stream: &mut Stream) -> f64 {
        match self.shape() {
            Shape::Constant(value) => *value,
            Shape::Uniform(low, high) => libm::sqrt(low * low + stream.uniform() * (high * high - low * low)),
            Shape::Exponential(mean) => mean * gamma(2.0, stream),
            Shape::Gamma { shape, scale } => scale * gamma(shape + 1.0, stream),
            Shape::Hyperexponential { p, first, second } => {
                let in_first = p * first / self.mean();
                let mean = if stream.uniform() < in_first { first } else { second };
                mean * gamma(2.0, stream)
            }
            Shape::Lognormal { mu, sigma } => libm::exp(mu + sigma * sigma + sigma * stream.normal()),
            Shape::Weibull { shape, scale } => scale * libm::pow(gamma(1.0 + 1.0 / shape, stream), 1.0 / shape),
            Shape::Pareto { min, shape } => min * libm::pow(stream.uniform(), -1.0 / (shape - 1.0)),
            Shape::BoundedPareto { min, max, shape } => {
                bounded_pareto_quantile(*min, *max, shape - 1.0, stream.uniform())
            }
            Shape::Poisson(millis) => (1.0 + poisson(*millis, stream)) / 1e3,
            Shape::Empirical(e) => e.length_biased(stream),
            Shape::Truncated(truncated) => truncated.first(|distribution| distribution.length_biased(stream)),
        }
    }
}

#[inline]
fn hyperexponential(p: f64, first: f64, second: f64, stream: &mut Stream) -> f64 {
    let mean = if stream.uniform() < p { first } else { second };
    mean * stream.exponential()
}

/// A gamma number of this shape and scale 1 (Marsaglia and Tsang 2000; below shape 1 by their boost).
fn gamma(shape: f64, stream: &mut Stream) -> f64 {
    if shape < 1.0 {
        return gamma(shape + 1.0, stream) * libm::pow(stream.uniform(), 1.0 / shape);
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / libm::sqrt(9.0 * d);
    loop {
        let x = stream.normal();
        let v = 1.0 + c * x;
        if v <= 0.0 {
            continue;
        }
        let v = v * v * v;
        let u = stream.uniform();
        if libm::log(u) < 0.5 * x * x + d - d * v + d * libm::log(v) {
            return d * v;
        }
    }
}

/// A Poisson count: by multiplication of uniforms below a mean of 10, by transformed rejection (PTRS, Hörmann 1993) above.
pub fn poisson(mean: f64, stream: &mut Stream) -> f64 {
    if mean < 10.0 {
        let limit = libm::exp(-mean);
        let (mut count, mut product) = (0.0, stream.uniform());
        while product > limit {
            count += 1.0;
            product *= stream.uniform();
        }
        return count;
    }
    let b = 0.931 + 2.53 * libm::sqrt(mean);
    let a = -0.059 + 0.024_83 * b;
    let inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    let v_r = 0.9277 - 3.6224 / (b - 2.0);
    loop {
        let u = stream.uniform() - 0.5;
        let v = stream.uniform();
        let us = 0.5 - u.abs();
        let k = libm::floor((2.0 * a / us + b) * u + mean + 0.43);
        if us >= 0.07 && v <= v_r {
            return k;
        }
        if k < 0.0 || (us < 0.013 && v > us) {
            continue;
        }
        let log_ratio = libm::log(v * inverse_alpha / (a / (us * us) + b));
        if log_ratio <= k * libm::log(mean) - mean - libm::lgamma(k + 1.0) {
            return k;
        }
    }
}
