//! What a protocol does: it carries exchanges, one request and its answer each. [`Scripted`](super::Scripted) makes sessions of
//! them, which remember, listen and fetch; a protocol knows nothing of that.

use std::sync::Arc;

use offered_model::{Event, Instant, Nanos};

use crate::message::{OutgoingRequest, Response};

/// Carries the exchanges of one thread.
pub(crate) trait ProtocolClient {
    /// The time since the run's start.
    fn now(&self) -> Instant;

    /// Begins the exchange of `event`, in which nothing has happened yet, without waiting; the time when that was done.
    ///
    /// Exactly one [`Heard::Ended`] follows for each call: in `heard` at once if nothing could be sent, else from a later
    /// [`wait`](Self::wait) or [`abandon`](Self::abandon). It brings the same event with what happened filled in. Exchanges
    /// are told apart by session, step and object; of those under way no two have all three in common.
    fn begin(&mut self, outgoing: &Arc<OutgoingRequest>, event: Event, completions: &mut Vec<Completion>) -> Instant;

    /// Waits until something is heard, or until `deadline`; adds it to `heard`.
    fn wait(&mut self, deadline: Instant, completions: &mut Vec<Completion>);

    /// A session has left: what was its own (connections) is closed.
    fn close_session(&mut self, session: u64);

    /// Gives up what is under way; its events say `cut`.
    fn cancel_all(&mut self, completions: &mut Vec<Completion>);

    /// The event, as far as it has come, of the next exchange that was begun by `instant` and is still under way, each once.
    fn in_flight_since(&mut self, instant: Instant) -> Option<Event>;

    /// The run is over and nothing is under way: whoever is still connected is told goodbye, where the protocol has one.
    fn finish(&mut self) {}

    /// How long it has waited so far with nothing to do.
    fn idle(&self) -> Nanos;

    /// How `ask` was said, in the exchange that ended with `event`.
    fn request_text(&self, outgoing: &OutgoingRequest, event: &Event) -> RequestText;
}

/// What was written for a request, for people.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RequestText {
    /// The lines of its head, of a session's later messages none.
    pub(crate) head: Vec<String>,
    /// Its body; that of a call is the JSON it was made of.
    pub(crate) body: Vec<u8>,
}

impl RequestText {
    /// Of the bytes of an HTTP/1 request.
    pub(crate) fn from_http1(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(bytes.len());
        let head = String::from_utf8_lossy(&bytes[..end]).split("\r\n").map(str::to_owned).collect();
        Self { head, body: bytes.get(end + 4..).unwrap_or_default().to_vec() }
    }

    /// Of a request that cannot be written.
    pub(crate) fn unavailable(reason: String) -> Self {
        Self { head: vec![reason], body: Vec::new() }
    }
}

/// Something that happened to an exchange.
#[derive(Debug)]
pub(crate) enum Completion {
    /// The first byte of its answer has come. Told at most once, and only before the end.
    FirstByte {
        /// Whose.
        session: u64,
        /// Of which of its request's objects; 0: the request itself.
        object: u16,
    },
    /// It is over: what became of it and, if an answer came whole, what that said.
    Done(Event, Option<Box<Response>>),
}
