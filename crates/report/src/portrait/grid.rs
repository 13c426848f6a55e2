//! A grid of counts: columns of time (or of anything else), rows of equal factors.

use offered_model::Difference;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Rows per decade.
const PER_DECADE: usize = 8;
/// Rows from a nanosecond to eleven days.
const ROWS: usize = 120;
/// Each row is counted in so many parts: a percentile is the mean of the part that holds it, so that it is at most 3.7 % from the
/// value, and of times that are all the same it is the value.
const FINE: usize = 8;

/// How many values of each size there were at each time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Grid {
    /// The edges of the rows, in ms, from below.
    pub edges_ms: Vec<f64>,
    /// Row by row from below, a count per column.
    pub counts: Vec<Vec<u64>>,
}

/// Percentiles of each column, in ms; `None` where fewer than one value in the column would lie above.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Percentiles {
    /// How many values a column holds.
    pub n: Vec<u64>,
    /// Their medians.
    pub p50_ms: Vec<Option<f64>>,
    /// Their 95 % points.
    pub p95_ms: Vec<Option<f64>>,
    /// Their 99 % points.
    pub p99_ms: Vec<Option<f64>>,
}

/// A grid being filled.
pub(super) struct Filling {
    columns: Vec<Vec<Part>>,
}

/// The values of a fine row.
#[derive(Clone, Copy, Default)]
struct Part {
    n: u64,
    /// In nanoseconds.
    sum: u128,
}

impl Filling {
    pub(super) fn new(columns: usize) -> Self {
        Self { columns: vec![vec![Part::default(); ROWS * FINE]; columns] }
    }

    /// Counts a time; what is below a nanosecond is in the first row.
    pub(super) fn add(&mut self, column: usize, time: Difference) {
        let ns = time.0.max(1).unsigned_abs();
        let row = ((ns as f64).log10() * (PER_DECADE * FINE) as f64) as usize;
        let part = &mut self.columns[column][row.min(ROWS * FINE - 1)];
        part.n += 1;
        part.sum += u128::from(ns);
    }

    /// The percentiles of each column.
    pub(super) fn percentiles(&self) -> Percentiles {
        let n: Vec<u64> = self.columns.iter().map(|column| count(column)).collect();
        let each = |p: f64| {
            let of = |(column, n): (&Vec<Part>, &u64)| {
                (*n as f64 * p.min(1.0 - p) >= 1.0 - 1e-9).then(|| percentile(column, *n, p))
            };
            self.columns.iter().zip(&n).map(of).collect()
        };
        Percentiles { p50_ms: each(0.5), p95_ms: each(0.95), p99_ms: each(0.99), n }
    }

    /// The rows between the lowest and the highest that hold anything; `None` when none does.
    pub(super) fn finish(&self) -> Option<Grid> {
        let row = |row: usize| -> Vec<u64> {
            self.columns.iter().map(|column| count(&column[row * FINE..(row + 1) * FINE])).collect()
        };
        let rows: Vec<Vec<u64>> = (0..ROWS).map(row).collect();
        let holds = |row: &Vec<u64>| row.iter().any(|count| *count > 0);
        let (low, high) = (rows.iter().position(holds)?, rows.iter().rposition(holds)?);
        let edges_ms = (low..=high + 1).map(|row| edge_ms(row * FINE)).collect();
        Some(Grid { edges_ms, counts: rows[low..=high].to_vec() })
    }
}

/// The lower edge of a fine row.
fn edge_ms(row: usize) -> f64 {
    10f64.powf(row as f64 / (PER_DECADE * FINE) as f64) / 1e6
}

fn count(parts: &[Part]) -> u64 {
    parts.iter().map(|part| part.n).sum()
}

/// The mean of the fine row that holds the value which a share p of the n are at most, in ms.
fn percentile(column: &[Part], n: u64, p: f64) -> f64 {
    let rank = (n as f64 * p).ceil().max(1.0) as u64;
    let mut upto = 0;
    let holds = |part: &&Part| {
        upto += part.n;
        upto >= rank
    };
    let part = column.iter().find(holds).expect("a column of n values");
    part.sum as f64 / part.n as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_values() {
        let mut filling = Filling::new(3);
        (1..=1000).for_each(|i| filling.add(0, Difference(i * 1_000_000)));
        (1..=10).for_each(|i| filling.add(1, Difference(i * 1000)));
        let p = filling.percentiles();
        assert_eq!(p.n, [1000, 10, 0]);
        let near = |value: Option<f64>, truth: f64| (value.unwrap() / truth - 1.0).abs() < 0.037;
        assert!(near(p.p50_ms[0], 500.0) && near(p.p95_ms[0], 950.0) && near(p.p99_ms[0], 990.0), "{p:?}");
        assert!(near(p.p50_ms[1], 0.005) && p.p95_ms[1].is_none() && p.p99_ms[1].is_none(), "ten have no 95 % point");
        assert_eq!((p.p50_ms[2], p.p99_ms[2]), (None, None));
        let mut same = Filling::new(1);
        (0..100).for_each(|_| same.add(0, Difference(22_000_000)));
        assert_eq!(same.percentiles().p50_ms, [Some(22.0)]);
    }

    #[test]
    fn the_coarse_grid_loses_nothing() {
        let mut filling = Filling::new(2);
        for ns in [1, 10, 10, 5_000_000, 7_000_000_000] {
            filling.add(1, Difference(ns));
        }
        let grid = filling.finish().unwrap();
        assert_eq!(grid.counts.iter().map(|row| row[1]).sum::<u64>(), 5);
        assert_eq!(grid.edges_ms.len(), grid.counts.len() + 1);
        assert!(grid.edges_ms[0] <= 1e-6 && *grid.edges_ms.last().unwrap() >= 7000.0);
        assert!(Filling::new(2).finish().is_none());
    }
}
