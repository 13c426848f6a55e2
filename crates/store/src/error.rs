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
    /// The events of some seconds could not be written while the run went on.
    #[error("{lost} events could not be kept: {first}")]
    Lost {
        /// How many events.
        lost: u64,
        /// The first failure.
        first: Box<Error>,
    },
    /// The writer thread is gone: it was finished before, or it panicked.
    #[error("the recorder has ended already; nothing can be recorded any more")]
    Ended,
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
