//! Distribution of the number of requests at a station.

/// P(n requests at the station) in steady state.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Occupancy {
    /// P(n) for n = 0, 1, ...
    pub(crate) p: Vec<f64>,
    /// P(n or more), where n is the length of `p`.
    pub(crate) more: f64,
    /// E\[N; N >= n\], where n is the length of `p`.
    pub(crate) more_mean: f64,
}

impl Occupancy {
    /// A distribution without further numbers.
    pub(crate) fn of(p: Vec<f64>) -> Self {
        Self { p, more: 0.0, more_mean: 0.0 }
    }

    /// Adds this share of `other`, whose `p` has the same length.
    pub(crate) fn add(&mut self, other: &Self, share: f64) {
        for (sum, p) in self.p.iter_mut().zip(&other.p) {
            *sum += share * p;
        }
        self.more += share * other.more;
        self.more_mean += share * other.more_mean;
    }

    /// E\[N\].
    pub(crate) fn mean(&self) -> f64 {
        self.sum(|n| n as f64) + self.more_mean
    }

    /// E\[value(N)\] of a value that is the same for all numbers from the length of `p` on.
    pub(crate) fn expect(&self, value: impl Fn(u64) -> f64) -> f64 {
        let beyond = if self.more > 0.0 { self.more * value(self.p.len() as u64) } else { 0.0 };
        self.sum(value) + beyond
    }

    fn sum(&self, value: impl Fn(u64) -> f64) -> f64 {
        (0..).zip(&self.p).map(|(n, p)| p * value(n)).sum()
    }
}
