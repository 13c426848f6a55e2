//! Histograms of whole numbers in cells of equal width, as the web-generator-toolkit writes them.

/// A histogram: cell i holds the values above (i - 1) `cell` and up to i `cell`; cell 0 holds the zeros.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    /// The width of a cell.
    pub cell: u64,
    /// How many values each cell holds, until that of the largest value.
    pub counts: Vec<u64>,
    /// How many values lie above the last cell there may be.
    pub overflow: u64,
    most: usize,
}

impl Histogram {
    /// Of nothing yet, with no more than `most` cells besides cell 0.
    pub fn new(cell: u64, most: usize) -> Self {
        Self { cell, counts: vec![0], overflow: 0, most }
    }

    /// Counts a value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        let at = value.div_ceil(self.cell).min(self.most as u64 + 1) as usize;
        if at.min(self.most) >= self.counts.len() {
            self.counts.resize(at.min(self.most) + 1, 0);
        }
        *self.counts.get_mut(at).unwrap_or(&mut self.overflow) += 1;
    }

    /// Of `values` in any order, in no more than `most` cells besides cell 0.
    pub fn of(values: impl Iterator<Item = u64>, cell: u64, most: usize) -> Self {
        let mut histogram = Self::new(cell, most);
        values.for_each(|value| histogram.add(value));
        histogram
    }
}
