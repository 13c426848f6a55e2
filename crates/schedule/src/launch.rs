//! A launch: one scheduled request, with its position in its session.

use offered_base::time::Instant;

/// One scheduled request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Launch {
    /// The scheduled time.
    pub intended: Instant,
    /// The session: the user of a closed system, otherwise the number of the arrival in the whole run.
    pub session: u64,
    /// The number of the request in its session, from 0.
    pub step: u32,
    /// The place in the flow; 0 in a workload without flows.
    pub place: u16,
    /// The visit of the session, and whether this request begins it.
    pub visit: Visit,
}

/// The number of a visit, and whether a request is its first.
///
/// A visit is one walk of a closed user through a flow; without flows each request of a closed user is a visit. All other sessions
/// make one visit. The number of a visit is at most [`Visit::MAX`]; later visits have that number too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Visit(u16);

impl Visit {
    const BEGINS: u16 = 1 << 15;
    /// The largest number of a visit.
    pub const MAX: u32 = (Self::BEGINS - 1) as u32;
    /// The first request of the first visit of a session.
    pub const FIRST: Self = Self(Self::BEGINS);

    /// Whether the request is the first of its visit.
    pub fn begins(self) -> bool {
        self.0 >= Self::BEGINS
    }

    /// Number of earlier visits.
    pub fn number(self) -> u32 {
        u32::from(self.0 & !Self::BEGINS)
    }

    /// The same visit, for a request after the first.
    #[must_use]
    pub fn continued(self) -> Self {
        Self(self.0 & !Self::BEGINS)
    }

    /// The first request of the next visit; `None` after `visits` visits.
    pub fn next(self, visits: Option<u32>) -> Option<Self> {
        let next = self.number() + 1;
        visits.is_none_or(|visits| next < visits).then(|| Self(next.min(Self::MAX) as u16 | Self::BEGINS))
    }
}
