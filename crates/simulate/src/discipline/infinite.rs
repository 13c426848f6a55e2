//! The delay station: a server for everybody.

use offered_model::heap::Heap;
use offered_model::{Instant, Nanos};

use super::{Discipline, Job};

/// As many servers as jobs, so nobody waits: response is size.
#[derive(Clone, Debug, Default)]
pub struct Infinite {
    /// By the instant of completion.
    serving: Heap<Job>,
    arrived: u64,
}

impl Discipline for Infinite {
    #[inline]
    fn arrive(&mut self, now: Instant, job: Job) {
        self.arrived += 1;
        self.serving.push((now + job.size).0, self.arrived, job);
    }

    #[inline]
    fn next(&self) -> Option<Instant> {
        self.serving.first().map(|first| Instant(first.key))
    }

    #[inline]
    fn complete(&mut self, now: Instant) -> Option<Job> {
        self.next().filter(|next| *next <= now)?;
        self.serving.pop().map(|entry| entry.what)
    }

    fn left(&self, now: Instant, tell: &mut dyn FnMut(u64, Nanos)) {
        for turn in self.serving.entries() {
            tell(turn.what.id, now.until(Instant(turn.key)));
        }
    }
}
