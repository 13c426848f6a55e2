//! The document of the analytic solution for a workload.

use crate::analytic::{Analysis, SteadyState, System};

use super::{Bounds, Percentiles, RequestClass, RequestRegularity, Station, SystemSolution as Document, finite};

/// Number of users N, think time Z in seconds, and stay probability; `None` for those that the system model does not have.
pub fn population(system: Option<System>) -> (Option<u64>, Option<f64>, Option<f64>) {
    match system {
        Some(System::Closed { users, think, .. }) => (Some(users), Some(think), None),
        Some(System::PartlyOpen { requests, think, .. }) => (None, Some(think), Some(1.0 - 1.0 / requests)),
        Some(System::Open { .. }) | None => (None, None, None),
    }
}

/// The document of `analysis`. Infinite figures become `null`.
pub fn document(analysis: &Analysis) -> Document {
    let (users, think_s, stay) = population(analysis.system);
    let known = analysis.steady_state.as_ref();
    let number = |value: &dyn Fn(&SteadyState) -> f64| known.map(value).and_then(finite);
    let stations = known.map(|known| known.stations.iter()).into_iter().flatten().map(|station| Station {
        name: station.name.clone(),
        residence_s: station.residence,
        in_system: station.in_system,
        utilisation: station.utilisation,
        throughput_per_s: station.throughput,
    });
    let requests = |of: crate::closed::RequestStream| RequestRegularity {
        cov: of.cov,
        lag1_correlation: of.lag1,
        dispersion: of.dispersion,
    };
    let percentiles = |p: crate::Percentiles| Percentiles { p50: p.p50, p90: p.p90, p95: p.p95, p99: p.p99 };
    let classes = known.map(|known| known.classes.iter()).into_iter().flatten().map(|class| RequestClass {
        name: class.name.clone(),
        rate_per_s: class.rate,
        response_s: class.response,
        percentiles_s: class.percentiles.map(percentiles),
    });
    Document {
        model: analysis.model.clone(),
        discipline: analysis.discipline.clone(),
        load: analysis.load,
        rate_per_s: analysis.system.and_then(|s| s.arrival_rate()).or(number(&|k| k.throughput)),
        think_s,
        users,
        stay,
        response_s: number(&|k| k.response),
        throughput_per_s: number(&|k| k.throughput),
        utilisation: number(&|k| k.utilisation),
        in_system: number(&|k| k.in_system),
        response_sdev_s: known.and_then(|k| k.sdev).and_then(finite),
        requests: known.and_then(|k| k.request_stream).map(requests),
        rejected_share: known.and_then(|k| k.rejected_share),
        percentiles_s: known.and_then(|k| k.percentiles).map(percentiles),
        stations: stations.collect(),
        classes: classes.collect(),
        is_approximation: known.is_some_and(|k| k.is_approximation),
        bounds: analysis.bounds.map(|bounds| Bounds {
            throughput_per_s: bounds.throughput,
            response_s: bounds.response,
            knee_users: bounds.knee,
        }),
        method: known.map(|k| k.method.to_string()),
        source: known.map(|k| k.source.to_string()),
        assumption: analysis.assumption.clone(),
    }
}
