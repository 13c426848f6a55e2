//! Gaps of the launches of each worker, and of each of the nodes that were merged.
//!
//! Every n-th launch of a Poisson stream comes after the sum of n gaps: of n equal workers each has a CoV of 1/sqrt(n), and
//! that is as it should be. A worker that differs from the others is what to look for.

use offered_stats::cov::exponential_interval;
use offered_stats::groups::Groups;

use crate::scope::Scope;
use crate::tables;
use crate::verdict::TimeStats;

/// The launches of each worker, and of each node, which come in order.
pub(crate) struct Workers {
    nodes: Vec<(String, u16)>,
    by_worker: Rows,
    by_node: Rows,
}

/// The first and the last launch of each, and the gaps between them.
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
            let (row, (first, last)) = (gaps.of(number)?.summary(1e6)?, ends?);
            let span_ms = (last - first) as f64 / 1e6;
            Some(tables::times(name(number), &row, span_ms, Some(exponential_interval(row.cov, row.n))))
        };
        self.ends.into_iter().enumerate().filter_map(row).collect()
    }
}

impl Workers {
    pub(crate) fn new(scope: Scope) -> Self {
        Self { nodes: scope.recording.nodes.clone(), by_worker: Rows::default(), by_node: Rows::default() }
    }

    /// Takes a launch.
    #[inline]
    pub(crate) fn add(&mut self, worker: u16, sent: u64) {
        self.by_worker.add(worker.into(), sent);
        if self.nodes.len() > 1 {
            let node = self.nodes.partition_point(|(_, first)| *first <= worker).saturating_sub(1);
            self.by_node.add(node, sent);
        }
    }

    /// A row per worker when there are several, and they are not the nodes; and a row per node when several were merged.
    pub(crate) fn finish(self) -> (Vec<TimeStats>, Vec<TimeStats>) {
        let Self { nodes, by_worker, by_node } = self;
        let workers = by_worker.finish(|worker| format!("worker {worker}"));
        let several = workers.len() > 1 && workers.len() != nodes.len();
        (if several { workers } else { Vec::new() }, by_node.finish(|node| nodes[node].0.clone()))
    }
}
