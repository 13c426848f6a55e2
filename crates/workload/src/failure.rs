//! Failures of attempts.

use offered_events::Outcome;

/// A failure of an attempt, after which a request is sent again, or which a circuit breaker counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// An outcome.
    Outcome(Outcome),
    /// A failed response with a status between these, both included.
    Status(u16, u16),
}

impl Failure {
    /// The default failures: those that are usually temporary, as for curl's `--retry`.
    pub const DEFAULT: [Self; 8] = [
        Self::Outcome(Outcome::Timeout),
        Self::Outcome(Outcome::Refused),
        Self::Outcome(Outcome::Reset),
        Self::Outcome(Outcome::Unprocessed),
        Self::Status(408, 408),
        Self::Status(429, 429),
        Self::Status(500, 500),
        Self::Status(502, 504),
    ];

    /// The outcomes that a workload can name.
    pub const OUTCOMES: [Outcome; 17] = [
        Outcome::HttpError,
        Outcome::Timeout,
        Outcome::Refused,
        Outcome::Reset,
        Outcome::Malformed,
        Outcome::Dns,
        Outcome::Tls,
        Outcome::GrpcError,
        Outcome::CheckFailed,
        Outcome::Unprocessed,
        Outcome::SqlError,
        Outcome::ObjectFailed,
        Outcome::StreamError,
        Outcome::Truncated,
        Outcome::NoToken,
        Outcome::Short,
        Outcome::AuthError,
    ];

    /// Whether this failure includes an attempt with this outcome and status.
    pub fn includes(self, outcome: Outcome, status: u16) -> bool {
        match self {
            Self::Outcome(failure) => outcome == failure,
            Self::Status(low, high) => outcome != Outcome::Ok && (low..=high).contains(&status),
        }
    }
}
