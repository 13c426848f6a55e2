//! Gaps: the times between consecutive requests of a client, counted in cells so that every whole second is an exact
//! border.
//!
//! A session ends if no request follows within tau. So the number of sessions for any tau is the number of clients plus
//! the number of gaps longer than tau, and one table of gaps contains the whole curve (Schroeder, Wierman and
//! Harchol-Balter 2006, Figure 8).

use crate::time::SECOND;

/// The longest timeout of the curve, in seconds: three hours.
pub const LONGEST: u64 = 10_800;

const MILLI: i64 = 1_000_000;
/// Cells are 1 ms wide up to 1 s, 10 ms up to 10 s, 100 ms up to 100 s and 1 s up to [`LONGEST`].
const BANDS: [(i64, i64, usize); 4] = [
    (SECOND, MILLI, 0),
    (10 * SECOND, 10 * MILLI, 1000),
    (100 * SECOND, 100 * MILLI, 1900),
    (LONGEST as i64 * SECOND, SECOND, 2800),
];
const CELLS: usize = 1 + 2800 + (LONGEST as usize - 100);

/// Number and total length of the gaps in each cell. The tables of two parts of a log add up to that of the
/// whole log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gaps {
    /// Cell 0 holds gaps of zero. Every other cell holds the gaps above the upper bound of the previous cell, up to its
    /// own upper bound.
    cells: Vec<Cell>,
    beyond: u64,
}

/// The gaps of one cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cell {
    count: u64,
    /// Sum of the gaps in nanoseconds, per bin.
    total: u64,
}

impl Default for Gaps {
    fn default() -> Self {
        Self { cells: vec![Cell::default(); CELLS], beyond: 0 }
    }
}

/// The cell of a gap in nanoseconds; `None` above the last.
#[inline]
fn place(gap: i64) -> Option<usize> {
    // Logs with whole seconds contain mainly zeros and seconds above 100 s; both are few bands.
    let (mut below, mut at) = (0, None);
    for (end, width, first) in BANDS {
        if gap <= end {
            at = Some(first + ((gap - below + width - 1) / width) as usize);
            break;
        }
        below = end;
    }
    at
}

/// The upper border of cell `i`, in nanoseconds.
fn border(i: usize) -> i64 {
    let band = BANDS.iter().rposition(|(_, _, first)| *first < i).unwrap_or(0);
    let (_, width, first) = BANDS[band];
    let below = if band == 0 { 0 } else { BANDS[band - 1].0 };
    below + (i - first) as i64 * width
}

/// The gaps of one cell, above `low` and up to `high`, for fitting and for tables.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// Lower edge of the cell (exclusive), in seconds.
    pub low: f64,
    /// Upper edge of the cell (inclusive), in seconds.
    pub high: f64,
    /// Mean of the gaps in the cell, in seconds.
    pub mean: f64,
    /// Number of gaps.
    pub count: u64,
}

impl Gaps {
    /// Counts a gap in nanoseconds, at least 0.
    #[inline]
    pub fn add(&mut self, gap: i64) {
        match place(gap) {
            Some(at) => {
                self.cells[at].count += 1;
                self.cells[at].total += gap as u64;
            }
            None => self.beyond += 1,
        }
    }

    /// Adds the gaps of another part of the log.
    pub fn merge(&mut self, other: &Self) {
        for (cell, more) in self.cells.iter_mut().zip(&other.cells) {
            cell.count += more.count;
            cell.total += more.total;
        }
        self.beyond += other.beyond;
    }

    /// For each whole second from 0 to [`LONGEST`], the number of longer gaps.
    pub fn longer(&self) -> Vec<u64> {
        let mut longer = vec![0; LONGEST as usize + 1];
        let (mut above, mut cell) = (self.beyond, CELLS);
        for second in (0..=LONGEST).rev() {
            while cell > 0 && border(cell - 1) > second as i64 * SECOND {
                cell -= 1;
                above += self.cells[cell].count;
            }
            longer[second as usize] = above;
        }
        longer
    }

    /// Non-empty bins of the gaps up to `seconds`.
    pub fn within(&self, seconds: u64) -> Vec<Bin> {
        let end = seconds.min(LONGEST) as i64 * SECOND;
        let bin = |(i, cell): (usize, &Cell)| Bin {
            low: if i == 0 { 0.0 } else { border(i - 1) as f64 / 1e9 },
            high: border(i) as f64 / 1e9,
            mean: cell.total as f64 / 1e9 / cell.count as f64,
            count: cell.count,
        };
        let some = self.cells.iter().enumerate().take_while(|(i, _)| border(*i) <= end);
        some.filter(|(_, cell)| cell.count > 0).map(bin).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn borders_and_places_agree() {
        for i in 0..CELLS {
            assert_eq!(place(border(i)), Some(i));
            assert_eq!(place(border(i) + 1), (i + 1 < CELLS).then_some(i + 1));
        }
        assert_eq!(border(CELLS - 1), LONGEST as i64 * SECOND);
    }

    proptest! {
        #[test]
        fn the_curve_is_that_of_the_sorted_list(gaps in proptest::collection::vec(0i64..20_000_000_000_000, 0..200), cut in 0usize..200) {
            let (mut left, mut right) = (Gaps::default(), Gaps::default());
            for (i, gap) in gaps.iter().enumerate() {
                (if i < cut { &mut left } else { &mut right }).add(*gap);
            }
            left.merge(&right);
            let longer = left.longer();
            for tau in [0, 1, 2, 9, 10, 59, 99, 100, 101, 1800, LONGEST] {
                let expected = gaps.iter().filter(|gap| **gap > tau as i64 * SECOND).count();
                prop_assert_eq!(longer[tau as usize], expected as u64);
                let within: u64 = left.within(tau).iter().map(|bin| bin.count).sum();
                prop_assert_eq!(within, (gaps.len() - expected) as u64);
            }
        }
    }
}
