//! Flags for reading result files: their format, columns and clock.

use std::path::Path;

use offered_base::Nanos;
use offered_store::{InputFormat, ReadOptions, TimestampMeaning};

use crate::failure::Failure;
use crate::input_file;

/// How files are read.
#[derive(clap::Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct ReadingFlags {
    /// Format of the input files [default: detected]
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    input_format: Option<InputFormat>,
    #[command(flatten)]
    hints: FormatHints,
}

/// What cannot always be detected from the content of a file.
#[derive(clap::Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct FormatHints {
    /// Whether JMeter's timestamps are the start or the end of a sample [default: detected]
    #[arg(long)]
    stamps: Option<TimestampMeaning>,
    /// Column with the start times, in a CSV file of another tool
    #[arg(long, value_name = "NAME")]
    start_column: Option<String>,
    /// Column with the end times
    #[arg(long, value_name = "NAME")]
    end_column: Option<String>,
    /// Column with the request names
    #[arg(long, value_name = "NAME")]
    label_column: Option<String>,
    /// Unit of the start and end columns: 1s, 1ms, 1us or 1ns
    #[arg(long, value_name = "TIME")]
    unit: Option<Nanos>,
    /// Resolution of the timestamps [default: detected]
    #[arg(long, value_name = "TIME")]
    tick: Option<Nanos>,
}

impl ReadingFlags {
    /// Read options for this file.
    pub(crate) fn options(&self, path: &Path) -> Result<ReadOptions, Failure> {
        self.hints.options(path, self.input_format)
    }
}

impl FormatHints {
    /// Read options for this file. Without a `format`, files that hold no result of a run are refused.
    pub(crate) fn options(&self, path: &Path, format: Option<InputFormat>) -> Result<ReadOptions, Failure> {
        if format.is_none() {
            input_file::refuse(path, &input_file::RESULTS)?;
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

pub(crate) fn format(name: &str) -> Result<InputFormat, String> {
    InputFormat::from_name(name).ok_or_else(|| {
        let known: Vec<&str> = InputFormat::names().collect();
        format!("unknown format; use one of {}", known.join(", "))
    })
}
