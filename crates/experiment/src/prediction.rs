//! Predictions for a run, by formula and by simulation, and the number of web users with the same request rate.

use offered_distributions::Distribution;
use offered_plan::analytic::{Analysis, analyse};
use offered_plan::web_users::Traffic;
use offered_schedule::Sessions;
use offered_simulate::{Stop, simulate};
use offered_verify::Queue;
use offered_workload::{Policy, Workload};
use serde::{Deserialize, Serialize};

use crate::Error;

/// Think times Z' of web users, in seconds.
const THINKS: [f64; 7] = [5.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0];
/// The number of web users for which a rate is computed.
const WEB_USERS: f64 = 10_000.0;
/// Number of requests of a simulation of a steady workload, whatever the duration of the run. It takes about a second.
const JOBS: u64 = 200_000;
/// Number of requests of the simulation before a dry run.
const DRY_RUN_JOBS: u64 = 50_000;

/// The limits of a server, which do not depend on the load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServerLimits {
    /// Requests per second when all servers are busy.
    pub capacity_per_s: f64,
    /// Mean service time, without queueing.
    pub service_ms: f64,
}

/// A prediction of the response times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Prediction {
    /// Formula or simulation.
    pub method: PredictionMethod,
    /// The name of the model.
    pub model: String,
    /// The source of the formula, or the size of the simulation.
    pub source: String,
    /// Mean response time; `None` if there is no prediction; then `source` gives the reason.
    pub mean_ms: Option<f64>,
    /// 95 % confidence interval of the mean of a simulation.
    pub interval_ms: Option<(f64, f64)>,
    /// Pairs of a fraction and the response time at that percentile.
    pub percentiles_ms: Vec<[f64; 2]>,
    /// Completed requests per second.
    pub throughput_per_s: Option<f64>,
    /// Mean number of requests in the system.
    pub in_system: Option<f64>,
}

offered_base::named! {
    /// How a prediction was made.
    pub enum PredictionMethod {
        /// A formula of queueing theory.
        Formula = "formula",
        /// A simulation of the workload.
        Simulation = "simulation",
    }
}

/// The number of web users with this think time that have the request rate of the run: N' = lambda (R + Z').
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WebUsers {
    /// Think time Z'.
    pub think_s: f64,
    /// Number of web users N'.
    pub web_users: f64,
    /// The request rate of 10,000 such users, at the same response times.
    pub rate_of_10000_per_s: f64,
    /// `rate_of_10000_per_s` divided by the rate of the run.
    pub multiple_of_run: f64,
}

impl Prediction {
    /// An entry without a prediction, with this reason, so that the report is complete.
    fn none(method: PredictionMethod, reason: impl ToString) -> Self {
        Self {
            method,
            model: "none".to_owned(),
            source: reason.to_string(),
            mean_ms: None,
            interval_ms: None,
            percentiles_ms: Vec::new(),
            throughput_per_s: None,
            in_system: None,
        }
    }
}

/// The predictions for a run of `workload`, if it models its server; for a `simulated` run only by formula.
pub fn predictions(workload: &Workload, simulated: bool) -> Vec<Prediction> {
    if workload.server().is_none() && workload.stations().is_empty() {
        return Vec::new();
    }
    // No formula solves an engine.
    let is_engine = workload.server().is_some_and(|server| server.discipline().engine().is_some());
    let formula = (!is_engine).then(|| analyse(workload, None));
    let is_steady = matches!(&formula, Some(Ok(formula)) if formula.system.is_some());
    let stop = if is_steady { Stop::Jobs(JOBS) } else { Stop::Duration };
    let none = |why| Prediction::none(PredictionMethod::Formula, why);
    let formula = formula.map(|formula| formula.map_or_else(none, of_formula));
    formula.into_iter().chain((!simulated).then(|| of_simulation(workload, stop))).collect()
}

/// The limits of a single server; `None` if every request has its own server.
pub fn server_limits(workload: &Workload) -> Option<ServerLimits> {
    let server = workload.server().filter(|server| server.discipline() != Policy::Infinite)?;
    if server.discipline().engine().is_some() {
        return None;
    }
    let works = workload.works();
    let law = |label: u16| works.distribution(label).unwrap_or(server.service());
    let mean: f64 = (0u16..).zip(workload.shares()).map(|(label, share)| share * law(label).mean()).sum();
    Some(ServerLimits { capacity_per_s: server.largest_rate()? / mean, service_ms: mean * 1e3 })
}

/// The default response times of a dry run: constant 10 ms; in a closed system, whose rate depends on the response
/// times, the mean service time of its modelled server.
pub fn dry_run_response(workload: &Workload) -> Distribution {
    let modelled = || {
        workload.server().filter(|_| matches!(workload.sessions(), Sessions::Closed(_)))?;
        let known = analyse(workload, None).ok().and_then(|formula| formula.steady_state);
        let simulated = || simulate(workload, Stop::Jobs(DRY_RUN_JOBS), None).ok();
        known.map(|known| known.response).or_else(|| Some(simulated()?.summary.response.mean.value))
    };
    let constant = |seconds: f64| Distribution::constant(seconds).ok();
    modelled().and_then(constant).or_else(|| constant(0.01)).expect("10 ms are a response time")
}

fn of_formula(answer: Analysis) -> Prediction {
    // An infinite mean cannot be compared with a measurement; the assumption gives the reason.
    let known = answer.steady_state.as_ref().filter(|known| known.response.is_finite());
    let percentiles = known.and_then(|known| known.percentiles);
    Prediction {
        method: PredictionMethod::Formula,
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

fn of_simulation(workload: &Workload, stop: Stop) -> Prediction {
    match simulate(workload, stop, None) {
        Err(why) => Prediction::none(PredictionMethod::Simulation, why),
        Ok(answer) => {
            let (summary, response) = (&answer.summary, &answer.summary.response);
            let points = [(0.5, response.p50), (0.9, response.p90), (0.95, response.p95), (0.99, response.p99)];
            Prediction {
                method: PredictionMethod::Simulation,
                model: format!("{}, {}", answer.model, answer.discipline),
                source: format!("{} requests after a warm-up of {}", summary.jobs, summary.warm_up),
                mean_ms: Some(response.mean.value * 1e3).filter(|mean| mean.is_finite()),
                interval_ms: response
                    .mean
                    .low
                    .is_finite()
                    .then_some((response.mean.low * 1e3, response.mean.high * 1e3)),
                percentiles_ms: points.map(|(p, estimate)| [p, estimate.value * 1e3]).to_vec(),
                throughput_per_s: Some(summary.throughput.value),
                in_system: Some(summary.in_system.value).filter(|number| number.is_finite()),
            }
        }
    }
}

/// The number of web users with the request rate of a run, if its rate and response time are known and Little's law applies.
///
/// # Errors
/// The rate or the response time is out of range.
pub fn web_users(queue: &Queue) -> Result<Vec<WebUsers>, Error> {
    let (Some(rate), Some(response_ms), Some(_)) = (queue.rate_per_s, queue.response_ms, queue.concurrency) else {
        return Ok(Vec::new());
    };
    let traffic = Traffic::new(rate, response_ms / 1e3, 1, 1)?;
    let row = |think_s: f64| {
        let web_users = traffic.web_users(think_s)?;
        let multiple_of_run = WEB_USERS / web_users;
        Ok(WebUsers { think_s, web_users, rate_of_10000_per_s: rate * multiple_of_run, multiple_of_run })
    };
    THINKS.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overloaded_server_has_no_prediction_but_a_reason() {
        let text = "seed = 1\nduration = \"10s\"\narrivals.open.rate = \"300/s\"\nserver.service = { exponential = \"5ms\" }\n";
        let workload = Workload::parse(text, "w.toml", &|_| Err(String::new())).unwrap();
        let all = predictions(&workload, true);
        assert_eq!((all.len(), all[0].method, all[0].mean_ms), (1, PredictionMethod::Formula, None));
        assert!(all[0].source.contains("the load is 1.5000"), "{}", all[0].source);
    }
}
