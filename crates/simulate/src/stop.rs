//! The end of a simulation.

/// When a simulation stops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stop {
    /// At the end of the workload's duration. The statistics exclude `skip_first` and `skip_last`.
    Duration,
    /// After this number of completions (after `skip_first`), at any simulated time.
    Jobs(u64),
    /// When the half-width of the 95 % interval of the mean response is at most this fraction of the mean, whatever the
    /// duration. The statistics exclude `skip_first`.
    Precision(f64),
}
