//! The requests of N independent users: the superposition of N renewal processes.
//!
//! Each user sends a request, waits one interval (think time and response), and sends the next, independently of the others and from
//! a random point of the cycle. As N grows, the gaps of the merged stream approach those of a Poisson process
//! (Palm 1943, Khinchine 1960); therefore a tool with a fixed number of users can emulate web traffic. But the
//! dispersion of its counts over long windows stays that of one user, for every N (Cox 1962, section 6). Figure 15 of
//! Brady's paper on bunched requests shows the first effect, not the second.

use crate::Distribution;
use crate::integral::integral;
use offered_base::InvalidValue;

/// CoV of the gaps between the requests of `users` users with intervals from `interval`.
///
/// With G(t) = the integral from t of P(X > u) du / `E[X]`, the wait from a random instant to the next request is the minimum over the users, so
/// `E[D^2] / (2 E[D])` = integral of G(t)^N dt and `CoV^2 = 2 (N / E[X])` * that - 1. Closed forms: sqrt((2N-1)/(2N+1)) for
/// uniform(0, 2Z), sqrt((N-1)/(N+1)) for a constant, 1 for an exponential distribution.
///
/// # Errors
/// No users, or an interval that is always zero.
pub fn cov(interval: &Distribution, users: u64) -> Result<f64, InvalidValue> {
    if users == 0 {
        return Err(InvalidValue::new("the number of users must be a number above zero, not 0"));
    }
    if interval.is_zero() {
        return Err(InvalidValue::new(
            "users with zero think time and zero response time would send infinitely many requests; write a think time above zero",
        ));
    }
    if users == 1 {
        return Ok(libm::sqrt(interval.scv()));
    }
    let (n, mean) = (users as f64, interval.mean());
    let wait = match interval.atoms() {
        Some(atoms) => wait_between(&atoms, n, mean),
        None => integral(|t| libm::pow(interval.residual_tail(t), n), 0.0, f64::INFINITY, mean / n),
    };
    Ok(libm::sqrt((2.0 * n / mean * wait - 1.0).max(0.0)))
}

/// The integral of G^N, where G is a straight line between consecutive atoms: each piece is (a^(N+1) - b^(N+1)) / (N+1)
/// / slope.
fn wait_between(atoms: &[(f64, f64)], n: f64, mean: f64) -> f64 {
    let (mut at, mut tail, mut above, mut sum) = (0.0, 1.0, 1.0, 0.0);
    for (p, next) in atoms {
        let slope = tail / mean;
        let below = f64::max(above - slope * (next - at), 0.0);
        if slope > 0.0 {
            sum += (libm::pow(above, n + 1.0) - libm::pow(below, n + 1.0)) / ((n + 1.0) * slope);
        }
        (at, tail, above) = (*next, f64::max(tail - p, 0.0), below);
    }
    sum
}

/// The moments of the interval between two requests of one user.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cycle {
    /// `E[X]`.
    pub mean: f64,
    /// `Var[X]`.
    pub variance: f64,
    /// `E[(X - E[X])^3]`.
    pub third: f64,
}

impl Cycle {
    /// The moments of this distribution.
    pub fn of(interval: &Distribution) -> Self {
        let (mean, second) = (interval.mean(), interval.second_moment());
        let third = interval.third_moment() - 3.0 * mean * second + 2.0 * mean.powi(3);
        Self { mean, variance: interval.scv() * mean * mean, third }
    }

    /// Variance over mean of the number of requests in windows of length `window` (seconds), for any number of users.
    ///
    /// C2 + (1/6 + C2^2/2 - m3/(3 m^3)) m/window, exact for windows of several intervals (Cox 1962, section 4.5, the
    /// equilibrium process; the index of a superposition is that of its parts). The limit for long windows is C2: 1/3 for uniform(0, 2Z), 0 for
    /// constant intervals; for exponential intervals the result is 1 at every window.
    pub fn dispersion(&self, window: f64) -> f64 {
        let scv = self.variance / (self.mean * self.mean);
        let skew = self.third / self.mean.powi(3);
        scv + (1.0 / 6.0 + scv * scv / 2.0 - skew / 3.0) * self.mean / window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covs_equal_the_closed_forms() {
        for n in [1u64, 2, 5, 20, 200] {
            let letter = n as f64;
            let near = |distribution: Distribution, expected: f64| {
                let ours = cov(&distribution, n).unwrap();
                assert!((ours - expected).abs() < 1e-9, "{n} users of {distribution}: {ours} against {expected}");
            };
            near(Distribution::uniform(0.0, 2.0).unwrap(), libm::sqrt((2.0 * letter - 1.0) / (2.0 * letter + 1.0)));
            near(Distribution::constant(3.0).unwrap(), libm::sqrt((letter - 1.0) / (letter + 1.0)));
            near(Distribution::exponential(0.5).unwrap(), 1.0);
        }
    }

    #[test]
    fn an_empirical_distribution_of_many_values_approaches_their_density() {
        // The midpoints of 20,000 equal cells of uniform(0, 2).
        let values = (0..20_000).map(|i| (f64::from(i) + 0.5) / 1e4).collect();
        let (atoms, density) = (Distribution::empirical(values).unwrap(), Distribution::uniform(0.0, 2.0).unwrap());
        for n in [2, 50] {
            assert!((cov(&atoms, n).unwrap() - cov(&density, n).unwrap()).abs() < 1e-6);
        }
    }

    /// The variance of the number of requests of one user, from its definition: a random start, and then intervals.
    #[test]
    fn dispersions_equal_counted_renewals() {
        use offered_base::{Purpose, Seed};
        for distribution in [
            Distribution::uniform(0.0, 2.0).unwrap(),
            Distribution::exponential(1.0).unwrap(),
            Distribution::gamma(1.0, 2.0).unwrap(),
        ] {
            for window in [4.0, 10.0] {
                let counts: Vec<f64> = (0..40_000)
                    .map(|user| {
                        let mut stream = Seed(1).at(Purpose::Think, user, 0);
                        let (mut at, mut count) = (distribution.sample_residual(&mut stream), 0.0);
                        while at < window {
                            count += 1.0;
                            at += distribution.sample(&mut stream);
                        }
                        count
                    })
                    .collect();
                let variance = counts.iter().map(|n| (n - window).powi(2)).sum::<f64>() / counts.len() as f64;
                // A variance of 40,000 counts is known to 1 %; four standard errors.
                let expected = Cycle::of(&distribution).dispersion(window);
                assert!((variance / window / expected - 1.0).abs() < 0.05, "{distribution} {window}: {expected}");
            }
        }
        assert!(
            (Cycle::of(&Distribution::uniform(0.0, 2.0).unwrap()).dispersion(f64::INFINITY) - 1.0 / 3.0).abs() < 1e-12
        );
        assert!((Cycle::of(&Distribution::exponential(3.0).unwrap()).dispersion(5.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn impossible_arguments_are_errors() {
        assert!(cov(&Distribution::constant(1.0).unwrap(), 0).is_err());
        assert!(cov(&Distribution::constant(0.0).unwrap(), 3).is_err());
    }
}
