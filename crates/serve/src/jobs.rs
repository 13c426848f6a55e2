//! Jobs in a discipline, and the requests that they belong to.

use offered_base::{Instant, Nanos};
use offered_simulate::discipline::JobTokens;
use offered_simulate::{Discipline, Job};
use slab::Slab;

/// The request that waits for a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    /// Slot of the connection.
    pub(crate) slot: usize,
    /// Serial number of the connection, which distinguishes it from earlier ones in the same slot.
    pub(crate) serial: u64,
    /// Number of the request on its connection.
    pub(crate) request: u64,
}

/// A discipline and the owners of the jobs in it.
pub(crate) struct Jobs {
    discipline: Box<dyn Discipline + Send>,
    owners: Slab<Owner>,
}

impl Jobs {
    pub(crate) fn new(discipline: Box<dyn Discipline + Send>) -> Self {
        Self { discipline, owners: Slab::new() }
    }

    /// Adds a job of this class. All jobs done by `now` must have been removed before.
    pub(crate) fn arrive(&mut self, now: Instant, class: u16, size: Nanos, tokens: JobTokens, owner: Owner) {
        let id = self.owners.insert(owner) as u64;
        self.discipline.arrive(now, Job { id, class, size, arrived: now, tokens });
    }

    /// Number of jobs in the system.
    pub(crate) fn len(&self) -> usize {
        self.owners.len()
    }

    /// Next completion time of the discipline.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.discipline.next()
    }

    /// Reports the owner and the remaining work of each job in service at `now`.
    pub(crate) fn remaining(&self, now: Instant, mut report: impl FnMut(Owner, Nanos)) {
        self.discipline.remaining(now, &mut |id, left| {
            if let Some(owner) = self.owners.get(id as usize) {
                report(*owner, left);
            }
        });
    }

    /// Reports the owner of each job with new tokens, and their number.
    pub(crate) fn tokens(&mut self, mut report: impl FnMut(Owner, u32)) {
        let owners = &self.owners;
        self.discipline.tokens(&mut |id, tokens| {
            if let Some(owner) = owners.get(id as usize) {
                report(*owner, tokens);
            }
        });
    }

    /// Removes the job that completes exactly at `due`, which is [`next`](Self::next), and returns its owner; `None`
    /// when only the turn changed.
    pub(crate) fn complete(&mut self, due: Instant) -> Option<Owner> {
        self.owners.try_remove(self.discipline.complete(due)?.id as usize)
    }
}
