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

/// Maximum number of pieces into which values divide the integrals over densities.
const MAX_PIECES: usize = 300;

/// The distribution of sizes: a mixture of densities and of values.
pub(crate) struct Sizes<'a> {
    /// (share, distribution) of the parts with a density.
    densities: Vec<(f64, &'a Distribution)>,
    /// The values of all other parts, ascending.
    values: Vec<f64>,
    /// Probability, first and second moment of the first k values together, for k = 0 to their number.
    sums: Vec<[f64; 3]>,
    /// Sizes at which a partial moment has a jump or a kink, ascending: the values, and the ends of the densities.
    breaks: Vec<f64>,
}

impl<'a> Sizes<'a> {
    /// The mixture of (share, distribution). Shares sum to 1.
    pub(crate) fn of(mixture: impl Iterator<Item = (f64, &'a Distribution)>) -> Self {
        let mut densities: Vec<(f64, &Distribution)> = Vec::new();
        let mut atoms: Vec<(f64, f64)> = Vec::new();
        for (share, distribution) in mixture {
            match distribution.atoms() {
                Some(values) => atoms.extend(values.into_iter().map(|(p, x)| (x, share * p))),
                None => densities.push((share, distribution)),
            }
        }
        atoms.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut values, mut sums) = (Vec::new(), vec![[0.0; 3]]);
        let mut sum = [0.0; 3];
        for (x, p) in atoms {
            // Requests of equal size are served in order of arrival, whatever their class.
            if values.last() == Some(&x) {
                sums.pop();
            } else {
                values.push(x);
            }
            sum = [sum[0] + p, sum[1] + p * x, sum[2] + p * x * x];
            sums.push(sum);
        }
        let ends = densities.iter().flat_map(|(_, distribution)| <[f64; 2]>::from(support(distribution)));
        let mut breaks: Vec<f64> = values.iter().copied().chain(ends).filter(|x| *x > 0.0 && x.is_finite()).collect();
        breaks.sort_by(f64::total_cmp);
        breaks.dedup();
        Self { densities, values, sums, breaks }
    }

    /// Whether expectations over `part` can be computed: its quadrature integrates the density to 1, which it does not
    /// where all sizes lie so close together that it steps over them, and there are not too many values beside it.
    pub(crate) fn resolves(&self, part: &Distribution) -> bool {
        let divided = !self.densities.is_empty() && self.breaks.len() > MAX_PIECES;
        !divided && (self.expect(part, |_| 1.0) - 1.0).abs() < 1e-5
    }

    /// E[g(S)] over the sizes of `part` of the mixture; g gets the partial moments of the whole mixture.
    pub(crate) fn expect(&self, part: &Distribution, g: impl Fn(Point) -> f64) -> f64 {
        if let Some(atoms) = part.atoms() {
            return atoms.into_iter().map(|(p, x)| p * g(self.point(x))).sum();
        }
        let (least, most) = support(part);
        let inside = self.breaks.iter().copied().filter(|x| *x > least && *x < most);
        let ends: Vec<f64> = std::iter::once(least).chain(inside).chain([most]).collect();
        let weighted = |x: f64| {
            let density = part.density(x);
            if density == 0.0 { 0.0 } else { density * g(self.point(x)) }
        };
        let seen: f64 = ends.windows(2).map(|ends| over(&weighted, ends[0], ends[1], part.mean())).sum();
        // A gamma or Weibull distribution with a small shape has much probability below all points of the quadrature; it
        // counts as size 0.
        let zeros = part.cdf(part.mean() * QUADRATURE_FLOOR);
        if zeros > 0.0 { seen + zeros * g(self.point(0.0)) } else { seen }
    }

    /// Integral of g over all x > 0. g must be zero beyond the largest size and, without densities, constant between values.
    pub(crate) fn integral(&self, g: impl Fn(Point) -> f64) -> f64 {
        let ends = || std::iter::once(0.0).chain(self.breaks.iter().copied());
        if self.densities.is_empty() {
            return ends().zip(ends().skip(1)).map(|(low, high)| (high - low) * g(self.point(low))).sum();
        }
        let mean: f64 = self.densities.iter().map(|(_, of)| of.mean()).sum::<f64>() / self.densities.len() as f64;
        let at = |x: f64| g(self.point(x));
        ends().zip(ends().skip(1).chain([f64::INFINITY])).map(|(low, high)| over(&at, low, high, mean)).sum()
    }

    fn point(&self, x: f64) -> Point {
        let values = |upto: usize| self.sums[upto];
        let below = values(self.values.partition_point(|value| *value < x));
        let upto = values(self.values.partition_point(|value| *value <= x));
        let sum = |of: &dyn Fn(&Distribution) -> f64| -> f64 {
            self.densities.iter().map(|(share, distribution)| share * of(distribution)).sum()
        };
        let (mean, second) = (sum(&|of| of.partial_moment(1, x)), sum(&|of| of.partial_moment(2, x)));
        Point {
            x,
            mean_below: mean + below[1],
            mean_upto: mean + upto[1],
            second_below: second + below[2],
            second_upto: second + upto[2],
            longer: sum(&|of| of.tail(x)) + (values(self.values.len())[0] - upto[0]).max(0.0),
        }
    }
}

/// Probability beyond the points of a quadrature at each end.
const BEYOND: f64 = 1e-13;
/// Width of a panel of a quadrature, on a logarithmic scale. With 16 points it resolves the oscillations of a transform
/// at the arguments of an inversion, 0.005 apart.
const PANEL: f64 = 0.08;
/// Maximum number of panels.
const MAX_PANELS: f64 = 1_000.0;
/// Points and weights of the Gauss-Legendre rule with 16 points, the positive half.
const GAUSS_LEGENDRE: [(f64, f64); 8] = [
    (0.095_012_509_837_637_44, 0.189_450_610_455_068_5),
    (0.281_603_550_779_258_9, 0.182_603_415_044_923_6),
    (0.458_016_777_657_227_4, 0.169_156_519_395_002_54),
    (0.617_876_244_402_643_7, 0.149_595_988_816_576_73),
    (0.755_404_408_355_003, 0.124_628_971_255_533_87),
    (0.865_631_202_387_831_7, 0.095_158_511_682_492_78),
    (0.944_575_023_073_232_6, 0.062_253_523_938_647_894),
    (0.989_400_934_991_649_9, 0.027_152_459_411_754_095),
];

/// The distribution as (probability, size): its values, or the points of a quadrature over its density. `None` where the
/// quadrature does not integrate the density to 1.
pub(crate) fn points(distribution: &Distribution) -> Option<Vec<(f64, f64)>> {
    if let Some(atoms) = distribution.atoms() {
        return Some(atoms);
    }
    let (least, most) = support(distribution);
    let (mut low, mut high) = (distribution.mean(), distribution.mean());
    while low > least && distribution.cdf(low) > BEYOND {
        low /= 2.0;
    }
    while high < most && distribution.tail(high) > BEYOND {
        high *= 2.0;
    }
    let (low, high) = (libm::log(low.max(least)), libm::log(high.min(most)));
    let panels = ((high - low) / PANEL).ceil().max(1.0);
    if panels.is_nan() || panels > MAX_PANELS {
        return None;
    }
    let half = (high - low) / panels / 2.0;
    let mut points = Vec::new();
    for i in 0..panels as u32 {
        let middle = low + (2.0 * f64::from(i) + 1.0) * half;
        for (place, weight) in GAUSS_LEGENDRE.iter().flat_map(|(x, w)| [(-x, w), (*x, w)]) {
            let x = libm::exp(middle + half * place);
            let probability = weight * half * x * distribution.density(x);
            if probability > 1e-16 {
                points.push((probability, x));
            }
        }
    }
    let total: f64 = points.iter().map(|(probability, _)| probability).sum();
    ((total - 1.0).abs() < 1e-9).then_some(points)
}

/// Integral of `f` from `low` to `high`, on a logarithmic scale where they are decades apart. `f` changes over `scale`.
fn over(f: &impl Fn(f64) -> f64, low: f64, high: f64, scale: f64) -> f64 {
    if low > 0.0 && high > 100.0 * low {
        let log = |y: f64| {
            let x = libm::exp(y);
            if x.is_finite() { f(x) * x } else { 0.0 }
        };
        integral(log, libm::log(low), libm::log(high), 1.0)
    } else {
        integral(f, low, high, scale)
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
