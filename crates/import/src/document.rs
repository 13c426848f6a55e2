//! The JSON document `offered.import/1`, printed by `offered import --json`.

use offered_events::document::{Document, Schema};
use serde::{Deserialize, Serialize};

use crate::Note;

/// Workloads translated from a file, with notes on what was not translated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ImportDocument {
    /// Name and version of the document type.
    pub schema: Schema<ImportDocument>,
    /// Name of the imported file.
    pub source_file: String,
    /// One workload for each thread group.
    pub workloads: Vec<ImportedGroup>,
}

impl Document for ImportDocument {
    const SCHEMA: &'static str = "offered.import/1";
}

/// A thread group translated into a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ImportedGroup {
    /// Name of the thread group.
    pub group: String,
    /// File to which the workload was written; `null` if it was not written to a file.
    pub output_file: Option<String>,
    /// The workload as TOML text.
    pub workload: String,
    /// The parts of the file that were not translated, or not exactly.
    pub not_translated: Vec<Note>,
}
