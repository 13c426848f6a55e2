//! Transports send requests to a server and report their outcomes.
//!
//! Three traits separate the driver from the protocols, so that another protocol is another file and a test needs no
//! network:
//!
//! * [`Client`] has the seven functions that everything below the driver shares: `now`, `wait`, `close_session`,
//!   `cancel_all`, `in_flight_since`, `finish`, `idle`.
//! * [`Transport`] adds `send` and `ends_session`. It is what the driver uses.
//! * [`ProtocolClient`] adds `begin`, `start_at` and `request_text`. [`Scripted`] and
//!   [`Unscripted`](unscripted::Unscripted) make a transport of it.
//!
//! [`Http1`](http1::Http1) is both a transport and a protocol client: without a script the driver uses it directly.

mod addresses;
mod attempts;
mod deadlines;
mod event_loop;
#[cfg(feature = "grpc")]
mod grpc;
#[cfg(not(feature = "grpc"))]
#[path = "transport/no_grpc.rs"]
mod grpc;
mod http1;
mod http2;
mod mock;
mod postgres;
mod preflight;
mod protocol;
mod protocol_client;
mod reading;
mod route;
mod scripted;
mod several;
mod socket;
mod stream;
mod stream_pauses;
mod timers;
mod tls;
mod tunnel;
mod unscripted;
mod websocket;

pub use http1::read_response;
pub(crate) use mock::Mock;
pub(crate) use protocol::{
    AnyProtocol, PreparedTarget, ProtocolSetup, ThreadResources, request_text, with_protocol_setup,
};
pub(crate) use protocol_client::ProtocolClient;
pub(crate) use scripted::{Scripted, learn_secrets, sent_text};
pub(crate) use unscripted::{Requests, prepare_requests};

use offered_base::{Instant, Nanos};
use offered_events::{Event, Outcome, Reason};
use offered_schedule::Launch;
use offered_workload::script::OnFailure;

/// How long before a scheduled request a precise wait stops sleeping: longer than nearly all wake-up delays of an idle
/// machine.
pub(crate) const SPIN: Nanos = Nanos::from_micros(120);

/// Exchanges requests and responses for one thread, and keeps the time, real or virtual. `S` collects what happens.
pub(crate) trait Client<S> {
    /// The time since the start of the run.
    fn now(&self) -> Instant;

    /// Waits until a socket is ready or until `deadline`, and adds the results to `sink`.
    fn wait(&mut self, deadline: Instant, sink: &mut S);

    /// A session has ended, or starts again from the beginning: closes its connections and forgets its state.
    fn close_session(&mut self, session: u64);

    /// Cancels everything in flight, with the outcome `cut`.
    fn cancel_all(&mut self, sink: &mut S);

    /// The incomplete event of the next request that was sent by `instant` and is still in flight. Most requests are
    /// returned only once.
    #[inline]
    fn in_flight_since(&mut self, _instant: Instant) -> Option<Event> {
        None
    }

    /// The run is over and nothing is in flight: closes the connections as the protocol demands.
    fn finish(&mut self) {}

    /// Total time spent waiting so far. The rest of the time the thread was busy.
    fn idle(&self) -> Nanos;
}

/// Sends the requests of one thread. The driver uses it.
pub(crate) trait Transport: Client<Vec<Event>> {
    /// Whether requests may have objects. The events of objects come before that of their request, which is complete
    /// with the last of them.
    const HAS_OBJECTS: bool = false;

    /// Sends request `label` for `launch`, number `sequence` of the whole run, without waiting. Returns the time when it
    /// was sent.
    ///
    /// Exactly one event whose object is 0 follows for each call: in `events` at once if the request could not be sent,
    /// else from a later [`wait`](Client::wait) or [`cancel_all`](Client::cancel_all).
    fn send(&mut self, launch: Launch, label: u16, sequence: u64, events: &mut Vec<Event>) -> Instant;

    /// Whether `event` ends its session early. `on_failure` overrides the setting of its request.
    #[inline]
    fn ends_session(&self, _event: &Event, _on_failure: Option<OnFailure>) -> bool {
        false
    }

    /// The value of condition `number` of the flows for the session whose last event is `event`; `None` if it is
    /// unknown.
    #[inline]
    fn decide(&self, _number: u16, _event: &Event) -> Option<f64> {
        None
    }
}

/// The outcome and the reason of a failed attempt.
type Failure = (Outcome, Reason);

/// The event of a request `label` that has just been started.
fn new_event(launch: Launch, label: u16, worker: u16) -> Event {
    Event { session: launch.session, step: launch.step, label, worker, ..Event::at(launch.intended) }
}
