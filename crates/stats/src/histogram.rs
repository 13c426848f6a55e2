//! Histograms of whole numbers in cells of equal width, as the web-generator-toolkit writes them.

/// A histogram: cell i holds the values above (i - 1) `cell` and up to i `cell`; cell 0 holds the zeros.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    /// The width of a cell.
    pub cell: u64,
    /// How many values each cell holds.
    pub counts: Vec<u64>,
    /// How many values lie above the last cell.
    pub overflow: u64,
}

impl Histogram {
    /// Of `values` in any order, with cells until the largest value but no more than `most` besides cell 0.
    pub fn of(values: impl Iterator<Item = u64> + Clone, cell: u64, most: usize) -> Self {
        let cells = values.clone().max().map_or(0, |max| (max.div_ceil(cell) as usize).min(most));
        let mut counts = vec![0; cells + 1];
        let mut overflow = 0;
        for value in values {
            match counts.get_mut(value.div_ceil(cell) as usize) {
                Some(count) => *count += 1,
                None => overflow += 1,
            }
        }
        Self { cell, counts, overflow }
    }
}
