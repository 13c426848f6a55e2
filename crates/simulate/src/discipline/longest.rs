//! LJF and PLJF: longest job first, by size or by an estimate of it (LEJF and PELJF). They show the effect of an
//! unfavourable order.

use super::{Job, NonPreemptive, Preemptive, Rank, RankedQueue, SizeEstimate};

/// Longest job first, non-preemptive. With a [`SizeEstimate`] other than exact it is LEJF.
pub type Ljf = NonPreemptive<RankedQueue<Longest>>;

/// Preemptive longest job first, by original size. With a [`SizeEstimate`] other than exact it is PELJF.
pub type Pljf = Preemptive<Longest>;

impl Ljf {
    /// A server with `servers` servers (at least one) and this estimate of sizes.
    pub fn new(servers: u32, estimate: SizeEstimate) -> Self {
        Self::with_queue(servers, RankedQueue::new(Longest(estimate)))
    }
}

impl Pljf {
    /// A server with `servers` servers (at least one) and this estimate of sizes.
    pub fn new(servers: u32, estimate: SizeEstimate) -> Self {
        Self::with_rank(servers, Longest(estimate))
    }
}

/// Ranks the job with the largest estimated size first.
#[derive(Clone, Debug)]
pub struct Longest(SizeEstimate);

impl Rank for Longest {
    #[inline]
    fn of(&mut self, job: &Job) -> u64 {
        !self.0.of(job).0
    }
}
