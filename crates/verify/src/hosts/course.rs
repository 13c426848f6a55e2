//! The course of counters over windows, from samples as they come; memory is bounded by the windows.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::verdict::Window;

/// The course of every number that is read of a machine, over windows.
#[derive(Clone, Debug, Default)]
pub struct Course {
    edges: Vec<i64>,
    tracks: BTreeMap<String, BTreeMap<String, Track>>,
    /// Samples between the first end and the last, and when the last of them was taken.
    samples: u64,
    last: Option<i64>,
}

/// The course of one number.
#[derive(Clone, Debug, Default)]
struct Track {
    last: Option<(i64, f64)>,
    /// As a counter: what it had counted before it began anew, and how often it did.
    before: f64,
    anew: u32,
    /// As a counter: what it was at each end.
    at: Vec<Option<f64>>,
    /// As a level: the sum of what was read in each window, and how often that was.
    levels: Vec<(f64, u32)>,
}

impl Course {
    /// Over the windows between these ends, ns.
    pub fn new(edges: Vec<i64>) -> Self {
        Self { edges, ..Self::default() }
    }

    /// Takes the number that was read of `source` at `at`; those of one source and metric come in the order of time.
    pub fn see(&mut self, at: i64, source: &str, metric: &str, mut value: f64) {
        let windows = self.edges.len().saturating_sub(1);
        let (Some(first), Some(end)) = (self.edges.first(), self.edges.last()) else { return };
        if (*first..*end).contains(&at) && self.last.is_none_or(|last| last < at) {
            self.samples += 1;
            self.last = Some(at);
        }
        if !self.tracks.contains_key(source) {
            self.tracks.insert(source.to_owned(), BTreeMap::new());
        }
        let of_source = self.tracks.get_mut(source).expect("it is there now");
        if !of_source.contains_key(metric) {
            let track = Track {
                last: None,
                before: 0.0,
                anew: 0,
                at: vec![None; windows + 1],
                levels: vec![(0.0, 0); windows],
            };
            of_source.insert(metric.to_owned(), track);
        }
        let track = of_source.get_mut(metric).expect("it is there now");
        if let Some(level) = track.levels.get_mut(self.edges.partition_point(|edge| *edge <= at).wrapping_sub(1)) {
            *level = (level.0 + value, level.1 + 1);
        }
        match track.last {
            Some((before, was)) if at > before => {
                let from = track.before + was;
                // A counter that falls to less than half has begun anew, from zero; of one that falls a little (some of the kernel's do)
                // that is forgotten.
                if value < was / 2.0 {
                    (track.before, track.anew) = (from, track.anew + 1);
                } else {
                    value = value.max(was);
                }
                let to = track.before + value;
                let first = self.edges.partition_point(|edge| *edge < before);
                let behind = self.edges.partition_point(|edge| *edge <= at);
                for edge in first..behind {
                    let share = (self.edges[edge] - before) as f64 / (at - before) as f64;
                    track.at[edge] = Some(from + share * (to - from));
                }
            }
            _ => {}
        }
        track.last = Some((at, value));
    }

    /// The ends of the windows, ns.
    pub fn edges(&self) -> &[i64] {
        &self.edges
    }

    /// The names, among `counters`, of series that began anew.
    pub(super) fn began_anew(&self, counters: &BTreeSet<String>) -> Vec<String> {
        let anew = |name: &&String| {
            self.tracks.values().any(|of_source| of_source.get(*name).is_some_and(|track| track.anew > 0))
        };
        counters.iter().filter(anew).cloned().collect()
    }

    /// Whether the machine did.
    pub(super) fn machine_began_anew(&self) -> bool {
        self.tracks.get("cpu").and_then(|cpu| cpu.get("idle_ticks")).is_some_and(|track| track.anew > 0)
    }

    /// The numbers read of this source.
    pub(super) fn metrics(&self, source: &str) -> impl Iterator<Item = &str> {
        self.tracks.get(source).into_iter().flat_map(BTreeMap::keys).map(String::as_str)
    }

    /// How many samples fell into them.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// What was read of.
    pub fn sources(&self) -> impl Iterator<Item = &str> {
        self.tracks.keys().map(String::as_str)
    }

    /// The windows that lie in the time that was judged, and in which the machine was observed from end to end; empty where there are
    /// none.
    pub fn judged(&self, window: &Window) -> Range<usize> {
        let ns = |s: f64| (s * 1e9).round() as i64;
        let from = self.edges.partition_point(|edge| *edge < ns(window.start_s));
        let to = self.edges.partition_point(|edge| *edge <= ns(window.end_s)).saturating_sub(1);
        // Of the first number of the machine itself, or of whatever there is.
        let first = self.tracks.get("cpu").or_else(|| self.tracks.values().next());
        let known = |edge: usize| {
            first.is_some_and(|all| all.values().any(|track| track.at.get(edge).is_some_and(Option::is_some)))
        };
        let from = (from..=to).find(|edge| known(*edge)).unwrap_or(to);
        let to = (from..=to).rev().find(|edge| known(*edge)).unwrap_or(from);
        from..to
    }

    /// By how much a counter rose from one end to another.
    pub(super) fn rise(&self, source: &str, metric: &str, from: usize, to: usize) -> Option<f64> {
        let track = self.tracks.get(source)?.get(metric)?;
        let rise = (*track.at.get(to)?)? - (*track.at.get(from)?)?;
        (rise >= 0.0).then_some(rise)
    }

    /// The sum of several.
    pub(super) fn rises(&self, source: &str, metrics: &[&str], from: usize, to: usize) -> Option<f64> {
        metrics.iter().map(|metric| self.rise(source, metric, from, to)).sum()
    }

    /// What a level was in these windows, on average over samples.
    pub(super) fn level(&self, source: &str, metric: &str, windows: Range<usize>) -> Option<f64> {
        let levels = self.tracks.get(source)?.get(metric)?.levels.get(windows)?;
        let (sum, n) = levels.iter().fold((0.0, 0), |(sum, n), (more, and)| (sum + more, n + and));
        (n > 0).then(|| sum / f64::from(n))
    }

    /// How long it is from one end to another, seconds.
    pub(super) fn seconds(&self, from: usize, to: usize) -> f64 {
        (self.edges[to] - self.edges[from]) as f64 / 1e9
    }
}
