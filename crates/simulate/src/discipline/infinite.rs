//! The delay station: every job has its own server.

use offered_base::{Instant, Nanos};
use offered_schedule::heap::Heap;

use super::{Discipline, Job};

/// As many servers as jobs, so none waits: the response time is the size.
#[derive(Clone, Debug, Default)]
pub struct Infinite {
    /// Jobs by completion time.
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
        self.serving.pop().map(|entry| entry.value)
    }

    fn remaining(&self, now: Instant, report: &mut dyn FnMut(u64, Nanos)) {
        for entry in self.serving.entries() {
            report(entry.value.id, now.until(Instant(entry.key)));
        }
    }
}
