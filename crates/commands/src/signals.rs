//! Ctrl-C, SIGTERM and SIGHUP: the first signal stops gracefully, with a report; a later one ends the process.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use offered_io::resource_error;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;

use crate::failure::Failure;

/// The signals that stop a command. SIGHUP is not among them under `nohup`.
pub(crate) fn stopping() -> Vec<i32> {
    let hangup = (!is_ignored(SIGHUP)).then_some(SIGHUP);
    [SIGINT, SIGTERM].into_iter().chain(hangup).collect()
}

/// Sets `stop` at the first signal, ends the process at the second.
pub(crate) fn stop(stop: &Arc<AtomicBool>) -> Result<(), Failure> {
    for signal in stopping() {
        // In this order: the second signal finds the flag set by the first.
        flag::register_conditional_shutdown(signal, 128 + signal, stop.clone()).map_err(Failure::stopped)?;
        flag::register(signal, stop.clone()).map_err(Failure::stopped)?;
    }
    Ok(())
}

/// Sets `stop` at the first signal, `abort` at the second, ends the process at the third. If `stop` is already set, the first
/// signal sets `abort`.
pub(crate) fn stop_then_abort(stop: &Arc<AtomicBool>, abort: &Arc<AtomicBool>) -> Result<(), Failure> {
    let mut arriving = Signals::new(stopping()).map_err(Failure::stopped)?;
    let (stop, abort) = (stop.clone(), abort.clone());
    let handle = move || {
        for signal in arriving.forever() {
            if stop.swap(true, Relaxed) && abort.swap(true, Relaxed) {
                process::exit(128 + signal);
            }
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(handle).map(drop).map_err(no_thread)
}

/// Calls `last` and ends the process at the first signal.
pub(crate) fn at_end(last: impl Fn() + Send + 'static) -> Result<(), Failure> {
    let mut arriving = Signals::new(stopping()).map_err(Failure::stopped)?;
    let handle = move || {
        if let Some(signal) = arriving.forever().next() {
            last();
            process::exit(128 + signal);
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(handle).map(drop).map_err(no_thread)
}

/// A thread could not be started.
pub(crate) fn no_thread(error: std::io::Error) -> Failure {
    Failure::stopped(format!("cannot start a thread: {}", resource_error(&error)))
}

/// Whether this signal is ignored, as under `nohup`; false if unknown.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
