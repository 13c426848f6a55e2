//! Gaps and counts of requests or session starts, and some consecutive requests.

use std::borrow::Cow;
use std::io;

use offered_stats::histogram::Histogram;
use offered_stats::windows::CountDistribution;
use offered_verify::{Ends, Scope};
use serde::{Deserialize, Serialize};

/// Histogram of gaps: bins per mean gap, and range in mean gaps.
const PER_MEAN: u64 = 10;
const MEANS: usize = 6;
/// Minimum expected number of requests per interval of [`Counts`].
const EXPECTED: f64 = 5.0;
/// Number of consecutive requests shown.
const SHOWN: usize = 60;

/// The histogram of gaps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gaps {
    /// The events between which gaps are measured: `requests` or `session starts`.
    pub events: Cow<'static, str>,
    /// Number of gaps.
    pub n: u64,
    /// Mean gap.
    pub mean_ms: f64,
    /// Bin width. Bin i counts gaps above (i - 1) and up to i widths; bin 0 counts zeros.
    pub bin_width_ms: f64,
    /// Number of gaps per bin.
    pub counts: Vec<u64>,
    /// Number of gaps above the last bin.
    pub overflow: u64,
}

/// Counts of requests or session starts in intervals of equal length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counts {
    /// The counted events: `requests` or `session starts`.
    pub events: Cow<'static, str>,
    /// Length of an interval.
    pub interval_s: f64,
    /// Mean count.
    pub mean: f64,
    /// Number of intervals with 0, 1, 2, ... requests.
    pub intervals: Vec<u64>,
}

/// Some consecutive requests from the middle of the run, in ms since the first of them.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Excerpt {
    /// Start of the excerpt, in seconds since the first analysed request.
    pub start_s: f64,
    /// Scheduled times; empty if unknown.
    pub scheduled_ms: Vec<f64>,
    /// Times of sending.
    pub sent_ms: Vec<f64>,
}

/// Builds gaps, counts and excerpt from send times in order.
pub(super) struct GapsBuilder {
    of: &'static str,
    ends: Ends,
    last: Option<u64>,
    gaps: Histogram,
    interval: u64,
    counts: CountDistribution,
    /// Number of requests before the excerpt.
    before_excerpt: u64,
    shown: Vec<u64>,
}

impl GapsBuilder {
    /// A builder for send times in `ends`, from a clock with this tick.
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
            counts: CountDistribution::new(ends.first, ends.last, interval),
            before_excerpt: ends.n.saturating_sub(SHOWN as u64) / 2,
            shown: Vec::new(),
        }
    }

    /// Adds a send time.
    pub(super) fn add(&mut self, sent: u64) {
        self.last.replace(sent).into_iter().for_each(|last| self.gaps.add(sent - last));
        self.counts.add(sent);
        // Limits the size if a million requests have the same send time.
        if self.before_excerpt > 0 {
            self.before_excerpt -= 1;
        } else if self.shown.len() < 2 * SHOWN {
            self.shown.push(sent);
        }
    }

    /// The results. No gaps if there are fewer than two, no counts if there are fewer than two intervals.
    pub(super) fn finish(
        self,
        scope: Scope,
        intent_known: bool,
    ) -> io::Result<(Option<Gaps>, Option<Counts>, Excerpt)> {
        let Self { of, ends, gaps: Histogram { bin_width: cell, counts, overflow, .. }, .. } = self;
        let n = ends.n.saturating_sub(1);
        let mean_ms = (ends.last - ends.first) as f64 / n as f64 / 1e6;
        let cell_ms = cell as f64 / 1e6;
        let gaps = (n > 1).then(|| Gaps { events: of.into(), n, mean_ms, bin_width_ms: cell_ms, counts, overflow });
        let (intervals, requests) = self.counts.finish();
        let seen: u64 = intervals.iter().sum();
        let mean = requests as f64 / seen as f64;
        let interval_s = self.interval as f64 / 1e9;
        let counts = (seen > 1).then(|| Counts { events: of.into(), interval_s, mean, intervals });
        Ok((gaps, counts, Excerpt::of(scope, ends.first, &self.shown, intent_known)?))
    }
}

impl Excerpt {
    /// The excerpt of the requests sent at `shown`; the first request was sent at `first`.
    fn of(scope: Scope, first: u64, shown: &[u64], intent_known: bool) -> io::Result<Self> {
        let Some(&begin) = shown.first() else { return Ok(Self::default()) };
        let end = shown[shown.len().min(SHOWN) - 1];
        let inside = |at: &u64| (begin..=end).contains(at);
        let since = |at: u64| at.saturating_sub(begin) as f64 / 1e6;
        let drawn = |sorted: &[u64]| sorted.iter().copied().take_while(inside).take(2 * SHOWN).map(since).collect();
        let mut meant = Vec::new();
        if intent_known {
            scope.each_scheduled(|event| meant.extend(Some(event.intended.0).filter(inside)))?;
        }
        meant.sort_unstable();
        Ok(Self { start_s: (begin - first) as f64 / 1e9, scheduled_ms: drawn(&meant), sent_ms: drawn(shown) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_base::Instant;
    use offered_events::{Event, Recording};
    use offered_verify::Criteria;

    #[test]
    fn regular_requests_have_one_gap_and_one_count() {
        let of = |n: u64, tick| {
            let at = |i| Instant::from_millis(i);
            let events = (0..n).map(|i| Event { sent: Some(at(i)), ..Event::at(at(i)) });
            let recording = Recording::of_run(events.collect(), vec!["a".to_owned()]);
            let scope = Scope::of(&recording, &Criteria::default()).unwrap();
            let fresh = || GapsBuilder::new("requests", scope.ends(|_| true).unwrap(), tick);
            scope.in_sent_order(fresh, |sent, launch| sent.add(launch.sent)).unwrap().finish(scope, true).unwrap()
        };
        let (gaps, counts, fragment) = of(1000, 1);
        let (gaps, counts) = (gaps.unwrap(), counts.unwrap());
        assert_eq!((gaps.n, gaps.mean_ms, gaps.counts[10], gaps.overflow), (999, 1.0, 999, 0));
        assert_eq!((counts.interval_s, counts.mean), (0.005, 5.0));
        assert_eq!(counts.intervals, [0, 0, 0, 0, 0, 199]);
        assert_eq!((fragment.start_s, fragment.sent_ms.len(), fragment.scheduled_ms[59]), (0.47, 60, 59.0));
        assert_eq!(of(1000, 1_000_000).1.unwrap().interval_s, 0.005);
        let (gaps, counts, fragment) = of(2, 1);
        assert!(gaps.is_none() && counts.is_none() && fragment.sent_ms == [0.0, 1.0]);
    }
}
