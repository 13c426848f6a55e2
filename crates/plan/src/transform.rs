//! Laplace transforms of service times, and tails and percentiles of a time with a known transform.
//!
//! Source: Abate and Whitt 1995, algorithm EULER. The error is below 1e-9 where the tail is smooth. Where it is not, two
//! sums of different length differ, and [`percentiles`] returns `None`.

use num_complex::Complex64;
use offered_distributions::{Distribution, Shape};

use crate::moments::points;
use crate::percentile::Percentiles;

/// Largest number of points of a service time in a busy period: its transform is a fixed point.
const MAX_BUSY_POINTS: usize = 64;
/// The discretisation error of an inversion is e^-A.
const A: f64 = 22.0;
/// Relative difference of two sums above which a percentile is not known.
const TOLERANCE: f64 = 1e-6;

/// The Laplace transform E[e^(-sS)] of a mixture of distributions, for Re s >= 0.
pub(crate) struct Laplace(Vec<(f64, Part)>);

enum Part {
    Exponential(f64),
    Uniform(f64, f64),
    Gamma {
        shape: f64,
        scale: f64,
    },
    /// Probabilities and sizes: the values of a discrete distribution, or the points of a quadrature.
    Points(Vec<(f64, f64)>),
}

impl Laplace {
    /// The transform of the mixture of (share, distribution). `None` for a distribution that no quadrature resolves.
    pub(crate) fn of<'a>(mixture: impl IntoIterator<Item = (f64, &'a Distribution)>) -> Option<Self> {
        let parts = mixture.into_iter().map(|(share, distribution)| match distribution.shape() {
            Shape::Hyperexponential { p, first, second } => {
                Some(vec![(share * p, Part::Exponential(*first)), (share * (1.0 - p), Part::Exponential(*second))])
            }
            _ => Some(vec![(share, Part::of(distribution)?)]),
        });
        Some(Self(parts.collect::<Option<Vec<_>>>()?.into_iter().flatten().collect()))
    }

    /// E[e^(-sS)].
    pub(crate) fn at(&self, s: Complex64) -> Complex64 {
        self.0.iter().map(|(share, part)| part.at(s) * *share).sum()
    }

    /// E[e^(-i s S)] for i = 1 to `count`, for a real s > 0.
    pub(crate) fn at_multiples(&self, s: f64, count: usize) -> Vec<f64> {
        let mut values = vec![0.0; count];
        for (share, part) in &self.0 {
            // Powers are faster than exponentials.
            if let Part::Points(points) = part {
                for (probability, size) in points {
                    let (factor, mut power) = (libm::exp(-s * size), share * probability);
                    for value in &mut values {
                        power *= factor;
                        if power < 1e-300 {
                            break;
                        }
                        *value += power;
                    }
                }
            } else {
                for (i, value) in (1u32..).zip(&mut values) {
                    *value += share * part.at(Complex64::new(f64::from(i) * s, 0.0)).re;
                }
            }
        }
        values
    }

    /// Whether [`busy_period`] takes reasonable time.
    pub(crate) fn is_quick(&self) -> bool {
        self.0.iter().all(|(_, part)| !matches!(part, Part::Points(points) if points.len() > MAX_BUSY_POINTS))
    }
}

impl Part {
    fn of(distribution: &Distribution) -> Option<Self> {
        Some(match distribution.shape() {
            Shape::Exponential(mean) => Self::Exponential(*mean),
            Shape::Uniform(low, high) => Self::Uniform(*low, *high),
            Shape::Gamma { shape, scale } => Self::Gamma { shape: *shape, scale: *scale },
            _ => Self::Points(points(distribution)?),
        })
    }

    fn at(&self, s: Complex64) -> Complex64 {
        match self {
            Self::Exponential(mean) => (1.0 + s * *mean).inv(),
            Self::Uniform(low, high) => ((-s * *low).exp() - (-s * *high).exp()) / (s * (high - low)),
            Self::Gamma { shape, scale } => (1.0 + s * *scale).powf(-shape),
            Self::Points(points) => points.iter().map(|(share, size)| (-s * *size).exp() * *share).sum(),
        }
    }
}

/// The transform of a busy period that starts with one request: the root of Theta = S*(s + lambda - lambda Theta).
///
/// Source: Kleinrock 1975, section 5.8. The iteration from 0 increases to the root; Aitken's extrapolation shortens it.
pub(crate) fn busy_period(service: &Laplace, rate: f64, s: Complex64) -> Complex64 {
    let step = |theta: Complex64| service.at(s + rate * (1.0 - theta));
    let mut theta = Complex64::new(0.0, 0.0);
    for _ in 0..10_000 {
        let first = step(theta);
        let second = step(first);
        let bend = second - 2.0 * first + theta;
        if (second - first).norm() < 1e-14 || bend.norm() < 1e-300 {
            return second;
        }
        let guess = theta - (first - theta) * (first - theta) / bend;
        // The transform of a probability distribution is at most 1.
        theta = if guess.norm() <= 1.0 { guess } else { second };
    }
    theta
}

/// A time T: the tail of a known part, and the transform of the rest.
pub(crate) struct Tail<'a> {
    /// P(T > t and T is of the known part).
    pub(crate) known: Box<dyn Fn(f64) -> f64 + 'a>,
    /// Probability of the rest.
    pub(crate) rest: f64,
    /// E[e^(-sT)] given the rest.
    pub(crate) transform: Box<dyn Fn(Complex64) -> Complex64 + 'a>,
}

/// Number of terms of the series, and of its last partial sums that are averaged.
#[derive(Clone, Copy)]
struct Terms {
    summed: u32,
    averaged: u32,
}

const FEW: Terms = Terms { summed: 40, averaged: 18 };
const MANY: Terms = Terms { summed: 70, averaged: 30 };

impl<'a> Tail<'a> {
    /// A time, from its transform alone.
    pub(crate) fn of(transform: impl Fn(Complex64) -> Complex64 + 'a) -> Self {
        Self { known: Box::new(|_| 0.0), rest: 1.0, transform: Box::new(transform) }
    }

    /// P(T > t).
    #[cfg(test)]
    pub(crate) fn at(&self, t: f64) -> f64 {
        self.summed(t, MANY)
    }

    fn summed(&self, t: f64, terms: Terms) -> f64 {
        if t <= 0.0 {
            return 1.0;
        }
        let value = |k: u32| {
            let s = Complex64::new(A, 2.0 * f64::from(k) * std::f64::consts::PI) / (2.0 * t);
            let tail = ((1.0 - (self.transform)(s)) / s).re;
            if k.is_multiple_of(2) { tail } else { -tail }
        };
        let mut sum = value(0) / 2.0;
        for k in 1..=terms.summed {
            sum += value(k);
        }
        // The mean of the last partial sums with binomial weights.
        let n = terms.averaged;
        let (mut mean, mut weight) = (0.0, libm::pow(0.5, f64::from(n)));
        for j in 0..=n {
            mean += weight * sum;
            weight *= f64::from(n - j) / f64::from(j + 1);
            sum += value(terms.summed + 1 + j);
        }
        (self.known)(t) + self.rest * libm::exp(A / 2.0) / t * mean
    }
}

/// Percentiles of the mixture of (share, time) with mean `mean`; `None` where they are not known to 1e-6.
pub(crate) fn percentiles(mean: f64, mixture: &[(f64, &Tail)]) -> Option<Percentiles> {
    let tail = |t: f64, terms: Terms| mixture.iter().map(|(share, time)| share * time.summed(t, terms)).sum::<f64>();
    let found = Percentiles::to(mean, 1e-8, |t| tail(t, FEW));
    let is_known = |(t, above): (f64, f64)| {
        let [few, many] = [FEW, MANY].map(|terms| tail(t, terms));
        (few - many).abs() <= TOLERANCE * above && (many - above).abs() <= TOLERANCE * above
    };
    let all = [(found.p50, 0.5), (found.p90, 0.1), (found.p95, 0.05), (found.p99, 0.01)];
    all.into_iter().all(is_known).then_some(found)
}
