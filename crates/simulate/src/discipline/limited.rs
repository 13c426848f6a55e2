//! Processor sharing with a limit on how many share.

use std::collections::VecDeque;

use offered_model::{Instant, Nanos, Wrong};

use super::{ByClass, Discipline, Job, Ps, Ranked, Room};

/// Processor sharing among at most `limit` jobs; the others wait outside, in a room that says whose turn it is.
///
/// This is a server with a fixed number of threads, or a database behind a gate (Schroeder, Harchol-Balter, Iyengar, Nahum and Wierman 2006: a
/// multiprogramming limit). A limit of 1 serves one by one; without a limit it is [`Ps`].
#[derive(Clone, Debug)]
pub struct Limited<R> {
    inside: Ps,
    present: usize,
    limit: usize,
    outside: R,
}

/// Who waits outside comes in first come, first served.
pub type LimitedPs = Limited<VecDeque<Job>>;

/// Who waits outside comes in by class; who is inside is not interrupted.
pub type LimitedPriorityPs = Limited<Ranked<ByClass>>;

impl LimitedPs {
    /// With this many servers (at least one), shared by at most `limit` jobs.
    ///
    /// # Errors
    /// A limit of zero.
    pub fn new(servers: u32, limit: u32) -> Result<Self, Wrong> {
        Self::with_room(servers, limit, VecDeque::new())
    }
}

impl LimitedPriorityPs {
    /// With this many servers (at least one), shared by at most `limit` jobs.
    ///
    /// # Errors
    /// A limit of zero.
    pub fn new(servers: u32, limit: u32) -> Result<Self, Wrong> {
        Self::with_room(servers, limit, Ranked::new(ByClass))
    }
}

impl<R> Limited<R> {
    fn with_room(servers: u32, limit: u32, outside: R) -> Result<Self, Wrong> {
        if limit == 0 {
            return Err(Wrong::new("the limit of processor sharing must be at least 1, for example ps:16"));
        }
        Ok(Self { inside: Ps::new(servers), present: 0, limit: limit as usize, outside })
    }
}

impl<R: Room> Discipline for Limited<R> {
    #[inline]
    fn arrive(&mut self, now: Instant, job: Job) {
        if self.present < self.limit {
            self.present += 1;
            self.inside.arrive(now, job);
        } else {
            self.outside.put(job);
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
        match self.outside.take() {
            Some(job) => self.inside.enter(finished, job),
            None => self.present -= 1,
        }
        Some(done)
    }

    fn left(&self, now: Instant, tell: &mut dyn FnMut(u64, Nanos)) {
        self.inside.left(now, tell);
    }
}
