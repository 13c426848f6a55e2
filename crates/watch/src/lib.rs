//! Live figures of a run: a tally of its events, a live page, and metrics for Prometheus.
//!
//! A [`Tally`] takes the events of a run, batch by batch and in any order, in the thread that collects them; generator threads are not
//! involved. It makes a [`Snapshot`] every second: rates, times and counts of the last ten seconds and of the analysed time so far, and
//! the interim verdict. A [`LivePage`] shows snapshots in a browser, a [`MetricsServer`] exports them to Prometheus.
//!
//! # Accuracy
//! Counts, rates and CoV are exact. Percentiles come from a histogram with three significant digits (at most 0.1 % too large).
//!
//! # Limitations
//! An event arrives when its request has ended, and up to half a second later. Until then a request shows only in
//! [`Snapshot::in_flight`] and in the rates.

mod gaps;
mod http;
mod metrics;
mod page;
mod snapshot;
mod tally;
mod threshold_tracker;
mod times;
mod totals;

pub use metrics::{MetricsFeed, MetricsServer};
pub use page::{LivePage, PageFeed};
pub use snapshot::{
    Growth, HistogramBin, LatenessPercentiles, LiveRequest, LiveStats, LiveWorker, Phase, ResponsePercentiles,
    Snapshot, WorkerPhase,
};
pub use tally::Tally;
pub use totals::Totals;
