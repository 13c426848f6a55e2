//! The document `offered.simulate/1`: what `offered simulate --json` prints, and each of its results the summary of a recorded
//! simulation.

use std::collections::BTreeMap;

use offered_events::document::{self, Schema};
use offered_simulate::statistics::{Interval, Percentile, SampleSummary};
use offered_simulate::{Doubt, SimulationResult};
use offered_stats::steady_state::Estimate;
use serde::{Deserialize, Serialize};

use super::finite;
use crate::{Field, Point};

/// Simulations, one for each point of a grid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Document {
    /// What this document is.
    pub schema: Schema<Document>,
    /// In the order of the grid.
    pub results: Vec<Outcome>,
}

impl document::Document for Document {
    const SCHEMA: &'static str = "offered.simulate/1";
}

/// What one simulation came to. Times in seconds; the figures leave the warm-up out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Outcome {
    /// The value of every field that was varied.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub varied: BTreeMap<Field, String>,
    /// `open`, `closed` or `partly-open`.
    pub model: String,
    /// The policy, as it is written.
    pub discipline: String,
    /// The offered load, where the workload fixes it: not in a closed system.
    pub load: Option<f64>,
    /// The load reached: utilisation, or of a server for everybody the work in progress.
    pub load_reached: f64,
    /// N of a closed system.
    pub users: Option<u64>,
    /// The stay probability of a partly-open one.
    pub stay: Option<f64>,
    /// C2 of the work of a request; `null` where its variance is infinite.
    pub scv: Option<f64>,
    /// The law of work, as it is written: mean and scv alone do not fix it.
    pub service: String,
    /// Completions counted.
    pub jobs: u64,
    /// Completions left out as warm-up.
    pub warm_up_jobs: u64,
    /// Response times of all completed jobs.
    pub response_s: Percentiles,
    /// E\[N\]/X by Little's law: the mean response that counts the unfinished too.
    pub littles_law_response_s: Mean,
    /// Response over size.
    pub slowdown: Percentiles,
    /// The same two for each request, where there are several; `null` for one that nobody chose.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<Option<Class>>,
    /// Sessions that ended, where they do so after several requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<SessionsEnded>,
    /// X.
    pub throughput_per_s: f64,
    /// The busy part of the servers.
    pub utilisation: f64,
    /// E\[N\], the mean number in the system.
    pub in_system: f64,
    /// The part of all launches that found no room.
    pub rejected_share: f64,
    /// Jobs in the system at the end.
    pub unfinished: u64,
    /// The age of the oldest of them.
    pub oldest_unfinished_s: Option<f64>,
    /// Mean think time.
    pub think_s: Option<f64>,
    /// The 95 % intervals of the figures above.
    pub intervals: Intervals,
    /// What to doubt, and what to do about it.
    pub warnings: Vec<String>,
}

/// The jobs of one request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Class {
    /// The request's name.
    pub label: String,
    /// Response times.
    pub response_s: Percentiles,
    /// Response over size.
    pub slowdown: Percentiles,
}

/// Sessions that made their last request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionsEnded {
    /// How many.
    pub count: u64,
    /// First launch to last answer, thinking included.
    pub duration_s: Percentiles,
    /// The responses of a session in all.
    pub response_s: Percentiles,
}

/// Mean and percentiles of a time in seconds, or of a slowdown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Percentiles {
    /// The mean.
    pub mean: f64,
    /// The lower end of its 95 % interval; `null` where the run is too short to tell.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// The median.
    pub p50: f64,
    /// The 90 % point.
    pub p90: f64,
    /// The 95 % point.
    pub p95: f64,
    /// The 99 % point.
    pub p99: f64,
    /// The largest.
    pub max: f64,
    /// The 95 % intervals of the percentiles.
    pub intervals: OfPercentiles,
    /// Of each percentile (`p99`) for whose interval there are too few values: about how many would do.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values_needed: BTreeMap<String, u64>,
}

/// The ends of a 95 % interval, the lower first; `null` where the run is too short to tell.
pub type Ends = [Option<f64>; 2];

/// The 95 % intervals of percentiles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OfPercentiles {
    /// Of the median.
    pub p50: Ends,
    /// Of the 90 % point.
    pub p90: Ends,
    /// Of the 95 % point.
    pub p95: Ends,
    /// Of the 99 % point.
    pub p99: Ends,
}

/// A mean with its 95 % interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mean {
    /// The mean.
    pub mean: f64,
    /// The lower end; `null` where the run is too short to tell.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
}

/// 95 % intervals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Intervals {
    /// Of the load reached.
    pub load_reached: Ends,
    /// Of the throughput.
    pub throughput_per_s: Ends,
    /// Of the utilisation.
    pub utilisation: Ends,
    /// Of the mean number in the system.
    pub in_system: Ends,
    /// Of the part that found no room.
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
        let intervals = OfPercentiles { p50: e50, p90: e90, p95: e95, p99: e99 };
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
    /// Of this answer, varied so.
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
            response_s: summary.response.into(),
            littles_law_response_s: summary.littles_law_response.into(),
            slowdown: summary.slowdown.into(),
            classes: summary.classes.iter().zip(&answer.labels).map(class).collect(),
            sessions: summary.sessions.as_ref().map(|ended| SessionsEnded {
                count: ended.count,
                duration_s: ended.duration.into(),
                response_s: ended.waiting.into(),
            }),
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
            warnings: answer.warnings.iter().map(Doubt::words).collect(),
        }
    }
}

impl Document {
    /// Of these points and their answers.
    pub fn new(points: &[Point], answers: &[SimulationResult]) -> Self {
        let results = points.iter().zip(answers).map(|(point, answer)| Outcome::new(&point.values, answer)).collect();
        Self { schema: Schema::new(), results }
    }
}
