//! Gaps between the requests of each worker, and of each merged node.
//!
//! In a Poisson process divided equally among n workers, each gap of a worker is the sum of n gaps, so its CoV is
//! 1/sqrt(n). A worker whose CoV differs from that of the others has a problem.

use offered_stats::cov::exponential_interval;
use offered_stats::groups::Groups;

use crate::scope::Scope;
use crate::verdict::TimeStats;

/// Collects the gaps of each worker and of each node, from requests in the order of their sent times.
pub(crate) struct Workers {
    nodes: Vec<(String, u16)>,
    by_worker: Rows,
    by_node: Rows,
}

/// The first and the last request of each, and the gaps.
#[derive(Default)]
struct Rows {
    ends: Vec<Option<(u64, u64)>>,
    gaps: Groups,
}

impl Rows {
    #[inline]
    fn add(&mut self, number: usize, sent: u64) {
        if self.ends.len() <= number {
            self.ends.resize(number + 1, None);
        }
        let ends = &mut self.ends[number];
        let first = ends.map_or(sent, |(first, last)| {
            self.gaps.add(number, sent - last);
            first
        });
        *ends = Some((first, sent));
    }

    fn finish(self, name: impl Fn(usize) -> String) -> Vec<TimeStats> {
        let gaps = self.gaps.sorted();
        let row = |(number, ends): (usize, Option<(u64, u64)>)| {
            let (row, (first, last)) = (gaps.group(number)?.summary(1e6)?, ends?);
            let span_ms = (last - first) as f64 / 1e6;
            Some(TimeStats::of(name(number), &row, span_ms, Some(exponential_interval(row.cov, row.n))))
        };
        self.ends.into_iter().enumerate().filter_map(row).collect()
    }
}

impl Workers {
    pub(crate) fn new(scope: Scope) -> Self {
        Self { nodes: scope.recording.nodes.clone(), by_worker: Rows::default(), by_node: Rows::default() }
    }

    /// Adds a sent request.
    #[inline]
    pub(crate) fn add(&mut self, worker: u16, sent: u64) {
        self.by_worker.add(worker.into(), sent);
        if self.nodes.len() > 1 {
            let node = self.nodes.partition_point(|(_, first)| *first <= worker).saturating_sub(1);
            self.by_node.add(node, sent);
        }
    }

    /// One row per worker, if there are several and not exactly one per node; and one row per node, if several were
    /// merged.
    pub(crate) fn finish(self) -> (Vec<TimeStats>, Vec<TimeStats>) {
        let Self { nodes, by_worker, by_node } = self;
        let workers = by_worker.finish(|worker| format!("worker {worker}"));
        let several = workers.len() > 1 && workers.len() != nodes.len();
        (if several { workers } else { Vec::new() }, by_node.finish(|node| nodes[node].0.clone()))
    }
}
