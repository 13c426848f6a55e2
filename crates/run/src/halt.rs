//! Stopping a run from inside.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

pub use offered_model::recording::{End, Halted};

use crate::script::Lack;

/// What any thread can stop the run by; the first reason is the one that is told.
#[derive(Debug, Default)]
pub(crate) struct Halt {
    stop: Arc<AtomicBool>,
    why: OnceLock<Halted>,
}

impl Halt {
    /// Which sets `stop`.
    pub(crate) fn new(stop: Arc<AtomicBool>) -> Self {
        Self { stop, why: OnceLock::new() }
    }

    /// Stops the run.
    pub(crate) fn stop(&self, why: String, end: End) {
        // A later reason is not told.
        let _ = self.why.set(Halted { why, end });
        self.stop.store(true, Relaxed);
    }

    /// The words for what is missing; where that ends the run, it is stopped.
    pub(crate) fn told(&self, lack: Lack) -> String {
        match lack {
            Lack::Value(why) => why,
            Lack::Rows { why, error } => {
                self.stop(why.clone(), if error { End::Error } else { End::Meant });
                why
            }
        }
    }

    /// Why the run stopped itself, if it did.
    pub(crate) fn why(&self) -> Option<Halted> {
        self.why.get().cloned()
    }
}
