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

/// Percentiles of each column, in ms; `None` for too few values. Neighbouring columns are merged until each has enough for the same
/// percentiles.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Percentiles {
    /// Number of values per column.
    pub n: Vec<u64>,
    /// Median of each column.
    pub p50_ms: Vec<Option<f64>>,
    /// 95th percentile of each column.
    pub p95_ms: Vec<Option<f64>>,
    /// 99th percentile of each column.
    pub p99_ms: Vec<Option<f64>>,
}

/// About how many merged columns are wanted, and how many are enough for a percentile that needs more values.
const WANTED: u64 = 12;
const ENOUGH: u64 = 6;
/// Minimum number of values for p99 and for p95: one lies above.
const FOR_P99: u64 = 100;
const FOR_P95: u64 = 20;
/// With this number of values per column, more and narrower columns are better than more values.
const PLENTY: u64 = 200;

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

    /// Neighbouring columns together, so that each has enough values for the same percentiles: a percentile that only some columns had would
    /// be joined across the others, and a p95 could seem to be below a p50. Edges as column indices (one more than merged columns), and
    /// the percentiles of the merged columns.
    pub(super) fn merged(&self) -> (Vec<usize>, Percentiles) {
        let counts: Vec<u64> = self.columns.iter().map(|column| count(column)).collect();
        let edges = merged_edges(&counts);
        let together = |edge: &[usize]| {
            let mut all = vec![Bin::default(); ROWS * FINE];
            for bin in self.columns[edge[0]..edge[1]].iter().flat_map(|column| column.iter().enumerate()) {
                all[bin.0].n += bin.1.n;
                all[bin.0].sum += bin.1.sum;
            }
            all
        };
        let merged = Self { columns: edges.windows(2).map(together).collect() };
        (edges, merged.percentiles())
    }

    /// The percentiles of each column.
    fn percentiles(&self) -> Percentiles {
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

/// The edges of groups of neighbouring columns with these counts: about [`WANTED`] groups, or [`ENOUGH`] if every group
/// then has enough values for a higher percentile. Remaining columns join the last group.
fn merged_edges(counts: &[u64]) -> Vec<usize> {
    let n: u64 = counts.iter().sum();
    let even = (n / WANTED).clamp(2, PLENTY);
    let least =
        [FOR_P99, FOR_P95].into_iter().find(|needed| n >= ENOUGH * needed).map_or(even, |needed| even.max(needed));
    let mut edges = vec![0];
    let mut within = 0;
    for (column, n) in counts.iter().enumerate() {
        within += n;
        if within >= least {
            edges.push(column + 1);
            within = 0;
        }
    }
    match edges.len() {
        1 => edges.push(counts.len()),
        last => edges[last - 1] = counts.len(),
    }
    edges
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
    fn every_merged_column_has_the_same_percentiles() {
        for (counts, edges) in [
            (vec![], vec![0, 0]),
            (vec![3], vec![0, 1]),
            // 24 values: two are enough for a median. The rest joins the last group.
            (vec![1; 25], (0..12).map(|i| 2 * i).chain([25]).collect()),
            // 600 values: six columns of 100 rather than twelve of 50.
            (vec![10; 60], (0..=6).map(|i| 10 * i).collect()),
            (vec![300, 0, 0, 250, 40, 10], vec![0, 1, 6]),
            // Plenty of values: no column is merged.
            (vec![500; 100], (0..=100).collect()),
        ] {
            assert_eq!(merged_edges(&counts), edges, "{counts:?}");
        }
        for n in [30, 130, 700, 5000] {
            let mut filling = GridBuilder::new(40);
            // Most values are in the first columns, and the last columns have almost none.
            (0..n).for_each(|i| filling.add((i * i / n * 40 / n) as usize, Difference(1_000_000 + 7919 * i % 10_000)));
            let (edges, p) = filling.merged();
            assert_eq!((edges[0], edges[edges.len() - 1], edges.len()), (0, 40, p.n.len() + 1));
            assert_eq!(p.n.iter().sum::<u64>(), n as u64);
            for (list, needed) in [(&p.p50_ms, 12), (&p.p95_ms, ENOUGH * FOR_P95), (&p.p99_ms, ENOUGH * FOR_P99)] {
                assert!(n as u64 >= needed || list.iter().any(Option::is_none) || list.len() < 6, "{n}");
                assert!((n as u64) < needed || list.iter().all(Option::is_some), "{n}: {list:?}");
            }
        }
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
