//! Asymptotic bounds of a closed network: what no scheduling and no luck can beat.
//!
//! Source: Muntz and Wong 1974; Brady and Gunther 2016, eqns 10 and 11 and Figures 5 and 6. They hold for any service law.

use crate::station::closed_question;
use crate::{Error, Station};

/// The bounds of one closed network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Slowest station's 1/X, D/m, seconds: the paper's `S_max`.
    pub bottleneck: f64,
    /// N*, the population where the two throughput bounds meet.
    pub knee: f64,
    /// X can be no higher: min(N/(Z + D), 1/`S_max`).
    pub throughput: f64,
    /// R can be no lower: max(D, N `S_max` - Z), the hockey stick.
    pub response: f64,
}

/// The bounds for `users` who think `think` seconds.
///
/// # Errors
/// No stations, no users, a negative think time, or a network of delays only, which has no bottleneck.
pub fn bounds(stations: &[Station], users: u64, think: f64) -> Result<Bounds, Error> {
    closed_question(stations, users, think)?;
    let demand: f64 = stations.iter().map(Station::demand).sum();
    let bottleneck = stations.iter().map(|s| 1.0 / s.capacity()).fold(0.0, f64::max);
    if bottleneck == 0.0 {
        return Err(Error::Refused("every station is a delay, so nothing limits the rate; add a queue".into()));
    }
    let n = users as f64;
    Ok(Bounds {
        bottleneck,
        knee: (think + demand) / bottleneck,
        throughput: (n / (think + demand)).min(1.0 / bottleneck),
        response: demand.max(n * bottleneck - think),
    })
}
