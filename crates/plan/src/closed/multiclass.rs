//! Networks with several classes of users, each with its own think time and its own demands.
//!
//! At an FCFS station, product form needs the same service distribution for every class; under processor sharing there
//! is no such condition (BCMP 1975). Stations have one or more servers; a delay is part of the think time.

use crate::Error;
use crate::error::{not_negative, positive, some};

pub use super::classes::Class;
use super::classes::Populations;
use super::constants::{thinking, with_station};

/// Throughput of each class, and its residence time at each station.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// X of each class, per second.
    pub throughput: Vec<f64>,
    /// Residence time of each class (outer) at each station (inner), seconds.
    pub residence: Vec<Vec<f64>>,
}

impl Solution {
    /// R, response time of class `c`, seconds.
    pub fn response(&self, c: usize) -> f64 {
        self.residence[c].iter().sum()
    }
}

/// A station with several servers: P(j requests there), for j below m - 1, by population vector.
struct Busy {
    station: usize,
    /// m - 1 numbers per vector; the first one is always known.
    probabilities: Vec<f64>,
}

/// Exact solution by the vector recursion of Reiser and Lavenberg (1980), with at most `budget` population vectors times servers
/// of a station. `servers` are the numbers of servers of the stations.
///
/// At a station with m servers the mean residence time of class c is `D_c / m (1 + Q + sum over j < m - 1 of (m - 1 -
/// j) P(j))`, where Q and P(j) are those of the network with one user of class c fewer. P(0) is the ratio of the
/// normalisation constants without and with the station (Reiser 1981), so nothing is subtracted.
///
/// # Errors
/// There are no classes, a class has no users, the numbers of demands or of servers differ, a time is negative, or `budget` is too small.
pub fn exact(classes: &[Class], servers: &[u32], budget: usize) -> Result<Solution, Error> {
    let stations = check(classes, servers)?;
    let most = servers.iter().copied().max().unwrap_or(1);
    let states: f64 = classes.iter().map(|c| c.users as f64 + 1.0).product::<f64>() * f64::from(most);
    if states > budget as f64 {
        return Err(Error::TooManyStates { states, budget });
    }
    let populations = Populations::of(classes);
    let mut several = several_servers(classes, servers, &populations);
    let mut queue = vec![0.0; populations.count() * stations];
    let mut solution = Solution { throughput: vec![0.0; classes.len()], residence: vec![vec![]; classes.len()] };
    for state in 1..populations.count() {
        for (c, class) in classes.iter().enumerate() {
            let Some(before) = populations.without(state, c) else { continue };
            let mut residence = residence(class, servers, &queue[before * stations..][..stations]);
            for busy in &several {
                let m = servers[busy.station] as usize;
                let idle: f64 = (0..m - 1).map(|j| (m - 1 - j) as f64 * busy.probabilities[before * (m - 1) + j]).sum();
                residence[busy.station] += class.demands[busy.station] / m as f64 * idle;
            }
            let throughput = populations.users(state, c) as f64 / (class.think + residence.iter().sum::<f64>());
            for (k, r) in residence.iter().enumerate() {
                queue[state * stations + k] += throughput * r;
            }
            for busy in &mut several {
                let width = servers[busy.station] as usize - 1;
                for j in 1..width {
                    let more = class.demands[busy.station] * throughput * busy.probabilities[before * width + j - 1]
                        / j as f64;
                    busy.probabilities[state * width + j] += more;
                }
            }
            (solution.throughput[c], solution.residence[c]) = (throughput, residence);
        }
    }
    Ok(solution)
}

/// The stations with several servers, each with P(0).
fn several_servers(classes: &[Class], servers: &[u32], populations: &Populations) -> Vec<Busy> {
    let stations: Vec<usize> = (0..servers.len()).filter(|k| servers[*k] > 1).collect();
    let demands = |k: usize| classes.iter().map(|class| class.demands[k]).collect::<Vec<f64>>();
    let add = |network: Vec<f64>, k: usize| with_station(&network, &demands(k), servers[k], populations);
    if stations.is_empty() {
        return Vec::new();
    }
    let single = (0..servers.len()).filter(|k| servers[*k] == 1).fold(thinking(classes, populations), add);
    let of = |k: usize| {
        let without = stations.iter().copied().filter(|other| *other != k).fold(single.clone(), add);
        let with = with_station(&without, &demands(k), servers[k], populations);
        let width = servers[k] as usize - 1;
        let mut probabilities = vec![0.0; populations.count() * width];
        for (state, (without, with)) in without.iter().zip(&with).enumerate() {
            probabilities[state * width] = libm::exp(without - with);
        }
        Busy { station: k, probabilities }
    };
    stations.iter().copied().map(of).collect()
}

/// Bard-Schweitzer approximation, iterated until the relative change is below `tolerance`. A station with m servers
/// becomes one server that is m times as fast, and a delay for the rest of the demand (Seidmann, Schweitzer and
/// Shalev-Oren 1987).
///
/// # Errors
/// As [`exact`], without the budget; also an iteration that does not converge.
pub fn schweitzer(classes: &[Class], servers: &[u32], tolerance: f64) -> Result<Solution, Error> {
    const MAX_STEPS: usize = 100_000;
    let stations = check(classes, servers)?;
    positive("the tolerance", tolerance)?;
    let mut queue: Vec<Vec<f64>> = classes.iter().map(|c| vec![c.users as f64 / stations as f64; stations]).collect();
    for _ in 0..MAX_STEPS {
        let mut solution = Solution { throughput: vec![], residence: vec![] };
        // Requests of each class that wait or are served by the fast server; those in the delay are not met.
        let mut met = Vec::new();
        for (c, class) in classes.iter().enumerate() {
            let n = class.users as f64;
            let seen: Vec<f64> = (0..stations)
                .map(|k| queue.iter().enumerate().map(|(o, q)| if o == c { q[k] * (n - 1.0) / n } else { q[k] }).sum())
                .collect();
            let mut residence = residence(class, servers, &seen);
            met.push(residence.clone());
            for ((residence, demand), m) in residence.iter_mut().zip(&class.demands).zip(servers) {
                *residence += demand * (1.0 - 1.0 / f64::from(*m));
            }
            solution.throughput.push(n / (class.think + residence.iter().sum::<f64>()));
            solution.residence.push(residence);
        }
        let mut moved: f64 = 0.0;
        for (c, class) in classes.iter().enumerate() {
            for (queue, residence) in queue[c].iter_mut().zip(&met[c]) {
                let q = solution.throughput[c] * residence;
                moved = moved.max((q - *queue).abs() / class.users as f64);
                *queue = q;
            }
        }
        if moved < tolerance {
            return Ok(solution);
        }
    }
    Err(Error::NotConverged { steps: MAX_STEPS, tolerance })
}

/// R = D / m (1 + Q), where Q is the queue that an arrival finds.
fn residence(class: &Class, servers: &[u32], seen: &[f64]) -> Vec<f64> {
    let of = class.demands.iter().zip(servers).zip(seen);
    of.map(|((demand, m), queue)| demand / f64::from(*m) * (1.0 + queue)).collect()
}

/// Checks the classes and the servers, and returns the number of stations.
fn check(classes: &[Class], servers: &[u32]) -> Result<usize, Error> {
    let stations = classes.first().ok_or(Error::Empty { what: "classes" })?.demands.len();
    if servers.len() != stations {
        return Err(Error::Unsupported(format!(
            "the number of servers is given {} times for {stations} stations; give one number per station",
            servers.len()
        )));
    }
    for m in servers {
        some("the number of servers", u64::from(*m))?;
    }
    for class in classes {
        some("the number of users of a class", class.users)?;
        not_negative("the think time of a class", class.think)?;
        if class.demands.len() != stations {
            return Err(Error::Unsupported(format!(
                "class `{}` has {} demands for {} stations; give one demand per station, 0 for a station that the class does not visit",
                class.name,
                class.demands.len(),
                stations
            )));
        }
        for demand in &class.demands {
            not_negative("a demand", *demand)?;
        }
        positive("the total demand of a class", class.demands.iter().sum())?;
    }
    Ok(stations)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::closed::mva;
    use crate::{Station, StationKind};

    fn classes() -> [Class; 2] {
        [(5, 0.5, [0.1, 0.3, 0.6]), (3, 0.0, [0.4, 0.0, 0.2])].map(|(users, think, demands)| Class {
            name: String::new(),
            users,
            think,
            demands: demands.to_vec(),
        })
    }

    /// Sum of the weights of all states with these numbers of users, by their definition.
    fn constant(classes: &[Class], servers: &[u32], users: [u32; 2]) -> f64 {
        let weight = |k: usize, at: [u32; 2]| {
            let all = at[0] + at[1];
            let order: f64 = (1..=all).map(f64::from).product();
            let pace: f64 = (1..=all).map(|j| f64::from(j.min(servers[k]))).product();
            let of = |c: usize| classes[c].demands[k].powi(at[c] as i32) / (1..=at[c]).map(f64::from).product::<f64>();
            order / pace * of(0) * of(1)
        };
        let thinking = |at: [u32; 2]| -> f64 {
            let of = |c: usize| classes[c].think.powi(at[c] as i32) / (1..=at[c]).map(f64::from).product::<f64>();
            of(0) * of(1)
        };
        let pairs = |upto: [u32; 2]| (0..=upto[0]).flat_map(move |a| (0..=upto[1]).map(move |b| [a, b]));
        let less = |a: [u32; 2], b: [u32; 2]| [a[0] - b[0], a[1] - b[1]];
        let mut total = 0.0;
        for first in pairs(users) {
            let left = less(users, first);
            for second in pairs(left) {
                let left = less(left, second);
                for third in pairs(left) {
                    total += weight(0, first) * weight(1, second) * weight(2, third) * thinking(less(left, third));
                }
            }
        }
        total
    }

    #[test]
    fn several_servers_agree_with_the_sum_over_all_states() {
        let classes = classes();
        for servers in [[1, 1, 1], [1, 1, 3], [2, 4, 1], [3, 2, 5], [12, 12, 12]] {
            let found = exact(&classes, &servers, 1_000).unwrap();
            let whole = constant(&classes, &servers, [5, 3]);
            for (x, users) in found.throughput.iter().zip([[4, 3], [5, 2]]) {
                let truth = constant(&classes, &servers, users) / whole;
                assert!((x / truth - 1.0).abs() < 1e-12, "{servers:?}: {x} instead of {truth}");
            }
            let approximate = schweitzer(&classes, &servers, 1e-10).unwrap();
            for (x, truth) in approximate.throughput.iter().zip(&found.throughput) {
                assert!((x / truth - 1.0).abs() < 0.2, "{servers:?}: {x} for {truth}");
            }
        }
    }

    #[test]
    fn one_class_is_that_of_the_other_solver() {
        let class = Class { name: String::new(), users: 300, think: 1.0, demands: vec![0.08, 0.5, 0.02] };
        let servers = [4, 24, 1];
        let stations: Vec<Station> = (class.demands.iter().zip(servers))
            .map(|(demand, servers)| Station::new("", 1.0, *demand, StationKind::Queue { servers }).unwrap())
            .collect();
        let truth = mva::solve(&stations, 300, 1.0).unwrap();
        let found = exact(&[class], &servers, 10_000).unwrap();
        assert!((found.throughput[0] / truth.throughput - 1.0).abs() < 1e-9, "{found:?}");
        for (residence, station) in found.residence[0].iter().zip(&truth.stations) {
            assert!((residence / station.residence - 1.0).abs() < 1e-8, "{residence} {station:?}");
        }
    }
}
