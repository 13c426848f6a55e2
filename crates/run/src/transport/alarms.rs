//! By when things must have happened that each have a time of their own for it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use offered_model::{Instant, Nanos};

/// So long a body is held back that the server neither asked for nor refused (RFC 9110, section 10.1.1), as curl does
/// (`--expect100-timeout`).
pub(super) const HOLD: Nanos = Nanos::from_secs(1);

/// What is over is swept out when it is more than half of a heap, and the heap larger than this.
const SWEEP: usize = 1024;

/// As [`Deadlines`](super::deadlines::Deadlines), each at an instant of its own: of a key and a serial number, which together tell whom
/// it concerns; whether that one still waits, only the owner knows.
#[derive(Default)]
pub(super) struct Alarms(BinaryHeap<Reverse<(Instant, usize, u64)>>);

impl Alarms {
    /// One that goes off at `at`. `live` is how many may be waiting, the new one among them.
    pub(super) fn push(
        &mut self,
        at: Instant,
        key: usize,
        serial: u64,
        live: usize,
        waits: impl Fn(usize, u64) -> bool,
    ) {
        if self.0.len() > SWEEP && self.0.len() > 2 * live {
            self.0.retain(|Reverse((_, key, serial))| waits(*key, *serial));
        }
        self.0.push(Reverse((at, key, serial)));
    }

    /// The first instant at which somebody's time is over; [`Instant::MAX`] when nobody waits. Those before that one who do not
    /// wait any more are forgotten on the way.
    pub(super) fn first(&mut self, waits: impl Fn(usize, u64) -> bool) -> Instant {
        while let Some(Reverse((at, key, serial))) = self.0.peek() {
            if waits(*key, *serial) {
                return *at;
            }
            self.0.pop();
        }
        Instant::MAX
    }

    /// Takes the key of one who waits and whose time is over at `now`.
    pub(super) fn over(&mut self, now: Instant, waits: impl Fn(usize, u64) -> bool) -> Option<usize> {
        (self.first(waits) <= now).then(|| self.0.pop()).flatten().map(|Reverse((_, key, _))| key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_goes_off_in_its_time_and_for_who_still_waits() {
        let mut alarms = Alarms::default();
        for (at, key) in [(30, 0), (10, 1), (20, 2), (10, 3)] {
            alarms.push(Instant(at), key, key as u64, 4, |_, _| true);
        }
        let waits = |key: usize, serial: u64| key as u64 == serial && key != 1;
        assert_eq!((alarms.first(waits), alarms.over(Instant(9), waits)), (Instant(10), None));
        assert_eq!([(); 3].map(|()| alarms.over(Instant(30), waits)), [Some(3), Some(2), Some(0)]);
        assert_eq!((alarms.over(Instant(99), waits), alarms.first(waits)), (None, Instant::MAX));
    }

    #[test]
    fn what_is_over_does_not_pile_up_behind_one_that_is_far_away() {
        let mut alarms = Alarms::default();
        alarms.push(Instant(1), 0, 0, 1, |_, _| true);
        for n in 1..100_000 {
            alarms.push(Instant(n + 1_000_000), n as usize, n, 2, |key, _| key == 0 || key as u64 == n);
        }
        assert!(alarms.0.len() <= SWEEP + 2, "{}", alarms.0.len());
        assert_eq!(alarms.first(|key, _| key == 0), Instant(1));
    }
}
