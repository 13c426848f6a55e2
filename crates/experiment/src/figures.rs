//! The figures of a cell of a sweep, as in the JSON document.

use std::collections::BTreeMap;
use std::io;

use offered_events::{Event, Outcome, Recording};
use offered_stats::steady_state::Estimate;
use offered_stats::values::Sorted;
use offered_verify::{
    BatchedTimes, GeneratorError, Measurements, Queue, Sessions, Stability, ThresholdResult, Validity, Verdict, Warning,
};
use offered_workload::Workload;
use offered_workload::threshold::{Metric, Quantity, Statistic};
use serde::{Deserialize, Deserializer, Serialize};

/// The figures of a cell. Counts are of the whole run; everything else excludes `skip_first` and `skip_last`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Figures {
    /// Whether the results may be used.
    pub validity: Validity,
    /// The reason for `validity`, in one sentence.
    pub reason: String,
    /// Whether completions follow arrivals.
    pub stability: Option<Stability>,
    /// Warnings, each with a fix.
    pub warnings: Vec<Warning>,
    /// Number of scheduled requests, sent or not.
    pub total_requests: u64,
    /// Number of requests that were not sent.
    pub unsent: u64,
    /// Target request rate.
    pub target_rate_per_s: Option<f64>,
    /// Rate of sent requests.
    pub sent_rate_per_s: Option<f64>,
    /// Rate of completed requests.
    pub completed_rate_per_s: Option<Interval>,
    /// Share of failed requests, in percent.
    pub errors_percent: Option<Interval>,
    /// Response time, done - scheduled.
    pub response_ms: Option<Times>,
    /// Service time, done - sent.
    pub service_ms: Option<Times>,
    /// Lateness, sent - scheduled.
    pub lateness_us: Option<Lateness>,
    /// The share of the response time percentiles that the generator caused.
    pub generator_error: Option<GeneratorError>,
    /// The arrivals of sessions in a partly-open system.
    pub sessions: Option<Sessions>,
    /// CoV of the gaps between scheduled times; `null` in a partly-open system, where only sessions are scheduled.
    pub expected_cov: Option<f64>,
    /// CoV of the gaps between sent requests.
    pub measured_cov: Option<Interval>,
    /// Little's law applied to the run.
    pub queue: Queue,
    /// The results of the workload's `[thresholds]`.
    pub thresholds: Vec<ThresholdResult>,
    /// Histogram of the response times, with logarithmic bins.
    pub response_histogram: Histogram,
}

/// An estimate with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interval {
    /// The estimate; `null` if infinite, such as a percentile of requests without response.
    #[serde(deserialize_with = "or_infinite")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub value: f64,
    /// Lower end; `null` if unknown or infinite.
    pub low: Option<f64>,
    /// Upper end; `null` if unknown or infinite.
    pub high: Option<f64>,
}

/// Mean and percentiles in milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names of statistics")]
pub struct Times {
    pub n: usize,
    pub mean: Interval,
    pub p50: Interval,
    pub p90: Interval,
    pub p95: Interval,
    pub p99: Interval,
    pub p999: Interval,
    pub max: f64,
    /// For each percentile (`p99`), and for the `mean`, with too few values for an interval: the approximate number of values needed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values_needed: BTreeMap<String, u64>,
}

/// Percentiles in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names of statistics")]
pub struct Lateness {
    pub p50: f64,
    pub p99: f64,
    pub max: f64,
}

/// A histogram with logarithmic bins, [`Histogram::PER_DECADE`] per decade. Bin i counts the values from edge i to below edge i + 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Histogram {
    /// The edges of the bins, one more than bins.
    pub edges_ms: Vec<f64>,
    /// Number of values per bin.
    pub counts: Vec<u64>,
}

impl Interval {
    pub(crate) fn of(estimate: Estimate, unit: f64) -> Self {
        let finite = |end: f64| end.is_finite().then_some(end * unit);
        Self { value: estimate.value * unit, low: finite(estimate.low), high: finite(estimate.high) }
    }
}

impl Figures {
    /// The figures of a run, from its recording and verdict.
    pub(crate) fn of(
        run: &Measurements,
        recording: &Recording,
        workload: &Workload,
        verdict: &Verdict,
    ) -> io::Result<Self> {
        let of = |quantity, unit| {
            let estimate = run.estimate(&Metric { quantity, label: None })?;
            Ok::<_, io::Error>(estimate.map(|estimate| Interval::of(estimate, unit)))
        };
        let response = run.successful_times(Event::response, None)?;
        let lateness = run.times(Event::lateness, None)?;
        let mut unsent = 0;
        recording.events.each(|event| unsent += u64::from(event.outcome == Outcome::Unsent))?;
        let late = |statistic| Some(lateness.estimate(statistic)?.value * 1e6);
        Ok(Self {
            validity: verdict.validity,
            thresholds: ThresholdResult::check_all(workload.thresholds(), run, verdict)?,
            reason: verdict.reason.clone(),
            stability: verdict.stability,
            warnings: verdict.warnings.clone(),
            total_requests: recording.events.launches(),
            unsent,
            target_rate_per_s: workload.scheduled_rate(),
            sent_rate_per_s: verdict.queue.rate_per_s,
            completed_rate_per_s: of(Quantity::ThroughputRate, 1.0)?,
            errors_percent: of(Quantity::ErrorsRate, 100.0)?,
            response_ms: Times::of(&response),
            service_ms: Times::of(&run.successful_times(Event::service, None)?),
            lateness_us: late(Statistic::Percentile(50.0))
                .zip(late(Statistic::Percentile(99.0)))
                .zip(late(Statistic::Max))
                .map(|((p50, p99), max)| Lateness { p50, p99, max }),
            generator_error: verdict.generator_error.clone(),
            sessions: verdict.sessions,
            expected_cov: verdict
                .expected
                .scheduled_cov
                .or(verdict.expected.expected_cov)
                .filter(|_| verdict.sessions.is_none()),
            measured_cov: of(Quantity::ArrivalsCov, 1.0)?,
            queue: verdict.queue,
            response_histogram: Histogram::of(response.finite()),
        })
    }

    /// The figures of a simulation that has nothing to measure, for this reason.
    pub(crate) fn unmeasured(workload: &Workload, reason: String) -> Self {
        Self {
            validity: Validity::NotChecked,
            reason,
            stability: None,
            warnings: Vec::new(),
            total_requests: 0,
            unsent: 0,
            target_rate_per_s: workload.scheduled_rate(),
            sent_rate_per_s: None,
            completed_rate_per_s: None,
            errors_percent: None,
            response_ms: None,
            service_ms: None,
            lateness_us: None,
            generator_error: None,
            sessions: None,
            expected_cov: None,
            measured_cov: None,
            queue: Queue::default(),
            thresholds: Vec::new(),
            response_histogram: Histogram { edges_ms: Vec::new(), counts: Vec::new() },
        }
    }

    /// Whether the results may be used: the run is not invalid.
    pub fn is_valid(&self) -> bool {
        self.validity != Validity::Invalid
    }
}

pub(crate) fn or_infinite<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::INFINITY))
}

impl Times {
    fn of(parts: &BatchedTimes) -> Option<Self> {
        let at = |statistic| Some(Interval::of(parts.estimate(statistic)?, 1e3));
        let percentile = |p| at(Statistic::Percentile(p));
        let named = [("p50", 50.0), ("p90", 90.0), ("p95", 95.0), ("p99", 99.0), ("p999", 99.9)].into_iter();
        Some(Self {
            n: parts.len() as usize,
            mean: at(Statistic::Mean)?,
            p50: percentile(50.0)?,
            p90: percentile(90.0)?,
            p95: percentile(95.0)?,
            p99: percentile(99.0)?,
            p999: percentile(99.9)?,
            max: at(Statistic::Max)?.value,
            values_needed: named
                .filter_map(|(name, p)| Some((name.to_owned(), parts.times_needed(p)?)))
                .chain(parts.mean_needs().map(|needed| ("mean".to_owned(), needed)))
                .collect(),
        })
    }
}

impl Histogram {
    /// Number of bins per decade.
    pub const PER_DECADE: f64 = 20.0;

    /// The histogram of times in nanoseconds; times below 1 us count as 1 us.
    fn of(sorted: &Sorted<i64>) -> Self {
        let place = |ns: i64| ((ns as f64 / 1e3).max(1.0).log10() * Self::PER_DECADE).floor() as usize;
        let (Some(first), Some(last)) = (sorted.min().map(place), sorted.max().map(place)) else {
            return Self { edges_ms: Vec::new(), counts: Vec::new() };
        };
        let mut counts = vec![0; last - first + 1];
        for (ns, count) in sorted.ascending() {
            counts[place(ns) - first] += count;
        }
        let edge = |place: usize| 1e-3 * 10f64.powf(place as f64 / Self::PER_DECADE);
        Self { edges_ms: (first..=last + 1).map(edge).collect(), counts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_stats::values::Values;

    #[test]
    fn a_histogram_loses_nothing() {
        let values = [0, 500, 1_000, 1_100, 1_130, 2_000_000, 1_000_000_000];
        let histogram = Histogram::of(&values.into_iter().collect::<Values<i64>>().sorted());
        assert_eq!(histogram.counts.iter().sum::<u64>(), 7);
        assert_eq!(histogram.edges_ms.len(), histogram.counts.len() + 1);
        assert_eq!(histogram.counts[..2], [4, 1], "20 a decade: 1.122 us is the first edge");
        let (low, high) = (histogram.edges_ms[0], histogram.edges_ms[histogram.counts.len()]);
        assert!(low == 1e-3 && (1000.0..1123.0).contains(&high), "{low} to {high}");
        assert_eq!(Histogram::of(&Values::<i64>::default().sorted()).counts, Vec::<u64>::new());
    }
}
