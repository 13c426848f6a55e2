//! The monotonic clock, counted in nanoseconds from an origin.
#![allow(clippy::disallowed_methods)] // this is the room the walls are for

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{self, Duration, SystemTime, UNIX_EPOCH};

use offered_model::{Instant, Nanos};
use rustix::time::{ClockId, clock_gettime};

use crate::wall::Wall;

/// How soon a request not to wait for the start any longer is noticed.
const NOTICE: Duration = Duration::from_millis(50);

/// The real clock of one run: nanoseconds since its start on the system's monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: time::Instant,
    unix: Nanos,
}

impl Clock {
    /// A run that starts now.
    pub fn start() -> Self {
        Self { origin: time::Instant::now(), unix: unix_now() }
    }

    /// A run that starts when `wall` shows `unix`, which may lie ahead: several machines given the same instant start together as well
    /// as their walls agree.
    pub fn starting_at(wall: &Wall, unix: Nanos) -> Self {
        Self { origin: wall.when(unix), unix }
    }

    /// A run that starts in so long, when everything is in place.
    pub fn starting_in(ahead: Nanos) -> Self {
        let ahead = Duration::from_nanos(ahead.0);
        Self { origin: time::Instant::now() + ahead, unix: unix_now() + Nanos(ahead.as_nanos() as u64) }
    }

    /// Waits for the start, or until `stop` is set: sleeping while it is far, then asking without a pause.
    pub fn wait_for_start(&self, stop: &AtomicBool) {
        while let Some(left) = self.origin.checked_duration_since(time::Instant::now()).filter(|left| !left.is_zero()) {
            match left.checked_sub(Duration::from_millis(1)) {
                Some(_) if stop.load(Relaxed) => return,
                Some(long) => std::thread::sleep(long.min(NOTICE)),
                None => std::hint::spin_loop(),
            }
        }
    }

    /// When the run started, since the Unix epoch by the wall clock.
    pub fn unix_origin(&self) -> Nanos {
        self.unix
    }

    /// Now; before the start, the start.
    #[inline]
    pub fn now(&self) -> Instant {
        Instant(time::Instant::now().saturating_duration_since(self.origin).as_nanos() as u64)
    }

    /// Sleeps until `instant`, or a little later: for those whom a millisecond does not hurt.
    pub fn sleep_until(&self, instant: Instant) {
        let wake = self.origin + Duration::from_nanos(instant.0);
        while let Some(left) = wake.checked_duration_since(time::Instant::now()).filter(|left| !left.is_zero()) {
            std::thread::sleep(left);
        }
    }
}

/// The wall clock, since the Unix epoch.
pub fn unix_now() -> Nanos {
    Nanos(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64)
}

/// The processor time this thread has used.
pub fn cpu_time() -> Nanos {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_ahead_reads_zero_until_it_comes() {
        let wall = Wall::read();
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
        let used = cpu_time();
        assert!(used > Nanos::ZERO && used < Nanos::from_secs(600));
    }
}
