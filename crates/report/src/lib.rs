//! Report: what a person reads and looks at, as one page with nothing beside it.
//!
//! From verdicts and [`Portrait`]s (aggregates of bounded size) a [`Report`] is made, which is also the JSON document; from it
//! a [`Document`](document::Document) of sections with tables and [`Chart`](chart::Chart)s; and that is written as
//! [`html`](html::html) or, shorter, as [`markdown`](markdown::markdown). Each step is a pure function of the one before, so the page and the JSON cannot disagree.
//!
//! # Limitations
//! Charts as files are [`svg`]; PNG is what the button of each chart on the page saves.
//! Percentile curves end where fewer than two values are left. Intervals take ten parts of the judged time for independent,
//! which they are not when the run is shorter than a few hundred service times.

pub mod chart;
mod checks;
mod compare;
pub mod csv;
pub mod document;
pub mod figure;
mod gather;
pub mod html;
pub mod junit;
mod known;
pub mod markdown;
mod portrait;
mod report;
mod sections;
pub mod svg;
mod sweep;
mod tested;
#[cfg(test)]
mod tests;

pub use checks::Tried;
pub use compare::Difference;
pub use known::Known;
pub use portrait::{Counts, Ends, Fragment, Gaps, Grid, InSystem, OverTime, Percentiles, Portrait, Spread};
pub use report::{Report, Run};
pub use sections::{document, summary};
pub use tested::Tested;
