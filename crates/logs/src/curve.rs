//! Number of sessions as a function of the session timeout tau, and the knee of that curve.

use serde::{Deserialize, Serialize};

use crate::gaps::LONGEST;
use crate::sessions::Sessions;

/// A point of the curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Point {
    /// Session timeout tau in seconds.
    pub timeout_s: u64,
    /// Number of sessions with this timeout.
    pub sessions: u64,
    /// Mean number of requests per session.
    pub requests_per_session: f64,
}

/// Timeouts of the printed curve in seconds.
const SHOWN: [u64; 19] =
    [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 900, 1200, 1800, 2700, 3600, 5400, 7200, 9000, LONGEST];

/// Number of sessions as a function of the timeout.
#[derive(Clone, Debug)]
pub struct Curve {
    clients: u64,
    requests: u64,
    longer: Vec<u64>,
    /// Factor by which counts are scaled if clients are sampled.
    one_in: u64,
}

impl Curve {
    /// Computes the curve from the gaps of the sampled clients.
    pub fn new(sessions: &Sessions) -> Self {
        Self {
            clients: sessions.clients() as u64,
            requests: sessions.hits(),
            longer: sessions.gaps().longer(),
            one_in: sessions.one_in(),
        }
    }

    /// The point at a timeout in seconds, at most [`LONGEST`].
    pub fn at(&self, timeout_s: u64) -> Point {
        let sessions = self.clients + self.longer[timeout_s.min(LONGEST) as usize];
        let requests_per_session = self.requests as f64 / sessions.max(1) as f64;
        Point { timeout_s, sessions: sessions * self.one_in, requests_per_session }
    }

    /// The points to print.
    pub fn points(&self) -> Vec<Point> {
        SHOWN.into_iter().map(|timeout| self.at(timeout)).collect()
    }

    /// The knee in seconds: the shortest timeout in whole minutes after which one more minute merges fewer than one
    /// session in two hundred. The derivative is taken between tau/sqrt(2) and tau*sqrt(2) (section 7 of the paper
    /// picks the point where the derivative levels off).
    pub fn knee(&self) -> u64 {
        let steep = |minute: &u64| {
            let tau = minute * 60;
            let (low, high) =
                ((tau as f64 / std::f64::consts::SQRT_2) as u64, (tau as f64 * std::f64::consts::SQRT_2) as u64);
            let fall = self.at(low).sessions - self.at(high.min(LONGEST)).sessions;
            let per_minute = fall as f64 / (high.min(LONGEST) - low) as f64 * 60.0;
            per_minute > 0.005 * self.at(tau).sessions as f64
        };
        (1..LONGEST / 60).rev().find(steep).map_or(60, |minute| (minute + 1) * 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gaps::Gaps;
    use crate::time::SECOND;

    #[test]
    fn the_knee_separates_think_times_from_absences() {
        // Think times are exponential with mean 60 s, absences are longer than three hours.
        let mut gaps = Gaps::default();
        for i in 0..10_000 {
            let u = (f64::from(i) + 0.5) / 10_000.0;
            gaps.add((-60.0 * u.ln()) as i64 * SECOND);
        }
        (0..1000).for_each(|_| gaps.add(50_000 * SECOND));
        let knee = Curve { clients: 500, requests: 12_000, longer: gaps.longer(), one_in: 1 }.knee();
        assert!((240..=600).contains(&knee), "{knee}");
    }
}
