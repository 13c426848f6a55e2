//! Coarse timestamps: requests that were recorded in whole milliseconds, for example, are tested as if they had been
//! recorded exactly.
//!
//! Rounding causes ties, and tests of exponential gaps then reject every true Poisson process. If their number is
//! known, the requests of a Poisson process within a tick are independent and uniform. So adding a uniform part of a
//! tick to each timestamp turns a rounded Poisson process back into a Poisson process, *exactly*, and every test keeps
//! its significance level.
//!
//! # Limitations
//! The order within a tick is lost: bunches that are shorter than a tick look random. Counts in windows of many ticks
//! remain correct.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::values::Moments;

/// Moves each of these ascending timestamps to a random position in the tick that starts at it, and sorts them; see
/// [`Spread`].
pub fn spread(sorted: &[u64], tick: u64, uniform: impl FnMut() -> f64) -> Vec<u64> {
    let (mut spread, mut all) = (Spread::new(tick, uniform), Vec::with_capacity(sorted.len()));
    for stamp in sorted {
        spread.add(*stamp, |at| all.push(at));
    }
    spread.finish(|at| all.push(at));
    all
}

/// Moves ascending timestamps to random positions in the ticks that start at them, and emits them in ascending order.
#[derive(Clone, Debug)]
pub struct Spread<U> {
    tick: u64,
    uniform: U,
    /// Timestamps whose final position may still be after a later one.
    held: BinaryHeap<Reverse<u64>>,
}

impl<U: FnMut() -> f64> Spread<U> {
    /// `uniform` returns numbers in (0, 1). If `tick` is 0 or 1, timestamps are unchanged.
    pub fn new(tick: u64, uniform: U) -> Self {
        Self { tick, uniform, held: BinaryHeap::new() }
    }

    /// Adds a timestamp, which must not precede earlier ones, and passes `emit` the timestamps that have their final order.
    #[inline]
    pub fn add(&mut self, stamp: u64, mut emit: impl FnMut(u64)) {
        if self.tick <= 1 {
            return emit(stamp);
        }
        while self.held.peek().is_some_and(|Reverse(first)| *first <= stamp) {
            self.held.pop().into_iter().for_each(|Reverse(first)| emit(first));
        }
        self.held.push(Reverse(stamp.saturating_add(((self.uniform)() * self.tick as f64) as u64)));
    }

    /// Passes the remaining timestamps to `emit`.
    pub fn finish(mut self, mut emit: impl FnMut(u64)) {
        while let Some(Reverse(first)) = self.held.pop() {
            emit(first);
        }
    }
}

/// The CoV of the gaps between timestamps, corrected for rounding to ticks.
///
/// Rounding both ends adds tick^2 / 6 to the variance of a gap (Sheppard's correction, twice), but only if gaps are
/// several ticks long. For shorter gaps the sums of k gaps are used, with k such that a sum is four ticks long: the
/// variance of a sum is k times that of a gap for independent gaps, and almost zero for constant gaps.
#[derive(Clone, Debug)]
pub struct CorrectedCov {
    mean: f64,
    tick: f64,
    /// A sum of gaps ends after this number of timestamps.
    every: u64,
    seen: u64,
    before: u64,
    sums: Moments,
}

impl CorrectedCov {
    /// The CoV for `n` timestamps from `first` to `last`; `None` with fewer than two gaps, or if all timestamps are
    /// equal.
    pub fn new(n: u64, first: u64, last: u64, tick: u64) -> Option<Self> {
        let (gaps, length) = (n.saturating_sub(1), last - first);
        if gaps < 2 || length == 0 {
            return None;
        }
        let mean = length as f64 / gaps as f64;
        let tick = if tick > 1 { tick as f64 } else { 0.0 };
        let every = ((4.0 * tick / mean).ceil() as u64).clamp(1, gaps / 2);
        Some(Self { mean, tick, every, seen: 0, before: 0, sums: Moments::default() })
    }

    /// Adds a timestamp, which must not precede earlier ones.
    #[inline]
    pub fn add(&mut self, stamp: u64) {
        if self.seen.is_multiple_of(self.every) {
            if self.seen > 0 {
                self.sums.add(stamp - self.before, 1);
            }
            self.before = stamp;
        }
        self.seen += 1;
    }

    /// The CoV of the gaps between all timestamps, corrected for the resolution of the clock.
    pub fn finish(&self) -> f64 {
        let variance = self.sums.sum_of_squared_deviations() / (self.sums.n - 1) as f64;
        ((variance - self.tick * self.tick / 6.0).max(0.0) / self.every as f64).sqrt() / self.mean
    }
}

/// The slowest clock tick of a computer is that of Windows, 64 per second; timestamps on a wider grid are due to the
/// schedule.
const SLOWEST_TICK_NS: u64 = 20_000_000;
/// With fewer gaps no resolution is detected.
const MIN_GAPS: usize = 100;
/// If no timestamps are equal, this number of different gaps must fit a tick that is not a multiple of the unit.
const MIN_DISTINCT_GAPS: usize = 12;
/// Number of candidate ticks on either side of the smallest gap.
const CANDIDATES: i64 = 2000;

/// The resolution of the clock that produced these timestamps, in ns, if it is coarser than the `unit` in which they
/// are written: timestamps of a clock with a resolution of 1 ms may have six decimals, and ticks of 15.625 ms (Windows)
/// are written in whole milliseconds. `None` if no coarser resolution is detected; then the resolution is the unit.
///
/// The resolution is the grid on which the timestamps lie. If it is a multiple of the unit, it divides all gaps;
/// otherwise every gap of a few ticks is within a unit of a multiple. But a schedule may also lie on a grid. Of n
/// independent requests in m ticks, n - m (1 - exp(-n / m)) share a tick with an earlier one. If less than a quarter of
/// that number do, or if requests come in bunches of equal size, the grid is not due to the clock.
pub fn detect_resolution(sorted: &[u64], unit: u64) -> Option<u64> {
    let mut gaps: Vec<u64> = sorted.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 0).collect();
    if gaps.len() < MIN_GAPS {
        return None;
    }
    let (unit, length) = (unit.max(1), sorted[sorted.len() - 1] - sorted[0]);
    let divisor = gaps.iter().copied().fold(0, divisor);
    gaps.sort_unstable();
    let alike = sorted.len() - gaps.len() - 1;
    let tick = if divisor > unit { divisor as f64 } else { non_integer_tick(&gaps, unit, alike)? };
    let (n, ticks) = (sorted.len() as f64, length as f64 / tick);
    let by_chance = n - ticks * (1.0 - (-n / ticks).exp());
    let is_grid = by_chance >= 10.0 && (alike as f64) < by_chance / 4.0;
    (tick <= SLOWEST_TICK_NS as f64 && !is_grid && !are_bunches_of_equal_size(sorted)).then_some(tick as u64)
}

/// Whether almost all distinct timestamps occur equally often, and more than once.
fn are_bunches_of_equal_size(sorted: &[u64]) -> bool {
    let mut sizes: Vec<usize> = sorted.chunk_by(|a, b| a == b).map(<[u64]>::len).collect();
    sizes.sort_unstable();
    let middle = sizes[sizes.len() / 2];
    middle > 1 && sizes.iter().filter(|size| **size == middle).count() * 20 >= sizes.len() * 19
}

/// The greatest common divisor.
fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}

/// The tick that divides all gaps of a few ticks to within one unit, the rounding error. `gaps` are
/// ascending, and `alike` timestamps equal the previous one.
fn non_integer_tick(gaps: &[u64], unit: u64, alike: usize) -> Option<f64> {
    let least = gaps[0];
    let all = &gaps[..gaps.partition_point(|gap| *gap <= 16 * least)];
    let mut short = all.to_vec();
    short.dedup();
    if least < 8 * unit || alike + short.len() < MIN_DISTINCT_GAPS {
        return None;
    }
    let misfit = |tick: f64| {
        let off = |gap: &u64| (*gap as f64 - tick * (*gap as f64 / tick).round()).abs();
        short.iter().map(off).fold(0.0, f64::max)
    };
    let candidate = |step: i64| least as f64 + unit as f64 * step as f64 / CANDIDATES as f64;
    let each = (-CANDIDATES..=CANDIDATES).map(candidate).map(|tick| (misfit(tick), tick));
    let (misfit, about) = each.min_by(|a, b| a.0.total_cmp(&b.0))?;
    let ticks: f64 = all.iter().map(|gap| (*gap as f64 / about).round()).sum();
    // To a hundredth of the unit, which is the attainable accuracy.
    let hundredths = (all.iter().sum::<u64>() as f64 / ticks * 100.0 / unit as f64).round();
    (misfit <= unit as f64).then_some(hundredths * unit as f64 / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_base::{Purpose, Seed};

    /// Requests of a Poisson process with this mean gap, in ns.
    fn poisson(n: usize, mean: f64, seed: u64) -> Vec<u64> {
        let (mut at, mut chance) = (1_700_000_000_000_000_000, Seed(seed).stream(Purpose::Arrivals));
        let mut next = || {
            at += (-chance.uniform().ln() * mean) as u64;
            at
        };
        (0..n).map(|_| next()).collect()
    }

    #[test]
    fn the_tick_of_the_clock_is_found_in_a_finer_unit() {
        const MS: u64 = 1_000_000;
        for seed in 0..50 {
            for mean in [2e6, 1e7, 5e7] {
                let exact = poisson(2000, mean, seed);
                assert_eq!((detect_resolution(&exact, 1), detect_resolution(&exact, 1000)), (None, None));
                let ms: Vec<u64> = exact.iter().map(|at| at / MS * MS).collect();
                assert_eq!((detect_resolution(&ms, 1000), detect_resolution(&ms, MS)), (Some(MS), None), "{mean}");
                // Windows: 64 ticks per second, with any phase, rounded to a millisecond.
                let tick = 15_625_000;
                for half in [0, MS / 2] {
                    let windows: Vec<u64> =
                        exact.iter().map(|at| (at / tick * tick + 77_777 + half) / MS * MS).collect();
                    let found = detect_resolution(&windows, MS).unwrap_or(0);
                    assert!(found.abs_diff(tick) < 100_000, "{mean}: {found}");
                }
            }
        }
    }

    #[test]
    fn a_schedule_on_a_grid_is_no_clock() {
        let even: Vec<u64> = (0..5000).map(|i| i * 10_000_000).collect();
        let steps: Vec<u64> =
            (0..5000).map(|i| i * 10_000_000).chain((0..5000).map(|i| 50_000_000_000 + i * 5_000_000)).collect();
        let bunches: Vec<u64> = (0..5000).map(|i| i / 5 * 10_000_000).collect();
        let wide: Vec<u64> = poisson(5000, 1e8, 1).iter().map(|at| at / 100_000_000 * 100_000_000).collect();
        for launches in [even, steps, bunches, wide] {
            assert_eq!(detect_resolution(&launches, 1000), None);
        }
    }
}
