//! The document `offered.sweep/1`.

use serde::Serialize;
use serde_json::{Map, Value};

use super::Args;
use super::cell::Measured;
use super::curve::Kept;
use super::figures::{Figures, Interval};

/// The whole sweep.
#[derive(Serialize)]
pub(super) struct Document<'a> {
    schema: &'static str,
    version: &'static str,
    workload: String,
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

/// Of these cells.
pub(super) fn document<'a>(args: &'a Args, cells: &'a [Measured], kept: &'a [Kept]) -> Document<'a> {
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
    Document {
        schema: "offered.sweep/1",
        version: env!("CARGO_PKG_VERSION"),
        workload: args.workload.display().to_string(),
        simulated: args.simulate,
        order: if args.shuffle { "shuffled" } else { "strided" },
        fields: args.vary.iter().map(|vary| Field { field: &vary.field, values: &vary.values }).collect(),
        cells: cells.iter().map(entry).collect(),
        objective: args.slo.as_ref().map(ToString::to_string),
        kept: kept.iter().map(limit).collect(),
    }
}
