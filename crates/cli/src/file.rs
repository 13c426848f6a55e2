//! Text files, read with errors that name them.

use std::path::Path;

use crate::exit::Failure;

/// The text of a file.
pub(crate) fn text(path: &Path) -> Result<String, Failure> {
    let bytes = std::fs::read(path).map_err(|why| Failure::input(format!("cannot read {}: {why}", path.display())))?;
    String::from_utf8(bytes).map_err(|_| Failure::input(format!("{} is not a text file", path.display())))
}

/// Reads the files that a workload names, which stand beside it.
pub(crate) fn beside(workload: Option<&Path>) -> impl Fn(&str) -> Result<String, String> {
    let folder = workload.and_then(Path::parent).map(Path::to_owned).unwrap_or_default();
    move |name| std::fs::read_to_string(folder.join(name)).map_err(|why| why.to_string())
}
