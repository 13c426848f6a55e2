//! Ctrl-C and SIGTERM: the first stops cleanly and still reports, the second leaves at once.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::exit::Failure;

/// The signals that stop a verb.
pub(crate) const STOPPING: [i32; 2] = [SIGINT, SIGTERM];

/// Sets `stop` at the first signal, ends the process at the second.
pub(crate) fn stop(stop: &Arc<AtomicBool>) -> Result<(), Failure> {
    for signal in STOPPING {
        // In this order: the second signal finds the flag that the first has set.
        flag::register_conditional_shutdown(signal, 128 + signal, stop.clone()).map_err(Failure::stopped)?;
        flag::register(signal, stop.clone()).map_err(Failure::stopped)?;
    }
    Ok(())
}
