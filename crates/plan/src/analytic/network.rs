//! Networks of stations with product form.

use offered_distributions::Shape;
use offered_workload::Policy;

use super::{Finding, SteadyState, System};
use crate::closed::mva;
use crate::{Error, Station, StationKind, jackson};

/// Solves a network with any system model.
pub(super) fn solve(system: System, nodes: &[offered_workload::Station]) -> Result<Finding, Error> {
    let name = match system {
        System::Open { .. } => "open network",
        System::PartlyOpen { .. } => "partly-open network",
        System::Closed { .. } => "closed network",
    };
    let mut network = Vec::with_capacity(nodes.len());
    for node in nodes {
        match product_form(node)? {
            Some(station) => network.push(station),
            None => {
                return Ok(Finding::none(
                    name,
                    format!(
                        "station `{}` is {} with a service distribution that has no product form",
                        node.name(),
                        node.server().discipline()
                    ),
                ));
            }
        }
    }
    let assumption = "product form: exponential service under FCFS, any service under PS and delays";
    let known = match system {
        System::Closed { users, think, .. } => SteadyState::network(
            &network,
            mva::solve(&network, users, think)?,
            "exact mean value analysis",
            "Reiser and Lavenberg 1980",
        ),
        System::Open { .. } | System::PartlyOpen { .. } => {
            let rate = system.arrival_rate().unwrap_or_default();
            SteadyState::network(
                &network,
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
    let queue = StationKind::Queue { servers: server.servers() };
    let kind = match server.discipline() {
        Policy::Infinite => StationKind::Delay,
        Policy::Ps(None) => queue,
        Policy::Lcfs { preemptive: true } if server.servers() == 1 || exponential => queue,
        Policy::Fcfs | Policy::Lcfs { preemptive: false } if exponential => queue,
        _ => return Ok(None),
    };
    Station::new(node.name(), node.visits(), server.service().mean(), kind).map(Some)
}
