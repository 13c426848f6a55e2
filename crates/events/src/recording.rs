//! A recording: the events of one run, of this or another tool, and their metadata.

use std::fmt::{self, Display, Formatter};

use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::note::Note;
use crate::source::Events;
use crate::worker_clock::WorkerClock;
use offered_base::time::Nanos;

/// The events and metadata of one run.
///
/// Events are in the order of the file, not of time. Instants are nanoseconds on the recording's own clock, since the start of the
/// run for `offered` and since the Unix epoch for most other files. Only differences of instants are comparable.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// One event per request, and those of embedded objects.
    pub events: Events,
    /// Request names, indexed by [`Event::label`].
    pub labels: Vec<String>,
    /// File format: `run`, `jtl-csv`, `k6-json`, ...
    pub format: String,
    /// Resolution of timestamps: 1 ns for `offered`, 1 ms for JMeter.
    pub resolution: Nanos,
    /// Whether `intended` was recorded. If not, it equals `sent`.
    pub intent_known: bool,
    /// Whether instants count from the start of a run of `offered`, so that `skip_first` and `skip_last` of its workload apply.
    pub on_run_clock: bool,
    /// Measurements of the generator. `None` for other tools and for runs that have not ended.
    pub generator: Option<Evidence>,
    /// Whether `session` identifies the user, thread or connection.
    pub sessions_known: bool,
    /// Merged recordings: name and first [`Event::worker`] of each, ascending.
    pub nodes: Vec<(String, u16)>,
    /// Clocks of the workers, in the order of `nodes`.
    pub clocks: Vec<NodeClock>,
    /// For files with timestamps of unknown meaning (start or end of a sample): the meaning that was chosen, and the reason.
    pub stamps: Option<String>,
    /// Number of unreadable rows.
    pub unreadable: u64,
    /// The first unreadable rows, as `file:line: reason`.
    pub complaints: Vec<String>,
    /// Notes for the reader.
    pub notes: Vec<Note>,
}

/// The clock of a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeClock {
    /// Name of the worker.
    pub name: String,
    /// Whether this is the reference clock.
    pub is_first: bool,
    /// Offset and synchronisation.
    pub clock: WorkerClock,
}

/// Measurements of the generator that events do not contain.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evidence {
    /// Utilisation of each thread: share of time, 0 to 1, in which it neither slept nor spun.
    pub busy: Vec<f64>,
    /// CPU time of all threads, spinning included.
    pub cpu_s: f64,
    /// Whether the run was stopped early.
    pub stopped: bool,
    /// Why the run stopped itself, if it did.
    pub halted: Option<Halted>,
    /// Target rate and calibrated maximum rate. `None` if the machine was never calibrated.
    pub calibrated: Option<CalibratedRate>,
    /// How the operating system scheduled the sending threads; one entry per process. Empty if nothing was sent.
    #[serde(default)]
    pub scheduling: Vec<Scheduling>,
    /// Blocks of alternating policies that started, in order of time.
    #[serde(default)]
    pub blocks: Vec<Block>,
    /// The addresses of the target and their connections, if its name has several.
    #[serde(default)]
    pub addresses: Vec<AddressUse>,
}

/// How the operating system scheduled the sending threads of a process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Scheduling {
    /// The priority that the workload requests: `auto`, `normal` or `realtime`.
    pub requested: String,
    /// The scheduling policy: `SCHED_OTHER` (fair, weighted by the nice value), `SCHED_RR` (real-time), or another one of sched(7).
    pub policy: String,
    /// The nice value: -20 (highest priority) to 19; without effect under a real-time policy.
    pub nice: i32,
    /// The time slice in us; `None`: the default of the system.
    pub slice_us: Option<f64>,
    /// Why a higher priority was not granted; `None` if it was granted, or not requested.
    pub refused: Option<String>,
    /// How long threads had the normal priority because they used too much of a processor: the sum over all threads.
    pub lowered_s: f64,
}

/// The connections to one of several addresses of the target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AddressUse {
    /// IP address and port.
    pub address: String,
    /// Number of connections that were opened.
    pub opened: u64,
    /// Number of attempts that failed; another address was tried next, if there was one.
    pub failed: u64,
    /// The reason of the last failed attempt.
    pub error: Option<String>,
}

/// A block of a policy within a run. Times are in ns since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Block {
    /// The policy.
    pub policy: String,
    /// The scheduled start of the block, in nanoseconds since the start of the run.
    pub begins_ns: u64,
    /// Start of the measured part.
    pub settled_ns: u64,
    /// End.
    pub ends_ns: u64,
    /// Start of the command that applies the policy; 0 means before the start of the run.
    pub began_ns: u64,
    /// End of the command.
    pub ended_ns: u64,
    /// Error of the command, if it failed.
    pub failed: Option<String>,
}

/// Why a run stopped itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Halted {
    /// The reason, as text.
    pub reason: String,
    /// The kind of reason.
    pub end: End,
}

/// The kind of reason why a run stopped itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// All rows of a data file were used, and the workload has `at_end = "stop"`.
    DataUsedUp,
    /// A request with `on_failure = "stop"` failed.
    RequestFailed,
    /// A threshold with `stop` failed.
    Threshold,
    /// All rows of a data file were used, and the workload has `at_end = "error"`.
    Error,
    /// Events could not be written, and the workload has `on_disk_full = "stop"`.
    WriteLoss,
}

/// Target rate and calibrated maximum rate of the generator.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CalibratedRate {
    /// Target rate, in requests per second.
    pub target_rate_per_s: f64,
    /// Maximum rate that calibration found for this number of threads, against a server without service time.
    pub sustained_rate_per_s: f64,
}

impl Block {
    /// Whether the policy was applied before the block started to count.
    pub fn is_in_place(&self) -> bool {
        self.failed.is_none() && self.ended_ns <= self.settled_ns
    }
}

impl Scheduling {
    /// Whether the threads take precedence over all threads with a fair policy.
    pub fn is_realtime(&self) -> bool {
        matches!(self.policy.as_str(), "SCHED_RR" | "SCHED_FIFO" | "SCHED_DEADLINE")
    }

    /// Whether the threads take precedence over threads with normal priority.
    pub fn is_raised(&self) -> bool {
        self.is_realtime() || self.nice < 0
    }
}

impl Display for Scheduling {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.is_realtime() {
            write!(f, "real-time ({})", self.policy)?;
        } else if self.policy == "SCHED_OTHER" {
            write!(f, "nice {}", self.nice)?;
        } else {
            write!(f, "{}, nice {}", self.policy, self.nice)?;
        }
        if let Some(slice) = self.slice_us {
            write!(f, ", time slice {slice:.0} us")?;
        }
        if let Some(refused) = &self.refused {
            write!(f, "; refused: {refused}")?;
        }
        if self.lowered_s > 0.0 {
            write!(f, "; {:.1} s without it, because the threads used too much of a processor", self.lowered_s)?;
        }
        Ok(())
    }
}

impl Evidence {
    /// Index and utilisation of the busiest thread.
    pub fn busiest(&self) -> Option<(usize, f64)> {
        self.busy.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Combines the measurements of two generators of one run.
    #[must_use]
    pub fn and(mut self, mut other: Self) -> Self {
        self.busy.append(&mut other.busy);
        self.cpu_s += other.cpu_s;
        self.stopped |= other.stopped;
        self.halted = self.halted.or(other.halted);
        self.calibrated = self.calibrated.or(other.calibrated);
        self.scheduling.append(&mut other.scheduling);
        self.blocks.append(&mut other.blocks);
        for used in other.addresses {
            match self.addresses.iter_mut().find(|known| known.address == used.address) {
                Some(known) => {
                    known.opened += used.opened;
                    known.failed += used.failed;
                    known.error = known.error.take().or(used.error);
                }
                None => self.addresses.push(used),
            }
        }
        self
    }
}

impl Recording {
    /// A recording of a run that just ended.
    pub fn of_run(events: Vec<Event>, labels: Vec<String>) -> Self {
        Self {
            events: events.into(),
            labels,
            format: "run".to_owned(),
            resolution: Nanos(1),
            intent_known: true,
            on_run_clock: true,
            sessions_known: true,
            ..Self::default()
        }
    }
}
