//! Exact mean value analysis of a product-form network of one class of users.
//!
//! Holds for exponential service under FCFS, and for any service law under processor sharing (BCMP; Baskett, Chandy, Muntz
//! and Palacios 1975); stations may have several servers, or none to wait for (delays). The law of the think time does not
//! matter, only its mean.
//!
//! # Method
//! Reiser and Lavenberg's recursion over the population (1980), with the marginal probabilities of multi-server stations
//! taken from the complement network, p(0|n) = p(0|n-1) X(n)/X'(n) where X' is the throughput without the station (Reiser
//! 1981), and not as 1 minus the others, which goes negative in floating point near saturation. Adding the stations one
//! after another makes each network the complement of the next. Nothing is ever subtracted, and every number kept is a
//! probability or a mean time, so nothing overflows.
//!
//! Cost: O(N K) for K single servers, and O(N m K log K) for K stations of m servers.

use crate::station::closed_question;
use crate::{Error, Kind, Solution, Station};

/// The exact solution for `users` who think `think` seconds on average.
///
/// # Errors
/// No stations, no users, or a negative think time.
pub fn solve(stations: &[Station], users: u64, think: f64) -> Result<Solution, Error> {
    closed_question(stations, users, think)?;
    let delay: f64 = stations.iter().filter(|s| s.kind == Kind::Delay).map(Station::demand).sum();
    let idle = (0..=users).map(|n| (think + delay) / n.max(1) as f64).collect();
    let queues = stations.iter().enumerate().filter_map(|(place, station)| match station.kind {
        Kind::Queue { servers } => Some(Queue { place, demand: station.demand(), servers }),
        Kind::Delay => None,
    });
    let (single, several): (Vec<Queue>, Vec<Queue>) = queues.partition(|queue| queue.servers == 1);
    let without_several = joined_by(&single, idle);
    let mut residence: Vec<f64> = stations.iter().map(Station::demand).collect();
    each_joins_last(&several, &without_several, &mut residence);
    let gap = joined_by(&several, without_several);
    for queue in &single {
        residence[queue.place] = residence_at_one_server(&gap, queue.demand);
    }
    Ok(Solution::of(stations, 1.0 / gap[gap.len() - 1], &residence))
}

/// A queue at its place among the stations.
struct Queue {
    place: usize,
    demand: f64,
    servers: u32,
}

/// Mean seconds between launches, 1/X(n), for n = 0 (unused) to N, when these queues join a network with `gap` between them.
fn joined_by(queues: &[Queue], gap: Vec<f64>) -> Vec<f64> {
    queues.iter().fold(gap, |gap, queue| add(&gap, queue.demand, queue.servers).0)
}

/// The residence time at each of these queues when it is the last to join: half of them join, then the other half is gone
/// through likewise. K queues take K log K steps so, where one network without each would take K squared.
fn each_joins_last(queues: &[Queue], gap: &[f64], residence: &mut [f64]) {
    match queues {
        [] => {}
        [last] => residence[last.place] = add(gap, last.demand, last.servers).1,
        _ => {
            let (first, second) = queues.split_at(queues.len() / 2);
            each_joins_last(second, &joined_by(first, gap.to_vec()), residence);
            each_joins_last(first, &joined_by(second, gap.to_vec()), residence);
        }
    }
}

/// The network with `gap` seconds between launches when a queue joins it: its new gaps, and the residence time at the queue
/// with all users.
fn add(gap: &[f64], demand: f64, servers: u32) -> (Vec<f64>, f64) {
    let m = servers as usize;
    // With n-1 users: P(j there) for j < m, P(m or more there), and the mean number there.
    let mut p = vec![0.0; m];
    p[0] = 1.0;
    let pace: Vec<f64> = (0..m).map(|j| demand / j.max(1) as f64).collect();
    let (mut busy, mut number, mut residence) = (0.0, 0.0, 0.0);
    let mut joined = Vec::with_capacity(gap.len());
    joined.push(gap[0]);
    for without in &gap[1..] {
        let idle: f64 = p[..m - 1].iter().enumerate().map(|(j, p)| (m - 1 - j) as f64 * p).sum();
        residence = demand / m as f64 * (1.0 + number + idle);
        busy = demand / m as f64 * (busy + p[m - 1]);
        for j in (1..m).rev() {
            p[j] = pace[j] * p[j - 1];
        }
        p[0] *= without;
        let with = busy + p.iter().sum::<f64>();
        let share = 1.0 / with;
        for p in &mut p {
            *p *= share;
        }
        busy /= with;
        number = residence / with;
        joined.push(with);
    }
    (joined, residence)
}

/// R = D (1 + Q(n-1)) with Q(n) = X(n) R(n), for every n in turn (the arrival theorem).
fn residence_at_one_server(gap: &[f64], demand: f64) -> f64 {
    gap[1..]
        .iter()
        .fold((0.0, 0.0), |(number, _), gap| {
            let residence = demand * (1.0 + number);
            (residence / gap, residence)
        })
        .1
}
