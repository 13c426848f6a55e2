//! M/G/1: Poisson arrivals, any service distribution, one server, under FCFS and under processor sharing.

use offered_distributions::Distribution;
use offered_distributions::Shape;

use crate::Error;
use crate::error::{below_one, positive};
use crate::percentile::Percentiles;

/// The queue in steady state.
#[derive(Clone, Debug, PartialEq)]
pub struct Mg1<'a> {
    service: &'a Distribution,
    rate: f64,
}

impl<'a> Mg1<'a> {
    /// The queue with this service distribution and `rate` requests per second.
    ///
    /// # Errors
    /// The rate or the mean service time is not above zero, or the load is 1 or more.
    pub fn new(service: &'a Distribution, rate: f64) -> Result<Self, Error> {
        below_one(positive("the rate", rate)? * positive("the service time", service.mean())?)?;
        Ok(Self { service, rate })
    }

    /// The load, rho = lambda E\[S\].
    pub fn load(&self) -> f64 {
        self.rate * self.service.mean()
    }

    /// Mean response time under FCFS, seconds: R = E\[S\] + lambda E[S^2] / (2 (1 - rho)) (Pollaczek 1930, Khinchine
    /// 1932). It is the same for any order of service that ignores sizes and does not preempt.
    ///
    /// # Errors
    /// The service distribution has an infinite second moment.
    pub fn fcfs(&self) -> Result<f64, Error> {
        let second = self.service.second_moment();
        if second.is_infinite() {
            return Err(Error::Unsupported(format!(
                "{} service has an infinite second moment, so the mean FCFS wait is infinite; use bounded_pareto, ps or srpt",
                self.service
            )));
        }
        Ok(self.service.mean() + self.rate * second / (2.0 * (1.0 - self.load())))
    }

    /// Standard deviation of the response time under FCFS, seconds. See [`ServiceMoments::fcfs_sdev`].
    pub fn fcfs_sdev(&self) -> f64 {
        ServiceMoments::of(self.service).fcfs_sdev(self.rate)
    }

    /// Percentiles of the response time under FCFS for exponential and two-phase hyperexponential service, where the
    /// transform can be inverted in closed form. `None` for other service.
    ///
    /// With S*(s) = p a/(a+s) + q b/(b+s), the Pollaczek-Khinchine transform of the response has two real poles, so P(R
    /// > t) is a sum of two exponentials.
    pub fn fcfs_percentiles(&self) -> Option<Percentiles> {
        let Branches { p, a, b, x, y } = self.branches()?;
        let q = 1.0 - p;
        // The numerator (1 - rho)(a b + (p a + q b) s).
        let numerator = |s: f64| (1.0 - self.load()) * (a * b + (p * a + q * b) * s);
        // A pole at -z contributes numerator(-z) / (z x (distance)) e^(-z t) to the tail.
        let (weight_x, weight_y) = (numerator(-x) / ((y - x) * x), numerator(-y) / ((x - y) * y));
        let mean = weight_x / x + weight_y / y;
        Some(Percentiles::of(mean, |t| weight_x * libm::exp(-x * t) + weight_y * libm::exp(-y * t)))
    }

    /// Mean response time under processor sharing, seconds: R = E\[S\] / (1 - rho), for any service distribution
    /// (Sakata, Noguchi and Oizumi 1969; Kleinrock 1976, section 4.4). It is the same under preemptive LCFS.
    pub fn ps(&self) -> f64 {
        self.service.mean() / (1.0 - self.load())
    }

    /// Standard deviation of the response time under processor sharing, seconds, for exponential and two-phase
    /// hyperexponential service; `None` for other service.
    ///
    /// The variance for a request of size x is 2 / (1 - rho)^2 times the integral of (x - t) P(W > t) over t from 0 to
    /// x, where W is the wait under FCFS (Yashkov 1983; Ott 1984). This function averages it over sizes and adds the
    /// variance of x / (1 - rho). With exponential service the result is (2 + rho) / (2 - rho) R^2 (Coffman, Muntz and
    /// Trotter 1970).
    pub fn ps_sdev(&self) -> Option<f64> {
        let Branches { p, a, b, x, y } = self.branches()?;
        let (mean, idle) = (self.service.mean(), 1.0 - self.load());
        let transform = |s: f64| p * a / (a + s) + (1.0 - p) * b / (b + s);
        // P(W > t) is a sum of w e^(-z t) over the two poles. The integral of one term is w (x / z - (1 - e^(-z x)) /
        // z^2).
        let part = |z: f64, other: f64| {
            let weight = idle * (a - z) * (b - z) / ((other - z) * z);
            weight * (mean / z - (1.0 - transform(z)) / (z * z))
        };
        let variance = 2.0 * (part(x, y) + part(y, x)) + self.service.scv() * mean * mean;
        Some(libm::sqrt(variance) / idle)
    }

    /// Service as a mixture of two exponential distributions, and the poles of the transform of the response.
    fn branches(&self) -> Option<Branches> {
        let (p, a, b) = match self.service.shape() {
            Shape::Exponential(mean) => (1.0, 1.0 / mean, 2.0 / mean),
            Shape::Hyperexponential { first, second, .. } if first == second => (1.0, 1.0 / first, 2.0 / first),
            Shape::Hyperexponential { p, first, second } => (*p, 1.0 / first, 1.0 / second),
            _ => return None,
        };
        let (half, product) = ((a + b - self.rate) / 2.0, a * b * (1.0 - self.load()));
        let y = half + libm::sqrt((half * half - product).max(0.0));
        Some(Branches { p, a, b, x: product / y, y })
    }
}

/// Rates a with probability p and b otherwise; the poles -x and -y of s^2 + (a + b - lambda) s + a b (1 - rho).
struct Branches {
    p: f64,
    a: f64,
    b: f64,
    x: f64,
    y: f64,
}

/// Moments of the service time, which determine the standard deviation of the response under policies that ignore
/// sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServiceMoments {
    /// Mean service time E\[S\], in seconds.
    pub mean: f64,
    /// E[S^2], seconds squared.
    pub second: f64,
    /// E[S^3], seconds cubed. May be infinite; the standard deviations are infinite then.
    pub third: f64,
}

impl ServiceMoments {
    /// Moments of a distribution.
    pub fn of(distribution: &Distribution) -> Self {
        Self { mean: distribution.mean(), second: distribution.second_moment(), third: distribution.third_moment() }
    }

    /// Variance of the service time, seconds squared; rounding errors do not make it negative.
    pub fn variance(&self) -> f64 {
        (self.second - self.mean * self.mean).max(0.0)
    }

    /// Standard deviation of the response time under FCFS at `rate` requests per second and a load below 1, seconds.
    /// Its square is the variance of the service plus that of the wait, lambda E[S^3] / (3 (1 - rho)) + E\[W\]^2
    /// (Takacs 1962).
    pub fn fcfs_sdev(&self, rate: f64) -> f64 {
        let idle = 1.0 - rate * self.mean;
        let wait = rate * self.second / (2.0 * idle);
        libm::sqrt(self.variance() + rate * self.third / (3.0 * idle) + wait * wait)
    }

    /// As [`Self::fcfs_sdev`], under LCFS without preemption. An arrival that finds the server busy waits for a busy
    /// period that starts with the remaining service (Kleinrock 1975, section 5.10; Wishart 1960).
    pub fn lcfs_sdev(&self, rate: f64) -> f64 {
        let idle = 1.0 - rate * self.mean;
        let wait = rate * self.second / (2.0 * idle);
        let squared =
            rate * self.third / (3.0 * idle * idle) + rate * rate * self.second * self.second / (2.0 * idle.powi(3));
        libm::sqrt(self.variance() + squared - wait * wait)
    }

    /// As [`Self::fcfs_sdev`], under preemptive LCFS. The response is a busy period, whose second moment is E[S^2] / (1
    /// - rho)^3 (Kleinrock 1975, section 5.8).
    pub fn lcfs_preemptive_sdev(&self, rate: f64) -> f64 {
        let idle = 1.0 - rate * self.mean;
        libm::sqrt((self.second / idle.powi(3) - (self.mean / idle).powi(2)).max(0.0))
    }
}
