//! What was tested, and with what: what a reader must know before any answer.

use offered_model::Count;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is known of how a run came to be; of another tool's file little is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tested {
    /// Where the launches went.
    pub target: Option<String>,
    /// What was asked for: the name, method and path of each kind of request, as the workload writes them.
    pub requests: Vec<String>,
    /// The instant it began (of a file: of the first launch), ISO 8601 in UTC.
    pub began: Option<String>,
    /// For how long launches were to be made at most, in seconds.
    pub duration_s: Option<f64>,
    /// How much was to be launched at most, by all shares together, where that was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<Count>,
    /// From which every random choice followed.
    pub seed: Option<u64>,
    /// The part of the whole run that was launched here, where it was not the whole.
    pub share: Option<String>,
    /// What made the launches: name, system, processor and cores.
    pub machine: Option<String>,
    /// The version of `offered` that made them.
    pub version: Option<String>,
}
