//! A recording: the events of one run with what must be known to read them, whichever tool made it.

use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::note::Note;
use crate::source::Events;
use crate::worker_clock::WorkerClock;
use offered_base::time::Nanos;

/// What one run left behind, ours or another tool's.
///
/// Events are in the order of the file, not of time. Instants are nanoseconds on the recording's own clock (since the run's
/// start for ours, since the Unix epoch for most files), so only differences mean anything.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// One per launch, and what launches brought with them.
    pub events: Events,
    /// The names that [`Event::label`] points into.
    pub labels: Vec<String>,
    /// What kind of file it was: `run`, `jtl-csv`, `k6-json`, ...
    pub format: String,
    /// The tick of the launch stamps: 1 ns for ours, 1 ms for JMeter's.
    pub resolution: Nanos,
    /// Whether `intended` was recorded; otherwise it repeats `sent`.
    pub intent_known: bool,
    /// Whether instants count from the start of a run of ours, so that its workload says which of them are judged.
    pub on_run_clock: bool,
    /// What the generator was seen to do besides; of runs of ours that have ended.
    pub generator: Option<Evidence>,
    /// Whether `session` tells the user, thread or connection that launched.
    pub sessions_known: bool,
    /// Of a recording merged from several: the name of each, and the number of its first [`Event::worker`]; ascending.
    pub nodes: Vec<(String, u16)>,
    /// Of a run of many workers: the clock of each, in the order of its nodes.
    pub clocks: Vec<NodeClock>,
    /// For files whose stamps may mean the start or the end of a sample: which was taken, and on what evidence.
    pub stamps: Option<String>,
    /// How many rows could not be read.
    pub unreadable: u64,
    /// The first of them, as `file:line: why`.
    pub complaints: Vec<String>,
    /// What the reader must know besides.
    pub notes: Vec<Note>,
}

/// The clock of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeClock {
    /// The node.
    pub name: String,
    /// Whether it is the clock that the others are laid beside.
    pub is_first: bool,
    /// What is known of it.
    pub clock: WorkerClock,
}

/// What a generator was seen to do that no event shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evidence {
    /// Per launching thread: the share of its time in which it neither slept nor spun, 0 to 1.
    pub busy: Vec<f64>,
    /// Processor time of all of them, spinning included.
    pub cpu_s: f64,
    /// Whether the run was stopped before its time.
    pub stopped: bool,
    /// Why, if it stopped itself.
    pub halted: Option<Halted>,
    /// What was asked of it, and what this machine was found to sustain, where that was ever measured.
    pub calibrated: Option<Calibrated>,
    /// Of policies that took turns: each turn that began, in the order of time.
    #[serde(default)]
    pub blocks: Vec<Block>,
}

/// A policy's turn within a run, in ns since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Block {
    /// The policy.
    pub policy: String,
    /// When it was to be put in place.
    pub begins_ns: u64,
    /// From when on launches count for it.
    pub settled_ns: u64,
    /// When it was over.
    pub ends_ns: u64,
    /// When the command began that puts it in place; 0: before the start.
    pub began_ns: u64,
    /// When that had ended.
    pub ended_ns: u64,
    /// What it said, where it failed.
    pub failed: Option<String>,
}

/// Why a run stopped itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Halted {
    /// In words.
    pub why: String,
    /// How that is to be taken.
    pub end: End,
}

/// How the end of a run that stopped itself is to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// As the workload says: its data are used up.
    Meant,
    /// Something did not go well that had to.
    Failed,
    /// A threshold was broken that a run must not break.
    Threshold,
    /// Data that should have been enough were not.
    Error,
    /// Events could not be written, and the workload says to stop then.
    WriteLoss,
}

/// Launches per second, asked for and possible.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Calibrated {
    /// Asked of the generator.
    pub asked_per_s: f64,
    /// Found possible with as many threads, against a server that answers at once.
    pub sustained_per_s: f64,
}

impl Block {
    /// Whether its policy was in place when it began to count.
    pub fn is_in_place(&self) -> bool {
        self.failed.is_none() && self.ended_ns <= self.settled_ns
    }
}

impl Evidence {
    /// The busiest thread, and the share of its time in which it was.
    pub fn busiest(&self) -> Option<(usize, f64)> {
        self.busy.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Of two generators of one run.
    #[must_use]
    pub fn and(mut self, mut other: Self) -> Self {
        self.busy.append(&mut other.busy);
        self.cpu_s += other.cpu_s;
        self.stopped |= other.stopped;
        self.halted = self.halted.or(other.halted);
        self.calibrated = self.calibrated.or(other.calibrated);
        self.blocks.append(&mut other.blocks);
        self
    }
}

impl Recording {
    /// Of a run of ours, just made.
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
