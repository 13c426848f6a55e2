//! The event: the record of one request, sent or not.
//!
//! Every scheduled request of a run is exactly one [`Event`], including requests that were not sent. An event has three durations
//! with different names, because "latency" is ambiguous in load tests:
//!
//! * `response` = response time, done - scheduled: includes the delay of the generator,
//! * `service` = service time, done - sent: time of server and network,
//! * `lateness` = sent - scheduled: delay of the generator.

use std::borrow::Cow;

use crate::reason::Reason;
use crate::token_stream::TokenStream;
use offered_base::time::{Difference, Instant, Nanos};

/// The record of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Scheduled time, since the start of the run.
    pub intended: Instant,
    /// When the request was sent: when its first byte was written, or `connect` was called for a new connection, or the
    /// request entered the queue of a full connection pool. `None`: not sent, see `error`.
    pub sent: Option<Instant>,
    /// Duration of the TLS handshake on a connection opened for this request; `None` without one.
    pub handshake: Option<Nanos>,
    /// Waiting time for a connection of a full pool, part of `service` like the handshake. `None`: the protocol has no such pools,
    /// or the request was not sent.
    pub waited: Option<Nanos>,
    /// When the first byte of the response was read.
    pub first_byte: Option<Instant>,
    /// When the last byte of the response was read or the request failed. `None`: not sent.
    pub done: Option<Instant>,
    /// How long the operating system held the first byte of the response before it was read: a delay of the generator, part of
    /// `first_byte`. `None`: not measured.
    pub reading_lateness: Option<Nanos>,
    /// Time between the arrival of the last byte at the kernel and its reading by the generator; part of `done`.
    pub done_lateness: Option<Nanos>,
    /// How long after `sent` the request was written, without the network's time to open a connection: a delay of the generator, part of
    /// `service`. `None`: not measured.
    pub writing_lateness: Option<Nanos>,
    /// Number of the session: the user of a closed system, the session of a partly-open one, the arrival of an open one.
    pub session: u64,
    /// Number of the request in its session, from 0.
    pub step: u32,
    /// Number of the embedded object, from 1; 0 is the request itself. Objects are not counted as requests. They are recorded before
    /// their request.
    pub object: u16,
    /// Index of the request in [`Recording::labels`](crate::Recording::labels).
    pub label: u16,
    /// The outcome.
    pub outcome: Outcome,
    /// HTTP status; 0 without one.
    pub status: u16,
    /// Bytes written.
    pub bytes_out: u64,
    /// Bytes read.
    pub bytes_in: u64,
    /// Rows that a database returned or changed; otherwise 0.
    pub rows: u64,
    /// Number of the sending thread, over the whole run.
    pub worker: u16,
    /// Serial number of the connection on this thread.
    pub connection: u32,
    /// Whether the connection had been used before.
    pub reused: bool,
    /// Number of redirects that were followed; each is one more request on the wire.
    pub redirects: u16,
    /// Number of requests for an access token (OAuth 2.0) that were sent before this request; each is one more on the wire.
    pub token_requests: u16,
    /// Number of times that the request was sent again: over HTTP/2 because the server had not processed it (RFC 9113, section 8.7), over HTTP/1.1
    /// because the server had closed its reused connection (RFC 9112, section 9.3.1).
    pub resends: u16,
    /// Number of retries by the policy of the workload. Includes a retry that was not sent because the run was stopped
    /// or no connection was available. Each attempt of a request with retries is recorded as an event of its own,
    /// before the request; the event of the request has the time of the first attempt and the outcome of the last.
    pub retries: u16,
    /// Number of the attempt, from 1; 0 is the request itself. Attempts are not counted as requests.
    pub attempt: u16,
    /// Why the request failed or was not sent; `None` if it succeeded.
    pub error: Option<Reason>,
    /// The received part of a streamed response; `None` for other requests, and if no response head arrived.
    pub stream: Option<Box<TokenStream>>,
    /// The position of the request in a visit; `None` if its session makes no visits, if it is unknown, and for objects and attempts.
    pub visit: Option<VisitPosition>,
    /// Numbers in the response, in the order of the metrics of the request in the workload; `None` if it has none, or without an evaluated response.
    pub metrics: Option<Box<[MetricValue]>>,
}

/// A number in a response; NaN if the response lacks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricValue(u64);

impl MetricValue {
    /// A value; `None` and numbers that are not finite give no value.
    pub fn new(value: Option<f64>) -> Self {
        Self(value.filter(|value| value.is_finite()).unwrap_or(f64::NAN).to_bits())
    }

    /// The number; `None`: the response lacks it.
    pub fn get(self) -> Option<f64> {
        Some(f64::from_bits(self.0)).filter(|value| value.is_finite())
    }
}

/// The position of a request in a visit: a session of a partly-open system, or one walk of a closed user through a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VisitPosition {
    /// Number of earlier visits of the session, at most 32,767.
    pub number: u16,
    /// Number of the request in the flows of the workload, repetitions included; 0 without flows.
    pub place: u16,
    /// Whether this is the last request of the visit. If this is false for all requests of a visit, the end of the run
    /// cut the visit off.
    pub ends: bool,
}

/// The fields that determine the order of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventKey {
    /// [`Event::intended`].
    pub intended: Instant,
    /// [`Event::sent`].
    pub sent: Option<Instant>,
    /// [`Event::step`].
    pub step: u32,
    /// [`Event::label`].
    pub label: u16,
    /// [`Event::worker`].
    pub worker: u16,
    /// [`Event::outcome`].
    pub outcome: Outcome,
}

impl Event {
    /// The fields that determine the order of this event.
    #[inline]
    pub fn key(&self) -> EventKey {
        let Self { intended, sent, step, label, worker, outcome, .. } = *self;
        EventKey { intended, sent, step, label, worker, outcome }
    }

    /// An unsent event with this scheduled time and no other data.
    pub fn at(intended: Instant) -> Self {
        Self {
            intended,
            sent: None,
            handshake: None,
            waited: None,
            first_byte: None,
            done: None,
            reading_lateness: None,
            done_lateness: None,
            writing_lateness: None,
            session: 0,
            step: 0,
            object: 0,
            label: 0,
            outcome: Outcome::Unsent,
            status: 0,
            bytes_out: 0,
            bytes_in: 0,
            rows: 0,
            worker: 0,
            connection: 0,
            reused: false,
            redirects: 0,
            token_requests: 0,
            resends: 0,
            retries: 0,
            attempt: 0,
            error: None,
            stream: None,
            visit: None,
            metrics: None,
        }
    }

    /// Whether this is a request: neither an embedded object nor one of several attempts.
    #[inline]
    pub fn is_request(&self) -> bool {
        self.object == 0 && self.attempt == 0
    }

    /// Whether a connection was open for the request, so that it was written.
    #[inline]
    pub fn reached_the_wire(&self) -> bool {
        let has_connection = !matches!(
            self.outcome,
            Outcome::Unsent
                | Outcome::NoValue
                | Outcome::AuthError
                | Outcome::BreakerOpen
                | Outcome::Refused
                | Outcome::Dns
                | Outcome::Tls
        );
        let waited_for_one = matches!(self.error, Some(Reason::ConnectTimeout(_) | Reason::PoolTimeout(_)));
        self.sent.is_some() && has_connection && !waited_for_one
    }

    /// Response time: done - scheduled. `None`: not sent.
    pub fn response(&self) -> Option<Difference> {
        Some(self.done? - self.intended)
    }

    /// Service time: done - sent. `None`: not sent.
    pub fn service(&self) -> Option<Difference> {
        Some(self.done? - self.sent?)
    }

    /// When the request was written, without the network's time to open a connection; `sent` if that was not measured. `None`: not sent.
    pub fn written(&self) -> Option<Instant> {
        Some(self.sent? + self.writing_lateness.unwrap_or_default())
    }

    /// Why the request failed or was not sent, as text; empty if it succeeded.
    pub fn why(&self) -> Cow<'_, str> {
        self.error.as_ref().map(Reason::text).unwrap_or_default()
    }

    /// Lateness: sent - scheduled; negative if sent early. `None`: not sent.
    pub fn lateness(&self) -> Option<Difference> {
        Some(self.sent? - self.intended)
    }
}

offered_base::named! {
    /// The outcome of a request.
    #[derive(Hash, PartialOrd, Ord)]
    #[repr(u8)]
    pub enum Outcome {
        /// A complete response with a status below 400.
        Ok = "ok",
        /// A complete response with a status of 400 or above.
        HttpError = "http_error",
        /// No connection or no complete response within the time limit.
        Timeout = "timeout",
        /// The connection was refused, or a modelled server was full.
        Refused = "refused",
        /// The connection was lost before the response was complete.
        Reset = "reset",
        /// The response violates its protocol.
        Malformed = "malformed",
        /// The host name could not be resolved.
        Dns = "dns",
        /// Not sent; `error` has the reason.
        Unsent = "unsent",
        /// Sent, but the run was stopped before the response was complete.
        Cut = "cut",
        /// The TLS handshake failed.
        Tls = "tls",
        /// A complete gRPC response with a status other than OK; `error` names it.
        GrpcError = "grpc_error",
        /// A complete response that failed a check; `error` names the check.
        CheckFailed = "check_failed",
        /// Not sent because an earlier response of the session lacked a value that the request needs. Not a failure of the generator.
        NoValue = "no_value",
        /// Sent, but the server reports that it was not processed, so that it may be sent again (RFC 9113, sections 6.8 and 8.7).
        Unprocessed = "unprocessed",
        /// An error of a database; `error` has the SQLSTATE.
        SqlError = "sql_error",
        /// A successful response with a failed embedded object; `error` names the first.
        ObjectFailed = "object_failed",
        /// A stream with an error in it; `error` has its message.
        StreamError = "stream_error",
        /// A stream that ended without its end mark or a finish reason.
        Truncated = "truncated",
        /// A stream that ended without a token.
        NoToken = "no_token",
        /// A stream that ended properly, with fewer tokens or events than required.
        Short = "short",
        /// Not sent, or not again, because the token endpoint gave no access token; `error` names it.
        AuthError = "auth_error",
        /// Not sent because the circuit breaker of the workload was open. Not a failure of the generator.
        BreakerOpen = "breaker_open",
    }
}

impl Outcome {
    /// Whether a complete response arrived, successful or not.
    pub const fn is_response(self) -> bool {
        matches!(
            self,
            Self::Ok | Self::HttpError | Self::GrpcError | Self::CheckFailed | Self::SqlError | Self::ObjectFailed
        ) || self.is_failed_stream()
    }

    /// Whether the response was complete but its stream was not.
    pub const fn is_failed_stream(self) -> bool {
        matches!(self, Self::StreamError | Self::Truncated | Self::NoToken | Self::Short)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outcome_has_a_name_of_its_own() {
        for (code, outcome) in Outcome::ALL.into_iter().enumerate() {
            assert_eq!(outcome as usize, code);
            assert_eq!(Outcome::from_name(outcome.name()), Some(outcome));
        }
    }

    #[test]
    fn three_times_with_three_names() {
        let event = Event { sent: Some(Instant(12)), done: Some(Instant(30)), ..Event::at(Instant(10)) };
        assert_eq!(
            (event.response(), event.service(), event.lateness()),
            (Some(Difference(20)), Some(Difference(18)), Some(Difference(2)))
        );
        assert_eq!(Event::at(Instant(10)).response(), None);
    }

    #[test]
    fn an_early_request_has_a_negative_lateness() {
        let early = Event { sent: Some(Instant::from_millis(7)), ..Event::at(Instant::from_millis(10)) };
        assert_eq!(early.lateness().map(|lateness| lateness.to_string()).as_deref(), Some("-3ms"));
    }
}
