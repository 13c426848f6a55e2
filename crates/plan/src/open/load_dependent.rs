//! Poisson arrivals at one station with load-dependent rates.
//!
//! The number of requests is a birth-death chain with exponential service in an order that does not depend on sizes. Under
//! processor sharing, where n requests get mu(n)/n each, it has the same distribution with any service distribution.
//!
//! Source: Jackson 1963; Cohen 1979 (generalised processor sharing, any distribution).

use offered_workload::Rates;

use crate::Error;
use crate::birth_death::{logarithms, normalised};
use crate::error::{below_one, positive};
use crate::occupancy::Occupancy;

/// Maximum number of states of a chain.
pub(crate) const MAX_STATES: u64 = 10_000_000;
/// Probability of the states that are left out of an infinite chain.
const NEGLIGIBLE: f64 = 1e-17;

/// Steady-state metrics.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadDependent {
    /// Completed requests per second.
    pub throughput: f64,
    /// Mean response time of the admitted requests, seconds.
    pub response: f64,
    /// Q, mean number of requests at the station.
    pub in_system: f64,
    /// Share of the arrivals that are rejected, 0 to 1.
    pub rejected_share: f64,
    /// Distribution of the number at the station.
    pub(crate) occupancy: Occupancy,
}

/// Exact solution for `rate` requests per second of mean service time `service`, seconds, at speed 1. `capacity` is the maximum number of
/// requests at the station; `None`: unlimited.
///
/// # Errors
/// The service time or the rate is not above zero, or there is no steady state.
pub fn solve(rates: &Rates, capacity: Option<u64>, service: f64, rate: f64) -> Result<LoadDependent, Error> {
    let work = positive("the rate", rate)? * positive("the service time", service)?;
    let occupancy = match capacity {
        Some(capacity) => limited(rates, capacity, work)?,
        None => unlimited(rates, work)?,
    };
    let rejected_share = capacity.map_or(0.0, |_| *occupancy.p.last().unwrap_or(&0.0));
    // The rate of completions, not that of admissions: it subtracts nothing.
    let throughput = occupancy.expect(|n| rates.at(n)) / service;
    let in_system = occupancy.mean();
    Ok(LoadDependent { throughput, response: in_system / throughput, in_system, rejected_share, occupancy })
}

fn limited(rates: &Rates, capacity: u64, work: f64) -> Result<Occupancy, Error> {
    if capacity > MAX_STATES {
        return Err(too_large("a capacity", capacity));
    }
    Ok(Occupancy::of(normalised(&logarithms(capacity, |n| work / rates.at(n)))))
}

fn unlimited(rates: &Rates, work: f64) -> Result<Occupancy, Error> {
    let lasting = rates.lasting(None);
    if lasting == 0.0 {
        return Err(Error::Unsupported(Rates::NO_STEADY_STATE.to_owned()));
    }
    let load = below_one(work / lasting)?;
    // From here on each weight is the one before times the load.
    let Some(constant) = rates.constant_from() else { return rising(rates, work) };
    if constant > MAX_STATES {
        return Err(too_large("a table of rates for", constant));
    }
    let mut logarithms = logarithms(constant, |n| work / rates.at(n));
    // All weights from the last on, together.
    if let Some(last) = logarithms.last_mut() {
        *last -= libm::log1p(-load);
    }
    let mut p = normalised(&logarithms);
    let more = p.pop().unwrap_or_default();
    Ok(Occupancy { more, more_mean: more * (constant as f64 + load / (1.0 - load)), p })
}

/// A chain whose rates rise without end.
fn rising(rates: &Rates, work: f64) -> Result<Occupancy, Error> {
    let (mut logarithm, mut largest) = (0.0f64, 0.0f64);
    let mut logarithms = vec![0.0];
    for n in 1..=MAX_STATES {
        let ratio = work / rates.at(n);
        logarithm += libm::log(ratio);
        logarithms.push(logarithm);
        largest = largest.max(logarithm);
        // The ratios fall, so a geometric series bounds what is left out.
        if ratio < 1.0 && logarithm - largest < libm::log(NEGLIGIBLE * (1.0 - ratio)) {
            return Ok(Occupancy::of(normalised(&logarithms)));
        }
    }
    Err(too_large("more than", MAX_STATES))
}

/// The chain is too long.
pub(crate) fn too_large(what: &str, requests: u64) -> Error {
    Error::Unsupported(format!(
        "{what} {requests} requests at a station with load-dependent rates is too large for the Markov chain; use at most {MAX_STATES}, or simulate"
    ))
}
