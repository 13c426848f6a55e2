//! Any number of values in bounded memory: exact up to a million values, otherwise as a logarithmic histogram.
//!
//! Count, mean, standard deviation, minimum and maximum are always exact. An order statistic of more than
//! [`Values::EXACT_LIMIT`] values is interpolated in its histogram bin. There are 1,024 bins per power of two, so the
//! relative error is below [`Values::ERROR`]; values below 2,048 have their own bins.

use crate::summary::{Summary, quantile_at, real};

/// Integers that can be collected: unsigned durations and sizes, signed differences.
pub trait Integer: Copy + Ord + Into<i128> + TryFrom<i128> {}

impl<T: Copy + Ord + Into<i128> + TryFrom<i128>> Integer for T {}

/// Count, sum and sum of squares of integers, exact as long as the sum of squares is below 2^127.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moments {
    /// Number of values.
    pub n: u64,
    /// Sum of the values.
    pub sum: i128,
    squares: i128,
}

impl Moments {
    /// Adds `value`, `times` times.
    #[inline]
    pub fn add(&mut self, value: impl Into<i128>, times: u64) {
        let value = value.into();
        // Almost all values have 64 bits and are added once, which takes one multiplication; a saturating one of 128
        // bits is a function call.
        let square = i64::try_from(value)
            .map_or_else(|_| value.saturating_mul(value), |value| i128::from(value) * i128::from(value));
        let squares = if times == 1 { square } else { square.saturating_mul(times.into()) };
        self.n += times;
        self.sum += value * i128::from(times);
        self.squares = self.squares.saturating_add(squares);
    }

    /// Adds all values of `others`.
    pub fn merge(&mut self, others: Self) {
        self.n += others.n;
        self.sum += others.sum;
        self.squares = self.squares.saturating_add(others.squares);
    }

    /// The arithmetic mean; NaN without values.
    pub fn mean(&self) -> f64 {
        self.sum as f64 / self.n as f64
    }

    /// The sum of squared deviations from the mean.
    pub fn sum_of_squared_deviations(&self) -> f64 {
        let n = i128::from(self.n.max(1));
        // With the integer part of the mean this is an integer, and nothing cancels.
        let (whole, rest) = (self.sum.div_euclid(n), self.sum.rem_euclid(n));
        let about = self.squares.saturating_sub(whole.saturating_mul(self.sum + rest));
        (about as f64 - (rest as f64).powi(2) / n as f64).max(0.0)
    }

    /// The sample standard deviation (divisor n - 1); zero for a single value.
    pub fn sdev(&self) -> f64 {
        if self.n > 1 { (self.sum_of_squared_deviations() / (self.n - 1) as f64).sqrt() } else { 0.0 }
    }

    /// The coefficient of variation; zero if the mean is not positive, `None` without values.
    pub fn cov(&self) -> Option<f64> {
        (self.n > 0).then(|| if self.sum > 0 { self.sdev() / self.mean() } else { 0.0 })
    }
}

/// Collects values.
#[derive(Clone, Debug)]
pub struct Values<T = u64> {
    /// All values, or those not yet in a bin.
    exact: Vec<T>,
    /// The moments of the values in bins.
    moments: Moments,
    cells: Option<Box<Cells<T>>>,
}

impl<T> Default for Values<T> {
    fn default() -> Self {
        Self { exact: Vec::new(), moments: Moments::default(), cells: None }
    }
}

impl Values {
    /// Maximum number of values that are stored exactly.
    pub const EXACT_LIMIT: usize = 1_000_000;
    /// The largest relative error of an order statistic of more values.
    pub const ERROR: f64 = 0.001;
}

impl<T: Integer> Values<T> {
    /// Number of values that are added to their bins together: bins are scattered in memory, and the memory accesses
    /// overlap.
    const BATCH: usize = 256;

    /// Adds a value.
    #[inline]
    pub fn add(&mut self, value: T) {
        self.exact.push(value);
        if self.exact.len() > if self.is_exact() { Values::EXACT_LIMIT } else { Self::BATCH } {
            self.use_cells();
        }
    }

    /// Number of values.
    pub fn len(&self) -> u64 {
        self.moments.n + self.exact.len() as u64
    }

    /// Whether it has no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether all values are stored exactly.
    #[inline]
    pub fn is_exact(&self) -> bool {
        self.cells.is_none()
    }

    /// Stores only bins from now on, to limit memory when there are many collectors.
    pub fn use_cells(&mut self) {
        let mut loose = std::mem::take(&mut self.exact);
        self.put(&loose);
        loose.clear();
        loose.shrink_to(Self::BATCH + 1);
        self.exact = loose;
    }

    fn put(&mut self, values: &[T]) {
        let cells = self.cells.get_or_insert_default();
        for value in values {
            self.moments.add(*value, 1);
            cells.add(*value);
        }
    }

    /// Adds all values of `others`.
    pub fn merge(&mut self, others: &Self) {
        if !others.is_exact() || self.len() + others.len() > Values::EXACT_LIMIT as u64 {
            self.use_cells();
        }
        if self.is_exact() {
            self.exact.extend(&others.exact);
            return;
        }
        self.put(&others.exact);
        self.moments.merge(others.moments);
        if let (Some(cells), Some(others)) = (&mut self.cells, &others.cells) {
            cells.merge(others);
        }
    }

    /// The values in ascending order.
    pub fn sorted(mut self) -> Sorted<T> {
        if !self.is_exact() {
            self.use_cells();
        }
        let Self { exact: mut loose, mut moments, cells } = self;
        match cells {
            Some(cells) => Sorted { moments, ends: cells.ends, kept: Kept::Cells(cells) },
            None => {
                for value in &loose {
                    moments.add(*value, 1);
                }
                loose.sort_unstable();
                Sorted { moments, ends: loose.first().copied().zip(loose.last().copied()), kept: Kept::Whole(loose) }
            }
        }
    }
}

impl<T: Integer> FromIterator<T> for Values<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut all = Self::default();
        values.into_iter().for_each(|value| all.add(value));
        all
    }
}

#[derive(Clone, Debug)]
enum Kept<T> {
    Whole(Vec<T>),
    Cells(Box<Cells<T>>),
}

/// Values in ascending order.
#[derive(Clone, Debug)]
pub struct Sorted<T = u64> {
    moments: Moments,
    ends: Option<(T, T)>,
    kept: Kept<T>,
}

impl<T: Integer> Sorted<T> {
    /// Number of values.
    pub fn len(&self) -> u64 {
        self.moments.n
    }

    /// Whether it has no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Count, sum and sum of squares.
    pub fn moments(&self) -> Moments {
        self.moments
    }

    /// The minimum; `None` without values.
    pub fn min(&self) -> Option<T> {
        self.ends.map(|(min, _)| min)
    }

    /// The maximum; `None` without values.
    pub fn max(&self) -> Option<T> {
        self.ends.map(|(_, max)| max)
    }

    /// The order statistic of index [`crate::summary::quantile_at`]; `None` without values.
    pub fn quantile(&self, p: f64) -> Option<T> {
        if self.is_empty() { None } else { self.at(quantile_at(self.len(), p)) }
    }

    /// The value of this rank, from 0; the maximum for larger ranks, `None` without values.
    pub fn at(&self, rank: u64) -> Option<T> {
        let found = match &self.kept {
            Kept::Whole(values) => values.get(rank as usize).copied(),
            Kept::Cells(cells) => {
                let mut before = 0;
                let within = cells.ascending().find(|cell| {
                    before += cell.count;
                    before > rank
                });
                within.and_then(|cell| self.near(cell.at(rank + cell.count - before)))
            }
        };
        found.or(self.max())
    }

    /// Number of values above `value`; in a histogram, of bins with their middle above it.
    pub fn above(&self, value: T) -> u64 {
        match &self.kept {
            Kept::Whole(values) => (values.len() - values.partition_point(|x| *x <= value)) as u64,
            Kept::Cells(_) => self.ascending().filter(|(middle, _)| *middle > value).map(|(_, count)| count).sum(),
        }
    }

    /// The nearest possible value.
    fn near(&self, value: i128) -> Option<T> {
        let (min, max) = self.ends?;
        T::try_from(value.clamp(min.into(), max.into())).ok()
    }

    /// Each value, or the middle of its bin, with its count, ascending.
    pub fn ascending(&self) -> Box<dyn Iterator<Item = (T, u64)> + '_> {
        match &self.kept {
            Kept::Whole(values) => Box::new(values.iter().map(|value| (*value, 1))),
            Kept::Cells(cells) => {
                Box::new(cells.ascending().filter_map(|cell| Some((self.near(cell.middle())?, cell.count))))
            }
        }
    }

    /// The mean of the values with these ranks, from 0; the range must contain at least one.
    pub fn mean_of_ranks(&self, ranks: std::ops::Range<u64>) -> f64 {
        let (mut before, mut sum) = (0u64, 0i128);
        for (value, count) in self.ascending() {
            let inside = (before + count).min(ranks.end).saturating_sub(before.max(ranks.start));
            sum += value.into() * i128::from(inside);
            before += count;
            if before >= ranks.end {
                break;
            }
        }
        sum as f64 / (ranks.end - ranks.start) as f64
    }

    /// The summary, divided by `per_unit`; `None` without values.
    pub fn summary(&self, per_unit: f64) -> Option<Summary> {
        if let Kept::Whole(values) = &self.kept {
            return Summary::of_sorted(values, per_unit);
        }
        let (min, max) = self.ends?;
        let at = |p| Some(real(self.quantile(p)?) / per_unit);
        Some(Summary {
            n: self.len() as usize,
            mean: self.moments.mean() / per_unit,
            sdev: self.moments.sdev() / per_unit,
            cov: self.moments.cov()?,
            min: real(min) / per_unit,
            median: at(0.5)?,
            p90: at(0.9)?,
            p95: at(0.95)?,
            p99: at(0.99)?,
            p999: at(0.999)?,
            max: real(max) / per_unit,
        })
    }
}

/// A histogram: one bin per value below 2,048, then 1,024 bins per power of two, on both sides of zero.
#[derive(Clone, Debug)]
struct Cells<T> {
    ends: Option<(T, T)>,
    below: Pages,
    above: Pages,
}

impl<T> Default for Cells<T> {
    fn default() -> Self {
        Self { ends: None, below: Pages::default(), above: Pages::default() }
    }
}

impl<T: Integer> Cells<T> {
    #[inline]
    fn add(&mut self, value: T) {
        let (min, max) = self.ends.unwrap_or((value, value));
        self.ends = Some((min.min(value), max.max(value)));
        let value: i128 = value.into();
        let side = if value < 0 { &mut self.below } else { &mut self.above };
        side.add(cell(value.unsigned_abs() as u64), 1);
    }

    fn merge(&mut self, others: &Self) {
        self.ends = match (self.ends, others.ends) {
            (Some(one), Some(other)) => Some((one.0.min(other.0), one.1.max(other.1))),
            (one, other) => one.or(other),
        };
        others.below.cells().for_each(|(cell, count)| self.below.add(cell, count));
        others.above.cells().for_each(|(cell, count)| self.above.add(cell, count));
    }

    /// The non-empty bins, ascending; the outermost may be wider than the range of the values.
    fn ascending(&self) -> impl Iterator<Item = Cell> + '_ {
        let below = self.below.cells().rev().map(|(cell, count)| {
            let (first, width) = range(cell);
            Cell { first: 1 - i128::from(first) - i128::from(width), width, count }
        });
        let above = self.above.cells().map(|(cell, count)| {
            let (first, width) = range(cell);
            Cell { first: first.into(), width, count }
        });
        below.chain(above)
    }
}

/// A bin and its count.
struct Cell {
    first: i128,
    width: u64,
    count: u64,
}

impl Cell {
    fn middle(&self) -> i128 {
        self.first + i128::from(self.width / 2)
    }

    /// The value of this rank in the bin, assuming equal distances.
    fn at(&self, rank: u64) -> i128 {
        self.first + i128::from(self.width) * (2 * i128::from(rank) + 1) / (2 * i128::from(self.count))
    }
}

/// The counts of bins; pages without counts take no memory.
#[derive(Clone, Debug, Default)]
struct Pages(Vec<Option<Box<[u64; PAGE]>>>);

const PAGE: usize = 128;
/// Bins per power of two, as an exponent of two.
const BINS_EXPONENT: u32 = 10;

impl Pages {
    #[inline]
    fn add(&mut self, cell: usize, times: u64) {
        match self.0.get_mut(cell / PAGE) {
            Some(Some(page)) => page[cell % PAGE] += times,
            _ => self.add_page(cell, times),
        }
    }

    #[cold]
    fn add_page(&mut self, cell: usize, times: u64) {
        if self.0.len() <= cell / PAGE {
            self.0.resize(cell / PAGE + 1, None);
        }
        self.0[cell / PAGE].get_or_insert_with(|| Box::new([0; PAGE]))[cell % PAGE] += times;
    }

    /// The non-empty bins.
    fn cells(&self) -> impl DoubleEndedIterator<Item = (usize, u64)> + '_ {
        let pages = self.0.iter().enumerate().filter_map(|(number, page)| Some((number, page.as_ref()?)));
        pages
            .flat_map(|(number, page)| page.iter().enumerate().map(move |(at, count)| (number * PAGE + at, *count)))
            .filter(|(_, count)| *count > 0)
    }
}

/// The bin of a magnitude.
#[inline]
fn cell(size: u64) -> usize {
    let shift = (u64::BITS - size.leading_zeros()).saturating_sub(BINS_EXPONENT + 1);
    ((shift as usize) << BINS_EXPONENT) + (size >> shift) as usize
}

/// The smallest magnitude of a bin, and the number of magnitudes in it.
fn range(cell: usize) -> (u64, u64) {
    let shift = (cell >> BINS_EXPONENT).saturating_sub(1);
    (((cell - (shift << BINS_EXPONENT)) as u64) << shift, 1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_within_a_thousandth_of_its_values() {
        for value in (0..5000)
            .chain((0..53).flat_map(|e| [(1 << e) - 1, 1 << e, 3 << e, 1023 << e, 1025 << e]))
            .chain([u64::MAX])
        {
            let (first, width) = range(cell(value));
            assert!(first <= value && value - first < width, "{value}: {width} from {first}");
            assert!((width - 1) as f64 <= Values::ERROR * value as f64, "{value}: {width}");
        }
        assert!((1..100_000u64).all(|value| cell(value) == cell(value - 1) || cell(value) == cell(value - 1) + 1));
    }

    #[test]
    fn a_million_values_and_one_more_tell_the_same() {
        // A lattice that fills three powers of ten evenly on a logarithmic scale.
        let value = |i: u64| (1e5 * 10f64.powf(3.0 * ((i * 618_033_989) % 1_000_003) as f64 / 1_000_003.0)) as u64;
        let whole: Values<u64> = (0..Values::EXACT_LIMIT as u64).map(value).collect();
        assert!(whole.is_exact());
        let mut coarse = whole.clone();
        coarse.use_cells();
        let (whole, coarse) = (whole.sorted(), coarse.sorted());
        let (exact, near) = (whole.summary(1e6).unwrap(), coarse.summary(1e6).unwrap());
        assert_eq!((exact.n, exact.min, exact.max, exact.mean), (near.n, near.min, near.max, near.mean));
        assert!((exact.sdev / near.sdev - 1.0).abs() < 1e-12, "{} {}", exact.sdev, near.sdev);
        for p in [0.0, 0.001, 0.5, 0.9, 0.95, 0.99, 0.999, 1.0] {
            let (exact, near) = (whole.quantile(p).unwrap() as f64, coarse.quantile(p).unwrap() as f64);
            assert!((near / exact - 1.0).abs() <= Values::ERROR, "{p}: {exact} {near}");
        }
        let ranks = 400_000..600_000;
        assert!((whole.mean_of_ranks(ranks.clone()) / coarse.mean_of_ranks(ranks) - 1.0).abs() < 1e-4);
        let mut more = Values::<u64>::default();
        (0..=Values::EXACT_LIMIT as u64).for_each(|i| more.add(value(i)));
        assert!(!more.is_exact() && more.sorted().len() == Values::EXACT_LIMIT as u64 + 1);
    }

    #[test]
    fn nothing_cancels_in_the_deviation() {
        let mut moments = Moments::default();
        for value in [4, 7, 13, 16] {
            moments.add(1_000_000_000_000_000u64 + value, 1);
        }
        assert_eq!((moments.sum_of_squared_deviations(), moments.sdev()), (90.0, 30f64.sqrt()));
        let mut signed = Moments::default();
        for value in [-4i64, -7, 1, 0, -16] {
            signed.add(value, 2);
        }
        assert_eq!((signed.mean(), signed.cov()), (-5.2, Some(0.0)));
        assert!((signed.sum_of_squared_deviations() - 373.6).abs() < 1e-9);
    }

    #[test]
    fn differences_below_zero_have_cells_too() {
        let value = |i: i64| (i - 300_000) * 7_919;
        let whole: Values<i64> = (0..1_000_000).map(value).collect();
        let mut coarse = whole.clone();
        coarse.use_cells();
        let (whole, coarse) = (whole.sorted(), coarse.sorted());
        assert_eq!((whole.min(), whole.max(), whole.moments()), (coarse.min(), coarse.max(), coarse.moments()));
        for p in [0.01, 0.2, 0.3, 0.35, 0.99] {
            let (exact, near) = (whole.quantile(p).unwrap() as f64, coarse.quantile(p).unwrap() as f64);
            assert!((near - exact).abs() <= Values::ERROR * exact.abs(), "{p}: {exact} {near}");
        }
    }

    #[test]
    fn merged_values_equal_values_added_together() {
        let value = |i: u64| 2_047 + i * i % 1_000_003;
        let of = |from: u64, to: u64| (from..to).map(value).collect::<Values>();
        let (mut all, few) = (of(0, 300), of(300, 500));
        all.merge(&few);
        assert!(all.is_exact());
        let mut coarse = of(0, 300);
        coarse.use_cells();
        let [mut whole_into_cells, mut cells_into_cells] = [coarse.clone(), coarse];
        whole_into_cells.merge(&few);
        let mut few = few;
        few.use_cells();
        cells_into_cells.merge(&few);
        let [all, one, other] = [all, whole_into_cells, cells_into_cells].map(Values::sorted);
        assert_eq!((one.min(), one.max(), one.moments()), (all.min(), all.max(), all.moments()));
        assert_eq!((other.min(), other.max(), other.moments()), (all.min(), all.max(), all.moments()));
        assert!(one.ascending().eq(other.ascending()));
    }

    #[test]
    fn no_values_have_no_figures() {
        let none = Values::<u64>::default().sorted();
        assert_eq!((none.quantile(0.5), none.max(), none.summary(1.0)), (None, None, None));
    }
}
