//! The schedule of a run of `offered`, recomputed from its workload and seed.
//!
//! Such a schedule is as specified by construction. It may still fail a test: by chance, because a heavy tail makes its mean uncertain, because
//! think times longer than the run are cut off, or because theory has no exact formula. That says nothing about the run, so a check that fails
//! for the scheduled times as well does not make it invalid. Lateness, unsent requests and all other differences from the schedule
//! still do.

use std::io;

use offered_base::{Instant, Nanos, Share};
use offered_schedule::Agenda;
use offered_stats::order::Key;
use offered_workload::Workload;

use crate::scope::{Scope, in_order};

/// The corrected clocks of workers may shift scheduled times by this much.
const CLOCK_TOLERANCE: Nanos = Nanos::from_millis(10);

/// The schedule of a run: a pure function of workload, seed and share.
#[derive(Clone, Debug)]
pub struct OwnSchedule {
    workload: Workload,
    share: Share,
}

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
    /// The schedule of this share of `workload`.
    pub fn new(workload: &Workload, share: Share) -> Self {
        Self { workload: workload.clone(), share }
    }

    /// Its share of the run.
    pub(crate) fn share(&self) -> Share {
        self.share
    }

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
