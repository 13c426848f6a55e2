//! Flags for additional output files.

use std::path::PathBuf;

use offered_experiment::ToolkitExport;

use crate::failure::Failure;

/// Additional output files.
#[derive(clap::Args)]
#[command(next_help_heading = "Additional files")]
pub(crate) struct Files {
    /// Write tables and histograms as CSV, in the format of Brady's web-generator-toolkit
    #[arg(long, value_name = "DIR")]
    csv: Option<PathBuf>,
    /// Bin widths of the fine and the coarse histograms, in ms
    #[arg(long, value_name = "MS", num_args = 2, default_values_t = [10, 100], value_parser = clap::value_parser!(u64).range(1..))]
    bin_widths: Vec<u64>,
    /// Maximum number of bins of a histogram; one overflow bin counts values above the last bin
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    max_bins: usize,
    /// Write the gaps between requests in ms, one per line (in R: scan("gaps.txt"))
    #[arg(long, value_name = "FILE")]
    gaps: Option<PathBuf>,
}

impl Files {
    /// An error for `--gaps` with several recordings, before any is read.
    pub(crate) fn check(&self, one_recording: bool) -> Result<(), Failure> {
        if self.gaps.is_some() && !one_recording {
            return Err(Failure::input("--gaps needs one file, or --merge"));
        }
        Ok(())
    }

    /// The files, as the library writes them.
    pub(crate) fn toolkit(&self) -> ToolkitExport {
        let Self { csv, bin_widths, max_bins, gaps } = self;
        ToolkitExport {
            tables: csv.clone(),
            gaps: gaps.clone(),
            bin_widths_ms: bin_widths.clone(),
            max_bins: *max_bins,
        }
    }
}
