//! From an access log to sessions, to the right system model, to a workload and a trace that replay the site.
mod entry;
mod format;
mod gaps;
mod part;
mod sessions;
mod time;
pub use entry::Entry;
pub use format::{Choice, Format};
