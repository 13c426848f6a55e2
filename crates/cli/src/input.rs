//! The workload file, of which variants are made.

use std::path::{Path, PathBuf};

use offered_model::Workload;

use crate::exit::Failure;
use crate::file;

/// A workload's text and where it came from.
pub(crate) struct Input {
    pub(crate) path: PathBuf,
    /// As it was written.
    pub(crate) text: String,
}

impl Input {
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        Ok(Self { path: path.to_owned(), text: file::text(path)? })
    }

    /// The workload of `text`, which is the file's or a variant of it.
    pub(crate) fn parse(&self, text: &str) -> Result<Workload, Failure> {
        let name = self.path.display().to_string();
        Workload::parse(text, &name, &file::beside(Some(&self.path))).map_err(Failure::input)
    }
}
