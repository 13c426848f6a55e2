//! Stopping a run from within one of its threads.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

pub use offered_events::recording::{End, Halted};

use crate::script::MissingValue;

/// Stops the run from any thread. Only the first reason is recorded.
#[derive(Debug, Default)]
pub(crate) struct Halt {
    stop: Arc<AtomicBool>,
    reason: OnceLock<Halted>,
}

impl Halt {
    /// Sets `stop` to stop the run.
    pub(crate) fn new(stop: Arc<AtomicBool>) -> Self {
        Self { stop, reason: OnceLock::new() }
    }

    /// Stops the run for this reason.
    pub(crate) fn stop(&self, reason: String, end: End) {
        // Fails if there is an earlier reason, which is the one to keep.
        let _ = self.reason.set(Halted { reason, end });
        self.stop.store(true, Relaxed);
    }

    /// The message for a missing value. Stops the run if the rows of a file are used up.
    pub(crate) fn message(&self, missing: MissingValue) -> String {
        match missing {
            MissingValue::Value(reason) => reason,
            MissingValue::Rows { reason, error } => {
                self.stop(reason.clone(), if error { End::Error } else { End::DataUsedUp });
                reason
            }
        }
    }

    /// Why the run stopped itself; `None` if it did not.
    pub(crate) fn halted(&self) -> Option<Halted> {
        self.reason.get().cloned()
    }
}
