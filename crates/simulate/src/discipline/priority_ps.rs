//! Priority levels with processor sharing inside: what an operating system does with real-time, normal and batch processes.

use std::collections::BTreeMap;

use offered_model::{Instant, Nanos};

use super::{Discipline, Job, Ps, sooner};

/// Static priorities, each level shared equally: class 0 shares the servers, class 1 what that leaves, and so on.
///
/// A job uses one server at most. With one server a level is served when all above it are empty, and goes on where it stopped. One
/// class is [`Ps`]; a level whose jobs never meet is [preemptive priority](super::PreemptivePriority).
#[derive(Clone, Debug)]
pub struct PriorityPs {
    servers: u32,
    /// By class; a level that has run empty stays.
    levels: BTreeMap<u16, Ps>,
}

impl PriorityPs {
    /// With this many servers (at least one).
    pub fn new(servers: u32) -> Self {
        Self { servers: servers.max(1), levels: BTreeMap::new() }
    }

    /// Gives each level below `class` the servers that those above it leave, from `now` on.
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
        self.levels.values().fold(None, |next, level| sooner(next, level.next()))
    }

    #[inline]
    fn complete(&mut self, now: Instant) -> Option<Job> {
        let finished = self.next().filter(|next| *next <= now)?;
        let done = self.levels.values_mut().find(|level| level.next() == Some(finished))?.complete(finished)?;
        self.share(finished);
        Some(done)
    }

    fn left(&self, now: Instant, tell: &mut dyn FnMut(u64, Nanos)) {
        for level in self.levels.values() {
            level.left(now, tell);
        }
    }
}
