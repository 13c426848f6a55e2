//! Reports of runs, sweeps and sites: a self-contained HTML page, Markdown, `JUnit` XML, SVG charts and JSON.
//!
//! Verdicts and [`ChartData`] (aggregates of bounded size) make a [`Report`], which is also the JSON document. A report makes a
//! [`Document`](document::Document) of sections with tables and [`Chart`](chart::Chart)s, which is written as
//! [`html`](html::html). [`markdown`](markdown::markdown) and [`junit`](junit::junit) are shorter. Each step is a pure function of the
//! previous one, so all agree with the JSON document.
//!
//! # Limitations
//! Chart files are [`svg`] only; the button of each chart on the page saves a PNG.
//! Percentile curves end where fewer than two values are left. Confidence intervals assume that 60 parts of the analysed time are
//! independent, which is wrong for runs shorter than a few hundred service times.

pub mod chart;
mod chart_data;
mod check_counts;
mod conclusion;
pub mod csv;
mod difference;
pub mod document;
pub mod figure;
pub mod format;
mod gather;
pub mod html;
mod input_document;
pub mod junit;
pub mod markdown;
mod next_steps;
mod point_name;
mod readable;
mod report;
mod run;
mod sections;
pub mod study;
pub mod svg;
mod test_setup;
#[cfg(test)]
mod tests;
mod verdict_lines;

pub use chart_data::{
    ChartData, ConcurrencyAtArrival, ConfidenceInterval, Counts, Excerpt, Gaps, Grid, OverTime, Percentiles,
    TimeDistribution,
};
pub use check_counts::CheckCounts;
pub use difference::Difference;
pub use input_document::InputDocument;
pub use report::Report;
pub use run::Run;
pub use sections::document;
pub use test_setup::TestSetup;
pub use verdict_lines::{Subject, VerdictLine, VerdictLines};
