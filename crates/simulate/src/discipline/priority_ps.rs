//! Priority levels with processor sharing inside each, as an operating system schedules real-time, normal and batch
//! processes.

use std::collections::BTreeMap;

use offered_base::{Instant, Nanos};

use super::{Discipline, Job, Ps, earliest};

/// Static priorities with equal sharing inside each level: class 0 shares the servers, class 1 the servers that remain,
/// and so on.
///
/// A job uses at most one server. With one server, a level is served while all levels above are empty, and resumes
/// where it stopped. With one class this is [`Ps`]; if jobs of a level never overlap it is [preemptive
/// priority](super::PreemptivePriority).
#[derive(Clone, Debug)]
pub struct PriorityPs {
    servers: u32,
    /// Levels by class; an empty level stays.
    levels: BTreeMap<u16, Ps>,
}

impl PriorityPs {
    /// A server with `servers` servers (at least one).
    pub fn new(servers: u32) -> Self {
        Self { servers: servers.max(1), levels: BTreeMap::new() }
    }

    /// Gives each level the servers that the levels above leave, from `now` on.
    fn share(&mut self, now: Instant) {
        let mut left = self.servers;
        for level in self.levels.values_mut() {
            level.set_servers(now, left);
            left = left.saturating_sub(level.len());
        }
    }
}

impl Discipline for PriorityPs {
    #[inline]
    fn arrive(&mut self, now: Instant, job: Job) {
        self.levels.entry(job.class).or_insert_with(|| Ps::new(1)).enter(now, job);
        self.share(now);
    }

    #[inline]
    fn next(&self) -> Option<Instant> {
        self.levels.values().fold(None, |next, level| earliest(next, level.next()))
    }

    #[inline]
    fn complete(&mut self, now: Instant) -> Option<Job> {
        let finished = self.next().filter(|next| *next <= now)?;
        let done = self.levels.values_mut().find(|level| level.next() == Some(finished))?.complete(finished)?;
        self.share(finished);
        Some(done)
    }

    fn remaining(&self, now: Instant, report: &mut dyn FnMut(u64, Nanos)) {
        for level in self.levels.values() {
            level.remaining(now, report);
        }
    }
}
