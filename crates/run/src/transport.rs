//! What carries launches: five functions, so that another protocol is another file and a test needs no network.

mod addresses;
mod deadlines;
mod event_loop;
#[cfg(feature = "grpc")]
mod grpc;
#[cfg(not(feature = "grpc"))]
#[path = "transport/no_grpc.rs"]
mod grpc;
pub(crate) mod http1;
pub(crate) mod http2;
mod mock;
mod postgres;
mod preflight;
mod protocol;
mod protocol_client;
mod route;
mod scripted;
mod socket;
mod stream;
mod timers;
mod tls;
mod tunnel;
mod unscripted;
pub(crate) mod websocket;

pub(crate) use http1::Http1;
pub use http1::read_response;
pub(crate) use http2::Http2;
pub use mock::Mock;
pub(crate) use postgres::Postgres;
pub(crate) use protocol::{AnyProtocol, PreparedTarget, request_text};
pub(crate) use protocol_client::ProtocolClient;
pub(crate) use scripted::{Scripted, learn_secrets, sent_text};
pub(crate) use unscripted::{Requests, Unscripted, prepare_requests};
pub(crate) use websocket::WebSocket;

use offered_model::{Event, Instant, Launch, Nanos, Outcome, Reason};

/// How long before a launch a precise wait stops sleeping: above nearly all the wake-up errors of a quiet machine.
pub(crate) const SPIN: Nanos = Nanos::from_micros(120);

/// Carries launches of one thread and tells when they are answered. It also keeps the time, real or virtual.
pub trait Transport {
    /// Whether launches bring objects with them. Events of objects come before that of their launch, which is over with the
    /// last of them.
    const HAS_OBJECTS: bool = false;

    /// The time since the run's start.
    fn now(&self) -> Instant;

    /// Sends request `label` for `launch`, number `sequence` of the whole run, without waiting; the time when that was done.
    ///
    /// Exactly one event whose object is 0 follows for each call: in `events` at once if the launch could not be sent, else from
    /// a later [`wait`](Self::wait) or [`abandon`](Self::abandon).
    fn send(&mut self, launch: Launch, label: u16, sequence: u64, events: &mut Vec<Event>) -> Instant;

    /// Waits until something is answered, or until `deadline`; adds what is answered to `events`.
    fn wait(&mut self, deadline: Instant, events: &mut Vec<Event>);

    /// Whether the session of a launch that ended with `event` is over before its time.
    #[inline]
    fn ends_session(&self, _event: &Event) -> bool {
        false
    }

    /// A session has left and will launch nothing more, or begins as one that knows nothing.
    fn close_session(&mut self, session: u64);

    /// Gives up what is under way; its events say `cut`.
    fn cancel_all(&mut self, events: &mut Vec<Event>);

    /// The run is over and nothing is under way: whoever is still connected is told goodbye, where the protocol has one.
    fn finish(&mut self) {}

    /// The event, as far as it has come, of the next launch that was sent by `instant` and is still under way. Each is told once or not
    /// much more often.
    #[inline]
    fn in_flight_since(&mut self, _instant: Instant) -> Option<Event> {
        None
    }

    /// How long it has waited so far with nothing to do: the rest of the time it was busy.
    fn idle(&self) -> Nanos;
}

/// An attempt that failed: how, and why.
type Failure = (Outcome, Reason);

/// The event of a launch of request `label` that has just begun.
fn new_event(launch: Launch, label: u16, worker: u16) -> Event {
    Event { session: launch.session, step: launch.step, label, worker, ..Event::at(launch.intended) }
}
