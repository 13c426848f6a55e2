//! The schedule of a run of `offered`, recomputed from its workload and seed.
//!
//! Such a schedule is as specified by construction. It may still fail a test: by chance, because a heavy tail makes its mean uncertain, because
//! think times longer than the run are cut off, or because theory has no exact formula. This is no defect of the run,
//! so a check that also fails for the scheduled times does not make the run invalid. Lateness, unsent requests and all
//! other differences from the schedule still do.

mod recorded;

use offered_base::Share;
use offered_workload::Workload;

/// The schedule of a run: a pure function of workload, seed and share.
#[derive(Clone, Debug)]
pub struct OwnSchedule {
    workload: Workload,
    share: Share,
}

impl OwnSchedule {
    /// The schedule of this share of `workload`.
    pub fn new(workload: &Workload, share: Share) -> Self {
        Self { workload: workload.clone(), share }
    }

    /// The share of the run.
    pub(crate) fn share(&self) -> Share {
        self.share
    }
}
