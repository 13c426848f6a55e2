//! The document `offered.compare/1`: what `offered compare --json` prints.

use offered_base::{count, short};
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

impl Document {
    /// The change of the statistic that decides, if it is known with its interval.
    pub fn change(&self) -> Option<&Change> {
        self.responses.iter().find(|row| row.statistic == self.statistic && row.interval().is_some())
    }

    /// What is known of the statistic that decides: `SLOWER`, `FASTER`, `SIMILAR` or `NOT KNOWN`.
    pub fn judgement(&self) -> &'static str {
        let Some((low, high)) = self.change().and_then(Change::interval) else { return "NOT KNOWN" };
        match (low > 0.0, high < 0.0) {
            (true, _) => "SLOWER",
            (_, true) => "FASTER",
            _ => "SIMILAR",
        }
    }

    /// Whether more requests of B fail.
    pub fn fails_more(&self) -> bool {
        self.errors.low_points.is_some_and(|low| low > 0.0)
    }

    /// `no worse than 5 %`, and why B is not; `None` without a limit.
    pub fn limit_text(&self) -> Option<String> {
        let limit = format!("no worse than {} %", short(self.no_worse_than_percent?));
        Some(match self.result? {
            CheckResult::Failed if self.fails_more() => format!("{limit}: more requests of B fail"),
            CheckResult::Passed | CheckResult::Failed => limit,
            CheckResult::NotChecked => format!("{limit}: the interval includes it"),
        })
    }

    /// The number of rounds, and why there are no more; `exhausted` says so of the maximum number.
    pub fn rounds_text(&self, exhausted: &str) -> String {
        let Self { rounds, max_rounds, round_s, settle_s, .. } = self;
        let what = if self.has_baseline { "rounds of B" } else { "pairs" };
        let reason = match self.end {
            End::Decided => "the answer is known",
            End::Precise => "the interval is narrow enough",
            End::Rounds => exhausted,
            End::Stopped => "stopped",
        };
        let (round, settle) = (short(*round_s), short(*settle_s));
        format!("{rounds} {what} of at most {max_rounds}: {reason}; each {round} s, without its first {settle} s")
    }
}

impl Side {
    /// `http://old/: 6,862 ok, 0 failed`.
    pub fn text(&self) -> String {
        format!("{}: {} ok, {} failed", self.name, count(self.ok), count(self.failed))
    }
}

impl Change {
    /// The interval of the change, in percent, if it is known.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.low_percent.zip(self.high_percent)
    }
}

impl ErrorChange {
    /// The interval of the difference, in percentage points, if it is known.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.low_points.zip(self.high_points)
    }
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
    /// The statistic that decides, in each round that counts, in order; those of A and B with the same position are a pair. `None`: too few
    /// requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds_ms: Vec<Option<f64>>,
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
