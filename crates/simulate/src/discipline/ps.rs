//! PS: processor sharing.

use offered_base::{Instant, Nanos};
use offered_schedule::heap::{Entry, Heap};

use super::{Discipline, Job};

/// Serves all jobs at once and equally: with m servers and n jobs each is served at speed min(1, m/n).
///
/// Instead of n remaining sizes it stores one number, the *virtual time* V: the work that a job present since V was
/// zero has received, dV/dt = min(1, m/n). A job that arrives at V completes when virtual time is V + size, whatever
/// happens in between, so a heap ordered by that number costs O(log n) per job.
///
/// # Accuracy
/// V is a double and is reset to zero whenever the system is empty, so that rounding errors do not grow with the length
/// of the run. A job completes at the first whole nanosecond not before its exact end, and the service after that
/// end goes to the other jobs, so rounding neither creates nor loses work. In a busy period of more than 2^53 ns (104
/// days of one server) V is coarser than a nanosecond.
#[derive(Clone, Debug)]
pub struct Ps {
    /// Jobs by virtual completion time, in nanoseconds. Non-negative doubles have the same order as their bits.
    serving: Heap<Job>,
    servers: f64,
    /// Nanoseconds per nanosecond of virtual time, max(1, n/m), and its inverse.
    stretch: f64,
    speed: f64,
    arrived: u64,
    /// V at `last`.
    v: f64,
    last: Instant,
    next: Option<Instant>,
}

impl Ps {
    /// A server with `servers` servers (at least one).
    pub fn new(servers: u32) -> Self {
        Self {
            serving: Heap::default(),
            servers: f64::from(servers.max(1)),
            stretch: 1.0,
            speed: 1.0,
            arrived: 0,
            v: 0.0,
            last: Instant::ZERO,
            next: None,
        }
    }

    /// Advances virtual time to `now`; no job arrived or left since `last`.
    #[inline]
    fn advance(&mut self, now: Instant) {
        self.v += self.last.until(now).0 as i64 as f64 * self.speed;
        self.last = now;
    }

    /// Number of jobs in the system.
    pub(super) fn len(&self) -> u32 {
        self.serving.len() as u32
    }

    /// Sets the number of servers from `now` on; with 0, all jobs pause.
    #[inline]
    pub(super) fn set_servers(&mut self, now: Instant, servers: u32) {
        if f64::from(servers) != self.servers {
            self.advance(now);
            self.servers = f64::from(servers);
            self.update_next();
        }
    }

    /// Adds a job at `now`. Other jobs may still be about to complete at the same instant.
    #[inline]
    pub(super) fn enter(&mut self, now: Instant, job: Job) {
        self.advance(now);
        if self.serving.is_empty() {
            self.v = 0.0;
        }
        self.arrived += 1;
        let end = self.v + job.size.0 as i64 as f64;
        self.serving.push(end.to_bits(), self.arrived, job);
        self.update_next();
    }

    /// Recomputes the speed and the next completion after an arrival or a departure.
    #[inline]
    fn update_next(&mut self) {
        if self.servers == 0.0 {
            (self.stretch, self.speed, self.next) = (1.0, 0.0, None);
            return;
        }
        self.stretch = (self.serving.len() as f64 / self.servers).max(1.0);
        self.speed = 1.0 / self.stretch;
        self.next = self.serving.first().map(|first| {
            // Rounding in V must not delay an exact end by a whole nanosecond.
            let left = ((f64::from_bits(first.key) - self.v) * self.stretch - 1e-6).max(0.0);
            // Rounded up; `ceil` would be a call.
            let whole = left as u64;
            self.last + Nanos(whole + u64::from((whole as i64 as f64) < left))
        });
    }
}

impl Discipline for Ps {
    #[inline]
    fn arrive(&mut self, now: Instant, job: Job) {
        assert!(self.next.is_none_or(|next| next > now), "completions before arrivals");
        self.enter(now, job);
    }

    #[inline]
    fn next(&self) -> Option<Instant> {
        self.next
    }

    #[inline]
    fn complete(&mut self, now: Instant) -> Option<Job> {
        let finished = self.next.filter(|next| *next <= now)?;
        self.advance(finished);
        let shared = self.stretch > 1.0;
        let Entry { key, value: done, .. } = self.serving.pop()?;
        if shared {
            // Service in excess of its size, within the last nanosecond, belongs to the remaining jobs.
            self.v += (self.v - f64::from_bits(key)) / self.serving.len() as f64;
        }
        self.update_next();
        Some(done)
    }

    fn remaining(&self, now: Instant, report: &mut dyn FnMut(u64, Nanos)) {
        let v = self.v + self.last.until(now).0 as i64 as f64 * self.speed;
        for entry in self.serving.entries() {
            // Rounded up, but never above the size of the job.
            report(entry.value.id, Nanos((f64::from_bits(entry.key) - v).max(0.0).ceil() as u64).min(entry.value.size));
        }
    }
}
