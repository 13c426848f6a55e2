//! The result of a simulation.

use offered_events::note::SimulationWarning;
use offered_stats::steady_state::Estimate;

use crate::attempts::AttemptFigures;
use crate::requirements::MeanInterval;
use crate::statistics::Summary;

/// Result of a simulation.
#[derive(Clone, Debug)]
pub struct SimulationResult {
    /// System model: `open`, `closed`, `partly-open` or `replay`.
    pub model: &'static str,
    /// Scheduling policy, as workload files write it.
    pub discipline: String,
    /// Offered load; `None` for a closed system, where it depends on the responses.
    pub load: Option<f64>,
    /// Simulated load: the utilisation, or the mean number of jobs in service if every job has its own server.
    pub load_reached: Estimate,
    /// N, number of users of a closed system.
    pub users: Option<u64>,
    /// Mean number of requests per session of a partly-open system.
    pub session_length: Option<f64>,
    /// Mean think time, seconds.
    pub think: Option<f64>,
    /// Squared coefficient of variation of the service demand of a request.
    pub scv: f64,
    /// Distribution of the service demand, as in a workload file; mean and C2 alone do not determine the distribution.
    pub service: String,
    /// Names of the requests, one per class of the summary.
    pub labels: Vec<String>,
    /// Statistics of the run.
    pub summary: Summary,
    /// Ages of unfinished jobs, seconds: the age of the oldest, and the mean. `None` where no job is unfinished.
    pub ages: Option<(f64, f64)>,
    /// First attempts, all attempts and goodput; `None` in a workload without time limits and retries.
    pub attempts: Option<AttemptFigures>,
    /// Whether the service distribution permits an interval of the mean.
    pub mean_interval: MeanInterval,
    /// Warnings about the result, each with its fix.
    pub warnings: Vec<SimulationWarning>,
}
