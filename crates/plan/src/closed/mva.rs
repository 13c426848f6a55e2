//! Exact mean value analysis of a product-form network with one class of users.
//!
//! Holds for exponential service under FCFS, and for any service distribution under processor sharing (BCMP; Baskett,
//! Chandy, Muntz and Palacios 1975). Stations may have one server, several servers, or no queue (delays). Only the mean
//! of the think time matters, not its distribution.
//!
//! # Method
//! Reiser and Lavenberg's recursion over the population (1980). The marginal probabilities of multi-server stations
//! come from the complement network, p(0|n) = p(0|n-1) X(n)/X'(n), where X' is the throughput without the station
//! (Reiser 1981). The usual "1 minus the others" goes negative in floating point near saturation. Stations are added
//! one after another, so that each network is the complement of the next. Nothing is subtracted, and every stored
//! number is a probability or a mean time, so nothing overflows.
//!
//! Cost: O(N K) for K single servers, and O(N m K log K) for K stations of m servers.

use crate::station::check_closed;
use crate::{Error, Solution, Station, StationKind};

/// Exact solution for `users` users with mean think time `think`, seconds.
///
/// # Errors
/// There are no stations or no users, or the think time is negative.
pub fn solve(stations: &[Station], users: u64, think: f64) -> Result<Solution, Error> {
    check_closed(stations, users, think)?;
    let delay: f64 = stations.iter().filter(|s| s.kind == StationKind::Delay).map(Station::demand).sum();
    let idle = (0..=users).map(|n| (think + delay) / n.max(1) as f64).collect();
    let queues = stations.iter().enumerate().filter_map(|(place, station)| match station.kind {
        StationKind::Queue { servers } => Some(Queue { place, demand: station.demand(), servers }),
        StationKind::Delay => None,
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

/// A queue and its index among the stations.
struct Queue {
    place: usize,
    demand: f64,
    servers: u32,
}

/// Mean seconds between requests, 1/X(n), for n = 0 (unused) to N, after these queues join a network with `gap` seconds
/// between requests.
fn joined_by(queues: &[Queue], gap: Vec<f64>) -> Vec<f64> {
    queues.iter().fold(gap, |gap, queue| add(&gap, queue.demand, queue.servers).0)
}

/// Computes the residence time at each of these queues when it joins last. Half of the queues join, and the other half
/// is handled recursively, and vice versa: K log K steps for K queues, where one network without each queue would take
/// K^2.
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

/// Adds a queue to the network with `gap` seconds between requests. Returns the new gaps, and the residence time at the
/// queue with all users.
fn add(gap: &[f64], demand: f64, servers: u32) -> (Vec<f64>, f64) {
    let m = servers as usize;
    // With n-1 users: P(j at the queue) for j < m, P(m or more), and the mean number.
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
