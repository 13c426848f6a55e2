//! HTTP/1.1 over TCP, TLS or a Unix socket: one request at a time per connection, one write and one read per exchange.

mod connection;
mod head;
mod receiving;
mod request;
mod response;
mod sending;
mod setup;

use std::collections::HashMap;
use std::sync::Arc;

use offered_base::{Instant, Nanos};
use offered_events::{Event, Outcome, Reason};
use offered_io::{Clock, Ready};
use offered_schedule::Launch;
use offered_workload::Reuse;
use slab::Slab;

use self::connection::{Connection, Exchange};
use self::receiving::CompletionSink;
pub(super) use self::request::Host;
use self::response::ResponseReader;
pub use self::response::read_response;
use self::sending::{Assembled, Precompiled};
pub(crate) use self::setup::Setup;
use super::event_loop::{EventLoop, SocketHandler, in_flight_since, next_turn, run_once};
use super::protocol_client::{Completion, ProtocolClient, RequestText};
use super::timers::Timers;
use super::{Client, Failure, ThreadResources, Transport, new_event};
use crate::message::OutgoingRequest;

/// Maximum number of bytes of one read.
const BUFFER: usize = 64 * 1024;
/// Maximum number of connections of a session beside its first.
const MAX_EXTRA_LANES: u8 = 63;

/// The connections of one thread.
pub(crate) struct Http1 {
    setup: Setup,
    event_loop: EventLoop,
    worker: u16,
    /// Maximum number of connections.
    limit: usize,
    connections: Slab<Connection>,
    /// Idle connections, the last used on top: (key, number). Entries of closed connections are skipped.
    idle: Vec<(usize, u32)>,
    /// The connections of sessions, with `reuse = "per-session"`: the first of each session, and the others by lane.
    by_session: HashMap<u64, (usize, u32)>,
    extra: HashMap<(u64, u8), (usize, u32)>,
    opened: u32,
    serial: u64,
    /// When held-back bodies are sent without an interim response (`100 Continue`).
    held_bodies: Timers,
    /// When streams that are read for a limited time end.
    listening: Timers,
    buffer: Box<[u8]>,
    scratch: Vec<u8>,
}

impl Http1 {
    fn new(setup: Setup, thread: ThreadResources<'_>) -> Self {
        let ThreadResources { poller, worker, connections, spin, limits, .. } = thread;
        Self {
            event_loop: EventLoop::new(poller, spin, (setup.connect_timeout, setup.response_timeout), limits),
            setup,
            worker,
            limit: connections.map_or(usize::MAX, |limit| limit as usize),
            connections: Slab::new(),
            idle: Vec::new(),
            by_session: HashMap::new(),
            extra: HashMap::new(),
            opened: 0,
            serial: 0,
            held_bodies: Timers::default(),
            listening: Timers::default(),
            buffer: vec![0; BUFFER].into(),
            scratch: Vec::new(),
        }
    }

    /// When a held-back body is sent or a stream ends, whichever is first.
    fn next_timer(&mut self) -> Instant {
        self.next_body_due().min(self.next_stream_end())
    }

    /// Closes the connections of a session.
    fn close_connections(&mut self, session: u64) {
        let first = self.by_session.remove(&session);
        self.close_if_same(first);
        if !self.extra.is_empty() {
            for lane in 1..=MAX_EXTRA_LANES {
                let extra = self.extra.remove(&(session, lane));
                self.close_if_same(extra);
            }
        }
    }

    fn close_if_same(&mut self, connection: Option<(usize, u32)>) {
        if let Some((key, number)) = connection
            && self.connections.get(key).is_some_and(|c| c.number == number)
        {
            self.close(key);
        }
    }

    fn cancel_exchanges(&mut self, sink: &mut impl CompletionSink) {
        for connection in self.connections.drain() {
            let _ = self.event_loop.poller.remove(&connection.stream);
            if let Some(Exchange { event, response, .. }) = connection.into_exchange() {
                let error = Some(Reason::Stopped);
                sink.done(Event { outcome: Outcome::Cut, error, ..event }, response);
            }
        }
    }
}

impl<E: CompletionSink> SocketHandler<E> for Http1 {
    type Connection = Connection;
    type Exchange = Connection;

    #[inline]
    fn parts(&mut self) -> (&mut EventLoop, &Slab<Connection>, &Slab<Connection>) {
        (&mut self.event_loop, &self.connections, &self.connections)
    }

    #[inline]
    fn on_ready(&mut self, ready: Ready, sink: &mut E) -> usize {
        self.on_socket_ready(ready, sink)
    }

    fn on_connect_timeout(&mut self, key: usize, reason: Failure, sink: &mut E) {
        self.fail(key, reason, sink);
    }

    fn on_response_timeout(&mut self, key: usize, within: Nanos, sink: &mut E) {
        self.fail(key, (Outcome::Timeout, Reason::ResponseTimeout(within)), sink);
    }
}

impl<S: CompletionSink> Client<S> for Http1 {
    #[inline]
    fn now(&self) -> Instant {
        self.event_loop.clock.now()
    }

    #[inline]
    fn wait(&mut self, deadline: Instant, sink: &mut S) {
        // Compiled requests hold no bodies back and have no streams.
        if S::KEEPS_RESPONSE {
            let next_timer = self.next_timer();
            run_once(self, deadline.min(next_timer), sink);
            if next_timer < Instant::MAX {
                self.release_bodies(sink);
                self.end_streams(sink);
            }
        } else {
            run_once(self, deadline, sink);
        }
    }

    fn close_session(&mut self, session: u64) {
        self.close_connections(session);
    }

    fn cancel_all(&mut self, sink: &mut S) {
        self.cancel_exchanges(sink);
    }

    fn in_flight_since(&mut self, instant: Instant) -> Option<Event> {
        in_flight_since::<S, _>(self, instant)
    }

    fn idle(&self) -> Nanos {
        self.event_loop.idle
    }
}

/// Without a script: requests are compiled before the run, and responses are not stored.
impl Transport for Http1 {
    fn send(&mut self, launch: Launch, label: u16, sequence: u64, events: &mut Vec<Event>) -> Instant {
        let response = ResponseReader::new(self.setup.requests[usize::from(label)].head_only);
        self.begin_exchange(new_event(launch, label, self.worker), response, 0, &Precompiled(sequence), events)
    }
}

/// With a script: requests are built when they are sent, and responses are stored.
impl ProtocolClient for Http1 {
    fn start_at(&mut self, clock: Clock) {
        self.event_loop.start_at(clock);
    }

    fn begin(&mut self, outgoing: &Arc<OutgoingRequest>, event: Event, completions: &mut Vec<Completion>) -> Instant {
        let event = Event { worker: self.worker, ..event };
        let request = match request::bytes(outgoing, &self.setup.host, self.setup.reuse == Reuse::Fresh) {
            Ok((bytes, body)) => Assembled { bytes, body, is_held: outgoing.expects_continue() },
            Err(reason) => {
                completions.push(Completion::Done(Event { error: Some(reason.into()), ..event }, None));
                return self.event_loop.clock.now();
            }
        };
        let response = ResponseReader::keeping(outgoing);
        self.begin_exchange(event, response, outgoing.lane, &request, completions)
    }

    fn next_turn(&mut self) -> Instant {
        next_turn::<Vec<Completion>, _>(self).min(self.next_timer())
    }

    fn request_text(&self, outgoing: &OutgoingRequest, _event: &Event) -> RequestText {
        request_text(outgoing, &self.setup.host, self.setup.reuse == Reuse::Fresh)
    }
}

/// The text of a request to `host`, on a connection that is closed after it (`close`) or reused.
pub(super) fn request_text(outgoing: &OutgoingRequest, host: &Host, close: bool) -> RequestText {
    let whole = request::bytes(outgoing, host, close).map(|(bytes, body)| [&bytes[..], &body].concat());
    whole.map_or_else(RequestText::unavailable, |bytes| RequestText::from_http1(&bytes))
}
