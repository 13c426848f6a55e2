//! The clocks by which the workers of one run stamp their launches: how far each is from that of worker 1, and what that does to where
//! its launches lie among the others'.

use serde::{Deserialize, Serialize};

use crate::event::Event;
use offered_base::time::Instant;

/// What is known of a worker's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkerClock {
    /// Whether its kernel says that something keeps it right; `None` where the system does not say.
    pub synchronised: Option<bool>,
    /// How far it is from the right time at most, as its kernel believes.
    pub error_ns: Option<u64>,
    /// How far it was ahead of worker 1's before the start, which was corrected by that; `None` of worker 1, and where it was not measured.
    pub before: Option<ClockOffset>,
    /// And after the end.
    pub after: Option<ClockOffset>,
}

/// How far a clock is ahead of another, as datagrams told that went there and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockOffset {
    /// Negative: it is behind.
    pub offset_ns: i64,
    /// It is no further than this from the truth: half of the least round trip.
    pub bound_ns: u64,
    /// When it was measured, by this clock, since the Unix epoch.
    pub at_unix_ns: u64,
    /// So many datagrams came back.
    pub answers: u32,
}

impl WorkerClock {
    /// How much further ahead it was after the end than before the start.
    pub fn drift_ns(&self) -> Option<i64> {
        Some(self.after?.offset_ns - self.before?.offset_ns)
    }

    /// How far from its true place among the launches of worker 1 a launch may lie at most where [`ClockCorrection`] has put it, as far as that is
    /// known: of a clock that was measured only once, not what it did since.
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

    /// Whether it went otherwise than worker 1's by more than both bounds can explain.
    pub fn has_drifted(&self) -> bool {
        let (Some(before), Some(after)) = (self.before, self.after) else { return false };
        after.offset_ns.abs_diff(before.offset_ns) > before.bound_ns + after.bound_ns
    }
}

/// Puts what was stamped by a worker's clock where it lies by that of worker 1.
///
/// Of an event all instants are moved alike: how long something took was measured by one clock, and stays what it was. A drift that the
/// bounds can explain is none, and moves nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockCorrection {
    /// When the clock was measured, ns since the run's start, and how far it was ahead then of where it was believed to be at the start.
    from: (i128, i128),
    to: (i128, i128),
}

impl ClockCorrection {
    /// Of a worker whose run began when its clock showed `started_unix_ns`.
    pub fn of(clock: &WorkerClock, started_unix_ns: u64) -> Self {
        let since = |offset: ClockOffset| i128::from(offset.at_unix_ns) - i128::from(started_unix_ns);
        match (clock.before, clock.after) {
            (Some(before), Some(after)) if clock.has_drifted() => {
                let drift = i128::from(after.offset_ns) - i128::from(before.offset_ns);
                Self { from: (since(before), 0), to: (since(after), drift) }
            }
            // It began without knowing: the whole of it is moved.
            (None, Some(after)) => {
                let at = (since(after), i128::from(after.offset_ns));
                Self { from: at, to: at }
            }
            _ => Self::default(),
        }
    }

    /// Whether everything stays where it is.
    pub fn is_none(&self) -> bool {
        self.from.1 == 0 && self.to.1 == 0
    }

    /// The event where it lies by the clock of worker 1; what would be meant for before the start is meant for the start.
    #[must_use]
    pub fn place(&self, event: &Event) -> Event {
        let ahead = self.ahead(event.intended).min(event.intended.0.into());
        let place = |at: Instant| Instant((i128::from(at.0) - ahead).clamp(0, u64::MAX.into()) as u64);
        Event {
            intended: place(event.intended),
            sent: event.sent.map(place),
            first_byte: event.first_byte.map(place),
            done: event.done.map(place),
            ..event.clone()
        }
    }

    /// How far ahead the clock was at this instant, in ns: on the line through both measurements, and beyond them as at the nearer one.
    fn ahead(&self, at: Instant) -> i128 {
        let ((from, early), (to, late)) = (self.from, self.to);
        let at = i128::from(at.0).clamp(from, to.max(from));
        early + (late - early) * (at - from) / (to - from).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offset(offset_ns: i64, bound_ns: u64, at_unix_ns: u64) -> ClockOffset {
        ClockOffset { offset_ns, bound_ns, at_unix_ns, answers: 32 }
    }

    fn clock(before: impl Into<Option<ClockOffset>>, after: impl Into<Option<ClockOffset>>) -> WorkerClock {
        WorkerClock { before: before.into(), after: after.into(), ..WorkerClock::default() }
    }

    fn placed(placing: &ClockCorrection, at: u64) -> u64 {
        let event = Event { sent: Some(Instant(at + 5)), done: Some(Instant(at + 9)), ..Event::at(Instant(at)) };
        let placed = placing.place(&event);
        assert_eq!(placed.intended.until(placed.done.unwrap()), event.intended.until(event.done.unwrap()));
        placed.intended.0
    }

    #[test]
    fn a_drift_is_taken_out_along_the_line_through_both_measurements() {
        // Measured 1000 before the start, and 9000 after it; it gained 100 meanwhile.
        let drifting = clock(offset(7_000, 10, 99_000), offset(7_100, 20, 109_000));
        assert_eq!((drifting.drift_ns(), drifting.within_ns()), (Some(100), Some(20)));
        let placing = ClockCorrection::of(&drifting, 100_000);
        assert_eq!([0, 4_000, 9_000, 20_000].map(|at| placed(&placing, at)), [0, 3_950, 8_900, 19_900]);
        let losing = ClockCorrection::of(&clock(offset(0, 10, 99_000), offset(-100, 20, 109_000)), 100_000);
        assert_eq!(placed(&losing, 4_000), 4_050);
    }

    #[test]
    fn what_the_bounds_can_explain_moves_nothing_and_is_in_the_bound() {
        let still = clock(offset(50, 60, 0), offset(150, 40, 1000));
        assert!(ClockCorrection::of(&still, 10).is_none());
        assert_eq!((still.drift_ns(), still.within_ns()), (Some(100), Some(140)));
        let once = clock(offset(50, 60, 0), None::<ClockOffset>);
        assert!(ClockCorrection::of(&once, 10).is_none() && once.within_ns() == Some(60) && once.drift_ns().is_none());
        assert_eq!(clock(None::<ClockOffset>, None::<ClockOffset>).within_ns(), None);
    }

    #[test]
    fn who_began_without_knowing_is_moved_as_a_whole() {
        let placing = ClockCorrection::of(&clock(None::<ClockOffset>, offset(500, 1, 2_000)), 1_000);
        assert_eq!([600, 5_000, 400].map(|at| placed(&placing, at)), [100, 4_500, 0]);
    }
}
