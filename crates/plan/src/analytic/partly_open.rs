//! Partly-open systems.

use offered_workload::Policy;
use offered_workload::Server;

use super::service::Service;
use super::{Finding, SteadyState, is_insensitive, load_dependent};
use crate::Error;
use crate::open::mmm::Mmm;
use crate::partly_open::SessionStream;

const SCHROEDER: &str = "Schroeder, Wierman and Harchol-Balter 2006; Baskett et al. 1975 (BCMP)";

/// Solves `sessions` sessions per second of `requests` requests each on average, with mean think time `think` between
/// them, in seconds. `memoryless` means geometric session lengths and exponential (or no) think times.
pub(super) fn solve(
    sessions: f64,
    requests: f64,
    memoryless: bool,
    think: f64,
    server: &Server,
    service: &Service,
) -> Result<Finding, Error> {
    let (m, mean) = (server.servers(), service.mean());
    let stream = SessionStream::new(sessions, 1.0 - 1.0 / requests)?;
    let (rate, discipline) = (stream.request_rate(), server.discipline());
    let load = rate * mean / f64::from(m);
    let model = format!("partly-open M/G/{m} {}", discipline.to_string().to_uppercase());
    if discipline == Policy::Infinite {
        let known = SteadyState::at(mean, rate, rate * mean, "product form", SCHROEDER);
        return Ok(Finding::known(model, known, "every request has its own server, so none waits"));
    }
    if server.capacity().is_some() {
        return Ok(Finding::none(model, "limited capacity in a partly-open system"));
    }
    if server.rates().is_some() {
        return load_dependent::partly_open(rate, server, service);
    }
    crate::error::below_one(load)?;
    let insensitive = is_insensitive(server);
    let blind = matches!(discipline, Policy::Fcfs | Policy::Lcfs { .. });
    if insensitive || (blind && service.is_exponential()) {
        let queue = Mmm::new(m, mean, rate)?;
        // A request finds the same system as an arrival from outside (Sevcik and Mitrani 1981).
        let of_first_come = (discipline == Policy::Fcfs).then(|| (queue.percentiles(), queue.sdev()));
        let known = SteadyState {
            percentiles: of_first_come.map(|(percentiles, _)| percentiles),
            sdev: of_first_come.map(|(_, sdev)| sdev),
            ..SteadyState::at(queue.response(), rate, load, "product form", SCHROEDER)
        };
        return Ok(Finding::known(
            model,
            known,
            "Poisson sessions; the think time and the distribution of session lengths do not matter",
        ));
    }
    let (Some(distribution), Policy::Fcfs, 1, true) = (service.size_blind_distribution(), discipline, m, memoryless)
    else {
        return Ok(Finding::none(
            model,
            format!("{discipline} on {m} server(s) with this service distribution, these sessions and think times"),
        ));
    };
    let limits = match stream.fcfs_limits(&distribution) {
        Err(Error::Unsupported(why)) => return Ok(Finding::none(model, why)),
        limits => limits?,
    };
    if think == 0.0 {
        let known =
            SteadyState::at(limits.no_think, rate, load, "Bernoulli feedback to the end of the queue", "Takacs 1963");
        return Ok(Finding::known(model, known, "no think time: a session's next request joins the queue at once"));
    }
    let response = match stream.fcfs(&distribution, think) {
        Err(Error::Unsupported(why)) => {
            return Ok(Finding::none(
                model,
                format!(
                    "{why} (the mean response tends to {:.6} s as the think time tends to 0, and to {:.6} s as it grows)",
                    limits.no_think, limits.long_think
                ),
            ));
        }
        response => response?,
    };
    let known = SteadyState {
        sdev: Some(response.sdev),
        ..SteadyState::at(
            response.mean,
            rate,
            load,
            "Markov chain solved by cyclic reduction, without subtraction",
            "Bini and Meini 1996; Latouche and Ramaswami 1999",
        )
    };
    Ok(Finding::known(
        model,
        known,
        "Poisson sessions of geometric lengths, exponential think times, service in exponential phases",
    ))
}
