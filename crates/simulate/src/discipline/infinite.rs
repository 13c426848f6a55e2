//! The delay station: a server for everybody.

use std::collections::BinaryHeap;

use offered_model::Nanos;

use super::{Discipline, Job, Turn};

/// As many servers as jobs, so nobody waits: response is size.
#[derive(Clone, Debug, Default)]
pub struct Infinite {
    /// By the instant of completion.
    serving: BinaryHeap<Turn<Nanos, Job>>,
    arrived: u64,
}

impl Discipline for Infinite {
    #[inline]
    fn arrive(&mut self, now: Nanos, job: Job) {
        self.arrived += 1;
        self.serving.push(Turn { key: now + job.size, serial: self.arrived, what: job });
    }

    #[inline]
    fn next(&self) -> Option<Nanos> {
        self.serving.peek().map(|first| first.key)
    }

    #[inline]
    fn complete(&mut self, now: Nanos) -> Option<Job> {
        self.next().filter(|next| *next <= now)?;
        self.serving.pop().map(|turn| turn.what)
    }
}
