//! Statistics that are used in several parts of a verdict.

use offered_stats::{Interval, Summary};
use serde::{Deserialize, Serialize};

/// The part of the recording that was judged.
///
/// For a recording of `offered`: the requests scheduled in [start, end), in seconds from the start of the run. For the file of another
/// tool: the requests sent in [start, end], in seconds from the first request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Window {
    /// The start of the window.
    pub start_s: f64,
    /// The end of the window.
    pub end_s: f64,
    /// Number of sent requests in the window.
    pub requests: u64,
    /// Number of sent requests before and after the window.
    pub excluded: u64,
}

/// Statistics of times: one row of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimeStats {
    /// The label, or `Total`.
    pub label: String,
    /// Number of values. There is one gap fewer than there are requests.
    pub n: u64,
    /// Values per second. For gaps: the inverse of the mean. Otherwise: `n` divided by the time from the first request
    /// to the end of the response to the last request (`tps` of the web-generator-toolkit). `None` if that time is
    /// zero.
    pub rate_per_s: Option<f64>,
    /// The median.
    pub p50_ms: f64,
    /// The mean.
    pub mean_ms: f64,
    /// The sample standard deviation.
    pub sdev_ms: f64,
    /// The coefficient of variation: standard deviation over mean.
    pub cov: f64,
    /// The lower end of the 95 % confidence interval of `cov`, exact for exponential gaps; gaps only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cov_low: Option<f64>,
    /// The upper end of the 95 % confidence interval of `cov`; gaps only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cov_high: Option<f64>,
    /// The 90th percentile.
    pub p90_ms: f64,
    /// The 95th percentile.
    pub p95_ms: f64,
    /// The 99th percentile.
    pub p99_ms: f64,
    /// The 99.9th percentile.
    pub p999_ms: f64,
    /// The minimum.
    pub min_ms: f64,
    /// The maximum.
    pub max_ms: f64,
    /// The percentage of requests that failed; responses only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_percent: Option<f64>,
    /// Received bytes per second, in units of 1,000 bytes; responses only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kb_per_s: Option<f64>,
}

impl TimeStats {
    /// The row of a summary; `span_ms` is the time for its rate.
    pub(crate) fn of(label: String, row: &Summary, span_ms: f64, cov: Option<Interval>) -> Self {
        Self {
            label,
            n: row.n as u64,
            rate_per_s: per_second(row.n as f64, span_ms),
            p50_ms: row.median,
            mean_ms: row.mean,
            sdev_ms: row.sdev,
            cov: row.cov,
            cov_low: cov.map(|cov| cov.low),
            cov_high: cov.map(|cov| cov.high),
            p90_ms: row.p90,
            p95_ms: row.p95,
            p99_ms: row.p99,
            p999_ms: row.p999,
            min_ms: row.min,
            max_ms: row.max,
            error_percent: None,
            kb_per_s: None,
        }
    }
}

/// Statistics of response sizes: one row of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SizeStats {
    /// The label, or `Total`.
    pub label: String,
    /// Number of responses.
    pub n: u64,
    /// Responses per second, as in [`TimeStats::rate_per_s`].
    pub rate_per_s: Option<f64>,
    /// The median size.
    pub p50_bytes: f64,
    /// The mean size.
    pub mean_bytes: f64,
    /// The sample standard deviation of the sizes.
    pub sdev_bytes: f64,
    /// The coefficient of variation: standard deviation over mean.
    pub cov: f64,
    /// The 90th percentile of the sizes.
    pub p90_bytes: f64,
    /// The 95th percentile of the sizes.
    pub p95_bytes: f64,
    /// The 99th percentile of the sizes.
    pub p99_bytes: f64,
    /// The minimum size.
    pub min_bytes: f64,
    /// The maximum size.
    pub max_bytes: f64,
}

/// Reading lateness: how long the operating system held the first byte of a response before the generator read it.
/// Measured for a random part of the responses, whose reads have timestamps of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReadingLateness {
    /// Number of measured responses.
    pub n: u64,
    /// The median reading lateness.
    pub p50_us: f64,
    /// The 90th percentile of the reading lateness.
    pub p90_us: f64,
    /// The 99th percentile of the reading lateness.
    pub p99_us: f64,
    /// The maximum reading lateness.
    pub max_us: f64,
}

/// `n` per second in a span in milliseconds; `None` if the span is zero.
pub(crate) fn per_second(n: f64, span_ms: f64) -> Option<f64> {
    (span_ms > 0.0).then(|| n * 1e3 / span_ms)
}
