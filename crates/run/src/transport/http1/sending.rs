//! Starting exchanges: choosing or opening a connection, and writing the request.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use offered_base::Instant;
use offered_events::{Event, Outcome, Reason};
use offered_workload::Reuse;
use slab::Slab;

use super::Http1;
use super::connection::{Connection, Exchange, Source};
use super::receiving::CompletionSink;
use super::request::{self, Compiled};
use super::response::ResponseReader;
use crate::message::OutgoingRequest;
use crate::transport::Failure;
use crate::transport::event_loop::{ConnectionSlot, PendingExchange};
use crate::transport::socket::{dial_failure, reset_failure};
use crate::transport::stream::Stream;
use crate::transport::timers::CONTINUE_TIMEOUT;

/// The source of the bytes of a request.
pub(super) trait RequestBytes {
    /// The bytes of the request of `event`, without a separate body. They are built in `scratch` if they depend on the event.
    fn bytes<'a>(&'a self, requests: &'a [Compiled], event: &Event, scratch: &'a mut Vec<u8>) -> &'a [u8];

    /// The body that follows the other bytes; empty if there is none. It is not copied.
    fn body<'a>(&'a self, requests: &'a [Compiled], event: &Event) -> &'a Bytes;

    /// Whether the body is held back until the server asks for it.
    #[inline]
    fn is_held(&self) -> bool {
        false
    }

    /// What the bytes can be built from again.
    fn source(&self) -> Source;
}

/// A request of the workload compiled before the run, with its sequence number in the run.
pub(super) struct Precompiled(pub(super) u64);

impl RequestBytes for Precompiled {
    #[inline]
    fn bytes<'a>(&'a self, requests: &'a [Compiled], event: &Event, scratch: &'a mut Vec<u8>) -> &'a [u8] {
        requests[usize::from(event.label)].bytes((event.session, event.step), self.0, scratch)
    }

    #[inline]
    fn body<'a>(&'a self, requests: &'a [Compiled], event: &Event) -> &'a Bytes {
        requests[usize::from(event.label)].large()
    }

    #[inline]
    fn source(&self) -> Source {
        Source::Compiled(self.0)
    }
}

/// The bytes of a request, and its body if that is large or held back.
pub(super) struct Assembled<'a> {
    bytes: Vec<u8>,
    body: Bytes,
    outgoing: &'a Arc<OutgoingRequest>,
}

impl RequestBytes for Assembled<'_> {
    fn bytes<'a>(&'a self, _: &'a [Compiled], _: &Event, _: &'a mut Vec<u8>) -> &'a [u8] {
        &self.bytes
    }

    fn body<'a>(&'a self, _: &'a [Compiled], _: &Event) -> &'a Bytes {
        &self.body
    }

    fn is_held(&self) -> bool {
        self.outgoing.expects_continue()
    }

    fn source(&self) -> Source {
        Source::Built(self.outgoing.clone())
    }
}

impl Http1 {
    /// The bytes of a request that is built when it is sent.
    ///
    /// # Errors
    /// A value that a request cannot contain.
    pub(super) fn assembled<'a>(&self, outgoing: &'a Arc<OutgoingRequest>) -> Result<Assembled<'a>, String> {
        let (bytes, body) = request::bytes(outgoing, &self.setup.host, self.setup.reuse == Reuse::Fresh)?;
        Ok(Assembled { bytes, body, outgoing })
    }

    /// The connection that `session` can use now in this lane; `None` if a new one must be opened.
    #[inline]
    pub(super) fn reusable(&mut self, session: u64, lane: u8) -> Option<usize> {
        let live = |connections: &Slab<Connection>, (key, number): (usize, u32)| {
            connections.get(key).is_some_and(|c| c.number == number && c.exchange.is_none()).then_some(key)
        };
        match self.setup.reuse {
            Reuse::Fresh => None,
            Reuse::PerSession => {
                let own_connection =
                    if lane == 0 { self.by_session.get(&session) } else { self.extra.get(&(session, lane)) };
                own_connection.and_then(|own_connection| live(&self.connections, *own_connection))
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

    /// Writes the request of the exchange on an open connection.
    fn send_request(&mut self, key: usize, request: &impl RequestBytes) -> Result<(), Failure> {
        self.urgent = Some(key);
        let connection = &mut self.connections[key];
        let Some(exchange) = &mut connection.exchange else { return Ok(()) };
        let body = request.body(&self.setup.requests, &exchange.event);
        let bytes = request.bytes(&self.setup.requests, &exchange.event, &mut self.scratch);
        exchange.event.bytes_out = (bytes.len() + body.len()) as u64;
        let is_held = request.is_held() && !body.is_empty();
        if is_held {
            connection.held = Some(body.clone());
        }
        let mut written = connection.write(bytes);
        if !is_held && !body.is_empty() {
            connection.unwritten.push_back(body.clone());
            written = written.and_then(|()| connection.write_more());
        }
        written.map_err(reset_failure)?;
        let is_new = connection.carried == 1;
        let opening = connection.stream.opening_time().filter(|_| is_new).unwrap_or_default();
        connection.written(self.event_loop.clock.now(), opening);
        if is_held {
            self.hold_body(key);
        }
        Ok(())
    }

    /// Starts the timeout of a held-back body.
    pub(super) fn hold_body(&mut self, key: usize) {
        let connections = &self.connections;
        let Some(exchange) = &connections[key].exchange else { return };
        let (until, serial) = (self.event_loop.clock.now() + CONTINUE_TIMEOUT, exchange.serial);
        let holds = |key, serial| connections.get(key).is_some_and(|c: &Connection| c.holds(serial));
        self.held_bodies.push(until, key, serial, connections.len(), holds);
    }

    /// When the first held-back body is due.
    pub(super) fn next_body_due(&mut self) -> Instant {
        let connections = &self.connections;
        self.held_bodies.next_due(|key, serial| connections.get(key).is_some_and(|c: &Connection| c.holds(serial)))
    }

    /// Sends the held-back bodies that are due.
    pub(super) fn release_bodies(&mut self, sink: &mut impl CompletionSink) {
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

    /// Opens a connection for the exchange. The request is written once it is open.
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
        let (number, serial) = (self.opened, exchange.serial);
        self.opened += 1;
        let exchange = Some(exchange);
        let key = self.connections.insert(Connection {
            stream,
            number,
            carried: 1,
            exchange,
            unwritten: VecDeque::new(),
            held: None,
        });
        if let Err(failure) = self.begin_on_new(key, lane, request) {
            return match self.close(key) {
                Some(exchange) => failed(exchange, failure),
                None => Ok(()),
            };
        }
        self.start_response_timeout(key, serial);
        Ok(())
    }

    /// Registers the new connection of an exchange, and writes the request if the connection is open, otherwise prepares it.
    pub(super) fn begin_on_new(&mut self, key: usize, lane: u8, request: &impl RequestBytes) -> Result<(), Failure> {
        self.urgent = Some(key);
        let connection = &mut self.connections[key];
        let (open, number) = (connection.stream.is_open(), connection.number);
        let Some(exchange) = &mut connection.exchange else { return Ok(()) };
        let (begun, serial, session) = (exchange.begun, exchange.serial, exchange.event.session);
        exchange.event.connection = number;
        if !open {
            let body = request.body(&self.setup.requests, &exchange.event).clone();
            let bytes = request.bytes(&self.setup.requests, &exchange.event, &mut self.scratch);
            exchange.event.bytes_out = (bytes.len() + body.len()) as u64;
            connection.unwritten.push_back(Bytes::copy_from_slice(bytes));
            if request.is_held() {
                connection.held = Some(body).filter(|body| !body.is_empty());
            } else if !body.is_empty() {
                connection.unwritten.push_back(body);
            }
        }
        self.event_loop.poller.add(&connection.stream, key).map_err(dial_failure)?;
        connection.stream.start_race(&self.event_loop.poller, key, &self.setup.route.addresses);
        if self.setup.reuse == Reuse::PerSession {
            match lane {
                0 => self.by_session.insert(session, (key, number)),
                _ => self.extra.insert((session, lane), (key, number)),
            };
        }
        if open {
            return self.send_request(key, request);
        }
        let connections = &self.connections;
        let is_connecting = |key, serial| connections.get(key).is_some_and(|c: &Connection| c.is_connecting(serial));
        self.event_loop.connect_deadlines.push(begun, key, serial, connections.len(), is_connecting);
        Ok(())
    }

    /// The earliest end of a stream that is read for a limited time.
    pub(super) fn next_stream_end(&mut self) -> Instant {
        let connections = &self.connections;
        self.listening.next_due(|key, serial| connections.get(key).is_some_and(|c: &Connection| c.is_pending(serial)))
    }

    /// Ends the streams whose reading time has passed. A request without a response head fails.
    pub(super) fn end_streams(&mut self, sink: &mut impl CompletionSink) {
        let now = self.event_loop.clock.now();
        loop {
            let connections = &self.connections;
            let is_pending = |key, serial| connections.get(key).is_some_and(|c: &Connection| c.is_pending(serial));
            let Some(key) = self.listening.pop_expired(now, is_pending) else { return };
            let Some(exchange) = &mut self.connections[key].exchange else { return };
            let listen = exchange.response.listen().unwrap_or_default();
            if let Some(stream) = exchange.response.stream() {
                stream.stop_listening();
            }
            if exchange.response.status() > 0 {
                self.finish(key, false, (now, None), sink);
            } else {
                self.fail(key, (Outcome::Timeout, Reason::ResponseTimeout(listen)), sink);
            }
        }
    }

    /// Starts the response timeout.
    #[inline]
    fn start_response_timeout(&mut self, key: usize, serial: u64) {
        let connections = &self.connections;
        let Some(exchange) = &connections[key].exchange else { return };
        let is_pending = |key, serial| connections.get(key).is_some_and(|c: &Connection| c.is_pending(serial));
        self.event_loop.start_timeout(&exchange.event, (key, serial), connections.len(), is_pending);
        if let Some(listen) = exchange.response.listen() {
            let until = exchange.event.sent.unwrap_or_default() + listen;
            self.listening.push(until, key, serial, connections.len(), is_pending);
        }
    }

    /// Starts an exchange. Returns the time when it was sent.
    #[inline]
    pub(super) fn begin_exchange(
        &mut self,
        mut event: Event,
        response: ResponseReader,
        lane: u8,
        request: &impl RequestBytes,
        sink: &mut impl CompletionSink,
    ) -> Instant {
        let source = request.source();
        let reusable = self.reusable_for(&source, &event, lane, sink);
        if reusable.is_none() && self.connections.len() >= self.limit {
            let reason = Reason::Connections(self.limit as u64);
            event.error = Some(reason);
            sink.done(event, response);
            return self.event_loop.clock.now();
        }
        self.serial += 1;
        let sent = self.event_loop.clock.now();
        event.sent = Some(sent);
        let exchange = Exchange { event, response, serial: self.serial, source, begun: sent, closed: None };
        if let Some(key) = reusable {
            let connection = &mut self.connections[key];
            let Exchange { event, .. } = connection.exchange.insert(exchange);
            event.connection = connection.number;
            event.reused = connection.carried > 0;
            connection.carried += 1;
            match self.send_request(key, request) {
                Ok(()) => self.start_response_timeout(key, self.serial),
                Err(failure) => {
                    self.fail(key, failure, sink);
                    // It may be sent again.
                    if self.connections.get(key).is_some_and(|c| c.is_pending(self.serial)) {
                        self.start_response_timeout(key, self.serial);
                    }
                }
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
}
