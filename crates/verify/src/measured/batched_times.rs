//! Times of requests by part of the analysed time, and their statistics with intervals.

use offered_base::Difference;
use offered_events::Outcome;
use offered_stats::groups::{Groups, SortedGroups};
use offered_stats::percentile::{self, BatchedValues, PercentileInterval, SortedBatches};
use offered_stats::requirements::IntervalRequirements;
use offered_stats::steady_state::{Estimate, ratio};
use offered_stats::values::Sorted;
use offered_workload::threshold::Statistic;

/// Number of equal parts of the analysed time, which are the batches of the confidence intervals.
pub(super) const PARTS: usize = percentile::BATCHES;

/// Stands for the infinite time of a failed request.
const NEVER: Difference = Difference(i64::MAX);

/// The time of a request with this outcome: `time` if it succeeded, [`NEVER`] if it failed.
pub(super) fn time_or_never(outcome: Outcome, time: Option<Difference>) -> Option<Difference> {
    match outcome {
        Outcome::Ok => time,
        // A request that was cut off by the end of the run might have succeeded.
        Outcome::Cut => None,
        _ => Some(NEVER),
    }
}

/// Collects times by part.
pub(super) struct BatchedTimesBuilder {
    finite: Groups<i64>,
    infinite: [u64; PARTS],
}

impl Default for BatchedTimesBuilder {
    fn default() -> Self {
        Self { finite: Groups::default(), infinite: [0; PARTS] }
    }
}

impl BatchedTimesBuilder {
    pub(super) fn add(&mut self, part: usize, time: Option<Difference>) {
        match time {
            Some(NEVER) => self.infinite[part] += 1,
            Some(time) => self.finite.add(part, time.0),
            None => {}
        }
    }

    pub(super) fn sorted(self) -> BatchedTimes {
        let (requirements, responses) = (IntervalRequirements::default(), 0);
        BatchedTimes { finite: self.finite.sorted(), infinite: self.infinite, requirements, responses }
    }
}

/// Times in nanoseconds, by part of the analysed time. [`BatchedTimes::estimate`] pools the parts for the value and
/// compares them for the confidence interval.
#[derive(Clone, Debug)]
pub struct BatchedTimes {
    finite: SortedGroups<i64>,
    /// Number of failed requests, by part.
    infinite: [u64; PARTS],
    /// The numbers of responses that intervals need.
    requirements: IntervalRequirements,
    /// Number of the responses that wait in the same queue as these.
    responses: u64,
}

impl BatchedTimes {
    /// Sets the numbers of responses that intervals need, and the number of responses that wait in the same queue as these.
    pub(super) fn with_requirements(self, requirements: IntervalRequirements, responses: u64) -> Self {
        Self { requirements, responses, ..self }
    }

    /// Number of times, failed requests included.
    pub fn len(&self) -> u64 {
        self.finite().len() + self.infinite.iter().sum::<u64>()
    }

    /// Whether there are no times.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The times of the requests that did not fail, ascending.
    pub fn finite(&self) -> &Sorted<i64> {
        self.finite.all()
    }

    /// The statistic in seconds with its 95 % confidence interval; `None` without a single value.
    ///
    /// Failed requests count as infinite in percentiles. Mean and maximum are those of the other requests.
    pub fn estimate(&self, statistic: Statistic) -> Option<Estimate> {
        if self.is_empty() {
            return None;
        }
        let Some(largest) = self.finite().max() else { return Some(without_interval(f64::INFINITY)) };
        let parts = || (0..PARTS).map(|part| (self.finite.group(part), self.infinite[part]));
        Some(match statistic {
            Statistic::Mean => {
                let moments = |came: Option<&Sorted<i64>>| came.map(Sorted::moments).unwrap_or_default();
                let sums = parts().map(|(came, _)| moments(came)).map(|of| (of.sum as f64 / 1e9, of.n as f64));
                let mean = ratio(&sums.collect::<Vec<_>>());
                match () {
                    () if !self.has_mean_interval() => without_interval(mean.value),
                    () if self.finite().min().is_some_and(|least| least < 0) => mean,
                    () => drop_uninformative_interval(mean),
                }
            }
            Statistic::Max => without_interval(largest as f64 / 1e9),
            Statistic::Percentile(percent) => match self.interval(percent) {
                (value, PercentileInterval::Known(low, high)) if high.is_finite() => {
                    Estimate { value: value / 1e9, low: low / 1e9, high: high / 1e9 }
                }
                (value, _) => without_interval(value / 1e9),
            },
        })
    }

    /// Whether there are enough responses for an interval of the mean.
    fn has_mean_interval(&self) -> bool {
        self.requirements.needed_for_mean().is_some_and(|needed| needed <= self.responses)
    }

    /// The number of times from which the mean has an interval; `None` if it has one, or if no number is enough.
    pub fn mean_needs(&self) -> Option<u64> {
        let needed = self.requirements.needed_for_mean().filter(|needed| *needed > self.responses)?;
        Some(percentile::values_needed(needed as f64 / self.responses as f64, self.len()))
    }

    /// The approximate number of times from which a percentile has an interval; `None` if it has one, or without a single
    /// value.
    pub fn times_needed(&self, percent: f64) -> Option<u64> {
        match (!self.is_empty()).then(|| self.interval(percent))? {
            (_, PercentileInterval::NeedsLongerSample(times)) => Some(percentile::values_needed(times, self.len())),
            _ => None,
        }
    }

    /// A percentile and its interval in nanoseconds.
    fn interval(&self, percent: f64) -> (f64, PercentileInterval) {
        let (batched, p) = (SortedBatches { finite: &self.finite, infinite: &self.infinite }, percent / 100.0);
        (batched.quantile(p), self.requirements.interval(&batched, p, self.responses.max(1), 1e-9))
    }
}

/// An estimate with an unknown (infinite) interval.
pub(super) fn without_interval(value: f64) -> Estimate {
    Estimate { value, low: f64::NEG_INFINITY, high: f64::INFINITY }
}

/// Replaces the interval of a metric without negative values by an infinite one if it includes negative values: the parts are then so
/// correlated that they count as hardly more than one.
pub(super) fn drop_uninformative_interval(estimate: Estimate) -> Estimate {
    if estimate.low < 0.0 { without_interval(estimate.value) } else { estimate }
}

#[cfg(test)]
mod tests {
    use offered_stats::requirements::{LargeSizes, MeanRequirement};

    use super::*;

    #[test]
    fn intervals_below_zero_become_infinite() {
        let of = |low, high| drop_uninformative_interval(Estimate { value: 962.0, low, high });
        assert_eq!(of(950.0, 980.0).high, 980.0);
        // A measured throughput of 962.2/s had this interval.
        assert_eq!((of(-8658.0, 6824.0).value, of(-8658.0, 6824.0).half_width()), (962.0, f64::INFINITY));
    }

    #[test]
    fn sizes_without_a_fourth_moment_leave_some_percentiles_and_no_interval_of_the_mean() {
        let mut values = BatchedTimesBuilder::default();
        for i in 0..6000 {
            values.add(i % PARTS, Some(Difference(1_000_000 + (i as i64 * 7919 % 6000))));
        }
        let times = values.sorted();
        let half_width = |times: &BatchedTimes, statistic| times.estimate(statistic).unwrap().half_width();
        assert!(half_width(&times, Statistic::Mean) < 1.0);
        // Of the sizes, 1 % are larger than a time below 1.004 ms, and 0.1 % are larger than the others.
        let large_sizes = LargeSizes::new(|size| if size < 1.004e-3 { 0.01 } else { 0.001 }, Vec::new());
        let requirements = IntervalRequirements {
            mean: MeanRequirement::NoNumber,
            large_sizes: Some(large_sizes),
            ..IntervalRequirements::default()
        };
        let heavy = times.clone().with_requirements(requirements.clone(), 6000);
        assert_eq!((half_width(&heavy, Statistic::Mean), heavy.mean_needs()), (f64::INFINITY, None));
        assert!(half_width(&heavy, Statistic::Percentile(50.0)) < 1.0);
        assert_eq!(half_width(&heavy, Statistic::Percentile(90.0)), f64::INFINITY);
        assert_eq!((heavy.times_needed(50.0), heavy.times_needed(90.0)), (None, Some(20_000)));
        // These times are half of all.
        let half = times.with_requirements(requirements, 12_000);
        assert_eq!(half.times_needed(90.0), Some(10_000));
    }

    #[test]
    fn the_mean_of_values_of_both_signs_has_an_interval() {
        let mean = |shift: i64| {
            let mut values = BatchedTimesBuilder::default();
            for i in 0..600 {
                values.add(i % PARTS, Some(Difference((i as i64 * 7919 % 600 - shift) * 1_000_000_000)));
            }
            values.sorted().estimate(Statistic::Mean).unwrap()
        };
        let around_zero = mean(300);
        assert!(around_zero.low < 0.0 && around_zero.high > 0.0 && around_zero.half_width() < 50.0, "{around_zero:?}");
        assert!(mean(0).low > 200.0, "{:?}", mean(0));
    }
}
