//! Snapshots: all live figures of a run at one moment.

use std::collections::BTreeMap;
use std::sync::Arc;

use offered_base::count;
use offered_events::Outcome;
use offered_verify::{Pattern, ThresholdResult, Validity, VisitRecord};
use serde::{Serialize, Serializer};

use crate::totals::Totals;

/// The figures of a run at one moment. Counts cover the whole run. `so_far`, the CoV and the verdict exclude `skip_first` and `skip_last`, like the
/// summary of the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Snapshot {
    /// Time since the start of the run.
    pub time_s: f64,
    /// The duration of the run; `null` if only a number of requests ends it.
    pub duration_s: Option<f64>,
    /// The maximum number of requests; `null` if there is none.
    pub max_requests: Option<u64>,
    /// The phase of the run.
    pub phase: Phase,
    /// Figures of the last ten seconds.
    pub recent: LiveStats,
    /// Figures of the analysed time so far.
    pub so_far: LiveStats,
    /// Service times (done - sent) of successful requests in the analysed time: the response times without lateness.
    pub service: Option<ResponsePercentiles>,
    /// Number of requests that were due, sent or not.
    pub requests: u64,
    /// Number of requests that were due and not sent.
    pub unsent: u64,
    /// Number of requests in flight.
    pub in_flight: u64,
    /// Number of retries of ended requests.
    pub retries: u64,
    /// Visits that began in the analysed time and have ended; `null` if the workload makes no visits.
    pub visits: Option<LiveVisits>,
    /// Results by request of the workload, in the analysed time so far, the most frequent first; at most [`Snapshot::MAX_REQUESTS`]. If there are
    /// several, the last row is their `Total`.
    pub by_request: Vec<LiveRequest>,
    /// Results by scenario of the workload, in its order; empty for a workload with one load only.
    pub by_scenario: Vec<LiveRequest>,
    /// The workers of a run with several workers.
    pub workers: Vec<LiveWorker>,
    /// Histogram of the response times of the last ten seconds.
    pub response_histogram: Vec<HistogramBin>,
    /// Interim results of the thresholds.
    pub thresholds: Vec<ThresholdResult>,
    /// The first failed threshold that ends the run, with its value at that time.
    pub failed_threshold: Option<String>,
    /// The current write error of the disk or the object store.
    pub write_error: Option<String>,
    /// Growth of the number of requests in flight.
    pub growth: Option<Growth>,
    /// Number of ended requests by outcome.
    #[serde(serialize_with = "by_name")]
    pub outcomes: BTreeMap<Outcome, u64>,
    /// Number of ended requests by HTTP status.
    pub statuses: BTreeMap<u16, u64>,
    /// The CoV of the gaps between sent requests (in a partly-open system: between the first requests of sessions).
    pub measured_cov: Option<f64>,
    /// The lower limit of its 95 % confidence interval, valid for exponential gaps.
    pub measured_cov_low: Option<f64>,
    /// The upper limit of that interval.
    pub measured_cov_high: Option<f64>,
    /// The CoV of the gaps between scheduled times.
    pub scheduled_cov: Option<f64>,
    /// The detected arrival pattern.
    pub pattern: Pattern,
    /// The interim validity of the run.
    pub validity: Validity,
    /// The reason of the interim validity.
    pub reason: String,
    /// Totals for metrics, if enabled.
    #[serde(skip)]
    pub totals: Option<Arc<Totals>>,
}

/// Number of visits that have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LiveVisits {
    /// Successful visits: all of their requests succeeded.
    pub ok: u64,
    /// Visits with a failed request.
    pub failed: u64,
}

impl LiveVisits {
    pub(crate) fn add(&mut self, visit: &VisitRecord) {
        match visit.outcome {
            _ if visit.group.is_some() => {}
            Outcome::Ok => self.ok += 1,
            Outcome::Cut => {}
            _ => self.failed += 1,
        }
    }

    /// `1,204 ok, 3 failed`.
    pub fn text(&self) -> String {
        format!("{} ok, {} failed", count(self.ok), count(self.failed))
    }
}

/// Results of one request or scenario of the workload so far.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LiveRequest {
    /// The name of the request or scenario.
    pub name: String,
    /// Number of successful requests.
    pub ok: u64,
    /// Number of failed requests, including those not sent.
    pub failed: u64,
    /// Response times (done - scheduled) of successful requests.
    pub response: Option<ResponsePercentiles>,
}

/// A worker of a run. Rates and times are those of the last ten seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LiveWorker {
    /// The share and the host of the worker.
    pub name: String,
    /// The state of the worker.
    pub state: WorkerPhase,
    /// Time since its last heartbeat, if that is too old.
    pub silent_s: Option<f64>,
    /// Number of requests that were due, sent or not.
    pub requests: u64,
    /// Number of requests that were due and not sent.
    pub unsent: u64,
    /// Number of requests in flight.
    pub in_flight: u64,
    /// Number of failed requests.
    pub errors: u64,
    /// Sent requests per second.
    pub sent_rate_per_s: Option<f64>,
    /// Response times (done - scheduled) of successful requests.
    pub response: Option<ResponsePercentiles>,
    /// Lateness (sent - scheduled) of ended requests.
    pub lateness: Option<LatenessPercentiles>,
}

/// The state of a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerPhase {
    /// The worker has not started.
    #[default]
    NotStarted,
    /// The worker runs.
    Running,
    /// The worker should be running, but its last heartbeat is too old.
    Silent,
    /// The worker has finished.
    Ended,
    /// The worker was killed.
    Lost,
}

impl LiveWorker {
    /// The state as text: `running`, `SILENT for 12 s`.
    pub fn state_text(&self) -> String {
        match self.state {
            WorkerPhase::NotStarted => "not started".to_owned(),
            WorkerPhase::Running => "running".to_owned(),
            WorkerPhase::Silent => format!("SILENT for {:.0} s", self.silent_s.unwrap_or_default()),
            WorkerPhase::Ended => "finished".to_owned(),
            WorkerPhase::Lost => "LOST".to_owned(),
        }
    }
}

/// A bin of a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HistogramBin {
    /// The lower edge.
    pub from_ms: f64,
    /// The upper edge.
    pub to_ms: f64,
    /// The number of responses in the interval.
    pub count: u64,
}

/// Growth of the number of requests in flight.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Growth {
    /// The growth per second.
    pub per_s: f64,
    /// Whether the growth is statistically significant and large enough to matter: the system is overloaded.
    pub overloaded: bool,
}

/// Rates and times of a part of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LiveStats {
    /// The target rate in requests per second; `null` in a closed system, where the server determines the rate.
    pub target_rate_per_s: Option<f64>,
    /// Sent requests per second.
    pub sent_rate_per_s: Option<f64>,
    /// Complete responses per second, successful or not.
    pub completed_rate_per_s: Option<f64>,
    /// Response times (done - scheduled) of successful requests.
    pub response: Option<ResponsePercentiles>,
    /// Lateness (sent - scheduled) of ended requests.
    pub lateness: Option<LatenessPercentiles>,
}

/// Percentiles of response or service times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ResponsePercentiles {
    /// The median.
    pub p50_ms: f64,
    /// The 95th percentile.
    pub p95_ms: f64,
    /// The 99th percentile.
    pub p99_ms: f64,
    /// The maximum.
    pub max_ms: f64,
}

/// Percentiles of lateness.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LatenessPercentiles {
    /// The median.
    pub p50_us: f64,
    /// The 99th percentile.
    pub p99_us: f64,
}

/// The phase of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The run waits for its start time.
    Starting,
    /// The run sends requests that are excluded from statistics (`skip_first`).
    WarmingUp,
    /// The run sends requests.
    Running,
    /// All requests are sent; it waits for the last responses.
    Draining,
    /// The run was stopped, and waits briefly for responses.
    Stopping,
    /// The run is over.
    Ended,
}

impl Phase {
    /// The phase as text.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Starting => "waiting for the start",
            Self::WarmingUp => "warming up, excluded from statistics",
            Self::Running => "running",
            Self::Draining => "all requests sent, waiting for responses",
            Self::Stopping => "stopping, waiting for responses",
            Self::Ended => "ended",
        }
    }
}

impl Snapshot {
    /// Maximum number of rows of [`Snapshot::by_request`].
    pub const MAX_REQUESTS: usize = 30;

    /// Progress of the run from 0 to 1, by time or by number of requests, whichever is larger.
    pub fn progress(&self) -> f64 {
        let part = |of: f64, all: Option<f64>| all.map_or(0.0, |all| (of / all).min(1.0));
        part(self.time_s, self.duration_s).max(part(self.requests as f64, self.max_requests.map(|max| max as f64)))
    }

    /// Number of failed requests by outcome: neither successful, nor not sent, nor cut off by the end of the run.
    pub fn errors(&self) -> impl Iterator<Item = (Outcome, u64)> {
        let fails = |outcome| !matches!(outcome, Outcome::Ok | Outcome::Unsent | Outcome::Cut);
        self.outcomes.iter().map(|(outcome, n)| (*outcome, *n)).filter(move |(outcome, _)| fails(*outcome))
    }
}

/// Serialises outcomes by name, sorted.
fn by_name<S: Serializer>(outcomes: &BTreeMap<Outcome, u64>, serializer: S) -> Result<S::Ok, S::Error> {
    let named: BTreeMap<&str, u64> = outcomes.iter().map(|(outcome, n)| (outcome.name(), *n)).collect();
    named.serialize(serializer)
}
