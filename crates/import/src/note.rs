//! What of a file the workload does not say.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something of the file that the workload does not say.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Note {
    /// The line in the file, from 1; 0 where the file has no lines.
    pub line: usize,
    /// What it is called there: its kind and its name.
    pub element: String,
    /// What it would have done, or what was made of it.
    pub message: String,
}
