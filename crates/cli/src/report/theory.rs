//! What theory says of a run: the formula and the simulation of its workload, and how many people its launches stand for.

use offered_model::Workload;
use offered_plan::analytic::{Answer, answer};
use offered_plan::web_users::Traffic;
use offered_report::{Prediction, Run, Server, WebUsers};
use offered_simulate::{Stop, simulate};

use crate::exit::Failure;

/// Think times Z' of people between pages, in seconds.
const THINKS: [f64; 7] = [5.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0];
/// So many people are asked about.
const PEOPLE: f64 = 10_000.0;
/// A steady workload is simulated for so many requests, whatever the length of the run: a second or so.
const JOBS: u64 = 200_000;

/// Adds what is predicted of a run of `workload`, where it models its server. A simulated run is not simulated again.
pub(crate) fn add(run: &mut Run, workload: &Workload, simulated: bool) -> Result<(), Failure> {
    run.server = server(workload);
    if workload.server().is_none() && workload.stations().is_empty() {
        return Ok(());
    }
    let formula = answer(workload, None).map_err(Failure::input)?;
    let stop = if formula.system.is_some() { Stop::Jobs(JOBS) } else { Stop::Duration };
    run.predictions.push(of_formula(formula));
    if !simulated {
        run.predictions.push(of_simulation(workload, stop));
    }
    Ok(())
}

/// What no load can make better of a single server; `None` where everybody has a server of his own.
fn server(workload: &Workload) -> Option<Server> {
    let server = workload.server().filter(|server| server.discipline() != "infinite")?;
    let own = |law: Option<&offered_model::Law>| law.unwrap_or(server.service()).mean();
    let (work, weights) = workload.requests().iter().fold((0.0, 0.0), |(work, weights), request| {
        (work + request.weight() * own(request.service()), weights + request.weight())
    });
    let mean = if weights > 0.0 { work / weights } else { server.service().mean() };
    Some(Server { capacity_per_s: f64::from(server.servers()) / mean, service_ms: mean * 1e3 })
}

fn of_formula(answer: Answer) -> Prediction {
    let known = answer.known.as_ref();
    let percentiles = known.and_then(|known| known.percentiles);
    Prediction {
        by: "formula",
        model: answer.model.clone(),
        source: known.map_or_else(|| answer.assumption.clone(), |known| format!("{}, {}", known.method, known.source)),
        mean_ms: known.map(|known| known.response * 1e3),
        interval_ms: None,
        percentiles_ms: percentiles.map_or_else(Vec::new, |p| {
            [[0.5, p.p50], [0.9, p.p90], [0.95, p.p95], [0.99, p.p99]].map(|[p, time]| [p, time * 1e3]).to_vec()
        }),
        throughput_per_s: known.map(|known| known.throughput),
        in_system: known.map(|known| known.in_system),
    }
}

/// A workload that cannot be simulated says why; that is no reason to have no report.
fn of_simulation(workload: &Workload, stop: Stop) -> Prediction {
    let nothing = Prediction {
        by: "simulation",
        model: "none".to_owned(),
        source: String::new(),
        mean_ms: None,
        interval_ms: None,
        percentiles_ms: Vec::new(),
        throughput_per_s: None,
        in_system: None,
    };
    match simulate(workload, stop, &mut ()) {
        Err(why) => Prediction { source: why.to_string(), ..nothing },
        Ok(answer) => {
            let (summary, response) = (&answer.summary, &answer.summary.response);
            let points = [(0.5, response.p50), (0.9, response.p90), (0.95, response.p95), (0.99, response.p99)];
            Prediction {
                model: format!("{}, {}", answer.model, answer.discipline),
                source: format!("{} requests after a warm-up of {}", summary.jobs, summary.warm_up),
                mean_ms: Some(response.mean.value * 1e3),
                interval_ms: Some((response.mean.low * 1e3, response.mean.high * 1e3)),
                percentiles_ms: points.map(|(p, estimate)| [p, estimate.value * 1e3]).to_vec(),
                throughput_per_s: Some(summary.throughput.value),
                in_system: Some(summary.in_system.value),
                ..nothing
            }
        }
    }
}

/// Adds how many people the launches of a run stand for, where its rate and response are known.
pub(crate) fn web_users(run: &mut Run) -> Result<(), Failure> {
    let queue = &run.verdict.queue;
    let (Some(rate), Some(response_ms)) = (queue.rate_per_s, queue.response_ms) else { return Ok(()) };
    let traffic = Traffic::new(rate, response_ms / 1e3, 1, 1)?;
    let row = |think_s: f64| {
        let web_users = traffic.web_users(think_s)?;
        let times_this_run = PEOPLE / web_users;
        Ok(WebUsers { think_s, web_users, rate_of_10000_per_s: rate * times_this_run, times_this_run })
    };
    run.web_users = THINKS.into_iter().map(row).collect::<Result<_, offered_plan::Error>>()?;
    Ok(())
}
