//! The launches of N users who do not disturb each other: the superposition of N renewal processes.
//!
//! Each user launches, waits one interval (think time and answer), and launches again, independently of the others and from
//! a random point of the cycle. The merged stream looks more and more like a Poisson process gap by gap as N grows
//! (Palm 1943, Khinchine 1960), which is why a closed tool can emulate the web at all; but the dispersion of its counts over
//! long windows stays that of one user, whatever N (Cox 1962, section 6). Brady and Gunther's Figure 15 shows the first and
//! not the second.

use offered_model::Law;

use crate::Error;
use crate::error::some;
use crate::integrate::integral;
use crate::moments::{longer, partial};

/// CoV of the gaps between the launches of `users` users whose intervals follow `interval`.
///
/// With He(t) = the integral from t of P(X > u) du / E[X], a random instant waits min over the users for the next launch, so
/// E[D^2] / (2 E[D]) = integral of He(t)^N dt and CoV^2 = 2 (N / E[X]) * that - 1. Closed forms: sqrt((2N-1)/(2N+1)) for
/// uniform(0, 2Z), sqrt((N-1)/(N+1)) for a constant, 1 for an exponential law.
///
/// # Errors
/// No users.
pub fn cov(interval: &Law, users: u64) -> Result<f64, Error> {
    let n = some("the number of users", users)?;
    let mean = interval.mean();
    if users == 1 {
        return Ok(libm::sqrt(interval.scv()));
    }
    let excess = |t: f64| ((mean - partial(interval, 1, t) - t * longer(interval, t)) / mean).max(0.0);
    let wait = integral(|t| libm::pow(excess(t), n), 0.0, f64::INFINITY, mean / n);
    Ok(libm::sqrt((2.0 * n / mean * wait - 1.0).max(0.0)))
}

/// Variance over mean of the number of launches in a long window, whatever the number of users: the C2 of one interval.
///
/// 1/3 for uniform(0, 2Z), 0 for a constant, 1 for an exponential law; a Poisson process has 1.
pub fn dispersion(interval: &Law) -> f64 {
    interval.scv()
}
