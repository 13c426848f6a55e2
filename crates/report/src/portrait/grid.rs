//! A grid of counts: columns of time, rows of equal factors.

use serde::Serialize;

/// Rows per decade.
const PER_DECADE: f64 = 8.0;
/// Rows from a nanosecond to eleven days.
const ROWS: usize = 120;

/// How many values of each size there were at each time.
#[derive(Clone, Debug, Serialize)]
pub struct Grid {
    /// The edges of the rows, in ms, from below.
    pub edges_ms: Vec<f64>,
    /// Row by row from below, a count per column.
    pub counts: Vec<Vec<u64>>,
}

/// A grid being filled.
pub(super) struct Filling {
    rows: Vec<Vec<u64>>,
}

impl Filling {
    pub(super) fn new(columns: usize) -> Self {
        Self { rows: vec![vec![0; columns]; ROWS] }
    }

    /// Counts a value in ns; what is below a nanosecond is in the first row.
    pub(super) fn add(&mut self, column: usize, ns: u64) {
        let row = ((ns.max(1) as f64).log10() * PER_DECADE) as usize;
        self.rows[row.min(ROWS - 1)][column] += 1;
    }

    /// The rows between the lowest and the highest that hold anything; `None` when none does.
    pub(super) fn finish(mut self) -> Option<Grid> {
        let holds = |row: &Vec<u64>| row.iter().any(|count| *count > 0);
        let (low, high) = (self.rows.iter().position(holds)?, self.rows.iter().rposition(holds)?);
        let edge = |row: usize| 10f64.powf(row as f64 / PER_DECADE) / 1e6;
        self.rows.truncate(high + 1);
        Some(Grid { edges_ms: (low..=high + 1).map(edge).collect(), counts: self.rows.split_off(low) })
    }
}
