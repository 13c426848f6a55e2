//! Partly-open systems.

use offered_model::Policy;
use offered_model::workload::Server;

use super::service::Service;
use super::{Finding, Known};
use crate::Error;
use crate::open::mmm::Mmm;
use crate::partly_open::Sessions;

const SCHROEDER: &str = "Schroeder, Wierman and Harchol-Balter 2006; Baskett et al. 1975 (BCMP)";

/// `sessions` a second of `requests` requests each on average, with think times of mean `think` between; `memoryless` where the first
/// are geometric and the second exponential, or none.
pub(super) fn solve(
    sessions: f64,
    requests: f64,
    memoryless: bool,
    think: f64,
    server: &Server,
    service: &Service,
) -> Result<Finding, Error> {
    let (m, mean) = (server.servers(), service.mean());
    let stream = Sessions::new(sessions, 1.0 - 1.0 / requests)?;
    let (rate, discipline) = (stream.requests(), server.discipline());
    let load = rate * mean / f64::from(m);
    let model = format!("partly-open M/G/{m} {}", discipline.to_string().to_uppercase());
    if discipline == Policy::Infinite {
        let known = Known::at(mean, rate, rate * mean, "product form", SCHROEDER);
        return Ok(Finding::known(model, known, "a server for every request: nobody waits"));
    }
    if server.room().is_some() {
        return Ok(Finding::none(model, "limited room in a partly-open system"));
    }
    crate::error::below_one(load)?;
    let insensitive = discipline == Policy::Ps(None) || (discipline == Policy::Lcfs { preemptive: true } && m == 1);
    let blind = matches!(discipline, Policy::Fcfs | Policy::Lcfs { .. });
    if insensitive || (blind && service.is_exponential()) {
        let queue = Mmm::new(m, mean, rate)?;
        // What a request finds is what an arrival from outside finds (Sevcik and Mitrani 1981).
        let of_first_come = (discipline == Policy::Fcfs).then(|| (queue.percentiles(), queue.sdev()));
        let known = Known {
            percentiles: of_first_come.map(|(percentiles, _)| percentiles),
            sdev: of_first_come.map(|(_, sdev)| sdev),
            ..Known::at(queue.response(), rate, load, "product form", SCHROEDER)
        };
        return Ok(Finding::known(
            model,
            known,
            "Poisson sessions; the think time and the law of session lengths do not count",
        ));
    }
    let (Some(law), Policy::Fcfs, 1, true) = (service.blind_law(), discipline, m, memoryless) else {
        return Ok(Finding::none(
            model,
            format!("{discipline} on {m} server(s) with this service law, these sessions and think times"),
        ));
    };
    let limits = match stream.fcfs_limits(&law) {
        Err(Error::Refused(why)) => return Ok(Finding::none(model, why)),
        limits => limits?,
    };
    if think == 0.0 {
        let known = Known::at(limits.no_think, rate, load, "Bernoulli feedback to the end of the queue", "Takacs 1963");
        return Ok(Finding::known(model, known, "no think time: a session's next request joins the queue at once"));
    }
    let response = match stream.fcfs(&law, think) {
        Err(Error::Refused(why)) => {
            return Ok(Finding::none(
                model,
                format!(
                    "{why} (the mean response tends to {:.6} s without think time, to {:.6} s with an endless one)",
                    limits.no_think, limits.long_think
                ),
            ));
        }
        response => response?,
    };
    let known = Known {
        sdev: Some(response.sdev),
        ..Known::at(
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
        "Poisson sessions of geometric lengths, exponential think times, service made of exponential phases",
    ))
}
