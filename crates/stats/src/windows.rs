//! Counts of instants in consecutive windows, as the instants come: of a stream without end no more is kept than who counts keeps.

use crate::dispersion::{Dispersion, of_moments};
use crate::values::Moments;

/// Instants counted in whole windows of one length, one after another.
#[derive(Clone, Debug)]
pub struct Windows {
    window: u64,
    /// Whole windows that are still to be closed, the open one among them.
    left: u64,
    /// The first instant behind the open one.
    end: u64,
    count: u64,
}

impl Windows {
    /// The whole windows of this length from `from` until before `to`.
    pub fn new(from: u64, to: u64, window: u64) -> Self {
        Self { window, left: to.saturating_sub(from) / window, end: from.saturating_add(window), count: 0 }
    }

    /// Counts an instant, which does not lie before those counted already. `close` is told what the windows before its own held,
    /// and of how many of them that is the count.
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

    /// Closes those that are left; there are no more instants.
    pub fn finish(mut self, mut close: impl FnMut(u64, u64)) {
        self.close(1, &mut close);
        self.close(self.left, &mut close);
    }

    /// Closes so many, the first of them with what it holds.
    fn close(&mut self, windows: u64, close: &mut impl FnMut(u64, u64)) {
        let windows = windows.min(self.left);
        if windows > 0 {
            close(std::mem::take(&mut self.count), windows);
            self.left -= windows;
        }
        self.count = 0;
    }
}

/// Counts in windows of one length, of which the dispersion is wanted.
#[derive(Clone, Debug)]
pub struct Dispersed {
    windows: Windows,
    counts: Moments,
}

impl Dispersed {
    /// In the whole windows of this length from `from` until before `to`.
    pub fn new(from: u64, to: u64, window: u64) -> Self {
        Self { windows: Windows::new(from, to, window), counts: Moments::default() }
    }

    /// Counts an instant, which does not lie before those counted already.
    #[inline]
    pub fn add(&mut self, at: u64) {
        self.windows.add(at, |count, windows| self.counts.add(count, windows));
    }

    /// The index of dispersion; `None` with fewer than two windows or no counts.
    pub fn finish(mut self) -> Option<Dispersion> {
        let window = self.windows.window;
        self.windows.finish(|count, windows| self.counts.add(count, windows));
        of_moments(&self.counts, window)
    }
}

/// Counts in windows of one length: how many windows had none, one, two, ...
#[derive(Clone, Debug)]
pub struct Seen {
    windows: Windows,
    had: Vec<u64>,
    instants: u64,
}

impl Seen {
    /// Counts from here on are as one.
    const MOST: u64 = 1 << 16;

    /// In the whole windows of this length from `from` until before `to`.
    pub fn new(from: u64, to: u64, window: u64) -> Self {
        Self { windows: Windows::new(from, to, window), had: Vec::new(), instants: 0 }
    }

    /// Counts an instant, which does not lie before those counted already.
    #[inline]
    pub fn add(&mut self, at: u64) {
        self.windows.add(at, |count, windows| note(&mut self.had, &mut self.instants, count, windows));
    }

    /// How many windows had each count (above 65,536 all as one), and how many instants they held.
    pub fn finish(mut self) -> (Vec<u64>, u64) {
        self.windows.finish(|count, windows| note(&mut self.had, &mut self.instants, count, windows));
        (self.had, self.instants)
    }
}

fn note(had: &mut Vec<u64>, instants: &mut u64, count: u64, windows: u64) {
    let at = count.min(Seen::MOST) as usize;
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
            let (mut windows, mut found) = (Windows::new(from, to, window), Vec::new());
            for at in &instants {
                windows.add(*at, |count, times| found.extend((0..times).map(|_| count as u32)));
            }
            windows.finish(|count, times| found.extend((0..times).map(|_| count as u32)));
            prop_assert_eq!(&found, &all);
            let mut dispersed = Dispersed::new(from, to, window);
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
