//! Reading: from a path to a recording.

use std::path::Path;

use offered_model::Recording;
use offered_store::{Error, ReadOptions, read};

use crate::exit::Failure;

/// How the files are to be read.
#[derive(clap::Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct Source {}

impl Source {
    /// The recording in this file.
    pub(crate) fn read(&self, path: &Path) -> Result<Recording, Failure> {
        let options = ReadOptions::default();
        read(path, &options).map_err(|error| match error {
            Error::Content { .. } | Error::Io { .. } => Failure::input(error),
            _ => Failure::stopped(error),
        })
    }
}
