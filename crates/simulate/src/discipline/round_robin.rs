//! RR: round robin with a quantum.

use std::collections::VecDeque;

use offered_base::{Instant, InvalidValue, Nanos};
use offered_schedule::heap::Heap;

use super::{Discipline, Job};

/// Round robin: each job is served for one quantum, then moves to the end of the queue. As the quantum tends to zero it
/// becomes PS, as it grows it becomes FCFS. Switching jobs costs no time.
#[derive(Clone, Debug)]
pub struct RoundRobin {
    queue: VecDeque<Share>,
    /// Jobs by the end of their turn.
    serving: Heap<Share>,
    servers: usize,
    quantum: Nanos,
    turns: u64,
}

/// A job and its work after the present turn.
#[derive(Clone, Copy, Debug)]
struct Share {
    job: Job,
    left: Nanos,
}

impl RoundRobin {
    /// A server with `servers` servers (at least one) and this quantum.
    ///
    /// # Errors
    /// The quantum is zero.
    pub fn new(servers: u32, quantum: Nanos) -> Result<Self, InvalidValue> {
        if quantum == Nanos::ZERO {
            return Err(InvalidValue::new(
                "the quantum of round robin must be above zero, for example rr:10ms; use ps instead of a zero quantum",
            ));
        }
        let servers = servers.max(1) as usize;
        Ok(Self { queue: VecDeque::new(), serving: Heap::default(), servers, quantum, turns: 0 })
    }

    #[inline]
    fn start(&mut self, now: Instant, Share { job, left }: Share) {
        let turn = left.min(self.quantum);
        self.turns += 1;
        self.serving.push((now + turn).0, self.turns, Share { job, left: left - turn });
    }
}

impl Discipline for RoundRobin {
    #[inline]
    fn arrive(&mut self, now: Instant, job: Job) {
        assert!(self.next().is_none_or(|next| next > now), "completions before arrivals");
        let share = Share { job, left: job.size };
        if self.serving.len() < self.servers {
            self.start(now, share);
        } else {
            self.queue.push_back(share);
        }
    }

    #[inline]
    fn next(&self) -> Option<Instant> {
        self.serving.first().map(|first| Instant(first.key))
    }

    #[inline]
    fn complete(&mut self, now: Instant) -> Option<Job> {
        while let Some(ended) = self.next().filter(|next| *next <= now) {
            let share = self.serving.pop()?.value;
            let done = share.left == Nanos::ZERO;
            if !done {
                self.queue.push_back(share);
            }
            if let Some(next) = self.queue.pop_front() {
                self.start(ended, next);
            }
            if done {
                return Some(share.job);
            }
        }
        None
    }

    fn remaining(&self, now: Instant, report: &mut dyn FnMut(u64, Nanos)) {
        for entry in self.serving.entries() {
            report(entry.value.job.id, entry.value.left + now.until(Instant(entry.key)));
        }
    }
}
