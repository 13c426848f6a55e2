//! LJF and PLJF: the longest job first, by its size or by an estimate (LEJF and PELJF). Nobody should want them; they show
//! how far a bad order can go.

use super::{Estimate, Job, OneByOne, Preemptive, Rank, Ranked};

/// Longest job first, not preemptive. With an [`Estimate`] other than exact it is LEJF.
pub type Ljf = OneByOne<Ranked<Longest>>;

/// Preemptive longest job first, by the size a job came with. With an [`Estimate`] other than exact it is PELJF.
pub type Pljf = Preemptive<Longest>;

impl Ljf {
    /// With this many servers (at least one) that judge sizes so.
    pub fn new(servers: u32, estimate: Estimate) -> Self {
        Self::with_room(servers, Ranked::new(Longest(estimate)))
    }
}

impl Pljf {
    /// With this many servers (at least one) that judge sizes so.
    pub fn new(servers: u32, estimate: Estimate) -> Self {
        Self::with_rank(servers, Longest(estimate))
    }
}

/// The job with the largest estimated size stands first.
#[derive(Clone, Debug)]
pub struct Longest(Estimate);

impl Rank for Longest {
    #[inline]
    fn of(&mut self, job: &Job) -> u64 {
        !self.0.of(job).0
    }
}
