//! Asymptotic bounds of a closed network, which hold for any scheduling policy and any service distribution.
//!
//! Source: Muntz and Wong 1974; Brady and Gunther 2016, eqns 10 and 11 and Figures 5 and 6.

use crate::station::check_closed;
use crate::{Error, Station, StationKind};

/// Bounds of one closed network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Largest D/m over the stations, seconds: the paper's `S_max`.
    pub bottleneck: f64,
    /// N*, the population where the two throughput bounds meet.
    pub knee: f64,
    /// Upper bound of X, per second: min(N/(Z + D), 1/`S_max`).
    pub throughput: f64,
    /// Lower bound of R, seconds: max(D, N `S_max` - Z), the "hockey stick".
    pub response: f64,
}

/// Bounds for `users` users with mean think time `think`, seconds.
///
/// # Errors
/// There are no stations or no users, the think time is negative, or all stations are delays, so there is no
/// bottleneck.
pub fn bounds(stations: &[Station], users: u64, think: f64) -> Result<Bounds, Error> {
    check_closed(stations, users, think)?;
    let bottleneck = stations.iter().map(|s| 1.0 / s.capacity(Some(users))).fold(0.0, f64::max);
    if bottleneck == 0.0 {
        return Err(Error::Unsupported("every station is a delay, so nothing limits the rate; add a queue".into()));
    }
    // A request may be served at the whole rate of a station.
    let fastest = |s: &Station| match s.kind {
        StationKind::LoadDependent(_) => 1.0 / s.capacity(Some(users)),
        _ => s.demand(),
    };
    let (n, demand): (f64, f64) = (users as f64, stations.iter().map(fastest).sum());
    Ok(Bounds {
        bottleneck,
        knee: (think + demand) / bottleneck,
        throughput: (n / (think + demand)).min(1.0 / bottleneck),
        response: demand.max(n * bottleneck - think),
    })
}
