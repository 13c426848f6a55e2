//! What theory says of a run: the formula and the simulation of its workload, and how many people its launches stand for.

use offered_plan::analytic::{Analysis, analyse};
use offered_plan::web_users::Traffic;
use offered_simulate::{Stop, simulate};
use offered_verify::Queue;
use offered_workload::{Policy, Workload};
use serde::{Deserialize, Serialize};

use crate::Error;

/// Think times Z' of people between pages, in seconds.
const THINKS: [f64; 7] = [5.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0];
/// So many people are asked about.
const PEOPLE: f64 = 10_000.0;
/// A steady workload is simulated for so many requests, whatever the length of the run: a second or so.
const JOBS: u64 = 200_000;

/// What no load can make better.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServerLimits {
    /// Requests per second with all servers busy.
    pub capacity_per_s: f64,
    /// The mean time in service, without any queue.
    pub service_ms: f64,
}

/// What theory says of the responses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Prediction {
    /// Where it comes from.
    pub by: PredictionMethod,
    /// The model's name.
    pub model: String,
    /// What it rests on.
    pub source: String,
    /// The mean response; `None` where there is no answer, and `source` says why.
    pub mean_ms: Option<f64>,
    /// The 95 % interval of the mean; of a simulation.
    pub interval_ms: Option<(f64, f64)>,
    /// Fractions and the responses that they are at most.
    pub percentiles_ms: Vec<[f64; 2]>,
    /// Answers per second.
    pub throughput_per_s: Option<f64>,
    /// Requests at the server.
    pub in_system: Option<f64>,
}

offered_base::named! {
    /// Where a prediction comes from.
    pub enum PredictionMethod {
        /// The arithmetic of queues.
        Formula = "formula",
        /// The workload on a virtual clock.
        Simulation = "simulation",
    }
}

/// How many people with this think time the run's launches stand for: N' = lambda (R + Z').
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WebUsers {
    /// Z'.
    pub think_s: f64,
    /// N'.
    pub web_users: f64,
    /// The rate that ten thousand such people would make, were the responses the same.
    pub rate_of_10000_per_s: f64,
    /// That rate as a multiple of the run's.
    pub times_this_run: f64,
}

/// What is predicted of a run of `workload`, where it models its server; of a `simulated` run by the formula only.
///
/// # Errors
/// A workload that no formula takes.
pub fn predictions(workload: &Workload, simulated: bool) -> Result<Vec<Prediction>, Error> {
    if workload.server().is_none() && workload.stations().is_empty() {
        return Ok(Vec::new());
    }
    let formula = analyse(workload, None)?;
    let stop = if formula.system.is_some() { Stop::Jobs(JOBS) } else { Stop::Duration };
    let mut predictions = vec![of_formula(formula)];
    if !simulated {
        predictions.push(of_simulation(workload, stop));
    }
    Ok(predictions)
}

/// What no load can make better of a single server; `None` where everybody has a server of his own.
pub fn server_limits(workload: &Workload) -> Option<ServerLimits> {
    let server = workload.server().filter(|server| server.discipline() != Policy::Infinite)?;
    let works = workload.works();
    let law = |label: u16| works.law(label).unwrap_or(server.service());
    let mean: f64 = (0u16..).zip(workload.shares()).map(|(label, share)| share * law(label).mean()).sum();
    Some(ServerLimits { capacity_per_s: f64::from(server.servers()) / mean, service_ms: mean * 1e3 })
}

fn of_formula(answer: Analysis) -> Prediction {
    // Nothing measured can be laid beside an infinite mean; the assumption says why it is infinite.
    let known = answer.steady_state.as_ref().filter(|known| known.response.is_finite());
    let percentiles = known.and_then(|known| known.percentiles);
    Prediction {
        by: PredictionMethod::Formula,
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
        by: PredictionMethod::Simulation,
        model: "none".to_owned(),
        source: String::new(),
        mean_ms: None,
        interval_ms: None,
        percentiles_ms: Vec::new(),
        throughput_per_s: None,
        in_system: None,
    };
    match simulate(workload, stop, None) {
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

/// How many people the launches of a run stand for, where its rate and response are known and Little's law applies.
///
/// # Errors
/// A rate or a response that no arithmetic takes.
pub fn web_users(queue: &Queue) -> Result<Vec<WebUsers>, Error> {
    let (Some(rate), Some(response_ms), Some(_)) = (queue.rate_per_s, queue.response_ms, queue.concurrency) else {
        return Ok(Vec::new());
    };
    let traffic = Traffic::new(rate, response_ms / 1e3, 1, 1)?;
    let row = |think_s: f64| {
        let web_users = traffic.web_users(think_s)?;
        let times_this_run = PEOPLE / web_users;
        Ok(WebUsers { think_s, web_users, rate_of_10000_per_s: rate * times_this_run, times_this_run })
    };
    THINKS.into_iter().map(row).collect()
}
