//! Gaps and counts of a stream of launches, and a few of the launches themselves.

use std::borrow::Cow;

use offered_stats::dispersion::counts;
use offered_stats::histogram::Histogram;
use offered_stats::summary::gaps;
use offered_verify::Scope;
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

impl Gaps {
    /// Between `sorted` instants in ns of a clock with this tick; `None` for fewer than two gaps.
    pub(super) fn of(of: &'static str, sorted: &[u64], tick: u64) -> Option<Self> {
        let n = sorted.len().checked_sub(1).filter(|n| *n > 1)?;
        let span = sorted[n] - sorted[0];
        let cell = super::whole_ticks((span / n as u64 / PER_MEAN).max(1), tick);
        let Histogram { counts, overflow, .. } = Histogram::of(gaps(sorted), cell, MEANS * PER_MEAN as usize);
        let mean_ms = span as f64 / n as f64 / 1e6;
        Some(Self { of: of.into(), n: n as u64, mean_ms, cell_ms: cell as f64 / 1e6, counts, longer: overflow })
    }
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

impl Counts {
    /// Of `sorted` instants in ns of a clock with this tick; `None` below two intervals.
    pub(super) fn of(of: &'static str, sorted: &[u64], tick: u64) -> Option<Self> {
        let (first, last) = (*sorted.first()?, *sorted.last()?);
        let interval = ((last - first) as f64 / sorted.len() as f64 * EXPECTED).max(1.0) as u64;
        let interval = super::whole_ticks(super::round_up(interval), tick);
        let seen = counts(sorted, first, last, interval);
        let most = *seen.iter().max().filter(|_| seen.len() > 1)?;
        let mut intervals = vec![0; most as usize + 1];
        for count in &seen {
            intervals[*count as usize] += 1;
        }
        let mean = seen.iter().map(|count| f64::from(*count)).sum::<f64>() / seen.len() as f64;
        Some(Self { of: of.into(), interval_s: interval as f64 / 1e9, mean, intervals })
    }
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

impl Fragment {
    pub(super) fn of(scope: Scope, sorted: &[u64], intent_known: bool) -> Self {
        let (Some(&first), n) = (sorted.first(), sorted.len()) else { return Self::default() };
        let from = n.saturating_sub(SHOWN) / 2;
        let (begin, end) = (sorted[from], sorted[(from + SHOWN).min(n) - 1]);
        let inside = |at: u64| (begin..=end).contains(&at);
        let since = |at: u64| at.saturating_sub(begin) as f64 / 1e6;
        // A bunch of a million at one instant is drawn as one.
        let drawn =
            |sorted: &[u64]| sorted.iter().copied().take_while(|at| inside(*at)).take(2 * SHOWN).map(since).collect();
        let mut meant: Vec<u64> =
            scope.meant().map(|event| event.intended.0).filter(|at| intent_known && inside(*at)).collect();
        meant.sort_unstable();
        Self { from_s: (begin - first) as f64 / 1e9, meant_ms: drawn(&meant), sent_ms: drawn(&sorted[from..]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_has_one_gap_and_one_count() {
        let even: Vec<u64> = (0..1000).map(|i| i * 1_000_000).collect();
        let gaps = Gaps::of("launches", &even, 1).unwrap();
        assert_eq!((gaps.n, gaps.mean_ms, gaps.counts[10]), (999, 1.0, 999));
        let counts = Counts::of("launches", &even, 1_000_000).unwrap();
        assert_eq!((counts.interval_s, counts.mean), (0.005, 5.0));
        assert_eq!(counts.intervals[..5], [0; 5]);
        assert!(Gaps::of("launches", &even[..2], 1).is_none() && Counts::of("launches", &[], 1).is_none());
    }
}
