//! Failures of attempts.

use offered_events::Outcome;

/// A failure of an attempt: after it a request is sent again, or a circuit breaker counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// An outcome.
    Outcome(Outcome),
    /// A failed response with a status between these, both included.
    Status(u16, u16),
}

impl Failure {
    /// The failures where the workload names none: those that are mostly short, as curl's `--retry`.
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

    /// The outcomes that can be named.
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

    /// Whether an attempt that ended so has failed in this way.
    pub fn includes(self, outcome: Outcome, status: u16) -> bool {
        match self {
            Self::Outcome(failure) => outcome == failure,
            Self::Status(low, high) => outcome != Outcome::Ok && (low..=high).contains(&status),
        }
    }
}
