//! Errors of reading and writing recordings.

use std::io;
use std::path::{Path, PathBuf};

/// Reason why a recording could not be written or read. The message is one line that names the file and the next step.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system reported an error.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The failed operation: `create`, `write`, `read`, ...
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The directory of a new run exists already.
    #[error("{} exists already; a recorded run is never overwritten, choose another directory", .0.display())]
    Exists(PathBuf),
    /// The last events of a run could not be written.
    #[error("{missing} events could not be written{}: {reason}", lost_text(*lost))]
    WriteLoss {
        /// Number of events that are not on disk.
        missing: u64,
        /// Number of these events that are not in memory either, because the buffer was full.
        lost: u64,
        /// The error of the disk.
        reason: Box<Error>,
    },
    /// The recorder thread could not be started.
    #[error("cannot start the recorder thread: {}", offered_io::resource_error(.0))]
    ThreadSpawn(io::Error),
    /// The recorder thread has ended: it was finished before, or it panicked.
    #[error("the recorder has ended; no more events can be recorded")]
    RecorderEnded,
    /// The file format could not be detected.
    #[error("{file}: unknown file format; known formats: {}", formats.join(" "))]
    UnknownFormat {
        /// The file.
        file: String,
        /// The names of all formats.
        formats: Vec<&'static str>,
    },
    /// Most rows of the file are not of the assumed format.
    #[error("{file}: {unreadable} of {rows} rows do not fit the format `{format}`; first error: {first}")]
    WrongFormat {
        /// The file.
        file: String,
        /// The assumed format.
        format: String,
        /// Number of unreadable rows.
        unreadable: u64,
        /// Number of all rows.
        rows: u64,
        /// The first error.
        first: String,
    },
    /// A table that no known tool has written, without a setting that names its column of send times.
    #[error("{file}: this table is not from a known tool; name its column of send times; the columns are: {}", columns.join(", "))]
    NoStartColumn {
        /// The file.
        file: String,
        /// The names of its columns.
        columns: Vec<String>,
    },
    /// The content of a file is invalid.
    #[error("{}", offered_base::sentence(file, reason))]
    Content {
        /// The file, with `:line` if one line is invalid.
        file: String,
        /// The problem, the expected content, and the next step.
        reason: String,
    },
}

impl Error {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }

    pub(crate) fn content(file: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Content { file: file.into(), reason: reason.into() }
    }
}

fn lost_text(lost: u64) -> String {
    if lost == 0 {
        String::new()
    } else {
        format!("; {lost} are missing from the results too, because memory was full")
    }
}
