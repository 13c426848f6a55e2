//! A tally: count, sum, largest value and percentiles of positive numbers, in constant memory.

/// Bits of the mantissa that tell cells apart: 64 cells to an octave, each 1.6 % wide.
const BITS: u32 = 6;
const SHIFT: u32 = f64::MANTISSA_DIGITS - 1 - BITS;
/// The cell of 1.0; smaller numbers share the first cell.
const FIRST: u64 = 1.0f64.to_bits() >> SHIFT;
/// 2^63 nanoseconds are 292 years; larger numbers share the last cell.
const CELLS: usize = 63 << BITS;

/// What is remembered of many numbers of 1 or more (nanoseconds, slowdowns); numbers below 1 count as falling in [0, 1).
///
/// Count, sum, sum of squares and maximum are exact. A percentile is interpolated within a cell of 1.6 % of its value.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    pub(crate) count: u64,
    pub(crate) sum: f64,
    pub(crate) max: f64,
    cells: Box<[u32; CELLS + 1]>,
}

impl Default for Tally {
    fn default() -> Self {
        Self { count: 0, sum: 0.0, max: 0.0, cells: Box::new([0; CELLS + 1]) }
    }
}

impl Tally {
    #[inline]
    pub(crate) fn add(&mut self, value: f64) {
        self.count += 1;
        self.sum += value;
        if value > self.max {
            self.max = value;
        }
        let cell = ((value.to_bits() >> SHIFT) + 1).saturating_sub(FIRST) as usize;
        self.cells[cell.min(CELLS)] += 1;
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
        for (mine, others) in self.cells.iter_mut().zip(other.cells.iter()) {
            *mine += others;
        }
    }

    /// The value that a share `p` of the numbers does not exceed; 0 of none.
    pub(crate) fn quantile(&self, p: f64) -> f64 {
        let rank = p * self.count as f64;
        let mut below = 0.0;
        for (cell, count) in self.cells.iter().enumerate() {
            let count = f64::from(*count);
            if count > 0.0 && below + count >= rank {
                let (low, high) = (start(cell), start(cell + 1));
                return (low + (high - low) * (rank - below) / count).min(self.max);
            }
            below += count;
        }
        self.max
    }
}

/// Where a cell starts.
fn start(cell: usize) -> f64 {
    match cell as u64 {
        0 => 0.0,
        n => f64::from_bits((FIRST + n - 1) << SHIFT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_model::{Law, Purpose, Seed};

    #[test]
    fn percentiles_are_within_a_quarter_of_a_percent() {
        let law = Law::exponential(1e7).unwrap();
        let mut stream = Seed(3).stream(Purpose::Size);
        let mut values: Vec<f64> = (0..200_000).map(|_| law.sample(&mut stream)).collect();
        let (mut one, mut two) = (Tally::default(), Tally::default());
        for (i, value) in values.iter().enumerate() {
            if i % 3 == 0 { &mut one } else { &mut two }.add(*value);
        }
        one.merge(&two);
        values.sort_by(f64::total_cmp);
        assert_eq!((one.count, one.max), (200_000, values[199_999]));
        for p in [0.5, 0.9, 0.95, 0.99, 0.999] {
            let exact = values[(p * 2e5) as usize - 1];
            assert!((one.quantile(p) / exact - 1.0).abs() < 0.0025, "{p}: {} {exact}", one.quantile(p));
        }
    }

    #[test]
    fn the_edges_have_cells() {
        let mut tally = Tally::default();
        assert_eq!(tally.quantile(0.5), 0.0);
        for value in [0.0, 0.5, 1.0, 1e300] {
            tally.add(value);
        }
        assert!(tally.quantile(0.25) <= 1.0);
        assert!(tally.quantile(1.0) > 9e18);
    }
}
