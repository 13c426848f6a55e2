//! The workload file, of which variants are made.

use std::path::Path;

use offered_experiment::Input;

use crate::exit::Failure;
use crate::file::{self, Kind};

/// The text of a workload file, and the way to the files beside it.
pub(crate) fn read(path: &Path) -> Result<Input, Failure> {
    file::refuse(path, &[Kind::Workload])?;
    Ok(Input::open(path, file::broken)?)
}

/// The same of one that is launched, with what is to be known before.
pub(crate) fn read_to_launch(path: &Path) -> Result<Input, Failure> {
    let input = read(path)?;
    // What does not parse is told by whoever sets its fields.
    if let Ok(workload) = input.parse(&input.text) {
        crate::places::say(&workload);
    }
    Ok(input)
}
