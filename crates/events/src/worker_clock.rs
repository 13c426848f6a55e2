//! Clocks of the workers of one run: their offsets from the clock of worker 1, and the correction of event times.

use serde::{Deserialize, Serialize};

use crate::event::Event;
use offered_base::time::Instant;

/// Synchronisation of a worker's clock, and its measured offsets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkerClock {
    /// Whether the kernel reports that the clock is synchronised; `None`: not reported.
    pub synchronised: Option<bool>,
    /// Maximum error of the clock as reported by the kernel; `None`: not reported.
    pub error_ns: Option<u64>,
    /// Offset from worker 1's clock before the start; the start was corrected by this offset. `None` for worker 1, and
    /// if the offset was not measured.
    pub before: Option<ClockOffset>,
    /// Offset from worker 1's clock after the end of the run; `None` as above.
    pub after: Option<ClockOffset>,
}

/// Offset of a clock from another, measured with datagrams that were returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockOffset {
    /// The offset; positive if the clock is ahead.
    pub offset_ns: i64,
    /// Maximum error of `offset_ns`: half of the shortest round trip.
    pub bound_ns: u64,
    /// Time of the measurement by this clock, since the Unix epoch.
    pub at_unix_ns: u64,
    /// Number of datagrams that were returned.
    pub answers: u32,
}

impl WorkerClock {
    /// The increase of the offset from before the start to after the end; `None` without both measurements.
    pub fn drift_ns(&self) -> Option<i64> {
        Some(self.after?.offset_ns - self.before?.offset_ns)
    }

    /// Maximum error of event times after [`ClockCorrection`], relative to worker 1. For a clock that was measured only once it does not
    /// include the drift. `None`: not measured.
    pub fn within_ns(&self) -> Option<u64> {
        match (self.before, self.after) {
            (Some(before), Some(after)) if self.has_drifted() => Some(before.bound_ns.max(after.bound_ns)),
            (Some(before), Some(after)) => {
                let drift = after.offset_ns.abs_diff(before.offset_ns);
                Some(before.bound_ns.max(drift + after.bound_ns))
            }
            (Some(only), None) | (None, Some(only)) => Some(only.bound_ns),
            (None, None) => None,
        }
    }

    /// Whether the offset changed by more than the sum of both bounds.
    pub fn has_drifted(&self) -> bool {
        let (Some(before), Some(after)) = (self.before, self.after) else { return false };
        after.offset_ns.abs_diff(before.offset_ns) > before.bound_ns + after.bound_ns
    }
}

/// Converts the times of a worker's events to the clock of worker 1.
///
/// All times of one event are shifted equally, because its durations were measured by one clock and do not change. A
/// drift within the bounds of both measurements is not corrected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockCorrection {
    /// Time of the measurement (ns since the start of the run), and the difference (ns) from the offset that corrected
    /// the start.
    from: (i128, i128),
    to: (i128, i128),
}

impl ClockCorrection {
    /// The correction for a worker whose run began at `started_unix_ns` by its clock.
    pub fn of(clock: &WorkerClock, started_unix_ns: u64) -> Self {
        let since = |offset: ClockOffset| i128::from(offset.at_unix_ns) - i128::from(started_unix_ns);
        match (clock.before, clock.after) {
            (Some(before), Some(after)) if clock.has_drifted() => {
                let drift = i128::from(after.offset_ns) - i128::from(before.offset_ns);
                Self { from: (since(before), 0), to: (since(after), drift) }
            }
            // The start was not corrected: all events are shifted by the offset.
            (None, Some(after)) => {
                let at = (since(after), i128::from(after.offset_ns));
                Self { from: at, to: at }
            }
            _ => Self::default(),
        }
    }

    /// Whether no event is shifted.
    pub fn is_none(&self) -> bool {
        self.from.1 == 0 && self.to.1 == 0
    }

    /// The event with its times by the clock of worker 1; a time before the start becomes the start.
    #[must_use]
    pub fn place(&self, event: &Event) -> Event {
        let ahead = self.ahead(event.intended).min(event.intended.0.into());
        let place = |at: Instant| Instant((i128::from(at.0) - ahead).clamp(0, u64::MAX.into()) as u64);
        let mut placed = Event {
            intended: place(event.intended),
            sent: event.sent.map(place),
            first_byte: event.first_byte.map(place),
            done: event.done.map(place),
            ..event.clone()
        };
        if let Some(stream) = &mut placed.stream {
            stream.place(place);
        }
        placed
    }

    /// The offset at this instant, in ns: linear between the measurements, constant before the first and after the second.
    fn ahead(&self, at: Instant) -> i128 {
        let ((from, early), (to, late)) = (self.from, self.to);
        let at = i128::from(at.0).clamp(from, to.max(from));
        early + (late - early) * (at - from) / (to - from).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TokenStream;
    use offered_base::Nanos;

    fn offset(offset_ns: i64, bound_ns: u64, at_unix_ns: u64) -> ClockOffset {
        ClockOffset { offset_ns, bound_ns, at_unix_ns, answers: 32 }
    }

    fn clock(before: impl Into<Option<ClockOffset>>, after: impl Into<Option<ClockOffset>>) -> WorkerClock {
        WorkerClock { before: before.into(), after: after.into(), ..WorkerClock::default() }
    }

    fn placed(placing: &ClockCorrection, at: u64) -> u64 {
        let stream = TokenStream { head: Instant(at + 7), last_token: Some(Instant(at + 8)), ..TokenStream::default() };
        let stream = Some(Box::new(stream));
        let event =
            Event { sent: Some(Instant(at + 5)), done: Some(Instant(at + 9)), stream, ..Event::at(Instant(at)) };
        let placed = placing.place(&event);
        let stream = placed.stream.as_ref().unwrap();
        assert_eq!(
            (stream.head + Nanos(1), stream.head + Nanos(2)),
            (stream.last_token.unwrap(), placed.done.unwrap())
        );
        assert_eq!(placed.intended.until(placed.done.unwrap()), event.intended.until(event.done.unwrap()));
        placed.intended.0
    }

    #[test]
    fn a_drift_is_corrected_linearly_between_the_measurements() {
        // Measured 1000 before the start, and 9000 after it; the offset increased by 100 between them.
        let drifting = clock(offset(7_000, 10, 99_000), offset(7_100, 20, 109_000));
        assert_eq!((drifting.drift_ns(), drifting.within_ns()), (Some(100), Some(20)));
        let placing = ClockCorrection::of(&drifting, 100_000);
        assert_eq!([0, 4_000, 9_000, 20_000].map(|at| placed(&placing, at)), [0, 3_950, 8_900, 19_900]);
        let losing = ClockCorrection::of(&clock(offset(0, 10, 99_000), offset(-100, 20, 109_000)), 100_000);
        assert_eq!(placed(&losing, 4_000), 4_050);
    }

    #[test]
    fn a_drift_within_the_bounds_is_not_corrected_but_widens_the_bound() {
        let still = clock(offset(50, 60, 0), offset(150, 40, 1000));
        assert!(ClockCorrection::of(&still, 10).is_none());
        assert_eq!((still.drift_ns(), still.within_ns()), (Some(100), Some(140)));
        let once = clock(offset(50, 60, 0), None::<ClockOffset>);
        assert!(ClockCorrection::of(&once, 10).is_none() && once.within_ns() == Some(60) && once.drift_ns().is_none());
        assert_eq!(clock(None::<ClockOffset>, None::<ClockOffset>).within_ns(), None);
    }

    #[test]
    fn events_after_an_uncorrected_start_are_shifted_together() {
        let placing = ClockCorrection::of(&clock(None::<ClockOffset>, offset(500, 1, 2_000)), 1_000);
        assert_eq!([600, 5_000, 400].map(|at| placed(&placing, at)), [100, 4_500, 0]);
    }
}
