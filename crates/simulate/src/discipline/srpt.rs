//! SRPT: shortest remaining processing time.

use offered_base::Nanos;

use super::{Job, Preemptive, Rank};

/// Shortest remaining processing time first.
///
/// With one server no discipline has a lower mean response time, on any trace (Schrage 1968); Schrage and Miller (1966)
/// give its mean in M/G/1. With several servers the m jobs with the least remaining work are served, which is not
/// optimal.
pub type Srpt = Preemptive<LeastRemaining>;

impl Srpt {
    /// A server with `servers` servers (at least one).
    pub fn new(servers: u32) -> Self {
        Self::with_rank(servers, LeastRemaining)
    }
}

/// Ranks the job with the least remaining work first.
#[derive(Clone, Copy, Debug)]
pub struct LeastRemaining;

impl Rank for LeastRemaining {
    #[inline]
    fn of(&mut self, job: &Job) -> u64 {
        job.size.0
    }

    #[inline]
    fn with_remaining(_: u64, left: Nanos) -> u64 {
        left.0
    }
}
