//! Static priorities: class 0 before class 1 before class 2, first come first served within a class.

use super::{Job, NonPreemptive, Preemptive, Rank, RankedQueue};

/// Static priorities, non-preemptive (Cobham 1954).
pub type Priority = NonPreemptive<RankedQueue<ByClass>>;

/// Static priorities, preemptive-resume.
pub type PreemptivePriority = Preemptive<ByClass>;

impl Priority {
    /// A server with `servers` servers (at least one).
    pub fn new(servers: u32) -> Self {
        Self::with_queue(servers, RankedQueue::new(ByClass))
    }
}

impl PreemptivePriority {
    /// A server with `servers` servers (at least one).
    pub fn new(servers: u32) -> Self {
        Self::with_rank(servers, ByClass)
    }
}

/// Ranks the job with the lowest class number first.
#[derive(Clone, Copy, Debug)]
pub struct ByClass;

impl Rank for ByClass {
    #[inline]
    fn of(&mut self, job: &Job) -> u64 {
        u64::from(job.class)
    }
}
