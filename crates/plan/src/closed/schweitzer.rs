//! The Bard-Schweitzer approximation of mean value analysis, for one class of users.
//!
//! It replaces "the queue an arrival finds, with one user fewer" by (N-1)/N of the queue itself and iterates (Schweitzer
//! 1979; Bard 1979). It is off by up to some ten percent near the knee; use [`super::mva`] unless you are reproducing
//! numbers made with it, as Brady and Gunther's Table 1 is (tolerance 1e-3).

use crate::error::positive;
use crate::station::closed_question;
use crate::{Error, Kind, Solution, Station};

const MOST_STEPS: usize = 1_000_000;

/// The approximate solution, iterated until no station's Q moves by `tolerance` or more from one step to the next.
///
/// # Errors
/// What the exact solver refuses; also multi-server stations, a tolerance that is not above zero, and an iteration that does
/// not settle.
pub fn solve(stations: &[Station], users: u64, think: f64, tolerance: f64) -> Result<Solution, Error> {
    closed_question(stations, users, think)?;
    positive("the tolerance", tolerance)?;
    if let Some(station) = stations.iter().find(|s| matches!(s.kind, Kind::Queue { servers } if servers > 1)) {
        return Err(Error::Refused(format!(
            "station `{}` has several servers, which Bard-Schweitzer does not cover; mean value analysis does, exactly",
            station.name
        )));
    }
    let n = users as f64;
    let mut queue = vec![n / stations.len() as f64; stations.len()];
    for _ in 0..MOST_STEPS {
        let residence: Vec<f64> = stations
            .iter()
            .zip(&queue)
            .map(|(s, q)| if s.kind == Kind::Delay { s.demand() } else { s.demand() * (1.0 + q * (n - 1.0) / n) })
            .collect();
        let throughput = n / (think + residence.iter().sum::<f64>());
        let moved = residence.iter().zip(&queue).map(|(r, q)| (throughput * r - q).abs()).fold(0.0, f64::max);
        if moved < tolerance {
            return Ok(Solution::of(stations, throughput, &residence));
        }
        queue = residence.iter().map(|r| throughput * r).collect();
    }
    Err(Error::Unsettled { steps: MOST_STEPS, tolerance })
}
