//! The first and the last of a series of timestamps.

/// The number of timestamps of a recording, the first one and the last one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// Number of timestamps.
    pub n: u64,
    /// The first timestamp, in nanoseconds.
    pub first: u64,
    /// The last timestamp, in nanoseconds.
    pub last: u64,
}

impl Ends {
    /// Adds a timestamp, in nanoseconds.
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

    /// In nanoseconds; NaN with fewer than two timestamps.
    pub(crate) fn mean_gap(self) -> f64 {
        self.length() as f64 / self.gaps() as f64
    }
}
