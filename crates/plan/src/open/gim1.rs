//! GI/M/1: independent gaps between arrivals of any distribution, exponential service, one server.
//!
//! Source: Kleinrock 1975, section 6.4. An arrival finds a geometric number of requests, with the ratio sigma that solves
//! sigma = A*(mu (1 - sigma)), where A* is the transform of the gaps.

use offered_distributions::Distribution;

use crate::Error;
use crate::error::{below_one, positive};
use crate::percentile::{Percentiles, root};
use crate::transform::Laplace;

/// The queue in steady state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gim1 {
    service: f64,
    /// Probability that an arrival finds a busy server.
    found_busy: f64,
}

impl Gim1 {
    /// The queue with mean service time `service` in seconds and `rate` requests per second. The gaps have the distribution of `gaps`; its
    /// mean is replaced by 1 / `rate`.
    ///
    /// # Errors
    /// The rate or the service time is not above zero, the load is 1 or more, or no quadrature resolves the gaps.
    pub fn new(gaps: &Distribution, service: f64, rate: f64) -> Result<Self, Error> {
        let load = below_one(positive("the rate", rate)? * positive("the service time", service)?)?;
        let transform = Laplace::of([(1.0, gaps)]).ok_or_else(|| {
            Error::Unsupported(format!("{gaps} is too narrow or too wide for numeric integration; simulate"))
        })?;
        // Seconds of the queue in one unit of the given gaps.
        let unit = 1.0 / (rate * gaps.mean());
        let gap = |idle: f64| transform.at((unit * idle / service).into()).re;
        // With idle = 1 - sigma: idle = 0 solves the equation at any load, and below load 1 so does one number above 0.
        let excess = |idle: f64| gap(idle) - (1.0 - idle);
        let mut low = 1.0 - load;
        while excess(low) > 0.0 {
            low /= 2.0;
        }
        Ok(Self { service, found_busy: 1.0 - root(excess, low, 1.0) })
    }

    /// R = S / (1 - sigma), seconds. The response under FCFS is exponential with this mean.
    pub fn response(&self) -> f64 {
        self.service / (1.0 - self.found_busy)
    }

    /// Percentiles of R under FCFS.
    pub fn percentiles(&self) -> Percentiles {
        let at = |above: f64| -self.response() * libm::log(above);
        Percentiles { p50: at(0.5), p90: at(0.1), p95: at(0.05), p99: at(0.01) }
    }
}
