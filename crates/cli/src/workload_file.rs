//! Reading workload files.

use std::path::Path;

use offered_experiment::WorkloadSource;

use crate::exit::Failure;
use crate::input_file::{self, Kind};

/// Reads a workload file; the result also opens the files that it names.
pub(crate) fn read(path: &Path) -> Result<WorkloadSource, Failure> {
    input_file::refuse(path, &[Kind::Workload])?;
    Ok(WorkloadSource::open(path, input_file::broken)?)
}

/// Like [`read`], for a workload that will be run: prints warnings about it.
pub(crate) fn read_to_run(path: &Path) -> Result<WorkloadSource, Failure> {
    let input = read(path)?;
    // A parse error is reported later, when fields are set.
    if let Ok(workload) = input.parse(&input.text) {
        crate::placeholders::warn(&workload);
    }
    Ok(input)
}
