//! Visits in progress: sessions, or walks of closed users through flows.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use offered_base::{Instant, Nanos};
use offered_schedule::{After, Launch};

/// The visit of each session that has sent a request and will send another; `None` between two visits.
#[derive(Clone, Debug, Default)]
pub(super) struct Visits(HashMap<u64, Option<Visit>, BuildHasherDefault<Multiplied>>);

/// A visit so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Visit {
    /// Time of its first request.
    pub(super) began: Instant,
    /// Total response time so far.
    pub(super) waited: Nanos,
    /// The number in its session.
    number: u32,
}

impl Visits {
    /// Records a response. Returns the visit if it was its last response. A request of another visit means that the earlier one was cut off for
    /// the last steps of its session (`once.end`), which are no visit.
    #[inline]
    pub(super) fn record_response(&mut self, launch: Launch, now: Instant, after: After) -> Option<Visit> {
        let Launch { intended, session, step, .. } = launch;
        let waited = intended.until(now);
        let begins = Visit { began: intended, waited: Nanos::ZERO, number: launch.visit.number() };
        if after == After::Returns {
            // The sessions that are present when a run begins made their first request earlier.
            let visit = if step == 0 { self.0.entry(session).or_insert(None) } else { self.0.get_mut(&session)? };
            if visit.is_some_and(|visit| visit.number != begins.number) {
                self.0.remove(&session);
                return None;
            }
            visit.get_or_insert(begins).waited += waited;
            return None;
        }
        let visit = match self.0.remove(&session) {
            Some(Some(visit)) if visit.number != begins.number => return None,
            Some(visit) => visit.unwrap_or(begins),
            None if step == 0 => begins,
            None => return None,
        };
        if matches!(after, After::Revisits | After::Renewed) {
            self.0.insert(session, None);
        }
        after.ends_visit().then_some(Visit { waited: visit.waited + waited, ..visit })
    }
}

/// A hasher that multiplies once. The workload numbers the sessions, so collisions cannot be provoked.
#[derive(Clone, Copy, Debug, Default)]
struct Multiplied(u64);

impl Hasher for Multiplied {
    fn finish(&self) -> u64 {
        self.0.rotate_left(26)
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_visit_lasts_from_its_first_request_to_its_last_response() {
        let mut visits = Visits::default();
        let launch = |intended, session, step| Launch {
            intended: Instant(intended),
            session,
            step,
            place: 0,
            visit: offered_schedule::Visit::FIRST,
        };
        let visit = |began, waited| Some(Visit { began: Instant(began), waited: Nanos(waited), number: 0 });
        assert_eq!(visits.record_response(launch(5, 0, 0), Instant(9), After::Leaves), visit(5, 4));
        assert_eq!(visits.record_response(launch(6, 1, 0), Instant(10), After::Returns), None);
        assert_eq!(visits.record_response(launch(12, 1, 1), Instant(13), After::Returns), None);
        assert_eq!(visits.record_response(launch(7, 2, 0), Instant(14), After::TooLate), None);
        assert_eq!(visits.record_response(launch(15, 1, 2), Instant(20), After::Leaves), visit(6, 10));
        assert!(visits.0.is_empty());
        // A user who makes one visit after another.
        assert_eq!(visits.record_response(launch(1, 3, 0), Instant(4), After::Returns), None);
        assert_eq!(visits.record_response(launch(6, 3, 1), Instant(7), After::Renewed), visit(1, 4));
        assert_eq!(visits.record_response(launch(9, 3, 2), Instant(11), After::Revisits), visit(9, 2));
        assert_eq!(visits.record_response(launch(12, 3, 3), Instant(13), After::Returns), None);
        assert_eq!(visits.record_response(launch(15, 3, 4), Instant(16), After::TooLate), None);
        // The first request of this session was before the start.
        assert_eq!(visits.record_response(launch(20, 4, 2), Instant(21), After::Leaves), None);
        // Visits that are cut off for one or two last steps.
        let last = |intended, session, step| Launch {
            visit: offered_schedule::Visit::FIRST.next(None).unwrap().continued(),
            ..launch(intended, session, step)
        };
        for session in [5, 6] {
            assert_eq!(visits.record_response(launch(1, session, 0), Instant(2), After::Returns), None);
        }
        assert_eq!(visits.record_response(last(9, 5, 1), Instant(10), After::Leaves), None);
        assert_eq!(visits.record_response(last(9, 6, 1), Instant(10), After::Returns), None);
        assert_eq!(visits.record_response(last(11, 6, 2), Instant(12), After::Leaves), None);
        assert!(visits.0.is_empty());
    }
}
