//! M/M/m: Poisson arrivals, exponential service, m servers, one queue. M/M/1 is m = 1.
//!
//! Source: Erlang 1917; Kleinrock 1975, sections 3.2 and 3.5. The mean also holds for m processor-sharing servers with
//! any service distribution (a request gets at most one server; BCMP 1975).

use crate::Error;
use crate::error::{below_one, positive, some};
use crate::percentile::Percentiles;

/// The queue in steady state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mmm {
    servers: u32,
    service: f64,
    rate: f64,
}

impl Mmm {
    /// The queue with `servers` servers, mean service time `service` in seconds and `rate` requests per second.
    ///
    /// # Errors
    /// There are no servers, the rate or the service time is not above zero, or the load is 1 or more.
    pub fn new(servers: u32, service: f64, rate: f64) -> Result<Self, Error> {
        let m = some("the number of servers", u64::from(servers))?;
        below_one(positive("the rate", rate)? * positive("the service time", service)? / m)?;
        Ok(Self { servers, service, rate })
    }

    /// The load, rho = lambda S / m.
    pub fn load(&self) -> f64 {
        self.rate * self.service / f64::from(self.servers)
    }

    /// The probability that an arrival waits (Erlang C), by the recursion of Erlang B.
    pub fn waits(&self) -> f64 {
        let a = self.rate * self.service;
        let b = (1..=self.servers).fold(1.0, |b, k| a * b / (f64::from(k) + a * b));
        b / (1.0 - self.load() * (1.0 - b))
    }

    /// The mean response time, R = S + C S / (m (1 - rho)), seconds.
    pub fn response(&self) -> f64 {
        self.service + self.waits() * self.service / (f64::from(self.servers) * (1.0 - self.load()))
    }

    /// Standard deviation of R under FCFS, seconds. The wait of the requests that wait is exponential.
    pub fn sdev(&self) -> f64 {
        let (waits, wait) = (self.waits(), self.service / (f64::from(self.servers) * (1.0 - self.load())));
        libm::sqrt(self.service * self.service + waits * (2.0 - waits) * wait * wait)
    }

    /// Percentiles of R under FCFS.
    ///
    /// P(R > t) = e^(-mu t) + C mu (e^(-delta t) - e^(-mu t)) / (mu - delta), delta = m mu - lambda.
    pub fn percentiles(&self) -> Percentiles {
        let (mu, c) = (1.0 / self.service, self.waits());
        let delta = f64::from(self.servers) * mu * (1.0 - self.load());
        let (slow, apart) = (mu.min(delta), (mu - delta).abs());
        Percentiles::of(self.response(), |t| {
            let x = apart * t;
            let spread = if x < 1e-9 { t } else { -libm::expm1(-x) / apart };
            libm::exp(-mu * t) + c * mu * libm::exp(-slow * t) * spread
        })
    }
}
