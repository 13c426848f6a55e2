//! Systems other than Linux: all threads have the normal priority.

use std::io;

use offered_base::Nanos;

use super::Scheduling;

/// Threads are not distinguished.
pub(super) type ThreadId = ();

pub(super) fn current_thread() -> ThreadId {}

pub(super) fn get((): ThreadId) -> io::Result<Scheduling> {
    Err(io::Error::other("only on Linux"))
}

pub(super) fn set((): ThreadId, _: Scheduling) -> io::Result<()> {
    Err(io::Error::other("only on Linux"))
}

pub(super) fn allows_realtime() -> io::Result<()> {
    Err(io::Error::other("only on Linux"))
}

pub(super) fn lowest_nice() -> Option<i32> {
    None
}

pub(super) fn processor_time((): ThreadId) -> io::Result<Nanos> {
    Err(io::Error::other("only on Linux"))
}
