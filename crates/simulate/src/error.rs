//! Reasons why a workload cannot be simulated.

use offered_base::InvalidValue;
use offered_workload::Rates;

/// Why a workload cannot be simulated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// The workload is invalid: it has no server, or a server that cannot serve it.
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
    /// A region of an open or partly-open network has no steady state at this rate.
    #[error(
        "`{region}` with a capacity of {capacity} completes at most {throughput:.4}/s, and {rate:.4}/s arrive, so the queue before it grows \
         without end; lower the rate, raise its `capacity`, or let it reject requests"
    )]
    Saturated {
        /// The name.
        region: String,
        /// The capacity.
        capacity: u32,
        /// The largest rate that it completes, requests per second.
        throughput: f64,
        /// The arrival rate, requests per second.
        rate: f64,
    },
    /// No request completed in the measured time.
    #[error(
        "no request completed in the measured time; simulate longer, or raise `timeout` and `patience` above the response times"
    )]
    NothingCompleted,
}

impl Error {
    /// Why a system with this load, 1 or more, has no steady state.
    pub(crate) fn unstable(load: f64) -> Self {
        if load.is_infinite() { InvalidValue::new(Rates::NO_STEADY_STATE).into() } else { Self::Unstable { load } }
    }

    /// Whether the workload is valid, but there is nothing to measure.
    pub const fn is_unmeasurable(&self) -> bool {
        self.is_unstable() || matches!(self, Self::NothingCompleted)
    }

    /// Whether the queue would grow without end.
    pub const fn is_unstable(&self) -> bool {
        matches!(self, Self::Unstable { .. } | Self::Saturated { .. })
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
