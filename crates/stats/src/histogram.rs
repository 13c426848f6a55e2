//! Histograms of integers with bins of equal width, in the format of the web-generator-toolkit.

/// A histogram: bin i holds the values in ((i - 1) `bin_width`, i `bin_width`]; bin 0 holds zeros.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    /// The width of a bin.
    pub bin_width: u64,
    /// The number of values in each bin, up to the bin of the largest value.
    pub counts: Vec<u64>,
    /// The number of values above the last possible bin.
    pub overflow: u64,
    most: usize,
}

impl Histogram {
    /// Creates an empty histogram with at most `most` bins besides bin 0.
    pub fn new(bin_width: u64, most: usize) -> Self {
        Self { bin_width, counts: vec![0], overflow: 0, most }
    }

    /// Adds a value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        let at = value.div_ceil(self.bin_width).min(self.most as u64 + 1) as usize;
        if at.min(self.most) >= self.counts.len() {
            self.counts.resize(at.min(self.most) + 1, 0);
        }
        *self.counts.get_mut(at).unwrap_or(&mut self.overflow) += 1;
    }

    /// The histogram of `values`, in any order, with at most `most` bins besides bin 0.
    pub fn of(values: impl Iterator<Item = u64>, cell: u64, most: usize) -> Self {
        let mut histogram = Self::new(cell, most);
        values.for_each(|value| histogram.add(value));
        histogram
    }
}
