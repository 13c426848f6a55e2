//! One round of a comparison.

use std::io;
use std::ops::Range;

use offered_base::Instant;
use offered_events::{Event, Recording};
use offered_stats::values::Sorted;
use offered_verify::{Measurements, Validity, Verdict};
use offered_workload::threshold::Statistic;

/// Number of rounds of each side at the first look.
pub(super) const FEWEST: usize = 4;
/// The statistics of response times that are shown.
const TABLE: [Statistic; 5] = [
    Statistic::Mean,
    Statistic::Percentile(50.0),
    Statistic::Percentile(90.0),
    Statistic::Percentile(95.0),
    Statistic::Percentile(99.0),
];

/// The statistics of every round: first the one that decides, then the others of the table.
pub(super) fn statistics(decides: Statistic) -> Vec<Statistic> {
    [decides].into_iter().chain(TABLE.into_iter().filter(|other| *other != decides)).collect()
}

/// The results of a round.
#[derive(Clone, Debug)]
pub(super) struct Round {
    /// Number of successful requests in the time that counts.
    pub(super) ok: u64,
    /// Number of failed requests.
    pub(super) failed: u64,
    /// The statistics of the response times of successful requests, in milliseconds; `None`: too few requests.
    pub(super) statistics: Vec<Option<f64>>,
    /// Why the round does not count; `None`: it is valid.
    pub(super) invalid: Option<String>,
}

/// Minimum number of response times above a percentile.
const FEWEST_ABOVE: f64 = 5.0;

impl Round {
    /// The round that is `counted` of a recording with this verdict.
    pub(super) fn of(
        recording: &Recording,
        verdict: &Verdict,
        counted: Range<Instant>,
        statistics: &[Statistic],
    ) -> io::Result<Self> {
        let (from, to) = (counted.start, counted.end);
        let times = Measurements::new(recording, &verdict.gaps, &verdict.window, counted);
        let times = times.successful_times(Event::response, None)?;
        let mut failed = 0;
        recording.events.each_response(|event| {
            let is_failed = !matches!(event.outcome, offered_events::Outcome::Ok | offered_events::Outcome::Cut);
            failed += u64::from(is_failed && (from..to).contains(&event.intended));
        })?;
        let invalid = (verdict.validity == Validity::Invalid).then(|| verdict.reason.clone());
        let statistics = statistics.iter().map(|statistic| value(times.finite(), *statistic)).collect();
        Ok(Self { ok: times.len(), failed, statistics, invalid })
    }

    /// The share of failed requests, in percent.
    pub(super) fn errors_percent(&self) -> f64 {
        100.0 * self.failed as f64 / (self.ok + self.failed).max(1) as f64
    }
}

/// A statistic in milliseconds; `None` if it is not positive, or if there are too few times.
fn value(times: &Sorted<i64>, statistic: Statistic) -> Option<f64> {
    let ns = match statistic {
        Statistic::Mean => times.summary(1.0)?.mean,
        Statistic::Max => times.max()? as f64,
        Statistic::Percentile(percent) => {
            let p = percent / 100.0;
            (times.len() as f64 * (1.0 - p) >= FEWEST_ABOVE).then(|| times.quantile(p)).flatten()? as f64
        }
    };
    (ns > 0.0).then_some(ns / 1e6)
}
