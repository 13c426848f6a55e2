//! Errors of the solvers. Each message is one line that says what to change.

/// The reason why a solver returned no result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// A time, rate or count is not above zero, although it must be.
    #[error("{what} must be a number above zero, not {value}")]
    NotPositive {
        /// Name of the argument.
        what: &'static str,
        /// The value given.
        value: f64,
    },
    /// A time that may be zero is negative or not a number.
    #[error("{what} must be zero or more, not {value}")]
    Negative {
        /// Name of the argument.
        what: &'static str,
        /// The value given.
        value: f64,
    },
    /// A share is outside its permitted interval, such as (0, 1) or [0, 1).
    #[error("{what} must be {expected}, not {value}")]
    OutOfRange {
        /// Name of the argument.
        what: &'static str,
        /// The permitted interval, in words.
        expected: &'static str,
        /// The value given.
        value: f64,
    },
    /// An open system at or above load 1.
    #[error(
        "the load is {load:.4}; an open system has no steady state at 1 or above: lower the rate, or shorten the service"
    )]
    Overload {
        /// rate x service / servers.
        load: f64,
    },
    /// A distribution cannot have the given mean.
    #[error(transparent)]
    Distribution(#[from] offered_base::InvalidValue),
    /// An empty list where at least one entry is needed.
    #[error("{what} are missing; give at least one")]
    Empty {
        /// Name of the missing entries.
        what: &'static str,
    },
    /// The chain has more states than the solver may hold.
    #[error(
        "the exact solution needs {states:.0} states, more than the budget of {budget}; use fewer users, fewer classes, or schweitzer"
    )]
    TooManyStates {
        /// Number of states: the product of (N + 1) over the classes.
        states: f64,
        /// Maximum number of states.
        budget: usize,
    },
    /// The iteration did not converge.
    #[error(
        "the iteration did not converge to {tolerance} within {steps} steps; use a larger tolerance or the exact method"
    )]
    NotConverged {
        /// Number of steps taken.
        steps: usize,
        /// Name of the argument.
        tolerance: f64,
    },
    /// No think time produces this load with this number of users.
    #[error(
        "{users} users on {servers} servers reach a load of {max:.4} at most (think time 0), not {load}; use more users"
    )]
    LoadUnreachable {
        /// Name of the argument.
        load: f64,
        /// The highest load, reached at think time 0.
        max: f64,
        /// N.
        users: u64,
        /// m.
        servers: u64,
    },
    /// A rate above the capacity of the slowest station.
    #[error(
        "{rate:.4}/s is above 1/S_max = {max:.4}/s, the capacity of the slowest station (Brady and Gunther, eqn 11): no \
         number of users reaches it; use a rate of {max:.4}/s or less"
    )]
    AboveBottleneck {
        /// Name of the argument.
        rate: f64,
        /// `1/S_max`, per second.
        max: f64,
    },
    /// A system that this solver does not cover. The text says which solver does.
    #[error("{0}")]
    Unsupported(String),
}

/// Returns `value` if it is finite and above zero.
pub(crate) fn positive(what: &'static str, value: f64) -> Result<f64, Error> {
    if value.is_finite() && value > 0.0 { Ok(value) } else { Err(Error::NotPositive { what, value }) }
}

/// Returns `value` if it is finite and not negative.
pub(crate) fn not_negative(what: &'static str, value: f64) -> Result<f64, Error> {
    if value.is_finite() && value >= 0.0 { Ok(value) } else { Err(Error::Negative { what, value }) }
}

/// Returns `count` as `f64` if it is not zero.
pub(crate) fn some(what: &'static str, count: u64) -> Result<f64, Error> {
    positive(what, count as f64)
}

/// Returns `load` if it is below 1, so that an open system has a steady state.
pub(crate) fn below_one(load: f64) -> Result<f64, Error> {
    if load < 1.0 { Ok(load) } else { Err(Error::Overload { load }) }
}
