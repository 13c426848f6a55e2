//! What a cell came to, in the shape of the JSON document.

use std::io;

use offered_model::threshold::{Metric, Quantity, Statistic};
use offered_model::{Event, Outcome, Recording, Workload};
use offered_stats::steady_state::Estimate;
use offered_stats::values::Sorted;
use offered_verify::{Checked, Effect, Judgement, KeepsUp, Measured, Parts, Queue, Sessions, Verdict, Warning};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// What a cell came to. Counts are of the whole run; the rest leaves out `skip_first` and `skip_last`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figures {
    /// Whether the launches were what was meant.
    pub judgement: Judgement,
    /// Why, in one sentence.
    pub because: String,
    /// Whether the system kept up with its load; sweeps of older versions do not say.
    #[serde(default)]
    pub keeps_up: Option<KeepsUp>,
    /// What to doubt, and what to do about it.
    #[serde(deserialize_with = "warnings")]
    pub warnings: Vec<Warning>,
    /// All launches, sent or not.
    pub launched: u64,
    /// Those never sent.
    pub unsent: u64,
    /// Launches per second meant.
    pub asked_rate_per_s: Option<f64>,
    /// Launches per second that were sent.
    pub offered_rate_per_s: Option<f64>,
    /// Answers per second.
    pub throughput_per_s: Option<Interval>,
    /// How many per cent failed.
    pub errors_percent: Option<Interval>,
    /// done - intended.
    pub response_ms: Option<Times>,
    /// done - sent.
    pub service_ms: Option<Times>,
    /// sent - intended.
    pub lateness_us: Option<Lateness>,
    /// What that did to the percentiles of the responses.
    #[serde(default)]
    pub effect: Option<Effect>,
    /// Of a partly-open system: how its sessions arrived.
    #[serde(default)]
    pub sessions: Option<Sessions>,
    /// The CoV of the gaps between the instants meant; `null` in a partly-open system, where only sessions are meant for an instant.
    pub meant_cov: Option<f64>,
    /// The CoV of the gaps between launches.
    pub arrivals_cov: Option<Interval>,
    /// Little's law.
    pub queue: Queue,
    /// The workload's own.
    pub thresholds: Vec<Checked>,
    /// The responses in cells of equal factors.
    pub response_histogram: Histogram,
}

/// A number with its 95 % interval, where there is one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// The number; `null` where it is beyond all numbers, as a percentile of what never came back.
    #[serde(deserialize_with = "or_infinite")]
    #[schemars(with = "Option<f64>")]
    pub value: f64,
    /// The lower end.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
}

/// Mean and percentiles in milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
}

/// Percentiles in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "the names of statistics")]
pub struct Lateness {
    pub p50: f64,
    pub p99: f64,
    pub max: f64,
}

/// Counts in cells of equal ratio, [`Histogram::PER_DECADE`] a decade: cell i holds the values from edge i up to below edge i + 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Histogram {
    /// The edges, one more than there are cells.
    pub edges_ms: Vec<f64>,
    /// How many lie in each cell.
    pub counts: Vec<u64>,
}

impl Interval {
    pub(crate) fn of(estimate: Estimate, unit: f64) -> Self {
        let finite = |end: f64| end.is_finite().then_some(end * unit);
        Self { value: estimate.value * unit, low: finite(estimate.low), high: finite(estimate.high) }
    }
}

impl Figures {
    /// Of a run, as it was judged.
    pub(crate) fn of(
        run: &Measured,
        recording: &Recording,
        workload: &Workload,
        verdict: &Verdict,
    ) -> io::Result<Self> {
        let of = |quantity, unit| {
            let estimate = run.estimate(&Metric { quantity, label: None })?;
            Ok::<_, io::Error>(estimate.map(|estimate| Interval::of(estimate, unit)))
        };
        let response = run.good(Event::response, None)?;
        let lateness = run.times(Event::lateness, None)?;
        let mut unsent = 0;
        recording.events.each(|event| unsent += u64::from(event.outcome == Outcome::Unsent))?;
        let late = |statistic| Some(lateness.estimate(statistic)?.value * 1e6);
        Ok(Self {
            judgement: verdict.judgement,
            thresholds: Checked::all(workload.thresholds(), run, verdict)?,
            because: verdict.because.clone(),
            keeps_up: verdict.keeps_up,
            warnings: verdict.warnings.clone(),
            launched: recording.events.launches(),
            unsent,
            asked_rate_per_s: workload.asked_rate(),
            offered_rate_per_s: verdict.queue.rate_per_s,
            throughput_per_s: of(Quantity::ThroughputRate, 1.0)?,
            errors_percent: of(Quantity::ErrorsRate, 100.0)?,
            response_ms: Times::of(&response),
            service_ms: Times::of(&run.good(Event::service, None)?),
            lateness_us: late(Statistic::Percentile(50.0))
                .zip(late(Statistic::Percentile(99.0)))
                .zip(late(Statistic::Max))
                .map(|((p50, p99), max)| Lateness { p50, p99, max }),
            effect: verdict.effect.clone(),
            sessions: verdict.sessions,
            meant_cov: verdict.meant.cov.or(verdict.meant.expected_cov).filter(|_| verdict.sessions.is_none()),
            arrivals_cov: of(Quantity::ArrivalsCov, 1.0)?,
            queue: verdict.queue,
            response_histogram: Histogram::of(response.came()),
        })
    }

    /// Whether they may be believed.
    pub fn believable(&self) -> bool {
        self.judgement != Judgement::Fails
    }
}

fn or_infinite<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::INFINITY))
}

/// Sweeps of the first version told a simulation's doubts without their remedies.
fn warnings<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Warning>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Told {
        Whole(Warning),
        Doubt(String),
    }
    let told = Vec::<Told>::deserialize(deserializer)?;
    let whole = |told| match told {
        Told::Whole(warning) => warning,
        Told::Doubt(doubt) => Warning { about: None, doubt, remedy: String::new(), told: false },
    };
    Ok(told.into_iter().map(whole).collect())
}

impl Times {
    fn of(parts: &Parts) -> Option<Self> {
        let at = |statistic| Some(Interval::of(parts.estimate(statistic)?, 1e3));
        let percentile = |p| at(Statistic::Percentile(p));
        Some(Self {
            n: parts.len() as usize,
            mean: at(Statistic::Mean)?,
            p50: percentile(50.0)?,
            p90: percentile(90.0)?,
            p95: percentile(95.0)?,
            p99: percentile(99.0)?,
            p999: percentile(99.9)?,
            max: at(Statistic::Max)?.value,
        })
    }
}

impl Histogram {
    /// So many cells between a value and ten times it.
    pub const PER_DECADE: f64 = 20.0;

    /// Of times in nanoseconds; those below a microsecond are counted as one.
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
