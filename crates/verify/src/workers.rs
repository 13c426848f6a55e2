//! Gaps of the launches of each worker, and of each of the nodes that were merged.
//!
//! Every n-th launch of a Poisson stream comes after the sum of n gaps: of n equal workers each has a CoV of 1/sqrt(n), and
//! that is as it should be. A worker that differs from the others is what to look for.

use std::collections::BTreeMap;

use offered_stats::Summary;
use offered_stats::cov::exponential_interval;
use offered_stats::summary::gaps;

use crate::scope::Scope;
use crate::tables;
use crate::verdict::Times;

/// A row per worker when there are several, and they are not the nodes.
pub(crate) fn by_worker(scope: Scope) -> Vec<Times> {
    let rows = rows(scope, u32::from, |worker| format!("worker {worker}"));
    if rows.len() < 2 || rows.len() == scope.recording.nodes.len() { Vec::new() } else { rows }
}

/// A row per node when several were merged.
pub(crate) fn by_node(scope: Scope) -> Vec<Times> {
    let nodes = &scope.recording.nodes;
    let node = |worker| nodes.partition_point(|(_, first)| *first <= worker).saturating_sub(1) as u32;
    if nodes.len() < 2 { Vec::new() } else { rows(scope, node, |node| nodes[node as usize].0.clone()) }
}

fn rows(scope: Scope, group: impl Fn(u16) -> u32, name: impl Fn(u32) -> String) -> Vec<Times> {
    let mut groups: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for (sent, event) in scope.launches() {
        groups.entry(group(event.worker)).or_default().push(sent);
    }
    let row = |(group, mut sent): (u32, Vec<u64>)| {
        sent.sort_unstable();
        let mut apart: Vec<u64> = gaps(&sent).collect();
        apart.sort_unstable();
        let row = Summary::of_sorted(&apart, 1e6)?;
        let span_ms = (sent[sent.len() - 1] - sent[0]) as f64 / 1e6;
        Some(tables::times(name(group), &row, span_ms, Some(exponential_interval(row.cov, row.n))))
    };
    groups.into_iter().filter_map(row).collect()
}
