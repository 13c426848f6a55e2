//! Partial moments of a law, and means over its sizes: what the size-based policies and superpositions are made of.

use offered_model::Law;
use offered_model::law::Shape;
use statrs::function::gamma::gamma_lr;

use crate::integrate::integral;

/// What a policy may ask about a size x of a law F.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    /// x.
    pub(crate) x: f64,
    /// E[S; S < x].
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

/// The sizes of a law: a density, or a list of atoms.
pub(crate) enum Sizes<'a> {
    Density(&'a Law),
    /// Points in ascending order with their probabilities.
    Atoms(Vec<(f64, Point)>),
}

impl<'a> Sizes<'a> {
    pub(crate) fn of(law: &'a Law) -> Self {
        let atoms = match law.shape() {
            Shape::Constant(value) => vec![(1.0, *value)],
            Shape::Poisson(millis) => poisson_atoms(*millis),
            Shape::Empirical(recorded) => {
                let share = 1.0 / recorded.values().len() as f64;
                let mut atoms: Vec<(f64, f64)> = vec![];
                for x in recorded.values() {
                    match atoms.last_mut() {
                        Some((p, last)) if last == x => *p += share,
                        _ => atoms.push((share, *x)),
                    }
                }
                atoms
            }
            _ => return Self::Density(law),
        };
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

    /// E[g(S)].
    pub(crate) fn expect(&self, g: impl Fn(Point) -> f64) -> f64 {
        match self {
            Self::Atoms(atoms) => atoms.iter().map(|(p, at)| p * g(*at)).sum(),
            Self::Density(law) => over_sizes(law, |x| {
                let density = density(law, x);
                if density == 0.0 { 0.0 } else { density * g(point(law, x)) }
            }),
        }
    }

    /// The integral of g over all x > 0, where g is constant between atoms and vanishes beyond the largest size.
    pub(crate) fn integral(&self, g: impl Fn(Point) -> f64) -> f64 {
        let below =
            |x: f64| Point { x, mean_below: 0.0, mean_upto: 0.0, second_below: 0.0, second_upto: 0.0, longer: 1.0 };
        match self {
            Self::Atoms(atoms) => {
                let points: Vec<Point> = std::iter::once(below(0.0)).chain(atoms.iter().map(|(_, at)| *at)).collect();
                points.windows(2).map(|pair| (pair[1].x - pair[0].x) * g(pair[0])).sum()
            }
            Self::Density(law) => {
                let least = support(law).0;
                least * g(below(least)) + over_sizes(law, |x| g(point(law, x)))
            }
        }
    }
}

fn point(law: &Law, x: f64) -> Point {
    let (mean, second) = (partial(law, 1, x), partial(law, 2, x));
    Point { x, mean_below: mean, mean_upto: mean, second_below: second, second_upto: second, longer: longer(law, x) }
}

/// The integral of `f` over the sizes that a density allows, on a logarithmic scale where they span decades.
fn over_sizes(law: &Law, f: impl Fn(f64) -> f64) -> f64 {
    let (least, most) = support(law);
    if least > 0.0 && most > 100.0 * least {
        let log = |y: f64| {
            let x = libm::exp(y);
            if x.is_finite() { f(x) * x } else { 0.0 }
        };
        integral(log, libm::log(least), libm::log(most), 1.0)
    } else {
        integral(f, least, most, law.mean())
    }
}

/// The smallest and the largest size.
fn support(law: &Law) -> (f64, f64) {
    match law.shape() {
        Shape::Uniform(low, high) => (*low, *high),
        Shape::Pareto { min, .. } => (*min, f64::INFINITY),
        Shape::BoundedPareto { min, max, .. } => (*min, *max),
        _ => (0.0, f64::INFINITY),
    }
}

/// P(S > x), with all its digits where it is small.
pub(crate) fn longer(law: &Law, x: f64) -> f64 {
    match law.shape() {
        Shape::Exponential(mean) => libm::exp(-x / mean),
        Shape::Hyperexponential { p, first, second } => p * libm::exp(-x / first) + (1.0 - p) * libm::exp(-x / second),
        Shape::Weibull { shape, scale } => libm::exp(-libm::pow(x / scale, *shape)),
        Shape::Pareto { min, shape } if x > *min => libm::pow(min / x, *shape),
        _ => 1.0 - law.cdf(x),
    }
}

fn density(law: &Law, x: f64) -> f64 {
    let exponential = |mean: f64| libm::exp(-x / mean) / mean;
    match law.shape() {
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
            shape / x * y * libm::exp(-y)
        }
        Shape::Pareto { min, shape } => shape / x * libm::pow(min / x, *shape),
        Shape::BoundedPareto { min, max, shape } => {
            shape / x * libm::pow(min / x, *shape) / (1.0 - libm::pow(min / max, *shape))
        }
        Shape::Constant(_) | Shape::Poisson(_) | Shape::Empirical(_) => 0.0,
    }
}

/// E[S^k; S <= x], k = 1, 2, in closed form (atoms are summed by [`Sizes`] instead).
pub(crate) fn partial(law: &Law, k: i32, x: f64) -> f64 {
    let power = f64::from(k);
    let share = |shape: f64, y: f64| if y > 0.0 { gamma_lr(shape, y) } else { 0.0 };
    let exponential = |mean: f64| f64::from(k) * libm::pow(mean, power) * share(power + 1.0, x / mean);
    match law.shape() {
        Shape::Uniform(low, high) => {
            let n = power + 1.0;
            (libm::pow(x.clamp(*low, *high), n) - libm::pow(*low, n)) / (n * (high - low))
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
            libm::exp(power * mu + power * power * variance / 2.0) * 0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
        }
        Shape::Weibull { shape, scale } => {
            let n = 1.0 + power / shape;
            libm::pow(*scale, power) * libm::tgamma(n) * share(n, libm::pow(x / scale, *shape))
        }
        Shape::Pareto { min, shape } => {
            shape * libm::pow(*min, *shape) * power_integral(*min, x.max(*min), power - shape)
        }
        Shape::BoundedPareto { min, max, shape } => {
            power_integral(*min, x.clamp(*min, *max), power - shape) / power_integral(*min, *max, -shape)
        }
        Shape::Constant(_) | Shape::Poisson(_) | Shape::Empirical(_) => {
            let Sizes::Atoms(atoms) = Sizes::of(law) else { unreachable!("a law of atoms") };
            let upto = atoms.partition_point(|(_, at)| at.x <= x);
            atoms[..upto].last().map_or(0.0, |(_, at)| if k == 1 { at.mean_upto } else { at.second_upto })
        }
    }
}

/// The integral of t^(n-1) from `low` to `high`.
fn power_integral(low: f64, high: f64, n: f64) -> f64 {
    if n.abs() < 1e-12 { libm::log(high / low) } else { (libm::pow(high, n) - libm::pow(low, n)) / n }
}

/// E[S^3]; infinite for a Pareto law of shape 3 or below.
pub(crate) fn third_moment(law: &Law) -> f64 {
    match law.shape() {
        Shape::Constant(value) => value.powi(3),
        Shape::Uniform(low, high) => (high.powi(4) - low.powi(4)) / (4.0 * (high - low)),
        Shape::Exponential(mean) => 6.0 * mean.powi(3),
        Shape::Gamma { shape, scale } => shape * (shape + 1.0) * (shape + 2.0) * scale.powi(3),
        Shape::Hyperexponential { p, first, second } => 6.0 * (p * first.powi(3) + (1.0 - p) * second.powi(3)),
        Shape::Lognormal { mu, sigma } => libm::exp(3.0 * mu + 4.5 * sigma * sigma),
        Shape::Weibull { shape, scale } => scale.powi(3) * libm::tgamma(1.0 + 3.0 / shape),
        Shape::Pareto { min, shape } if *shape > 3.0 => shape * min.powi(3) / (shape - 3.0),
        Shape::Pareto { .. } => f64::INFINITY,
        Shape::BoundedPareto { min, max, shape } => {
            power_integral(*min, *max, 3.0 - shape) / power_integral(*min, *max, -shape)
        }
        Shape::Poisson(m) => (m.powi(3) + 3.0 * m * m + m) / 1e9,
        Shape::Empirical(recorded) => {
            recorded.values().iter().map(|x| x.powi(3)).sum::<f64>() / recorded.values().len() as f64
        }
    }
}

/// Probabilities and sizes in seconds of a Poisson count of milliseconds, without those rarer than 1e-18.
fn poisson_atoms(mean: f64) -> Vec<(f64, f64)> {
    let reach = 10.0 * libm::sqrt(mean) + 40.0;
    let first = (mean - reach).max(0.0) as u64;
    let atom = |j: u64| {
        let j = j as f64;
        (libm::exp(j * libm::log(mean) - mean - libm::lgamma(j + 1.0)), j / 1e3)
    };
    (first..=(mean + reach) as u64).map(atom).filter(|(p, _)| *p > 1e-18).collect()
}
