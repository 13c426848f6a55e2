//! Partial moments of a distribution and expectations over its sizes, for the size-based policies.

use offered_distributions::Distribution;
use offered_distributions::Shape;
use offered_distributions::integral::integral;

/// [`integral`] does not evaluate below this fraction of the mean size: exp(-pi/2 sinh 6.5).
const QUADRATURE_FLOOR: f64 = 1.33e-227;

/// Partial moments of the distribution of sizes at one size x.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    /// x.
    pub(crate) x: f64,
    /// E\[S; S < x\].
    pub(crate) mean_below: f64,
    /// E[S; S <= x].
    pub(crate) mean_upto: f64,
    /// E[S^2; S < x].
    pub(crate) second_below: f64,
    /// E[S^2; S <= x].
    pub(crate) second_upto: f64,
    /// P(S > x).
    pub(crate) longer: f64,
}

/// The distribution of sizes: a density, or a list of atoms.
pub(crate) enum Sizes<'a> {
    Density(&'a Distribution),
    /// Points in ascending order with their probabilities.
    Atoms(Vec<(f64, Point)>),
}

impl<'a> Sizes<'a> {
    pub(crate) fn of(distribution: &'a Distribution) -> Self {
        let Some(atoms) = distribution.atoms() else { return Self::Density(distribution) };
        let (mut mean, mut second, mut longer) = (0.0, 0.0, 1.0);
        let point = |(p, x): (f64, f64)| {
            let (mean_below, second_below) = (mean, second);
            mean += p * x;
            second += p * x * x;
            longer = f64::max(longer - p, 0.0);
            (p, Point { x, mean_below, mean_upto: mean, second_below, second_upto: second, longer })
        };
        Self::Atoms(atoms.into_iter().map(point).collect())
    }

    /// Whether the quadrature integrates the density to 1. It does not where all sizes lie so close together that the
    /// quadrature steps over them.
    pub(crate) fn are_resolved(&self) -> bool {
        (self.expect(|_| 1.0) - 1.0).abs() < 1e-5
    }

    /// E[g(S)].
    pub(crate) fn expect(&self, g: impl Fn(Point) -> f64) -> f64 {
        match self {
            Self::Atoms(atoms) => atoms.iter().map(|(p, at)| p * g(*at)).sum(),
            Self::Density(distribution) => {
                let seen = over_sizes(distribution, |x| {
                    let density = density(distribution, x);
                    if density == 0.0 { 0.0 } else { density * g(point(distribution, x)) }
                });
                // A gamma or Weibull distribution with a small shape has much probability below all points of the
                // quadrature; it counts as size 0.
                let zeros = distribution.cdf(distribution.mean() * QUADRATURE_FLOOR);
                if zeros > 0.0 { seen + zeros * g(point(distribution, 0.0)) } else { seen }
            }
        }
    }

    /// Integral of g over all x > 0. g must be constant between atoms and zero beyond the largest size.
    pub(crate) fn integral(&self, g: impl Fn(Point) -> f64) -> f64 {
        let below =
            |x: f64| Point { x, mean_below: 0.0, mean_upto: 0.0, second_below: 0.0, second_upto: 0.0, longer: 1.0 };
        match self {
            Self::Atoms(atoms) => {
                let points: Vec<Point> = std::iter::once(below(0.0)).chain(atoms.iter().map(|(_, at)| *at)).collect();
                points.windows(2).map(|pair| (pair[1].x - pair[0].x) * g(pair[0])).sum()
            }
            Self::Density(distribution) => {
                let least = support(distribution).0;
                least * g(below(least)) + over_sizes(distribution, |x| g(point(distribution, x)))
            }
        }
    }
}

fn point(distribution: &Distribution, x: f64) -> Point {
    let (mean, second) = (distribution.partial_moment(1, x), distribution.partial_moment(2, x));
    Point {
        x,
        mean_below: mean,
        mean_upto: mean,
        second_below: second,
        second_upto: second,
        longer: distribution.tail(x),
    }
}

/// Integral of `f` over the support of a density, on a logarithmic scale where it spans decades.
fn over_sizes(distribution: &Distribution, f: impl Fn(f64) -> f64) -> f64 {
    let (least, most) = support(distribution);
    if least > 0.0 && most > 100.0 * least {
        let log = |y: f64| {
            let x = libm::exp(y);
            if x.is_finite() { f(x) * x } else { 0.0 }
        };
        integral(log, libm::log(least), libm::log(most), 1.0)
    } else {
        integral(f, least, most, distribution.mean())
    }
}

/// The smallest and the largest size.
fn support(distribution: &Distribution) -> (f64, f64) {
    match distribution.shape() {
        Shape::Uniform(low, high) => (*low, *high),
        Shape::Pareto { min, .. } => (*min, f64::INFINITY),
        Shape::BoundedPareto { min, max, .. } => (*min, *max),
        Shape::Truncated(truncated) => truncated.ends(),
        _ => (0.0, f64::INFINITY),
    }
}

fn density(distribution: &Distribution, x: f64) -> f64 {
    let exponential = |mean: f64| libm::exp(-x / mean) / mean;
    match distribution.shape() {
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
        Shape::Truncated(truncated) => density(truncated.distribution(), x) / truncated.inside(),
        Shape::Constant(_) | Shape::Poisson(_) | Shape::Empirical(_) => 0.0,
    }
}
