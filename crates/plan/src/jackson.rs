//! Open networks of queues: each station behaves as if it were alone (Jackson 1957).
//!
//! Holds for exponential service under FCFS and for any service law under processor sharing, with Poisson arrivals and any
//! routing that gives the visits.

use crate::error::positive;
use crate::open::mmm::Mmm;
use crate::{Error, Kind, Solution, Station};

/// The exact solution at `rate` requests per second.
///
/// # Errors
/// No stations, a rate that is not above zero, or a station at load 1 or more.
pub fn solve(stations: &[Station], rate: f64) -> Result<Solution, Error> {
    positive("the rate", rate)?;
    if stations.is_empty() {
        return Err(Error::Empty { what: "stations" });
    }
    let residence = |station: &Station| match station.kind {
        Kind::Delay => Ok(station.demand()),
        Kind::Queue { servers } => {
            Ok(station.visits * Mmm::new(servers, station.service, rate * station.visits)?.response())
        }
    };
    let residence = stations.iter().map(residence).collect::<Result<Vec<f64>, Error>>()?;
    Ok(Solution::of(stations, rate, &residence))
}
