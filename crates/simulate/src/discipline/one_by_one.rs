//! The non-preemptive server: a job once started is finished. What differs between disciplines is the waiting room.

use offered_model::heap::{Entry, Heap};
use offered_model::{Instant, Nanos};

use super::{Discipline, Job};

/// Where jobs wait, and which of them goes next.
pub trait Room {
    /// A job comes in.
    fn put(&mut self, job: Job);
    /// The one whose turn it is leaves.
    fn take(&mut self) -> Option<Job>;
}

/// Equal servers in front of one waiting room, each serving one job at a time to its end.
#[derive(Clone, Debug)]
pub struct OneByOne<R> {
    waiting: R,
    /// The job that is finished first. It stands outside the heap, so that a single server has none to keep.
    first: Option<Entry<Job>>,
    /// The other jobs in service, by the instant of completion.
    others: Heap<Job>,
    servers: usize,
    started: u64,
}

impl<R: Room> OneByOne<R> {
    /// This many servers (at least one) in front of this room.
    pub(super) fn with_room(servers: u32, waiting: R) -> Self {
        Self { waiting, first: None, others: Heap::default(), servers: servers.max(1) as usize, started: 0 }
    }

    #[inline]
    fn start(&mut self, now: Instant, job: Job) {
        self.started += 1;
        let mine = Entry { key: (now + job.size).0, serial: self.started, what: job };
        match &mut self.first {
            None => self.first = Some(mine),
            Some(first) => {
                let later = if mine.before(first) { std::mem::replace(first, mine) } else { mine };
                self.others.push(later.key, later.serial, later.what);
            }
        }
    }
}

impl<R: Room> Discipline for OneByOne<R> {
    #[inline]
    fn arrive(&mut self, now: Instant, job: Job) {
        debug_assert!(self.next().is_none_or(|next| next > now), "completions before arrivals");
        if usize::from(self.first.is_some()) + self.others.len() < self.servers {
            self.start(now, job);
        } else {
            self.waiting.put(job);
        }
    }

    #[inline]
    fn next(&self) -> Option<Instant> {
        self.first.as_ref().map(|first| Instant(first.key))
    }

    #[inline]
    fn complete(&mut self, now: Instant) -> Option<Job> {
        let finished = self.next().filter(|next| *next <= now)?;
        let done = self.first.take()?.what;
        self.first = self.others.pop();
        if let Some(job) = self.waiting.take() {
            self.start(finished, job);
        }
        Some(done)
    }

    fn left(&self, now: Instant, tell: &mut dyn FnMut(u64, Nanos)) {
        for turn in self.first.iter().chain(self.others.entries()) {
            tell(turn.what.id, now.until(Instant(turn.key)));
        }
    }
}
