//! Partly-open systems: sessions arrive as a Poisson process. After each response a session continues with probability
//! p, after a think time.
//!
//! Source: Schroeder, Wierman and Harchol-Balter 2006, section 2. A session has 1/(1-p) requests on average, so the
//! load is lambda0 E\[S\] / (m (1 - p)).

mod fcfs;

use offered_distributions::Distribution;

use crate::error::{below_one, positive, some};
use crate::open::mg1::Mg1;
use crate::open::mmm::Mmm;
use crate::{Error, Response};

/// Poisson arrivals of sessions with geometric lengths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SessionStream {
    rate: f64,
    stay: f64,
}

impl SessionStream {
    /// `rate` sessions per second, each of which continues after a response with probability `stay`.
    ///
    /// # Errors
    /// The rate is not above zero, or the stay probability is outside [0, 1). At 1 no session ever ends.
    pub fn new(rate: f64, stay: f64) -> Result<Self, Error> {
        positive("the session rate", rate)?;
        Ok(Self { rate, stay: probability(stay)? })
    }

    /// Requests per second, lambda0 / (1 - p).
    pub fn request_rate(&self) -> f64 {
        self.rate / (1.0 - self.stay)
    }

    /// Mean response time, seconds, under processor sharing (any service distribution) or FCFS with exponential
    /// service, on `servers` servers. The network has product form, so the result is that of the open system at the
    /// same load, whatever the think time.
    ///
    /// # Errors
    /// There are no servers, the service time is not above zero, or the load is 1 or more.
    pub fn product_form(&self, servers: u32, service: f64) -> Result<f64, Error> {
        some("the number of servers", u64::from(servers))?;
        Ok(Mmm::new(servers, service, self.request_rate())?.response())
    }

    /// Response time under FCFS on one server with phase-type service and exponential think times of mean `think`
    /// seconds. The result is exact, by a Markov chain.
    ///
    /// # Errors
    /// The load is 1 or more, the think time is not above zero, the service does not consist of exponential phases, or
    /// the chain has too many states.
    pub fn fcfs(&self, service: &Distribution, think: f64) -> Result<Response, Error> {
        let queue = Mg1::new(service, self.request_rate())?;
        positive("the think time", think)?;
        if self.stay == 0.0 {
            return Ok(Response { mean: queue.fcfs()?, sdev: queue.fcfs_sdev() });
        }
        fcfs::solve(self.rate, self.stay, think, service)
    }

    /// Mean response times under FCFS on one server with any service distribution, in the limits of zero and infinite
    /// think time.
    ///
    /// With infinite think time the requests of a session are independent: M/G/1. With zero think time the system is a
    /// queue with Bernoulli feedback to its end (Takacs 1963), R = E\[S\] (1 + (1 - p) rho (C2 - 1) / 2) / (1 - rho).
    ///
    /// # Errors
    /// The load is 1 or more, or the second moment is infinite.
    pub fn fcfs_limits(&self, service: &Distribution) -> Result<Limits, Error> {
        let queue = Mg1::new(service, self.request_rate())?;
        let rho = below_one(queue.load())?;
        let long_think = queue.fcfs()?;
        let variability = (1.0 - self.stay) * rho * (service.scv() - 1.0) / 2.0;
        Ok(Limits { no_think: service.mean() * (1.0 + variability) / (1.0 - rho), long_think })
    }
}

/// Mean response times in both limits of the think time, seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// The limit as Z goes to 0.
    pub no_think: f64,
    /// The limit as Z goes to infinity.
    pub long_think: f64,
}

pub(crate) fn probability(stay: f64) -> Result<f64, Error> {
    if (0.0..1.0).contains(&stay) {
        Ok(stay)
    } else {
        Err(Error::OutOfRange { what: "the stay probability", expected: "0 or more and below 1", value: stay })
    }
}
