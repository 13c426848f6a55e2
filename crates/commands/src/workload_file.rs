//! Reading workload files.

use std::path::Path;

use offered_experiment::WorkloadSource;
use offered_workload::Workload;

use crate::failure::Failure;
use crate::input_file::{self, Kind};
use crate::tolerance::Tolerance;
use crate::trust::{CommandsFlag, FilesFlag};

/// Flags of the commands that run or simulate variants of a workload.
#[derive(clap::Args, Clone, Copy)]
pub(crate) struct WorkloadFlags {
    #[command(flatten)]
    tolerance: Tolerance,
    #[command(flatten)]
    files: FilesFlag,
    #[command(flatten)]
    commands: CommandsFlag,
}

impl WorkloadFlags {
    /// As [`read_to_run`], with the tolerance in the text. A `simulated` workload runs no commands.
    pub(crate) fn read(self, path: &Path, simulated: bool) -> Result<(WorkloadSource, Workload), Failure> {
        let commands = (!simulated).then_some(self.commands);
        let (mut source, workload) = read_to_run(path, self.files, commands)?;
        self.tolerance.edit(&mut source.text)?;
        Ok((source, workload))
    }
}

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
