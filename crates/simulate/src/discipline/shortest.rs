//! SJF and PSJF: shortest job first, by size or by an estimate of it (SEJF and PESJF).

use super::{Job, NonPreemptive, Preemptive, Rank, RankedQueue, SizeEstimate};

/// Shortest job first, non-preemptive. With a [`SizeEstimate`] other than exact it is SEJF, shortest *expected* job
/// first.
pub type Sjf = NonPreemptive<RankedQueue<Shortest>>;

/// Preemptive shortest job first, by original size, not by remaining size. With a [`SizeEstimate`] other than exact it
/// is PESJF.
pub type Psjf = Preemptive<Shortest>;

impl Sjf {
    /// A server with `servers` servers (at least one) and this estimate of sizes.
    pub fn new(servers: u32, estimate: SizeEstimate) -> Self {
        Self::with_queue(servers, RankedQueue::new(Shortest(estimate)))
    }
}

impl Psjf {
    /// A server with `servers` servers (at least one) and this estimate of sizes.
    pub fn new(servers: u32, estimate: SizeEstimate) -> Self {
        Self::with_rank(servers, Shortest(estimate))
    }
}

/// Ranks the job with the smallest estimated size first.
#[derive(Clone, Debug)]
pub struct Shortest(SizeEstimate);

impl Rank for Shortest {
    #[inline]
    fn of(&mut self, job: &Job) -> u64 {
        self.0.of(job).0
    }
}
