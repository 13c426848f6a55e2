//! When a simulation stops, and its result.

use offered_events::note::SimulationWarning;
use offered_stats::steady_state::Estimate;

use crate::attempts::AttemptFigures;
use crate::heavy_tail::MeanInterval;
use crate::statistics::Summary;

/// When a simulation stops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stop {
    /// At the end of the workload's duration. The statistics exclude `skip_first` and `skip_last`.
    Duration,
    /// After this number of completions (after `skip_first`), whatever the duration.
    Jobs(u64),
    /// When the half-width of the 95 % interval of the mean response is at most this fraction of the mean, whatever the
    /// duration. The statistics exclude `skip_first`.
    Precision(f64),
}

/// Result of a simulation.
#[derive(Clone, Debug)]
pub struct SimulationResult {
    /// System model: `open`, `closed`, `partly-open` or `replay`.
    pub model: &'static str,
    /// Scheduling policy, as workload files write it.
    pub discipline: String,
    /// Offered load; `None` for a closed system, where it depends on the responses.
    pub load: Option<f64>,
    /// Realised load: the utilisation, or the mean number in service where every job has its own server.
    pub load_reached: Estimate,
    /// N, number of users of a closed system.
    pub users: Option<u64>,
    /// Mean number of requests per session of a partly-open system.
    pub session_length: Option<f64>,
    /// Mean think time, seconds.
    pub think: Option<f64>,
    /// C2 of the service demand of a request.
    pub scv: f64,
    /// Distribution of the service demand, as workload files write it; mean and C2 alone do not determine it.
    pub service: String,
    /// Names of the requests, one per class of the summary.
    pub labels: Vec<String>,
    /// Statistics of the run.
    pub summary: Summary,
    /// Ages of unfinished jobs, seconds: of the oldest, and the mean. `None` where no job is unfinished.
    pub ages: Option<(f64, f64)>,
    /// First attempts, all attempts and goodput; `None` in a workload without time limits and retries.
    pub attempts: Option<AttemptFigures>,
    /// Whether the service distribution permits an interval of the mean.
    pub mean_interval: MeanInterval,
    /// Warnings about the result, each with its fix.
    pub warnings: Vec<SimulationWarning>,
}
