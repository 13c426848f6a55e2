//! Closed systems with one station.

use offered_workload::Server;
use offered_workload::policy::{Knowledge, Order, Policy};

use super::service::Service;
use super::{Finding, SteadyState, is_blind, is_insensitive, load_dependent, most_busy};
use crate::Error;
use crate::closed::machine_repair::MachineRepair;
use crate::closed::{Means, RequestStream, finite_source, phases, priority};

/// Maximum number of users for the regularity of the request stream; more would take seconds.
const MAX_STREAM_USERS: u64 = 100_000;
/// Maximum number of users for a service that does not consist of exponential phases; more would take seconds.
const MAX_SOURCE_USERS: u64 = 10_000;

/// Solves `users` users with mean think time `think`, seconds.
pub(super) fn solve(
    users: u64,
    think: f64,
    exponential_think: bool,
    server: &Server,
    service: &Service,
) -> Result<Finding, Error> {
    let (m, mean) = (server.servers(), service.mean());
    let discipline = server.discipline();
    let model = format!("closed M/G/{m}/{users}/{users} {}", discipline.to_string().to_uppercase());
    if discipline == Policy::Infinite {
        let rate = users as f64 / (think + mean);
        let known = SteadyState::at(mean, rate, rate * mean, "Little's law", "Little 1961");
        return Ok(Finding::known(model, known, "every request has its own server, so none waits"));
    }
    if server.rates().is_some() || server.capacity().is_some_and(|capacity| u64::from(capacity) < users) {
        return load_dependent::closed(users, think, exponential_think, server, service);
    }
    let insensitive = is_insensitive(server);
    if insensitive || (is_blind(server) && service.is_exponential()) {
        let machines = MachineRepair::new(most_busy(server), mean, users, think)?;
        let answer = machines.solve();
        let first_come = discipline == Policy::Fcfs;
        let percentiles = first_come.then(|| machines.percentiles());
        let (name, assumption) = if insensitive {
            (model, "product form: only the means of service and think time matter")
        } else {
            (format!("M/M/{m}/{users}/{users}"), "exponential service; only the mean of the think time matters")
        };
        let known = SteadyState {
            percentiles,
            sdev: first_come.then(|| machines.sdev()),
            in_system: answer.in_system,
            ..SteadyState::at(
                answer.response,
                answer.throughput,
                answer.utilisation * f64::from(most_busy(server)) / f64::from(m),
                "birth-death chain",
                "Brady and Gunther 2016, sections 3.2 and 3.3",
            )
        };
        return Ok(Finding::known(name, known, assumption));
    }
    // A pool of fewer threads leaves some of the servers idle.
    if think == 0.0 && most_busy(server) == m {
        return Ok(never_idle(model, users, m, mean));
    }
    if !exponential_think {
        return Ok(Finding::none(
            model,
            "with this discipline and service distribution the think time must be exponential, but is not",
        ));
    }
    let solved = match (discipline, m) {
        (Policy::Fcfs | Policy::Lcfs { preemptive: false }, 1) => size_blind(users, think, service)?,
        (
            Policy::Priority { preemptive: true }
            | Policy::Size(Order { preemptive: true, known: Knowledge::ByClass, .. }),
            1,
        ) => by_class(users, think, discipline, service)?.map(Solved::by_levels),
        _ => None,
    };
    let Some(Solved { means, method, source, assumption }) = solved else {
        return Ok(Finding::none(model, format!("{discipline} on {m} server(s) with this service distribution")));
    };
    let known = SteadyState {
        in_system: means.in_system,
        ..SteadyState::at(means.response, means.throughput, means.utilisation, method, source)
    };
    Ok(Finding::known(model, known, assumption))
}

/// The means of a closed system, and where they come from.
struct Solved {
    means: Means,
    method: &'static str,
    source: &'static str,
    assumption: &'static str,
}

impl Solved {
    fn by_levels(means: Means) -> Self {
        Self {
            means,
            method: "Markov chain solved by levels, without subtraction",
            source: "Grassmann, Taksar and Heyman 1985; Latouche and Ramaswami 1999",
            assumption: "exponential think times, service in exponential phases",
        }
    }
}

/// One server that neither interrupts requests nor considers their sizes; `None` if no formula covers its service
/// distribution.
fn size_blind(users: u64, think: f64, service: &Service) -> Result<Option<Solved>, Error> {
    match service.size_blind_distribution().map(|distribution| phases::solve(&distribution, users, think)) {
        Some(Ok(means)) => return Ok(Some(Solved::by_levels(means))),
        Some(Err(Error::Unsupported(_))) | None => {}
        Some(Err(error)) => return Err(error),
    }
    let Some(transform) = service.transform().filter(|_| users <= MAX_SOURCE_USERS) else { return Ok(None) };
    Ok(Some(Solved {
        means: finite_source::solve(&transform, service.mean(), users, think)?,
        method: "transform of the service time (M/G/1//N)",
        source: "Takacs 1962, chapter 5",
        assumption: "exponential think times",
    }))
}

/// Users who never think keep min(N, m) servers busy under any policy: X = min(N, m) / E\[S\].
fn never_idle(model: String, users: u64, m: u32, mean: f64) -> Finding {
    let busy = users.min(u64::from(m)) as f64;
    let rate = busy / mean;
    let known = SteadyState::at(users as f64 / rate, rate, busy / f64::from(m), "Little's law, R = N/X", "Little 1961");
    Finding::known(model, known, "users never think, servers are never idle; R includes the requests in service")
}

/// Standard deviation of the response, and regularity of the request stream, where the chain of [`solve`] yields them.
/// It costs several times as much as the means.
pub(super) fn spread(
    users: u64,
    think: f64,
    exponential_think: bool,
    server: &Server,
    service: &Service,
) -> Option<(Option<f64>, RequestStream)> {
    let (m, discipline) = (server.servers(), server.discipline());
    let is_full = server.capacity().is_some_and(|capacity| u64::from(capacity) < users);
    if !exponential_think || think == 0.0 || is_full || server.rates().is_some() || users > MAX_STREAM_USERS {
        return None;
    }
    let blind = matches!(discipline, Policy::Fcfs | Policy::Lcfs { .. });
    if service.is_exponential() && (blind || discipline == Policy::Ps(None)) {
        return MachineRepair::new(m, service.mean(), users, think)
            .and_then(|machines| machines.request_stream())
            .ok()
            .map(|launches| (None, launches));
    }
    let distribution = service
        .size_blind_distribution()
        .filter(|_| m == 1 && blind && discipline != Policy::Lcfs { preemptive: true })?;
    let sdev = (discipline == Policy::Fcfs)
        .then(|| phases::response(&distribution, users, think).ok().map(|response| response.sdev));
    Some((sdev.flatten(), phases::request_stream(&distribution, users, think).ok()?))
}

fn by_class(users: u64, think: f64, discipline: Policy, service: &Service) -> Result<Option<Means>, Error> {
    let Some((share, first, second)) = service.two_exponential_classes() else { return Ok(None) };
    if users > priority::MAX_USERS {
        return Ok(None);
    }
    let turned = match discipline {
        Policy::Size(Order { longest: false, .. }) => first > second,
        Policy::Size(Order { longest: true, .. }) => first < second,
        _ => false,
    };
    let (p, first, second) = if turned { (1.0 - share, second, first) } else { (share, first, second) };
    priority::preemptive(p, first, second, users, think).map(Some)
}
