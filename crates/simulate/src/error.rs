//! Why a workload cannot be simulated.

use offered_base::InvalidValue;

/// Why a workload cannot be simulated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// The workload is wrong: it has no server, or one that cannot serve it.
    #[error(transparent)]
    Input(#[from] InvalidValue),
    /// An open or partly-open system with unlimited capacity has no steady state at this load.
    #[error(
        "the load is {load:.3}, and at 1 or more the queue of an open system grows without end; lower the rate, add servers, or limit the server's `capacity`"
    )]
    Unstable {
        /// The load, 1 or more.
        load: f64,
    },
    /// No request completed in the measured time.
    #[error("no request completed in the measured time; simulate longer")]
    NothingCompleted,
}

impl Error {
    /// Whether the workload is right, but there is nothing to measure.
    pub const fn is_unmeasurable(&self) -> bool {
        matches!(self, Self::Unstable { .. } | Self::NothingCompleted)
    }
}

impl From<Error> for InvalidValue {
    fn from(error: Error) -> Self {
        match error {
            Error::Input(wrong) => wrong,
            other => Self::new(other.to_string()),
        }
    }
}
