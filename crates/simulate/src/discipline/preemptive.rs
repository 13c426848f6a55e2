//! The preemptive server: the job that ranks first is served, and an interrupted job resumes later where it stopped.

use offered_base::{Instant, Nanos};
use offered_schedule::heap::{Entry, Heap};

use super::{Discipline, Job, Rank, earliest};

/// Equal servers that always serve the jobs that rank first, preemptive-resume.
///
/// With m servers the first m jobs are in service. A new job interrupts the last of them only if it ranks strictly
/// before it; equal keys keep their order of arrival. Finding the last costs O(m).
#[derive(Clone, Debug)]
pub struct Preemptive<R: Rank> {
    rank: R,
    serving: Vec<Entry<Served>>,
    waiting: Heap<Paused>,
    servers: usize,
    arrivals: u64,
    next: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct Served {
    job: Job,
    ends: Instant,
}

#[derive(Clone, Copy, Debug)]
struct Paused {
    job: Job,
    left: Nanos,
}

impl<R: Rank> Preemptive<R> {
    pub(super) fn with_rank(servers: u32, rank: R) -> Self {
        let servers = servers.max(1) as usize;
        Self { rank, serving: Vec::with_capacity(servers), waiting: Heap::default(), servers, arrivals: 0, next: None }
    }

    /// Index in `serving` of the job that ranks last, and its key at `now`.
    #[inline]
    fn last(&self, now: Instant) -> (usize, u64) {
        let standing = |turn: &Entry<Served>| R::with_remaining(turn.key, now.until(turn.what.ends));
        let places = self.serving.iter().enumerate().map(|(place, turn)| (standing(turn), turn.serial, place));
        let (key, _, place) = places.max().expect("at least one server, all of them busy");
        (place, key)
    }

    #[inline]
    fn update_next(&mut self) {
        self.next = self.serving.iter().fold(None, |next, turn| earliest(next, Some(turn.what.ends)));
    }
}

impl<R: Rank> Discipline for Preemptive<R> {
    #[inline]
    fn arrive(&mut self, now: Instant, job: Job) {
        debug_assert!(self.next.is_none_or(|next| next > now), "completions before arrivals");
        self.arrivals += 1;
        let (key, serial) = (self.rank.of(&job), self.arrivals);
        let served = Entry { key, serial, what: Served { job, ends: now + job.size } };
        if self.serving.len() < self.servers {
            self.serving.push(served);
        } else {
            let (place, worst) = self.last(now);
            if key >= worst {
                self.waiting.push(key, serial, Paused { job, left: job.size });
                return;
            }
            let out = std::mem::replace(&mut self.serving[place], served);
            let paused = Paused { job: out.what.job, left: now.until(out.what.ends) };
            self.waiting.push(worst, out.serial, paused);
        }
        self.update_next();
    }

    #[inline]
    fn next(&self) -> Option<Instant> {
        self.next
    }

    #[inline]
    fn complete(&mut self, now: Instant) -> Option<Job> {
        let finished = self.next.filter(|next| *next <= now)?;
        let ended = self.serving.iter().enumerate().filter(|(_, turn)| turn.what.ends == finished);
        let place = ended.min_by_key(|(_, turn)| turn.serial)?.0;
        let done = self.serving.swap_remove(place);
        if let Some(Entry { key, serial, what: Paused { job, left } }) = self.waiting.pop() {
            self.serving.push(Entry { key, serial, what: Served { job, ends: finished + left } });
        }
        self.update_next();
        Some(done.what.job)
    }

    fn remaining(&self, now: Instant, report: &mut dyn FnMut(u64, Nanos)) {
        for turn in &self.serving {
            report(turn.what.job.id, now.until(turn.what.ends));
        }
    }
}
