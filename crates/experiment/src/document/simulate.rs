//! The answers as one JSON document.

use offered_simulate::Simulated;
use offered_simulate::statistics::Spread;
use offered_stats::steady_state::Estimate;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::Point;

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    results: Vec<Outcome>,
}

/// One result. Times in seconds.
#[derive(Serialize)]
pub struct Outcome {
    #[serde(skip_serializing_if = "Map::is_empty")]
    swept: Map<String, Value>,
    model: &'static str,
    discipline: String,
    load: Option<f64>,
    load_reached: f64,
    users: Option<u64>,
    stay: Option<f64>,
    scv: f64,
    service: String,
    jobs: u64,
    warm_up_jobs: u64,
    response_s: Percentiles,
    response_by_little_s: Interval,
    slowdown: Percentiles,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    classes: Vec<Option<Class>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sessions: Option<SessionsEnded>,
    throughput_per_s: f64,
    utilisation: f64,
    in_system: f64,
    refused: f64,
    unfinished: u64,
    oldest_unfinished_s: Option<f64>,
    think_s: Option<f64>,
    intervals: Intervals,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct Class {
    label: String,
    response_s: Percentiles,
    slowdown: Percentiles,
}

/// Sessions that made their last request.
#[derive(Serialize)]
struct SessionsEnded {
    count: u64,
    /// First launch to last answer, thinking included.
    duration_s: Percentiles,
    /// The responses of a session in all.
    response_s: Percentiles,
}

#[derive(Serialize)]
struct Percentiles {
    mean: f64,
    low: f64,
    high: f64,
    p50: f64,
    p90: f64,
    p95: f64,
    p99: f64,
    max: f64,
    intervals: Value,
}

#[derive(Serialize)]
struct Interval {
    mean: f64,
    low: f64,
    high: f64,
}

/// Low and high ends of the 95 % intervals.
#[derive(Serialize)]
struct Intervals {
    load_reached: [f64; 2],
    throughput_per_s: [f64; 2],
    utilisation: [f64; 2],
    in_system: [f64; 2],
    refused: [f64; 2],
}

fn ends(estimate: Estimate) -> [f64; 2] {
    [estimate.low, estimate.high]
}

impl From<Spread> for Percentiles {
    fn from(spread: Spread) -> Self {
        let Spread { mean, p50, p90, p95, p99, max } = spread;
        Self {
            mean: mean.value,
            low: mean.low,
            high: mean.high,
            p50: p50.value,
            p90: p90.value,
            p95: p95.value,
            p99: p99.value,
            max,
            intervals: json!({ "p50": ends(p50), "p90": ends(p90), "p95": ends(p95), "p99": ends(p99) }),
        }
    }
}

impl Outcome {
    /// Of this answer, swept so.
    pub fn new(values: &[(String, String)], answer: &Simulated) -> Self {
        let Simulated { summary, .. } = answer;
        let class = |(both, label): (&Option<(Spread, Spread)>, &String)| {
            both.map(|(response, slowdown)| Class {
                label: label.clone(),
                response_s: response.into(),
                slowdown: slowdown.into(),
            })
        };
        Self {
            swept: values.iter().map(|(field, value)| (field.clone(), Value::from(value.as_str()))).collect(),
            model: answer.model,
            discipline: answer.discipline.clone(),
            load: answer.load,
            load_reached: answer.load_reached.value,
            users: answer.users,
            stay: answer.session_length.map(|length| 1.0 - 1.0 / length),
            scv: answer.scv,
            service: answer.service.clone(),
            jobs: summary.jobs,
            warm_up_jobs: summary.warm_up,
            response_s: summary.response.into(),
            response_by_little_s: Interval {
                mean: summary.response_by_little.value,
                low: summary.response_by_little.low,
                high: summary.response_by_little.high,
            },
            slowdown: summary.slowdown.into(),
            classes: summary.classes.iter().zip(&answer.labels).map(class).collect(),
            sessions: summary.sessions.as_ref().map(|ended| SessionsEnded {
                count: ended.count,
                duration_s: ended.duration.into(),
                response_s: ended.waited.into(),
            }),
            throughput_per_s: summary.throughput.value,
            utilisation: answer.load_reached.value,
            in_system: summary.in_system.value,
            refused: summary.refused.value,
            unfinished: summary.unfinished,
            oldest_unfinished_s: answer.ages.map(|(oldest, _)| oldest),
            think_s: answer.think,
            intervals: Intervals {
                load_reached: ends(answer.load_reached),
                throughput_per_s: ends(summary.throughput),
                utilisation: ends(answer.load_reached),
                in_system: ends(summary.in_system),
                refused: ends(summary.refused),
            },
            warnings: answer.warnings.clone(),
        }
    }
}

/// All of them.
pub fn document(points: &[Point], answers: &[Simulated]) -> String {
    let results = points.iter().zip(answers).map(|(point, answer)| Outcome::new(&point.values, answer)).collect();
    let document = Document { schema: "offered.simulate/1", results };
    serde_json::to_string_pretty(&document).expect("numbers and texts are JSON")
}
