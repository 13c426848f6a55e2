//! The document `offered.sweep/1`: `sweep.json`, and what `offered sweep --json` prints.

use std::collections::BTreeMap;

use offered_events::document::{self, Schema};
use serde::{Deserialize, Serialize};

use crate::figures::{Figures, Interval};
use crate::{Field, VariedField};

/// A sweep: a workload at every point of a grid, and the limits of an objective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Document {
    /// Name and version of this document.
    pub schema: Schema<Document>,
    /// Version of the program.
    pub version: String,
    /// The name of the workload.
    pub workload: String,
    /// Whether the cells were simulated rather than run.
    pub simulated: bool,
    /// The order of execution: `strided` or `shuffled`.
    pub order: String,
    /// The varied fields; tables show the first one as columns.
    pub fields: Vec<VariedField>,
    /// The cells, one per point of the grid.
    pub cells: Vec<Cell>,
    /// The objective, as given, for example `p99 < 250ms, errors < 0.1%`; `null` if there is none.
    pub objective: Option<String>,
    /// For each combination of the other fields: the largest value of the first field that meets the objective.
    pub limits: Vec<Limit>,
}

impl document::Document for Document {
    const SCHEMA: &'static str = "offered.sweep/1";
}

/// A cell: a point of the grid and its figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cell {
    /// The value of every field.
    pub values: BTreeMap<Field, String>,
    /// The run directory of the cell, relative to the directory of the sweep.
    pub directory: String,
    /// The position of the cell in the order of execution, from 0.
    pub position: usize,
    /// The figures of the cell.
    #[serde(flatten)]
    pub figures: Figures,
    /// The metrics of the objective, in its order: in seconds, per second or as fractions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objective: Vec<Option<Interval>>,
}

/// For one combination of the other fields: the largest value of the first field that meets the objective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limit {
    /// The other fields and their values.
    pub fixed: BTreeMap<Field, String>,
    /// The first of the varied fields.
    pub field: Field,
    /// The value; `null` if outside the values that were tried, see `note`.
    pub value: Option<f64>,
    /// Lower end of its 95 % interval.
    pub low: Option<f64>,
    /// Upper end of its 95 % interval.
    pub high: Option<f64>,
    /// A note, for example why there is no value.
    pub note: Option<String>,
}
