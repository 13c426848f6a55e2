//! From an access log to sessions, to the right system model, to a workload and a trace that replay the site.
//!
//! [`inputs`] opens logs of any [`Format`], [`read`] folds them in one pass into a [`Tally`] whose parts merge exactly, and
//! [`Findings`] says what the sessions look like and which system model (Schroeder, Wierman and Harchol-Balter 2006) they
//! call for.
//!
//! # Limitations
//! A client is an address (or address and agent, or a field): people behind one proxy are one client, one person on two
//! networks is two. Most logs stamp whole seconds, which hides everything that happens within one.

mod choose;
mod clients;
mod curve;
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

pub use choose::{Recommendation, rule};
pub use curve::{Curve, Point};
pub use entry::Entry;
pub use error::Error;
pub use findings::{Findings, Pages};
pub use format::{Choice, Format};
pub use gaps::{Bin, Gaps, LONGEST};
pub use input::{Input, Progress, inputs};
pub use labels::{Label, Labels, Rules};
pub use lengths::{Geometric, Lengths, Share};
pub use options::{Dropped, Extensions, Filters, Options, PARTS, Statuses, pattern};
pub use read::{Moments, Tally, read};
pub use sessions::{Session, Sessions};
pub use starts::{Concurrency, Idc, Starts};
pub use think::Think;
pub use trace::{Written, trace};
