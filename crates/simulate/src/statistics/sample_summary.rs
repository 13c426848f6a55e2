//! Mean, percentiles and maximum of a sample in batches, with intervals.

use offered_stats::percentile::{self, BatchedValues, PercentileInterval};
use offered_stats::requirements::IntervalRequirements;
use offered_stats::steady_state::{Estimate, ratio};

use super::batches::{Batch, Pair};
use super::tally::Tally;

/// Mean, percentiles and maximum of a time in seconds, or of slowdowns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampleSummary {
    /// The mean over completed jobs.
    pub mean: Estimate,
    /// Median.
    pub p50: Percentile,
    /// 90th percentile.
    pub p90: Percentile,
    /// 95th percentile.
    pub p95: Percentile,
    /// 99th percentile.
    pub p99: Percentile,
    /// Maximum.
    pub max: f64,
}

/// A percentile and its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percentile {
    /// Estimate of the percentile.
    pub value: f64,
    /// 95 % interval, or the run length that it needs.
    pub interval: Interval,
}

/// A 95 % interval, or the run length that it needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Interval {
    /// Lower and upper limit.
    Known(f64, f64),
    /// The run is too short for an interval. About this number of values is enough (requests, or sessions for session
    /// statistics).
    NeedsSamples(u64),
}

impl Percentile {
    /// The percentile as an estimate; an unknown interval is infinite.
    pub fn estimate(&self) -> Estimate {
        let (low, high) = match self.interval {
            Interval::Known(low, high) => (low, high),
            Interval::NeedsSamples(_) => (f64::NEG_INFINITY, f64::INFINITY),
        };
        Estimate { value: self.value, low, high }
    }
}

/// What the values of a tally are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Values {
    /// Response times of requests, or their sums, in nanoseconds.
    Responses,
    /// Other times, in nanoseconds.
    Times,
    /// Slowdowns.
    Slowdowns,
}

/// The requirements of a system, and the number of its responses in all batches.
pub(super) type Known<'a> = (&'a IntervalRequirements, u64);

/// Summaries of both quantities of a pair over all batches and by group; `None` without values.
pub(super) fn both<const BITS: u32>(
    all: &Batch,
    groups: &[&Batch],
    which: &dyn Fn(&Batch) -> &Pair<BITS>,
    values: [Values; 2],
    known: Known<'_>,
) -> Option<(SampleSummary, SampleSummary)> {
    let [one, two] = [0, 1].map(|i| SampleSummary::of(all, groups, &|b| &which(b)[i], values[i], known));
    (which(all)[0].count > 0).then_some((one, two))
}

impl SampleSummary {
    /// The same values without intervals, which need at least `least` values.
    pub(super) fn without_intervals(self, least: u64) -> Self {
        let open = |of: Percentile| {
            let needed = if let Interval::NeedsSamples(needed) = of.interval { needed } else { 0 };
            Percentile { interval: Interval::NeedsSamples(needed.max(least)), ..of }
        };
        let mean = Estimate { low: f64::NEG_INFINITY, high: f64::INFINITY, ..self.mean };
        let [p50, p90, p95, p99] = [self.p50, self.p90, self.p95, self.p99].map(open);
        Self { mean, p50, p90, p95, p99, ..self }
    }

    /// Of the values of `all` batches and of groups of them.
    pub(super) fn of<const BITS: u32>(
        all: &Batch,
        groups: &[&Batch],
        which: &dyn Fn(&Batch) -> &Tally<BITS>,
        values: Values,
        (requirements, responses): Known<'_>,
    ) -> Self {
        let unit = if values == Values::Slowdowns { 1.0 } else { 1e9 };
        let pairs: Vec<_> = groups.iter().map(|b| (which(b).sum / unit, which(b).count as f64)).collect();
        let whole = which(all);
        let batched = BatchedTallies { whole, each: groups.iter().map(|b| which(b)).collect() };
        let quantile = |p: f64| {
            let interval = match values {
                Values::Responses => requirements.interval(&batched, p, responses, 1.0 / unit),
                Values::Times | Values::Slowdowns => {
                    percentile::interval(&batched, p, requirements.correlation_lengths(responses))
                }
            };
            let interval = match interval {
                PercentileInterval::Known(low, high) => Interval::Known(low / unit, high / unit),
                PercentileInterval::NeedsLongerSample(times) => {
                    Interval::NeedsSamples(percentile::values_needed(times, whole.count))
                }
            };
            Percentile { value: whole.quantile(p) / unit, interval }
        };
        Self {
            mean: ratio(&pairs),
            p50: quantile(0.5),
            p90: quantile(0.9),
            p95: quantile(0.95),
            p99: quantile(0.99),
            max: whole.max / unit,
        }
    }
}

/// The values of a tally, by batch.
struct BatchedTallies<'a, const BITS: u32> {
    whole: &'a Tally<BITS>,
    each: Vec<&'a Tally<BITS>>,
}

impl<const BITS: u32> BatchedValues for BatchedTallies<'_, BITS> {
    fn counts(&self) -> Vec<f64> {
        self.each.iter().map(|tally| tally.count as f64).collect()
    }

    fn above(&self, value: f64) -> Vec<f64> {
        self.each.iter().map(|tally| tally.above(value)).collect()
    }

    fn quantile(&self, share: f64) -> f64 {
        self.whole.quantile(share)
    }
}
