//! SRPT: shortest remaining processing time.

use offered_model::Nanos;

use super::{Job, Preemptive, Rank};

/// Shortest remaining processing time first.
///
/// With one server no discipline has a lower mean response, on any trace (Schrage 1968); its mean in M/G/1 is Schrage and
/// Miller (1966). With several servers the m jobs with the least left are served, which is not optimal.
pub type Srpt = Preemptive<LeastLeft>;

impl Srpt {
    /// With this many servers (at least one).
    pub fn new(servers: u32) -> Self {
        Self::with_rank(servers, LeastLeft)
    }
}

/// The job with the least work left stands first.
#[derive(Clone, Copy, Debug)]
pub struct LeastLeft;

impl Rank for LeastLeft {
    #[inline]
    fn of(&mut self, job: &Job) -> u64 {
        job.size.0
    }

    #[inline]
    fn with_left(_: u64, left: Nanos) -> u64 {
        left.0
    }
}
