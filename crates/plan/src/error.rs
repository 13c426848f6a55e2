//! What a question got wrong, in one line that says what to write instead.

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// A time, rate or count that must be above zero is not.
    #[error("{what} must be a number above zero, not {value}")]
    NotPositive {
        /// What was asked for.
        what: &'static str,
        /// What was given.
        value: f64,
    },
    /// A time that may be zero is negative or not a number.
    #[error("{what} must be zero or more, not {value}")]
    Negative {
        /// What was asked for.
        what: &'static str,
        /// What was given.
        value: f64,
    },
    /// A share that must lie in an open or half-open unit interval does not.
    #[error("{what} must be {expected}, not {value}")]
    Share {
        /// What was asked for.
        what: &'static str,
        /// The interval, in words.
        expected: &'static str,
        /// What was given.
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
    /// Nothing where at least one was needed.
    #[error("there are no {what}; give at least one")]
    Empty {
        /// What was missing.
        what: &'static str,
    },
    /// More states than the solver may hold.
    #[error(
        "the exact solution needs {states:.0} states, more than the budget of {budget}; use fewer users, fewer classes, or schweitzer"
    )]
    Budget {
        /// Product of (N + 1) over the classes.
        states: f64,
        /// What is allowed.
        budget: usize,
    },
    /// An iteration that did not settle.
    #[error(
        "the iteration had not settled to {tolerance} after {steps} steps; use a larger tolerance, or the exact method"
    )]
    Unsettled {
        /// How many steps were tried.
        steps: usize,
        /// What was asked for.
        tolerance: f64,
    },
    /// A load that no think time reaches.
    #[error(
        "{users} users on {servers} servers reach a load of {most:.4} at most (think time 0), not {load}; use more users"
    )]
    OutOfReach {
        /// What was asked for.
        load: f64,
        /// The highest load.
        most: f64,
        /// N.
        users: u64,
        /// m.
        servers: u64,
    },
    /// A rate above what the slowest station can do.
    #[error(
        "{rate:.4}/s is above 1/S_max = {most:.4}/s, what the slowest station can do (Brady and Gunther, eqn 11): no number \
         of users reaches it; ask for {most:.4}/s or less"
    )]
    AboveBottleneck {
        /// What was asked for.
        rate: f64,
        /// `1/S_max`.
        most: f64,
    },
    /// A question that this solver cannot answer, and which one can.
    #[error("{0}")]
    Refused(String),
}

/// `value` if it is a finite number above zero.
pub(crate) fn positive(what: &'static str, value: f64) -> Result<f64, Error> {
    if value.is_finite() && value > 0.0 { Ok(value) } else { Err(Error::NotPositive { what, value }) }
}

/// `value` if it is a finite number, zero or more.
pub(crate) fn not_negative(what: &'static str, value: f64) -> Result<f64, Error> {
    if value.is_finite() && value >= 0.0 { Ok(value) } else { Err(Error::Negative { what, value }) }
}

/// `count` as a number if it is not zero.
pub(crate) fn some(what: &'static str, count: u64) -> Result<f64, Error> {
    positive(what, count as f64)
}

/// `load` if an open system can carry it.
pub(crate) fn below_one(load: f64) -> Result<f64, Error> {
    if load < 1.0 { Ok(load) } else { Err(Error::Overload { load }) }
}
