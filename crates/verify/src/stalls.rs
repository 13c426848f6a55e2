//! Stalls: times in which the generator stood still, told from the launches that were late together.
//!
//! A thread that is not scheduled sends everything meant for that time when it wakes up. Such launches are late by much more
//! than usual, and their spans from intended to sent overlap. A generator that is merely too slow has no usual lateness to
//! stand out from, and no stalls.

use offered_model::Nanos;

use crate::verdict::Stalls;

/// A launch is late when it is later than this,
const LATE: Nanos = Nanos::from_millis(1);
/// and later than so many times the median.
const USUAL: u64 = 20;

/// The stalls among launches that come in the order in which they were meant.
#[derive(Default)]
pub(crate) struct Stalling {
    least: u64,
    count: u64,
    launches: u64,
    longest: u64,
    start: u64,
    end: u64,
}

impl Stalling {
    /// Of launches whose median lateness is `usual`.
    pub(crate) fn new(usual: Nanos) -> Self {
        Self { least: LATE.0.max(usual.0.saturating_mul(USUAL)), ..Self::default() }
    }

    /// Takes a launch.
    #[inline]
    pub(crate) fn add(&mut self, intended: u64, sent: u64) {
        if sent.saturating_sub(intended) <= self.least {
            return;
        }
        self.launches += 1;
        if self.count == 0 || intended > self.end {
            (self.start, self.count) = (intended, self.count + 1);
        }
        self.end = self.end.max(sent);
        self.longest = self.longest.max(self.end - self.start);
    }

    /// `None` when there are none.
    pub(crate) fn finish(&self) -> Option<Stalls> {
        let Self { count, launches, longest, .. } = *self;
        (count > 0).then(|| Stalls { count, delayed_requests: launches, longest_ms: Nanos(longest).as_millis_f64() })
    }
}
