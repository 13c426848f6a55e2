//! Which rate, session rate or think time gives a wanted load: the fair way to compare system models.
//!
//! Source: Schroeder, Wierman and Harchol-Balter 2006, section 4 (the load of every model held equal).

use std::cell::RefCell;

use crate::Error;
use crate::error::{positive, some};
use crate::partly_open::probability;
use crate::percentile::root;

/// Requests per second that put this load on `servers` servers, lambda = rho m / S.
///
/// # Errors
/// A load outside (0, 1), no servers, or a service time that is not above zero.
pub fn open_rate(load: f64, servers: u32, service: f64) -> Result<f64, Error> {
    open_load(load)?;
    Ok(load * some("the number of servers", u64::from(servers))? / positive("the service time", service)?)
}

/// Sessions per second that put this load on `servers` servers, lambda0 = (1 - p) rho m / S.
///
/// # Errors
/// As [`open_rate`]; also a stay probability outside [0, 1).
pub fn session_rate(load: f64, servers: u32, service: f64, stay: f64) -> Result<f64, Error> {
    Ok((1.0 - probability(stay)?) * open_rate(load, servers, service)?)
}

/// The mean think time at which `users` users put this load on `servers` servers of service time `service`, where
/// `throughput(think)` solves the closed system.
///
/// # Errors
/// What `throughput` returns; also a load outside (0, 1), or one that even users who never think do not reach.
pub fn closed_think(
    load: f64,
    servers: u32,
    service: f64,
    users: u64,
    throughput: impl Fn(f64) -> Result<f64, Error>,
) -> Result<f64, Error> {
    let rate = open_rate(load, servers, service)?;
    let most = throughput(0.0)? / rate * load;
    if most < load {
        return Err(Error::OutOfReach { load, most, users, servers: u64::from(servers) });
    }
    // X <= N / (Z + S), so Z is shorter than this by S; where no user ever waits it is so exactly, and rounding must not
    // take the sign of the excess at this end.
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
        Err(Error::Share { what: "the load", expected: "above 0 and below 1", value: load })
    }
}
