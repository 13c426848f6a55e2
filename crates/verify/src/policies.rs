//! Policies that alternate within one run: the results of each, from the settled parts of its blocks.
//!
//! # Method
//! A request belongs to the block in which it was scheduled, and counts if it was scheduled after the settling
//! time of the block. The blocks of a policy are separated from one another and treated as independent. The mean
//! response time is the sum of all response times over their number; its interval is that of the ratio estimator over
//! blocks, with Student's t ([`offered_stats::steady_state::ratio_of_trials`]). The ratio to the mean of the first
//! policy is computed from neighbouring blocks, so that changes of the machine or of the arrivals cancel.
//!
//! # Limitations
//! A request near the end of a block may be served under the next policy. A request near the start may find the queue
//! of the previous policy, unless the queue emptied during the settling time. Blocks should be long compared with
//! response times.

pub(crate) mod results;

use offered_events::Recording;
use serde::{Deserialize, Serialize};

use crate::verdict::statistics::Window;

/// The results of one policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Policy {
    /// The name of the policy.
    pub policy: String,
    /// Number of its counted blocks, in which the policy was in effect, and which overlap the analysed time.
    pub blocks: u64,
    /// The total duration of these blocks without settling times, in seconds.
    pub duration_s: f64,
    /// One row per request class, one per label, then `Total`.
    pub rows: Vec<PolicyRow>,
}

offered_base::named! {
    /// The kind of requests in a row.
    pub enum RowKind {
        /// The requests of a class.
        Class = "class",
        /// The requests of a label.
        Label = "label",
        /// All requests.
        Total = "total",
    }
}

/// Statistics of requests under a policy. Response times are done - scheduled of successful requests. Confidence
/// intervals are 95 %; `None` with fewer than three blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PolicyRow {
    /// The kind of the row.
    pub kind: RowKind,
    /// The class or the label, or `Total`.
    pub label: String,
    /// Number of requests scheduled while the policy counted.
    pub requests: u64,
    /// Number of successful requests.
    pub ok: u64,
    /// Requests per second.
    pub rate_per_s: f64,
    /// The mean response time; `None` without successful requests.
    pub mean_ms: Option<f64>,
    /// The lower end of the 95 % confidence interval of `mean_ms`.
    pub mean_low_ms: Option<f64>,
    /// The upper end of the 95 % confidence interval of `mean_ms`.
    pub mean_high_ms: Option<f64>,
    /// The median response time.
    pub p50_ms: Option<f64>,
    /// The 90th percentile of the response time.
    pub p90_ms: Option<f64>,
    /// The 95th percentile of the response time.
    pub p95_ms: Option<f64>,
    /// The 99th percentile of the response time.
    pub p99_ms: Option<f64>,
    /// The maximum response time.
    pub max_ms: Option<f64>,
    /// The mean response time, divided by the mean under the first policy; `None` for the first policy.
    pub ratio: Option<f64>,
    /// The lower end of the 95 % confidence interval of `ratio`.
    pub ratio_low: Option<f64>,
    /// The upper end of the 95 % confidence interval of `ratio`.
    pub ratio_high: Option<f64>,
}

/// A part of a run in which one policy counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicySpan {
    /// The index of the policy, in the order of first turns.
    pub policy: usize,
    /// The start, in nanoseconds since the start of the run.
    pub start_ns: u64,
    /// The end, in nanoseconds since the start of the run.
    pub end_ns: u64,
}

/// The names of the policies of a run in the order of their first turns, and the parts in which they count, in the
/// order of time.
pub fn spans(recording: &Recording, window: &Window) -> (Vec<String>, Vec<PolicySpan>) {
    let blocks = recording.generator.as_ref().map_or(&[][..], |generator| &generator.blocks);
    let (mut names, mut spans) = (Vec::<String>::new(), Vec::new());
    let ns = |s: f64| (s.max(0.0) * 1e9).round() as u64;
    for block in blocks {
        let policy = names.iter().position(|name| *name == block.policy).unwrap_or_else(|| {
            names.push(block.policy.clone());
            names.len() - 1
        });
        let (from_ns, to_ns) = (block.settled_ns.max(ns(window.start_s)), block.ends_ns.min(ns(window.end_s)));
        if block.is_in_place() && from_ns < to_ns {
            spans.push(PolicySpan { policy, start_ns: from_ns, end_ns: to_ns });
        }
    }
    (names, spans)
}

impl Policy {
    /// The rows to display: those of classes if there are any, otherwise those of labels, and `Total`.
    pub fn shown_rows(&self) -> impl Iterator<Item = &PolicyRow> {
        let other =
            if self.rows.iter().any(|row| row.kind == RowKind::Class) { RowKind::Label } else { RowKind::Class };
        // A single label equals the total.
        let labels = self.rows.iter().filter(|row| row.kind == RowKind::Label).count();
        self.rows.iter().filter(move |row| row.kind != other && (row.kind != RowKind::Label || labels > 1))
    }
}
