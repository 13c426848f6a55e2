//! N users and one station with load-dependent rates, and with a maximum number of requests.
//!
//! The number of requests at the station is a birth-death chain with exponential service in an order that does not depend on sizes. Under
//! processor sharing, where n requests get mu(n)/n each, it has the same distribution with any service distribution. A request that finds
//! the station full is rejected, and its user thinks again; think times must then be exponential. If the capacity is
//! unlimited, only the mean of the think time matters.
//!
//! Source: Gordon and Newell 1967; Cohen 1979; with a limit Engset 1918.

use offered_workload::Rates;

use crate::Error;
use crate::birth_death::{logarithms, normalised};
use crate::error::{not_negative, positive, some};
use crate::occupancy::Occupancy;
use crate::open::load_dependent::{LoadDependent, MAX_STATES, too_large};

/// Exact solution for `users` users with mean think time `think`; `service` is the mean service time at speed 1, both in seconds. At most
/// `capacity` requests are at the station.
///
/// # Errors
/// There are no users, the service time is not above zero, or the think time is negative. The think time is zero, and
/// the capacity is below the number of users.
pub fn solve(
    rates: &Rates,
    capacity: Option<u64>,
    service: f64,
    users: u64,
    think: f64,
) -> Result<LoadDependent, Error> {
    some("the number of users", users)?;
    positive("the service time", service)?;
    not_negative("the think time", think)?;
    if users > MAX_STATES {
        return Err(too_large("a system of", users));
    }
    let last = capacity.map_or(users, |capacity| capacity.min(users));
    let p = match (think == 0.0, last == users) {
        (true, true) => (0..=users).map(|n| f64::from(u8::from(n == users))).collect(),
        (true, false) => {
            return Err(Error::Unsupported(
                "users without think time send a rejected request again at once, without end; add a think time".into(),
            ));
        }
        (false, _) => normalised(&logarithms(last, |n| (users - n + 1) as f64 * service / (think * rates.at(n)))),
    };
    let rejected = if last < users { (users - last) as f64 / think * p[last as usize] } else { 0.0 };
    let occupancy = Occupancy::of(p);
    let throughput = occupancy.expect(|n| rates.at(n)) / service;
    let in_system = occupancy.mean();
    Ok(LoadDependent {
        throughput,
        response: in_system / throughput,
        in_system,
        rejected_share: rejected / (rejected + throughput),
        occupancy,
    })
}
