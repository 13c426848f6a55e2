//! The document `offered.sweep/1`: `sweep.json`, and what `offered sweep --json` prints.

use std::collections::BTreeMap;

use offered_events::document::{self, Schema};
use serde::{Deserialize, Serialize};

use crate::figures::{Figures, Interval};
use crate::{Field, VariedField};

/// A sweep: a workload at every point of a grid, and up to where it keeps its objective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Document {
    /// What this document is.
    pub schema: Schema<Document>,
    /// Of the program that made it.
    pub version: String,
    /// The workload's name.
    pub workload: String,
    /// Whether its cells were simulated rather than run.
    pub simulated: bool,
    /// How the cells were visited: `strided` or `shuffled`.
    pub order: String,
    /// What was varied; the first is laid out across.
    pub fields: Vec<VariedField>,
    /// The points of the grid.
    pub cells: Vec<Cell>,
    /// What was to be kept.
    pub objective: Option<String>,
    /// Up to which value of the first field it was.
    pub kept: Vec<Limit>,
}

impl document::Document for Document {
    const SCHEMA: &'static str = "offered.sweep/1";
}

/// A point of the grid, and what it came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cell {
    /// The value of every field.
    pub values: BTreeMap<Field, String>,
    /// Its run directory within that of the sweep.
    pub directory: String,
    /// When it was visited, from 0.
    pub position: usize,
    /// What it came to.
    #[serde(flatten)]
    pub figures: Figures,
    /// In seconds, per second or as fractions, in the order of the objective.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objective: Vec<Option<Interval>>,
}

/// Up to which value of the first field the objective is kept, the other fields being fixed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limit {
    /// The other fields.
    pub fixed: BTreeMap<Field, String>,
    /// The first field.
    pub field: Field,
    /// The value; `None` with a note that says why.
    pub value: Option<f64>,
    /// The lower end of its interval.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// What must be known besides.
    pub note: Option<String>,
}
