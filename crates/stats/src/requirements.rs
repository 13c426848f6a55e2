//! How many responses of a simulated system the intervals of its statistics need. The workload determines it, not the sample.
//!
//! A sample from a calm period, or without the largest sizes, has low values and seems to be long enough. If it decided itself whether it
//! has an interval, too many of the intervals would miss the true value.

use std::fmt;
use std::sync::Arc;

use crate::percentile::{self, BatchedValues, PercentileInterval};
use crate::queue::QueueCorrelation;

/// Number of sizes above a percentile of the response from which it has an interval, where single large sizes cause most long responses.
/// The value was chosen by coverage.
const LARGE_SIZES: f64 = 20.0;

/// The numbers of responses that the statistics of a simulated system need. By default, nothing is known of the system.
#[derive(Clone, Debug, Default)]
pub struct IntervalRequirements {
    /// The correlation of the responses; `None` if unknown.
    pub queue: Option<QueueCorrelation>,
    /// What the sizes require for the mean.
    pub mean: MeanRequirement,
    /// What the sizes require for percentiles; `None`: nothing.
    pub large_sizes: Option<LargeSizes>,
}

/// What the sizes require for an interval of the mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MeanRequirement {
    /// This number of responses; 0: any.
    Responses(u64),
    /// No number of responses is enough: the variance of the estimate is infinite.
    NoNumber,
    /// The mean is infinite.
    InfiniteMean,
}

/// The sizes of a system in which single large sizes cause most long responses.
#[derive(Clone)]
pub struct LargeSizes {
    /// Mean number of sizes of a request above this one, in seconds.
    above: Arc<dyn Fn(f64) -> f64 + Send + Sync>,
    /// Known percentiles of the response: each p in (0, 1), and its value in seconds.
    percentiles: Vec<(f64, f64)>,
}

impl IntervalRequirements {
    /// Number of responses from which the mean has an interval; `None` if no number is enough.
    pub fn needed_for_mean(&self) -> Option<u64> {
        match self.mean {
            MeanRequirement::Responses(needed) => {
                Some(needed.max(self.queue.map_or(0, QueueCorrelation::needed_for_mean)))
            }
            MeanRequirement::NoNumber | MeanRequirement::InfiniteMean => None,
        }
    }

    /// Number of responses from which the percentile `p` (in (0, 1)) of the response may have an interval, if its estimate is `value`, in
    /// seconds.
    pub fn needed_for_percentile(&self, p: f64, value: f64) -> u64 {
        let queue = self.queue.map_or(0, |queue| queue.needed_for_percentile(p));
        queue.max(self.large_sizes.as_ref().map_or(0, |sizes| sizes.needed_above(sizes.percentile(p, value))))
    }

    /// As [`percentile::interval`], of response times in a sample of `responses`: all of them, or those of some requests, which wait in
    /// the same queue. `seconds` is the unit of the values.
    pub fn interval(&self, values: &impl BatchedValues, p: f64, responses: u64, seconds: f64) -> PercentileInterval {
        let needed = self.needed_for_percentile(p, values.quantile(p) * seconds) as f64 / responses as f64;
        match percentile::interval(values, p, self.correlation_lengths(responses)) {
            PercentileInterval::NeedsLongerSample(times) => PercentileInterval::NeedsLongerSample(times.max(needed)),
            PercentileInterval::Known(..) if needed > 1.0 => PercentileInterval::NeedsLongerSample(needed),
            known @ PercentileInterval::Known(..) => known,
        }
    }

    /// Number of correlation lengths of the median in this number of responses; `None` if unknown.
    pub fn correlation_lengths(&self, responses: u64) -> Option<f64> {
        self.queue?.correlation_lengths(responses)
    }
}

impl Default for MeanRequirement {
    fn default() -> Self {
        Self::Responses(0)
    }
}

impl LargeSizes {
    /// Sizes of which a request has on average `above(size)` that are larger than `size`, in seconds.
    ///
    /// `percentiles` are known percentiles of the response: each p in (0, 1), and its value in seconds. A known one decides instead of the
    /// estimate: samples with a low estimate have more sizes above it, so that they alone would get an interval.
    pub fn new(above: impl Fn(f64) -> f64 + Send + Sync + 'static, percentiles: Vec<(f64, f64)>) -> Self {
        Self { above: Arc::new(above), percentiles }
    }

    /// The percentile `p` (in (0, 1)) of the response in seconds, if it is known, otherwise `estimate`.
    pub fn percentile(&self, p: f64, estimate: f64) -> f64 {
        self.percentiles.iter().find(|(of, _)| (of - p).abs() < 1e-9).map_or(estimate, |(_, value)| *value)
    }

    /// Number of responses from which the share of responses above `value`, in seconds, has an interval.
    pub fn needed_above(&self, value: f64) -> u64 {
        (LARGE_SIZES / (self.above)(value)).ceil() as u64
    }
}

impl fmt::Debug for LargeSizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LargeSizes").field("percentiles", &self.percentiles).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::ServiceOrder;

    /// Sizes of a Pareto distribution of at least 1 s, with shape 2.
    fn heavy(percentiles: Vec<(f64, f64)>) -> IntervalRequirements {
        let above = |size: f64| if size < 1.0 { 1.0 } else { size.powi(-2) };
        let large_sizes = Some(LargeSizes::new(above, percentiles));
        IntervalRequirements { queue: None, mean: MeanRequirement::NoNumber, large_sizes }
    }

    #[test]
    fn twenty_sizes_must_be_larger_than_a_percentile() {
        assert_eq!(heavy(Vec::new()).needed_for_percentile(0.9, 10.0), 2000);
        assert_eq!(heavy(Vec::new()).needed_for_mean(), None);
        // The estimate of a calm sample is lower than the percentile.
        let known = heavy(vec![(0.9, 20.0)]);
        assert_eq!((known.needed_for_percentile(0.9, 10.0), known.needed_for_percentile(0.99, 10.0)), (8000, 2000));
    }

    #[test]
    fn the_larger_of_two_requirements_counts() {
        let queue = QueueCorrelation::new(0.95, 1.0, ServiceOrder::Arrivals);
        let of = |mean| IntervalRequirements { queue, mean, ..heavy(Vec::new()) };
        assert_eq!(of(MeanRequirement::Responses(7)).needed_for_mean(), Some(128_000));
        assert_eq!(of(MeanRequirement::Responses(200_000)).needed_for_mean(), Some(200_000));
        assert_eq!(of(MeanRequirement::InfiniteMean).needed_for_mean(), None);
        let needed = queue.unwrap().needed_for_percentile(0.9);
        assert_eq!(of(MeanRequirement::NoNumber).needed_for_percentile(0.9, 1.0), needed);
        assert_eq!(of(MeanRequirement::NoNumber).needed_for_percentile(0.9, 1000.0), 20_000_000);
    }

    /// Sixty batches of a hundred values each.
    struct Uniform;

    impl BatchedValues for Uniform {
        fn counts(&self) -> Vec<f64> {
            vec![100.0; percentile::BATCHES]
        }

        fn above(&self, value: f64) -> Vec<f64> {
            vec![100.0 * (1.0 - value / 1e9); percentile::BATCHES]
        }

        fn quantile(&self, share: f64) -> f64 {
            share * 1e9
        }
    }

    #[test]
    fn a_sample_with_fewer_larger_sizes_has_no_interval() {
        let interval =
            |requirements: &IntervalRequirements, responses| requirements.interval(&Uniform, 0.9, responses, 1e-9);
        let known = heavy(vec![(0.9, 20.0)]);
        assert_eq!(interval(&known, 6000), PercentileInterval::NeedsLongerSample(8000.0 / 6000.0));
        // These are the responses of a class, and all others wait in the same queue.
        let all = percentile::interval(&Uniform, 0.9, None);
        assert!(matches!(all, PercentileInterval::Known(..)) && interval(&known, 8000) == all);
        assert_eq!(interval(&heavy(Vec::new()), 6000), all, "every size is larger than 0.9 s");
    }
}
