//! Static priorities: class 0 before class 1 before class 2, first come first served within a class.

use super::{Job, OneByOne, Preemptive, Rank, Ranked};

/// Static priorities, not preemptive (Cobham 1954).
pub type Priority = OneByOne<Ranked<ByClass>>;

/// Static priorities with preemptive resume.
pub type PreemptivePriority = Preemptive<ByClass>;

impl Priority {
    /// With this many servers (at least one).
    pub fn new(servers: u32) -> Self {
        Self::with_room(servers, Ranked::new(ByClass))
    }
}

impl PreemptivePriority {
    /// With this many servers (at least one).
    pub fn new(servers: u32) -> Self {
        Self::with_rank(servers, ByClass)
    }
}

/// The job of the lowest class number stands first.
#[derive(Clone, Copy, Debug)]
pub struct ByClass;

impl Rank for ByClass {
    #[inline]
    fn of(&mut self, job: &Job) -> u64 {
        u64::from(job.class)
    }
}
