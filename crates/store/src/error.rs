//! What can go wrong between events and files.

use std::io;
use std::path::{Path, PathBuf};

/// Why a recording could not be written or read; one line that names the file and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried: `create`, `write`, `read`, ...
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The directory of a new run is there already.
    #[error("{} exists already; a recorded run is never overwritten, choose another directory", .0.display())]
    Exists(PathBuf),
    /// The last events of a run could not be written.
    #[error("{missing} events could not be kept{}: {why}", forgotten(*lost))]
    Unkept {
        /// How many events.
        missing: u64,
        /// How many of them nobody knows any more, because memory had no room for them either.
        lost: u64,
        /// Why the disk did not take them.
        why: Box<Error>,
    },
    /// The system has no thread for the recorder.
    #[error("cannot start the thread that records: {0}")]
    NoThread(io::Error),
    /// The writer thread is gone: it was finished before, or it panicked.
    #[error("the recorder has ended already; nothing can be recorded any more")]
    Ended,
    /// The file is of no kind that is known: it must be said which it is.
    #[error("{file}: is of no kind that is known here; known are {}", known.join(" "))]
    NoKnownKind {
        /// The file.
        file: String,
        /// The names of the kinds.
        known: Vec<&'static str>,
    },
    /// Most of the file cannot be read as what it was taken for.
    #[error(
        "{file}: {unreadable} of {rows} rows cannot be read as {kind}; perhaps it is something else. The first: {first}"
    )]
    AnotherKind {
        /// The file.
        file: String,
        /// What it was taken for.
        kind: String,
        /// Rows that cannot be read.
        unreadable: u64,
        /// All rows.
        rows: u64,
        /// What is wrong with the first of them.
        first: String,
    },
    /// A table of no known tool: it must be said which column is which.
    #[error("{file}: is a table of no known tool, and nobody said which column holds the launch times; its columns are: {}", columns.join(", "))]
    NoColumn {
        /// The file.
        file: String,
        /// The names of its columns.
        columns: Vec<String>,
    },
    /// The file is not what it should be.
    #[error("{file}: {why}")]
    Content {
        /// The file, with `:line` where one is to blame.
        file: String,
        /// What is wrong with it, what was expected, and what to do.
        why: String,
    },
}

impl Error {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }

    pub(crate) fn content(file: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Content { file: file.into(), why: why.into() }
    }
}

fn forgotten(lost: u64) -> String {
    if lost == 0 { String::new() } else { format!(", nor held: {lost} of them count nowhere") }
}
