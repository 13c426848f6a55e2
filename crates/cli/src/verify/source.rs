//! Reading: what the reader of files cannot find out by itself, or should not.

use std::path::Path;

use offered_model::{Nanos, Recording};
use offered_store::{Error, Format, ReadOptions, Stamps, read};

use crate::exit::Failure;
use crate::file;
use crate::words;

/// How the files are to be read.
#[derive(clap::Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct Source {
    /// What kind of file it is, instead of looking at its content
    #[arg(long, value_parser = format)]
    format: Option<Format>,
    #[command(flatten)]
    hints: Hints,
}

/// What the content of a file leaves open.
#[derive(clap::Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct Hints {
    /// What JMeter's stamps mean, instead of deciding by the overlaps
    #[arg(long)]
    stamps: Option<Stamps>,
    /// The column with the launch times, in a table of no known tool
    #[arg(long, value_name = "NAME")]
    start_column: Option<String>,
    /// The column with the ends
    #[arg(long, value_name = "NAME")]
    end_column: Option<String>,
    /// The column with the names of the requests
    #[arg(long, value_name = "NAME")]
    label_column: Option<String>,
    /// How long one unit of its numbers is: 1s, 1ms, 1us or 1ns
    #[arg(long, value_name = "TIME")]
    unit: Option<Nanos>,
}

impl Source {
    /// The recording in this file.
    pub(crate) fn read(&self, path: &Path) -> Result<Recording, Failure> {
        self.hints.read(path, self.format)
    }
}

impl Hints {
    /// The recording in this file, of this kind if it is said.
    pub(crate) fn read(&self, path: &Path, format: Option<Format>) -> Result<Recording, Failure> {
        if format.is_none() {
            file::refuse(path, &file::RESULTS)?;
        }
        let options = ReadOptions {
            format,
            stamps: self.stamps,
            start_column: self.start_column.clone(),
            end_column: self.end_column.clone(),
            label_column: self.label_column.clone(),
            unit: self.unit,
        };
        read(path, &options).map_err(|error| match error {
            Error::Exists(_) | Error::Lost { .. } | Error::Ended => Failure::stopped(error),
            _ => Failure::input(words::of_reading(&error)),
        })
    }
}

pub(crate) fn format(name: &str) -> Result<Format, String> {
    Format::from_name(name).ok_or_else(|| {
        let known: Vec<&str> = Format::names().collect();
        format!("no such format; known are {}", known.join(", "))
    })
}
