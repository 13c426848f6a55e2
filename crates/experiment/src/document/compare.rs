//! The document `offered.compare/1`: what `offered compare --json` prints.

use offered_events::document::{self, Schema};
use offered_verify::CheckResult;
use serde::{Deserialize, Serialize};

/// A comparison of two targets or workloads, A and B.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Document {
    /// Name and version of this document.
    pub schema: Schema<Document>,
    /// The reference.
    pub a: Side,
    /// What is compared with it.
    pub b: Side,
    /// Whether A is a recording of an earlier run, so that its rounds are not paired with those of B.
    pub has_baseline: bool,
    /// The statistic that decides: `mean`, `p95`.
    pub statistic: String,
    /// The largest accepted increase of that statistic from A to B; `None` if none was given.
    pub no_worse_than_percent: Option<f64>,
    /// Whether B is no worse; `None` if no limit was given.
    pub result: Option<CheckResult>,
    /// What is known of the statistic, in one sentence.
    pub conclusion: String,
    /// Duration of a round.
    pub round_s: f64,
    /// Time at the start of each round that does not count.
    pub settle_s: f64,
    /// Number of rounds of B that count; in a comparison without a baseline, as many of A.
    pub rounds: u64,
    /// Maximum number of rounds of B that could have counted.
    pub max_rounds: u64,
    /// Number of rounds, with those of the other side, that do not count because one of them is invalid.
    pub invalid_rounds: u64,
    /// Why no further rounds were made.
    pub end: End,
    /// Mean and percentiles of the response times of successful requests.
    pub responses: Vec<Change>,
    /// The share of failed requests.
    pub errors: ErrorChange,
    /// What limits the comparison.
    pub warnings: Vec<String>,
}

impl document::Document for Document {
    const SCHEMA: &'static str = "offered.compare/1";
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Side {
    /// The target, the workload, or the directory of the baseline.
    pub name: String,
    /// Number of successful requests in the rounds that count.
    pub ok: u64,
    /// Number of failed requests.
    pub failed: u64,
}

/// A statistic of the response times of A and B. `None`: the rounds have too few requests for this percentile, or there are too few rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// `mean`, `p50`, `p95`, ...
    pub statistic: String,
    /// Of A: the geometric mean over its rounds.
    pub a_ms: Option<f64>,
    /// Of B.
    pub b_ms: Option<f64>,
    /// The change from A to B, in percent of A.
    pub change_percent: Option<f64>,
    /// The lower end of its 95 % confidence interval, which holds at all looks together.
    pub low_percent: Option<f64>,
    /// The upper end.
    pub high_percent: Option<f64>,
}

/// The share of failed requests of A and B.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ErrorChange {
    /// Of A.
    pub a_percent: f64,
    /// Of B.
    pub b_percent: f64,
    /// The difference B - A, in percentage points.
    pub difference_points: f64,
    /// The lower end of its 95 % confidence interval; `None` with too few rounds.
    pub low_points: Option<f64>,
    /// The upper end.
    pub high_points: Option<f64>,
}

offered_base::named! {
    /// Why a comparison ended.
    pub enum End {
        /// The interval answers the question.
        Decided = "decided",
        /// The interval is as narrow as wanted.
        Precise = "precise",
        /// The maximum number of rounds was made.
        Rounds = "rounds",
        /// It was stopped.
        Stopped = "stopped",
    }
}
