//! The non-preemptive server: a job that has started runs to completion. Disciplines differ in their queue.

use offered_base::{Instant, Nanos};
use offered_schedule::heap::{Entry, Heap};

use super::{Discipline, Job};

/// A queue of waiting jobs that decides which is served next.
pub trait WaitingQueue {
    /// Adds a job.
    fn enqueue(&mut self, job: Job);
    /// Removes the job to serve next.
    fn dequeue(&mut self) -> Option<Job>;
    /// Removes this job. Returns false if it is not waiting, or if this queue cannot remove jobs.
    fn remove(&mut self, id: u64) -> bool {
        let _ = id;
        false
    }
}

/// Equal servers with one queue; each serves one job at a time to completion.
#[derive(Clone, Debug)]
pub struct NonPreemptive<R> {
    waiting: R,
    /// The job that completes first. It is stored outside the heap, so that a single server needs no heap.
    first: Option<Entry<Job>>,
    /// Other jobs in service, by completion time.
    others: Heap<Job>,
    servers: usize,
    started: u64,
}

impl<R: WaitingQueue> NonPreemptive<R> {
    /// A server with `servers` servers (at least one) and this queue.
    pub(super) fn with_queue(servers: u32, waiting: R) -> Self {
        Self { waiting, first: None, others: Heap::default(), servers: servers.max(1) as usize, started: 0 }
    }

    #[inline]
    fn start(&mut self, now: Instant, job: Job) {
        self.started += 1;
        let mine = Entry { key: (now + job.size).0, serial: self.started, value: job };
        match &mut self.first {
            None => self.first = Some(mine),
            Some(first) => {
                let later = if mine.before(first) { std::mem::replace(first, mine) } else { mine };
                self.others.push(later.key, later.serial, later.value);
            }
        }
    }
}

impl<R: WaitingQueue> Discipline for NonPreemptive<R> {
    #[inline]
    fn arrive(&mut self, now: Instant, job: Job) {
        assert!(self.next().is_none_or(|next| next > now), "completions before arrivals");
        if usize::from(self.first.is_some()) + self.others.len() < self.servers {
            self.start(now, job);
        } else {
            self.waiting.enqueue(job);
        }
    }

    #[inline]
    fn next(&self) -> Option<Instant> {
        self.first.as_ref().map(|first| Instant(first.key))
    }

    #[inline]
    fn complete(&mut self, now: Instant) -> Option<Job> {
        let finished = self.next().filter(|next| *next <= now)?;
        let done = self.first.take()?.value;
        self.first = self.others.pop();
        if let Some(job) = self.waiting.dequeue() {
            self.start(finished, job);
        }
        Some(done)
    }

    fn cancel(&mut self, id: u64) -> bool {
        self.waiting.remove(id)
    }

    fn remaining(&self, now: Instant, report: &mut dyn FnMut(u64, Nanos)) {
        for entry in self.first.iter().chain(self.others.entries()) {
            report(entry.value.id, now.until(Instant(entry.key)));
        }
    }
}
