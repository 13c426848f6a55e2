//! The document `offered.version/1`: what `offered --version --json` prints.

use offered_events::document::{Document, Schema};
use serde::{Deserialize, Serialize};

/// The build of the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Version {
    /// Schema of this document.
    pub schema: Schema<Version>,
    /// Version of the program, for example `0.1.0`.
    pub version: String,
    /// Commit of the source; `null` if the source was not a clone, or the build is not optimised.
    pub commit: Option<String>,
    /// Target of the compiler, for example `x86_64-unknown-linux-musl`.
    pub target: String,
    /// Optional features that the program contains: `kubernetes`, `objects`.
    pub features: Vec<String>,
}

impl Document for Version {
    const SCHEMA: &'static str = "offered.version/1";
}
