//! The limits on requests in flight of one thread, for each target.

use offered_workload::{Target, Workload};

/// The requests in flight of a thread and their limit, by target.
pub(crate) struct InFlight {
    /// The number of the target of each request of the workload.
    targets: Vec<u16>,
    /// The limit of each target, and the number of its requests in flight.
    by_target: Vec<(u64, u64)>,
}

impl InFlight {
    /// None in flight yet; `part` is the part of a limit that this thread gets.
    pub(crate) fn new(workload: &Workload, part: impl Fn(u32) -> u32) -> Self {
        let limit = |target: &Target| target.in_flight().map_or(u64::MAX, |limit| part(limit).into());
        let targets: Vec<u16> = workload.requests().iter().map(offered_workload::Request::target).collect();
        // A simulated server has no limit.
        let number = targets.iter().map(|target| usize::from(*target) + 1).max().unwrap_or(1);
        let limits = workload.targets().map(limit).chain(std::iter::repeat(u64::MAX)).take(number);
        Self { targets, by_target: limits.map(|limit| (limit, 0)).collect() }
    }

    /// Counts a request with this label. Returns the limit of its target if it is exceeded.
    #[inline]
    pub(crate) fn start(&mut self, label: u16) -> Option<u64> {
        let (limit, count) = self.of(label);
        *count += 1;
        (*count > *limit).then_some(*limit)
    }

    /// A request with this label has ended.
    #[inline]
    pub(crate) fn end(&mut self, label: u16) {
        *self.of(label).1 -= 1;
    }

    #[inline]
    fn of(&mut self, label: u16) -> (&mut u64, &mut u64) {
        let (limit, count) = &mut self.by_target[usize::from(self.targets[usize::from(label)])];
        (limit, count)
    }
}
