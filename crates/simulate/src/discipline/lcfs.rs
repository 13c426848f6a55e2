//! LCFS: last come, first served.

use super::{Job, OneByOne, Preemptive, Rank, Room};

/// Last come, first served, not preemptive: the newest of those waiting goes next. Its mean response is that of FCFS.
pub type Lcfs = OneByOne<Vec<Job>>;

/// Last come, first served, preemptive resume: a newcomer is served at once. Its mean response is that of PS.
pub type PreemptiveLcfs = Preemptive<NewestFirst>;

impl Lcfs {
    /// With this many servers (at least one).
    pub fn new(servers: u32) -> Self {
        Self::with_room(servers, Vec::new())
    }
}

impl PreemptiveLcfs {
    /// With this many servers (at least one).
    pub fn new(servers: u32) -> Self {
        Self::with_rank(servers, NewestFirst(0))
    }
}

impl Room for Vec<Job> {
    #[inline]
    fn put(&mut self, job: Job) {
        self.push(job);
    }

    #[inline]
    fn take(&mut self) -> Option<Job> {
        self.pop()
    }
}

/// The job that came last stands first; holds how many came.
#[derive(Clone, Copy, Debug)]
pub struct NewestFirst(u64);

impl Rank for NewestFirst {
    #[inline]
    fn of(&mut self, _: &Job) -> u64 {
        self.0 += 1;
        !self.0
    }
}
