//! The flags for files that other programs read.

use std::path::PathBuf;

use offered_experiment::Toolkit;

use crate::exit::Failure;

/// Which files are written, and where.
#[derive(clap::Args)]
#[command(next_help_heading = "Files")]
pub(crate) struct Files {
    /// Write the web-generator-toolkit's four tables and its histograms into this directory
    #[arg(long, value_name = "DIR")]
    csv: Option<PathBuf>,
    /// The widths of the cells of the fine and the coarse histograms, in ms
    #[arg(long, value_name = "MS", num_args = 2, default_values_t = [10, 100], value_parser = clap::value_parser!(u64).range(1..))]
    cells: Vec<u64>,
    /// The most cells of a histogram; what lies above is counted in one line
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    most_cells: usize,
    /// Write the gaps between launches in ms to this file, one a line in the order of time (R: scan("gaps.txt"))
    #[arg(long, value_name = "FILE")]
    gaps: Option<PathBuf>,
}

impl Files {
    /// Wrong use is found before any work is done: one file of gaps holds one recording's.
    pub(crate) fn check(&self, one_recording: bool) -> Result<(), Failure> {
        if self.gaps.is_some() && !one_recording {
            return Err(Failure::input("--gaps goes with one file, or with --merge"));
        }
        Ok(())
    }

    /// As the library writes them.
    pub(crate) fn asked(&self) -> Toolkit {
        let Self { csv, cells, most_cells, gaps } = self;
        Toolkit { tables: csv.clone(), gaps: gaps.clone(), cells: cells.clone(), most_cells: *most_cells }
    }
}
