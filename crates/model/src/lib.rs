//! What is meant: time, laws, arrival processes, sessions, the agenda, the workload file, and the event.
//!
//! Everything here is pure: no clock, no socket, no thread, no global randomness. The schedule of a run is a function of the
//! workload and its seed, and this room is that function.

pub mod agenda;
pub mod arrivals;
pub mod csv;
pub mod event;
pub mod flow;
pub mod heap;
pub mod integral;
mod launch;
pub mod law;
mod log;
pub mod policy;
pub mod random;
pub mod reason;
pub mod recording;
mod sessions;
pub mod share;
pub mod superposition;
pub mod template;
pub mod threshold;
pub mod time;
pub mod trace;
pub mod workload;

pub use agenda::{After, Agenda};
pub use arrivals::Schedule;
pub use event::{Event, Outcome};
pub use flow::Flows;
pub use launch::{Launch, Visit};
pub use law::Law;
pub use policy::Policy;
pub use random::{Purpose, Seed, Stream};
pub use reason::Reason;
pub use recording::Recording;
pub use share::Share;
pub use template::Template;
pub use threshold::{Objective, Threshold};
pub use time::{Nanos, Rate};
pub use trace::{Replay, Trace};
pub use workload::Workload;

/// A value that cannot be: what it was, what was expected, and what to write instead, in one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Wrong(String);

impl Wrong {
    /// With this line.
    pub fn new(line: impl Into<String>) -> Self {
        Self(line.into())
    }
}

/// ` (did you mean ...?)` when one of `known` is spelled nearly like `word`, else nothing.
pub(crate) fn nearest(word: &str, known: &[&str]) -> String {
    known
        .iter()
        .map(|name| (strsim::damerau_levenshtein(word, name), name))
        .min()
        .filter(|(distance, name)| *distance <= 1 + name.len() / 4)
        .map_or_else(String::new, |(_, name)| format!(" (did you mean `{name}`?)"))
}
