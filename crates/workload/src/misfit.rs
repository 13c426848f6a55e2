//! Conflicts between the parts of a workload.

/// A conflict between the parts of a workload, and its place.
pub(super) struct Misfit {
    pub(super) place: Place,
    pub(super) why: String,
}

/// A part of a workload; numbers count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Whole,
    /// A key beside the tables.
    Key(&'static str),
    /// A key of the target.
    Target(&'static str),
    /// A variable, by name.
    Variables,
    Requests,
    Request(usize),
    Flows,
    Group(usize),
    Stations,
    Station(usize),
    Region(usize),
    Threshold(usize),
    /// A key of the policies.
    Policies(&'static str),
}

impl Place {
    pub(super) fn wrong<T>(self, why: impl ToString) -> Result<T, Misfit> {
        Err(Misfit { place: self, why: why.to_string() })
    }
}
