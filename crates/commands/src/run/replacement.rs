//! `--force`: a new run replaces the recorded one in its directory.

use std::fs;
use std::path::Path;

use crate::failure::Failure;

/// The run directory that the run will replace; `None` if `output` does not exist. An error if it may not be replaced.
pub(super) fn check(output: Option<&Path>, force: bool) -> Result<Option<&Path>, Failure> {
    let Some(output) = output.filter(|output| output.exists()) else { return Ok(None) };
    let name = output.display();
    if !force {
        return Err(Failure::input(format!(
            "{name} already exists and is not overwritten; choose another -o, or replace the run with --force"
        )));
    }
    if output.join("workload.toml").is_file() && output.join("events").is_dir() {
        return Ok(Some(output));
    }
    Err(Failure::input(format!("{name} is not a run directory, so --force does not replace it; choose another -o")))
}

/// Removes the run directory.
pub(super) fn remove(directory: &Path) -> Result<(), Failure> {
    let failed = |error| Failure::stopped(format!("cannot remove {}: {error}", directory.display()));
    fs::remove_dir_all(directory).map_err(failed)
}
