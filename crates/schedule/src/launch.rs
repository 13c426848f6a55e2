//! A launch: one request that is due, and where in its session it stands.

use offered_base::time::Instant;

/// One request that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Launch {
    /// When.
    pub intended: Instant,
    /// By which session: the user of a closed system, else the arrival's number in the whole run.
    pub session: u64,
    /// Which request of that session, from 0.
    pub step: u32,
    /// Where in its flow it stands; 0 in a workload without flows.
    pub place: u16,
    /// Which visit of its session it belongs to, and whether it begins it.
    pub visit: Visit,
}

/// Which visit of its session a launch belongs to, and whether it is the first of it.
///
/// A visit is one walk of a closed user through a flow; without flows each request of a closed user is one. Any other session
/// makes one visit. Visits are counted up to [`Visit::MAX`], beyond which their number stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Visit(u16);

impl Visit {
    const BEGINS: u16 = 1 << 15;
    /// The largest number there is.
    pub const MAX: u32 = (Self::BEGINS - 1) as u32;
    /// The first launch of a session's first visit.
    pub const FIRST: Self = Self(Self::BEGINS);

    /// Whether the launch is the first of its visit.
    pub fn begins(self) -> bool {
        self.0 >= Self::BEGINS
    }

    /// How many visits came before it.
    pub fn number(self) -> u32 {
        u32::from(self.0 & !Self::BEGINS)
    }

    /// A later launch of the same visit.
    #[must_use]
    pub fn on(self) -> Self {
        Self(self.0 & !Self::BEGINS)
    }

    /// The first launch of the next visit; `None` where there are only so many.
    pub fn next(self, visits: Option<u32>) -> Option<Self> {
        let next = self.number() + 1;
        visits.is_none_or(|visits| next < visits).then(|| Self(next.min(Self::MAX) as u16 | Self::BEGINS))
    }
}
