//! Coarse stamps: launches written down in whole milliseconds, tested as if they had been written exactly.
//!
//! Rounding makes ties, and a test for exponential gaps then rejects every true Poisson stream. Given how many launches of a
//! Poisson process fall into a tick, they are uniform in it and independent; so adding to each stamp a uniform part of its tick
//! turns a rounded Poisson process back into a Poisson process, *exactly*, and every test keeps its false-alarm rate.
//!
//! # Limitations
//! What happened inside a tick is gone: bunches shorter than the tick look like chance afterwards. Counts in windows of many
//! ticks still tell the truth.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::values::Moments;

/// `sorted` stamps, each put at a random place of the tick that begins at it, in ascending order again; see [`Spread`].
pub fn spread(sorted: &[u64], tick: u64, uniform: impl FnMut() -> f64) -> Vec<u64> {
    let (mut spread, mut all) = (Spread::new(tick, uniform), Vec::with_capacity(sorted.len()));
    for stamp in sorted {
        spread.add(*stamp, |at| all.push(at));
    }
    spread.finish(|at| all.push(at));
    all
}

/// Stamps as they come, each put at a random place of the tick that begins at it, in ascending order again.
#[derive(Clone, Debug)]
pub struct Spread<U> {
    tick: u64,
    uniform: U,
    /// Those behind which a stamp to come may still be put.
    held: BinaryHeap<Reverse<u64>>,
}

impl<U: FnMut() -> f64> Spread<U> {
    /// `uniform` yields numbers in (0, 1). A tick of one unit or none leaves the stamps as they are.
    pub fn new(tick: u64, uniform: U) -> Self {
        Self { tick, uniform, held: BinaryHeap::new() }
    }

    /// Takes a stamp, which is not before those taken already, and gives `emit` what comes before all that are still to come.
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

    /// There are no more stamps: gives `emit` what is left.
    pub fn finish(mut self, mut emit: impl FnMut(u64)) {
        while let Some(Reverse(first)) = self.held.pop() {
            emit(first);
        }
    }
}

/// The CoV of the gaps between stamps as they come, without what rounding to ticks added to it.
///
/// Two rounded ends add tick^2 / 6 to the variance (Sheppard's correction, twice), but only where a gap is several ticks long.
/// Of finer gaps the sums of k are looked at, k so large that a sum is four ticks: their variance is k times that of one gap
/// when gaps are independent, and next to nothing for a clock.
#[derive(Clone, Debug)]
pub struct CorrectedCov {
    mean: f64,
    tick: f64,
    /// Every so many stamps a sum of gaps ends.
    every: u64,
    seen: u64,
    before: u64,
    sums: Moments,
}

impl CorrectedCov {
    /// Of `n` stamps from `first` to `last`; `None` for fewer than two gaps, or in no time.
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

    /// Takes a stamp, which is not before those taken already.
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

    /// The CoV, when all have been taken.
    pub fn finish(&self) -> f64 {
        let variance = self.sums.squares_about_mean() / (self.sums.n - 1) as f64;
        ((variance - self.tick * self.tick / 6.0).max(0.0) / self.every as f64).sqrt() / self.mean
    }
}

/// No clock of a computer ticks more slowly than Windows', 64 times a second; what stands on a wider grid was launched so.
const SLOWEST: u64 = 20_000_000;
/// Of fewer gaps nothing is said.
const FEWEST: usize = 100;
/// Where no stamps are alike, so many different gaps must all fit a tick that is no whole multiple of the unit.
const DIFFERENT: usize = 12;
/// So many ticks are tried on either side of the smallest gap.
const CANDIDATES: i64 = 2000;

/// The tick of the clock that made these stamps, in ns, where it is longer than the `unit` in which they are written: stamps of a clock of
/// 1 ms may have six decimals, and Windows' 15.625 ms are written in whole milliseconds. `None` where they show none: then it is the unit.
///
/// It is the grid on which they stand. If that is a multiple of the unit, it divides all gaps; if not, every gap of a few ticks is within a
/// unit of a multiple of it. But a schedule may stand on a grid too. Of n launches that know nothing of each other in a time of m ticks,
/// n - m (1 - exp(-n / m)) come after another in its tick. Where less than a quarter of those do, or launches come in bunches of one size,
/// it is no clock.
pub fn found(sorted: &[u64], unit: u64) -> Option<u64> {
    let mut gaps: Vec<u64> = sorted.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 0).collect();
    if gaps.len() < FEWEST {
        return None;
    }
    let (unit, length) = (unit.max(1), sorted[sorted.len() - 1] - sorted[0]);
    let divisor = gaps.iter().copied().fold(0, divisor);
    gaps.sort_unstable();
    let alike = sorted.len() - gaps.len() - 1;
    let tick = if divisor > unit { divisor as f64 } else { near(&gaps, unit, alike)? };
    let (n, ticks) = (sorted.len() as f64, length as f64 / tick);
    let by_chance = n - ticks * (1.0 - (-n / ticks).exp());
    let is_grid = by_chance >= 10.0 && (alike as f64) < by_chance / 4.0;
    (tick <= SLOWEST as f64 && !is_grid && !are_of_one_size(sorted)).then_some(tick as u64)
}

/// Whether nearly all stamps that are there stand there equally often, and more than once.
fn are_of_one_size(sorted: &[u64]) -> bool {
    let mut sizes: Vec<usize> = sorted.chunk_by(|a, b| a == b).map(<[u64]>::len).collect();
    sizes.sort_unstable();
    let middle = sizes[sizes.len() / 2];
    middle > 1 && sizes.iter().filter(|size| **size == middle).count() * 20 >= sizes.len() * 19
}

/// The greatest common divisor.
fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}

/// The tick of which all gaps of a few are multiples to within a unit, which came of rounding; `gaps` are in ascending order, and so many stamps
/// more are like the one before.
fn near(gaps: &[u64], unit: u64, alike: usize) -> Option<f64> {
    let least = gaps[0];
    let all = &gaps[..gaps.partition_point(|gap| *gap <= 16 * least)];
    let mut short = all.to_vec();
    short.dedup();
    if least < 8 * unit || alike + short.len() < DIFFERENT {
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
    // To a hundredth of the unit, which is what can be known.
    let hundredths = (all.iter().sum::<u64>() as f64 / ticks * 100.0 / unit as f64).round();
    (misfit <= unit as f64).then_some(hundredths * unit as f64 / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_model::{Purpose, Seed};

    /// Launches of a Poisson process with this mean gap, in ns.
    fn poisson(n: usize, mean: f64, seed: u64) -> Vec<u64> {
        let (mut at, mut chance) = (1_700_000_000_000_000_000, Seed(seed).stream(Purpose::Arrivals));
        let mut next = || {
            at += (-chance.uniform().ln() * mean) as u64;
            at
        };
        (0..n).map(|_| next()).collect()
    }

    #[test]
    fn a_clock_is_found_behind_what_it_is_written_in() {
        const MS: u64 = 1_000_000;
        for seed in 0..50 {
            for mean in [2e6, 1e7, 5e7] {
                let exact = poisson(2000, mean, seed);
                assert_eq!((found(&exact, 1), found(&exact, 1000)), (None, None));
                let ms: Vec<u64> = exact.iter().map(|at| at / MS * MS).collect();
                assert_eq!((found(&ms, 1000), found(&ms, MS)), (Some(MS), None), "{mean}");
                // Windows: 64 times a second, at any phase, written down to the millisecond below or beside.
                let tick = 15_625_000;
                for half in [0, MS / 2] {
                    let windows: Vec<u64> =
                        exact.iter().map(|at| (at / tick * tick + 77_777 + half) / MS * MS).collect();
                    let found = found(&windows, MS).unwrap_or(0);
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
            assert_eq!(found(&launches, 1000), None);
        }
    }
}
