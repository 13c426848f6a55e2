//! Open networks of queues, where each station behaves as if it were alone (Jackson 1957).
//!
//! Holds for exponential service under FCFS and for any service distribution under processor sharing, also with load-dependent rates, with Poisson
//! arrivals and any routing with these mean visits.

use crate::error::positive;
use crate::open::load_dependent;
use crate::open::mmm::Mmm;
use crate::{Error, Solution, Station, StationKind};

/// Exact solution at `rate` requests per second.
///
/// # Errors
/// There are no stations, the rate is not above zero, or a station has a load of 1 or more.
pub fn solve(stations: &[Station], rate: f64) -> Result<Solution, Error> {
    positive("the rate", rate)?;
    if stations.is_empty() {
        return Err(Error::Empty { what: "stations" });
    }
    let residence = |station: &Station| match &station.kind {
        StationKind::Delay => Ok(station.demand()),
        StationKind::Queue { servers } => {
            Ok(station.visits * Mmm::new(*servers, station.service, rate * station.visits)?.response())
        }
        StationKind::LoadDependent(rates) => {
            Ok(station.visits * load_dependent::solve(rates, None, station.service, rate * station.visits)?.response)
        }
    };
    let residence = stations.iter().map(residence).collect::<Result<Vec<f64>, Error>>()?;
    Ok(Solution::of(stations, rate, &residence, None))
}
