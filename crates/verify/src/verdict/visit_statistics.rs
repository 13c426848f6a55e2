//! Counts and times of visits, groups and steps.

use serde::{Deserialize, Serialize};

use super::RequestStats;

/// The visits of a run that began in the analysed time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VisitStats {
    /// Counts and times, one row per flow, then `Total`.
    pub flows: Vec<VisitTimes>,
    /// Requests by step, in the order of the workload. A request that several steps make has a row for each. Empty without flows.
    pub steps: Vec<StepStats>,
    /// Counts and times of groups that began in the analysed time, in the order of the workload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<VisitTimes>,
}

/// Counts and times of visits or groups. Times are those of successful visits or groups; `None` if there are none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VisitTimes {
    /// The name of the flow or group, or `Total`.
    pub label: String,
    /// Number of successful visits or groups: all of their requests succeeded.
    pub ok: u64,
    /// Number of failed visits or groups: at least one request failed.
    pub failed: u64,
    /// Number of visits or groups that were cut off before a request failed: by the end of the run, by a user who ends
    /// a visit early, or (a group) by the end of its visit.
    pub cut: u64,
    /// Mean number of requests of the successful visits or groups.
    pub mean_requests: Option<f64>,
    /// Response time: the sum of the response times of its requests, without think time.
    pub response: Option<TimeSummary>,
    /// Duration, with think times.
    pub duration: Option<TimeSummary>,
}

/// Mean and percentiles of times, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimeSummary {
    /// The mean.
    pub mean_ms: f64,
    /// The median.
    pub p50_ms: f64,
    /// The 95th percentile.
    pub p95_ms: f64,
    /// The 99th percentile.
    pub p99_ms: f64,
    /// The maximum.
    pub max_ms: f64,
}

/// The requests of one step of a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepStats {
    /// The flow and the step: `visitor/look`.
    pub step: String,
    /// Counts and response times; `label` is the name of the request.
    #[serde(flatten)]
    pub requests: RequestStats,
}
