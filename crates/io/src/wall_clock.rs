//! The wall clock of this machine, and the status that its kernel reports.
#![allow(clippy::disallowed_methods)] // the module that may read clocks

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use offered_base::Nanos;

use crate::monotonic::monotonic;

/// Number of readings; the least disturbed one is used.
const READINGS: usize = 16;

/// The time on the wall clock, since the Unix epoch.
pub fn unix_now() -> Nanos {
    Nanos(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64)
}

/// A reading of the wall clock, advanced by the monotonic clock. Later adjustments of the wall clock do not affect it.
#[derive(Clone, Copy, Debug)]
pub struct WallClock {
    /// What the monotonic clock showed at the reading.
    origin: i64,
    unix: Nanos,
    boot_id: Option<u128>,
}

impl WallClock {
    /// Reads the wall clock of this machine.
    pub fn read() -> Self {
        let reading = || {
            let (before, unix, after) = (monotonic(), unix_now(), monotonic());
            (after - before, before + (after - before) / 2, unix)
        };
        let readings = (0..READINGS).map(|_| reading());
        let (_, origin, unix) = readings.min_by_key(|(took, ..)| *took).expect("a reading");
        Self { origin, unix, boot_id: boot_id() }
    }

    /// A clock that is ahead of this clock by a given time, as on another machine. Its boot ID is unknown.
    #[must_use]
    pub fn ahead_by(self, by: Nanos) -> Self {
        Self { unix: self.unix + by, boot_id: None, ..self }
    }

    /// The present time, since the Unix epoch.
    pub fn now(&self) -> Nanos {
        Nanos(self.unix.0.saturating_add_signed(monotonic() - self.origin))
    }

    /// What the monotonic clock shows when this clock shows `unix`.
    pub(crate) fn monotonic_at(&self, unix: Nanos) -> i64 {
        self.origin.saturating_add_unsigned(unix.0).saturating_sub_unsigned(self.unix.0)
    }

    /// The boot ID of the kernel. Containers on one machine share it. `None` if unknown (on any system but Linux).
    pub fn boot_id(&self) -> Option<u128> {
        self.boot_id
    }
}

fn boot_id() -> Option<u128> {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    u128::from_str_radix(&id.trim().replace('-', ""), 16).ok()
}

/// The status of the clock as reported by the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelClockStatus {
    /// Whether the clock is synchronised (by NTP, PTP or the host of a virtual machine).
    pub synchronised: bool,
    /// The maximum error, as estimated by the time service; without a time service it grows.
    pub error: Nanos,
}

/// The status of the clock as reported by the kernel. `None` on any system but Linux, and in containers without permission.
#[cfg(target_os = "linux")]
pub fn kernel_clock_status() -> Option<KernelClockStatus> {
    let (state, status) = adjtimex();
    (state >= 0).then(|| KernelClockStatus {
        synchronised: state != libc::TIME_ERROR && status.status & libc::STA_UNSYNC == 0,
        error: Nanos::from_micros(u64::try_from(status.maxerror).unwrap_or_default()),
    })
}

/// The status of the clock as reported by the kernel: always `None` on this system.
#[cfg(not(target_os = "linux"))]
pub fn kernel_clock_status() -> Option<KernelClockStatus> {
    None
}

/// Reads the state of the kernel clock, without changing it. None of the dependencies wraps this call.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn adjtimex() -> (libc::c_int, libc::timex) {
    // SAFETY: a `timex` consists of numbers, for which zero is valid; with `modes` 0 the call only fills it in.
    unsafe {
        let mut status: libc::timex = std::mem::zeroed();
        (libc::adjtimex(&raw mut status), status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_ahead_has_no_boot_id_and_reaches_an_instant_earlier() {
        let (wall, by) = (WallClock::read(), Nanos::from_millis(50));
        let ahead = wall.ahead_by(by);
        assert_eq!(ahead.boot_id(), None);
        let at = wall.now() + Nanos::from_secs(60);
        assert_eq!(wall.monotonic_at(at) - ahead.monotonic_at(at), by.0 as i64);
        let before = wall.now();
        assert!(ahead.now() >= before + by);
        assert_eq!(WallClock::read().boot_id(), wall.boot_id());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn linux_reports_the_state_of_its_clock() {
        // A container may lack permission. If there is a status, it has an error bound.
        assert!(kernel_clock_status().is_none_or(|status| status.error > Nanos::ZERO || status.synchronised));
        assert!(WallClock::read().boot_id().is_some());
    }
}
