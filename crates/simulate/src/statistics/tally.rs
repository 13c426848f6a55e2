//! A tally: count, sum, maximum and percentiles of positive numbers, in constant memory.

use std::ops::Range;

/// A histogram of numbers of 1 or more (nanoseconds, slowdowns); numbers below 1 share the cell [0, 1).
///
/// Count, sum and extremes are exact. A percentile is interpolated within a cell and lies between the extremes. There
/// are 2^BITS cells per octave: with 6 bits a cell is 1.6 % wide, with 4 bits (for workloads with many classes) 6 %.
/// Only octaves in use take memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally<const BITS: u32 = 6> {
    pub(crate) count: u64,
    pub(crate) sum: f64,
    pub(crate) max: f64,
    /// Minimum; 0 without values.
    min: f64,
    /// Number of the first cell in `cells`.
    first: usize,
    cells: Box<[u32]>,
}

impl<const BITS: u32> Tally<BITS> {
    /// Number of low bits of a double that do not affect the cell.
    const SHIFT: u32 = f64::MANTISSA_DIGITS - 1 - BITS;
    /// The cell of 1.0 is the second; smaller numbers share the first.
    const ONE: u64 = 1.0f64.to_bits() >> Self::SHIFT;
    /// Last cell. 2^63 nanoseconds are 292 years; larger numbers share it.
    const LAST: usize = 63 << BITS;

    #[inline]
    pub(crate) fn add(&mut self, value: f64) {
        self.count += 1;
        self.sum += value;
        if value > self.max {
            self.max = value;
        }
        if value < self.min || self.count == 1 {
            self.min = value;
        }
        let cell = ((value.to_bits() >> Self::SHIFT) + 1).saturating_sub(Self::ONE) as usize;
        let cell = cell.min(Self::LAST);
        match self.cells.get_mut(cell.wrapping_sub(self.first)) {
            Some(count) => *count += 1,
            None => self.reach(cell..cell + 1)[0] += 1,
        }
    }

    /// Returns these cells; allocates their octaves if needed.
    #[cold]
    fn reach(&mut self, range: Range<usize>) -> &mut [u32] {
        let octave = 1 << BITS;
        let (mut first, mut end) = (range.start / octave * octave, range.end.next_multiple_of(octave));
        if !self.cells.is_empty() {
            (first, end) = (first.min(self.first), end.max(self.first + self.cells.len()));
        }
        if end - first > self.cells.len() {
            let mut cells = vec![0; end - first].into_boxed_slice();
            let before = self.first.saturating_sub(first);
            cells[before..before + self.cells.len()].copy_from_slice(&self.cells);
            (self.first, self.cells) = (first, cells);
        }
        &mut self.cells[range.start - first..range.end - first]
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        if other.cells.is_empty() {
            return;
        }
        self.min = if self.count == 0 { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.count += other.count;
        self.sum += other.sum;
        let mine = self.reach(other.first..other.first + other.cells.len());
        mine.iter_mut().zip(&other.cells).for_each(|(mine, others)| *mine += others);
    }

    /// The quantile `p`; 0 without values.
    pub(crate) fn quantile(&self, p: f64) -> f64 {
        let rank = p * self.count as f64;
        let mut below = 0.0;
        for (cell, count) in (self.first..).zip(&self.cells) {
            let count = f64::from(*count);
            if count > 0.0 && below + count >= rank {
                let (low, high) = (Self::start(cell), Self::start(cell + 1));
                return (low + (high - low) * (rank - below) / count).clamp(self.min, self.max);
            }
            below += count;
        }
        self.max
    }

    /// Number of values above `value`, interpolated within its cell.
    pub(crate) fn above(&self, value: f64) -> f64 {
        let over = |(cell, count): (usize, &u32)| {
            let (low, high) = (Self::start(cell), Self::start(cell + 1));
            f64::from(*count) * ((high - value) / (high - low)).clamp(0.0, 1.0)
        };
        (self.first..).zip(&self.cells).map(over).sum()
    }

    /// Lower edge of a cell.
    fn start(cell: usize) -> f64 {
        match cell as u64 {
            0 => 0.0,
            n => f64::from_bits((Self::ONE + n - 1) << Self::SHIFT),
        }
    }

    /// Memory use in bytes.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.cells)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_base::{Purpose, Seed};
    use offered_distributions::Distribution;

    fn percentiles_are_within<const BITS: u32>(error: f64) {
        let distribution = Distribution::exponential(1e7).unwrap();
        let mut stream = Seed(3).stream(Purpose::Size);
        let mut values: Vec<f64> = (0..200_000).map(|_| distribution.sample(&mut stream)).collect();
        let (mut one, mut two) = (Tally::<BITS>::default(), Tally::<BITS>::default());
        for (i, value) in values.iter().enumerate() {
            if i % 3 == 0 { &mut one } else { &mut two }.add(*value);
        }
        one.merge(&two);
        values.sort_by(f64::total_cmp);
        assert_eq!((one.count, one.max), (200_000, values[199_999]));
        for p in [0.5, 0.9, 0.95, 0.99, 0.999] {
            let exact = values[(p * 2e5) as usize - 1];
            assert!((one.quantile(p) / exact - 1.0).abs() < error, "{p}: {} {exact}", one.quantile(p));
            let above = one.above(one.quantile(p)) / 2e5;
            assert!((above - (1.0 - p)).abs() < 1e-9, "{p}: {above} above it");
        }
    }

    #[test]
    fn percentiles_are_accurate_to_a_quarter_percent_and_for_classes_to_one() {
        percentiles_are_within::<6>(0.0025);
        percentiles_are_within::<4>(0.01);
    }

    #[test]
    fn percentiles_of_a_constant_are_exact() {
        let (mut one, mut two) = (<Tally>::default(), <Tally>::default());
        for tally in [&mut one, &mut two] {
            (0..100).for_each(|_| tally.add(22e6));
        }
        one.merge(&two);
        assert_eq!([0.0, 0.5, 0.99, 1.0].map(|p| one.quantile(p)), [22e6; 4]);
    }

    #[test]
    fn extreme_values_are_counted() {
        let mut tally = <Tally>::default();
        assert_eq!(tally.quantile(0.5), 0.0);
        for value in [0.0, 0.5, 1.0, 1e300] {
            tally.add(value);
        }
        assert!(tally.quantile(0.25) <= 1.0);
        assert!(tally.quantile(1.0) > 9e18);
    }

    #[test]
    fn memory_is_small_and_merging_an_empty_tally_changes_nothing() {
        let (mut one, none) = (<Tally<4>>::default(), <Tally<4>>::default());
        for value in [1e6, 1.1e6, 5e4] {
            one.add(value);
        }
        assert!(one.bytes() <= none.bytes() + 7 * 16 * 4, "{}", one.bytes());
        let before = one.clone();
        one.merge(&none);
        let mut other = none.clone();
        other.merge(&before);
        for p in [0.0, 0.3, 0.6, 1.0] {
            assert_eq!((one.quantile(p), other.quantile(p)), (before.quantile(p), before.quantile(p)));
        }
        assert_eq!((one.bytes(), none.bytes()), (before.bytes(), size_of::<Tally<4>>()));
    }
}
