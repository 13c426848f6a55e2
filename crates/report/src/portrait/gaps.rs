//! Gaps and counts of a stream of launches, and a few of the launches themselves.

use std::borrow::Cow;
use std::io;

use offered_stats::histogram::Histogram;
use offered_stats::windows::Seen;
use offered_verify::{Ends, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Cells of the gaps' histogram per mean gap, and how many mean gaps it shows.
const PER_MEAN: u64 = 10;
const MEANS: usize = 6;
/// Launches expected in an interval of [`Counts`], at least.
const EXPECTED: f64 = 5.0;
/// Launches shown one by one.
const SHOWN: usize = 60;

/// The histogram of gaps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gaps {
    /// Between what.
    pub of: Cow<'static, str>,
    /// How many.
    pub n: u64,
    /// Their mean.
    pub mean_ms: f64,
    /// Cell i holds gaps above (i - 1) and up to i times this; cell 0 holds the zeros.
    pub cell_ms: f64,
    /// How many each cell holds.
    pub counts: Vec<u64>,
    /// How many are longer than the last.
    pub longer: u64,
}

/// How many launches fell into intervals of equal length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Of what.
    pub of: Cow<'static, str>,
    /// The length of an interval.
    pub interval_s: f64,
    /// The mean count.
    pub mean: f64,
    /// How many intervals had no launch, one, two, ...
    pub intervals: Vec<u64>,
}

/// Some neighbouring launches from the middle of the run, one by one, in ms since the first of them.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Fragment {
    /// When it begins, in seconds since the first launch looked at.
    pub from_s: f64,
    /// When launches were meant; empty where that is not known.
    pub meant_ms: Vec<f64>,
    /// When they were sent.
    pub sent_ms: Vec<f64>,
}

/// Launches that come in order: their gaps, their counts, and some of them.
pub(super) struct Sent {
    of: &'static str,
    ends: Ends,
    last: Option<u64>,
    gaps: Histogram,
    interval: u64,
    counts: Seen,
    /// So many come before the first that is shown.
    before_shown: u64,
    shown: Vec<u64>,
}

impl Sent {
    /// Of so many of them between these instants of a clock with this tick.
    pub(super) fn new(of: &'static str, ends: Ends, tick: u64) -> Self {
        let span = ends.last - ends.first;
        let cell = super::whole_ticks((span / ends.n.saturating_sub(1).max(1) / PER_MEAN).max(1), tick);
        let interval = (span as f64 / ends.n as f64 * EXPECTED).max(1.0) as u64;
        let interval = super::whole_ticks(super::round_up(interval), tick);
        Self {
            of,
            ends,
            last: None,
            gaps: Histogram::new(cell, MEANS * PER_MEAN as usize),
            interval,
            counts: Seen::new(ends.first, ends.last, interval),
            before_shown: ends.n.saturating_sub(SHOWN as u64) / 2,
            shown: Vec::new(),
        }
    }

    /// Takes one.
    pub(super) fn add(&mut self, sent: u64) {
        self.last.replace(sent).into_iter().for_each(|last| self.gaps.add(sent - last));
        self.counts.add(sent);
        // A bunch of a million at one instant is drawn as one.
        if self.before_shown > 0 {
            self.before_shown -= 1;
        } else if self.shown.len() < 2 * SHOWN {
            self.shown.push(sent);
        }
    }

    /// The gaps, the counts and some launches of those that `scope` looks at; no gaps where there are fewer than two, no counts of
    /// fewer than two intervals.
    pub(super) fn finish(
        self,
        scope: Scope,
        intent_known: bool,
    ) -> io::Result<(Option<Gaps>, Option<Counts>, Fragment)> {
        let Self { of, ends, gaps: Histogram { cell, counts, overflow, .. }, .. } = self;
        let n = ends.n.saturating_sub(1);
        let mean_ms = (ends.last - ends.first) as f64 / n as f64 / 1e6;
        let cell_ms = cell as f64 / 1e6;
        let gaps = (n > 1).then(|| Gaps { of: of.into(), n, mean_ms, cell_ms, counts, longer: overflow });
        let (intervals, launches) = self.counts.finish();
        let seen: u64 = intervals.iter().sum();
        let mean = launches as f64 / seen as f64;
        let interval_s = self.interval as f64 / 1e9;
        let counts = (seen > 1).then(|| Counts { of: of.into(), interval_s, mean, intervals });
        Ok((gaps, counts, Fragment::of(scope, ends.first, &self.shown, intent_known)?))
    }
}

impl Fragment {
    /// Of launches whose first was at `first`, and some in the middle at `shown`.
    fn of(scope: Scope, first: u64, shown: &[u64], intent_known: bool) -> io::Result<Self> {
        let Some(&begin) = shown.first() else { return Ok(Self::default()) };
        let end = shown[shown.len().min(SHOWN) - 1];
        let inside = |at: &u64| (begin..=end).contains(at);
        let since = |at: u64| at.saturating_sub(begin) as f64 / 1e6;
        let drawn = |sorted: &[u64]| sorted.iter().copied().take_while(inside).take(2 * SHOWN).map(since).collect();
        let mut meant = Vec::new();
        if intent_known {
            scope.meant(|event| meant.extend(Some(event.intended.0).filter(inside)))?;
        }
        meant.sort_unstable();
        Ok(Self { from_s: (begin - first) as f64 / 1e9, meant_ms: drawn(&meant), sent_ms: drawn(shown) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_model::{Event, Instant, Recording};
    use offered_verify::Ask;

    #[test]
    fn a_clock_has_one_gap_and_one_count() {
        let of = |n: u64, tick| {
            let at = |i| Instant::from_millis(i);
            let events = (0..n).map(|i| Event { sent: Some(at(i)), ..Event::at(at(i)) });
            let recording = Recording::of_run(events.collect(), vec!["a".to_owned()]);
            let scope = Scope::of(&recording, &Ask::default()).unwrap();
            let fresh = || Sent::new("launches", scope.ends(|_| true).unwrap(), tick);
            scope.in_order(fresh, |sent, launch| sent.add(launch.sent)).unwrap().finish(scope, true).unwrap()
        };
        let (gaps, counts, fragment) = of(1000, 1);
        let (gaps, counts) = (gaps.unwrap(), counts.unwrap());
        assert_eq!((gaps.n, gaps.mean_ms, gaps.counts[10], gaps.longer), (999, 1.0, 999, 0));
        assert_eq!((counts.interval_s, counts.mean), (0.005, 5.0));
        assert_eq!(counts.intervals, [0, 0, 0, 0, 0, 199]);
        assert_eq!((fragment.from_s, fragment.sent_ms.len(), fragment.meant_ms[59]), (0.47, 60, 59.0));
        assert_eq!(of(1000, 1_000_000).1.unwrap().interval_s, 0.005);
        let (gaps, counts, fragment) = of(2, 1);
        assert!(gaps.is_none() && counts.is_none() && fragment.sent_ms == [0.0, 1.0]);
    }
}
