//! Reasons why a page of a study cannot be made.

use std::io;
use std::path::{Path, PathBuf};

/// Reason why a page cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A data file is missing.
    #[error("{}: no such data file; make the file, or give the reason in the key `not_made` of the figure", path.display())]
    Missing {
        /// The data file.
        path: PathBuf,
    },
    /// A description is not TOML, or a key of it is unknown or missing.
    #[error("{}:{line}: {why}", path.display())]
    Toml {
        /// The description.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        why: String,
    },
    /// A description is not valid.
    #[error("{}: {why}", path.display())]
    Description {
        /// The description.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// A table lacks a column or row that a description names.
    #[error("{}: {why}", path.display())]
    Table {
        /// The data file.
        path: PathBuf,
        /// What is missing.
        why: String,
    },
    /// No row of a table has the required values.
    #[error("{}: {why}", path.display())]
    NoRow {
        /// The data file.
        path: PathBuf,
        /// The values that no row has.
        why: String,
    },
}

impl Error {
    /// Adds the path of a file to the cause.
    pub(super) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File { path: path.to_owned(), source }
    }
}
