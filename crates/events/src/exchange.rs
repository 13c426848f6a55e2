//! Exchanges: a request with its response, in full, for debugging.
//!
//! Only exchanges of failed requests are recorded, a few per kind. Secrets are redacted before an exchange is created. Other texts are
//! those of the server and must be escaped for display.

use serde::{Deserialize, Serialize};

/// A request and its response.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Exchange {
    /// Name of the request.
    pub request: String,
    /// Number of the session.
    pub session: u64,
    /// Number of the request in its session, from 0.
    pub step: u32,
    /// Number of the embedded object, from 1; 0 is the request itself.
    pub object: u16,
    /// Number of redirects that were followed before this exchange.
    pub redirects: u32,
    /// Whether the exchange is a request for an access token (OAuth 2.0), sent before the request of the workload.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub token_request: bool,
    /// Name of the [`Outcome`](crate::Outcome).
    pub outcome: String,
    /// HTTP status; 0 without one.
    pub status: u16,
    /// Why the request failed or was not sent.
    pub reason: Option<String>,
    /// Time from sending to the last byte of the response, milliseconds.
    pub service_ms: Option<f64>,
    /// Whether the connection had been used before.
    pub reused: bool,
    /// The request as sent; `None` if it was not sent.
    pub sent: Option<Message>,
    /// The response; `None` without a complete one.
    pub received: Option<Message>,
    /// Extracted values by name; `None` if nothing matched.
    pub extracted: Vec<(String, Option<String>)>,
    /// The failed checks, in the order of the workload.
    pub failed_checks: Vec<FailedCheck>,
}

/// A request or response message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Message {
    /// Lines before the body.
    pub head: Vec<String>,
    /// Start of the decoded body; `None` if it is not text.
    pub body: Option<String>,
    /// Size of the body on the wire, bytes.
    pub bytes: u64,
    /// Whether `body` is truncated.
    pub truncated: bool,
}

/// A failed check, or an extraction without a match.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailedCheck {
    /// Name of the check.
    pub check: String,
    /// The expected value of the check, as text.
    pub expected: String,
    /// The value that the response contains instead; `None`: it contains none.
    pub found: Option<String>,
}
