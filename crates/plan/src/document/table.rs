//! The documents of `plan table`: a closed network of single-server stations at several numbers of users (Brady and Gunther, Tables 1a
//! and 1b, Figures 1, 5 and 6).

use crate::closed::{bounds, mva, schweitzer};
use crate::{Error, Solution, Station, littles_law, load};
use offered_events::document::Schema;

use super::{Curve, LoadLine, Point, Population, Populations};

/// Maximum number of points of a curve.
const POINTS: u64 = 128;

/// A closed network, and the method of solution.
pub struct Network {
    /// The stations that a request visits.
    pub stations: Vec<Station>,
    /// The quantity that is the same for all numbers of users.
    pub given: Given,
    /// The method of solution.
    pub method: Method,
}

/// The quantity that is the same for all numbers of users.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Given {
    /// Think time Z in seconds (Table 1a).
    Think(f64),
    /// N/Z per second, so that Z grows with N (Table 1b, Principle A).
    Ratio(f64),
    /// Utilisation of the slowest station; Z is solved for.
    Load(f64),
}

/// The method of solution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// Mean value analysis.
    Exact,
    /// Bard-Schweitzer approximation.
    Schweitzer {
        /// The iteration ends when no queue length changes by more than this.
        tolerance: f64,
    },
}

impl Method {
    fn name(self) -> String {
        match self {
            Self::Exact => "exact mean value analysis".to_owned(),
            Self::Schweitzer { tolerance } => format!("Bard-Schweitzer approximation, tolerance {tolerance}"),
        }
    }
}

impl Network {
    /// The solution for each number of users.
    ///
    /// # Errors
    /// A number of users or a think time outside the range of the method.
    pub fn populations(&self, users: &[u64]) -> Result<Populations, Error> {
        let rows = users.iter().map(|users| self.population(*users)).collect::<Result<_, _>>()?;
        Ok(Populations { schema: Schema::new(), method: self.method.name(), rows })
    }

    /// Rate and response time against N with their bounds (Figures 5 and 6), up to the largest number of users, and one load line per
    /// number of users (Figure 1).
    ///
    /// # Errors
    /// A number of users or a think time outside the range of the method.
    pub fn curve(&self, users: &[u64]) -> Result<Curve, Error> {
        let most = users.iter().max().copied().unwrap_or(1);
        let mut populations: Vec<u64> = (0..=POINTS).map(|i| (i * most / POINTS).max(1)).collect();
        populations.dedup();
        let point = |users: u64| {
            let Population { think_s, rate_per_s, response_s, .. } = self.population(users)?;
            let bounds = bounds::bounds(&self.stations, users, think_s)?;
            Ok(Point {
                users,
                think_s,
                rate_per_s,
                rate_bound_per_s: bounds.throughput,
                response_s,
                response_bound_s: bounds.response,
                response_asymptote_s: users as f64 * bounds.bottleneck - think_s,
            })
        };
        let first = bounds::bounds(&self.stations, populations[0], self.think(populations[0])?)?;
        Ok(Curve {
            schema: Schema::new(),
            method: self.method.name(),
            bottleneck_s: first.bottleneck,
            knee_users: first.knee,
            points: populations.into_iter().map(point).collect::<Result<_, Error>>()?,
            load_lines: users
                .iter()
                .map(|users| Ok(load_line(&self.population(*users)?)))
                .collect::<Result<_, Error>>()?,
        })
    }

    fn solve(&self, users: u64, think: f64) -> Result<Solution, Error> {
        match self.method {
            Method::Exact => mva::solve(&self.stations, users, think),
            Method::Schweitzer { tolerance } => schweitzer::solve(&self.stations, users, think, tolerance),
        }
    }

    fn think(&self, users: u64) -> Result<f64, Error> {
        match self.given {
            Given::Think(think) => Ok(think),
            Given::Ratio(ratio) => Ok(users as f64 / ratio),
            Given::Load(load) => {
                let slowest = bounds::bounds(&self.stations, users, 0.0)?.bottleneck;
                load::closed_think(load, 1, slowest, users, |think| Ok(self.solve(users, think)?.throughput))
            }
        }
    }

    fn population(&self, users: u64) -> Result<Population, Error> {
        let think = self.think(users)?;
        let Solution { throughput, response, in_system, .. } = self.solve(users, think)?;
        // Quotients by a think time of zero are absent.
        let over_think = |x: f64| Some(x / think).filter(|x| x.is_finite());
        Ok(Population {
            users,
            think_s: think,
            ratio_per_s: over_think(users as f64),
            rate_per_s: throughput,
            concurrency: in_system,
            q_over_z: over_think(in_system),
            response_s: response,
            rort: littles_law::rort(response, think),
        })
    }
}

/// The paper's Figure 1: lambda = N/Z - Q/Z falls from N/Z at an empty server to 0 with all N users queued. The
/// operating point is the intersection with the curve of the server.
fn load_line(row: &Population) -> LoadLine {
    let Population { users, think_s, ratio_per_s, rate_per_s, concurrency, .. } = *row;
    LoadLine { users, think_s, rate_at_no_queue_per_s: ratio_per_s, queue_at_no_rate: users, rate_per_s, concurrency }
}
