//! The document `offered.capacity/1`: what `offered capacity --json` prints.

use offered_model::document::{self, Schema};
use offered_verify::Check;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Field;
use crate::figures::Interval;

/// The search for the largest rate or number of users that keeps an objective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Document {
    /// What this document is.
    pub schema: Schema<Document>,
    /// The workload's name.
    pub workload: String,
    /// Whether the trials were simulated rather than run.
    pub simulated: bool,
    /// What was to be kept.
    pub objective: String,
    /// The field that was searched along.
    pub field: Field,
    /// The largest value at which the objective was seen to be kept.
    pub low: Option<f64>,
    /// The smallest at which it was seen to be broken.
    pub high: Option<f64>,
    /// Whether the search came to its end before the trials did.
    pub complete: bool,
    /// Where the generator was the limit, and not the server.
    pub generator_limit: Option<Limit>,
    /// What to doubt.
    pub warnings: Vec<String>,
    /// How many trials were made.
    pub trials: usize,
    /// The values tried, in ascending order.
    pub points: Vec<Point>,
}

impl document::Document for Document {
    const SCHEMA: &'static str = "offered.capacity/1";
}

/// A value that the generator could not make.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Limit {
    /// The value.
    pub value: f64,
    /// Which checks of the last trial at it failed.
    #[serde(default)]
    pub failed: Vec<Check>,
    /// Why that trial must not be believed.
    pub because: String,
}

/// A value that was tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// The value.
    pub value: f64,
    /// How many trials.
    pub trials: usize,
    /// What the objective looks at, in its order: in seconds, per second or as fractions. Empty where the queue would have grown
    /// without end.
    pub figures: Vec<Interval>,
    /// What they say of the objective.
    pub says: Said,
}

offered_model::named! {
    /// What the trials at one value say of the objective.
    pub enum Said {
        /// It is kept.
        Keeps = "keeps it",
        /// It is broken.
        Breaks = "breaks it",
        /// Too close to the bound to tell.
        Unsure = "too close to tell",
    }
}
