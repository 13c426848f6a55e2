//! What carries launches: five functions, so that another protocol is another file and a test needs no network.

mod addresses;
mod alarms;
mod deadlines;
mod door;
#[cfg(feature = "grpc")]
mod grpc;
#[cfg(not(feature = "grpc"))]
#[path = "transport/no_grpc.rs"]
mod grpc;
pub(crate) mod http1;
pub(crate) mod http2;
mod mock;
mod plain;
mod postgres;
mod route;
mod scripted;
mod socket;
mod stream;
mod tls;
mod tunnel;
mod turns;
mod way;
pub(crate) mod websocket;
mod wire;

pub(crate) use http1::Http1;
pub use http1::read_answer;
pub(crate) use http2::Http2;
pub use mock::Mock;
pub(crate) use plain::{Plain, Requests, requests};
pub(crate) use postgres::Postgres;
pub(crate) use scripted::{Scripted, asked, learn};
pub(crate) use way::{Spoken, Way, wording};
pub(crate) use websocket::WebSocket;
pub(crate) use wire::Wire;

use offered_model::{Event, Instant, Launch, Nanos, Outcome, Reason};

/// How long before a launch a precise wait stops sleeping: above nearly all the wake-up errors of a quiet machine.
pub(crate) const SPIN: Nanos = Nanos::from_micros(120);

/// Carries launches of one thread and tells when they are answered. It also keeps the time, real or virtual.
pub trait Transport {
    /// Whether launches bring objects with them. Events of objects come before that of their launch, which is over with the
    /// last of them.
    const PAGES: bool = false;

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
    fn ends(&self, _event: &Event) -> bool {
        false
    }

    /// A session has left and will launch nothing more, or begins as one that knows nothing.
    fn leave(&mut self, session: u64);

    /// Gives up what is under way; its events say `cut`.
    fn abandon(&mut self, events: &mut Vec<Event>);

    /// The run is over and nothing is under way: whoever is still connected is told goodbye, where the protocol has one.
    fn finish(&mut self) {}

    /// The event, as far as it has come, of the next launch that was sent by `instant` and is still under way. Each is told once or not
    /// much more often.
    #[inline]
    fn under_way_since(&mut self, _instant: Instant) -> Option<Event> {
        None
    }

    /// How long it has waited so far with nothing to do: the rest of the time it was busy.
    fn idle(&self) -> Nanos;
}

/// An attempt that failed: how, and why.
type Failure = (Outcome, Reason);

/// The event of a launch of request `label` that has just begun.
fn begun(launch: Launch, label: u16, worker: u16) -> Event {
    Event { session: launch.session, step: launch.step, label, worker, ..Event::at(launch.intended) }
}
