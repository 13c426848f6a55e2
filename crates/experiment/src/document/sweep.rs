//! The document `offered.sweep/1`.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::sweep::{Figures, Interval, Kept, Measured, Sweep, Swept};

/// The whole sweep.
#[derive(Serialize)]
pub(crate) struct Document<'a> {
    schema: &'static str,
    version: &'static str,
    workload: &'a str,
    simulated: bool,
    order: &'static str,
    fields: Vec<Field<'a>>,
    cells: Vec<Entry<'a>>,
    objective: Option<String>,
    kept: Vec<Limit<'a>>,
}

#[derive(Serialize)]
struct Field<'a> {
    field: &'a str,
    values: &'a [String],
}

#[derive(Serialize)]
struct Entry<'a> {
    values: Map<String, Value>,
    directory: &'a str,
    position: usize,
    #[serde(flatten)]
    figures: &'a Figures,
    /// In seconds, per second or as fractions, in the order of the objective.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    objective: Vec<Option<Interval>>,
}

#[derive(Serialize)]
struct Limit<'a> {
    fixed: Map<String, Value>,
    field: &'a str,
    value: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    note: Option<&'a str>,
}

fn map(values: &[(String, String)]) -> Map<String, Value> {
    values.iter().map(|(field, value)| (field.clone(), value.as_str().into())).collect()
}

impl<'a> Document<'a> {
    /// Of this sweep.
    pub(crate) fn of(sweep: &'a Sweep, swept: &'a Swept) -> Self {
        let entry = |cell: &'a Measured| Entry {
            values: map(&cell.point.values),
            directory: &cell.directory,
            position: cell.position,
            figures: &cell.figures,
            objective: cell.objective.iter().map(|figure| figure.map(|figure| Interval::of(figure, 1.0))).collect(),
        };
        let limit = |kept: &'a Kept| Limit {
            fixed: map(&kept.fixed),
            field: &kept.field,
            value: kept.value,
            low: kept.low,
            high: kept.high,
            note: kept.note.as_deref(),
        };
        Self {
            schema: "offered.sweep/1",
            version: env!("CARGO_PKG_VERSION"),
            workload: &sweep.input.name,
            simulated: sweep.simulated,
            order: if sweep.shuffled { "shuffled" } else { "strided" },
            fields: sweep.varied.iter().map(|vary| Field { field: &vary.field, values: &vary.values }).collect(),
            cells: swept.cells.iter().map(entry).collect(),
            objective: sweep.objective.map(ToString::to_string),
            kept: swept.kept.iter().map(limit).collect(),
        }
    }
}
