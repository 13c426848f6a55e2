//! The document `offered.import/1`: what `offered import --json` prints.

use offered_model::document::{Document, Schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Note;

/// The workloads that were made of a file, and what of it they do not say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Imported {
    /// What this document is.
    pub schema: Schema<Imported>,
    /// The file.
    pub from: String,
    /// One for each group of users.
    pub workloads: Vec<Group>,
}

impl Document for Imported {
    const SCHEMA: &'static str = "offered.import/1";
}

/// One group of users as a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Group {
    /// What the file calls it.
    pub group: String,
    /// Where the workload was written; `null` where nowhere.
    pub file: Option<String>,
    /// The workload, as it stands in its file.
    pub workload: String,
    /// What of the group it does not say, or says otherwise.
    pub not_translated: Vec<Note>,
}
