//! The history of counters over windows, from samples in the order of time; its memory is bounded by the number of
//! windows.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::verdict::statistics::Window;

/// The history of every number of a machine, over windows.
#[derive(Clone, Debug, Default)]
pub struct CounterHistory {
    edges: Vec<i64>,
    series: BTreeMap<String, BTreeMap<String, Series>>,
    /// Number of samples between the first and the last edge, and the time of the last one.
    samples: u64,
    last: Option<i64>,
}

/// The history of one number.
#[derive(Clone, Debug, Default)]
struct Series {
    last: Option<(i64, f64)>,
    /// For a counter: the total before its resets, and the number of resets.
    base: f64,
    resets: u32,
    /// For a counter: its value at each edge.
    at_edges: Vec<Option<f64>>,
    /// For a gauge: the sum of its samples in each window, and their number.
    level_sums: Vec<(f64, u32)>,
}

impl CounterHistory {
    /// A history for the windows between these edges, in nanoseconds.
    pub fn new(edges: Vec<i64>) -> Self {
        Self { edges, ..Self::default() }
    }

    /// Adds a sample of `source` at time `at` (ns). Samples of one source and metric must come in the order of time.
    pub fn add(&mut self, at: i64, source: &str, metric: &str, mut value: f64) {
        let windows = self.edges.len().saturating_sub(1);
        let (Some(first), Some(end)) = (self.edges.first(), self.edges.last()) else { return };
        if (*first..*end).contains(&at) && self.last.is_none_or(|last| last < at) {
            self.samples += 1;
            self.last = Some(at);
        }
        if !self.series.contains_key(source) {
            self.series.insert(source.to_owned(), BTreeMap::new());
        }
        let of_source = self.series.get_mut(source).expect("it is there now");
        if !of_source.contains_key(metric) {
            let track = Series {
                last: None,
                base: 0.0,
                resets: 0,
                at_edges: vec![None; windows + 1],
                level_sums: vec![(0.0, 0); windows],
            };
            of_source.insert(metric.to_owned(), track);
        }
        let track = of_source.get_mut(metric).expect("it is there now");
        if let Some(level) = track.level_sums.get_mut(self.edges.partition_point(|edge| *edge <= at).wrapping_sub(1)) {
            *level = (level.0 + value, level.1 + 1);
        }
        match track.last {
            Some((before, was)) if at > before => {
                let from = track.base + was;
                // A counter that falls below half of its value was reset to zero. A smaller decrease (some kernel
                // counters do that) is ignored.
                if value < was / 2.0 {
                    (track.base, track.resets) = (from, track.resets + 1);
                } else {
                    value = value.max(was);
                }
                let to = track.base + value;
                let first = self.edges.partition_point(|edge| *edge < before);
                let behind = self.edges.partition_point(|edge| *edge <= at);
                for edge in first..behind {
                    let share = (self.edges[edge] - before) as f64 / (at - before) as f64;
                    track.at_edges[edge] = Some(from + share * (to - from));
                }
            }
            _ => {}
        }
        track.last = Some((at, value));
    }

    /// The ends of the windows, in nanoseconds.
    pub fn edges(&self) -> &[i64] {
        &self.edges
    }

    /// The names, among `counters`, of series that were reset.
    pub(super) fn reset_counters(&self, counters: &BTreeSet<String>) -> Vec<String> {
        let anew = |name: &&String| {
            self.series.values().any(|of_source| of_source.get(*name).is_some_and(|track| track.resets > 0))
        };
        counters.iter().filter(anew).cloned().collect()
    }

    /// Whether the counters of the machine were reset.
    pub(super) fn machine_was_reset(&self) -> bool {
        self.series.get("cpu").and_then(|cpu| cpu.get("idle_ticks")).is_some_and(|track| track.resets > 0)
    }

    /// The metrics of this source.
    pub(super) fn metrics(&self, source: &str) -> impl Iterator<Item = &str> {
        self.series.get(source).into_iter().flat_map(BTreeMap::keys).map(String::as_str)
    }

    /// Number of samples in the windows.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// The sources of the samples.
    pub fn sources(&self) -> impl Iterator<Item = &str> {
        self.series.keys().map(String::as_str)
    }

    /// The windows that are inside the analysed time and were observed completely; empty if there are none.
    pub fn judged_windows(&self, window: &Window) -> Range<usize> {
        let ns = |s: f64| (s * 1e9).round() as i64;
        let from = self.edges.partition_point(|edge| *edge < ns(window.start_s));
        let to = self.edges.partition_point(|edge| *edge <= ns(window.end_s)).saturating_sub(1);
        // The counters of the machine itself, or else those of any other source, show which edges were observed.
        let first = self.series.get("cpu").or_else(|| self.series.values().next());
        let known = |edge: usize| {
            first.is_some_and(|all| all.values().any(|track| track.at_edges.get(edge).is_some_and(Option::is_some)))
        };
        let from = (from..=to).find(|edge| known(*edge)).unwrap_or(to);
        let to = (from..=to).rev().find(|edge| known(*edge)).unwrap_or(from);
        from..to
    }

    /// The increase of a counter from one edge to another.
    pub(super) fn increase(&self, source: &str, metric: &str, from: usize, to: usize) -> Option<f64> {
        let track = self.series.get(source)?.get(metric)?;
        let rise = (*track.at_edges.get(to)?)? - (*track.at_edges.get(from)?)?;
        (rise >= 0.0).then_some(rise)
    }

    /// The sum of the increases of several counters. Counters that the source never had are ignored, because an exporter
    /// may omit states that its system does not have, such as stolen processor time. `None` if the source has none of
    /// the counters, or if the value of one is unknown at an edge.
    pub(super) fn total_increase(&self, source: &str, metrics: &[&str], from: usize, to: usize) -> Option<f64> {
        let of_source = self.series.get(source)?;
        let mut present = metrics.iter().filter(|metric| of_source.contains_key(**metric)).peekable();
        present.peek()?;
        present.map(|metric| self.increase(source, metric, from, to)).sum()
    }

    /// The mean of a gauge over its samples in these windows.
    pub(super) fn level(&self, source: &str, metric: &str, windows: Range<usize>) -> Option<f64> {
        let levels = self.series.get(source)?.get(metric)?.level_sums.get(windows)?;
        let (sum, n) = levels.iter().fold((0.0, 0), |(sum, n), (more, and)| (sum + more, n + and));
        (n > 0).then(|| sum / f64::from(n))
    }

    /// The time from one edge to another, in seconds.
    pub(super) fn seconds(&self, from: usize, to: usize) -> f64 {
        (self.edges[to] - self.edges[from]) as f64 / 1e9
    }
}
