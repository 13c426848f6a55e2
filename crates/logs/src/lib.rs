//! From an access log to sessions, to the right system model, to a workload and a trace that replay the site.
//!
//! [`inputs`] opens logs of any [`Format`], [`read()`] folds them in one pass into a [`Tally`] whose parts merge exactly, and
//! [`Findings`] says what the sessions look like and which system model (Schroeder, Wierman and Harchol-Balter 2006) they
//! call for.
//!
//! # Example
//! Two clients; one of them comes back after more than the timeout of half an hour.
//! ```
//! use offered_logs::{Options, Progress, inputs, read};
//!
//! let line = |client, time| format!("{client} - - [10/Oct/2026:{time} +0000] \"GET / HTTP/1.1\" 200 500\n");
//! let log = [line("10.0.0.1", "09:00:00"), line("10.0.0.2", "09:00:10"), line("10.0.0.1", "09:00:30"), line("10.0.0.1", "11:00:00")];
//! let folder = tempfile::tempdir()?;
//! let file = folder.path().join("access.log");
//! std::fs::write(&file, log.concat())?;
//!
//! let options = Options::default();
//! let inputs = inputs(&[file.display().to_string()], &options.choice)?;
//! let tally = read(&inputs, &options, 1800, &Progress::default())?;
//! assert_eq!((tally.lines, tally.unreadable), (4, 0));
//! let sessions = tally.sessions();
//! assert_eq!((sessions.clients(), sessions.all().len()), (2, 3));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limitations
//! A client is an address (or address and agent, or a field): people behind one proxy are one client, one person on two
//! networks is two. Most logs stamp whole seconds, which hides everything that happens within one.

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
mod think;
mod time;
mod trace;
mod workload;

pub use choose::{Because, Likeness, NEAR, Otherwise, PaperRule, Recommendation, rule};
pub use curve::{Curve, Point};
pub use entry::Entry;
pub use error::Error;
pub use findings::{Doubt, Findings, Pages};
pub use format::{Choice, Format};
pub use gaps::{Bin, Gaps, LONGEST};
pub use input::{Input, Progress, inputs};
pub use labels::{Label, Labels, Rules};
pub use lengths::{Geometric, Lengths, Share};
pub use options::{Dropped, Extensions, Filters, Options, PARTS, ServiceFrom, Statuses, pattern};
pub use read::{Moments, Tally, read};
pub use sessions::{Session, Sessions};
pub use starts::{Concurrency, Idc, Starts};
pub use think::Think;
pub use trace::{Written, trace};
