//! Why workers do not begin together.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use offered_model::{Nanos, Share};

/// Why a worker does not begin with the others.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Its number has been taken.
    #[error(
        "worker {share} is there already, on {host}: {place} is of an earlier run, or two workers were given one number; give each run a \
         folder of its own, and each worker its own number"
    )]
    Twice {
        /// The number.
        share: Share,
        /// Where who has it runs.
        host: String,
        /// Where they meet.
        place: String,
    },
    /// Another worker would make another run.
    #[error("worker {share} on {host} has another {what} ({theirs}, here {ours}): all workers of a run need the same")]
    Differs {
        /// The other worker.
        share: Share,
        /// Where it runs.
        host: String,
        /// `workload`, `version` or `number of workers`.
        what: &'static str,
        /// What it has.
        theirs: String,
        /// What this one has.
        ours: String,
    },
    /// Not everybody came.
    #[error("after {wait} there is no worker {}", list(missing))]
    Missing {
        /// Who did not, from 1.
        missing: Vec<u64>,
        /// How long they were waited for.
        wait: Nanos,
    },
    /// The others began without this one.
    #[error("too late: the others have begun {by} ago")]
    TooLate {
        /// How long ago.
        by: Nanos,
    },
    /// Somebody has called the run off.
    #[error("the run was called off: {why}; begin it again in another folder")]
    CalledOff {
        /// Why.
        why: String,
    },
    /// It was stopped while it waited.
    #[error("stopped while waiting for the other workers")]
    Stopped,
    /// Worker 1 cannot be asked there what its clock shows.
    #[error("cannot tell the other workers at {at} what the clock shows: {source}")]
    Telling {
        /// Where.
        at: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The place where they meet, which is no folder, cannot be used.
    #[error("{0}")]
    Place(String),
    /// The folder cannot be used.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// `read`, `write`, `create`.
        action: &'static str,
        /// What.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Error {
    /// Whether the question is wrong, and not the answer missing.
    pub fn is_of_input(&self) -> bool {
        matches!(self, Self::Twice { .. } | Self::Differs { .. })
    }

    pub(crate) fn telling(at: SocketAddr) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Telling { at, source }
    }

    pub(crate) fn file(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File { action, path: path.into(), source }
    }
}

/// The first few numbers.
fn list(numbers: &[u64]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<String> = numbers.iter().take(SHOWN).map(u64::to_string).collect();
    match numbers.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
