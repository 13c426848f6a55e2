//! Integrals by double-exponential quadrature, which tolerates infinite derivatives and slow decay at the ends.
//!
//! Source: Takahasi and Mori 1974. The step is halved until two results agree to 1e-12; each halving doubles the digits.

/// The integral of `f` from `low` to `high`; `high` may be infinite. `scale` is the length over which `f` changes.
pub fn integral(f: impl Fn(f64) -> f64, low: f64, high: f64, scale: f64) -> f64 {
    let half_pi = std::f64::consts::FRAC_PI_2;
    if high.is_infinite() {
        // x = low + scale exp(pi/2 sinh t)
        trapezoids(|t| {
            let x = scale * libm::exp(half_pi * libm::sinh(t));
            (x.is_finite() && x > 0.0).then(|| f(low + x) * x * half_pi * libm::cosh(t))
        })
    } else {
        // x = middle + half tanh(pi/2 sinh t), measured from the nearer end to keep its digits.
        let half = (high - low) / 2.0;
        trapezoids(|t| {
            let u = half_pi * libm::sinh(t);
            let from_end = (high - low) / (1.0 + libm::exp(2.0 * u.abs()));
            let x = if u < 0.0 { low + from_end } else { high - from_end };
            let cosh = libm::cosh(u);
            (cosh.is_finite() && from_end > 0.0).then(|| f(x) * half * half_pi * libm::cosh(t) / (cosh * cosh))
        })
    }
}

/// The sum of `f` over all t, with smaller and smaller steps; the sum ends on a side where `f` returns `None`.
fn trapezoids(f: impl Fn(f64) -> Option<f64>) -> f64 {
    const REACH: f64 = 6.5;
    let term = |t: f64| f(t).filter(|v| v.is_finite()).unwrap_or(0.0);
    let mut step = 0.5;
    let mut sum = term(0.0);
    for i in 1..=(REACH / step) as i32 {
        sum += term(f64::from(i) * step) + term(-f64::from(i) * step);
    }
    let mut previous = sum * step;
    for _ in 0..10 {
        step /= 2.0;
        for i in (1..=(REACH / step) as i32).step_by(2) {
            sum += term(f64::from(i) * step) + term(-f64::from(i) * step);
        }
        let now = sum * step;
        if (now - previous).abs() <= 1e-12 * now.abs() {
            return now;
        }
        previous = now;
    }
    previous
}
