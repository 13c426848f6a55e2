//! Reading workload files.

use std::path::Path;

use offered_experiment::WorkloadSource;
use offered_workload::Workload;

use crate::failure::Failure;
use crate::input_file::{self, Kind};
use crate::trust::{CommandsFlag, FilesFlag};

/// Reads a workload file; the result also opens the files that it names.
pub(crate) fn read(path: &Path) -> Result<WorkloadSource, Failure> {
    input_file::refuse(path, &[Kind::Workload])?;
    Ok(WorkloadSource::open(path, input_file::broken)?)
}

/// Like [`read`], for a workload that will be run or simulated: restricted to its directory unless `files` permits more. Lists what it uses
/// on this machine and prints warnings about it.
///
/// With `commands`, an error if the workload has commands that are not permitted.
pub(crate) fn read_to_run(
    path: &Path,
    files: FilesFlag,
    commands: Option<CommandsFlag>,
) -> Result<(WorkloadSource, Workload), Failure> {
    let source = files.restrict(read(path)?);
    let workload = source.parse(&source.text).map_err(Failure::input)?;
    let access = files.check(&source, &workload)?;
    commands.map_or(Ok(()), |commands| commands.check(&source, &access))?;
    crate::placeholders::warn(&workload);
    Ok((source, workload))
}
