//! Percentiles of response times, and the root finder that computes them.

/// Percentiles of a response time, seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percentiles {
    /// 50 % of responses take at most this time.
    pub p50: f64,
    /// 90 % of responses take at most this time.
    pub p90: f64,
    /// 95 % of responses take at most this time.
    pub p95: f64,
    /// 99 % of responses take at most this time.
    pub p99: f64,
}

impl Percentiles {
    /// Percentiles of a time T with P(T > t) = `tail(t)` and mean `mean`.
    pub(crate) fn of(mean: f64, tail: impl Fn(f64) -> f64) -> Self {
        Self::to(mean, 4.0 * f64::EPSILON, tail)
    }

    /// As [`Self::of`], to this relative precision.
    pub(crate) fn to(mean: f64, precision: f64, tail: impl Fn(f64) -> f64) -> Self {
        let at = |share: f64| {
            let excess = |t: f64| tail(t) - (1.0 - share);
            let mut high = mean;
            while excess(high) > 0.0 {
                high *= 2.0;
            }
            root_to(precision, excess, 0.0, high)
        };
        Self { p50: at(0.5), p90: at(0.9), p95: at(0.95), p99: at(0.99) }
    }
}

/// Root of the continuous function `f` between `low` and `high`, where its signs differ, to full precision.
///
/// Source: Chandrupatla 1997. Each step is an inverse quadratic interpolation where that is safe, and a bisection
/// elsewhere.
pub(crate) fn root(f: impl Fn(f64) -> f64, low: f64, high: f64) -> f64 {
    root_to(4.0 * f64::EPSILON, f, low, high)
}

/// As [`root`], to this relative precision.
fn root_to(precision: f64, f: impl Fn(f64) -> f64, low: f64, high: f64) -> f64 {
    let (mut a, mut b) = (high, low);
    let (mut fa, mut fb) = (f(a), f(b));
    let (mut c, mut fc);
    let mut t = 0.5;
    for _ in 0..200 {
        let x = a + t * (b - a);
        let fx = f(x);
        if (fx > 0.0) == (fa > 0.0) {
            (c, fc) = (a, fa);
        } else {
            (c, b, fc, fb) = (b, a, fb, fa);
        }
        (a, fa) = (x, fx);
        let (best, fbest) = if fa.abs() < fb.abs() { (a, fa) } else { (b, fb) };
        let tolerance = precision * best.abs() + f64::MIN_POSITIVE;
        let least = tolerance / (b - a).abs();
        if least > 0.5 || fbest == 0.0 {
            return best;
        }
        let (xi, phi) = ((a - b) / (c - b), (fa - fb) / (fc - fb));
        t = if phi * phi < xi && (1.0 - phi) * (1.0 - phi) < 1.0 - xi {
            fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        } else {
            0.5
        };
        t = t.clamp(least, 1.0 - least);
    }
    a
}

/// P(T > t) of the time T until a request is done. With probability `ahead[k]` it waits for k completions of m busy
/// servers (each at rate m/S) before its own service (rate 1/S).
///
/// Uniformisation at rate m/S: given j events by time t, either k > j completions are still to come, or the request's
/// own service has survived each of the j - k events since with probability (m-1)/m. All terms are positive.
pub(crate) fn tail_behind(ahead: &[f64], service: f64, servers: u32) -> impl Fn(f64) -> f64 {
    let m = f64::from(servers);
    let survives = (m - 1.0) / m;
    let mut still = vec![0.0; ahead.len()];
    let mut later = 0.0;
    for (j, p) in ahead.iter().enumerate().rev() {
        still[j] = later;
        later += p;
    }
    let mut own = 0.0;
    for (still, p) in still.iter_mut().zip(ahead) {
        own = own * survives + p;
        *still += own;
    }
    move |t| {
        poisson_mean(t * m / service, |j| match still.get(j) {
            Some(share) => *share,
            None => own * libm::pow(survives, (j + 1 - still.len()) as f64),
        })
    }
}

/// Mean of `value(j)` where j has the Poisson distribution with mean `mean`, summed from the mode outward.
fn poisson_mean(mean: f64, value: impl Fn(usize) -> f64) -> f64 {
    let mode = mean as usize;
    let (mut sum, mut weight) = (value(mode), 1.0);
    let mut w = 1.0;
    for j in mode + 1.. {
        w *= mean / j as f64;
        if w < 1e-19 {
            break;
        }
        (sum, weight) = (sum + w * value(j), weight + w);
    }
    w = 1.0;
    for j in (0..mode).rev() {
        w *= (j + 1) as f64 / mean;
        if w < 1e-19 {
            break;
        }
        (sum, weight) = (sum + w * value(j), weight + w);
    }
    sum / weight
}
