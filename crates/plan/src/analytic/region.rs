//! Networks with regions of limited capacity, by flow-equivalent servers.
//!
//! A region is replaced by one station. Its rate with n requests is the throughput of the stations of the region alone with n users who do
//! not think (Norton's theorem; Chandy, Herzog and Woo 1975), and with more requests than its capacity the throughput
//! of a full region. This is exact if the region is one station with exponential service, or if it is the whole network
//! and rejects requests. Otherwise it is an approximation, because a full region does not complete requests as a
//! Poisson process. If requests wait before a region, its service must be exponential: with a small capacity processor
//! sharing is no longer insensitive to the distribution, and the error reaches 80 %.

use offered_workload::{Rates, Region, WhenFull};

use super::{Finding, SteadyState, System};
use crate::closed::{load_dependent as closed, mva};
use crate::occupancy::Occupancy;
use crate::open::load_dependent::{self as open, LoadDependent};
use crate::open::qna::Flows;
use crate::{Error, Solution, Station, StationKind, StationMetrics, jackson};

/// Maximum capacity of a region; more would take minutes.
const MAX_CAPACITY: u64 = 2_000;
const METHOD: &str = "flow-equivalent server of each region";
const SOURCE: &str = "Chandy, Herzog and Woo 1975; Sauer 1981";

/// A network in which each region is one station.
struct Network {
    stations: Vec<Station>,
    /// The station or region of the original network that each station represents.
    parts: Vec<Part>,
    is_exact: bool,
}

enum Part {
    /// A station.
    Station,
    /// A region with its stations alone.
    Region(FlowEquivalent),
}

/// A region.
struct FlowEquivalent {
    name: String,
    capacity: u64,
    /// The largest throughput, requests per second.
    throughput: f64,
    /// Mean number of times that a request enters it.
    entries: f64,
    inside: Network,
}

/// A station as the solvers take it, and whether its service is exponential.
pub(super) type Node = (Station, bool);

/// Solves a network of stations with product form in regions. Think times must be exponential only where requests of users are rejected.
pub(super) fn solve(system: System, name: &str, nodes: &[Node], regions: &[Region]) -> Result<Finding, Error> {
    let is_whole = |region: &&Region| region.stations.len() == nodes.len();
    let rejecting: Vec<&Region> = regions.iter().filter(|region| region.when_full == WhenFull::Reject).collect();
    if let Some(part) = rejecting.iter().find(|region| !is_whole(region)) {
        return Ok(Finding::none(name, format!("`{}` rejects requests in a part of the network", part.name)));
    }
    let waiting: Vec<&Region> = regions.iter().filter(|region| region.when_full == WhenFull::Wait).collect();
    let most = rejecting.iter().map(|region| u64::from(region.capacity)).min();
    // Before a full region the variability of the service matters, also under processor sharing.
    let limit = most.or(system.users());
    let binds = |region: &&&Region| limit.is_none_or(|limit| u64::from(region.capacity) < limit);
    for region in waiting.iter().filter(binds) {
        let is_general = |node: &&Node| !node.1 && region.stations.contains(&node.0.name);
        if let Some((station, _)) = nodes.iter().find(is_general) {
            let reason = format!(
                "requests wait before `{}`, and the service of station `{}` is not exponential",
                region.name, station.name
            );
            return Ok(Finding::none(name, reason));
        }
    }
    match most {
        Some(capacity) => rejected(system, name, capacity, network(nodes, &waiting, Some(capacity))?),
        None => waits(system, name, &network(nodes, &waiting, system.users())?),
    }
}

/// Replaces the outermost `regions` of a network with at most `most` requests.
fn network(nodes: &[Node], regions: &[&Region], most: Option<u64>) -> Result<Network, Error> {
    // A region with a place for every request has no effect.
    let regions: Vec<&Region> =
        regions.iter().copied().filter(|region| most.is_none_or(|most| u64::from(region.capacity) < most)).collect();
    let contains = |region: &Region, node: &Node| region.stations.contains(&node.0.name);
    let outer = |node: &Node| {
        regions.iter().copied().filter(|region| contains(region, node)).max_by_key(|region| region.stations.len())
    };
    let mut found = Network { stations: Vec::new(), parts: Vec::new(), is_exact: true };
    let mut done: Vec<&str> = Vec::new();
    for node in nodes {
        let Some(region) = outer(node) else {
            found.stations.push(node.0.clone());
            found.parts.push(Part::Station);
            continue;
        };
        if done.contains(&region.name.as_str()) {
            continue;
        }
        done.push(&region.name);
        let capacity = u64::from(region.capacity);
        if capacity > MAX_CAPACITY {
            return Err(Error::Unsupported(format!(
                "`{}` has a capacity of {capacity}, and the solution of a region permits at most {MAX_CAPACITY}; lower the capacity or simulate",
                region.name
            )));
        }
        let own: Vec<Node> = nodes.iter().filter(|node| contains(region, node)).cloned().collect();
        let is_inner = |other: &&Region| other.name != region.name && own.iter().any(|node| contains(other, node));
        let inner: Vec<&Region> = regions.iter().copied().filter(is_inner).collect();
        let inside = network(&own, &inner, Some(capacity))?;
        let rates = mva::throughputs(&inside.stations, capacity, 0.0)?;
        let throughput = rates.iter().copied().fold(0.0, f64::max);
        // One exponential station has a rate that depends only on the number of requests inside.
        found.is_exact &= inside.parts.len() == 1 && inside.is_exact;
        let kind = StationKind::LoadDependent(Rates::table(rates)?);
        found.stations.push(Station::new(region.name.clone(), 1.0, 1.0, kind)?);
        let entries = entries(nodes, |node| contains(region, node))?;
        found.parts.push(Part::Region(FlowEquivalent {
            name: region.name.clone(),
            capacity,
            throughput,
            entries,
            inside,
        }));
    }
    Ok(found)
}

/// Mean number of times that a request enters a group of stations from outside.
fn entries(nodes: &[Node], is_inside: impl Fn(&Node) -> bool) -> Result<f64, Error> {
    let stations: Vec<Station> = nodes.iter().map(|(station, _)| station.clone()).collect();
    let flows = Flows::of(&stations)?;
    let inside: Vec<bool> = nodes.iter().map(is_inside).collect();
    let into = |to: usize| {
        let moves = (0..nodes.len()).filter(|from| !inside[*from]).map(|from| flows.moves[from][to]);
        flows.entries[to] + moves.sum::<f64>()
    };
    Ok((0..nodes.len()).filter(|to| inside[*to]).map(into).sum())
}

/// The whole network rejects requests: a birth-death chain whose rates are its throughputs, which is exact (Jackson 1963).
fn rejected(system: System, name: &str, capacity: u64, network: Network) -> Result<Finding, Error> {
    let rates = Rates::table(mva::throughputs(&network.stations, capacity, 0.0)?)?;
    let (found, before) = match system {
        System::Open { rate } => (open::solve(&rates, Some(capacity), 1.0, rate)?, "Poisson arrivals"),
        System::PartlyOpen { .. } => {
            return Ok(Finding::none(name, "limited capacity in a partly-open system"));
        }
        System::Closed { users, exponential, .. } if !exponential && capacity < users => {
            return Ok(Finding::none(
                name,
                "where requests are rejected the think time must be exponential, but is not",
            ));
        }
        System::Closed { users, think, .. } => (
            closed::solve(&rates, Some(capacity), 1.0, users, think)?,
            "exponential think times, also after a rejection",
        ),
    };
    let LoadDependent { throughput, response, in_system, rejected_share, occupancy } = found;
    let known = SteadyState {
        in_system,
        rejected_share: Some(rejected_share),
        stations: unfold(&network, &counts(&occupancy, capacity), throughput)?,
        is_approximation: !network.is_exact,
        ..SteadyState::at(response, throughput, throughput / rates.lasting(Some(capacity)), METHOD, SOURCE)
    };
    Ok(Finding::known(name, known, assumption(before, network.is_exact)))
}

/// Requests wait before a full region.
fn waits(system: System, name: &str, network: &Network) -> Result<Finding, Error> {
    let stations = &network.stations;
    let (solution, most) = match system {
        System::Closed { users, think, .. } => (mva::solve(stations, users, think)?, Some(users)),
        System::Open { .. } | System::PartlyOpen { .. } => {
            let rate = system.arrival_rate().unwrap_or_default();
            has_steady_state(network, rate)?;
            (jackson::solve(stations, rate)?, None)
        }
    };
    let mut metrics = Vec::new();
    for (place, (part, own)) in network.parts.iter().zip(&solution.stations).enumerate() {
        let Part::Region(region) = part else {
            metrics.push(own.clone());
            continue;
        };
        let occupancy = match (system, &stations[place].kind) {
            (System::Closed { users, think, .. }, _) => mva::occupancy(stations, users, think, place)?,
            (_, StationKind::LoadDependent(rates)) => open::solve(rates, None, 1.0, solution.throughput)?.occupancy,
            _ => continue,
        };
        metrics.extend(region.metrics(&occupancy, solution.throughput)?);
    }
    let known = SteadyState::network(stations, most, Solution { stations: metrics, ..solution }, METHOD, SOURCE);
    let known = SteadyState { is_approximation: !network.is_exact, ..known };
    let before = "requests that find a region full wait before it, first come, first served";
    Ok(Finding::known(name, known, assumption(before, network.is_exact)))
}

fn assumption(before: &str, is_exact: bool) -> String {
    match is_exact {
        true => format!("{before}; product form: exponential service under FCFS, any service under PS and delays"),
        false => format!(
            "{before}; an approximation, whose error is in the manual (plan solve); simulate for the exact value"
        ),
    }
}

/// Checks that each region can complete the requests that arrive.
fn has_steady_state(network: &Network, rate: f64) -> Result<(), Error> {
    for part in &network.parts {
        if let Part::Region(FlowEquivalent { name, capacity, throughput, .. }) = part
            && *throughput <= rate
        {
            return Err(Error::Unsupported(format!(
                "`{name}` with a capacity of {capacity} completes at most {throughput:.4}/s, and {rate:.4}/s arrive; raise its capacity or lower \
                 the rate"
            )));
        }
    }
    Ok(())
}

/// P(n requests inside), n = 1 to `capacity`, of a region with this number of requests inside and before it.
fn counts(occupancy: &Occupancy, capacity: u64) -> Vec<f64> {
    let mut counts: Vec<f64> = (1..=capacity as usize).map(|n| occupancy.p.get(n).copied().unwrap_or(0.0)).collect();
    if let Some(full) = counts.last_mut() {
        *full += occupancy.more + occupancy.p.iter().skip(capacity as usize + 1).sum::<f64>();
    }
    counts
}

impl FlowEquivalent {
    /// The metrics of waiting before the region, and of each station inside; `occupancy` is the number of requests at both.
    fn metrics(&self, occupancy: &Occupancy, throughput: f64) -> Result<Vec<StationMetrics>, Error> {
        let counts = counts(occupancy, self.capacity);
        let inside: f64 = (1..).zip(&counts).map(|(n, p)| f64::from(n) * p).sum();
        let waiting = (occupancy.mean() - inside).max(0.0);
        let before = StationMetrics {
            name: format!("{} (waiting)", self.name),
            residence: waiting / throughput,
            in_system: waiting,
            utilisation: throughput / self.throughput,
            throughput: throughput * self.entries,
        };
        Ok([before].into_iter().chain(unfold(&self.inside, &counts, throughput)?).collect())
    }
}

/// The metrics of the stations of a network with n requests inside with the probability `counts[n - 1]`.
fn unfold(network: &Network, counts: &[f64], throughput: f64) -> Result<Vec<StationMetrics>, Error> {
    let stations = &network.stations;
    let numbers = mva::mixed_occupancies(stations, counts)?;
    let residence: Vec<f64> = numbers.iter().map(|number| number.mean() / throughput).collect();
    let own = Solution::of(stations, throughput, &residence, Some(counts.len() as u64)).stations;
    let mut metrics = Vec::new();
    for ((part, own), number) in network.parts.iter().zip(own).zip(&numbers) {
        match part {
            Part::Station => metrics.push(own),
            Part::Region(region) => metrics.extend(region.metrics(number, throughput)?),
        }
    }
    Ok(metrics)
}
