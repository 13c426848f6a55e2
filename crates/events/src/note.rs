//! Notes about a recording: what a reader of its events must know.

use std::fmt;

use serde::{Deserialize, Serialize};

use offered_base::time::span;

/// Information about a recording that its events do not contain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Note {
    /// The file ends in the middle of a row, or of the compressed stream.
    Truncated,
    /// The run has no record: it was killed before its end, or the copy of it is incomplete.
    Killed,
    /// Scheduled requests without an event, although a later request has one. Requests whose schedule depends on responses are not counted.
    NotRecorded {
        /// Number of requests.
        requests: u64,
        /// Scheduled time of the first, from the start of the run.
        start_s: f64,
        /// Scheduled time of the last, from the start of the run.
        end_s: f64,
    },
    /// The parts of the run do not contain the number of requests that its record states.
    CountMismatch {
        /// Number in the record.
        expected: u64,
        /// Number in the parts.
        found: u64,
    },
    /// Parts of the run cannot be read.
    PartsMissing {
        /// Number of unreadable parts.
        missing: u64,
        /// Number of parts.
        total: u64,
    },
    /// The clock of another tool is coarser than the unit of its timestamps.
    CoarseClock {
        /// Tick of the clock.
        tick_ms: f64,
        /// Unit of the timestamps.
        unit_ms: f64,
    },
    /// There are more request names than can be distinguished.
    TooManyNames {
        /// Number of names that are distinguished.
        limit: u64,
        /// Name for all others.
        other: String,
    },
    /// The tool lists only some of its requests.
    OnlyListed {
        /// Name of the tool.
        tool: String,
        /// The requests that it lists.
        listed: Listed,
    },
    /// Timestamps are whole seconds.
    WholeSeconds {
        /// Name of the tool or file format.
        format: String,
    },
    /// Rows that are not requests were excluded.
    Excluded {
        /// Number of rows.
        rows: u64,
        /// Kind of the rows.
        row_kind: RowKind,
    },
    /// Several recordings were merged, each by its own clock.
    Merged {
        /// Number of recordings.
        recordings: usize,
        /// Time between the first and the last start.
        start_spread_ms: f64,
        /// Share of the whole time in which all recordings overlap.
        overlap_percent: f64,
    },
    /// A note about one worker of the run.
    Worker {
        /// The worker, for example `3/8`.
        worker: String,
        /// The note.
        note: Box<Note>,
    },
    /// A worker of the run recorded nothing.
    WorkerMissing {
        /// The worker, for example `3/8`.
        worker: String,
    },
    /// Requests in the share of a lost worker. They count as not sent.
    WorkerLost {
        /// Number of requests.
        requests: u64,
        /// Whether the sessions would have sent further requests, whose number depends on responses and is unknown.
        more_unknown: bool,
    },
    /// The worker is still running.
    Running,
    /// The worker should be running but its heartbeat has stopped.
    Silent {
        /// Time since the last heartbeat.
        silence_s: f64,
    },
    /// The workers ran on several machines, each with its own clock.
    SeveralClocks {
        /// Number of machines.
        machines: usize,
    },
    /// A warning about the simulation that produced the recording.
    Simulation {
        /// The warning.
        warning: SimulationWarning,
    },
}

/// The requests that a tool lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Listed {
    /// Successful requests.
    Succeeded,
    /// Requests with a response.
    Answered,
}

/// Kinds of rows that are not requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RowKind {
    /// Transaction Controllers of `JMeter`.
    Controllers,
    /// Sub-results of `JMeter`.
    SubResults,
    /// Samples that goose adds as a correction for coordinated omission.
    Corrected,
    /// Corrections of earlier rows.
    Updates,
}

impl Note {
    /// The note itself, without the worker that it is about.
    pub fn without_worker(&self) -> &Self {
        match self {
            Self::Worker { note, .. } => note.without_worker(),
            other => other,
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("truncated: the file ends in the middle of a row"),
            Self::Killed => f.write_str(
                "the recording has no end (no run.json), and events of up to 2 s before the kill may be missing",
            ),
            Self::NotRecorded { requests: 1, start_s, .. } => {
                write!(f, "the request scheduled at {start_s:.3} s was not recorded; whether it was sent is unknown")
            }
            Self::NotRecorded { requests, start_s, end_s } => write!(
                f,
                "{requests} scheduled requests between {start_s:.3} s and {end_s:.3} s were not recorded; whether they were sent is unknown"
            ),
            Self::CountMismatch { expected, found } => write!(
                f,
                "run.json states {expected} requests, but the parts contain {found}: parts were removed or added"
            ),
            Self::PartsMissing { missing, total } => write!(f, "{missing} of {total} parts cannot be read"),
            Self::TooManyNames { limit, other } => {
                write!(f, "more than {limit} distinct request names; the others are counted as `{other}`")
            }
            Self::OnlyListed { tool, listed } => {
                let which = match listed {
                    Listed::Succeeded => "succeeded",
                    Listed::Answered => "got a response",
                };
                write!(f, "{tool} lists only requests that {which}; the others are missing")
            }
            Self::CoarseClock { tick_ms, unit_ms } => write!(
                f,
                "timestamps are in units of {unit_ms} ms but multiples of {tick_ms} ms, probably the tick of the clock; arrivals within a tick \
                 cannot be distinguished"
            ),
            Self::WholeSeconds { format } => {
                write!(f, "{format} has timestamps in whole seconds; arrivals within a second cannot be distinguished")
            }
            Self::Excluded { rows, row_kind } => match row_kind {
                RowKind::Controllers => {
                    write!(f, "{rows} rows of Transaction Controllers were excluded, because they are not requests")
                }
                RowKind::SubResults => {
                    write!(
                        f,
                        "{rows} sub-results (`label-0` inside `label`) were excluded, because they are not requests"
                    )
                }
                RowKind::Corrected => {
                    write!(f, "{rows} rows were excluded: goose added these samples to correct coordinated omission")
                }
                RowKind::Updates => {
                    write!(f, "{rows} rows were excluded, because they correct earlier rows (`update`)")
                }
            },
            Self::Merged { recordings, start_spread_ms, overlap_percent } => write!(
                f,
                "{recordings} recordings merged by their own clocks, whose offsets are unknown: they started within {} and all \
                 overlap for {overlap_percent:.0} % of the time",
                span(start_spread_ms * 1e6)
            ),
            Self::Worker { worker, note } => write!(f, "worker {worker}: {note}"),
            Self::WorkerMissing { worker } => write!(f, "worker {worker} is missing: it sent nothing"),
            Self::WorkerLost { requests, more_unknown } => {
                write!(f, "{requests} requests of its share were not sent because the worker was lost")?;
                let more = "; the number of further requests of its sessions is unknown";
                f.write_str(if *more_unknown { more } else { "" })
            }
            Self::Running => f.write_str("the run is still in progress; only the events recorded so far are counted"),
            Self::Silent { silence_s } => {
                write!(f, "no heartbeat for {}: the worker is frozen or dead", span(silence_s * 1e9))
            }
            Self::SeveralClocks { machines } => write!(
                f,
                "requests are ordered by the clocks of {machines} machines, whose offsets are unknown; the order of requests closer than \
                 these offsets is unknown"
            ),
            Self::Simulation { warning } => f.write_str(&warning.message()),
        }
    }
}

/// A warning about a simulation result.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SimulationWarning {
    /// Little's law does not hold within the run: a bug of the simulator.
    LittlesLaw,
    /// No warm-up period was found after which the run is stationary.
    WarmUpNotConverged,
    /// Too few requests completed for confidence intervals.
    TooFewRequests {
        /// Number of completed requests that were counted.
        completed: u64,
        /// Number of requests from which the mean has an interval.
        needed: u64,
    },
    /// Batches are correlated.
    CorrelatedBatches {
        /// Number of independent batches that the run corresponds to.
        effective_batches: f64,
    },
    /// The largest service demands are so rare that a run of this length does not determine the mean.
    RareSizes {
        /// Number of completed requests that were counted.
        completed: u64,
        /// Number of requests from which the mean has an interval.
        needed: u64,
    },
    /// The fourth moment of the service distribution (for some disciplines, the second) is infinite: the mean has no interval.
    NoMeanInterval,
    /// The second moment of the service distribution is infinite, and with this discipline the mean response time is too.
    InfiniteMean,
    /// The confidence interval of the mean response time is wide.
    Imprecise {
        /// Half-width of the interval, as a fraction of the mean.
        relative_half_width: f64,
    },
    /// A few requests dominate the mean slowdown.
    SlowdownOutliers {
        /// Mean slowdown.
        mean: f64,
        /// Largest slowdown.
        max: f64,
    },
    /// The largest service demands of the distribution did not occur.
    LargeSizesMissing {
        /// Squared coefficient of variation of the simulated demands.
        realised_scv: f64,
        /// Squared coefficient of variation of their distribution.
        distribution_scv: f64,
    },
    /// The discipline leaves jobs unfinished, so that completed jobs are not representative.
    Unfinished {
        /// Mean response time of completed jobs, seconds.
        completed_s: f64,
        /// E\[N\]/X, seconds.
        littles_law_s: f64,
        /// Number of unfinished jobs, age of the oldest and mean age, seconds.
        unfinished: Option<(u64, f64, f64)>,
    },
}

impl SimulationWarning {
    /// The warning and its fix, as text.
    pub fn message(&self) -> String {
        match self {
            Self::LittlesLaw => {
                "Little's law does not hold: this is a bug of offered, please report it with the workload".to_owned()
            }
            Self::WarmUpNotConverged => "the first half of the run is not stationary; simulate longer".to_owned(),
            Self::TooFewRequests { completed, needed } => {
                format!(
                    "{completed} completed requests are too few for confidence intervals; simulate at least {needed}"
                )
            }
            Self::CorrelatedBatches { effective_batches } => format!(
                "successive batches of requests are correlated (they are worth only {effective_batches:.0} independent batches), so intervals may be too narrow; simulate longer"
            ),
            Self::RareSizes { completed, needed } => format!(
                "the largest service demands are so rare that {completed} requests give no confidence interval of the mean; simulate at least {needed}, or use `plan solve`"
            ),
            Self::NoMeanInterval => "the service distribution has a tail so heavy that the mean has no confidence interval, however long the simulation; use percentiles, `plan solve`, or limit the sizes with `within`".to_owned(),
            Self::InfiniteMean => "the mean response time is infinite: requests wait for others with a service time of infinite variance; use percentiles, another discipline such as ps, or limit the sizes with `within`".to_owned(),
            Self::Imprecise { relative_half_width } => format!(
                "the mean response time is known only to {:.1} %; simulate longer, or until a precision is reached",
                100.0 * relative_half_width
            ),
            Self::SlowdownOutliers { mean, max } => format!(
                "a few tiny requests that had to wait dominate the mean slowdown of {mean:.1} (largest {max:.0}); use its percentiles"
            ),
            Self::LargeSizesMissing { realised_scv, distribution_scv } => format!(
                "the squared CoV of the simulated service demands is {realised_scv:.3}, that of their distribution {distribution_scv:.3}: the largest demands did not occur; simulate longer"
            ),
            Self::Unfinished { completed_s, littles_law_s, unfinished } => {
                let ages = unfinished.map_or_else(String::new, |(jobs, oldest, mean)| {
                    format!(" ({jobs} jobs are unfinished, mean age {mean:.3} s, oldest {oldest:.3} s)")
                });
                format!(
                    "completed jobs took {completed_s:.4} s on average, but E[N]/X is {littles_law_s:.4} s: the discipline leaves some jobs unfinished{ages}; use E[N]/X"
                )
            }
        }
    }
}
