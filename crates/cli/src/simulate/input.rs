//! The workload file, of which a sweep makes variants.

use std::path::{Path, PathBuf};

use offered_model::Workload;

use crate::exit::Failure;
use crate::file;

/// A workload's text and where it came from.
pub(super) struct Input {
    path: PathBuf,
    /// As it was written.
    pub(super) text: String,
}

impl Input {
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        Ok(Self { path: path.to_owned(), text: file::text(path)? })
    }

    /// The workload of `text`, which is the file's or a variant of it.
    pub(super) fn parse(&self, text: &str) -> Result<Workload, Failure> {
        let name = self.path.display().to_string();
        Workload::parse(text, &name, &file::beside(Some(&self.path))).map_err(Failure::input)
    }
}
