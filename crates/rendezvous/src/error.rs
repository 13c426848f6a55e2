//! Reasons why workers do not start together.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use offered_base::{Nanos, Share};

/// Why a worker does not start with the others.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another worker has the same number.
    #[error(
        "worker {share} exists already, on {host}: {rendezvous} belongs to an earlier run, or two workers have the same number; use a new directory for each run, and give each worker its own number"
    )]
    DuplicateWorker {
        /// The number.
        share: Share,
        /// The host of the existing worker.
        host: String,
        /// The name of the rendezvous.
        rendezvous: String,
    },
    /// Another worker was started for a different run.
    #[error(
        "worker {share} on {host} has another {property} ({theirs}, here {ours}); start all workers of a run with the same {property}"
    )]
    WorkerMismatch {
        /// The number of the other worker.
        share: Share,
        /// The host of the worker.
        host: String,
        /// `workload`, `version`, `run ID` or `number of workers`.
        property: &'static str,
        /// The value of the worker.
        theirs: String,
        /// The value of this worker.
        ours: String,
    },
    /// Some workers did not arrive in time.
    #[error("after {wait} these workers are missing: {}", list(missing))]
    MissingWorkers {
        /// The numbers, from 1.
        missing: Vec<u64>,
        /// The waiting time.
        wait: Nanos,
    },
    /// The other workers started without this one.
    #[error("too late: the other workers started {by} ago")]
    TooLate {
        /// The time since the start.
        by: Nanos,
    },
    /// Another worker cancelled the run.
    #[error("the run was cancelled: {reason}; start it again with a new directory")]
    Cancelled {
        /// The reason.
        reason: String,
    },
    /// The worker was stopped while it waited.
    #[error("stopped while waiting for the other workers")]
    Stopped,
    /// Worker 1 cannot serve its clock.
    #[error("cannot serve the clock to the other workers at {at}: {source}")]
    ClockServer {
        /// The address.
        at: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// An error of a rendezvous that is not a directory.
    #[error("{0}")]
    Backend(String),
    /// An error of a rendezvous directory.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// `read`, `write`, `create`.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl Error {
    /// Whether wrong input causes the error, rather than the environment.
    pub fn is_of_input(&self) -> bool {
        matches!(self, Self::DuplicateWorker { .. } | Self::WorkerMismatch { .. })
    }

    pub(crate) fn clock_server(at: SocketAddr) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::ClockServer { at, source }
    }

    pub(crate) fn file(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, path: path.into(), source }
    }
}

/// The first few numbers, and how many more there are.
fn list(numbers: &[u64]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<String> = numbers.iter().take(SHOWN).map(u64::to_string).collect();
    match numbers.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
