//! Exact mean value analysis of a product-form network with one class of users.
//!
//! Holds for exponential service under FCFS, and for any service distribution under processor sharing (BCMP; Baskett,
//! Chandy, Muntz and Palacios 1975). Stations may have one server, several servers, a rate that depends on the number of
//! requests there, or no queue (delays). Only the mean of the think time matters, not its distribution.
//!
//! # Method
//! Reiser and Lavenberg's recursion over the population (1980). The marginal probabilities of stations with several servers or
//! load-dependent rates come from the complement network, p(0|n) = p(0|n-1) X(n)/X'(n), where X' is the throughput without the station
//! (Reiser 1981). The usual formula, 1 minus the other probabilities, becomes negative in floating point near
//! saturation. Stations are added one after another, and each network is the complement of the next one. Nothing is
//! subtracted, and every stored number is a probability or a mean time, so nothing overflows.
//!
//! Cost: O(N K) for K single servers, and O(N L K log K) for K stations whose rate is constant from L requests on (m servers: L = m).

use offered_workload::Rates;

use crate::occupancy::Occupancy;
use crate::station::check_closed;
use crate::{Error, Solution, Station, StationKind};

/// Maximum number of users with rates that always change, for which a station costs O(N^2).
const MAX_USERS: u64 = 20_000;

/// Exact solution for `users` users with mean think time `think`, seconds.
///
/// # Errors
/// There are no stations or no users, or the think time is negative. There are more than 20,000 users, and a rate still
/// changes at that number.
pub fn solve(stations: &[Station], users: u64, think: f64) -> Result<Solution, Error> {
    let (single, several) = queues(stations, users, think)?;
    let without_several = joined_by(&single, idle(stations, users, think));
    let mut residence: Vec<f64> = stations.iter().map(Station::demand).collect();
    each_joins_last(&several, &without_several, &mut |last, gap| {
        residence[last.place] = add(gap, &last.pace).residence();
    });
    let gap = joined_by(&several, without_several);
    for queue in &single {
        residence[queue.place] = residence_at_one_server(&gap, queue.pace[0]);
    }
    Ok(Solution::of(stations, 1.0 / gap[gap.len() - 1], &residence, Some(users)))
}

/// Throughputs with 1, 2, ... `users` users, per second.
///
/// # Errors
/// As [`solve`].
pub(crate) fn throughputs(stations: &[Station], users: u64, think: f64) -> Result<Vec<f64>, Error> {
    let (single, several) = queues(stations, users, think)?;
    let gap = joined_by(&several, joined_by(&single, idle(stations, users, think)));
    Ok(gap[1..].iter().map(|gap| 1.0 / gap).collect())
}

/// Distribution of the number of requests at station `place` of the network that [`solve`] solves.
///
/// # Errors
/// As [`solve`].
pub(crate) fn occupancy(stations: &[Station], users: u64, think: f64, place: usize) -> Result<Occupancy, Error> {
    let (single, several) = queues(stations, users, think)?;
    let (last, others): (Vec<Queue>, Vec<Queue>) = single.into_iter().chain(several).partition(|q| q.place == place);
    let gap = joined_by(&others, idle(stations, users, think));
    let queue = last.first().ok_or(Error::Empty { what: "queues" })?;
    Ok(add(&gap, &queue.pace).occupancy)
}

/// Distribution of the number of requests at each station of a network whose number of users is random: n of them with probability
/// `weights[n - 1]`, who do not think. Of delays only the mean is known.
///
/// # Errors
/// As [`solve`].
pub(crate) fn mixed_occupancies(stations: &[Station], weights: &[f64]) -> Result<Vec<Occupancy>, Error> {
    let users = weights.len() as u64;
    let (mut queues, several) = queues(stations, users, 0.0)?;
    queues.extend(several);
    let idle = idle(stations, users, 0.0);
    let gap = joined_by(&queues, idle.clone());
    let mean_rate: f64 = weights.iter().zip(&gap[1..]).map(|(weight, gap)| weight / gap).sum();
    let of_delay = |station: &Station| Occupancy {
        p: Vec::new(),
        more: weights.iter().sum(),
        more_mean: mean_rate * station.demand(),
    };
    let mut found: Vec<Occupancy> = stations.iter().map(of_delay).collect();
    each_joins_last(&queues, &idle, &mut |last, gap| {
        let mut sum = Occupancy::of(vec![0.0; last.pace.len()]);
        add_and_see(gap, &last.pace, |users, at| sum.add(at, weights[users - 1]));
        found[last.place] = sum;
    });
    Ok(found)
}

/// A queue and its index among the stations.
struct Queue {
    place: usize,
    /// Seconds per request with 1, 2, ... requests at the queue; the last entry holds for more.
    pace: Vec<f64>,
}

/// The queues with one server, and the other queues.
fn queues(stations: &[Station], users: u64, think: f64) -> Result<(Vec<Queue>, Vec<Queue>), Error> {
    check_closed(stations, users, think)?;
    let mut all = Vec::new();
    for (place, station) in stations.iter().enumerate() {
        let rates = match &station.kind {
            StationKind::Delay => continue,
            StationKind::Queue { servers } => Rates::servers(*servers),
            StationKind::LoadDependent(rates) => rates.clone(),
        };
        let most = rates.constant_from().unwrap_or(u64::MAX).min(users);
        if most > MAX_USERS && matches!(station.kind, StationKind::LoadDependent(_)) {
            return Err(Error::Unsupported(format!(
                "the rate of station `{}` depends on the number of requests there, up to {most}; a network with such a station can have at most {MAX_USERS} users; use fewer users, or simulate",
                station.name
            )));
        }
        all.push(Queue { place, pace: (1..=most).map(|n| station.demand() / rates.at(n)).collect() });
    }
    Ok(all.into_iter().partition(|queue| queue.pace.len() == 1))
}

/// Mean seconds between requests, 1/X(n), of think times and delays alone.
fn idle(stations: &[Station], users: u64, think: f64) -> Vec<f64> {
    let delay: f64 = stations.iter().filter(|s| s.kind == StationKind::Delay).map(Station::demand).sum();
    (0..=users).map(|n| (think + delay) / n.max(1) as f64).collect()
}

/// Mean seconds between requests, 1/X(n), for n = 0 (unused) to N, after these queues join a network with `gap` seconds
/// between requests.
fn joined_by(queues: &[Queue], gap: Vec<f64>) -> Vec<f64> {
    queues.iter().fold(gap, |gap, queue| add(&gap, &queue.pace).gap)
}

/// Calls `visit` for each of these queues with the network of all other queues, which it joins last. Half of the queues
/// join the network and the function calls itself for the other half, and vice versa. This takes K log K steps for K
/// queues; building the network without each queue separately would take K^2.
fn each_joins_last(queues: &[Queue], gap: &[f64], visit: &mut impl FnMut(&Queue, &[f64])) {
    match queues {
        [] => {}
        [last] => visit(last, gap),
        _ => {
            let (first, second) = queues.split_at(queues.len() / 2);
            each_joins_last(second, &joined_by(first, gap.to_vec()), visit);
            each_joins_last(first, &joined_by(second, gap.to_vec()), visit);
        }
    }
}

/// A network with one more queue.
struct Joined {
    /// Mean seconds between requests, by number of users.
    gap: Vec<f64>,
    /// Mean number at the queue with all users.
    occupancy: Occupancy,
}

impl Joined {
    /// Residence time at the queue with all users.
    fn residence(&self) -> f64 {
        self.occupancy.mean() * self.gap[self.gap.len() - 1]
    }
}

/// Adds a queue to the network with `gap` seconds between requests.
fn add(gap: &[f64], pace: &[f64]) -> Joined {
    add_and_see(gap, pace, |_, _| {})
}

/// Like [`add`]; `see` gets each number of users, from 1, and the mean number at the queue.
fn add_and_see(gap: &[f64], pace: &[f64], mut see: impl FnMut(usize, &Occupancy)) -> Joined {
    let m = pace.len();
    let last = pace[m - 1];
    // With n-1 users: P(j at the queue) for j < m, and the probability and the mean of m or more.
    let mut at = Occupancy::of(vec![0.0; m]);
    at.p[0] = 1.0;
    let mut joined = Vec::with_capacity(gap.len());
    joined.push(gap[0]);
    for (users, without) in gap.iter().enumerate().skip(1) {
        let Occupancy { p, more, more_mean } = &mut at;
        *more_mean = last * (*more_mean + *more + m as f64 * p[m - 1]);
        *more = last * (*more + p[m - 1]);
        for j in (1..m).rev() {
            p[j] = pace[j - 1] * p[j - 1];
        }
        p[0] *= without;
        let with = *more + p.iter().sum::<f64>();
        let share = 1.0 / with;
        for p in p {
            *p *= share;
        }
        *more *= share;
        *more_mean *= share;
        joined.push(with);
        see(users, &at);
    }
    Joined { gap: joined, occupancy: at }
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
