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
//! Cost: O(N K) for K single servers; each multi-server station adds a pass of O(N (K + m)).

use crate::station::closed_question;
use crate::{Error, Kind, Solution, Station};

/// The exact solution for `users` who think `think` seconds on average.
///
/// # Errors
/// No stations, no users, or a negative think time.
pub fn solve(stations: &[Station], users: u64, think: f64) -> Result<Solution, Error> {
    closed_question(stations, users, think)?;
    let n = users as usize;
    let gap = network(stations, n, think, None);
    let residence = |(k, station): (usize, &Station)| match station.kind {
        Kind::Delay => station.demand(),
        Kind::Queue { servers: 1 } => residence_at_one_server(&gap, station.demand()),
        Kind::Queue { servers } => add(&network(stations, n, think, Some(k)), station.demand(), servers).1,
    };
    let residence: Vec<f64> = stations.iter().enumerate().map(residence).collect();
    Ok(Solution::of(stations, 1.0 / gap[n], &residence))
}

/// Mean seconds between launches, 1/X(n), for n = 0 (unused) to `users`, of the network without station `left_out`.
fn network(stations: &[Station], users: usize, think: f64, left_out: Option<usize>) -> Vec<f64> {
    let stations = || stations.iter().enumerate().filter(|(k, _)| Some(*k) != left_out).map(|(_, s)| s);
    let delay: f64 = stations().filter(|s| s.kind == Kind::Delay).map(Station::demand).sum();
    let mut gap: Vec<f64> = (0..=users).map(|n| (think + delay) / n.max(1) as f64).collect();
    for station in stations() {
        if let Kind::Queue { servers } = station.kind {
            gap = add(&gap, station.demand(), servers).0;
        }
    }
    gap
}

/// The network with `gap` seconds between launches when a queue joins it: its new gaps, and the residence time at the queue
/// with all users.
fn add(gap: &[f64], demand: f64, servers: u32) -> (Vec<f64>, f64) {
    let m = servers as usize;
    // With n-1 users: P(j there) for j < m, P(m or more there), and the mean number there.
    let mut p = vec![0.0; m];
    p[0] = 1.0;
    let (mut busy, mut number, mut residence) = (0.0, 0.0, 0.0);
    let mut joined = Vec::with_capacity(gap.len());
    joined.push(gap[0]);
    for without in &gap[1..] {
        let idle: f64 = p[..m - 1].iter().enumerate().map(|(j, p)| (m - 1 - j) as f64 * p).sum();
        residence = demand / m as f64 * (1.0 + number + idle);
        busy = demand / m as f64 * (busy + p[m - 1]);
        for j in (1..m).rev() {
            p[j] = demand / j as f64 * p[j - 1];
        }
        p[0] *= without;
        let with = busy + p.iter().sum::<f64>();
        for p in &mut p {
            *p /= with;
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
