//! Sessions in progress.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use offered_base::{Instant, Nanos};
use offered_schedule::{After, Launch};

/// Sessions that have sent a request and will send another.
#[derive(Clone, Debug, Default)]
pub(super) struct Visits(HashMap<u64, Visit, BuildHasherDefault<Multiplied>>);

/// The state of a session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Visit {
    /// Time of its first request.
    pub(super) began: Instant,
    /// Total response time so far.
    pub(super) waited: Nanos,
}

impl Visits {
    /// Records a response. Returns the visit if it was the last response of the session.
    #[inline]
    pub(super) fn record_response(&mut self, launch: Launch, now: Instant, after: After) -> Option<Visit> {
        let Launch { intended, session, step, .. } = launch;
        let waited = intended.until(now);
        if step == 0 {
            let visit = Visit { began: intended, waited };
            if after == After::Returns {
                self.0.insert(session, visit);
            }
            return (after == After::Leaves).then_some(visit);
        }
        if after == After::Returns {
            self.0.get_mut(&session)?.waited += waited;
            return None;
        }
        let before = self.0.remove(&session)?;
        (after == After::Leaves).then_some(Visit { waited: before.waited + waited, ..before })
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
        let visit = |began, waited| Some(Visit { began: Instant(began), waited: Nanos(waited) });
        assert_eq!(visits.record_response(launch(5, 0, 0), Instant(9), After::Leaves), visit(5, 4));
        assert_eq!(visits.record_response(launch(6, 1, 0), Instant(10), After::Returns), None);
        assert_eq!(visits.record_response(launch(12, 1, 1), Instant(13), After::Returns), None);
        assert_eq!(visits.record_response(launch(7, 2, 0), Instant(14), After::TooLate), None);
        assert_eq!(visits.record_response(launch(15, 1, 2), Instant(20), After::Leaves), visit(6, 10));
        assert!(visits.0.is_empty());
    }
}
