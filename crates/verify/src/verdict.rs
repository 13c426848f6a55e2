//! The verdict: what to believe of a recording, in the shape of the JSON document `offered.verify/1`.
//!
//! Units stand in the names. A number that could not be had is `None`, `null` in JSON: never zero, never left out of a table.

use serde::Serialize;

/// The answer of [`crate::verify`].
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// `offered.verify/1`.
    pub schema: &'static str,
    /// What was read.
    pub source: Source,
    /// Which part of it was judged.
    pub window: Window,
    /// What it was judged against.
    pub meant: Intent,
    /// Gaps between launches, one row per label, then `Total`.
    pub launches: Vec<Times>,
    /// done - intended, one row per label, then `Total`.
    pub responses: Vec<Times>,
    /// first byte - intended, one row per label, then `Total`; empty when no first byte was recorded.
    pub first_byte: Vec<Times>,
    /// Bytes read, one row per label, then `Total`; empty when none were recorded.
    pub sizes: Vec<Sizes>,
    /// Gaps against the number of threads, when asked for.
    pub by_threads: Vec<Threads>,
    /// Gaps of each worker's own launches, when there was more than one.
    pub by_worker: Vec<Times>,
    /// Gaps of each node's own launches, when several were merged.
    pub by_node: Vec<Times>,
    /// sent - intended, when the intended instants are known.
    pub lateness: Option<Lateness>,
    /// Concurrency by Little's law.
    pub queue: Queue,
    /// Every finding with its numbers.
    pub tests: Vec<Finding>,
    /// Variance over mean of the counts, at a ladder of windows.
    pub dispersion: Vec<Dispersion>,
    /// What the launches look like.
    pub pattern: Pattern,
    /// Whether that is what was meant.
    pub judgement: Judgement,
    /// Why, in one sentence.
    pub because: String,
    /// What to doubt, and what to do about it.
    pub warnings: Vec<Warning>,
    /// When several runs were appended to one file: each one's own verdict.
    pub runs: Vec<Verdict>,
}

/// What was read.
#[derive(Clone, Debug, Serialize)]
pub struct Source {
    /// Where it came from, as the caller named it.
    pub path: String,
    /// What kind of file it was.
    pub format: String,
    /// How many launches it holds, the unsent included.
    pub rows: u64,
    /// How many rows could not be read.
    pub unreadable: u64,
    /// For files whose stamps may mean start or end: which was taken, and why.
    pub stamps: Option<String>,
    /// The tick of the stamps.
    pub resolution_ms: f64,
}

/// Which part of the recording was judged, in seconds from its first launch, both ends inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Window {
    /// Its beginning.
    pub from_s: f64,
    /// Its end.
    pub to_s: f64,
    /// How many launches lie in it.
    pub launches: u64,
    /// How many launches were left out before and after it.
    pub left_out: u64,
}

/// What the launches were judged against.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Intent {
    /// The name of the arrivals meant.
    pub arrivals: String,
    /// The rate asked for, where one was.
    pub rate_per_s: Option<f64>,
    /// The CoV to expect of the gaps, where theory has one.
    pub expected_cov: Option<f64>,
    /// The CoV of the gaps between intended instants, where those are known.
    pub cov: Option<f64>,
}

/// A row of a table of times.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Times {
    /// The label, or `Total`.
    pub label: String,
    /// How many values (of gaps: one fewer than launches).
    pub n: u64,
    /// Values per second, from the first launch to the end of the last one's response (the toolkit's `tps`).
    pub rate_per_s: f64,
    /// The median.
    pub median_ms: f64,
    /// The mean.
    pub mean_ms: f64,
    /// The sample standard deviation.
    pub sdev_ms: f64,
    /// sdev / mean.
    pub cov: f64,
    /// The lower end of the 95 % interval of `cov`, right for exponential gaps; gaps only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cov_low: Option<f64>,
    /// Its upper end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cov_high: Option<f64>,
    /// The 90 % point.
    pub p90_ms: f64,
    /// The 95 % point.
    pub p95_ms: f64,
    /// The 99 % point.
    pub p99_ms: f64,
    /// The 99.9 % point.
    #[serde(rename = "p99.9_ms")]
    pub p999_ms: f64,
    /// The smallest.
    pub min_ms: f64,
    /// The largest.
    pub max_ms: f64,
    /// How many per cent failed; responses only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_percent: Option<f64>,
    /// Thousands of bytes read per second; responses only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kb_per_s: Option<f64>,
}

/// A row of the table of sizes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sizes {
    /// The label, or `Total`.
    pub label: String,
    /// How many answers.
    pub n: u64,
    /// Answers per second, as in [`Times::rate_per_s`].
    pub rate_per_s: f64,
    /// The median.
    pub median_bytes: f64,
    /// The mean.
    pub mean_bytes: f64,
    /// The sample standard deviation.
    pub sdev_bytes: f64,
    /// sdev / mean.
    pub cov: f64,
    /// The 90 % point.
    pub p90_bytes: f64,
    /// The 95 % point.
    pub p95_bytes: f64,
    /// The 99 % point.
    pub p99_bytes: f64,
    /// The smallest.
    pub min_bytes: f64,
    /// The largest.
    pub max_bytes: f64,
}

/// The launches of the first so many threads (Figure 15 of Brady and Gunther).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Threads {
    /// How many threads.
    pub threads: u64,
    /// How many launches they made.
    pub launches: u64,
    /// At what rate.
    pub rate_per_s: f64,
    /// The mean gap.
    pub mean_ms: f64,
    /// The standard deviation of the gaps.
    pub sdev_ms: f64,
    /// sdev / mean.
    pub cov: f64,
}

/// How late launches were sent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Lateness {
    /// How many were sent.
    pub n: u64,
    /// The mean.
    pub mean_us: f64,
    /// The median.
    pub p50_us: f64,
    /// The 90 % point.
    pub p90_us: f64,
    /// The 99 % point.
    pub p99_us: f64,
    /// The largest.
    pub max_us: f64,
    /// How many launches were never sent.
    pub unsent: u64,
    /// The times in which the generator stood still, if there were any.
    pub stalls: Option<Stalls>,
}

/// Times in which the generator stood still and after which it sent everything at once.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Stalls {
    /// How many there were.
    pub count: u64,
    /// How many launches they delayed.
    pub launches: u64,
    /// How long the longest lasted.
    pub longest_ms: f64,
}

/// Little's law applied to the run: a row of Table 3 of Brady and Gunther.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Queue {
    /// lambda, from the gaps.
    pub rate_per_s: Option<f64>,
    /// R.
    pub response_ms: Option<f64>,
    /// Q = lambda R.
    pub concurrency: Option<f64>,
    /// Z, from the time each session spent between an answer and its next launch.
    pub think_ms: Option<f64>,
    /// RTT = R + Z.
    pub rtt_ms: Option<f64>,
    /// N = lambda (R + Z).
    pub users: Option<f64>,
    /// How many different sessions launched something, where sessions are known.
    pub users_seen: Option<u64>,
    /// R / RTT: near 0 the users are independent of each other, near 1 they queue in step.
    pub rort: Option<f64>,
}

/// What one test or check found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Its name.
    pub name: &'static str,
    /// The test's statistic, where it is a test of significance.
    pub statistic: Option<f64>,
    /// Its p-value.
    pub p: Option<f64>,
    /// The size of the effect: what the judgement looks at.
    pub estimate: Option<f64>,
    /// The lower end of its 95 % interval.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// Whether it agrees with what was meant.
    pub judgement: Judgement,
}

/// The dispersion of counts at one window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Dispersion {
    /// The length of the windows.
    pub window_s: f64,
    /// Variance over mean of the counts.
    pub idc: f64,
    /// The lower end of its 95 % interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// What the launches look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Nothing tells them from a Poisson process.
    Poisson,
    /// The same, and their number was fixed beforehand.
    FixedCountPoisson,
    /// Even gaps.
    Clockwork,
    /// Gaps or counts vary less than chance: closed or paced.
    TooEven,
    /// Several at a time.
    Bunched,
    /// Gaps or counts vary more than chance: bursts, or an unsteady rate.
    OverDispersed,
    /// Several runs in one file.
    AppendedRuns,
    /// Too few launches to tell.
    TooFew,
}

impl Pattern {
    /// Its name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Poisson => "poisson",
            Self::FixedCountPoisson => "fixed-count-poisson",
            Self::Clockwork => "clockwork",
            Self::TooEven => "too-even",
            Self::Bunched => "bunched",
            Self::OverDispersed => "over-dispersed",
            Self::AppendedRuns => "appended-runs",
            Self::TooFew => "too-few",
        }
    }
}

/// Whether something is as meant. A check that did not run never says it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Judgement {
    /// It is.
    #[serde(rename = "holds")]
    Holds,
    /// It is not.
    #[serde(rename = "fails")]
    Fails,
    /// Nothing was found out.
    #[serde(rename = "not checked")]
    NotChecked,
}

impl Judgement {
    /// Its name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "fails",
            Self::NotChecked => "not checked",
        }
    }
}

/// A doubt about a result, and its remedy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// What may be wrong.
    pub doubt: String,
    /// What to do about it.
    pub remedy: String,
}
