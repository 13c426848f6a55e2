//! The setup of a test: target, requests, time, seed, machine.

use offered_schedule::Count;
use serde::{Deserialize, Serialize};

/// The setup of a run. Most fields are unknown for another tool's file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TestSetup {
    /// Target URL.
    pub target: Option<String>,
    /// Name, method and path of each request of the workload.
    pub requests: Vec<String>,
    /// Start of the run, or first request of a file: ISO 8601, UTC.
    pub started_at: Option<String>,
    /// Maximum duration, in seconds.
    pub duration_s: Option<f64>,
    /// Mean think time of the workload; `None` if sessions do not think by a distribution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think_ms: Option<f64>,
    /// Maximum number of requests or sessions of all workers, if limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<Count>,
    /// Seed of all random numbers.
    pub seed: Option<u64>,
    /// The slice of the run, if not the whole.
    pub share: Option<String>,
    /// The load machine: name, system, architecture and cores.
    pub machine: Option<String>,
    /// Version of `offered`.
    pub version: Option<String>,
}
