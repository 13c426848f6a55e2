//! The document `offered.simulate/1`, printed by `offered simulate --json`. Each of its results is also the summary of a recorded simulation.

use std::collections::BTreeMap;

use offered_events::document::{self, Schema};
use offered_simulate::statistics::{Interval, Percentile, SampleSummary, TokenStatistics};
use offered_simulate::{AttemptFigures, SimulationResult, SimulationWarning};
use offered_stats::steady_state::Estimate;
use serde::{Deserialize, Serialize};

use super::finite;
use crate::figures::or_infinite;
use crate::{Field, Point};

/// The result of a simulation, or the reason why there is nothing to measure: its queue grows without end, or no
/// request completed.
pub type Simulated = Result<SimulationResult, offered_simulate::Error>;

/// Simulations, one per point of a grid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Document {
    /// Name and version of this document.
    pub schema: Schema<Document>,
    /// The results, in the order of the grid.
    pub results: Vec<Outcome>,
    /// The points of the grid that have nothing to measure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmeasurable: Vec<Unmeasurable>,
}

/// A point of a grid whose simulation has nothing to measure: its queue grows without end, or no request completed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unmeasurable {
    /// The value of every field that was varied.
    pub varied: BTreeMap<Field, String>,
    /// Why there is nothing to measure.
    pub reason: String,
}

impl document::Document for Document {
    const SCHEMA: &'static str = "offered.simulate/1";
}

/// The result of one simulation. Times are in seconds; the warm-up is excluded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Outcome {
    /// The value of every field that was varied.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub varied: BTreeMap<Field, String>,
    /// `open`, `closed` or `partly-open`.
    pub model: String,
    /// The scheduling discipline as written.
    pub discipline: String,
    /// The offered load, if the workload determines it: not in a closed system.
    pub load: Option<f64>,
    /// The load that the simulation reached: the utilisation; if every request has its own server, the mean number of requests in service.
    pub load_reached: f64,
    /// Number of users N of a closed system.
    pub users: Option<u64>,
    /// Stay probability of a partly-open system.
    pub stay: Option<f64>,
    /// Squared coefficient of variation of the service time; `null` if infinite.
    pub scv: Option<f64>,
    /// The service time distribution as written.
    pub service: String,
    /// Number of completed requests that were counted.
    pub jobs: u64,
    /// Number of completed requests excluded as warm-up.
    pub warm_up_jobs: u64,
    /// Number of completed requests from which the means have confidence intervals; only if there are too few.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jobs_needed: Option<u64>,
    /// Response times of all completed requests.
    pub response_s: Percentiles,
    /// Mean response time by Little's law, E\[N\]/X, which includes unfinished requests.
    pub littles_law_response_s: Mean,
    /// Slowdown: response time over service time.
    pub slowdown: Percentiles,
    /// Response time and slowdown per request, if there are several; `null` for a request that did not occur.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<Option<Class>>,
    /// Sessions that ended, if sessions have several requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<SessionsEnded>,
    /// First attempts, all attempts and goodput, in a workload with time limits or retries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<Attempts>,
    /// Times to the first token and per token, and goodput, of a server with an engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// Throughput X.
    pub throughput_per_s: f64,
    /// Utilisation of the servers.
    pub utilisation: f64,
    /// E\[N\]: mean number of requests in the system; `null` if infinite.
    #[serde(deserialize_with = "or_infinite")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub in_system: f64,
    /// Share of requests that failed: rejected because the queue was full, or after their time limit and retries.
    pub rejected_share: f64,
    /// Number of requests in the system at the end.
    pub unfinished: u64,
    /// Age of the oldest unfinished request.
    pub oldest_unfinished_s: Option<f64>,
    /// Mean think time.
    pub think_s: Option<f64>,
    /// 95 % confidence intervals of the figures above.
    pub intervals: Intervals,
    /// Warnings, each with a fix.
    pub warnings: Vec<String>,
}

/// The results of one request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Class {
    /// The label of the request.
    pub label: String,
    /// Response times.
    pub response_s: Percentiles,
    /// Slowdown: response time over service time.
    pub slowdown: Percentiles,
}

/// Attempts of requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Attempts {
    /// Rate of requests: first attempts.
    pub first_attempts_per_s: f64,
    /// Rate of all attempts.
    pub attempts_per_s: f64,
    /// Rate of requests that succeeded.
    pub goodput_per_s: f64,
    /// Share of the work of the server for attempts that clients had abandoned.
    pub wasted_share: f64,
    /// Number of requests whose user gave up.
    pub gave_up: u64,
    /// Rate of requests that were not sent because a circuit breaker was open.
    pub breaker_open_per_s: f64,
}

impl From<AttemptFigures> for Attempts {
    fn from(figures: AttemptFigures) -> Self {
        let AttemptFigures { first_attempts_per_s, attempts_per_s, goodput_per_s, wasted, .. } = figures;
        let AttemptFigures { gave_up, breaker_open_per_s, .. } = figures;
        Self { first_attempts_per_s, attempts_per_s, goodput_per_s, wasted_share: wasted, gave_up, breaker_open_per_s }
    }
}

/// Responses of an engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tokens {
    /// Time from the scheduled time of a request to the first token of its response.
    pub ttft_s: Percentiles,
    /// Time per output token after the first; `null` if no response has several tokens.
    pub tpot_s: Option<Percentiles>,
    /// Output tokens per second.
    pub output_tokens_per_s: Mean,
    /// Requests per second that meet all limits of `[goodput]`; `null` without limits.
    pub goodput_per_s: Option<Mean>,
    /// The share of requests that meet all limits, 0 to 1.
    pub goodput_share: Option<Mean>,
}

impl From<&TokenStatistics> for Tokens {
    fn from(tokens: &TokenStatistics) -> Self {
        Self {
            ttft_s: tokens.ttft.into(),
            tpot_s: tokens.tpot.map(Percentiles::from),
            output_tokens_per_s: tokens.output_per_s.into(),
            goodput_per_s: tokens.goodput.map(|(rate, _)| rate.into()),
            goodput_share: tokens.goodput.map(|(_, share)| share.into()),
        }
    }
}

/// Sessions that ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionsEnded {
    /// Number of sessions.
    pub count: u64,
    /// Duration from the first request to the last response, think times included.
    pub duration_s: Percentiles,
    /// Sum of the response times of a session.
    pub response_s: Percentiles,
}

/// Mean and percentiles of a time in seconds, or of a slowdown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Percentiles {
    /// Mean; `null` if infinite.
    #[serde(deserialize_with = "or_infinite")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub mean: f64,
    /// Lower end of its 95 % confidence interval; `null` if the run is too short.
    pub low: Option<f64>,
    /// Upper end of that interval.
    pub high: Option<f64>,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Maximum.
    pub max: f64,
    /// 95 % confidence intervals of the percentiles.
    pub intervals: PercentileIntervals,
    /// For each percentile (`p99`) with too few values for an interval: the approximate number of values needed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values_needed: BTreeMap<String, u64>,
}

/// Lower and upper end of a 95 % confidence interval; `null` if the run is too short.
pub type Ends = [Option<f64>; 2];

/// 95 % confidence intervals of percentiles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PercentileIntervals {
    /// Interval of the median.
    pub p50: Ends,
    /// Interval of the 90th percentile.
    pub p90: Ends,
    /// Interval of the 95th percentile.
    pub p95: Ends,
    /// Interval of the 99th percentile.
    pub p99: Ends,
}

/// A mean with its 95 % confidence interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mean {
    /// Mean; `null` if infinite.
    #[serde(deserialize_with = "or_infinite")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub mean: f64,
    /// Lower end; `null` if the run is too short.
    pub low: Option<f64>,
    /// Upper end of that interval.
    pub high: Option<f64>,
}

/// 95 % confidence intervals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Intervals {
    /// Interval of the load reached.
    pub load_reached: Ends,
    /// Interval of the throughput.
    pub throughput_per_s: Ends,
    /// Interval of the utilisation.
    pub utilisation: Ends,
    /// Interval of the mean number in the system.
    pub in_system: Ends,
    /// Interval of the share of rejected requests.
    pub rejected_share: Ends,
}

fn ends(estimate: Estimate) -> Ends {
    [finite(estimate.low), finite(estimate.high)]
}

impl From<Estimate> for Mean {
    fn from(estimate: Estimate) -> Self {
        let [low, high] = ends(estimate);
        Self { mean: estimate.value, low, high }
    }
}

impl From<SampleSummary> for Percentiles {
    fn from(spread: SampleSummary) -> Self {
        let SampleSummary { mean, p50, p90, p95, p99, max } = spread;
        let [e50, e90, e95, e99] = [p50, p90, p95, p99].map(|point| ends(point.estimate()));
        let intervals = PercentileIntervals { p50: e50, p90: e90, p95: e95, p99: e99 };
        let needed = |(name, point): (&str, Percentile)| match point.interval {
            Interval::Known(..) => None,
            Interval::NeedsSamples(values) => Some((name.to_owned(), values)),
        };
        let named = [("p50", p50), ("p90", p90), ("p95", p95), ("p99", p99)];
        let values_needed = named.into_iter().filter_map(needed).collect();
        let Mean { mean, low, high } = mean.into();
        let [p50, p90, p95, p99] = [p50, p90, p95, p99].map(|point| point.value);
        Self { mean, low, high, p50, p90, p95, p99, max, intervals, values_needed }
    }
}

impl Outcome {
    /// The document of one result at a point of a grid.
    pub fn new(values: &[(Field, String)], answer: &SimulationResult) -> Self {
        let SimulationResult { summary, .. } = answer;
        let class = |(both, label): (&Option<(SampleSummary, SampleSummary)>, &String)| {
            both.map(|(response, slowdown)| Class {
                label: label.clone(),
                response_s: response.into(),
                slowdown: slowdown.into(),
            })
        };
        Self {
            varied: values.iter().cloned().collect(),
            model: answer.model.to_owned(),
            discipline: answer.discipline.clone(),
            load: answer.load,
            load_reached: answer.load_reached.value,
            users: answer.users,
            stay: answer.session_length.map(|length| 1.0 - 1.0 / length),
            scv: finite(answer.scv),
            service: answer.service.clone(),
            jobs: summary.jobs,
            warm_up_jobs: summary.warm_up,
            jobs_needed: summary.jobs_needed,
            response_s: summary.response.into(),
            littles_law_response_s: summary.littles_law_response.into(),
            slowdown: summary.slowdown.into(),
            classes: summary.classes.iter().zip(&answer.labels).map(class).collect(),
            sessions: summary.sessions.as_ref().map(|ended| SessionsEnded {
                count: ended.count,
                duration_s: ended.duration.into(),
                response_s: ended.waiting.into(),
            }),
            attempts: answer.attempts.map(Attempts::from),
            tokens: summary.tokens.as_ref().map(Tokens::from),
            throughput_per_s: summary.throughput.value,
            utilisation: answer.load_reached.value,
            in_system: summary.in_system.value,
            rejected_share: summary.rejected.value,
            unfinished: summary.unfinished,
            oldest_unfinished_s: answer.ages.map(|(oldest, _)| oldest),
            think_s: answer.think,
            intervals: Intervals {
                load_reached: ends(answer.load_reached),
                throughput_per_s: ends(summary.throughput),
                utilisation: ends(answer.load_reached),
                in_system: ends(summary.in_system),
                rejected_share: ends(summary.rejected),
            },
            warnings: answer.warnings.iter().map(SimulationWarning::message).collect(),
        }
    }
}

impl Document {
    /// The document of all points and their results.
    pub fn new(points: &[Point], answers: &[Simulated]) -> Self {
        let (mut results, mut unmeasurable) = (Vec::new(), Vec::new());
        for (point, answer) in points.iter().zip(answers) {
            match answer {
                Ok(answer) => results.push(Outcome::new(&point.values, answer)),
                Err(reason) => {
                    let (varied, reason) = (point.values.iter().cloned().collect(), reason.to_string());
                    unmeasurable.push(Unmeasurable { varied, reason });
                }
            }
        }
        Self { schema: Schema::new(), results, unmeasurable }
    }
}
