//! The monotonic clock of a run.
#![allow(clippy::disallowed_methods)] // the module that may read clocks

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use offered_base::{Instant, Nanos};
use rustix::time::{ClockId, clock_gettime};

use crate::monotonic::monotonic;
use crate::wall_clock::{WallClock, unix_now};

/// Interval at which `stop` is polled while waiting for the start.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The clock of one run: nanoseconds since its start, on the monotonic clock of the system.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// What the monotonic clock shows at the start.
    origin: i64,
    unix: Nanos,
}

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Self { origin: monotonic(), unix: unix_now() }
    }

    /// A clock that starts when `wall` shows `unix` (since the Unix epoch), which may be in the future. Machines with
    /// the same `unix` start together, as precisely as their wall clocks agree.
    pub fn starting_at(wall: &WallClock, unix: Nanos) -> Self {
        Self { origin: wall.monotonic_at(unix), unix }
    }

    /// A clock that starts after `delay`.
    pub fn starting_in(delay: Nanos) -> Self {
        Self { origin: monotonic().saturating_add_unsigned(delay.0), unix: unix_now() + delay }
    }

    /// Waits for the start, or until `stop` is set. Sleeps first, then spins for the last millisecond.
    pub fn wait_for_start(&self, stop: &AtomicBool) {
        while let Some(left) = self.time_until(Instant::ZERO) {
            match left.checked_sub(Duration::from_millis(1)) {
                Some(_) if stop.load(Relaxed) => return,
                Some(long) => std::thread::sleep(long.min(POLL_INTERVAL)),
                None => std::hint::spin_loop(),
            }
        }
    }

    /// When the run started, on the wall clock, since the Unix epoch.
    pub fn unix_origin(&self) -> Nanos {
        self.unix
    }

    /// The time since the start; zero before the start.
    #[inline]
    pub fn now(&self) -> Instant {
        Instant(u64::try_from(monotonic() - self.origin).unwrap_or(0))
    }

    /// The time until `instant`, which also counts before the start; `None` if it is reached.
    fn time_until(&self, instant: Instant) -> Option<Duration> {
        let left = self.origin.saturating_add_unsigned(instant.0) - monotonic();
        u64::try_from(left).ok().filter(|left| *left > 0).map(Duration::from_nanos)
    }

    /// Sleeps until `instant`. May return up to about a millisecond late.
    pub fn sleep_until(&self, instant: Instant) {
        while let Some(left) = self.time_until(instant) {
            std::thread::sleep(left);
        }
    }
}

/// The processor time used by the current thread.
pub fn thread_cpu_time() -> Nanos {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_reads_zero_before_its_start() {
        let wall = WallClock::read();
        let clock = Clock::starting_at(&wall, wall.now() + Nanos::from_secs(3600));
        assert_eq!(clock.now(), Instant::ZERO);
        let clock = Clock::starting_at(&wall, Nanos(wall.now().0 - 3_600_000_000_000));
        assert!(clock.now() >= Instant::from_secs(3600));
        let clock = Clock::starting_in(Nanos::from_millis(2));
        assert_eq!(clock.now(), Instant::ZERO);
        clock.wait_for_start(&AtomicBool::new(false));
        assert!(clock.now() < Instant::from_secs(60));
        Clock::starting_in(Nanos::from_secs(3600)).wait_for_start(&AtomicBool::new(true));
    }

    #[test]
    fn sleeping_never_ends_early() {
        let clock = Clock::start();
        clock.sleep_until(Instant::from_millis(3));
        assert!(clock.now() >= Instant::from_millis(3));
        let used = thread_cpu_time();
        assert!(used > Nanos::ZERO && used < Nanos::from_secs(600));
    }
}
