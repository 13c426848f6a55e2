//! The generator error of a percentile of streamed responses.

use offered_stats::values::Sorted;
use serde::{Deserialize, Serialize};

/// The percentiles whose errors are reported.
pub(crate) const PERCENTILES: [f64; 3] = [0.50, 0.95, 0.99];
/// A smaller error, in milliseconds, causes no warning for a run that is otherwise valid: a server on the same machine
/// responds within a few times the usual lateness.
pub(crate) const NOTICEABLE_MS: f64 = 1.0;

/// The error of a percentile of streamed responses that the generator may have caused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MetricError {
    /// The metric: `ttft` or `tpot`.
    pub metric: String,
    /// The percentile: 50, 95 or 99.
    pub percentile: f64,
    /// The reported value.
    pub value_ms: f64,
    /// The smallest possible value without delays of the generator: requests are written at their scheduled times, and
    /// each chunk arrives at the earliest possible time.
    pub least_ms: f64,
    /// The largest possible value without delays of the generator.
    pub most_ms: f64,
    /// The largest possible difference between the value and the value without delays.
    pub error_ms: f64,
}

impl MetricError {
    /// The errors of a metric, from its values and its least and largest values without delays of the generator, in nanoseconds.
    pub(crate) fn all(metric: &str, values: &Sorted<i64>, [least, most]: [&Sorted<i64>; 2]) -> Vec<Self> {
        let ms = |values: &Sorted<i64>, p: f64| values.quantile(p).map(|ns| ns as f64 / 1e6);
        let error = |p: f64| Some(Self::new(metric, 100.0 * p, [ms(values, p)?, ms(least, p)?, ms(most, p)?]));
        PERCENTILES.into_iter().filter_map(error).collect()
    }

    /// The largest of these errors, as a share, if one exceeds the tolerance and a millisecond.
    pub(crate) fn worst(errors: &[Self], tolerance: f64) -> Option<&Self> {
        errors.iter().filter(|error| error.matters(tolerance)).max_by(|a, b| a.share().total_cmp(&b.share()))
    }

    fn new(metric: &str, percentile: f64, [value_ms, least_ms, most_ms]: [f64; 3]) -> Self {
        let error_ms = (value_ms - least_ms).abs().max((most_ms - value_ms).abs());
        Self { metric: metric.to_owned(), percentile, value_ms, least_ms, most_ms, error_ms }
    }

    /// The error as a share of the value, as a fraction.
    pub fn share(&self) -> f64 {
        if self.value_ms == 0.0 { 0.0 } else { self.error_ms / self.value_ms.abs() }
    }

    /// What the generator can have changed, as the rest of a sentence about it.
    pub(crate) fn text(&self) -> String {
        let Self { metric, percentile, value_ms, error_ms, .. } = self;
        format!("may have changed the {metric} p{percentile} of {value_ms:.1} ms by up to {error_ms:.1} ms")
    }

    /// Whether the error exceeds the tolerance and is at least a millisecond.
    fn matters(&self, tolerance: f64) -> bool {
        self.error_ms >= NOTICEABLE_MS && self.share() > tolerance
    }
}
