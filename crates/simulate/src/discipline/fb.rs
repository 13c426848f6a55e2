//! FB: foreground-background, also called LAS (least attained service).

use offered_base::{Instant, Nanos};
use offered_schedule::heap::{Entry, Heap};

use super::{Discipline, Job, earliest};

/// The jobs with the least attained service share one server equally.
///
/// Jobs with equal attained service form a *level*. Levels are stacked with the least attained service on top, and the
/// top level is served by processor sharing. Its shortest job leaves when it completes. The top level merges with the
/// level below when it has caught up with it. A new job starts a new level at zero.
///
/// # Accuracy
/// As for [`Ps`](super::Ps): attained service is a double, and rounding to whole nanoseconds neither creates nor loses
/// work.
#[derive(Clone, Debug, Default)]
pub struct Fb {
    levels: Vec<Level>,
    /// Empty levels, to reuse their memory.
    spare: Vec<Level>,
    arrivals: u64,
    last: Instant,
    next: Option<Instant>,
}

#[derive(Clone, Debug, Default)]
struct Level {
    /// Attained service of each of its jobs, in nanoseconds.
    attained: f64,
    /// Jobs by size.
    jobs: Heap<Job>,
}

impl Level {
    fn shortest(&self) -> f64 {
        self.jobs.first().map_or(f64::INFINITY, |entry| entry.key as f64)
    }
}

impl Fb {
    /// Serves the top level until `now`; no job arrived or left since `last`.
    #[inline]
    fn advance(&mut self, now: Instant) {
        if let Some(top) = self.levels.last_mut() {
            top.attained += self.last.until(now).0 as f64 / top.jobs.len() as f64;
        }
        self.last = now;
    }

    /// Attained service of the level below the top.
    #[inline]
    fn below(&self) -> Option<f64> {
        let below = self.levels.len().checked_sub(2)?;
        Some(self.levels[below].attained)
    }

    #[inline]
    fn update_next(&mut self) {
        self.next = self.levels.last().and_then(|top| {
            let after = |attained: f64| {
                let left = (attained - top.attained).max(0.0) * top.jobs.len() as f64;
                self.last + Nanos((left - 1e-6).max(0.0).ceil() as u64)
            };
            earliest(Some(after(top.shortest())), self.below().map(after))
        });
    }

    /// Merges the top level with the one below that it has caught up with.
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

    /// Removes the shortest job of the top level, which has completed.
    fn leave(&mut self) -> Option<Job> {
        let top = self.levels.last_mut()?;
        let Entry { key, value: job, .. } = top.jobs.pop()?;
        let beyond = top.attained - key as f64;
        if top.jobs.is_empty() {
            self.spare.extend(self.levels.pop());
        }
        if let Some(top) = self.levels.last_mut() {
            // Service in excess of its size, within the last nanosecond, belongs to the remaining jobs.
            top.attained += beyond / top.jobs.len() as f64;
        }
        Some(job)
    }
}

impl Discipline for Fb {
    #[inline]
    fn arrive(&mut self, now: Instant, job: Job) {
        assert!(self.next.is_none_or(|next| next > now), "completions before arrivals");
        self.advance(now);
        self.arrivals += 1;
        let mut level = self.spare.pop().unwrap_or_default();
        level.attained = 0.0;
        level.jobs.push(job.size.0, self.arrivals, job);
        self.levels.push(level);
        self.update_next();
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
            self.update_next();
            if job.is_some() {
                return job;
            }
        }
        None
    }

    fn remaining(&self, now: Instant, report: &mut dyn FnMut(u64, Nanos)) {
        let Some(top) = self.levels.last() else { return };
        let attained = top.attained + self.last.until(now).0 as f64 / top.jobs.len() as f64;
        for entry in top.jobs.entries() {
            report(entry.value.id, Nanos((entry.key as f64 - attained).max(0.0).ceil() as u64));
        }
    }
}
