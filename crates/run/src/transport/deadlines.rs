//! By when things must have happened that all have the same time for it.

use std::collections::VecDeque;

use offered_model::{Instant, Nanos};

/// What is over is swept out when it is more than half of a queue, and the queue longer than this.
const SWEEP: usize = 1024;

/// Deadlines, all as long after their beginning, so that the first to begin is the first whose time is over. Each is of a key
/// and a serial number, which together tell whom it concerns; whether that one still waits, only the owner knows.
pub(super) struct Deadlines {
    within: Nanos,
    /// (instant, key, serial) in order of time.
    queue: VecDeque<(Instant, usize, u64)>,
    /// So many at its front were looked at by [`Deadlines::begun_by`].
    seen: usize,
}

impl Deadlines {
    /// None yet; all will be `within` so long.
    pub(super) fn new(within: Nanos) -> Self {
        Self { within, queue: VecDeque::new(), seen: 0 }
    }

    /// How long they all are.
    pub(super) fn within(&self) -> Nanos {
        self.within
    }

    /// One that begins at `start`, no earlier than those before it. `live` is how many may be waiting, the new one among them:
    /// behind one that waits long, those that are over would else pile up.
    #[inline]
    pub(super) fn push(
        &mut self,
        start: Instant,
        key: usize,
        serial: u64,
        live: usize,
        waits: impl Fn(usize, u64) -> bool,
    ) {
        if self.queue.len() > SWEEP && self.queue.len() > 2 * live {
            let (mut place, mut seen) = (0, 0);
            self.queue.retain(|(_, key, serial)| {
                let stays = waits(*key, *serial);
                seen += usize::from(stays && place < self.seen);
                place += 1;
                stays
            });
            self.seen = seen;
        }
        self.queue.push_back((start + self.within, key, serial));
    }

    /// The first instant at which somebody's time is over; [`Instant::MAX`] when nobody waits. Those before that one who do not
    /// wait any more are forgotten on the way.
    #[inline]
    pub(super) fn first(&mut self, waits: impl Fn(usize, u64) -> bool) -> Instant {
        while let Some((at, key, serial)) = self.queue.front() {
            if waits(*key, *serial) {
                return *at;
            }
            self.queue.pop_front();
            self.seen = self.seen.saturating_sub(1);
        }
        Instant::MAX
    }

    /// Takes the key of one who waits and whose time is over at `now`.
    pub(super) fn over(&mut self, now: Instant, waits: impl Fn(usize, u64) -> bool) -> Option<usize> {
        let first = self.first(waits);
        if first > now {
            return None;
        }
        self.seen = self.seen.saturating_sub(1);
        self.queue.pop_front().map(|(_, key, _)| key)
    }

    /// The key of the next who began by `instant` and still waits; each is told once.
    #[inline]
    pub(super) fn begun_by(&mut self, instant: Instant, waits: impl Fn(usize, u64) -> bool) -> Option<usize> {
        while let Some((_, key, serial)) = self.queue.get(self.seen).filter(|(at, ..)| *at <= instant + self.within) {
            self.seen += 1;
            if waits(*key, *serial) {
                return Some(*key);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_who_still_waits_is_the_first_whose_time_is_over() {
        let mut deadlines = Deadlines::new(Nanos(10));
        for start in 0..4 {
            deadlines.push(Instant(start), start as usize, start, 4, |_, _| true);
        }
        let waits = |key: usize, serial: u64| key as u64 == serial && key != 0 && key != 2;
        assert_eq!(deadlines.first(waits), Instant(11));
        assert_eq!(deadlines.over(Instant(10), waits), None);
        assert_eq!(deadlines.over(Instant(20), waits), Some(1));
        assert_eq!(deadlines.over(Instant(20), waits), Some(3));
        assert_eq!((deadlines.over(Instant(20), waits), deadlines.first(waits)), (None, Instant::MAX));
    }

    #[test]
    fn who_waits_long_is_told_once_whoever_is_forgotten_meanwhile() {
        let mut deadlines = Deadlines::new(Nanos(1000));
        for start in 0..6 {
            deadlines.push(Instant(start), start as usize, start, 6, |_, _| true);
        }
        let waits = |key: usize, _: u64| key != 1;
        assert_eq!(deadlines.begun_by(Instant(2), waits), Some(0));
        assert_eq!(deadlines.begun_by(Instant(2), waits), Some(2));
        assert_eq!(deadlines.begun_by(Instant(2), waits), None);
        // The first two are forgotten, the time of the third is over.
        assert_eq!(deadlines.first(|key, _| key > 1), Instant(1002));
        assert_eq!(deadlines.over(Instant(1002), waits), Some(2));
        assert_eq!(deadlines.begun_by(Instant(3), waits), Some(3));
        // Those that are over are swept out, among them some that were told and some that were not.
        let waits = |key: usize, _: u64| key == 3 || key >= 2000;
        for start in 6..2001 {
            deadlines.push(Instant(start), start as usize, start, 1, waits);
        }
        assert_eq!(deadlines.begun_by(Instant(5000), waits), Some(2000));
        assert_eq!(deadlines.begun_by(Instant(5000), waits), None);
    }

    #[test]
    fn what_is_over_does_not_pile_up_behind_one_that_waits_long() {
        let mut deadlines = Deadlines::new(Nanos(10));
        for start in 0..100_000 {
            deadlines.push(Instant(start), start as usize, start, 2, |key, _| key == 0 || key as u64 == start);
        }
        assert!(deadlines.queue.len() <= SWEEP + 2, "{}", deadlines.queue.len());
        assert_eq!(deadlines.first(|key, _| key == 0), Instant(10));
    }
}
