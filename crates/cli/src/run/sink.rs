//! Where a launching thread's events go.

use offered_model::Event;
use offered_store::Recorder;

/// Memory, or the writing thread.
pub(crate) enum Sink {
    /// Kept until the end.
    Memory(Vec<Event>),
    /// Handed over.
    Disk(Recorder),
}

impl Sink {
    /// What was kept in memory.
    pub(crate) fn into_events(self) -> Vec<Event> {
        match self {
            Self::Memory(events) => events,
            Self::Disk(_) => Vec::new(),
        }
    }
}

impl offered_run::Sink for Sink {
    fn keep(&mut self, batch: Vec<Event>) {
        match self {
            Self::Memory(events) => events.keep(batch),
            // A recorder that has ended says so when it is finished.
            Self::Disk(recorder) => drop(recorder.record(batch)),
        }
    }
}
