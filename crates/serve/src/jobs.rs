//! Jobs in a discipline, and whose they are.

use offered_model::{Instant, Nanos};
use offered_simulate::{Discipline, Job};
use slab::Slab;

/// The request that waits for a job: which connection, and which of its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    /// The connection's place.
    pub(crate) place: usize,
    /// Tells it from an earlier connection in the same place.
    pub(crate) serial: u64,
    /// The number of the request on its connection.
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

    /// A job of this class arrives; whatever was done by `now` must have been taken out before.
    pub(crate) fn arrive(&mut self, now: Instant, class: u16, size: Nanos, owner: Owner) {
        let id = self.owners.insert(owner) as u64;
        self.discipline.arrive(now, Job { id, class, size, arrived: now });
    }

    /// How many are in the system.
    pub(crate) fn len(&self) -> usize {
        self.owners.len()
    }

    /// When to ask for a completion, on paper.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.discipline.next()
    }

    /// The owners of the jobs that are in service at `now`, and the work that is left of each.
    pub(crate) fn left(&self, now: Instant, mut tell: impl FnMut(Owner, Nanos)) {
        self.discipline.left(now, &mut |id, left| {
            if let Some(owner) = self.owners.get(id as usize) {
                tell(*owner, left);
            }
        });
    }

    /// The owner of the job done exactly at `due`, which is [`next`](Self::next); `None` when only the turn changed.
    pub(crate) fn complete(&mut self, due: Instant) -> Option<Owner> {
        self.owners.try_remove(self.discipline.complete(due)?.id as usize)
    }
}
