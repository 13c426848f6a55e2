//! Compares a recording with its schedule.

use std::io;

use offered_base::{Instant, Nanos};
use offered_schedule::Agenda;
use offered_stats::order::Key;

use super::OwnSchedule;
use crate::scope::{Scope, in_order};

/// The corrected clocks of workers may shift scheduled times by this much.
const CLOCK_TOLERANCE: Nanos = Nanos::from_millis(10);

/// The scheduled time of the first request of a session.
#[derive(Clone, Copy)]
struct FirstRequest(u64);

impl Key for FirstRequest {
    type Rank = u64;

    fn rank(&self) -> u64 {
        self.0
    }
}

/// The recorded schedule, compared with the recomputed one.
struct Comparison {
    agenda: Agenda,
    is_equal: bool,
}

impl OwnSchedule {
    /// Whether the recording contains this schedule: the first requests of its sessions, up to the last one recorded, have the scheduled times that
    /// the workload gives them. Later requests of a session depend on responses.
    pub(crate) fn is_recorded(&self, scope: Scope) -> io::Result<bool> {
        let source = |give: &mut dyn FnMut(FirstRequest)| {
            scope.each_key(|key| {
                if key.step == 0 {
                    give(FirstRequest(key.intended.0));
                }
            })
        };
        let fresh = || Comparison { agenda: self.workload.agenda(self.share), is_equal: true };
        let compared = in_order(&source, fresh, |compared, FirstRequest(at)| {
            // Sessions that are under way at the start begin with a later request.
            let due = std::iter::from_fn(|| compared.agenda.due_before(Instant::MAX)).find(|due| due.step == 0);
            compared.is_equal &= due.is_some_and(|due| due.intended.0.abs_diff(at) <= CLOCK_TOLERANCE.0);
        });
        Ok(compared?.is_equal)
    }
}
