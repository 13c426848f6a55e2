//! The summary of a run: the document `offered.run/1`.

mod failures;

pub use failures::{Failure, failures};

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use failures::FailureCounter;
use offered_base::{Difference, Instant, Share};
use offered_events::document::{Document, Schema};
use offered_events::{Outcome, Recording};
use offered_run::RunStats;
use offered_stats::Summary as Numbers;
use offered_stats::values::Values;
use offered_verify::{
    AttemptStats, Check, GeneratorError, Measurements, MetricStats, OnTheWire, Pages, Pattern, RequestStats, Sessions,
    Stability, ThresholdResult, TokenMetrics, Validity, Verdict, VisitStats, Warning,
};
use offered_workload::Workload;
use serde::{Deserialize, Serialize};

use crate::SetLoad;

/// What thresholds on a run of `workload` are checked against, in the time that is `counted`.
pub(crate) fn measurements<'a>(
    workload: &'a Workload,
    recording: &'a Recording,
    verdict: &'a Verdict,
    counted: Range<Instant>,
) -> Measurements<'a> {
    Measurements::new(recording, &verdict.gaps, &verdict.window, counted)
        .with_pages(workload.pages())
        .with_scenarios(workload.scenarios(), &verdict.scenarios)
        .with_flows(workload.flows(), workload.groups())
        .with_checks(workload.checks())
        .with_metrics(workload.metrics())
        .with_goodput(workload.goodput())
}

/// The summary of a run. Counts are of the whole run; rates, times and arrivals exclude `skip_first` and `skip_last`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary {
    /// Name and version of this document.
    pub schema: Schema<Summary>,
    /// The load for which the rate was set, if `run --load` was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set_load: Option<SetLoad>,
    /// Target request rate, of all requests of a session; `null` for a closed system, because its rate depends on the server.
    pub target_rate_per_s: Option<f64>,
    /// Rate of sent requests.
    pub sent_rate_per_s: Option<f64>,
    /// Rate of completed requests, successful or not.
    pub completed_rate_per_s: Option<f64>,
    /// Whether completions follow arrivals; `null` if nothing was sent.
    pub stability: Option<Stability>,
    /// Number of scheduled requests, sent or not.
    pub total_requests: u64,
    /// Number of requests that were not sent.
    pub unsent: u64,
    /// Number of requests with a complete response, successful or not.
    pub completed: u64,
    /// Number of requests by outcome.
    pub outcomes: BTreeMap<String, u64>,
    /// Counts and percentiles per request of the workload; the last row is the total.
    pub requests: Vec<RequestStats>,
    /// Number of responses by HTTP status.
    pub statuses: BTreeMap<u16, u64>,
    /// Failures by kind, the most frequent first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Failure>,
    /// Response time, done - scheduled, of successful requests.
    pub response_ms: Option<Millis>,
    /// Service time, done - sent, of successful requests.
    pub service_ms: Option<Millis>,
    /// Duration of TLS handshakes, if there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handshake_ms: Option<Millis>,
    /// Time that requests waited for a pooled connection, if there are pools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection_wait_ms: Option<Millis>,
    /// Lateness, sent - scheduled.
    pub lateness_us: Option<Micros>,
    /// Reading lateness: how long the first byte of a response waited to be read, for a random part of the responses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading_lateness_us: Option<Micros>,
    /// Share of the response time percentiles that the generator caused; `null` for fewer than 100 successful requests.
    pub generator_error: Option<GeneratorError>,
    /// The arrivals of sessions in a partly-open system.
    pub sessions: Option<Sessions>,
    /// Regularity of the sent requests.
    pub arrivals: Arrivals,
    /// Little's law applied to the run.
    pub queue: offered_verify::Queue,
    /// Bytes received, including embedded objects.
    pub bytes_in: u64,
    /// Bytes sent, including embedded objects.
    pub bytes_out: u64,
    /// Number of database rows returned or changed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rows: u64,
    /// Requests on the wire, with redirects, retries and objects: the number that the log of the server contains.
    #[serde(default)]
    pub on_the_wire: OnTheWire,
    /// First attempts, retries and goodput, if requests were sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<AttemptStats>,
    /// Visits: numbers of successes and failures, times by flow, and requests by step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visits: Option<VisitStats>,
    /// The metrics of the workload: numbers in responses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<MetricStats>,
    /// Load times of pages with embedded objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<Pages>,
    /// Metrics of streamed responses: times of tokens, throughput of tokens, goodput.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<TokenMetrics>,
    /// From the start to the last response.
    pub duration_s: f64,
    /// Per thread, the share of the time in which it neither slept nor spun.
    pub busy_shares: Vec<f64>,
    /// Processor time of the sending threads, spinning included.
    pub cpu_s: f64,
    /// The seed of all random choices.
    pub seed: u64,
    /// Whether the results may be used.
    pub validity: Validity,
    /// The reason for `validity`, in one sentence.
    pub reason: String,
    /// The results of the workload's `[thresholds]`; not checked if the run is invalid.
    pub thresholds: Vec<ThresholdResult>,
    /// Warnings, each with a fix.
    pub warnings: Vec<Warning>,
    /// The run directory, or its URL; `null` if the run was not recorded.
    pub directory: Option<String>,
}

impl Document for Summary {
    const SCHEMA: &'static str = "offered.run/1";
}

/// Counts of all requests, and times of the requests inside the window.
#[derive(Default)]
struct Totals {
    outcomes: [u64; Outcome::ALL.len()],
    response: Values<i64>,
    service: Values<i64>,
    handshake: Values<i64>,
    waited: Values<i64>,
    lateness: Values<i64>,
    bytes_in: u64,
    bytes_out: u64,
    rows: u64,
    failing: FailureCounter,
}

impl Totals {
    /// Totals of a recording; times only of requests scheduled in `judged`.
    fn of(recording: &Recording, judged: Range<Instant>) -> io::Result<Self> {
        let mut totals = Self::default();
        recording.events.each_with_objects(|event| {
            totals.failing.add(event);
            (totals.bytes_in, totals.bytes_out) =
                (totals.bytes_in + event.bytes_in, totals.bytes_out + event.bytes_out);
            if event.object > 0 {
                return;
            }
            totals.outcomes[event.outcome as usize] += 1;
            totals.rows += event.rows;
            if !judged.contains(&event.intended) {
                return;
            }
            let good = event.outcome == Outcome::Ok;
            for (values, time) in [
                (&mut totals.response, event.response().filter(|_| good)),
                (&mut totals.service, event.service().filter(|_| good)),
                (&mut totals.handshake, event.handshake.map(Difference::from)),
                (&mut totals.waited, event.waited.map(Difference::from)),
                (&mut totals.lateness, event.lateness()),
            ] {
                if let Some(time) = time {
                    values.add(time.0);
                }
            }
        })?;
        Ok(totals)
    }
}

/// Mean, spread and percentiles, in milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names of statistics")]
pub struct Millis {
    pub mean: f64,
    pub sdev: f64,
    pub cov: f64,
    pub p50: f64,
    pub p90: f64,
    pub p95: f64,
    pub p99: f64,
    pub p999: f64,
    pub max: f64,
}

/// Percentiles, in microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names of statistics")]
pub struct Micros {
    pub p50: f64,
    pub p99: f64,
    pub max: f64,
}

/// Regularity of all sent requests, in a partly-open system too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Arrivals {
    /// CoV of the gaps between scheduled times; `null` in a partly-open system, where only sessions are scheduled.
    pub scheduled_cov: Option<f64>,
    /// CoV of the gaps between sent requests.
    pub measured_cov: Option<f64>,
    /// Lower end of the 95 % confidence interval of `measured_cov`.
    pub measured_cov_low: Option<f64>,
    /// Upper end of the 95 % confidence interval of `measured_cov`.
    pub measured_cov_high: Option<f64>,
    /// Anderson-Darling statistic against exponential gaps.
    pub anderson_darling: Option<f64>,
    /// The arrival pattern; in a partly-open system that of the sessions.
    pub pattern: Pattern,
}

/// Whether the count is zero.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "shaped for serde")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Summary {
    /// The summary of a run, from its recording and verdict.
    ///
    /// # Errors
    /// The recording can no longer be read.
    pub fn new(
        workload: &Workload,
        share: Share,
        recording: &Recording,
        done: &RunStats,
        verdict: &Verdict,
    ) -> io::Result<Self> {
        let totals = Totals::of(recording, workload.counted())?;
        let counts = || Outcome::ALL.into_iter().zip(totals.outcomes);
        let outcomes = counts().map(|(outcome, n)| (outcome.name().to_owned(), n)).filter(|(_, n)| *n > 0).collect();
        let [response_ms, service_ms, handshake_ms, connection_wait_ms] =
            [totals.response, totals.service, totals.handshake, totals.waited]
                .map(|times| times.sorted().summary(1.0).map(Millis::from_nanos));
        let total = verdict.gaps.last();
        let measured = measurements(workload, recording, verdict, workload.counted()).of_share(share.parts() > 1);
        let thresholds = ThresholdResult::check_all(workload.thresholds(), &measured, verdict)?;
        Ok(Self {
            schema: Schema::new(),
            set_load: None,
            target_rate_per_s: workload.scheduled_rate().map(|rate| rate * share.fraction()),
            sent_rate_per_s: verdict.queue.rate_per_s,
            completed_rate_per_s: verdict.stability.map(|keeps_up| keeps_up.completed_rate_per_s),
            stability: verdict.stability,
            total_requests: recording.events.launches(),
            unsent: totals.outcomes[Outcome::Unsent as usize],
            completed: counts().filter(|(outcome, _)| outcome.is_response()).map(|(_, n)| n).sum(),
            outcomes,
            tokens: verdict.tokens.clone(),
            requests: verdict.requests.clone(),
            statuses: verdict.statuses.clone(),
            failures: totals.failing.finish(&recording.labels),
            response_ms,
            service_ms,
            handshake_ms,
            connection_wait_ms,
            lateness_us: totals.lateness.sorted().summary(1.0).map(|n| Micros {
                p50: n.median / 1e3,
                p99: n.p99 / 1e3,
                max: n.max / 1e3,
            }),
            reading_lateness_us: verdict.reading.map(|of| Micros { p50: of.p50_us, p99: of.p99_us, max: of.max_us }),
            generator_error: verdict.generator_error.clone(),
            sessions: verdict.sessions,
            arrivals: Arrivals {
                scheduled_cov: verdict
                    .expected
                    .scheduled_cov
                    .or(verdict.expected.expected_cov)
                    .filter(|_| verdict.sessions.is_none()),
                measured_cov: total.map(|t| t.cov),
                measured_cov_low: total.and_then(|t| t.cov_low),
                measured_cov_high: total.and_then(|t| t.cov_high),
                anderson_darling: verdict.finding(Check::AndersonDarling).and_then(|finding| finding.statistic),
                pattern: verdict.pattern,
            },
            queue: verdict.queue,
            bytes_in: totals.bytes_in,
            bytes_out: totals.bytes_out,
            rows: totals.rows,
            on_the_wire: verdict.on_the_wire.unwrap_or_default(),
            attempts: verdict.attempts.clone(),
            visits: verdict.visits.clone(),
            metrics: verdict.metrics.clone(),
            pages: Pages::of(recording, workload.counted(), &workload.pages())?,
            duration_s: done.threads.iter().map(|worker| worker.elapsed).max().unwrap_or_default().as_secs_f64(),
            busy_shares: done.threads.iter().map(offered_run::ThreadStats::busy_share).collect(),
            cpu_s: done.threads.iter().map(|worker| worker.cpu.as_secs_f64()).sum(),
            seed: workload.seed().0,
            validity: verdict.validity,
            reason: verdict.reason.clone(),
            thresholds,
            warnings: verdict.warnings.clone(),
            directory: None,
        })
    }

    /// Whether the results may be used: the run is not invalid.
    pub fn is_valid(&self) -> bool {
        self.validity != Validity::Invalid
    }

    /// Whether at least one request succeeded, or none was scheduled.
    pub fn succeeded(&self) -> bool {
        self.total_requests == 0 || self.outcomes.contains_key(Outcome::Ok.name())
    }
}

impl Millis {
    fn from_nanos(n: Numbers) -> Self {
        Self {
            mean: n.mean / 1e6,
            sdev: n.sdev / 1e6,
            cov: n.cov,
            p50: n.median / 1e6,
            p90: n.p90 / 1e6,
            p95: n.p95 / 1e6,
            p99: n.p99 / 1e6,
            p999: n.p999 / 1e6,
            max: n.max / 1e6,
        }
    }
}
