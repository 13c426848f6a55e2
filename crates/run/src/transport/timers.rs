//! A heap of timers, each with an instant of its own.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use offered_base::{Instant, Nanos};

/// How long a body is held back if the server neither asks for it nor refuses it (RFC 9110, section 10.1.1); the
/// default of curl (`--expect100-timeout`).
pub(super) const CONTINUE_TIMEOUT: Nanos = Nanos::from_secs(1);

/// Stale entries are removed when they are more than half of a heap that is larger than this.
const SWEEP: usize = 1024;

/// Timers with individual instants; with a common timeout use [`Deadlines`](super::deadlines::Deadlines). An entry has
/// a key and a serial number, which together identify its owner. Only the owner knows whether it is still waiting, so
/// the caller passes a function for that.
#[derive(Default)]
pub(super) struct Timers(BinaryHeap<Reverse<(Instant, usize, u64)>>);

impl Timers {
    /// Adds a timer for `at`. `live` is the number of owners that may be waiting, the new one included.
    pub(super) fn push(
        &mut self,
        at: Instant,
        key: usize,
        serial: u64,
        live: usize,
        is_waiting: impl Fn(usize, u64) -> bool,
    ) {
        if self.0.len() > SWEEP && self.0.len() > 2 * live {
            self.0.retain(|Reverse((_, key, serial))| is_waiting(*key, *serial));
        }
        self.0.push(Reverse((at, key, serial)));
    }

    /// The first instant at which a timer is due; [`Instant::MAX`] if none is waiting. Removes stale entries before
    /// that one.
    pub(super) fn next_due(&mut self, is_waiting: impl Fn(usize, u64) -> bool) -> Instant {
        while let Some(Reverse((at, key, serial))) = self.0.peek() {
            if is_waiting(*key, *serial) {
                return *at;
            }
            self.0.pop();
        }
        Instant::MAX
    }

    /// Removes a timer that is waiting and due at `now`; returns its key.
    pub(super) fn pop_expired(&mut self, now: Instant, is_waiting: impl Fn(usize, u64) -> bool) -> Option<usize> {
        (self.next_due(is_waiting) <= now).then(|| self.0.pop()).flatten().map(|Reverse((_, key, _))| key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_expire_in_order_unless_stale() {
        let mut timers = Timers::default();
        for (at, key) in [(30, 0), (10, 1), (20, 2), (10, 3)] {
            timers.push(Instant(at), key, key as u64, 4, |_, _| true);
        }
        let is_waiting = |key: usize, serial: u64| key as u64 == serial && key != 1;
        assert_eq!((timers.next_due(is_waiting), timers.pop_expired(Instant(9), is_waiting)), (Instant(10), None));
        assert_eq!([(); 3].map(|()| timers.pop_expired(Instant(30), is_waiting)), [Some(3), Some(2), Some(0)]);
        assert_eq!((timers.pop_expired(Instant(99), is_waiting), timers.next_due(is_waiting)), (None, Instant::MAX));
    }

    #[test]
    fn stale_timers_are_removed() {
        let mut timers = Timers::default();
        timers.push(Instant(1), 0, 0, 1, |_, _| true);
        for n in 1..100_000 {
            timers.push(Instant(n + 1_000_000), n as usize, n, 2, |key, _| key == 0 || key as u64 == n);
        }
        assert!(timers.0.len() <= SWEEP + 2, "{}", timers.0.len());
        assert_eq!(timers.next_due(|key, _| key == 0), Instant(1));
    }
}
