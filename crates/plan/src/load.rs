//! Finds the request rate, session rate or think time that produces a given load. System models are compared at equal
//! load.
//!
//! Source: Schroeder, Wierman and Harchol-Balter 2006, section 4 (the load of every model held equal).

use std::cell::RefCell;

use crate::Error;
use crate::error::{positive, some};
use crate::partly_open::probability;
use crate::percentile::root;

/// Rate in requests per second that produces `load` on `servers` servers: lambda = rho m / S.
///
/// # Errors
/// The load is outside (0, 1), there are no servers, or the service time is not above zero.
pub fn open_rate(load: f64, servers: u32, service: f64) -> Result<f64, Error> {
    open_load(load)?;
    Ok(load * some("the number of servers", u64::from(servers))? / positive("the service time", service)?)
}

/// Rate in sessions per second that produces `load` on `servers` servers: lambda0 = (1 - p) rho m / S.
///
/// # Errors
/// As [`open_rate`]; also a stay probability outside [0, 1).
pub fn session_rate(load: f64, servers: u32, service: f64, stay: f64) -> Result<f64, Error> {
    Ok((1.0 - probability(stay)?) * open_rate(load, servers, service)?)
}

/// Mean think time, in seconds, at which `users` users produce `load` on `servers` servers of service time `service`.
/// `throughput(think)` solves the closed system.
///
/// # Errors
/// Any error of `throughput`; a load outside (0, 1); a load that the users cannot produce even with think time 0.
pub fn closed_think(
    load: f64,
    servers: u32,
    service: f64,
    users: u64,
    throughput: impl Fn(f64) -> Result<f64, Error>,
) -> Result<f64, Error> {
    let rate = open_rate(load, servers, service)?;
    let max = throughput(0.0)? / rate * load;
    if max < load {
        return Err(Error::LoadUnreachable { load, max, users, servers: u64::from(servers) });
    }
    // X <= N / (Z + S) bounds Z from above by N / X. Where users never queue, the bound minus S is exact, and rounding
    // must not flip the sign of the excess at this end of the bracket.
    let high = some("the number of users", users)? / rate;
    let failed = RefCell::new(None);
    let excess = |think: f64| {
        throughput(think).map_or_else(
            |error| {
                *failed.borrow_mut() = Some(error);
                0.0
            },
            |x| x / rate - 1.0,
        )
    };
    let think = root(excess, 0.0, high);
    match failed.into_inner() {
        Some(error) => Err(error),
        None => Ok(think),
    }
}

fn open_load(load: f64) -> Result<f64, Error> {
    if load > 0.0 && load < 1.0 {
        Ok(load)
    } else {
        Err(Error::OutOfRange { what: "the load", expected: "above 0 and below 1", value: load })
    }
}
