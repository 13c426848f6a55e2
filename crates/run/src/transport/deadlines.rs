//! A queue of deadlines that all have the same timeout.

use std::collections::VecDeque;

use offered_base::{Instant, Nanos};

/// Stale entries are removed when they are more than half of a queue that is longer than this.
const SWEEP: usize = 1024;

/// Deadlines with one common timeout, so that the first to start is the first to expire. An entry has a key and a
/// serial number, which together identify its owner. Only the owner knows whether it is still waiting, so the caller
/// passes a function for that.
pub(super) struct Deadlines {
    timeout: Nanos,
    /// (instant, key, serial) in order of time.
    queue: VecDeque<(Instant, usize, u64)>,
    /// Number of entries at the front that [`Deadlines::next_started_by`] has visited.
    visited: usize,
}

impl Deadlines {
    /// An empty queue.
    pub(super) fn new(timeout: Nanos) -> Self {
        Self { timeout, queue: VecDeque::new(), visited: 0 }
    }

    /// The common timeout.
    pub(super) fn timeout(&self) -> Nanos {
        self.timeout
    }

    /// Adds an entry that starts at `start`, no earlier than the entries before it. `live` is the number of owners that
    /// may be waiting, the new one included: it bounds how many stale entries pile up behind one that waits long.
    #[inline]
    pub(super) fn push(
        &mut self,
        start: Instant,
        key: usize,
        serial: u64,
        live: usize,
        is_waiting: impl Fn(usize, u64) -> bool,
    ) {
        if self.queue.len() > SWEEP && self.queue.len() > 2 * live {
            let (mut place, mut visited) = (0, 0);
            self.queue.retain(|(_, key, serial)| {
                let stays = is_waiting(*key, *serial);
                visited += usize::from(stays && place < self.visited);
                place += 1;
                stays
            });
            self.visited = visited;
        }
        self.queue.push_back((start + self.timeout, key, serial));
    }

    /// The first instant at which an entry expires; [`Instant::MAX`] if none is waiting. Removes stale entries before
    /// that one.
    #[inline]
    pub(super) fn next_due(&mut self, is_waiting: impl Fn(usize, u64) -> bool) -> Instant {
        while let Some((at, key, serial)) = self.queue.front() {
            if is_waiting(*key, *serial) {
                return *at;
            }
            self.queue.pop_front();
            self.visited = self.visited.saturating_sub(1);
        }
        Instant::MAX
    }

    /// Removes an entry that is waiting and has expired at `now`; returns its key.
    pub(super) fn pop_expired(&mut self, now: Instant, is_waiting: impl Fn(usize, u64) -> bool) -> Option<usize> {
        let next_due = self.next_due(is_waiting);
        if next_due > now {
            return None;
        }
        self.visited = self.visited.saturating_sub(1);
        self.queue.pop_front().map(|(_, key, _)| key)
    }

    /// The key of the next entry that started by `instant` and is still waiting. Each is returned once.
    #[inline]
    pub(super) fn next_started_by(
        &mut self,
        instant: Instant,
        is_waiting: impl Fn(usize, u64) -> bool,
    ) -> Option<usize> {
        while let Some((_, key, serial)) = self.queue.get(self.visited).filter(|(at, ..)| *at <= instant + self.timeout)
        {
            self.visited += 1;
            if is_waiting(*key, *serial) {
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
    fn deadlines_expire_in_order_unless_stale() {
        let mut deadlines = Deadlines::new(Nanos(10));
        for start in 0..4 {
            deadlines.push(Instant(start), start as usize, start, 4, |_, _| true);
        }
        let is_waiting = |key: usize, serial: u64| key as u64 == serial && key != 0 && key != 2;
        assert_eq!(deadlines.next_due(is_waiting), Instant(11));
        assert_eq!(deadlines.pop_expired(Instant(10), is_waiting), None);
        assert_eq!(deadlines.pop_expired(Instant(20), is_waiting), Some(1));
        assert_eq!(deadlines.pop_expired(Instant(20), is_waiting), Some(3));
        assert_eq!(
            (deadlines.pop_expired(Instant(20), is_waiting), deadlines.next_due(is_waiting)),
            (None, Instant::MAX)
        );
    }

    #[test]
    fn long_waits_are_visited_once() {
        let mut deadlines = Deadlines::new(Nanos(1000));
        for start in 0..6 {
            deadlines.push(Instant(start), start as usize, start, 6, |_, _| true);
        }
        let is_waiting = |key: usize, _: u64| key != 1;
        assert_eq!(deadlines.next_started_by(Instant(2), is_waiting), Some(0));
        assert_eq!(deadlines.next_started_by(Instant(2), is_waiting), Some(2));
        assert_eq!(deadlines.next_started_by(Instant(2), is_waiting), None);
        // The first two are stale, the third has expired.
        assert_eq!(deadlines.next_due(|key, _| key > 1), Instant(1002));
        assert_eq!(deadlines.pop_expired(Instant(1002), is_waiting), Some(2));
        assert_eq!(deadlines.next_started_by(Instant(3), is_waiting), Some(3));
        // Stale entries are removed, both visited and unvisited ones.
        let is_waiting = |key: usize, _: u64| key == 3 || key >= 2000;
        for start in 6..2001 {
            deadlines.push(Instant(start), start as usize, start, 1, is_waiting);
        }
        assert_eq!(deadlines.next_started_by(Instant(5000), is_waiting), Some(2000));
        assert_eq!(deadlines.next_started_by(Instant(5000), is_waiting), None);
    }

    #[test]
    fn stale_deadlines_are_removed() {
        let mut deadlines = Deadlines::new(Nanos(10));
        for start in 0..100_000 {
            deadlines.push(Instant(start), start as usize, start, 2, |key, _| key == 0 || key as u64 == start);
        }
        assert!(deadlines.queue.len() <= SWEEP + 2, "{}", deadlines.queue.len());
        assert_eq!(deadlines.next_due(|key, _| key == 0), Instant(10));
    }
}
