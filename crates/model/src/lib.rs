//! What is meant: time, laws, arrival processes, sessions, the agenda, the workload file, and the event.
//!
//! Everything here is pure: no clock, no socket, no thread, no global randomness. The schedule of a run is a function of the
//! workload and its seed, and this room is that function.
//!
//! # Example
//! The launches of a minute of Poisson arrivals, and those of the second of three workers: every third of them, to the
//! nanosecond.
//! ```
//! use offered_model::{Agenda, Instant, Share, Workload};
//!
//! let text = r#"
//!     seed = 42
//!     duration = "1m"
//!     arrivals.open = { rate = "100/s" }
//!     target.url = "http://127.0.0.1:8080/"
//! "#;
//! let workload = Workload::parse(text, "workload.toml", &|path| Err(format!("{path}: no files here")))?;
//! let launches = |share: Share| -> Vec<Instant> {
//!     let mut agenda = Agenda::new(&workload, share);
//!     std::iter::from_fn(|| agenda.due(Instant::MAX)).map(|launch| launch.intended).collect()
//! };
//! let (all, second) = (launches(Share::ALL), launches("2/3".parse()?));
//! assert!((all.len() as f64 - 6000.0).abs() < 4.0 * 6000f64.sqrt());
//! assert!(second.iter().eq(all.iter().skip(1).step_by(3)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod agenda;
pub mod arrivals;
pub mod catalogue;
mod closed;
mod count;
pub mod csv;
pub mod document;
pub mod event;
pub mod events;
mod exchange;
pub mod flow;
pub mod heap;
pub mod integral;
mod launch;
pub mod law;
mod log;
mod named;
pub mod note;
pub mod policy;
pub mod random;
pub mod reason;
pub mod recording;
mod run_id;
pub mod secret;
mod sessions;
pub mod share;
mod sqlstate;
pub mod superposition;
pub mod swf;
pub mod template;
pub mod thinking;
pub mod threshold;
pub mod time;
pub mod trace;
mod worker_clock;
pub mod workload;

pub use agenda::{After, Agenda};
pub use arrivals::Schedule;
pub use count::Count;
pub use event::{Event, Outcome, Place};
pub use exchange::{Exchange, Failed, Said};
pub use flow::Flows;
pub use launch::{Launch, Visit};
pub use law::Law;
pub use note::Note;
pub use policy::Policy;
pub use random::{Purpose, Seed, Stream};
pub use reason::Reason;
pub use recording::Recording;
pub use run_id::RunId;
pub use sessions::System;
pub use share::Share;
pub use sqlstate::SqlState;
pub use template::Template;
pub use threshold::{Objective, Threshold};
pub use time::{Difference, Instant, Nanos, Rate};
pub use trace::{Replay, Trace};
pub use worker_clock::{Offset, Placing, WorkerClock};
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

    /// `name` is none of these.
    #[doc(hidden)]
    pub fn no_name(name: &str, names: &[&str]) -> Self {
        Self(format!("`{name}` is not one of {}{}", names.join(", "), nearest(name, names)))
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
