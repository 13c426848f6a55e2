//! Operational time: the clock on which a rate that changes is constant.
//!
//! Arrivals of a changing rate are generated in operational time, and mapped to real time by the inverse of the running
//! total of the rate. The reverse mapping turns a Poisson process with a changing rate into one with a constant rate
//! (the time-rescaling theorem: Brown, Barbieri, Ventura, Kass and Frank 2002), so that gaps, counts and trends are
//! tested as for a constant rate.

use offered_base::Instant;
use offered_schedule::arrivals::Profile;

use crate::criteria::Criteria;
use crate::ends::Ends;
use crate::scope::Scope;

/// Maps instants of the analysed time to operational time, in nanoseconds, so that the mean rate stays the same.
#[derive(Clone)]
pub(crate) struct OperationalClock {
    rate: Profile,
    /// The analysed time, in nanoseconds.
    start: f64,
    /// Arrivals expected before `start`.
    before: f64,
    /// Nanoseconds of operational time per expected arrival.
    scale: f64,
}

impl OperationalClock {
    /// For the arrivals that `criteria` specify; `None` if their rate does not change.
    pub(crate) fn of(scope: Scope, criteria: &Criteria) -> Option<Self> {
        let rate = criteria.expected.changing_rate()?.clone();
        let window = scope.range();
        let before = rate.cumulative(window.start);
        let expected = rate.cumulative(window.end) - before;
        let length = window.start.until(window.end).0 as f64;
        (expected > 0.0).then(|| Self { rate, start: window.start.0 as f64, before, scale: length / expected })
    }

    /// The operational time of `at`. Requests that are sent late, while the rate is zero, have the same one.
    pub(crate) fn at(&self, at: u64) -> u64 {
        let since = self.rate.cumulative(Instant(at)) - self.before;
        (self.start + since * self.scale).max(0.0) as u64
    }

    fn ends(&self, ends: Ends) -> Ends {
        Ends { first: self.at(ends.first), last: self.at(ends.last), ..ends }
    }
}

/// The clock of a stream: operational time if the rate changes, else real time.
#[derive(Clone)]
pub(crate) struct StreamClock {
    operational: Option<OperationalClock>,
    /// The latest time so far, because rounding must not change the order.
    latest: u64,
}

impl StreamClock {
    pub(crate) fn new(scope: Scope, criteria: &Criteria) -> Self {
        Self { operational: OperationalClock::of(scope, criteria), latest: 0 }
    }

    /// The time of the next request, which is at `at` in real time.
    #[inline]
    pub(crate) fn next(&mut self, at: u64) -> u64 {
        let Some(clock) = &self.operational else { return at };
        self.latest = self.latest.max(clock.at(at));
        self.latest
    }

    /// The first and last time of a stream.
    pub(crate) fn ends(&self, ends: Ends) -> Ends {
        self.operational.as_ref().map_or(ends, |clock| clock.ends(ends))
    }
}
