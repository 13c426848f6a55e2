//! Stalls: periods in which the generator did not run, recognised by requests that were late together.
//!
//! A thread that was not scheduled sends all overdue requests when it resumes. These requests are much later than
//! usual, and their intervals from scheduled to sent overlap. If the generator is merely too slow, all requests are
//! late, none stands out, and no stalls are reported.

use offered_base::Nanos;

use crate::verdict::Stalls;

/// Requests with less lateness than this are not late.
const MIN_LATENESS: Nanos = Nanos::from_millis(1);
/// Requests with less lateness than this multiple of the median are not late.
const MEDIAN_FACTOR: u64 = 20;

/// Finds stalls in requests that come in the order of their scheduled times.
#[derive(Default)]
pub(crate) struct StallDetector {
    min_lateness: u64,
    count: u64,
    delayed_requests: u64,
    longest: u64,
    start: u64,
    end: u64,
}

impl StallDetector {
    /// Creates a detector; `usual` is the median lateness.
    pub(crate) fn new(usual: Nanos) -> Self {
        Self { min_lateness: MIN_LATENESS.0.max(usual.0.saturating_mul(MEDIAN_FACTOR)), ..Self::default() }
    }

    /// Adds a request; both times are in nanoseconds.
    #[inline]
    pub(crate) fn add(&mut self, intended: u64, sent: u64) {
        if sent.saturating_sub(intended) <= self.min_lateness {
            return;
        }
        self.delayed_requests += 1;
        if self.count == 0 || intended > self.end {
            (self.start, self.count) = (intended, self.count + 1);
        }
        self.end = self.end.max(sent);
        self.longest = self.longest.max(self.end - self.start);
    }

    /// The stalls found; `None` if there were none.
    pub(crate) fn finish(&self) -> Option<Stalls> {
        let Self { count, delayed_requests: launches, longest, .. } = *self;
        (count > 0).then(|| Stalls { count, delayed_requests: launches, longest_ms: Nanos(longest).as_millis_f64() })
    }
}
