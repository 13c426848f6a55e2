//! HTTP/1.1 over TCP, TLS or a Unix socket: one request at a time per connection, one write and one read per exchange.

mod connection;
mod head;
mod request;
mod response;

use std::collections::HashMap;
use std::sync::Arc;

use offered_clock::{Clock, Poller, Ready};
use offered_model::workload::{Reuse, Workload};
use offered_model::{Event, Instant, Launch, Nanos, Outcome, Reason};
use slab::Slab;

use self::connection::{Connection, Exchange};
use self::request::Compiled;
pub(super) use self::request::Host;
pub use self::response::read_response;
use self::response::{Progress, ResponseReader};
use super::event_loop::{ConnectionSlot, EventLoop, PendingExchange, SocketHandler, in_flight_since, run_once};
use super::protocol_client::{Completion, ProtocolClient, RequestText};
use super::route::Route;
use super::socket::{Read, dial_failure, reset_failure};
use super::stream::Stream;
use super::timers::{CONTINUE_TIMEOUT, Timers};
use super::{Failure, Transport, new_event};
use crate::Error;
use crate::message::OutgoingRequest;

/// How much one read takes at most.
const BUFFER: usize = 64 * 1024;
/// Reads of one connection in a turn.
const TURN: usize = 4;
/// Closed connections are swept out of the free ones when they are more than half of them, and those more than this.
const SWEEP: usize = 1024;
/// A session has at most so many connections beside its first.
const MAX_EXTRA_LANES: u8 = 63;

/// What all threads of a run share: where to connect, what to send, and within which limits.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    route: Arc<Route>,
    requests: Arc<[Compiled]>,
    host: Arc<Host>,
    reuse: Reuse,
    connect_timeout: Nanos,
    response_timeout: Nanos,
}

impl Setup {
    /// For the target of `workload`, which `route` leads to.
    ///
    /// # Errors
    /// No target, or a request that cannot be made.
    pub(crate) fn new(workload: &Workload, route: Arc<Route>) -> Result<Self, Error> {
        let target = workload.target().ok_or(Error::NoTarget)?;
        // Those of a script are made one by one.
        let plain = if workload.is_scripted() { &[][..] } else { workload.requests() };
        let requests: Result<Vec<_>, _> = plain.iter().map(|r| Compiled::new(r, target, workload.seed())).collect();
        Ok(Self {
            requests: requests?.into(),
            host: Arc::new(Host::new(target)),
            route,
            reuse: target.reuse(),
            connect_timeout: target.connect_timeout(),
            response_timeout: target.response_timeout(),
        })
    }
}

/// One thread's connections.
pub(crate) struct Http1 {
    setup: Setup,
    event_loop: EventLoop,
    worker: u16,
    /// At most so many connections at once.
    limit: usize,
    connections: Slab<Connection>,
    /// Connections without an exchange, the last used on top: (key, number). Closed ones are passed over.
    idle: Vec<(usize, u32)>,
    /// Sessions' own connections: the first of each, and those beside it.
    by_session: HashMap<u64, (usize, u32)>,
    extra: HashMap<(u64, u8), (usize, u32)>,
    opened: u32,
    serial: u64,
    /// When bodies that are held back go out unasked.
    held_bodies: Timers,
    buffer: Box<[u8]>,
    scratch: Vec<u8>,
}

/// Where exchanges go when they are over. Who only wants events pays for nothing else: which it is, is known when this is
/// compiled.
trait CompletionSink {
    /// Whether it wants to know what answers say.
    const KEEPS_RESPONSE: bool;

    /// Takes the event of an exchange that is over, and its answer as far as it came.
    fn done(&mut self, event: Event, response: ResponseReader);

    /// Is told of the first byte of an answer.
    fn first_byte(&mut self, _event: &Event) {}
}

impl CompletionSink for Vec<Event> {
    const KEEPS_RESPONSE: bool = false;

    #[inline]
    fn done(&mut self, event: Event, _answer: ResponseReader) {
        self.push(event);
    }
}

impl CompletionSink for Vec<Completion> {
    const KEEPS_RESPONSE: bool = true;

    fn done(&mut self, event: Event, response: ResponseReader) {
        let response =
            matches!(event.outcome, Outcome::Ok | Outcome::HttpError).then(|| response.into_response()).flatten();
        self.push(Completion::Done(event, response));
    }

    fn first_byte(&mut self, event: &Event) {
        self.push(Completion::FirstByte { session: event.session, object: event.object });
    }
}

/// What an exchange says.
trait RequestBytes {
    /// The bytes of the request of `event`, made in `scratch` where they must be made.
    fn bytes<'a>(&'a self, requests: &'a [Compiled], event: &Event, scratch: &'a mut Vec<u8>) -> &'a [u8];

    /// How many of these, at their end, are held back until the server wants them.
    #[inline]
    fn held(&self) -> usize {
        0
    }
}

/// The workload's request as it was compiled, with this number in the run.
struct Precompiled(u64);

impl RequestBytes for Precompiled {
    #[inline]
    fn bytes<'a>(&'a self, requests: &'a [Compiled], event: &Event, scratch: &'a mut Vec<u8>) -> &'a [u8] {
        requests[usize::from(event.label)].bytes((event.session, event.step), self.0, scratch)
    }
}

/// These bytes, of which so many at the end are held back.
struct Assembled(Vec<u8>, usize);

impl RequestBytes for Assembled {
    fn bytes<'a>(&'a self, _: &'a [Compiled], _: &Event, _: &'a mut Vec<u8>) -> &'a [u8] {
        &self.0
    }

    fn held(&self) -> usize {
        self.1
    }
}

impl Http1 {
    /// The connections of `worker`, at most `limit` of them, watched by `poller`, waiting without sleep for the last `spin`
    /// before a launch.
    pub(crate) fn new(
        setup: Setup,
        clock: Clock,
        poller: Poller,
        worker: u16,
        limit: Option<u32>,
        spin: Nanos,
    ) -> Self {
        Self {
            event_loop: EventLoop::new(clock, poller, spin, setup.connect_timeout, setup.response_timeout),
            setup,
            worker,
            limit: limit.map_or(usize::MAX, |limit| limit as usize),
            connections: Slab::new(),
            idle: Vec::new(),
            by_session: HashMap::new(),
            extra: HashMap::new(),
            opened: 0,
            serial: 0,
            held_bodies: Timers::default(),
            buffer: vec![0; BUFFER].into(),
            scratch: Vec::new(),
        }
    }

    /// The connection that `session` may use now, in this of its lanes; `None` when a new one must be opened.
    #[inline]
    fn reusable(&mut self, session: u64, lane: u8) -> Option<usize> {
        let live = |connections: &Slab<Connection>, (key, number): (usize, u32)| {
            connections.get(key).is_some_and(|c| c.number == number && c.exchange.is_none()).then_some(key)
        };
        match self.setup.reuse {
            Reuse::Fresh => None,
            Reuse::PerSession => {
                let mine = if lane == 0 { self.by_session.get(&session) } else { self.extra.get(&(session, lane)) };
                mine.and_then(|mine| live(&self.connections, *mine))
            }
            Reuse::Pool => {
                while let Some(candidate) = self.idle.pop() {
                    if let Some(key) = live(&self.connections, candidate) {
                        return Some(key);
                    }
                }
                None
            }
        }
    }

    /// Writes the exchange's request on an open connection.
    fn send_request(&mut self, key: usize, request: &impl RequestBytes) -> Result<(), Failure> {
        let connection = &mut self.connections[key];
        let Some(exchange) = &mut connection.exchange else { return Ok(()) };
        let bytes = request.bytes(&self.setup.requests, &exchange.event, &mut self.scratch);
        exchange.event.bytes_out = bytes.len() as u64;
        let (now, held) = bytes.split_at(bytes.len() - request.held());
        if !held.is_empty() {
            connection.held = Some(held.into());
        }
        connection.write(now).map_err(reset_failure)?;
        if request.held() > 0 {
            self.hold_body(key);
        }
        Ok(())
    }

    /// From now on the body of an exchange is held back for a while.
    fn hold_body(&mut self, key: usize) {
        let connections = &self.connections;
        let Some(exchange) = &connections[key].exchange else { return };
        let (until, serial) = (self.event_loop.clock.now() + CONTINUE_TIMEOUT, exchange.serial);
        let holds = |key, serial| connections.get(key).is_some_and(|c: &Connection| c.holds(serial));
        self.held_bodies.push(until, key, serial, connections.len(), holds);
    }

    /// When the first of the bodies that are held back goes out unasked.
    fn next_body_due(&mut self) -> Instant {
        let connections = &self.connections;
        self.held_bodies.next_due(|key, serial| connections.get(key).is_some_and(|c: &Connection| c.holds(serial)))
    }

    /// Lets the bodies out that were held back long enough.
    fn release_body(&mut self, sink: &mut impl CompletionSink) {
        let now = self.event_loop.clock.now();
        while self.next_body_due() <= now {
            let connections = &self.connections;
            let holds = |key, serial| connections.get(key).is_some_and(|c: &Connection| c.holds(serial));
            let Some(key) = self.held_bodies.pop_expired(now, holds) else { return };
            if let Err(error) = self.connections[key].release_body() {
                self.fail(key, reset_failure(error), sink);
            }
        }
    }

    /// Opens a connection for the exchange; the request is written when it is open.
    fn open(
        &mut self,
        exchange: Exchange,
        lane: u8,
        request: &impl RequestBytes,
    ) -> Result<(), (Box<Exchange>, Failure)> {
        let failed = |exchange: Exchange, failure| Err((Box::new(exchange), failure));
        let stream = match Stream::dial(&self.setup.route, &self.event_loop.clock) {
            Ok(stream) => stream,
            Err(failure) => return failed(exchange, failure),
        };
        let open = stream.is_open();
        let (number, serial, session) = (self.opened, exchange.serial, exchange.event.session);
        self.opened += 1;
        let sent = exchange.event.sent.unwrap_or_default();
        let mut connection =
            Connection { stream, number, carried: 1, exchange: Some(exchange), unwritten: (Vec::new(), 0), held: None };
        if let Some(exchange) = &mut connection.exchange {
            exchange.event.connection = number;
            if !open {
                let bytes = request.bytes(&self.setup.requests, &exchange.event, &mut self.scratch);
                exchange.event.bytes_out = bytes.len() as u64;
                let (now, held) = bytes.split_at(bytes.len() - request.held());
                connection.unwritten = (now.to_vec(), 0);
                connection.held = (!held.is_empty()).then(|| held.into());
            }
        }
        let key = self.connections.insert(connection);
        if let Err(error) = self.event_loop.poller.add(&self.connections[key].stream, key) {
            return match self.connections.remove(key).into_exchange() {
                Some(exchange) => failed(exchange, dial_failure(error)),
                None => Ok(()),
            };
        }
        if self.setup.reuse == Reuse::PerSession {
            match lane {
                0 => self.by_session.insert(session, (key, number)),
                _ => self.extra.insert((session, lane), (key, number)),
            };
        }
        if open {
            if let Err(failure) = self.send_request(key, request) {
                return match self.close(key) {
                    Some(exchange) => failed(exchange, failure),
                    None => Ok(()),
                };
            }
        } else {
            let connections = &self.connections;
            let is_retryable = |key, serial| connections.get(key).is_some_and(|c: &Connection| c.is_connecting(serial));
            self.event_loop.connect_deadlines.push(sent, key, serial, connections.len(), is_retryable);
        }
        self.start_response_timeout(sent, key, serial);
        Ok(())
    }

    /// From now on the answer is due within its timeout.
    fn start_response_timeout(&mut self, sent: Instant, key: usize, serial: u64) {
        let connections = &self.connections;
        let is_retryable = |key, serial| connections.get(key).is_some_and(|c: &Connection| c.is_pending(serial));
        self.event_loop.response_deadlines.push(sent, key, serial, connections.len(), is_retryable);
    }

    /// Closes a connection; what it was carrying.
    fn close(&mut self, key: usize) -> Option<Exchange> {
        let connection = self.connections.remove(key);
        // A socket the poller does not know is closed all the same.
        let _ = self.event_loop.poller.remove(&connection.stream);
        connection.into_exchange()
    }

    /// Ends the exchange of a connection with a failure, and the connection with it.
    fn fail(&mut self, key: usize, (outcome, reason): Failure, sink: &mut impl CompletionSink) {
        let now = self.event_loop.clock.now();
        if let Some(exchange) = self.close(key) {
            let Exchange { event, response, .. } = exchange;
            sink.done(Event { done: Some(now), outcome, error: Some(reason), ..event }, response);
        }
    }

    /// Connects, writes and reads on a socket that is ready; how many bytes were read.
    fn on_socket_ready(&mut self, ready: Ready, sink: &mut impl CompletionSink) -> usize {
        let key = ready.token;
        let Some(mut connection) = self.connections.get_mut(key) else { return 0 };
        let mut writable = ready.writable;
        if !connection.stream.is_open() {
            match connection.stream.continue_connecting(
                &self.setup.route,
                ready.writable || ready.closed,
                &self.event_loop.clock,
            ) {
                Ok(false) => return 0,
                Ok(true) => writable = true,
                Err(failure) => {
                    self.fail(key, failure, sink);
                    return 0;
                }
            }
            if let Some(exchange) = &mut connection.exchange {
                exchange.event.handshake = connection.stream.handshake;
            }
            if connection.held.is_some() {
                self.hold_body(key);
                connection = &mut self.connections[key];
            }
        }
        if writable
            && connection.is_unwritten()
            && let Err(error) = connection.write_more()
        {
            // A server may answer (and close) before it has read everything: what it said is read first.
            if !ready.readable {
                self.fail(key, reset_failure(error), sink);
                return 0;
            }
        }
        if ready.readable { self.receive(key, ready.closed, sink) } else { 0 }
    }

    /// Reads what has come, as far as one turn goes; to the very end when the other side may have closed. How much that was.
    fn receive<E: CompletionSink>(&mut self, key: usize, to_the_end: bool, sink: &mut E) -> usize {
        let mut taken = 0;
        for _ in 0..TURN {
            let connection = &mut self.connections[key];
            let (read, drained) = match connection.stream.read(&mut self.buffer) {
                Ok(Read::Some { bytes, drained }) => (bytes, drained),
                Ok(Read::End) => (0, true),
                Ok(Read::Nothing { drained: true }) => return taken,
                Ok(Read::Nothing { drained: false }) => continue,
                Err(failure) => {
                    self.fail(key, failure, sink);
                    return taken;
                }
            };
            taken += read;
            let now = self.event_loop.clock.now();
            let Some(exchange) = &mut connection.exchange else {
                // A free connection that ends, or speaks unasked, is of no more use.
                self.close(key);
                return taken;
            };
            if read == 0 {
                match exchange.response.end() {
                    Ok(()) => self.finish(key, false, now, sink),
                    Err(reason) => self.fail(key, (Outcome::Reset, reason), sink),
                }
                return taken;
            }
            // Who holds a body back is first told whether to send it: that is not the answer's first byte.
            let holds = E::KEEPS_RESPONSE && connection.held.is_some();
            if E::KEEPS_RESPONSE && !holds && exchange.event.first_byte.is_none() {
                sink.first_byte(&exchange.event);
            }
            if holds {
                exchange.event.bytes_in += read as u64;
            } else {
                exchange.received(read, now);
            }
            // What `LISTENS` is cannot be said here, only matched: an associated constant is no parameter yet.
            let bytes = &self.buffer[..read];
            let progress = if E::KEEPS_RESPONSE {
                exchange.response.read::<true>(bytes)
            } else {
                exchange.response.read::<false>(bytes)
            };
            if holds && exchange.response.status() > 0 {
                exchange.event.first_byte = Some(now);
                sink.first_byte(&exchange.event);
            } else if holds
                && exchange.response.saw_continue()
                && let Err(error) = connection.release_body()
            {
                self.fail(key, reset_failure(error), sink);
                return taken;
            }
            match progress {
                Ok(Progress::More) if drained && !to_the_end => return taken,
                Ok(Progress::More) => {}
                Ok(Progress::Done { keep }) => {
                    // Whoever expects a body takes the next request for it.
                    let lacks = connection.is_unwritten() || E::KEEPS_RESPONSE && connection.held.is_some();
                    let keep = keep && !lacks && self.setup.reuse != Reuse::Fresh;
                    self.finish(key, keep, now, sink);
                    if !keep || (drained && !to_the_end) {
                        return taken;
                    }
                    // The end of a kept connection may already be there, and will not be told again.
                }
                Err(reason) => {
                    let of = |exchange: &Exchange| exchange.response.reason(reason);
                    let reason = connection.exchange.as_ref().map_or(Reason::words(reason), of);
                    self.fail(key, (Outcome::Malformed, reason), sink);
                    return taken;
                }
            }
        }
        // Its end may have been told already.
        let ready = Ready { token: key, readable: true, writable: false, closed: true };
        self.event_loop.requeue(ready, self.connections[key].number);
        taken
    }

    /// The answer is complete.
    fn finish(&mut self, key: usize, keep: bool, now: Instant, sink: &mut impl CompletionSink) {
        let exchange = if keep {
            let connection = &mut self.connections[key];
            let exchange = connection.exchange.take();
            if self.setup.reuse == Reuse::Pool {
                self.idle.push((key, connection.number));
                self.sweep_idle();
            }
            exchange
        } else {
            self.close(key)
        };
        if let Some(exchange) = exchange {
            let status = exchange.response.status();
            let outcome = if status < 400 { Outcome::Ok } else { Outcome::HttpError };
            let Exchange { event, response, .. } = exchange;
            sink.done(Event { done: Some(now), status, outcome, ..event }, response);
        }
    }

    /// Takes closed connections out of the free ones, when they are most of them: those used last hide them.
    fn sweep_idle(&mut self) {
        if self.idle.len() > SWEEP && self.idle.len() > 2 * self.connections.len() {
            let connections = &self.connections;
            self.idle.retain(|(key, number)| connections.get(*key).is_some_and(|c| c.number == *number));
        }
    }

    /// Begins an exchange; the time when it was sent.
    #[inline]
    fn begin_exchange(
        &mut self,
        event: Event,
        response: ResponseReader,
        lane: u8,
        request: &impl RequestBytes,
        sink: &mut impl CompletionSink,
    ) -> Instant {
        let reusable = self.reusable(event.session, lane);
        if reusable.is_none() && self.connections.len() >= self.limit {
            let reason = Reason::Connections(self.limit as u64);
            sink.done(Event { error: Some(reason), ..event }, response);
            return self.event_loop.clock.now();
        }
        self.serial += 1;
        let sent = self.event_loop.clock.now();
        let event = Event { sent: Some(sent), ..event };
        let mut exchange = Exchange { event, response, serial: self.serial };
        if let Some(key) = reusable {
            let connection = &mut self.connections[key];
            exchange.event.connection = connection.number;
            exchange.event.reused = connection.carried > 0;
            connection.carried += 1;
            connection.exchange = Some(exchange);
            match self.send_request(key, request) {
                Ok(()) => self.start_response_timeout(sent, key, self.serial),
                Err(failure) => self.fail(key, failure, sink),
            }
        } else if let Err((exchange, (outcome, reason))) = self.open(exchange, lane, request) {
            let error = Some(reason);
            let Exchange { event, response, .. } = *exchange;
            let event = match outcome {
                Outcome::Unsent => Event { sent: None, error, ..event },
                _ => Event { done: Some(self.event_loop.clock.now()), outcome, error, ..event },
            };
            sink.done(event, response);
        }
        sent
    }

    /// Closes what was a session's own.
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
        self.fail(key, (Outcome::Timeout, Reason::NotAnswered(within)), sink);
    }
}

impl Transport for Http1 {
    #[inline]
    fn now(&self) -> Instant {
        self.event_loop.clock.now()
    }

    fn send(&mut self, launch: Launch, label: u16, sequence: u64, events: &mut Vec<Event>) -> Instant {
        let response = ResponseReader::new(self.setup.requests[usize::from(label)].head_only);
        self.begin_exchange(new_event(launch, label, self.worker), response, 0, &Precompiled(sequence), events)
    }

    fn wait(&mut self, deadline: Instant, events: &mut Vec<Event>) {
        run_once(self, deadline, events);
    }

    fn close_session(&mut self, session: u64) {
        self.close_connections(session);
    }

    fn cancel_all(&mut self, events: &mut Vec<Event>) {
        self.cancel_exchanges(events);
    }

    fn in_flight_since(&mut self, instant: Instant) -> Option<Event> {
        in_flight_since::<Vec<Event>, _>(self, instant)
    }

    fn idle(&self) -> Nanos {
        self.event_loop.idle
    }
}

/// Under a script: the bytes of each request are made when it is sent, and answers are listened to.
impl ProtocolClient for Http1 {
    fn now(&self) -> Instant {
        self.event_loop.clock.now()
    }

    fn begin(&mut self, outgoing: &Arc<OutgoingRequest>, event: Event, completions: &mut Vec<Completion>) -> Instant {
        let request = match request::bytes(outgoing, &self.setup.host, self.setup.reuse == Reuse::Fresh) {
            Ok(bytes) => Assembled(bytes, request::held(outgoing)),
            Err(reason) => {
                completions
                    .push(Completion::Done(Event { worker: self.worker, error: Some(reason.into()), ..event }, None));
                return self.event_loop.clock.now();
            }
        };
        let response = ResponseReader::keeping(outgoing.method == "HEAD", outgoing.body_limit);
        self.begin_exchange(Event { worker: self.worker, ..event }, response, outgoing.lane, &request, completions)
    }

    fn wait(&mut self, deadline: Instant, completions: &mut Vec<Completion>) {
        let next_body_due = self.next_body_due();
        run_once(self, deadline.min(next_body_due), completions);
        if next_body_due < Instant::MAX {
            self.release_body(completions);
        }
    }

    fn close_session(&mut self, session: u64) {
        self.close_connections(session);
    }

    fn cancel_all(&mut self, completions: &mut Vec<Completion>) {
        self.cancel_exchanges(completions);
    }

    fn in_flight_since(&mut self, instant: Instant) -> Option<Event> {
        in_flight_since::<Vec<Completion>, _>(self, instant)
    }

    fn idle(&self) -> Nanos {
        self.event_loop.idle
    }

    fn request_text(&self, outgoing: &OutgoingRequest, _event: &Event) -> RequestText {
        request_text(outgoing, &self.setup.host, self.setup.reuse == Reuse::Fresh)
    }
}

/// How `ask` is said to `host`, on a connection that is closed after it or kept.
pub(super) fn request_text(outgoing: &OutgoingRequest, host: &Host, close: bool) -> RequestText {
    request::bytes(outgoing, host, close).map_or_else(RequestText::unavailable, |bytes| RequestText::from_http1(&bytes))
}
