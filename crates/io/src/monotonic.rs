//! The monotonic clock of the system.

use rustix::time::{ClockId, clock_gettime};

/// What the clock shows, in nanoseconds. A difference of two readings is one subtraction; `std::time::Instant` keeps seconds and nanoseconds
/// apart.
#[inline]
pub(crate) fn monotonic() -> i64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as i64 * 1_000_000_000 + time.tv_nsec as i64
}
