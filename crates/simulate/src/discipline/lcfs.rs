//! LCFS: last come, first served.

use super::{Job, NonPreemptive, Preemptive, Rank, WaitingQueue};

/// Last come, first served, non-preemptive: the newest waiting job is served next. The mean response is that of FCFS.
pub type Lcfs = NonPreemptive<Vec<Job>>;

/// Last come, first served, preemptive-resume: a new job is served at once. The mean response is that of PS.
pub type PreemptiveLcfs = Preemptive<NewestFirst>;

impl Lcfs {
    /// A server with `servers` servers (at least one).
    pub fn new(servers: u32) -> Self {
        Self::with_queue(servers, Vec::new())
    }
}

impl PreemptiveLcfs {
    /// A server with `servers` servers (at least one).
    pub fn new(servers: u32) -> Self {
        Self::with_rank(servers, NewestFirst(0))
    }
}

impl WaitingQueue for Vec<Job> {
    #[inline]
    fn enqueue(&mut self, job: Job) {
        self.push(job);
    }

    #[inline]
    fn dequeue(&mut self) -> Option<Job> {
        self.pop()
    }
}

/// Ranks the newest job first; holds the number of arrivals.
#[derive(Clone, Copy, Debug)]
pub struct NewestFirst(u64);

impl Rank for NewestFirst {
    #[inline]
    fn of(&mut self, _: &Job) -> u64 {
        self.0 += 1;
        !self.0
    }
}
