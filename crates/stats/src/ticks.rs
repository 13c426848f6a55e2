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
