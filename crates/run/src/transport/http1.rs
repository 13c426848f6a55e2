//! HTTP/1.1 over TCP, TLS or a Unix socket: one request at a time per connection, one write and one read per exchange.

mod connection;
mod head;
mod receiving;
mod request;
mod resending;
mod response;
mod sending;
mod setup;

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
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
use self::sending::Precompiled;
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
    by_session: HashMap<u64, (usize, u32), RandomState>,
    extra: HashMap<(u64, u8), (usize, u32)>,
    opened: u32,
    serial: u64,
    /// The key of a connection that may have more to do than to wait for a stream; `None`: no connection has.
    urgent: Option<usize>,
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
            by_session: HashMap::default(),
            extra: HashMap::new(),
            opened: 0,
            serial: 0,
            urgent: None,
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
        if !self.by_session.is_empty() {
            let first = self.by_session.remove(&session);
            self.close_if_same(first);
        }
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
            self.event_loop.poller.remove_closing(&connection.stream);
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

    #[inline]
    fn only_streams(&mut self) -> bool {
        // The connections are searched only when the one that was found before is no longer urgent.
        let is_urgent = |connection: &Connection| !connection.is_idle_or_streams();
        if self.urgent.is_some_and(|key| !self.connections.get(key).is_some_and(is_urgent)) {
            self.urgent = self.connections.iter().find(|(_, connection)| is_urgent(connection)).map(|(key, _)| key);
        }
        self.urgent.is_none()
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
        let request = match self.assembled(outgoing) {
            Ok(request) => request,
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

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::net::TcpListener;
    use std::sync::atomic::AtomicBool;

    use offered_workload::Workload;

    use super::super::route::Route;
    use super::*;
    use crate::event_stream::ExpectedStream;

    /// A client of one thread for the target of this workload.
    pub(super) fn client(workload: &str) -> Http1 {
        let workload = Workload::parse(workload, "w.toml", &|_| Err(String::new())).unwrap();
        let route = Arc::new(Route::new(workload.target().unwrap()).unwrap());
        let stop = AtomicBool::new(false);
        Http1::new(Setup::new(&workload, route).unwrap(), ThreadResources::for_single_requests(&stop).unwrap())
    }

    #[test]
    fn any_other_request_in_flight_forbids_pauses() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let text = format!(
            "duration = \"1s\"\narrivals.open.rate = \"1/s\"\n[target]\nurl = \"http://{address}\"\n[[request]]\nget = \"/\"\nstream = \"sse\"\n"
        );
        let workload = Workload::parse(&text, "w.toml", &|_| Err(String::new())).unwrap();
        let stream = workload.requests().iter().find_map(|request| request.stream()).unwrap();
        let plain = OutgoingRequest { method: "GET".to_owned(), path: "/".to_owned(), ..OutgoingRequest::default() };
        let streamed = OutgoingRequest { stream: Some(ExpectedStream::new(stream, false).unwrap()), ..plain.clone() };
        let mut client = client(&text);
        let mut only_streams_after = |outgoing: OutgoingRequest| {
            client.begin(&Arc::new(outgoing), Event::at(Instant::ZERO), &mut Vec::new());
            let before = SocketHandler::<Vec<Completion>>::only_streams(&mut client);
            let mut server = listener.accept().unwrap().0;
            let mut request = [0];
            // The request is written once the connection is open.
            server.set_nonblocking(true).unwrap();
            while server.read(&mut request).is_err() {
                client.wait(client.event_loop.clock.now() + Nanos::from_millis(1), &mut Vec::<Completion>::new());
            }
            (before, SocketHandler::<Vec<Completion>>::only_streams(&mut client), server)
        };
        let (_, is_open, _first) = only_streams_after(streamed.clone());
        assert!(is_open);
        let (before, after, _second) = only_streams_after(plain);
        assert!(!before && !after);
        let (_, after, _third) = only_streams_after(streamed);
        assert!(!after, "the plain request still waits");
    }
}
