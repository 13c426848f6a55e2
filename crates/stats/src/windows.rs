//! Counts of times in consecutive windows. They are computed while the times arrive; memory does not grow with the
//! number of times.

use crate::dispersion::{Dispersion, of_moments};
use crate::values::Moments;

/// Counts times in consecutive whole windows of one length.
#[derive(Clone, Debug)]
pub struct WindowCounter {
    window: u64,
    /// Number of whole windows that are not closed yet, including the open one.
    left: u64,
    /// The end of the open window (exclusive).
    end: u64,
    count: u64,
}

impl WindowCounter {
    /// Whole windows of this length in [`from`, `to`).
    pub fn new(from: u64, to: u64, window: u64) -> Self {
        Self { window, left: to.saturating_sub(from) / window, end: from.saturating_add(window), count: 0 }
    }

    /// Counts a time, which must not precede earlier ones. `close` receives the count of the windows that are complete,
    /// and the number of windows with that count.
    #[inline]
    pub fn add(&mut self, at: u64, close: impl FnMut(u64, u64)) {
        if at >= self.end {
            self.close_until(at, close);
        }
        self.count += 1;
    }

    #[cold]
    fn close_until(&mut self, at: u64, mut close: impl FnMut(u64, u64)) {
        let passed = (at - self.end) / self.window;
        self.close(1, &mut close);
        self.close(passed, &mut close);
        self.end = self.end.saturating_add((passed + 1).saturating_mul(self.window));
    }

    /// Closes the remaining windows.
    pub fn finish(mut self, mut close: impl FnMut(u64, u64)) {
        self.close(1, &mut close);
        self.close(self.left, &mut close);
    }

    /// Closes this number of windows, which all have the current count.
    fn close(&mut self, windows: u64, close: &mut impl FnMut(u64, u64)) {
        let windows = windows.min(self.left);
        if windows > 0 {
            close(std::mem::take(&mut self.count), windows);
            self.left -= windows;
        }
        self.count = 0;
    }
}

/// Collects the counts in consecutive windows of one length.
#[derive(Clone, Debug)]
pub struct CountSeries {
    windows: WindowCounter,
    counts: Vec<f64>,
}

impl CountSeries {
    /// Whole windows of this length in [`from`, `to`).
    pub fn new(from: u64, to: u64, window: u64) -> Self {
        Self { windows: WindowCounter::new(from, to, window), counts: Vec::new() }
    }

    /// Counts a time, which must not precede earlier ones.
    #[inline]
    pub fn add(&mut self, at: u64) {
        self.windows.add(at, |count, windows| self.counts.extend((0..windows).map(|_| count as f64)));
    }

    /// The count of each window, in order.
    pub fn finish(mut self) -> Vec<f64> {
        self.windows.finish(|count, windows| self.counts.extend((0..windows).map(|_| count as f64)));
        self.counts
    }
}

/// Collects the dispersion of counts for one window length.
#[derive(Clone, Debug)]
pub struct DispersionCounter {
    windows: WindowCounter,
    counts: Moments,
}

impl DispersionCounter {
    /// Whole windows of this length in [`from`, `to`).
    pub fn new(from: u64, to: u64, window: u64) -> Self {
        Self { windows: WindowCounter::new(from, to, window), counts: Moments::default() }
    }

    /// Counts a time, which must not precede earlier ones.
    #[inline]
    pub fn add(&mut self, at: u64) {
        self.windows.add(at, |count, windows| self.counts.add(count, windows));
    }

    /// The index of dispersion; `None` with fewer than two windows or without counts.
    pub fn finish(mut self) -> Option<Dispersion> {
        let window = self.windows.window;
        self.windows.finish(|count, windows| self.counts.add(count, windows));
        of_moments(&self.counts, window)
    }
}

/// Collects the distribution of counts for one window length.
#[derive(Clone, Debug)]
pub struct CountDistribution {
    windows: WindowCounter,
    had: Vec<u64>,
    instants: u64,
}

impl CountDistribution {
    /// Larger counts are treated as equal.
    const MOST: u64 = 1 << 16;

    /// Whole windows of this length in [`from`, `to`).
    pub fn new(from: u64, to: u64, window: u64) -> Self {
        Self { windows: WindowCounter::new(from, to, window), had: Vec::new(), instants: 0 }
    }

    /// Counts a time, which must not precede earlier ones.
    #[inline]
    pub fn add(&mut self, at: u64) {
        self.windows.add(at, |count, windows| note(&mut self.had, &mut self.instants, count, windows));
    }

    /// The number of windows by count (counts above 65,536 are one), and the sum of all counts.
    pub fn finish(mut self) -> (Vec<u64>, u64) {
        self.windows.finish(|count, windows| note(&mut self.had, &mut self.instants, count, windows));
        (self.had, self.instants)
    }
}

fn note(had: &mut Vec<u64>, instants: &mut u64, count: u64, windows: u64) {
    let at = count.min(CountDistribution::MOST) as usize;
    if had.len() <= at {
        had.resize(at + 1, 0);
    }
    had[at] += windows;
    *instants += count * windows;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispersion::counts;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn windows_as_they_come_are_those_of_all_at_once(
            mut instants in prop::collection::vec(0u64..5000, 1..200), before in 0u64..20, window in 1u64..700
        ) {
            instants.sort_unstable();
            let from = instants[0].saturating_sub(before);
            let to = from + (instants[instants.len() - 1] - instants[0]);
            let all = counts(&instants, from, to, window);
            let (mut windows, mut found) = (WindowCounter::new(from, to, window), Vec::new());
            for at in &instants {
                windows.add(*at, |count, times| found.extend((0..times).map(|_| count as u32)));
            }
            windows.finish(|count, times| found.extend((0..times).map(|_| count as u32)));
            prop_assert_eq!(&found, &all);
            let mut dispersed = DispersionCounter::new(from, to, window);
            for at in &instants {
                dispersed.add(*at);
            }
            let (here, there) = (dispersed.finish(), crate::dispersion::dispersion(&all, window));
            prop_assert_eq!(here.is_some(), there.is_some());
            if let (Some(here), Some(there)) = (here, there) {
                prop_assert!((here.idc - there.idc).abs() <= 1e-12 * there.idc);
            }
        }
    }
}
