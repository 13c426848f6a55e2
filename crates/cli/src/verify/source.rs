//! Reading: what the reader of files cannot find out by itself, or should not.

use std::path::Path;

use offered_model::Nanos;
use offered_store::{Format, ReadOptions, Stamps};

use crate::exit::Failure;
use crate::file;

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
    /// The tick of the clock that stamped the launches, instead of telling by the grid on which they stand
    #[arg(long, value_name = "TIME")]
    tick: Option<Nanos>,
}

impl Source {
    /// How this file is read.
    pub(crate) fn options(&self, path: &Path) -> Result<ReadOptions, Failure> {
        self.hints.options(path, self.format)
    }
}

impl Hints {
    /// How this file is read, as this kind if it is said; else it is refused where it looks like what no run is in.
    pub(crate) fn options(&self, path: &Path, format: Option<Format>) -> Result<ReadOptions, Failure> {
        if format.is_none() {
            file::refuse(path, &file::RESULTS)?;
        }
        Ok(ReadOptions {
            format,
            stamps: self.stamps,
            start_column: self.start_column.clone(),
            end_column: self.end_column.clone(),
            label_column: self.label_column.clone(),
            unit: self.unit,
            tick: self.tick,
        })
    }
}

pub(crate) fn format(name: &str) -> Result<Format, String> {
    Format::from_name(name).ok_or_else(|| {
        let known: Vec<&str> = Format::names().collect();
        format!("no such format; known are {}", known.join(", "))
    })
}
