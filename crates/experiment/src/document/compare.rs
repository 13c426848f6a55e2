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
    /// Side A, the reference.
    pub a: Side,
    /// Side B, which is compared with A.
    pub b: Side,
    /// Whether A is a recording of an earlier run, so that its rounds are not paired with those of B.
    pub has_baseline: bool,
    /// The statistic that decides: `mean`, `p95`.
    pub statistic: String,
    /// The largest accepted increase of that statistic from A to B; `None` if none was given.
    pub no_worse_than_percent: Option<f64>,
    /// Whether B is worse than A by at most `no_worse_than_percent`; `None` if no limit was given.
    pub result: Option<CheckResult>,
    /// The conclusion about the statistic, in one sentence.
    pub conclusion: String,
    /// Duration of a round.
    pub round_s: f64,
    /// Time excluded at the start of each round.
    pub settle_s: f64,
    /// Number of measured rounds of B, without excluded ones; without a baseline, A has the same number.
    pub rounds: u64,
    /// Maximum number of measured rounds of B.
    pub max_rounds: u64,
    /// Number of excluded rounds: the invalid rounds, and the rounds of the other side in the same pairs.
    pub invalid_rounds: u64,
    /// Why the comparison ended.
    pub end: End,
    /// Mean and percentiles of the response times of successful requests.
    pub responses: Vec<Change>,
    /// The share of failed requests.
    pub errors: ErrorChange,
    /// Limitations of the comparison.
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

    /// The judgement of the statistic that decides: `SLOWER`, `FASTER`, `SIMILAR` or `NOT KNOWN`.
    pub fn judgement(&self) -> &'static str {
        let Some((low, high)) = self.change().and_then(Change::interval) else { return "NOT KNOWN" };
        match (low > 0.0, high < 0.0) {
            (true, _) => "SLOWER",
            (_, true) => "FASTER",
            _ => "SIMILAR",
        }
    }

    /// Whether the share of failed requests is higher in B, by its confidence interval.
    pub fn fails_more(&self) -> bool {
        self.errors.low_points.is_some_and(|low| low > 0.0)
    }

    /// The limit as text, such as `no worse than 5 %`, and the reason if B did not pass; `None` without a limit.
    pub fn limit_text(&self) -> Option<String> {
        let limit = format!("no worse than {} %", short(self.no_worse_than_percent?));
        Some(match self.result? {
            CheckResult::Failed if self.fails_more() => format!("{limit}: more requests of B fail"),
            CheckResult::Passed | CheckResult::Failed => limit,
            CheckResult::NotChecked => format!("{limit}: unclear, the interval includes this limit"),
        })
    }

    /// The number of rounds, and the reason why the comparison ended; `exhausted` is the reason after the maximum
    /// number of rounds.
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
        format!(
            "{rounds} {what} of at most {max_rounds}: {reason}; each takes {round} s, of which the first {settle} s are excluded"
        )
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
    /// Number of successful requests in the measured rounds.
    pub ok: u64,
    /// Number of failed requests.
    pub failed: u64,
    /// The statistic that decides, for each measured round in order. Values of A and B at the same position are a pair.
    /// `None`: too few requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds_ms: Vec<Option<f64>>,
}

/// A statistic of the response times of A and B. `None`: the rounds have too few requests for this percentile, or there are too few rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// `mean`, `p50`, `p95`, ...
    pub statistic: String,
    /// The statistic of A: the geometric mean over its rounds.
    pub a_ms: Option<f64>,
    /// The statistic of B.
    pub b_ms: Option<f64>,
    /// The change from A to B, in percent of A.
    pub change_percent: Option<f64>,
    /// The lower end of its 95 % confidence interval, which is valid for all looks together.
    pub low_percent: Option<f64>,
    /// The upper end of that interval.
    pub high_percent: Option<f64>,
}

/// The share of failed requests of A and B.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ErrorChange {
    /// The share of A, in percent.
    pub a_percent: f64,
    /// The share of B, in percent.
    pub b_percent: f64,
    /// The difference B - A, in percentage points.
    pub difference_points: f64,
    /// The lower end of its 95 % confidence interval; `None` with too few rounds.
    pub low_points: Option<f64>,
    /// The upper end of that interval.
    pub high_points: Option<f64>,
}

offered_base::named! {
    /// Why a comparison ended.
    pub enum End {
        /// The confidence interval decides whether B is slower or faster, or passes the limit.
        Decided = "decided",
        /// The interval is as narrow as required.
        Precise = "precise",
        /// The maximum number of rounds was made.
        Rounds = "rounds",
        /// The comparison was stopped.
        Stopped = "stopped",
    }
}
