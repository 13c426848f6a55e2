//! Networks of stations with product form.

use offered_distributions::Shape;
use offered_schedule::arrivals::Batch;
use offered_workload::{Policy, Region};

use super::{Finding, Pattern, SteadyState, System, is_blind, is_insensitive, region};
use crate::closed::mva;
use crate::open::qna;
use crate::{Error, Station, StationKind, jackson};

/// Solves a network with any system model.
pub(super) fn solve(
    system: System,
    pattern: &Pattern,
    nodes: &[offered_workload::Station],
    regions: &[Region],
) -> Result<Finding, Error> {
    let name = match system {
        System::Open { .. } => "open network",
        System::PartlyOpen { .. } => "partly-open network",
        System::Closed { .. } => "closed network",
    };
    let gaps_scv = match pattern {
        Pattern::Poisson(Batch::Single | Batch::Fixed(1)) => 1.0,
        Pattern::Poisson(_) => return Ok(Finding::none(name, "requests arrive in batches")),
        Pattern::Renewal(gaps) => gaps.scv(),
    };
    let network = nodes.iter().map(product_form).collect::<Result<Option<Vec<Station>>, Error>>()?;
    let network = match (network, system, pattern) {
        (Some(network), _, Pattern::Poisson(_)) if regions.is_empty() => network,
        (Some(network), _, Pattern::Poisson(_)) => {
            let exponential = nodes.iter().map(|node| matches!(node.server().service().shape(), Shape::Exponential(_)));
            let nodes: Vec<region::Node> = network.into_iter().zip(exponential).collect();
            return region::solve(system, name, &nodes, regions);
        }
        _ if !regions.is_empty() => {
            return Ok(Finding::none(name, "a limited capacity in a network that has no product form"));
        }
        (_, System::Open { rate }, _) => return approximate(rate, gaps_scv, nodes),
        _ => {
            let other = nodes.iter().find(|node| matches!(product_form(node), Ok(None)));
            let reason = other.map_or_else(String::new, |node| {
                let discipline = node.server().discipline();
                format!(
                    "station `{}` is {discipline} with a service distribution that has no product form",
                    node.name()
                )
            });
            return Ok(Finding::none(name, reason));
        }
    };
    let assumption = "product form: exponential service under FCFS, any service under PS and delays";
    let known = match system {
        System::Closed { users, think, .. } => SteadyState::network(
            &network,
            Some(users),
            mva::solve(&network, users, think)?,
            "exact mean value analysis",
            "Reiser and Lavenberg 1980",
        ),
        System::Open { .. } | System::PartlyOpen { .. } => {
            let rate = system.arrival_rate().unwrap_or_default();
            SteadyState::network(
                &network,
                None,
                jackson::solve(&network, rate)?,
                "each station solved alone",
                "Jackson 1957; Baskett et al. 1975 (BCMP)",
            )
        }
    };
    Ok(Finding::known(name, known, assumption))
}

/// The station as the solvers take it; `None` if it has no product form.
fn product_form(node: &offered_workload::Station) -> Result<Option<Station>, Error> {
    let server = node.server();
    let exponential = matches!(server.service().shape(), Shape::Exponential(_));
    let kind = match server.discipline() {
        Policy::Infinite => StationKind::Delay,
        _ if !(is_insensitive(server) || is_blind(server) && exponential) => return Ok(None),
        // Whichever requests have a thread, the rate depends only on their number.
        Policy::Ps(Some(threads)) if threads < server.servers() => StationKind::LoadDependent(server.total_rates()),
        _ if server.rates().is_some() => StationKind::LoadDependent(server.total_rates()),
        _ => StationKind::Queue { servers: server.servers() },
    };
    Station::new(node.name(), node.visits(), server.service().mean(), kind).map(Some)
}

/// An open network by the approximation of QNA.
fn approximate(rate: f64, gaps_scv: f64, nodes: &[offered_workload::Station]) -> Result<Finding, Error> {
    let name = "open network";
    let (mut stations, mut scv) = (Vec::new(), Vec::new());
    for node in nodes {
        let server = node.server();
        if server.rates().is_some() {
            let reason =
                format!("station `{}` has load-dependent rates in a network that has no product form", node.name());
            return Ok(Finding::none(name, reason));
        }
        let queue = StationKind::Queue { servers: server.servers() };
        // Under processor sharing a station passes its arrivals on as one with exponential service does.
        let (kind, of) = match server.discipline() {
            Policy::Infinite => (StationKind::Delay, server.service().scv()),
            Policy::Ps(None) => (queue, 1.0),
            Policy::Fcfs | Policy::Lcfs { preemptive: false } => (queue, server.service().scv()),
            other => {
                let reason = format!("station `{}` is {other} in a network that has no product form", node.name());
                return Ok(Finding::none(name, reason));
            }
        };
        if of.is_infinite() {
            let reason = format!("the second moment of the service at station `{}` is infinite", node.name());
            return Ok(Finding::none(name, reason));
        }
        stations.push(Station::new(node.name(), node.visits(), server.service().mean(), kind)?);
        scv.push(of);
    }
    let solution = qna::solve(&stations, &scv, gaps_scv, rate)?;
    let known = SteadyState {
        is_approximation: true,
        ..SteadyState::network(
            &stations,
            None,
            solution,
            "Queueing Network Analyzer (QNA), an approximation",
            "Whitt 1983",
        )
    };
    Ok(Finding::known(
        name,
        known,
        "an approximation from the CoV of gaps and services alone; its error is in the manual (plan solve); simulate for the exact value",
    ))
}
