//! FB: foreground-background, also called LAS, least attained service.

use offered_model::heap::{Entry, Heap};
use offered_model::{Instant, Nanos};

use super::{Discipline, Job, sooner};

/// The jobs that have received the least service share one server equally.
///
/// Jobs of equal attained service form a *level*; levels are stacked, the least attained on top, and the top level is
/// served by processor sharing. It loses its shortest job when that is finished, and becomes one with the level below when
/// it has caught up with it. A newcomer starts a level of its own, at zero.
///
/// # Accuracy
/// As for [`Ps`](super::Ps): attained service is a double, and rounding to whole nanoseconds neither makes nor destroys work.
#[derive(Clone, Debug, Default)]
pub struct Fb {
    levels: Vec<Level>,
    /// Emptied levels, kept for their memory.
    spare: Vec<Level>,
    came: u64,
    last: Instant,
    next: Option<Instant>,
}

#[derive(Clone, Debug, Default)]
struct Level {
    /// The service each of its jobs has received, in nanoseconds.
    attained: f64,
    /// By size.
    jobs: Heap<Job>,
}

impl Level {
    fn shortest(&self) -> f64 {
        self.jobs.first().map_or(f64::INFINITY, |entry| entry.key as f64)
    }
}

impl Fb {
    /// Serves the top level until `now`; nobody came or went since `last`.
    #[inline]
    fn advance(&mut self, now: Instant) {
        if let Some(top) = self.levels.last_mut() {
            top.attained += self.last.until(now).0 as f64 / top.jobs.len() as f64;
        }
        self.last = now;
    }

    /// The attained service of the level below the top.
    #[inline]
    fn below(&self) -> Option<f64> {
        let below = self.levels.len().checked_sub(2)?;
        Some(self.levels[below].attained)
    }

    #[inline]
    fn foresee(&mut self) {
        self.next = self.levels.last().and_then(|top| {
            let after = |attained: f64| {
                let left = (attained - top.attained).max(0.0) * top.jobs.len() as f64;
                self.last + Nanos((left - 1e-6).max(0.0).ceil() as u64)
            };
            sooner(Some(after(top.shortest())), self.below().map(after))
        });
    }

    /// The top level has caught up with the one below: together they share what both have received.
    fn merge(&mut self) {
        let (Some(mut top), Some(mut below)) = (self.levels.pop(), self.levels.pop()) else { return };
        let (n, m) = (top.jobs.len() as f64, below.jobs.len() as f64);
        let attained = (top.attained * n + below.attained * m) / (n + m);
        if top.jobs.len() > below.jobs.len() {
            std::mem::swap(&mut top, &mut below);
        }
        below.jobs.append(&mut top.jobs);
        below.attained = attained;
        self.levels.push(below);
        self.spare.push(top);
    }

    /// Takes the shortest job of the top level, which is finished.
    fn leave(&mut self) -> Option<Job> {
        let top = self.levels.last_mut()?;
        let Entry { key, what: job, .. } = top.jobs.pop()?;
        let beyond = top.attained - key as f64;
        if top.jobs.is_empty() {
            self.spare.extend(self.levels.pop());
        }
        if let Some(top) = self.levels.last_mut() {
            // What it received beyond its size, within the last nanosecond, belonged to the next.
            top.attained += beyond / top.jobs.len() as f64;
        }
        Some(job)
    }
}

impl Discipline for Fb {
    #[inline]
    fn arrive(&mut self, now: Instant, job: Job) {
        debug_assert!(self.next.is_none_or(|next| next > now), "completions before arrivals");
        self.advance(now);
        self.came += 1;
        let mut level = self.spare.pop().unwrap_or_default();
        level.attained = 0.0;
        level.jobs.push(job.size.0, self.came, job);
        self.levels.push(level);
        self.foresee();
    }

    #[inline]
    fn next(&self) -> Option<Instant> {
        self.next
    }

    #[inline]
    fn complete(&mut self, now: Instant) -> Option<Job> {
        while let Some(at) = self.next.filter(|next| *next <= now) {
            self.advance(at);
            let top = self.levels.last()?;
            let done = self.below().is_none_or(|below| top.shortest() <= below);
            let job = if done { self.leave() } else { None };
            if !done {
                self.merge();
            }
            self.foresee();
            if job.is_some() {
                return job;
            }
        }
        None
    }

    fn left(&self, now: Instant, tell: &mut dyn FnMut(u64, Nanos)) {
        let Some(top) = self.levels.last() else { return };
        let attained = top.attained + self.last.until(now).0 as f64 / top.jobs.len() as f64;
        for turn in top.jobs.entries() {
            tell(turn.what.id, Nanos((turn.key as f64 - attained).max(0.0).ceil() as u64));
        }
    }
}
