//! The wall clock of this machine: what it shows, and what its kernel says of it.
#![allow(clippy::disallowed_methods)] // this is the room the walls are for

use std::fs;
use std::time::{Duration, Instant};

use offered_model::Nanos;

use crate::real::unix_now;

/// So many readings are made for one; the least disturbed is taken.
const READINGS: usize = 16;

/// The wall clock as it stood when it was read, carried on by the monotonic clock: nobody sets it meanwhile.
#[derive(Clone, Copy, Debug)]
pub struct Wall {
    origin: Instant,
    unix: Nanos,
    kernel: Option<u128>,
}

impl Wall {
    /// That of this machine.
    pub fn read() -> Self {
        let reading = || {
            let (before, unix, after) = (Instant::now(), unix_now(), Instant::now());
            (after - before, before + (after - before) / 2, unix)
        };
        let readings = (0..READINGS).map(|_| reading());
        let (_, origin, unix) = readings.min_by_key(|(took, ..)| *took).expect("a reading");
        Self { origin, unix, kernel: kernel() }
    }

    /// One like that of another machine: so much ahead of this one, and of no kernel that is known.
    #[must_use]
    pub fn ahead_by(self, by: Nanos) -> Self {
        Self { unix: self.unix + by, kernel: None, ..self }
    }

    /// What it shows now, since the Unix epoch.
    pub fn now(&self) -> Nanos {
        self.unix + Nanos(self.origin.elapsed().as_nanos() as u64)
    }

    /// When it shows `unix`.
    pub(crate) fn when(&self, unix: Nanos) -> Instant {
        match unix.0.checked_sub(self.unix.0) {
            Some(ahead) => self.origin + Duration::from_nanos(ahead),
            None => self.origin.checked_sub(Duration::from_nanos(self.unix.0 - unix.0)).unwrap_or(self.origin),
        }
    }

    /// The kernel whose clock it is, by the number that it drew when it was booted: containers of one machine have one. `None` where the
    /// system (any but Linux) does not say.
    pub fn kernel(&self) -> Option<u128> {
        self.kernel
    }
}

fn kernel() -> Option<u128> {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    u128::from_str_radix(&id.trim().replace('-', ""), 16).ok()
}

/// What the kernel says of its clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Whether something keeps it right (NTP, PTP, the host of a virtual machine).
    pub synchronised: bool,
    /// How far it is off at most, as what keeps it right believes; of one that nothing does this only grows.
    pub error: Nanos,
}

/// What the kernel says of its clock; `None` where it does not say (any system but Linux, and containers that may not ask).
#[cfg(target_os = "linux")]
pub fn kept() -> Option<Kept> {
    let (state, told) = adjtimex();
    (state >= 0).then(|| Kept {
        synchronised: state != libc::TIME_ERROR && told.status & libc::STA_UNSYNC == 0,
        error: Nanos::from_micros(u64::try_from(told.maxerror).unwrap_or_default()),
    })
}

/// What the kernel says of its clock; `None`: this one does not say.
#[cfg(not(target_os = "linux"))]
pub fn kept() -> Option<Kept> {
    None
}

/// Asks the kernel and changes nothing. No crate that we have asks for us.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn adjtimex() -> (libc::c_int, libc::timex) {
    // SAFETY: a `timex` is made of numbers, for which zeroes are values; with `modes` 0 the call only fills it in.
    unsafe {
        let mut told: libc::timex = std::mem::zeroed();
        (libc::adjtimex(&raw mut told), told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_ahead_is_of_no_known_kernel_and_shows_an_instant_earlier() {
        let (wall, by) = (Wall::read(), Nanos::from_millis(50));
        let ahead = wall.ahead_by(by);
        assert_eq!(ahead.kernel(), None);
        let at = wall.now() + Nanos::from_secs(60);
        assert_eq!(wall.when(at) - ahead.when(at), Duration::from_millis(50));
        let before = wall.now();
        assert!(ahead.now() >= before + by);
        assert_eq!(Wall::read().kernel(), wall.kernel());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn linux_says_whether_its_clock_is_kept_right() {
        // A container may not be allowed to ask; an answer has a bound.
        assert!(kept().is_none_or(|kept| kept.error > Nanos::ZERO || kept.synchronised));
        assert!(Wall::read().kernel().is_some());
    }
}
