//! Stopping a run from inside.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

pub use offered_model::recording::{End, Halted};

use crate::script::MissingValue;

/// What any thread can stop the run by; the first reason is the one that is told.
#[derive(Debug, Default)]
pub(crate) struct Halt {
    stop: Arc<AtomicBool>,
    reason: OnceLock<Halted>,
}

impl Halt {
    /// Which sets `stop`.
    pub(crate) fn new(stop: Arc<AtomicBool>) -> Self {
        Self { stop, reason: OnceLock::new() }
    }

    /// Stops the run.
    pub(crate) fn stop(&self, reason: String, end: End) {
        // A later reason is not told.
        let _ = self.reason.set(Halted { why: reason, end });
        self.stop.store(true, Relaxed);
    }

    /// The words for what is missing; where that ends the run, it is stopped.
    pub(crate) fn message(&self, missing: MissingValue) -> String {
        match missing {
            MissingValue::Value(reason) => reason,
            MissingValue::Rows { reason, error } => {
                self.stop(reason.clone(), if error { End::Error } else { End::Meant });
                reason
            }
        }
    }

    /// Why the run stopped itself, if it did.
    pub(crate) fn halted(&self) -> Option<Halted> {
        self.reason.get().cloned()
    }
}
