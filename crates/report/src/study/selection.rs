//! Selects rows of a data file by the required values of columns.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Required values of columns.
pub(super) type Selection = BTreeMap<String, CellFilter>;

/// The required value of a column.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(untagged)]
pub(super) enum CellFilter {
    /// A number, compared as a number.
    Number(f64),
    /// A text.
    Text(String),
}

impl CellFilter {
    /// Whether the text of a cell has this value.
    pub(super) fn is(&self, cell: &str) -> bool {
        match self {
            Self::Number(number) => cell.parse() == Ok(*number),
            Self::Text(text) => cell == text,
        }
    }
}

impl std::fmt::Display for CellFilter {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}
