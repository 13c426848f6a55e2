//! WebSocket over TLS, TCP or a Unix socket (RFC 6455). Each session has a connection of its own. A request sends a
//! message and waits for the messages that respond to it.
//!
//! The protocol is implemented by the `tungstenite` crate over a non-blocking stream.

mod connection;
mod handshake;
mod setup;

use std::collections::HashMap;
use std::sync::Arc;

use offered_base::{Instant, Nanos};
use offered_events::{Event, Outcome, Reason};
use offered_io::{Clock, Ready};
use offered_workload::Reuse;
use slab::Slab;
use tungstenite::Message;
use tungstenite::handshake::client::generate_key;
use tungstenite::protocol::frame::coding::CloseCode;

use self::connection::{Connection, Exchange, READS_PER_TURN, State};
pub(super) use self::handshake::request_text;
use self::handshake::{handshake_request, message, pattern};
use self::setup::ExpectedMessage;
pub(crate) use self::setup::Setup;
use super::event_loop::{
    ConnectionSlot, EventLoop, PendingExchange, SocketHandler, in_flight_since, next_turn, run_once,
};
use super::protocol_client::{Completion, ProtocolClient, RequestText};
use super::socket::dial_failure;
use super::stream::Stream;
use super::timers::Timers;
use super::{Client, Failure, ThreadResources};
use crate::message::{OutgoingRequest, Response};

/// Maximum number of messages of a connection per loop iteration. One read may contain thousands, and pings are
/// answered one by one.
const MESSAGES_PER_TURN: usize = 256;
/// How long to wait for the peer's Close frame after ours.
const CLOSE_TIMEOUT: Nanos = Nanos::from_secs(1);
/// The status of the handshake, and so of all messages.
const SWITCHING_PROTOCOLS: u16 = 101;

/// The connections of one thread.
pub(crate) struct WebSocket {
    setup: Setup,
    event_loop: EventLoop,
    limit: usize,
    connections: Slab<Connection>,
    /// The connection of each session: (key, number).
    by_session: HashMap<u64, (usize, u32)>,
    /// The timeouts for the peer's Close frame, and the number of connections waiting for it.
    close_deadlines: Timers,
    closing: usize,
    /// When requests that listen for a fixed time are complete.
    listen_deadlines: Timers,
    opened: u32,
    serial: u64,
}

impl WebSocket {
    fn new(setup: Setup, thread: ThreadResources<'_>) -> Self {
        let ThreadResources { poller, connections, spin, limits, .. } = thread;
        Self {
            event_loop: EventLoop::new(poller, spin, (setup.connect_timeout, setup.response_timeout), limits),
            setup,
            limit: connections.map_or(usize::MAX, |limit| limit as usize),
            connections: Slab::new(),
            by_session: HashMap::new(),
            close_deadlines: Timers::default(),
            closing: 0,
            listen_deadlines: Timers::default(),
            opened: 0,
            serial: 0,
        }
    }

    /// Opens a connection for an exchange; returns its key.
    fn open(&mut self, outgoing: &OutgoingRequest, exchange: Exchange) -> Result<usize, (Box<Exchange>, Failure)> {
        let new_event = handshake_request(outgoing, &self.setup.origin, &generate_key())
            .map_err(|reason| (Outcome::Unsent, reason.into()))
            .and_then(|request| {
                let mut stream = Stream::dial(&self.setup.route, &self.event_loop.clock)?;
                let key = self.connections.vacant_key();
                self.event_loop.poller.add(&stream, key).map_err(dial_failure)?;
                stream.start_race(&self.event_loop.poller, key, &self.setup.route.addresses);
                Ok((stream, request))
            });
        let (stream, request) = match new_event {
            Ok(new_event) => new_event,
            Err(failure) => return Err((Box::new(exchange), failure)),
        };
        let number = self.opened;
        self.opened += 1;
        let event = Event { connection: number, ..exchange.event };
        let exchange = Some(Exchange { event, ..exchange });
        let state = State::Opening(stream, Box::new(request));
        Ok(self.connections.insert(Connection { state, number, carried: 0, exchange, closing: false }))
    }

    /// Connects, writes and reads on a ready socket.
    fn on_socket_ready(&mut self, key: usize, ready: Ready, completions: &mut Vec<Completion>) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        let was_open = connection.is_open();
        let registered = (&self.event_loop.poller, key);
        let opened = connection.open(&self.setup.route, ready, &self.event_loop.clock, registered);
        match opened.and_then(|open| if open { connection.send_pending().map(|()| true) } else { Ok(false) }) {
            Ok(true) => {}
            Ok(false) => {
                // The response head may need more reads than one iteration allows.
                if connection.io().is_some_and(|io| io.readable) {
                    self.requeue(key);
                }
                return;
            }
            Err(failure) => return self.fail(key, failure, completions),
        }
        if !was_open && connection.exchange.as_ref().is_some_and(|exchange| exchange.only_connects) {
            self.complete(key, completions);
        }
        self.receive(key, completions);
    }

    /// Handles received messages, a bounded number per iteration.
    fn receive(&mut self, key: usize, completions: &mut Vec<Completion>) {
        let mut has_more = true;
        for _ in 0..MESSAGES_PER_TURN {
            let Some(connection) = self.connections.get_mut(key) else { return };
            let received = connection.receive();
            let arrival = connection.stream().and_then(|stream| stream.arrival());
            let message = match received {
                Ok(Some(message)) => message,
                Ok(None) => {
                    has_more = connection.io().is_some_and(|io| io.readable);
                    break;
                }
                Err(failure) => return self.fail(key, failure, completions),
            };
            let payload = match &message {
                Message::Text(text) => text.as_bytes(),
                Message::Binary(bytes) => bytes,
                Message::Close(_) if connection.closing => continue,
                Message::Close(reason) => {
                    let reason = reason.as_ref().map(|reason| format!("{} {}", u16::from(reason.code), reason.reason));
                    let reason = reason.map_or(String::new(), |reason| format!(" ({})", reason.trim_end()));
                    let reason = format!("closed by the server{reason}");
                    connection.flush_close();
                    return self.fail(key, (Outcome::Reset, reason.into()), completions);
                }
                _ => continue,
            };
            // Messages that no request waits for are ignored.
            let Some(exchange) = connection.exchange.as_mut().filter(|exchange| !exchange.only_connects) else {
                continue;
            };
            exchange.event.bytes_in += payload.len() as u64;
            let now = self.event_loop.clock.now();
            let late = self.event_loop.reading.of_read(arrival, exchange.event.sent, now);
            if exchange.event.first_byte.is_none() {
                (exchange.event.first_byte, exchange.event.reading_lateness) = (Some(now), late);
                let Event { session, object, .. } = exchange.event;
                completions.push(Completion::FirstByte { session, object });
            }
            let expected = &self.setup.expected[usize::from(exchange.event.label)];
            let pattern = exchange.pattern.as_ref().or(expected.pattern.as_ref());
            if pattern.is_none_or(|pattern| pattern.is_match(payload)) {
                exchange.response = Some(message);
                exchange.remaining = exchange.remaining.map(|remaining| remaining - 1);
                if exchange.remaining == Some(0) {
                    exchange.event.done_lateness = late;
                    self.complete(key, completions);
                }
            }
        }
        if has_more {
            self.requeue(key);
        }
    }

    /// Handles a connection again in the next iteration.
    fn requeue(&mut self, key: usize) {
        if let Some(connection) = self.connections.get(key) {
            let ready = Ready { token: key, readable: true, writable: false, closed: false };
            self.event_loop.requeue(ready, connection.number);
        }
    }

    /// Completes the exchange of a connection.
    fn complete(&mut self, key: usize, completions: &mut Vec<Completion>) {
        let connection = &mut self.connections[key];
        let Some(exchange) = connection.exchange.take() else { return };
        let mut response = Box::new(Response { body_limit: exchange.body_limit, ..Response::default() });
        match exchange.response {
            Some(Message::Text(text)) => response.add(text.as_bytes()),
            Some(Message::Binary(bytes)) => response.add(&bytes),
            _ => {}
        }
        let now = self.event_loop.clock.now();
        let first_byte = exchange.event.first_byte.or(Some(now));
        let event =
            Event { first_byte, done: Some(now), status: SWITCHING_PROTOCOLS, outcome: Outcome::Ok, ..exchange.event };
        if self.setup.reuse == Reuse::Fresh {
            self.close(key);
        }
        completions.push(Completion::Done(event, Some(response)));
    }

    /// Fails the exchange of a connection, and closes the connection.
    fn fail(&mut self, key: usize, (outcome, reason): Failure, completions: &mut Vec<Completion>) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        let exchange = connection.exchange.take();
        match outcome {
            // The peer is alive, but did not send what was expected.
            Outcome::Timeout => self.close(key),
            Outcome::Malformed => {
                connection.send_close(CloseCode::Protocol);
                self.drop_connection(key);
            }
            _ => self.drop_connection(key),
        }
        let Some(Exchange { event, .. }) = exchange else { return };
        let event = Event { done: Some(self.event_loop.clock.now()), outcome, ..event };
        let refused = match outcome {
            Outcome::HttpError => Event { status: reason.text().parse().unwrap_or_default(), ..event },
            _ => Event { error: Some(reason), ..event },
        };
        completions.push(Completion::Done(refused, None));
    }

    /// Sends a Close frame. The connection is dropped when the peer has answered it, or after [`CLOSE_TIMEOUT`].
    fn close(&mut self, key: usize) {
        let Some(connection) = self.connections.get_mut(key).filter(|connection| !connection.closing) else { return };
        if !connection.send_close(CloseCode::Normal) {
            return self.drop_connection(key);
        }
        connection.closing = true;
        self.closing += 1;
        let (until, number) = (self.event_loop.clock.now() + CLOSE_TIMEOUT, connection.number);
        let connections = &self.connections;
        self.close_deadlines
            .push(until, key, number.into(), self.closing, |key, number| is_closing(connections, key, number));
    }

    /// Handles expired timers: requests that listen for a fixed time, and Close frames that were not answered.
    fn fire_timers(&mut self, completions: &mut Vec<Completion>) {
        let now = self.event_loop.clock.now();
        loop {
            let connections = &self.connections;
            let is_pending = |key, serial| connections.get(key).is_some_and(|c: &Connection| c.is_pending(serial));
            let Some(key) = self.listen_deadlines.pop_expired(now, is_pending) else { break };
            if self.connections[key].is_open() {
                self.complete(key, completions);
            } else {
                let listen = self.connections[key]
                    .exchange
                    .as_ref()
                    .and_then(|exchange| self.setup.expected[usize::from(exchange.event.label)].chat.listen);
                self.fail(key, (Outcome::Timeout, Reason::ConnectTimeout(listen.unwrap_or_default())), completions);
            }
        }
        loop {
            let connections = &self.connections;
            let leaves = |key, number| is_closing(connections, key, number);
            let Some(key) = self.close_deadlines.pop_expired(now, leaves) else { break };
            self.drop_connection(key);
        }
    }

    /// The time of the next timer that [`fire_timers`](Self::fire_timers) handles.
    fn next_timer(&mut self) -> Instant {
        let connections = &self.connections;
        let is_pending = |key, serial| connections.get(key).is_some_and(|c: &Connection| c.is_pending(serial));
        let next_close = self.close_deadlines.next_due(|key, number| is_closing(connections, key, number));
        next_close.min(self.listen_deadlines.next_due(is_pending))
    }

    /// Drops a connection.
    fn drop_connection(&mut self, key: usize) {
        let Some(mut connection) = self.connections.try_remove(key) else { return };
        self.closing -= usize::from(connection.closing);
        if let Some(stream) = connection.stream() {
            self.event_loop.poller.remove_closing(&*stream);
        }
    }
}

/// Whether this connection waits for the peer's Close frame.
fn is_closing(connections: &Slab<Connection>, key: usize, number: u64) -> bool {
    connections.get(key).is_some_and(|connection| connection.closing && u64::from(connection.number) == number)
}

impl SocketHandler<Vec<Completion>> for WebSocket {
    type Connection = Connection;
    type Exchange = Connection;

    fn parts(&mut self) -> (&mut EventLoop, &Slab<Connection>, &Slab<Connection>) {
        (&mut self.event_loop, &self.connections, &self.connections)
    }

    fn on_ready(&mut self, ready: Ready, completions: &mut Vec<Completion>) -> usize {
        let key = ready.token;
        if let Some(stream) = self.connections.get_mut(key).and_then(Connection::stream) {
            stream.stamp_reads(self.event_loop.reading.samples(true));
        }
        if let Some(io) = self.connections.get_mut(key).and_then(Connection::io) {
            io.readable |= ready.readable || ready.closed;
            (io.reads_left, io.taken) = (READS_PER_TURN, 0);
        }
        self.on_socket_ready(key, ready, completions);
        self.connections.get_mut(key).and_then(Connection::io).map_or(0, |io| io.taken)
    }

    fn on_connect_timeout(&mut self, key: usize, reason: Failure, completions: &mut Vec<Completion>) {
        let reason = match (&self.connections[key].state, reason) {
            (State::Handshake(_), (outcome, Reason::ConnectTimeout(within))) => {
                (outcome, format!("no response to the WebSocket handshake within {within} (connect_timeout)").into())
            }
            (_, reason) => reason,
        };
        self.fail(key, reason, completions);
    }

    fn on_response_timeout(&mut self, key: usize, within: Nanos, completions: &mut Vec<Completion>) {
        self.fail(key, (Outcome::Timeout, Reason::ExpectTimeout(within)), completions);
    }
}

impl Client<Vec<Completion>> for WebSocket {
    fn now(&self) -> Instant {
        self.event_loop.clock.now()
    }

    fn wait(&mut self, deadline: Instant, completions: &mut Vec<Completion>) {
        let alarm = self.next_timer();
        run_once(self, deadline.min(alarm), completions);
        if alarm < Instant::MAX {
            self.fire_timers(completions);
        }
    }

    fn close_session(&mut self, session: u64) {
        if let Some((key, number)) = self.by_session.remove(&session)
            && self.connections.get(key).is_some_and(|c| c.number == number)
        {
            self.close(key);
        }
    }

    fn cancel_all(&mut self, completions: &mut Vec<Completion>) {
        for (_, connection) in &mut self.connections {
            if let Some(exchange) = connection.exchange.take() {
                let error = Some(Reason::Stopped);
                completions.push(Completion::Done(Event { outcome: Outcome::Cut, error, ..exchange.event }, None));
            }
        }
    }

    fn in_flight_since(&mut self, instant: Instant) -> Option<Event> {
        in_flight_since::<Vec<Completion>, _>(self, instant)
    }

    fn finish(&mut self) {
        let open: Vec<usize> = self.connections.iter().map(|(key, _)| key).collect();
        for key in open {
            self.close(key);
        }
        let until = self.event_loop.clock.now() + CLOSE_TIMEOUT;
        // No exchange is left, so no completions follow.
        while !self.connections.is_empty() && self.event_loop.clock.now() < until {
            Client::wait(self, until, &mut Vec::new());
        }
    }

    fn idle(&self) -> Nanos {
        self.event_loop.idle
    }
}

impl ProtocolClient for WebSocket {
    fn start_at(&mut self, clock: Clock) {
        self.event_loop.start_at(clock);
    }

    fn begin(&mut self, outgoing: &Arc<OutgoingRequest>, event: Event, completions: &mut Vec<Completion>) -> Instant {
        let session = event.session;
        let connections = &self.connections;
        let is_own = |(key, number): &&(usize, u32)| {
            connections.get(*key).is_some_and(|connection| connection.number == *number && !connection.closing)
        };
        let existing = self.by_session.get(&session).filter(is_own);
        let existing = existing.map(|(key, _)| *key);
        if existing.is_none() && self.connections.len() - self.closing >= self.limit {
            let reason = Reason::Connections(self.limit as u64);
            completions.push(Completion::Done(Event { error: Some(reason), ..event }, None));
            return self.event_loop.clock.now();
        }
        let ExpectedMessage { chat, .. } = &self.setup.expected[usize::from(event.label)];
        let (unsent_message, pattern) =
            match message(outgoing, chat).and_then(|payload| Ok((payload, pattern(outgoing)?))) {
                Ok(made) => made,
                Err(reason) => {
                    completions.push(Completion::Done(Event { error: Some(reason.into()), ..event }, None));
                    return self.event_loop.clock.now();
                }
            };
        let only_connects = chat.only_connects(unsent_message.is_some());
        let (listen, remaining) = (chat.listen, chat.count.or(chat.listen.is_none().then_some(1)));
        self.serial += 1;
        let sent = self.event_loop.clock.now();
        let event = Event { sent: Some(sent), ..event };
        let mut exchange = Exchange {
            event,
            serial: self.serial,
            unsent_message,
            only_connects,
            pattern,
            remaining,
            response: None,
            body_limit: outgoing.body_limit,
        };
        let (key, fresh) = match existing {
            Some(key) => {
                let connection = &mut self.connections[key];
                (exchange.event.connection, exchange.event.reused) = (connection.number, true);
                connection.exchange = Some(exchange);
                (key, false)
            }
            None => match self.open(outgoing, exchange) {
                Ok(key) => (key, true),
                Err((exchange, (outcome, reason))) => {
                    let error = Some(reason);
                    let event = match outcome {
                        Outcome::Unsent => Event { sent: None, error, ..exchange.event },
                        _ => Event { done: Some(self.event_loop.clock.now()), outcome, error, ..exchange.event },
                    };
                    completions.push(Completion::Done(event, None));
                    return sent;
                }
            },
        };
        let connection = &mut self.connections[key];
        connection.carried += 1;
        self.by_session.insert(session, (key, connection.number));
        let (connections, serial) = (&self.connections, self.serial);
        if fresh {
            let would_block = |key, serial| connections.get(key).is_some_and(|c: &Connection| c.is_connecting(serial));
            self.event_loop.connect_deadlines.push(sent, key, serial, connections.len(), would_block);
        }
        let would_block = |key, serial| connections.get(key).is_some_and(|c: &Connection| c.is_pending(serial));
        if let Some(exchange) = &connections[key].exchange {
            self.event_loop.start_timeout(&exchange.event, (key, serial), connections.len(), would_block);
        }
        if let Some(time) = listen {
            self.listen_deadlines.push(sent + time, key, serial, connections.len(), would_block);
        }
        if only_connects && !fresh {
            self.complete(key, completions);
        } else if !fresh && let Err(failure) = self.connections[key].send_pending() {
            self.fail(key, failure, completions);
        }
        sent
    }

    fn next_turn(&mut self) -> Instant {
        next_turn::<Vec<Completion>, _>(self).min(self.next_timer())
    }

    fn request_text(&self, outgoing: &OutgoingRequest, event: &Event) -> RequestText {
        request_text(outgoing, &self.setup.origin, !event.reused)
    }
}
