//! Notes on what was not translated.

use serde::{Deserialize, Serialize};

/// A part of the plan that was not translated, or not exactly.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Note {
    /// Line number, starting at 1; 0 if the format has no lines (JSON and YAML).
    pub line: usize,
    /// Kind and name of the element in the file; empty if the note concerns the whole file.
    pub element: String,
    /// What the element does in the original tool, or how it was translated.
    pub message: String,
}
