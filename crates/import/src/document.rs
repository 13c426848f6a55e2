//! The document `offered.import/1`: what `offered import --json` prints.

use offered_model::document::{Document, Schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Note;

/// The workloads that were made of a file, and what of it they do not say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ImportDocument {
    /// What this document is.
    pub schema: Schema<ImportDocument>,
    /// The file.
    pub source_file: String,
    /// One for each group of users.
    pub workloads: Vec<ImportedGroup>,
}

impl Document for ImportDocument {
    const SCHEMA: &'static str = "offered.import/1";
}

/// One group of users as a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ImportedGroup {
    /// What the file calls it.
    pub group: String,
    /// Where the workload was written; `null` where nowhere.
    pub output_file: Option<String>,
    /// The workload, as it stands in its file.
    pub workload: String,
    /// What of the group it does not say, or says otherwise.
    pub not_translated: Vec<Note>,
}
