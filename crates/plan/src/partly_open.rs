//! Partly-open systems: sessions arrive as a Poisson process, and after each answer go on, thinking first, with probability p.
//!
//! Source: Schroeder, Wierman and Harchol-Balter 2006, section 2. A session has 1/(1-p) requests on average, so the load is
//! lambda0 E\[S\] / (m (1 - p)).

mod fcfs;

use offered_model::Law;

use crate::error::{below_one, positive, some};
use crate::open::mg1::Mg1;
use crate::open::mmm::Mmm;
use crate::{Error, Response};

/// Sessions and their lengths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sessions {
    rate: f64,
    stay: f64,
}

impl Sessions {
    /// `rate` sessions per second, each of which goes on after an answer with probability `stay`.
    ///
    /// # Errors
    /// A rate that is not above zero, or a stay probability outside [0, 1): at 1 nobody ever leaves.
    pub fn new(rate: f64, stay: f64) -> Result<Self, Error> {
        positive("the session rate", rate)?;
        Ok(Self { rate, stay: probability(stay)? })
    }

    /// Requests per second, lambda0 / (1 - p).
    pub fn requests(&self) -> f64 {
        self.rate / (1.0 - self.stay)
    }

    /// Mean response of a request under processor sharing (any service law), or FCFS with exponential service, on `servers`
    /// servers: the network has product form, so it is that of the open system at the same load, whatever the think time.
    ///
    /// # Errors
    /// No servers, a service time that is not above zero, or a load of 1 or more.
    pub fn product_form(&self, servers: u32, service: f64) -> Result<f64, Error> {
        some("the number of servers", u64::from(servers))?;
        Ok(Mmm::new(servers, service, self.requests())?.response())
    }

    /// The response under FCFS on one server whose service is made of exponential phases, with exponential think times of mean `think`
    /// seconds: exactly, by a Markov chain.
    ///
    /// # Errors
    /// A load of 1 or more, a think time that is not above zero, service of another law, and a chain of too many states.
    pub fn fcfs(&self, service: &Law, think: f64) -> Result<Response, Error> {
        let queue = Mg1::new(service, self.requests())?;
        positive("the think time", think)?;
        if self.stay == 0.0 {
            return Ok(Response { mean: queue.fcfs()?, sdev: queue.fcfs_sdev() });
        }
        fcfs::solve(self.rate, self.stay, think, service)
    }

    /// Mean responses under FCFS on one server with any service law, in the limits of think time zero and infinite.
    ///
    /// Thinking for ever makes the requests of a session strangers: M/G/1. Not thinking at all is Bernoulli feedback to the
    /// end of the queue (Takacs 1963), R = E\[S\] (1 + (1 - p) rho (C2 - 1) / 2) / (1 - rho).
    ///
    /// # Errors
    /// A load of 1 or more, or an infinite second moment.
    pub fn fcfs_limits(&self, service: &Law) -> Result<Limits, Error> {
        let queue = Mg1::new(service, self.requests())?;
        let rho = below_one(queue.load())?;
        let long_think = queue.fcfs()?;
        let variability = (1.0 - self.stay) * rho * (service.scv() - 1.0) / 2.0;
        Ok(Limits { no_think: service.mean() * (1.0 + variability) / (1.0 - rho), long_think })
    }
}

/// A mean response at both ends of the think time, seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// As Z goes to 0.
    pub no_think: f64,
    /// As Z goes to infinity.
    pub long_think: f64,
}

pub(crate) fn probability(stay: f64) -> Result<f64, Error> {
    if (0.0..1.0).contains(&stay) {
        Ok(stay)
    } else {
        Err(Error::Share { what: "the stay probability", expected: "0 or more and below 1", value: stay })
    }
}
