//! M/G/1: Poisson arrivals, any service law, one server, under FCFS and under processor sharing.

use offered_model::Law;
use offered_model::law::Shape;

use crate::Error;
use crate::error::{below_one, positive};
use crate::percentile::Percentiles;

/// The model in steady state.
#[derive(Clone, Debug, PartialEq)]
pub struct Mg1<'a> {
    service: &'a Law,
    rate: f64,
}

impl<'a> Mg1<'a> {
    /// With these parameters.
    ///
    /// # Errors
    /// A rate or mean service time that is not above zero, or a load of 1 or more.
    pub fn new(service: &'a Law, rate: f64) -> Result<Self, Error> {
        below_one(positive("the rate", rate)? * positive("the service time", service.mean())?)?;
        Ok(Self { service, rate })
    }

    /// rho = lambda E\[S\].
    pub fn load(&self) -> f64 {
        self.rate * self.service.mean()
    }

    /// Mean response under FCFS, R = E\[S\] + lambda E[S^2] / (2 (1 - rho)) (Pollaczek 1930, Khinchine 1932). The same for any
    /// order of service that does not look at sizes and does not preempt.
    ///
    /// # Errors
    /// A service law without a second moment.
    pub fn fcfs(&self) -> Result<f64, Error> {
        let second = self.service.second_moment();
        if second.is_infinite() {
            return Err(Error::Refused(format!(
                "{} service has an infinite second moment, so the mean FCFS wait is infinite; use bounded_pareto, or ps or srpt",
                self.service
            )));
        }
        Ok(self.service.mean() + self.rate * second / (2.0 * (1.0 - self.load())))
    }

    /// Standard deviation of the response under FCFS (Takacs 1962): the variance of the service, and that of the wait,
    /// lambda E[S^3] / (3 (1 - rho)) + E\[W\]^2.
    ///
    /// # Errors
    /// A service law without a third moment.
    pub fn fcfs_sdev(&self) -> Result<f64, Error> {
        let third = self.service.third_moment();
        if third.is_infinite() {
            return Err(Error::Refused(format!("{} service has an infinite third moment", self.service)));
        }
        let wait = self.fcfs()? - self.service.mean();
        let service = self.service.scv() * self.service.mean() * self.service.mean();
        Ok(libm::sqrt(service + self.rate * third / (3.0 * (1.0 - self.load())) + wait * wait))
    }

    /// Percentiles of the response under FCFS, where its transform can be inverted by hand: exponential and
    /// two-phase hyperexponential service; `None` for others.
    ///
    /// With S*(s) = p a/(a+s) + q b/(b+s), the Pollaczek-Khinchine transform of the response has two real poles, so
    /// P(R > t) is a sum of two exponentials.
    pub fn fcfs_percentiles(&self) -> Option<Percentiles> {
        let (p, a, b) = match self.service.shape() {
            Shape::Exponential(mean) => (1.0, 1.0 / mean, 2.0 / mean),
            Shape::Hyperexponential { first, second, .. } if first == second => (1.0, 1.0 / first, 2.0 / first),
            Shape::Hyperexponential { p, first, second } => (*p, 1.0 / first, 1.0 / second),
            _ => return None,
        };
        let q = 1.0 - p;
        // Poles -x and -y of s^2 + (a + b - lambda) s + a b (1 - rho), and the numerator (1 - rho)(a b + (p a + q b) s).
        let (half, product) = ((a + b - self.rate) / 2.0, a * b * (1.0 - self.load()));
        let y = half + libm::sqrt((half * half - product).max(0.0));
        let x = product / y;
        let numerator = |s: f64| (1.0 - self.load()) * (a * b + (p * a + q * b) * s);
        // A pole at -z contributes numerator(-z) / (z x (distance)) e^(-z t) to the tail.
        let (weight_x, weight_y) = (numerator(-x) / ((y - x) * x), numerator(-y) / ((x - y) * y));
        let mean = weight_x / x + weight_y / y;
        Some(Percentiles::of(mean, |t| weight_x * libm::exp(-x * t) + weight_y * libm::exp(-y * t)))
    }

    /// Mean response under processor sharing, R = E\[S\] / (1 - rho), for any service law (Sakata, Noguchi and Oizumi 1969;
    /// Kleinrock 1976, section 4.4). The same under preemptive LCFS.
    pub fn ps(&self) -> f64 {
        self.service.mean() / (1.0 - self.load())
    }

    /// Standard deviation of the response under processor sharing with exponential service,
    /// sqrt((2 + rho) / (2 - rho)) R (Coffman, Muntz and Trotter 1970); `None` for other service.
    pub fn ps_sdev(&self) -> Option<f64> {
        matches!(self.service.shape(), Shape::Exponential(_))
            .then(|| libm::sqrt((2.0 + self.load()) / (2.0 - self.load())) * self.ps())
    }
}
