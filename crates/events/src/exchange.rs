//! An exchange as somebody saw it: what was said, what came back, and what was made of it.
//!
//! Events tell when and how; an exchange tells what. Of a run only a few are kept, those that failed. What must stay secret is
//! blanked before an exchange is made; texts are otherwise those of the other side, and to be escaped where they are shown.

use serde::{Deserialize, Serialize};

/// One request and what came of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Exchange {
    /// The request's name.
    pub request: String,
    /// Its session.
    pub session: u64,
    /// Which request of that, from 0.
    pub step: u32,
    /// Which of the objects that the request brings with it, from 1; 0: the request itself.
    pub object: u16,
    /// How many redirects of the request came before.
    pub redirects: u32,
    /// How it ended, the name of an [`Outcome`](crate::Outcome).
    pub outcome: String,
    /// The HTTP status, 0 where there was none.
    pub status: u16,
    /// Why it failed or was not sent, in words.
    pub reason: Option<String>,
    /// From the sending to the last byte of the answer, milliseconds.
    pub service_ms: Option<f64>,
    /// Whether its connection had carried a request before.
    pub reused: bool,
    /// What was sent; `None`: nothing was.
    pub sent: Option<Message>,
    /// What came back; `None`: no whole answer did.
    pub received: Option<Message>,
    /// What was taken out of the answer; a value that was not found is `None`.
    pub extracted: Vec<(String, Option<String>)>,
    /// The check that the answer did not stand up to.
    pub failed: Option<FailedCheck>,
}

/// One side of an exchange.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Message {
    /// The lines before the body.
    pub head: Vec<String>,
    /// The body, unpacked, as far as it was kept; `None` where it is no text.
    pub body: Option<String>,
    /// How many bytes the body had on the wire.
    pub bytes: u64,
    /// Whether the body goes on behind what was kept.
    pub truncated: bool,
}

/// A check that failed, or an extraction that found nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailedCheck {
    /// Its name.
    pub check: String,
    /// What it looks at and wants there, in words.
    pub expected: String,
    /// What stood there; `None`: nothing.
    pub found: Option<String>,
}
