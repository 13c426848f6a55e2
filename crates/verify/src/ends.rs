//! The ends of a row of stamps.

/// How many stamps there are, the first and the last of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// How many.
    pub n: u64,
    /// The first, in ns.
    pub first: u64,
    /// The last, in ns.
    pub last: u64,
}

impl Ends {
    /// Takes one.
    #[inline]
    pub fn add(&mut self, at: u64) {
        self.first = if self.n == 0 { at } else { self.first.min(at) };
        self.last = self.last.max(at);
        self.n += 1;
    }

    pub(crate) fn gaps(self) -> u64 {
        self.n.saturating_sub(1)
    }

    pub(crate) fn length(self) -> u64 {
        self.last - self.first
    }

    /// In ns; not a number of fewer than two.
    pub(crate) fn mean_gap(self) -> f64 {
        self.length() as f64 / self.gaps() as f64
    }
}
