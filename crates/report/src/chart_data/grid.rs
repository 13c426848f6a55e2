//! A two-dimensional histogram: columns of time (or another quantity), logarithmic rows.

use offered_base::Difference;
use serde::{Deserialize, Serialize};

/// Rows per decade.
const PER_DECADE: usize = 8;
/// Rows from a nanosecond to eleven days.
const ROWS: usize = 120;
/// Bins per row. A percentile is the mean of its bin: the error is at most 3.7 %, and none if all times are equal.
const FINE: usize = 8;

/// Number of values per row and column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Grid {
    /// Row edges in ms, in ascending order.
    pub edges_ms: Vec<f64>,
    /// Counts by row and column.
    pub counts: Vec<Vec<u64>>,
}

/// Percentiles of each column, in ms; `None` for too few values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Percentiles {
    /// Number of values per column.
    pub n: Vec<u64>,
    /// Medians.
    pub p50_ms: Vec<Option<f64>>,
    /// 95th percentiles.
    pub p95_ms: Vec<Option<f64>>,
    /// 99th percentiles.
    pub p99_ms: Vec<Option<f64>>,
}

/// Builds a grid.
pub(super) struct GridBuilder {
    columns: Vec<Vec<Bin>>,
}

/// The values of a bin.
#[derive(Clone, Copy, Default)]
struct Bin {
    n: u64,
    /// In nanoseconds.
    sum: u128,
}

impl GridBuilder {
    pub(super) fn new(columns: usize) -> Self {
        Self { columns: vec![vec![Bin::default(); ROWS * FINE]; columns] }
    }

    /// Adds a time; times below a nanosecond count in the first row.
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
            let of = |(column, n): (&Vec<Bin>, &u64)| {
                (*n as f64 * p.min(1.0 - p) >= 1.0 - 1e-9).then(|| percentile(column, *n, p))
            };
            self.columns.iter().zip(&n).map(of).collect()
        };
        Percentiles { p50_ms: each(0.5), p95_ms: each(0.95), p99_ms: each(0.99), n }
    }

    /// The non-empty range of rows; `None` without values.
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

/// The lower edge of a bin.
fn edge_ms(row: usize) -> f64 {
    10f64.powf(row as f64 / (PER_DECADE * FINE) as f64) / 1e6
}

fn count(parts: &[Bin]) -> u64 {
    parts.iter().map(|part| part.n).sum()
}

/// The mean of the bin that contains the p-quantile of n values, in ms.
fn percentile(column: &[Bin], n: u64, p: f64) -> f64 {
    let rank = (n as f64 * p).ceil().max(1.0) as u64;
    let mut upto = 0;
    let holds = |part: &&Bin| {
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
        let mut filling = GridBuilder::new(3);
        (1..=1000).for_each(|i| filling.add(0, Difference(i * 1_000_000)));
        (1..=10).for_each(|i| filling.add(1, Difference(i * 1000)));
        let p = filling.percentiles();
        assert_eq!(p.n, [1000, 10, 0]);
        let near = |value: Option<f64>, truth: f64| (value.unwrap() / truth - 1.0).abs() < 0.037;
        assert!(near(p.p50_ms[0], 500.0) && near(p.p95_ms[0], 950.0) && near(p.p99_ms[0], 990.0), "{p:?}");
        assert!(near(p.p50_ms[1], 0.005) && p.p95_ms[1].is_none() && p.p99_ms[1].is_none(), "ten have no 95 % point");
        assert_eq!((p.p50_ms[2], p.p99_ms[2]), (None, None));
        let mut same = GridBuilder::new(1);
        (0..100).for_each(|_| same.add(0, Difference(22_000_000)));
        assert_eq!(same.percentiles().p50_ms, [Some(22.0)]);
    }

    #[test]
    fn the_coarse_grid_loses_nothing() {
        let mut filling = GridBuilder::new(2);
        for ns in [1, 10, 10, 5_000_000, 7_000_000_000] {
            filling.add(1, Difference(ns));
        }
        let grid = filling.finish().unwrap();
        assert_eq!(grid.counts.iter().map(|row| row[1]).sum::<u64>(), 5);
        assert_eq!(grid.edges_ms.len(), grid.counts.len() + 1);
        assert!(grid.edges_ms[0] <= 1e-6 && *grid.edges_ms.last().unwrap() >= 7000.0);
        assert!(GridBuilder::new(2).finish().is_none());
    }
}
