//! M/M/m/K: Poisson arrivals, exponential service, m servers and at most K requests in the system; further arrivals are
//! rejected.
//!
//! Source: Kleinrock 1975, section 3.6. K = m is Erlang's loss system (Erlang B).

use crate::Error;
use crate::birth_death::stationary;
use crate::error::{positive, some};
use crate::percentile::{Percentiles, tail_behind};

/// Steady-state metrics. A steady state exists at any load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossMetrics {
    /// Share of the arrivals that are rejected, 0 to 1.
    pub rejected_share: f64,
    /// Completed requests per second.
    pub throughput: f64,
    /// Mean response time of the admitted requests, seconds.
    pub response: f64,
    /// Q, mean number of requests in the system.
    pub in_system: f64,
    /// U, utilisation of each server.
    pub utilisation: f64,
    /// Percentiles of the response time of the admitted requests under FCFS, seconds.
    pub percentiles: Percentiles,
}

/// Exact solution for `servers` servers and at most `capacity` requests in the system, including those in service. `service` is
/// in seconds, `rate` in requests per second.
///
/// # Errors
/// There are no servers, the capacity is below the number of servers, or the rate or the service time is not above
/// zero.
pub fn solve(servers: u32, capacity: u64, service: f64, rate: f64) -> Result<LossMetrics, Error> {
    let m = some("the number of servers", u64::from(servers))?;
    positive("the service time", service)?;
    positive("the rate", rate)?;
    if capacity < u64::from(servers) {
        return Err(Error::Unsupported(format!(
            "a capacity of {capacity} requests leaves some of {servers} servers unused; set the capacity to at least {servers}"
        )));
    }
    let p = stationary(capacity as usize, |_| rate, |n| (n as f64).min(m) / service);
    let in_system: f64 = p.iter().enumerate().map(|(n, p)| n as f64 * p).sum();
    let busy: f64 = p.iter().enumerate().map(|(n, p)| (n as f64).min(m) * p).sum();
    let throughput = busy / service;
    // An admitted request that finds n requests waits for n - m + 1 completions.
    let mut ahead = vec![0.0; (capacity - u64::from(servers)) as usize + 1];
    let (admitting, full) = p.split_at(capacity as usize);
    for (n, p) in admitting.iter().enumerate() {
        ahead[(n + 1).saturating_sub(servers as usize)] += p / (1.0 - full[0]);
    }
    Ok(LossMetrics {
        rejected_share: full[0],
        throughput,
        response: in_system / throughput,
        percentiles: Percentiles::of(in_system / throughput, tail_behind(&ahead, service, servers)),
        in_system,
        utilisation: busy / m,
    })
}
