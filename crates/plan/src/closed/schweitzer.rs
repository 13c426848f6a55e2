//! Bard-Schweitzer approximation of mean value analysis, for one class of users.
//!
//! It replaces the queue that an arrival finds (that of the network with one user fewer) by (N-1)/N of the queue
//! itself, and iterates (Schweitzer 1979; Bard 1979). Its error reaches about ten percent near the knee. Use
//! [`super::mva`] unless you reproduce numbers made with the approximation, such as Brady and Gunther's Table 1
//! (tolerance 1e-3).

use crate::error::positive;
use crate::station::check_closed;
use crate::{Error, Solution, Station, StationKind};

const MAX_STEPS: usize = 1_000_000;

/// Approximate solution, iterated until no station's Q changes by `tolerance` or more in a step.
///
/// # Errors
/// As the exact solver; also multi-server stations, a tolerance that is not above zero, and an iteration that does not
/// converge.
pub fn solve(stations: &[Station], users: u64, think: f64, tolerance: f64) -> Result<Solution, Error> {
    check_closed(stations, users, think)?;
    positive("the tolerance", tolerance)?;
    let is_single = |s: &Station| matches!(s.kind, StationKind::Queue { servers: 1 } | StationKind::Delay);
    if let Some(station) = stations.iter().find(|s| !is_single(s)) {
        return Err(Error::Unsupported(format!(
            "station `{}` has several servers or load-dependent rates, which Bard-Schweitzer does not cover; use exact mean value analysis",
            station.name
        )));
    }
    let n = users as f64;
    let mut queue = vec![n / stations.len() as f64; stations.len()];
    for _ in 0..MAX_STEPS {
        let residence: Vec<f64> = stations
            .iter()
            .zip(&queue)
            .map(
                |(s, q)| if s.kind == StationKind::Delay { s.demand() } else { s.demand() * (1.0 + q * (n - 1.0) / n) },
            )
            .collect();
        let throughput = n / (think + residence.iter().sum::<f64>());
        let moved = residence.iter().zip(&queue).map(|(r, q)| (throughput * r - q).abs()).fold(0.0, f64::max);
        if moved < tolerance {
            return Ok(Solution::of(stations, throughput, &residence, Some(users)));
        }
        queue = residence.iter().map(|r| throughput * r).collect();
    }
    Err(Error::NotConverged { steps: MAX_STEPS, tolerance })
}
