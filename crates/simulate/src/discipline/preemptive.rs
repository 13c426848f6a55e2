//! The preemptive server: whoever stands first by a rank is served, and a job pushed aside goes on later where it stopped.

use offered_model::heap::{Entry, Heap};
use offered_model::{Instant, Nanos};

use super::{Discipline, Job, Rank, sooner};

/// Equal servers that always serve the jobs standing first by a rank, with preemptive resume.
///
/// With m servers the m first jobs are in service. A newcomer pushes out the last of them only if it stands before that one;
/// equal keys keep their order of arrival. Finding the last costs O(m).
#[derive(Clone, Debug)]
pub struct Preemptive<R: Rank> {
    rank: R,
    serving: Vec<Entry<Served>>,
    waiting: Heap<Paused>,
    servers: usize,
    came: u64,
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
        Self { rank, serving: Vec::with_capacity(servers), waiting: Heap::default(), servers, came: 0, next: None }
    }

    /// The place in `serving` of the job that would be pushed out, with the key it has at `now`.
    #[inline]
    fn last(&self, now: Instant) -> (usize, u64) {
        let standing = |turn: &Entry<Served>| R::with_left(turn.key, now.until(turn.what.ends));
        let places = self.serving.iter().enumerate().map(|(place, turn)| (standing(turn), turn.serial, place));
        let (key, _, place) = places.max().expect("at least one server, all of them busy");
        (place, key)
    }

    #[inline]
    fn foresee(&mut self) {
        self.next = self.serving.iter().fold(None, |next, turn| sooner(next, Some(turn.what.ends)));
    }
}

impl<R: Rank> Discipline for Preemptive<R> {
    #[inline]
    fn arrive(&mut self, now: Instant, job: Job) {
        debug_assert!(self.next.is_none_or(|next| next > now), "completions before arrivals");
        self.came += 1;
        let (key, serial) = (self.rank.of(&job), self.came);
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
        self.foresee();
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
        self.foresee();
        Some(done.what.job)
    }

    fn left(&self, now: Instant, tell: &mut dyn FnMut(u64, Nanos)) {
        for turn in &self.serving {
            tell(turn.what.job.id, now.until(turn.what.ends));
        }
    }
}
