//! Processor sharing with a limit on the number of jobs that share.

use std::collections::VecDeque;

use offered_base::{Instant, InvalidValue, Nanos};

use super::{ByClass, Discipline, Job, Ps, RankedQueue, WaitingQueue};

/// Processor sharing by at most `limit` jobs; the others wait in a queue.
///
/// This models a server with a fixed number of threads, or a database with a multiprogramming limit (Schroeder,
/// Harchol-Balter, Iyengar, Nahum and Wierman 2006). A limit of 1 serves one job at a time; without a limit it is
/// [`Ps`].
#[derive(Clone, Debug)]
pub struct Limited<R> {
    inside: Ps,
    present: usize,
    limit: usize,
    outside: R,
}

/// Waiting jobs are admitted first come, first served.
pub type LimitedPs = Limited<VecDeque<Job>>;

/// Waiting jobs are admitted by class; jobs in service are not interrupted.
pub type LimitedPriorityPs = Limited<RankedQueue<ByClass>>;

impl LimitedPs {
    /// A server with `servers` servers (at least one), shared by at most `limit` jobs.
    ///
    /// # Errors
    /// The limit is zero.
    pub fn new(servers: u32, limit: u32) -> Result<Self, InvalidValue> {
        Self::with_queue(servers, limit, VecDeque::new())
    }
}

impl LimitedPriorityPs {
    /// A server with `servers` servers (at least one), shared by at most `limit` jobs.
    ///
    /// # Errors
    /// The limit is zero.
    pub fn new(servers: u32, limit: u32) -> Result<Self, InvalidValue> {
        Self::with_queue(servers, limit, RankedQueue::new(ByClass))
    }
}

impl<R> Limited<R> {
    fn with_queue(servers: u32, limit: u32, outside: R) -> Result<Self, InvalidValue> {
        if limit == 0 {
            return Err(InvalidValue::new(
                "the limit of processor sharing must be at least 1; write for example ps:16",
            ));
        }
        Ok(Self { inside: Ps::new(servers), present: 0, limit: limit as usize, outside })
    }
}

impl<R: WaitingQueue> Discipline for Limited<R> {
    #[inline]
    fn arrive(&mut self, now: Instant, job: Job) {
        if self.present < self.limit {
            self.present += 1;
            self.inside.arrive(now, job);
        } else {
            self.outside.enqueue(job);
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
        match self.outside.dequeue() {
            Some(job) => self.inside.enter(finished, job),
            None => self.present -= 1,
        }
        Some(done)
    }

    fn remaining(&self, now: Instant, report: &mut dyn FnMut(u64, Nanos)) {
        self.inside.remaining(now, report);
    }
}
