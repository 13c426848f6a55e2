//! Analyses access logs: sessions, the recommended system model, and a workload or trace that reproduces the site.
//!
//! [`open_inputs`] opens logs of any [`Format`], [`read()`] counts them in one pass into a [`Tally`], and [`Findings`]
//! describes the sessions and recommends a system model (Schroeder, Wierman and Harchol-Balter 2006). The result does
//! not depend on the number of threads.
//!
//! # Example
//! Two clients; the first returns after more than the session timeout of half an hour.
//! ```
//! use offered_logs::{Options, Progress, open_inputs, read};
//!
//! let line = |client, time| format!("{client} - - [10/Oct/2026:{time} +0000] \"GET / HTTP/1.1\" 200 500\n");
//! let log = [line("10.0.0.1", "09:00:00"), line("10.0.0.2", "09:00:10"), line("10.0.0.1", "09:00:30"), line("10.0.0.1", "11:00:00")];
//! let folder = tempfile::tempdir()?;
//! let file = folder.path().join("access.log");
//! std::fs::write(&file, log.concat())?;
//!
//! let options = Options::default();
//! let inputs = open_inputs(&[file.display().to_string()], &options.choice)?;
//! let tally = read(&inputs, &options, 1800, &Progress::default())?;
//! assert_eq!((tally.requests, tally.unreadable_lines), (4, 0));
//! let sessions = tally.sessions();
//! assert_eq!((sessions.clients(), sessions.all().len()), (2, 3));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limitations
//! A client is an address (or address and user agent, or a field of the log): all users behind a proxy count as one
//! client, a user on two networks as two. Most logs have timestamps of whole seconds, so shorter times are lost.

mod choose;
mod clients;
mod curve;
pub mod document;
mod entry;
mod error;
mod findings;
mod format;
mod gaps;
mod input;
mod labels;
mod lengths;
mod lines;
mod options;
mod part;
mod read;
mod robots;
mod sessions;
mod shares;
mod starts;
pub mod swf;
mod think;
mod time;
mod trace;
mod workload;

pub use choose::{
    PaperRule, Recommendation, RecommendationReason, ResponseRatios, RuleResult, SIMILARITY_TOLERANCE, model_by_rule,
};
pub use curve::{Curve, Point};
pub use entry::Entry;
pub use error::Error;
pub use findings::{Findings, LogWarning, PagesOnly};
pub use format::{Format, FormatChoice};
pub use gaps::{Bin, Gaps, LONGEST};
pub use input::{Input, Progress, open_inputs};
pub use labels::{Label, LabelRules, Labels, path_regex};
pub use lengths::{GeometricFit, LengthShare, SessionLengths};
pub use options::{ASSET_EXTENSIONS, Exclusion, Extensions, Filters, Options, ServiceSource, StatusFilter};
pub use read::{Moments, Tally, read};
pub use sessions::{Session, Sessions};
pub use starts::{Concurrency, Idc, SessionStarts};
pub use think::ThinkTimes;
pub use trace::{TraceSummary, write_trace};
