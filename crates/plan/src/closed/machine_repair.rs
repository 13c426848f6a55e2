//! N users and m servers in one station: M/M/m/N/N, the machine repair model.
//!
//! The number of requests at the station is a birth-death chain, solved from its most likely number outward
//! ([`crate::birth_death`]). This needs no subtraction; load-dependent mean value analysis subtracts, and its results
//! can become negative in floating point. The means hold for FCFS with exponential service and for processor sharing
//! with any service distribution, and for any distribution of the think time. Percentiles and the request stream need
//! FCFS and exponential think times.
//!
//! Source: Brady and Gunther 2016, sections 3.2 and 3.3; percentiles by the arrival theorem (Sevcik and Mitrani 1981).

use super::{Means, RequestStream};
use crate::Error;
use crate::birth_death::stationary;
use crate::error::{not_negative, positive, some};
use crate::levels::{Level, Levels};
use crate::matrix::Matrix;
use crate::percentile::{Percentiles, tail_behind};

/// m servers of mean service time S, and N users of mean think time Z.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MachineRepair {
    servers: u32,
    service: f64,
    users: u64,
    think: f64,
}

impl MachineRepair {
    /// The model with these parameters; `service` and `think` are means in seconds.
    ///
    /// # Errors
    /// There are no servers or users, the service time is not above zero, or the think time is negative.
    pub fn new(servers: u32, service: f64, users: u64, think: f64) -> Result<Self, Error> {
        some("the number of servers", u64::from(servers))?;
        some("the number of users", users)?;
        positive("the service time", service)?;
        not_negative("the think time", think)?;
        Ok(Self { servers, service, users, think })
    }

    /// The exact means.
    pub fn solve(&self) -> Means {
        let p = self.probabilities();
        let mean = |value: &dyn Fn(f64) -> f64| -> f64 { p.iter().enumerate().map(|(n, p)| value(n as f64) * p).sum() };
        let m = f64::from(self.servers);
        let (in_system, busy) = (mean(&|n| n), mean(&|n| n.min(m)));
        let throughput = busy / self.service;
        Means { throughput, response: in_system / throughput, in_system, utilisation: busy / m }
    }

    /// Percentiles of the response time under FCFS. By the arrival theorem, an arrival finds the stationary state of a
    /// system with one user fewer.
    pub fn percentiles(&self) -> Percentiles {
        let found = self.found();
        // An arrival that finds fewer than m requests does not wait. One that finds n waits for n - m + 1 completions.
        let free = found.len().min(self.servers as usize);
        let mut ahead = vec![found[..free].iter().sum::<f64>()];
        ahead.extend(&found[free..]);
        Percentiles::of(self.solve().response, tail_behind(&ahead, self.service, self.servers))
    }

    /// Standard deviation of the response time under FCFS, seconds, by the arrival theorem.
    pub fn sdev(&self) -> f64 {
        let (m, mean) = (self.servers as usize, self.solve().response);
        let one = self.service / f64::from(self.servers);
        // The second moment of k completions is k (k + 1) times the squared mean of one; that of the request's own
        // service is 2 S^2.
        let squared = |n: usize| {
            let ahead = (n + 1).saturating_sub(m) as f64;
            let (wait, own) = (ahead * one, self.service);
            wait * (wait + one) + 2.0 * wait * own + 2.0 * own * own
        };
        let second: f64 = self.found().iter().enumerate().map(|(n, p)| p * squared(n)).sum();
        libm::sqrt(second - mean * mean)
    }

    /// P(an arrival finds n requests), n = 0 to N - 1.
    fn found(&self) -> Vec<f64> {
        match self.users {
            1 => vec![1.0],
            users => Self { users: users - 1, ..*self }.probabilities(),
        }
    }

    /// Regularity of the request stream, with exponential think times and service.
    ///
    /// # Errors
    /// The think time is zero: requests then follow the departures one by one.
    pub fn request_stream(&self) -> Result<RequestStream, Error> {
        positive("the think time", self.think)?;
        let one = |rate: f64| Matrix::diagonal(&[rate]);
        let last = self.users as usize;
        let level = |n: usize| Level {
            down: if n == 0 { Matrix::zero(1, 0) } else { one(self.rate_down(n)) },
            local: Matrix::zero(1, 1),
            up: if n == last { Matrix::zero(1, 0) } else { one(self.rate_up(n)) },
        };
        let balance = (self.users as f64 - f64::from(self.servers) * self.think / self.service).max(0.0) as usize;
        Ok(RequestStream::of(&Levels::solve((0..=last).map(level).collect(), balance)))
    }

    fn rate_up(&self, n: usize) -> f64 {
        (self.users - n as u64) as f64 / self.think
    }

    fn rate_down(&self, n: usize) -> f64 {
        (n as f64).min(f64::from(self.servers)) / self.service
    }

    /// P(n requests at the station), n = 0 to N.
    fn probabilities(&self) -> Vec<f64> {
        let last = self.users as usize;
        if self.think == 0.0 {
            let mut p = vec![0.0; last + 1];
            p[last] = 1.0;
            return p;
        }
        stationary(last, |n| self.rate_up(n), |n| self.rate_down(n))
    }
}
