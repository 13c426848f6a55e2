//! The workload file, of which variants are made.

use std::path::Path;

use offered_experiment::Input;

use crate::exit::Failure;
use crate::file;

/// The text of a file, and the way to the files beside it.
pub(crate) fn read(path: &Path) -> Result<Input, Failure> {
    Ok(Input::new(path.display().to_string(), file::workload(path)?, file::beside(Some(path))))
}
