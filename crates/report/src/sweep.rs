//! A sweep: a workload at every point of a grid, as the document `offered.sweep/1` tells it.

use std::collections::BTreeMap;

use offered_verify::Judgement;
use serde::{Deserialize, Serialize};

/// A sweep, as far as the page shows it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Sweep {
    /// The workload's file.
    pub workload: String,
    /// Whether its cells were simulated rather than run.
    pub simulated: bool,
    /// What was varied; the first is laid out across.
    pub fields: Vec<Field>,
    /// The points of the grid.
    pub cells: Vec<Cell>,
    /// What was to be kept.
    pub objective: Option<String>,
    /// Up to which value of the first field it was.
    pub kept: Vec<Kept>,
}

/// A field of the workload and the values it took, as texts.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Field {
    /// Its name.
    pub field: String,
    /// Its values.
    pub values: Vec<String>,
}

/// A point of the grid, and what it came to.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Cell {
    /// The value of every field.
    pub values: BTreeMap<String, String>,
    /// `holds`, `fails` or `not checked`.
    pub judgement: String,
    /// Launches per second.
    pub offered_rate_per_s: Option<f64>,
    /// Answers per second.
    pub throughput_per_s: Option<Interval>,
    /// How many per cent failed.
    pub errors_percent: Option<Interval>,
    /// Responses in ms.
    pub response_ms: Option<Times>,
    /// The CoV of the gaps.
    pub arrivals_cov: Option<Interval>,
    /// Little's law.
    pub queue: Queue,
    /// The responses in cells of equal factors.
    pub response_histogram: Histogram,
}

/// A number with its 95 % interval, where there is one.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Interval {
    /// The number.
    pub value: f64,
    /// The lower end.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
}

/// Mean and percentiles.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Times {
    /// The mean.
    pub mean: Interval,
    /// The median.
    pub p50: Interval,
    /// The 90 % point.
    pub p90: Interval,
    /// The 95 % point.
    pub p95: Interval,
    /// The 99 % point.
    pub p99: Interval,
}

/// What of Little's law the page shows.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Queue {
    /// R / (R + Z).
    pub rort: Option<f64>,
}

/// Counts in cells of equal factors: cell i from edge i to edge i + 1.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Histogram {
    /// The edges, one more than there are cells.
    pub edges_ms: Vec<f64>,
    /// How many lie in each cell.
    pub counts: Vec<u64>,
}

/// Up to which value an objective was kept, the other fields being fixed.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Kept {
    /// The other fields.
    pub fixed: BTreeMap<String, String>,
    /// The value; `None` with a note that says why.
    pub value: Option<f64>,
    /// The lower end of its interval.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// What must be known besides.
    pub note: Option<String>,
}

impl Cell {
    /// Its judgement as one of the three.
    pub fn judgement(&self) -> Judgement {
        [Judgement::Holds, Judgement::Fails]
            .into_iter()
            .find(|judgement| judgement.name() == self.judgement)
            .unwrap_or(Judgement::NotChecked)
    }
}

/// Fields and their values as a text: `think=5ms, users=25`.
pub(crate) fn names(values: &BTreeMap<String, String>) -> String {
    let pairs: Vec<String> = values.iter().map(|(field, value)| format!("{field}={value}")).collect();
    pairs.join(", ")
}
