//! The preemptive server: the job that ranks first is served, and an interrupted job resumes later where it stopped.

use offered_base::{Instant, Nanos};
use offered_schedule::heap::{Entry, Heap};

use super::{Discipline, Job, Rank, earliest};

/// Equal servers that always serve the jobs that rank first, preemptive-resume.
///
/// With m servers the first m jobs are in service. A new job interrupts the last one only if it ranks strictly
/// before it; equal keys stay in their order of arrival. Finding the last one costs O(m).
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
        let standing = |entry: &Entry<Served>| R::with_remaining(entry.key, now.until(entry.value.ends));
        let places = self.serving.iter().enumerate().map(|(place, entry)| (standing(entry), entry.serial, place));
        let (key, _, place) = places.max().expect("at least one server, and all are busy");
        (place, key)
    }

    #[inline]
    fn update_next(&mut self) {
        self.next = self.serving.iter().fold(None, |next, entry| earliest(next, Some(entry.value.ends)));
    }
}

impl<R: Rank> Discipline for Preemptive<R> {
    #[inline]
    fn arrive(&mut self, now: Instant, job: Job) {
        assert!(self.next.is_none_or(|next| next > now), "completions before arrivals");
        self.arrivals += 1;
        let (key, serial) = (self.rank.of(&job), self.arrivals);
        let served = Entry { key, serial, value: Served { job, ends: now + job.size } };
        if self.serving.len() < self.servers {
            self.serving.push(served);
        } else {
            let (place, worst) = self.last(now);
            if key >= worst {
                self.waiting.push(key, serial, Paused { job, left: job.size });
                return;
            }
            let out = std::mem::replace(&mut self.serving[place], served);
            let paused = Paused { job: out.value.job, left: now.until(out.value.ends) };
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
        let ended = self.serving.iter().enumerate().filter(|(_, entry)| entry.value.ends == finished);
        let place = ended.min_by_key(|(_, entry)| entry.serial)?.0;
        let done = self.serving.swap_remove(place);
        if let Some(Entry { key, serial, value: Paused { job, left } }) = self.waiting.pop() {
            self.serving.push(Entry { key, serial, value: Served { job, ends: finished + left } });
        }
        self.update_next();
        Some(done.value.job)
    }

    fn remaining(&self, now: Instant, report: &mut dyn FnMut(u64, Nanos)) {
        for entry in &self.serving {
            report(entry.value.job.id, now.until(entry.value.ends));
        }
    }
}
