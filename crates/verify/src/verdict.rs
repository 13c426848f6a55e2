//! The verdict on a recording, in the shape of the JSON document `offered.verify/1`.
//!
//! The name of a field contains its unit. A value that could not be determined is `None` (`null` in JSON): it is never zero and never
//! missing.

pub(crate) mod enums;
mod fixes;
pub(crate) mod statistics;
pub(crate) mod visit_statistics;
pub(crate) mod warning_kind;

use std::collections::BTreeMap;

use offered_events::document::{Document, Schema};
use offered_events::recording::Scheduling;
use offered_schedule::System;
use serde::{Deserialize, Serialize};

use crate::attempts::AttemptStats;
use crate::generator_error::GeneratorError;
use crate::hosts::ServerSide;
use crate::incomplete::Incomplete;
use crate::metrics::MetricStats;
use crate::not_sent::NotSent;
use crate::policies::Policy;
use crate::thresholds::ThresholdResult;
use crate::token_metrics::TokenMetrics;
use crate::twin::Twin;
use crate::wire::OnTheWire;
pub use enums::{Check, CheckResult, NotCheckedReason, Pattern, StabilityState, Validity};
pub use statistics::{ReadingLateness, SizeStats, TimeStats, Window};
pub use visit_statistics::{StepStats, TimeSummary, VisitStats, VisitTimes};
pub use warning_kind::WarningKind;

/// The verdict on a recording: whether its results are valid, and the statistics that show it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verdict {
    /// The name and version of this document type.
    pub schema: Schema<Verdict>,
    /// The recording that was read.
    pub source: Source,
    /// The part of the recording that was judged.
    pub window: Window,
    /// The missing parts of the run; `None` if the recording is complete. An incomplete run is invalid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<Incomplete>,
    /// The specified load, with which the requests are compared.
    pub expected: Expected,
    /// The arrivals of sessions; only in a partly-open system. There, session arrivals are compared with the specification, because the
    /// later requests of a session depend on responses.
    pub sessions: Option<Sessions>,
    /// Gaps between consecutive sent requests, one row per label, then `Total`.
    pub gaps: Vec<TimeStats>,
    /// Counts and response times per label, then `Total`.
    pub requests: Vec<RequestStats>,
    /// Number of responses by HTTP status.
    pub statuses: BTreeMap<u16, u64>,
    /// Requests on the wire over the whole run, with redirects, retries and objects, as the log of the server contains
    /// them. `None` for the file of another tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_the_wire: Option<OnTheWire>,
    /// First attempts, retries and goodput. `None` if no request was sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<AttemptStats>,
    /// Visits: their successes and failures, their times by flow, and requests by step. `None` if the workload makes
    /// none, or if they are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visits: Option<VisitStats>,
    /// The metrics of the workload: numbers in responses. Empty if it has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<MetricStats>,
    /// Whether completions follow arrivals. `None` if no request was sent or if completion times are unknown.
    pub stability: Option<Stability>,
    /// Response times (done - scheduled) of successful requests, one row per label, then `Total`.
    pub responses: Vec<TimeStats>,
    /// Response times of failed requests; empty if none failed.
    pub failures: Vec<TimeStats>,
    /// Times to first byte (first byte - scheduled) of successful requests, one row per label, then `Total`; empty if no first byte was
    /// recorded.
    pub first_byte: Vec<TimeStats>,
    /// The metrics of streamed responses; `None` if no response was streamed and the workload states no goodput.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<TokenMetrics>,
    /// Bytes received, one row per label, then `Total`; empty if no sizes were recorded.
    pub sizes: Vec<SizeStats>,
    /// Gaps against the number of threads; empty unless requested.
    pub by_threads: Vec<ThreadStats>,
    /// Gaps between the requests of each worker; empty if there was only one worker.
    pub by_worker: Vec<TimeStats>,
    /// Gaps between the requests of each node; empty unless recordings of several nodes were merged.
    pub by_node: Vec<TimeStats>,
    /// The clocks of the workers, compared with that of worker 1; only workers whose clock is known.
    pub clocks: Vec<Clock>,
    /// Lateness (sent - scheduled). `None` if the scheduled times are unknown.
    pub lateness: Option<Lateness>,
    /// Requests that were not sent, by worker and reason; empty if all requests were sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_sent: Vec<NotSent>,
    /// The lateness of reading responses. `None` if it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<ReadingLateness>,
    /// How the operating system scheduled the sending threads, one entry per process; empty if it is unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scheduling: Vec<Scheduling>,
    /// The share of the response-time percentiles that the generator caused. `None` if the scheduled times are unknown or if no
    /// request succeeded.
    pub generator_error: Option<GeneratorError>,
    /// Concurrency and number of users by Little's law.
    pub queue: Queue,
    /// One entry per policy, in the order of their first turns; empty unless policies alternated during the run.
    pub policies: Vec<Policy>,
    /// The same requests simulated on the server model of the workload; only if requested.
    pub twin: Option<Twin>,
    /// Measurements of the machines that served the requests; only if they were observed.
    pub server_side: Option<ServerSide>,
    /// The results of the thresholds of the workload; empty if it has none, and in the verdict of `run`, whose summary has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thresholds: Vec<ThresholdResult>,
    /// The limits that decide the validity.
    #[serde(default)]
    pub limits: Limits,
    /// Every test and check, with its numbers.
    pub findings: Vec<Finding>,
    /// The index of dispersion for counts, for a ladder of window lengths.
    pub dispersion: Vec<Dispersion>,
    /// The arrival pattern of the sent requests.
    pub pattern: Pattern,
    /// Whether the results of the run are valid.
    pub validity: Validity,
    /// The reason for `validity`, in one sentence.
    pub reason: String,
    /// Warnings about the results, each with a fix.
    pub warnings: Vec<Warning>,
    /// The verdict on each run, if the file contains several runs.
    pub runs: Vec<Verdict>,
    /// The verdict on each scenario, on its own clock; `source.path` is its name. Empty if the workload has one load only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scenarios: Vec<Verdict>,
}

impl Document for Verdict {
    const SCHEMA: &'static str = "offered.verify/1";
}

/// The verdicts on several files, each judged separately.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verdicts {
    /// The name and version of this document type.
    pub schema: Schema<Verdicts>,
    /// One verdict per file, in the order given.
    pub verdicts: Vec<Verdict>,
}

impl Document for Verdicts {
    const SCHEMA: &'static str = "offered.verify-several/1";
}

impl Verdict {
    /// The heading for requests without a send time: in an incomplete run it is not known whether they were sent.
    pub const fn not_sent_heading(&self) -> &'static str {
        if self.incomplete.is_some() { "missing" } else { "not sent" }
    }

    /// The finding of `check`; `None` if this check was not made.
    pub fn finding(&self, check: Check) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.check == check)
    }
}

/// Counts and response times of the requests of one label. Times are done - scheduled of successful requests, in milliseconds; `None` if
/// none succeeded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestStats {
    /// The label, or `Total`.
    pub label: String,
    /// Number of scheduled requests: successful, failed, and cut off by the end of the run.
    pub requests: u64,
    /// Number of successful requests.
    pub ok: u64,
    /// Number of failed requests, including those that were not sent.
    pub failed: u64,
    /// Number of requests in `failed` that were not sent. In an incomplete run some of these may have been sent, but
    /// not recorded.
    #[serde(default)]
    pub not_sent: u64,
    /// The median response time.
    pub p50_ms: Option<f64>,
    /// The 95th percentile of the response time.
    pub p95_ms: Option<f64>,
    /// The 99th percentile of the response time.
    pub p99_ms: Option<f64>,
    /// The maximum response time.
    pub max_ms: Option<f64>,
}

/// The clock of a worker, compared with the clock of worker 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Clock {
    /// The worker and its machine.
    pub label: String,
    /// Whether the kernel reports that the clock is synchronised, for example by NTP; `None` if the system does not report it.
    pub synchronised: Option<bool>,
    /// The largest error of the clock against true time, as the kernel estimates it.
    pub max_error_ms: Option<f64>,
    /// The offset from the clock of worker 1 (positive: ahead, negative: behind). The recording is corrected for it. `None` if it was not
    /// measured.
    pub offset_ms: Option<f64>,
    /// The change of the offset during the run; `None` if the offset was not measured twice.
    pub drift_ms: Option<f64>,
    /// The largest error of the corrected send times; `None` if it is unknown.
    pub offset_uncertainty_ms: Option<f64>,
}

/// The recording that was read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Source {
    /// The path, as the caller gave it.
    pub path: String,
    /// The file format.
    pub format: String,
    /// Number of requests in the file, including those that were not sent.
    pub requests: u64,
    /// Number of rows that could not be read.
    pub unreadable_rows: u64,
    /// How timestamps were interpreted and why; only for formats whose timestamps may mean start or end.
    pub timestamps: Option<String>,
    /// The resolution of the timestamps.
    pub resolution_ms: f64,
}

/// The specified load. In a partly-open system it describes the arrivals of sessions, that is, the first request of each session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Expected {
    /// The name of the specified arrivals.
    pub arrivals: String,
    /// The system model (open, closed or partly open); `None` if it is unknown.
    pub system: Option<System>,
    /// Whether the specified load is that of the run's own workload.
    #[serde(default)]
    pub is_own_workload: bool,
    /// The target rate; `None` if no rate was specified.
    pub target_rate_per_s: Option<f64>,
    /// The target rate of all requests, including later requests of sessions; `None` if responses determine it, or if
    /// no rate was specified.
    #[serde(default)]
    pub target_request_rate_per_s: Option<f64>,
    /// The rate that the schedule of this seed has in the analysed time; only for a rate that changes at random.
    pub scheduled_rate_per_s: Option<f64>,
    /// The CoV of the gaps that theory predicts; `None` if theory has no formula for it.
    pub expected_cov: Option<f64>,
    /// The CoV of the gaps between scheduled times; `None` if the scheduled times are unknown.
    pub scheduled_cov: Option<f64>,
}

/// The arrivals of the sessions of a partly-open system, measured by the first request of each session.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sessions {
    /// Number of sessions that sent their first request.
    pub n: u64,
    /// The target rate of sessions; `None` if no rate was specified.
    pub target_rate_per_s: Option<f64>,
    /// The sent rate of sessions: the inverse of the mean gap.
    pub sent_rate_per_s: Option<f64>,
    /// The CoV of the gaps between scheduled first requests; `None` if the scheduled times are unknown.
    pub scheduled_cov: Option<f64>,
    /// The CoV of the gaps between sent first requests.
    pub measured_cov: Option<f64>,
    /// The lower end of the 95 % confidence interval of `measured_cov`; exact for exponential gaps.
    pub cov_low: Option<f64>,
    /// The upper end of the 95 % confidence interval of `measured_cov`.
    pub cov_high: Option<f64>,
}

/// Whether the system is stable under the load, that is, whether completions follow arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stability {
    /// The result.
    pub state: StabilityState,
    /// The reason why stability was not checked; `None` if it was.
    pub not_checked_reason: Option<NotCheckedReason>,
    /// Requests scheduled per second, sent or not, in the analysed time; the schedule of the seed differs from the target rate by
    /// chance. `None` if the scheduled times are unknown, or requests are missing.
    #[serde(default)]
    pub scheduled_rate_per_s: Option<f64>,
    /// Requests sent per second, in the analysed time.
    pub sent_rate_per_s: f64,
    /// Complete responses per second, successful or not, in the analysed time.
    pub completed_rate_per_s: f64,
    /// Requests in flight at the start of the analysed time. Requests that timed out count as in flight, because the system may still be
    /// working on them.
    pub in_flight_at_start: u64,
    /// Requests in flight in the middle of the analysed time, counted as `in_flight_at_start`.
    #[serde(default)]
    pub in_flight_at_middle: u64,
    /// Requests in flight at the end of the analysed time, counted as `in_flight_at_start`.
    pub in_flight_at_end: u64,
    /// Number of requests in `in_flight_at_end` that timed out before the end.
    pub timed_out: u64,
    /// Number of requests in `in_flight_at_end` that completed after the end of the analysed time.
    #[serde(default)]
    pub completed_later: u64,
    /// The growth of the number in flight, per second.
    pub growth_per_s: f64,
    /// The lower end of the 99 % confidence interval of `growth_per_s`.
    pub growth_low_per_s: f64,
    /// The upper end of the 99 % confidence interval of `growth_per_s`.
    pub growth_high_per_s: f64,
}

/// The gaps between the requests of the first `threads` threads (Figure 15 of Brady's paper on bunched requests).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadStats {
    /// Number of threads.
    pub threads: u64,
    /// Number of requests that these threads sent.
    pub requests: u64,
    /// The rate at which these threads sent requests.
    pub rate_per_s: f64,
    /// The mean gap.
    pub mean_ms: f64,
    /// The sample standard deviation of the gaps.
    pub sdev_ms: f64,
    /// The coefficient of variation: standard deviation over mean.
    pub cov: f64,
}

/// Lateness: sent time minus scheduled time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lateness {
    /// Number of sent requests.
    pub n: u64,
    /// The mean lateness.
    pub mean_us: f64,
    /// The median lateness.
    pub p50_us: f64,
    /// The 90th percentile of the lateness.
    pub p90_us: f64,
    /// The 99th percentile of the lateness.
    pub p99_us: f64,
    /// The maximum lateness.
    pub max_us: f64,
    /// Number of requests that were not sent.
    pub unsent: u64,
    /// Stalls of the generator; `None` if there were none.
    pub stalls: Option<Stalls>,
}

/// Stalls: periods in which the generator sent nothing although requests were due. After a stall it sends all overdue requests at once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stalls {
    /// Number of stalls.
    pub count: u64,
    /// Number of requests that stalls delayed.
    pub delayed_requests: u64,
    /// The duration of the longest stall.
    pub longest_ms: f64,
    /// When the longest stall began, from the start of the run.
    #[serde(default)]
    pub longest_start_s: f64,
    /// The worker with the longest stall; `None` for a run of one worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_worker: Option<String>,
    /// The duration of all stalls of all workers together.
    #[serde(default)]
    pub total_ms: f64,
    /// Whether the sending threads were idle for most of that time, because the machine did not run them. `false` if
    /// they were busy, for example with checks of large bodies, or if this is not known.
    #[serde(default)]
    pub threads_idle: bool,
}

/// Little's law applied to the run: one row of Table 3 of Brady and Gunther.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Queue {
    /// The arrival rate lambda: the inverse of the mean gap.
    pub rate_per_s: Option<f64>,
    /// The mean response time R.
    pub response_ms: Option<f64>,
    /// The mean number of requests in flight, Q = lambda R.
    pub concurrency: Option<f64>,
    /// The mean think time Z: the time from the end of a response to the next request of the session.
    pub think_ms: Option<f64>,
    /// The mean round-trip time, R + Z.
    pub rtt_ms: Option<f64>,
    /// The number of users by Little's law, N = lambda (R + Z).
    pub users: Option<f64>,
    /// The number of sessions that sent a request; `None` if sessions are unknown.
    pub users_observed: Option<u64>,
    /// R / (R + Z). Near 0 the users are independent of each other; near 1 they queue behind each other.
    pub rort: Option<f64>,
}

/// The limits that decide the validity of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limits {
    /// The tolerated difference of the CoV of the gaps from the expected CoV, relative to the expected CoV, or to 1 if
    /// that is larger.
    pub cov_percent: f64,
    /// The maximum of the 99th percentile of lateness in a valid run.
    pub lateness_p99_ms: f64,
    /// The largest tolerated share of unsent requests.
    pub not_sent_percent: f64,
    /// The largest tolerated share of time in which a sending thread is busy.
    pub busy_percent: f64,
    /// The largest tolerated generator error of p50, p95 and p99; 0 tolerates no error.
    pub generator_error_percent: f64,
    /// The smallest generator error of a percentile that causes a warning, in milliseconds.
    pub generator_error_ms: f64,
}

/// The finding of one test or check.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// The test or check.
    pub check: Check,
    /// The test statistic; `None` if it is not a test of significance.
    pub statistic: Option<f64>,
    /// The p-value of the test.
    pub p_value: Option<f64>,
    /// The size of the effect. `result` depends on it.
    pub estimate: Option<f64>,
    /// The lower end of the 95 % confidence interval of `estimate`.
    pub low: Option<f64>,
    /// The upper end of the interval.
    pub high: Option<f64>,
    /// The smallest `estimate` that cannot fail; `None` if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_low: Option<f64>,
    /// The largest `estimate` that cannot fail; `None` if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_high: Option<f64>,
    /// Whether the finding agrees with the specification.
    pub result: CheckResult,
}

impl Finding {
    /// Whether the check failed.
    pub fn failed(&self) -> bool {
        self.result == CheckResult::Failed
    }
}

/// The index of dispersion for counts (variance over mean) for one window length.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Dispersion {
    /// The length of the windows.
    pub window_s: f64,
    /// The index of dispersion: 1 for a Poisson process, below 1 under-dispersed, above 1 over-dispersed.
    pub idc: f64,
    /// The lower end of its 95 % confidence interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde requires a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// A warning about a result, with a fix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Warning {
    /// The kind of the warning, with its numbers. `None` if the warning has no kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<WarningKind>,
    /// The possible problem, in one sentence.
    pub message: String,
    /// The fix, in the imperative.
    pub fix: String,
    /// Whether the verdict's `reason` already states this warning.
    #[serde(default, skip_serializing_if = "is_false")]
    pub in_reason: bool,
}
