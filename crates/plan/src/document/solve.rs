//! The analytic answer for a workload's arrivals and servers, as a document.

use offered_plan::analytic::{Analysis, Known, System};

use crate::document::finite;
use crate::document::plan::{Bounds, Launches, Percentiles, Station, System as Document};

/// N, Z and the stay probability, as far as the system model has them.
pub fn population(system: Option<System>) -> (Option<u64>, Option<f64>, Option<f64>) {
    match system {
        Some(System::Closed { users, think, .. }) => (Some(users), Some(think), None),
        Some(System::PartlyOpen { requests, think, .. }) => (None, Some(think), Some(1.0 - 1.0 / requests)),
        Some(System::Open { .. }) | None => (None, None, None),
    }
}

/// What was found out, without what is infinite.
pub fn document(answer: &Analysis) -> Document {
    let (users, think_s, stay) = population(answer.system);
    let known = answer.known.as_ref();
    let number = |value: &dyn Fn(&Known) -> f64| known.map(value).and_then(finite);
    let stations = known.map(|known| known.stations.iter()).into_iter().flatten().map(|station| Station {
        name: station.name.clone(),
        residence_s: station.residence,
        in_system: station.in_system,
        utilisation: station.utilisation,
        throughput_per_s: station.throughput,
    });
    let launches = |of: offered_plan::closed::Launches| Launches {
        cov: of.cov,
        lag1_correlation: of.lag1,
        dispersion: of.dispersion,
    };
    let percentiles =
        |known: &Known| known.percentiles.map(|p| Percentiles { p50: p.p50, p90: p.p90, p95: p.p95, p99: p.p99 });
    Document {
        model: answer.model.clone(),
        discipline: answer.discipline.clone(),
        load: answer.load,
        rate_per_s: answer.system.and_then(|s| s.offered_rate()).or(number(&|k| k.throughput)),
        think_s,
        users,
        stay,
        response_s: number(&|k| k.response),
        throughput_per_s: number(&|k| k.throughput),
        utilisation: number(&|k| k.utilisation),
        in_system: number(&|k| k.in_system),
        response_sdev_s: known.and_then(|k| k.sdev).and_then(finite),
        launches: known.and_then(|k| k.launches).map(launches),
        lost: known.and_then(|k| k.lost),
        percentiles_s: known.and_then(percentiles),
        stations: stations.collect(),
        bounds: answer.bounds.map(|bounds| Bounds {
            throughput_per_s: bounds.throughput,
            response_s: bounds.response,
            knee_users: bounds.knee,
        }),
        method: known.map(|k| k.method.to_string()),
        source: known.map(|k| k.source.to_string()),
        assumption: answer.assumption.clone(),
    }
}
