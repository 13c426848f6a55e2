//! The document `offered.capacity/1`: what `offered capacity --json` prints.

use offered_events::document::{self, Schema};
use offered_verify::Check;
use serde::{Deserialize, Serialize};

use crate::Field;
use crate::figures::Interval;

/// The search for the largest rate or number of users that meets an objective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Document {
    /// Name and version of this document.
    pub schema: Schema<Document>,
    /// The name of the workload.
    pub workload: String,
    /// Whether the trials were simulated rather than run.
    pub simulated: bool,
    /// The objective, as given, for example `p99 < 250ms, errors < 0.1%`.
    pub objective: String,
    /// The field that the search varied.
    pub field: Field,
    /// The largest value at which the objective passed.
    pub low: Option<f64>,
    /// The smallest value at which the objective failed.
    pub high: Option<f64>,
    /// Whether the search reached its precision within the number of trials.
    pub complete: bool,
    /// The value at which the generator, not the server, was the limit.
    pub generator_limit: Option<Limit>,
    /// Warnings, each with a fix.
    pub warnings: Vec<String>,
    /// The number of trials at all values.
    pub trials: usize,
    /// The values that were tried, in ascending order.
    pub points: Vec<Point>,
}

impl document::Document for Document {
    const SCHEMA: &'static str = "offered.capacity/1";
}

/// A value that the generator could not reach.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limit {
    /// The value.
    pub value: f64,
    /// The failed checks of the last trial at this value.
    pub failed_checks: Vec<Check>,
    /// Why the last trial at this value is invalid.
    pub reason: String,
}

/// A value that was tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Point {
    /// The value.
    pub value: f64,
    /// The number of trials.
    pub trials: usize,
    /// The metrics of the objective, in its order: in seconds, per second or as fractions. Empty if the queue would grow without bound.
    pub metrics: Vec<Interval>,
    /// The result of the objective.
    pub result: ObjectiveResult,
}

offered_base::named! {
    /// The result of an objective over the trials at one value.
    pub enum ObjectiveResult {
        /// The objective is met.
        Passed = "passed",
        /// The objective is not met.
        Failed = "failed",
        /// The confidence interval includes the bound.
        Undecided = "undecided",
    }
}
