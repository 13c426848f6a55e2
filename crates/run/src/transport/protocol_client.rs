//! Protocol clients. A client carries exchanges; an exchange is one request and its response.

use std::sync::Arc;

use offered_base::Instant;
use offered_events::Event;
use offered_io::Clock;

use super::Client;
use crate::message::{OutgoingRequest, Response};

/// Carries the exchanges of one thread over a protocol. Sessions (cookies, values, redirects, objects, checks) are the
/// business of [`Scripted`](super::Scripted).
pub(crate) trait ProtocolClient: Client<Vec<Completion>> {
    /// Switches to `clock` at the start of a run. No exchange may be in flight.
    fn start_at(&mut self, clock: Clock);

    /// Starts the exchange of `event`, in which nothing has happened yet, without waiting. Returns the time when the
    /// request was sent.
    ///
    /// Exactly one [`Completion::Done`] follows for each call: in `completions` at once if nothing could be sent, else
    /// from a later [`wait`](Client::wait) or [`cancel_all`](Client::cancel_all). It contains the same event,
    /// completed. Session, step and object identify an exchange among those in flight.
    fn begin(&mut self, outgoing: &Arc<OutgoingRequest>, event: Event, completions: &mut Vec<Completion>) -> Instant;

    /// The instant at which the client needs its next turn if no socket becomes ready: now if work remains, otherwise
    /// its next timeout.
    fn next_turn(&mut self) -> Instant;

    /// The text of `outgoing` as it was sent in the exchange that ended with `event`.
    fn request_text(&self, outgoing: &OutgoingRequest, event: &Event) -> RequestText;
}

/// The text of a request, for display.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RequestText {
    /// The lines of the head. Empty if the protocol sends none with the request.
    pub(crate) head: Vec<String>,
    /// The body. For a gRPC call it is the JSON from which the message was encoded.
    pub(crate) body: Vec<u8>,
}

impl RequestText {
    /// From the bytes of an HTTP/1 request.
    pub(crate) fn from_http1(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(bytes.len());
        let head = String::from_utf8_lossy(&bytes[..end]).split("\r\n").map(str::to_owned).collect();
        Self { head, body: bytes.get(end + 4..).unwrap_or_default().to_vec() }
    }

    /// For a request that cannot be built.
    pub(crate) fn unavailable(reason: String) -> Self {
        Self { head: vec![reason], body: Vec::new() }
    }
}

/// A part of an exchange that is complete.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a box would cost an allocation for every request")]
pub(crate) enum Completion {
    /// The first byte of the response has arrived. Reported at most once, and only before the end.
    FirstByte {
        /// The session.
        session: u64,
        /// The object of the request; 0 for the request itself.
        object: u16,
    },
    /// The exchange is complete or has failed. The response is present if it was received completely.
    Done(Event, Option<Box<Response>>),
}
