//! Processor sharing with a limit on how many share.

use std::collections::VecDeque;

use offered_model::{Instant, Wrong};

use super::{Discipline, Job, Ps};

/// Processor sharing among at most `limit` jobs; the others wait outside, first come first served.
///
/// This is a server with a fixed number of threads. A limit of 1 is FCFS; without a limit it is [`Ps`].
#[derive(Clone, Debug)]
pub struct LimitedPs {
    inside: Ps,
    present: usize,
    limit: usize,
    outside: VecDeque<Job>,
}

impl LimitedPs {
    /// With this many servers (at least one), shared by at most `limit` jobs.
    ///
    /// # Errors
    /// A limit of zero.
    pub fn new(servers: u32, limit: u32) -> Result<Self, Wrong> {
        if limit == 0 {
            return Err(Wrong::new("the limit of processor sharing must be at least 1, for example ps:16"));
        }
        Ok(Self { inside: Ps::new(servers), present: 0, limit: limit as usize, outside: VecDeque::new() })
    }
}

impl Discipline for LimitedPs {
    #[inline]
    fn arrive(&mut self, now: Instant, job: Job) {
        if self.present < self.limit {
            self.present += 1;
            self.inside.arrive(now, job);
        } else {
            self.outside.push_back(job);
        }
    }

    #[inline]
    fn next(&self) -> Option<Instant> {
        self.inside.next()
    }

    #[inline]
    fn complete(&mut self, now: Instant) -> Option<Job> {
        let finished = self.next()?;
        let done = self.inside.complete(now)?;
        match self.outside.pop_front() {
            Some(job) => self.inside.enter(finished, job),
            None => self.present -= 1,
        }
        Some(done)
    }
}
