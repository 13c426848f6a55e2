//! M/M/m/K: Poisson arrivals, exponential service, m servers, and room for K requests in all; the rest are turned away.
//!
//! Source: Kleinrock 1975, section 3.6 (K = m is Erlang's loss system, his B).

use crate::Error;
use crate::birth_death::stationary;
use crate::error::{positive, some};

/// What becomes of the arrivals; there is a steady state at any load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Losses {
    /// Share of the arrivals that are turned away.
    pub lost: f64,
    /// Requests finished per second.
    pub throughput: f64,
    /// Mean response time of those let in, seconds.
    pub response: f64,
    /// Q.
    pub in_system: f64,
    /// U of each server.
    pub utilisation: f64,
}

/// The exact answer for `servers` servers and `room` requests in all, those in service included.
///
/// # Errors
/// No servers, less room than servers, or a rate or service time that is not above zero.
pub fn solve(servers: u32, room: u64, service: f64, rate: f64) -> Result<Losses, Error> {
    let m = some("the number of servers", u64::from(servers))?;
    positive("the service time", service)?;
    positive("the rate", rate)?;
    if room < u64::from(servers) {
        return Err(Error::Refused(format!(
            "room for {room} requests with {servers} servers leaves servers that nobody can use; give room for at least {servers}"
        )));
    }
    let p = stationary(room as usize, |_| rate, |n| (n as f64).min(m) / service);
    let in_system: f64 = p.iter().enumerate().map(|(n, p)| n as f64 * p).sum();
    let busy: f64 = p.iter().enumerate().map(|(n, p)| (n as f64).min(m) * p).sum();
    let throughput = busy / service;
    Ok(Losses {
        lost: p[room as usize],
        throughput,
        response: in_system / throughput,
        in_system,
        utilisation: busy / m,
    })
}
