//! Several stations, where they have product form.

use offered_model::law::Shape;
use offered_model::workload;

use super::{Finding, Known, System};
use crate::closed::mva;
use crate::{Error, Kind, Station, jackson};

/// A network in front of any of the system models.
pub(super) fn solve(system: System, stations: &[workload::Station]) -> Result<Finding, Error> {
    let name = match system {
        System::Open { .. } => "open network",
        System::PartlyOpen { .. } => "partly-open network",
        System::Closed { .. } => "closed network",
    };
    let mut network = Vec::with_capacity(stations.len());
    for station in stations {
        super::service::check(&station.server.discipline)?;
        match product_form(station)? {
            Some(station) => network.push(station),
            None => {
                return Ok(Finding::none(
                    name,
                    format!(
                        "station `{}` is {} with a service law that has no product form",
                        station.name, station.server.discipline
                    ),
                ));
            }
        }
    }
    let assumption = "product form: exponential service under FCFS, any service under PS and delays";
    let known = match system {
        System::Closed { users, think, .. } => Known::network(
            &network,
            mva::solve(&network, users, think)?,
            "exact mean value analysis",
            "Reiser and Lavenberg 1980",
        ),
        System::Open { .. } | System::PartlyOpen { .. } => {
            let rate = system.offered_rate().unwrap_or_default();
            Known::network(
                &network,
                jackson::solve(&network, rate)?,
                "each station alone",
                "Jackson 1957; Baskett et al. 1975 (BCMP)",
            )
        }
    };
    Ok(Finding::known(name, known, assumption))
}

/// The station as the solvers want it, if it has product form.
fn product_form(station: &workload::Station) -> Result<Option<Station>, Error> {
    let server = &station.server;
    let exponential = matches!(server.service.shape(), Shape::Exponential(_));
    let kind = match server.discipline.as_str() {
        "infinite" => Kind::Delay,
        "ps" => Kind::Queue { servers: server.servers },
        "lcfs-preemptive" if server.servers == 1 || exponential => Kind::Queue { servers: server.servers },
        "fcfs" | "lcfs" if exponential => Kind::Queue { servers: server.servers },
        _ => return Ok(None),
    };
    Station::new(station.name.as_str(), station.visits, server.service.mean(), kind).map(Some)
}
