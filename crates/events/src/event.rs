//! The event: what became of one launch, sent or not.
//!
//! Every launch of a run is exactly one [`Event`], the ones never sent included. Three times can be taken from it and each
//! has its own name, because a plain "latency" hides the difference that load tests are about:
//!
//! * `response` = done - intended: what a person who wanted to arrive then would have waited,
//! * `service` = done - sent: what the server (and the network) took,
//! * `lateness` = sent - intended: what the generator did wrong.

use std::borrow::Cow;

use crate::reason::Reason;
use offered_base::time::{Difference, Instant, Nanos};

/// What became of one launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// When it was meant to be launched, since the start of the run.
    pub intended: Instant,
    /// When the generator acted: it wrote the request's first byte or, where it had to open a connection for it, called
    /// `connect`, or, where all connections of its pool were busy, put it into their queue. `None`: never sent, see `error`.
    pub sent: Option<Instant>,
    /// How long the TLS handshake took on the connection opened for this launch; `None` where none was made.
    pub handshake: Option<Nanos>,
    /// How long the request waited, once launched, for a connection of a pool that is as large as it may be: a part of `service`,
    /// like the handshake. `None`: it is not of a protocol with such pools, or was not sent.
    pub waited: Option<Nanos>,
    /// When the first byte of the answer was read.
    pub first_byte: Option<Instant>,
    /// When the last byte of the answer was read, or the attempt was given up. `None`: never sent.
    pub done: Option<Instant>,
    /// The session (a user of a closed system, a visit of a partly-open one, the arrival itself in an open one).
    pub session: u64,
    /// Which request of its session, from 0.
    pub step: u32,
    /// Which of the objects that its request brings with it, from 1; 0: the request itself. Objects are no launches, and are
    /// recorded before the launch that they belong to.
    pub object: u16,
    /// Which request of the workload, an index into its `[[request]]` list (or a foreign file's list of labels).
    pub label: u16,
    /// How it ended.
    pub outcome: Outcome,
    /// The HTTP status, 0 where there was none.
    pub status: u16,
    /// Bytes written.
    pub bytes_out: u64,
    /// Bytes read.
    pub bytes_in: u64,
    /// Rows that the answer had, or that it says were changed, where it is a database's; else 0.
    pub rows: u64,
    /// The worker (thread) that launched it, counted over the whole run.
    pub worker: u16,
    /// The worker's serial number of the connection used.
    pub connection: u32,
    /// Whether that connection had carried a request before.
    pub reused: bool,
    /// Why it failed or was not sent; `None` when it went well.
    pub error: Option<Reason>,
}

/// What the place of a launch among others follows from.
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
    /// What its place among others follows from.
    #[inline]
    pub fn key(&self) -> EventKey {
        let Self { intended, sent, step, label, worker, outcome, .. } = *self;
        EventKey { intended, sent, step, label, worker, outcome }
    }

    /// An event at `intended` of which nothing more is known yet.
    pub fn at(intended: Instant) -> Self {
        Self {
            intended,
            sent: None,
            handshake: None,
            waited: None,
            first_byte: None,
            done: None,
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
            error: None,
        }
    }

    /// done - intended.
    pub fn response(&self) -> Option<Difference> {
        Some(self.done? - self.intended)
    }

    /// done - sent.
    pub fn service(&self) -> Option<Difference> {
        Some(self.done? - self.sent?)
    }

    /// Why it failed or was not sent, in words; empty when it went well.
    pub fn why(&self) -> Cow<'_, str> {
        self.error.as_ref().map(Reason::text).unwrap_or_default()
    }

    /// sent - intended; negative where it was sent too early.
    pub fn lateness(&self) -> Option<Difference> {
        Some(self.sent? - self.intended)
    }
}

offered_base::named! {
    /// How a launch ended.
    #[derive(Hash, PartialOrd, Ord)]
    #[repr(u8)]
    pub enum Outcome {
        /// A complete answer, status below 400.
        Ok = "ok",
        /// A complete answer, status 400 or above.
        HttpError = "http_error",
        /// No connection, or no complete answer, within its time limit.
        Timeout = "timeout",
        /// The connection was refused (or, at a modelled server, there was no room).
        Refused = "refused",
        /// The connection broke before the answer was complete.
        Reset = "reset",
        /// The answer was not HTTP, or contradicted itself.
        Malformed = "malformed",
        /// The name could not be resolved.
        Dns = "dns",
        /// Never sent; `error` says why.
        Unsent = "unsent",
        /// Sent, but the run was stopped before the answer was complete.
        Cut = "cut",
        /// The TLS handshake failed: a certificate that does not hold, no protocol in common.
        Tls = "tls",
        /// A complete answer of gRPC with a status other than OK, which `error` names.
        GrpcError = "grpc_error",
        /// A complete answer that was not what the workload says it must be; `error` is the name of the check.
        CheckFailed = "check_failed",
        /// Never sent, because an earlier answer of its session did not bring what it is made of: a failure of the session, not of
        /// the generator.
        NoValue = "no_value",
        /// Sent, and not processed: the server said so, and the request may be sent again (RFC 9113, sections 6.8 and 8.7).
        Unprocessed = "unprocessed",
        /// A complete answer of a database that is an error, whose SQLSTATE `error` names.
        SqlError = "sql_error",
        /// A complete and good answer, of which an object that it brings did not come; `error` names the first of them.
        ObjectFailed = "object_failed",
    }
}

impl Outcome {
    /// Whether it is a complete answer, good or bad.
    pub const fn is_response(self) -> bool {
        matches!(
            self,
            Self::Ok | Self::HttpError | Self::GrpcError | Self::CheckFailed | Self::SqlError | Self::ObjectFailed
        )
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
    fn a_launch_before_its_instant_has_a_negative_lateness() {
        let early = Event { sent: Some(Instant::from_millis(7)), ..Event::at(Instant::from_millis(10)) };
        assert_eq!(early.lateness().map(|lateness| lateness.to_string()).as_deref(), Some("-3ms"));
    }
}
