//! For each number of requests in flight: the time during which it was reached, and the number of completions in this
//! time.

use std::ops::Range;

/// Number of batches for standard errors.
pub(super) const BATCHES: usize = 20;
/// Larger numbers in flight are not told apart.
const MAX_NUMBER: usize = 4096;

/// Time and completions with a number of requests in flight.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sojourn {
    /// Seconds.
    pub(super) time: f64,
    /// Requests that ended.
    pub(super) completions: u64,
}

/// The sojourns of a run in each of [`BATCHES`] parts of its window, by number in flight from 0.
#[derive(Clone, Debug)]
pub(super) struct InFlight {
    pub(super) parts: [Vec<Sojourn>; BATCHES],
    window: Range<u64>,
    /// The latest event, or the start of the window.
    last: u64,
}

impl InFlight {
    /// Nothing yet, for this window in nanoseconds.
    pub(super) fn new(window: Range<u64>) -> Self {
        Self { parts: std::array::from_fn(|_| Vec::new()), last: window.start, window }
    }

    /// Adds the time since the latest event, in which `number` requests were in flight, up to an event at `at`.
    pub(super) fn add(&mut self, number: usize, at: u64, is_completion: bool) {
        if at < self.window.start {
            return;
        }
        let (until, length) = (at.min(self.window.end), (self.window.end - self.window.start).max(1));
        // The part of its end: times between events are short compared with a part.
        let part = ((until - self.window.start) as f64 / length as f64 * BATCHES as f64) as usize;
        let part = &mut self.parts[part.min(BATCHES - 1)];
        let number = number.min(MAX_NUMBER);
        if part.len() <= number {
            part.resize(number + 1, Sojourn::default());
        }
        part[number].time += until.saturating_sub(self.last) as f64 / 1e9;
        part[number].completions += u64::from(is_completion && at < self.window.end);
        self.last = self.last.max(until);
    }
}

/// The sum of parts, by number in flight.
pub(super) fn sum<'a>(parts: impl Iterator<Item = &'a Vec<Sojourn>>) -> Vec<Sojourn> {
    let mut all: Vec<Sojourn> = Vec::new();
    for part in parts {
        all.resize(all.len().max(part.len()), Sojourn::default());
        for (sum, one) in all.iter_mut().zip(part) {
            sum.time += one.time;
            sum.completions += one.completions;
        }
    }
    all
}
