//! The events that are not on disk yet, shared by the thread that records them and the thread that writes them.
//!
//! A disk that does not respond blocks the writing thread in a system call. The backlog still holds the events of that write, so the result of
//! the run does not wait for it.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use offered_base::{Instant, Nanos};
use offered_events::Event;
use offered_io::Clock;

/// An operation of the disk that takes longer is reported.
const PATIENCE: Nanos = Nanos::from_secs(2);

/// Events from several threads.
pub(crate) type Batch = Arc<Vec<Event>>;

/// The events that are in no complete part, in order.
#[derive(Debug)]
pub(crate) struct Backlog {
    clock: Clock,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    batches: VecDeque<Batch>,
    /// Number of events in `batches`.
    events: usize,
    /// Number of further events that are lost, because memory was full.
    lost: u64,
    /// Number of complete parts.
    parts: u32,
    /// The file that the disk is writing, and the time when writing began.
    writing: Option<(Instant, PathBuf)>,
    /// The last write error, until a write succeeds.
    error: Option<String>,
}

/// The events that a directory lacks at one time.
pub(crate) struct Missing {
    /// The number of parts that are complete. Later ones hold some of `batches`.
    pub(crate) parts: u32,
    pub(crate) batches: Vec<Batch>,
    pub(crate) lost: u64,
}

impl Backlog {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { clock: Clock::start(), state: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds events.
    pub(crate) fn add(&self, events: Vec<Event>) -> Batch {
        let batch = Arc::new(events);
        let mut state = self.state();
        state.events += batch.len();
        state.batches.push_back(batch.clone());
        batch
    }

    /// Adds events. If `limit` events already wait for a disk that reports errors or does not respond, the new events
    /// are lost.
    pub(crate) fn add_within(&self, limit: usize, events: Vec<Event>) -> Option<Batch> {
        {
            let mut state = self.state();
            let is_stuck = || state.error.is_some() || self.stalled(&state).is_some();
            if state.events + events.len() > limit && is_stuck() {
                state.lost += events.len() as u64;
                return None;
            }
        }
        Some(self.add(events))
    }

    /// Number of events.
    pub(crate) fn events(&self) -> usize {
        self.state().events
    }

    /// Number of complete parts.
    pub(crate) fn parts(&self) -> u32 {
        self.state().parts
    }

    /// The first batches, until they have `events` events.
    pub(crate) fn first(&self, events: usize) -> Vec<Batch> {
        let mut found = 0;
        let is_among = |batch: &&Batch| {
            let is_among = found < events;
            found += if is_among { batch.len() } else { 0 };
            is_among
        };
        self.state().batches.iter().take_while(is_among).cloned().collect()
    }

    /// Removes the first `batches` batches, which are in a part now.
    pub(crate) fn written(&self, batches: usize) -> Vec<Batch> {
        let mut state = self.state();
        state.parts += 1;
        let written: Vec<Batch> = state.batches.drain(..batches).collect();
        state.events -= written.iter().map(|batch| batch.len()).sum::<usize>();
        written
    }

    /// Runs an operation of the disk that writes `path`.
    pub(crate) fn during<T>(&self, path: &Path, write: impl FnOnce() -> T) -> T {
        self.state().writing = Some((self.clock.now(), path.to_owned()));
        let result = write();
        self.state().writing = None;
        result
    }

    /// Publishes the error of the last write; `None` if it succeeded.
    pub(crate) fn set_error(&self, error: Option<String>) {
        self.state().error = error;
    }

    /// The current write error; `None` while the disk accepts all events.
    pub(crate) fn error(&self) -> Option<String> {
        self.state().error.clone()
    }

    /// That the disk has not responded for two seconds, and to what.
    pub(crate) fn stall(&self) -> Option<String> {
        let state = self.state();
        let (path, time) = self.stalled(&state)?;
        Some(format!("the disk has not finished {} in {} s", path.display(), time.0 / 1_000_000_000))
    }

    fn stalled<'s>(&self, state: &'s State) -> Option<(&'s Path, Nanos)> {
        let (since, path) = state.writing.as_ref()?;
        let time = since.until(self.clock.now());
        (time >= PATIENCE).then_some((path, time))
    }

    /// The events that the directory lacks now.
    pub(crate) fn missing(&self) -> Missing {
        let state = self.state();
        Missing { parts: state.parts, batches: state.batches.iter().cloned().collect(), lost: state.lost }
    }
}
