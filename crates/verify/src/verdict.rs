//! The verdict: what to believe of a recording, in the shape of the JSON document `offered.verify/1`.
//!
//! Units stand in the names. A number that could not be had is `None`, `null` in JSON: never zero, never left out of a table.

mod doubt;

use std::collections::BTreeMap;

use offered_model::System;
use offered_model::document::{Document, Schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::effect::Effect;
use crate::hosts::ServerSide;
use crate::policies::Policy;
use crate::twin::Twin;
pub use doubt::Doubt;

/// What to believe of a recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// What this document is.
    pub schema: Schema<Verdict>,
    /// What was read.
    pub source: Source,
    /// Which part of it was judged.
    pub window: Window,
    /// What it was judged against.
    pub meant: Intent,
    /// Of a system of sessions that come and go: how they arrived. They are what is held to what was meant; their later requests
    /// follow the answers.
    #[serde(default)]
    pub sessions: Option<Sessions>,
    /// Gaps between launches, one row per label, then `Total`.
    pub launches: Vec<Times>,
    /// What came of each request, one row per label, then `Total`.
    pub requests: Vec<Request>,
    /// How many answers had each HTTP status.
    pub statuses: BTreeMap<u16, u64>,
    /// Whether the system kept up with its load; `None` when nothing was launched, or
    /// when answers came is not known.
    pub keeps_up: Option<KeepsUp>,
    /// done - intended of good answers, one row per label, then `Total`.
    pub responses: Vec<Times>,
    /// The same of what failed; empty where nothing did.
    pub failures: Vec<Times>,
    /// first byte - intended of good answers, one row per label, then `Total`; empty when no first byte was recorded.
    pub first_byte: Vec<Times>,
    /// Bytes read, one row per label, then `Total`; empty when none were recorded.
    pub sizes: Vec<Sizes>,
    /// Gaps against the number of threads, when asked for.
    pub by_threads: Vec<Threads>,
    /// Gaps of each worker's own launches, when there was more than one.
    pub by_worker: Vec<Times>,
    /// Gaps of each node's own launches, when several were merged.
    pub by_node: Vec<Times>,
    /// Of a run of many workers: the clock of each whose is known, beside that of worker 1.
    #[serde(default)]
    pub clocks: Vec<Clock>,
    /// sent - intended, when the intended instants are known.
    pub lateness: Option<Lateness>,
    /// What that did to the percentiles of the responses; `None` where the intended instants are not known, and of fewer than a
    /// hundred good answers.
    #[serde(default)]
    pub effect: Option<Effect>,
    /// Concurrency by Little's law.
    pub queue: Queue,
    /// Of policies that took turns within the run: what came of each, in the order of their first turns.
    #[serde(default)]
    pub policies: Vec<Policy>,
    /// The same launches at the model of the workload's server, where that was asked for.
    #[serde(default)]
    pub twin: Option<Twin>,
    /// What the machines that served did in the same time, where they were observed.
    #[serde(default)]
    pub server_side: Option<ServerSide>,
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

impl Document for Verdict {
    const SCHEMA: &'static str = "offered.verify/1";
}

/// The verdicts on several files, each judged by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdicts {
    /// What this document is.
    pub schema: Schema<Verdicts>,
    /// One for each file, in the order given.
    pub verdicts: Vec<Verdict>,
}

impl Document for Verdicts {
    const SCHEMA: &'static str = "offered.verify-several/1";
}

impl Verdict {
    /// What this check found, where it was made.
    pub fn finding(&self, check: Check) -> Option<&Finding> {
        self.tests.iter().find(|finding| finding.check == check)
    }
}

/// What came of one request. Times are done - intended of good answers, `None` where there were none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Request {
    /// The label, or `Total`.
    pub label: String,
    /// Launches meant: those that went well, those that failed, and those cut off by the end.
    pub launches: u64,
    /// How many went well.
    pub ok: u64,
    /// How many did not, the never sent among them.
    pub failed: u64,
    /// The median.
    pub p50_ms: Option<f64>,
    /// The 95 % point.
    pub p95_ms: Option<f64>,
    /// The 99 % point.
    pub p99_ms: Option<f64>,
    /// The largest.
    pub max_ms: Option<f64>,
}

/// The clock of a worker, by which its launches are placed among those of worker 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Clock {
    /// The worker, and its machine.
    pub label: String,
    /// Whether its kernel says that something keeps it right; `None` where the system does not say.
    pub synchronised: Option<bool>,
    /// How far it is from the right time at most, as its kernel believes.
    pub error_ms: Option<f64>,
    /// How far it is ahead of worker 1's (negative: behind), which was taken out of the run; `None` where it was not measured.
    pub ahead_ms: Option<f64>,
    /// How much further ahead it was at the end; `None` where it was not measured twice.
    pub drift_ms: Option<f64>,
    /// Its launches lie no further than this from where they are placed; `None` where that is not known.
    pub within_ms: Option<f64>,
}

/// What was read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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

/// Which part of the recording was judged: of a run of ours the launches meant for it, in seconds from the run's start and without
/// its end; of a file those sent in it, in seconds from the first launch, both ends inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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

/// What the launches were judged against; in a partly-open system the first launches of sessions, and all numbers are theirs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Intent {
    /// The name of the arrivals meant.
    pub arrivals: String,
    /// Their system model, where that is known; verdicts of older versions do not say.
    #[serde(default)]
    pub system: Option<System>,
    /// The rate asked for, where one was.
    pub rate_per_s: Option<f64>,
    /// Of a rate that changes at random: the rate that the schedule of this seed held in that time.
    #[serde(default)]
    pub scheduled_per_s: Option<f64>,
    /// The CoV to expect of the gaps, where theory has one.
    pub expected_cov: Option<f64>,
    /// The CoV of the gaps between intended instants, where those are known.
    pub cov: Option<f64>,
}

/// How the sessions of a partly-open system arrived: by the first launch of each.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sessions {
    /// How many launched their first request.
    pub n: u64,
    /// Sessions per second asked for, where a rate was.
    pub asked_per_s: Option<f64>,
    /// Sessions per second, one over the mean gap.
    pub launched_per_s: Option<f64>,
    /// The CoV of the gaps between the instants meant for them, where those are known.
    pub meant_cov: Option<f64>,
    /// The CoV of the gaps between them.
    pub sent_cov: Option<f64>,
    /// The lower end of its 95 % interval, right for exponential gaps.
    pub cov_low: Option<f64>,
    /// The upper end.
    pub cov_high: Option<f64>,
}

/// A row of a table of times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Times {
    /// The label, or `Total`.
    pub label: String,
    /// How many values (of gaps: one fewer than launches).
    pub n: u64,
    /// Values per second: of gaps one over their mean; else from the first launch to the end of the last one's response (the
    /// toolkit's `tps`). `None` where that took no time.
    pub rate_per_s: Option<f64>,
    /// The median.
    pub median_ms: f64,
    /// The mean.
    pub mean_ms: f64,
    /// The sample standard deviation.
    pub sdev_ms: f64,
    /// sdev / mean.
    pub cov: f64,
    /// The lower end of the 95 % interval of `cov`, right for exponential gaps; gaps only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cov_low: Option<f64>,
    /// Its upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_percent: Option<f64>,
    /// Thousands of bytes read per second; responses only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kb_per_s: Option<f64>,
}

/// A row of the table of sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sizes {
    /// The label, or `Total`.
    pub label: String,
    /// How many answers.
    pub n: u64,
    /// Answers per second, as in [`Times::rate_per_s`].
    pub rate_per_s: Option<f64>,
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

/// Whether the system kept up with its load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KeepsUp {
    /// `holds`: as much left the system as arrived; `fails`: it did not.
    pub judgement: Judgement,
    /// Why nothing was checked.
    pub not_checked: Option<Unchecked>,
    /// Launches a second, in the time that counts.
    pub launched_per_s: f64,
    /// Complete answers a second, good and bad, in that time.
    pub answered_per_s: f64,
    /// Launches under way, or given up, at its beginning.
    pub in_system_at_first: u64,
    /// And at its end.
    pub in_system_at_last: u64,
    /// Those of them that timed out until then: for whom nobody waits, and which the system may still be at work on.
    #[serde(default)]
    pub given_up: u64,
    /// By how much that grew a second.
    pub growth_per_s: f64,
    /// The lower end of its 99 % interval.
    pub growth_low: f64,
    /// The upper end.
    pub growth_high: f64,
}

/// Why it was not checked whether the system kept up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unchecked {
    /// The users wait for their answers.
    Closed,
    /// Fewer than a hundred launches.
    TooFew,
    /// More than one in twenty of those that left had failed.
    #[serde(alias = "nothing_answered")]
    Failures,
    /// The number in the system grew, but no more than chance might have made it.
    TooShort,
}

/// The launches of the first so many threads (Figure 15 of Brady's paper on launches in bunches).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stalls {
    /// How many there were.
    pub count: u64,
    /// How many launches they delayed.
    pub launches: u64,
    /// How long the longest lasted.
    pub longest_ms: f64,
}

/// Little's law applied to the run: a row of Table 3 of Brady and Gunther.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Which test or check.
    #[serde(rename = "name")]
    pub check: Check,
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

impl Finding {
    /// Whether it does not agree with what was meant.
    pub fn fails(&self) -> bool {
        self.judgement == Judgement::Fails
    }
}

offered_model::named! {
    /// Which test or check: what a finding is found by.
    #[derive(Hash)]
    pub enum Check {
        /// The CoV of the gaps is 1 (Greenwood).
        Cov = "cov",
        /// The gaps are exponential among gamma laws.
        GammaFit = "gamma fit",
        /// The gaps are exponential, by the squared distance of the distributions.
        AndersonDarling = "anderson-darling",
        /// The gaps are exponential, by the largest distance of the distributions.
        Kolmogorov = "kolmogorov",
        /// Counts in windows of three mean gaps are Poisson.
        PoissonCounts = "poisson counts",
        /// No gap says anything about those to come.
        LjungBox = "ljung-box",
        /// No gap says anything about the next one.
        Spearman = "spearman",
        /// The rate neither rises nor falls.
        Trend = "trend",
        /// No pattern of gaps repeats.
        Repeat = "repeat",
        /// Variance over mean of the counts is 1 at every window.
        Dispersion = "dispersion of counts",
        /// The CoV of the gaps with an interval that supposes no law; a number to read.
        CovBootstrap = "cov (bootstrap)",
        /// Gaps meant to be even are.
        EvenGaps = "even gaps (cov)",
        /// The CoV is that of the renewal process meant.
        CovAgainstMeant = "cov against meant",
        /// The CoV is that of so many users who think.
        ClosedCov = "closed cov against theory",
        /// The dispersion of counts is that of so many users who think.
        ClosedDispersion = "closed dispersion against theory",
        /// Users thought as long as meant.
        ThinkTime = "think time against meant",
        /// The CoV of what was sent is that of what was intended.
        SentCov = "sent cov against meant",
        /// The rate is the one asked for.
        Rate = "rate against asked",
        /// The hundredth of the launches that were latest.
        LatenessP99 = "lateness p99 (us)",
        /// The share of the launches that were never sent.
        Unsent = "unsent share",
        /// The share of its time in which the busiest launching thread was busy.
        Busy = "busiest thread",
    }
}

impl Check {
    /// Whether it can fail only because launches left at other instants than they were meant for; whether it did so, the instants
    /// they were meant for tell.
    pub(crate) const fn is_of_sending(self) -> bool {
        !matches!(self, Self::ThinkTime | Self::Rate | Self::Unsent | Self::Busy)
    }
}

/// The dispersion of counts at one window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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

offered_model::named! {
    /// What the launches look like.
    pub enum Pattern {
        /// Nothing tells them from a Poisson process.
        Poisson = "poisson",
        /// The same, and their number was fixed beforehand.
        FixedCountPoisson = "fixed-count-poisson",
        /// Even gaps.
        Clockwork = "clockwork",
        /// Gaps or counts vary less than chance: closed or paced.
        TooEven = "too-even",
        /// Several at a time.
        Bunched = "bunched",
        /// Gaps or counts vary more than chance: bursts, or an unsteady rate.
        OverDispersed = "over-dispersed",
        /// Several runs in one file.
        AppendedRuns = "appended-runs",
        /// Too few launches to tell.
        TooFew = "too-few",
    }
}

impl Pattern {
    /// Of fewer gaps none is named: a CoV of 0.75 would still be chance.
    pub(crate) const FEWEST_GAPS: usize = 50;
}

offered_model::named! {
    /// Whether something is as meant. A check that did not run never says it holds.
    pub enum Judgement {
        /// It is.
        Holds = "holds",
        /// Of a run: either launches left otherwise than meant, but that did no more to its percentiles than is tolerated; or they left
        /// as meant, and one of those owes their lateness more than is tolerated.
        HoldsWithDoubt = "holds with a doubt",
        /// It is not.
        Fails = "fails",
        /// Nothing was found out.
        NotChecked = "not checked",
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
fn is_false(truth: &bool) -> bool {
    !truth
}

/// A doubt about a result, and its remedy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// What it is about, with its numbers: by this it is found. `None` in documents of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<Doubt>,
    /// What may be wrong.
    pub doubt: String,
    /// What to do about it.
    pub remedy: String,
    /// Whether the verdict's reason says it already.
    #[serde(default, skip_serializing_if = "is_false")]
    pub told: bool,
}
