//! SJF and PSJF: the shortest job first, by its size or by an estimate (SEJF and PESJF).

use super::{Estimate, Job, OneByOne, Preemptive, Rank, Ranked};

/// Shortest job first, not preemptive. With an [`Estimate`] other than exact it is SEJF, shortest *expected* job first.
pub type Sjf = OneByOne<Ranked<Shortest>>;

/// Preemptive shortest job first: by the size a job came with, not by what is left. With an [`Estimate`] other than exact it
/// is PESJF.
pub type Psjf = Preemptive<Shortest>;

impl Sjf {
    /// With this many servers (at least one) that judge sizes so.
    pub fn new(servers: u32, estimate: Estimate) -> Self {
        Self::with_room(servers, Ranked::new(Shortest(estimate)))
    }
}

impl Psjf {
    /// With this many servers (at least one) that judge sizes so.
    pub fn new(servers: u32, estimate: Estimate) -> Self {
        Self::with_rank(servers, Shortest(estimate))
    }
}

/// The job with the smallest estimated size stands first.
#[derive(Clone, Debug)]
pub struct Shortest(Estimate);

impl Rank for Shortest {
    #[inline]
    fn of(&mut self, job: &Job) -> u64 {
        self.0.of(job).0
    }
}
