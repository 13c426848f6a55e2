//! Claims of a paper, as a page describes them.

use std::path::PathBuf;

use serde::Deserialize;

use super::selection::Selection;

/// A claim: a figure, or the ratio of two, lies within a range.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Check {
    /// The claim in words.
    pub(super) claim: String,
    /// The data file.
    pub(super) file: PathBuf,
    /// The column of the figure.
    pub(super) column: String,
    /// The columns of its interval: both or none.
    pub(super) low: Option<String>,
    pub(super) high: Option<String>,
    /// Selects the row of the figure.
    pub(super) over: Selection,
    /// The data file of the denominator; by default that of the figure.
    pub(super) under_file: Option<PathBuf>,
    /// Selects the row of the denominator; `None`: the figure is no ratio.
    pub(super) under: Option<Selection>,
    /// The range that the paper claims.
    pub(super) expected: [f64; 2],
}

impl Check {
    /// The data files.
    pub(super) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.file].into_iter().chain(&self.under_file)
    }
}
