//! WebSocket over TLS, TCP or a Unix socket: a session's own connection, on which it says something and waits for what answers it
//! (RFC 6455).
//!
//! The protocol is the `tungstenite` crate's, which reads and writes as far as a non-blocking stream lets it.

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::sync::Arc;

use http::header::SEC_WEBSOCKET_EXTENSIONS;
use http::{HeaderName, HeaderValue, Request, Uri};
use offered_clock::{Clock, Poller, Ready};
use offered_model::template::{Piece, Template};
use offered_model::workload::{Call, Chat, Reuse, Workload, bytes_of_hex};
use offered_model::{Event, Instant, Nanos, Outcome, Reason};
use regex::bytes::Regex;
use slab::Slab;
use tungstenite::handshake::MidHandshake;
use tungstenite::handshake::client::{ClientHandshake, generate_key};
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tungstenite::{HandshakeError, Message, Utf8Bytes};

use super::Failure;
use super::event_loop::{ConnectionSlot, EventLoop, PendingExchange, SocketHandler, in_flight_since, run_once};
use super::protocol_client::{Completion, ProtocolClient, RequestText};
use super::route::Route;
use super::socket::{Read, dial_failure};
use super::stream::Stream;
use super::timers::Timers;
use crate::Error;
use crate::message::{MAX_BODY_BYTES, OutgoingRequest, Response};

/// How much is read at a time, and how often in a turn.
const BUFFER: usize = 16 * 1024;
const READS_PER_TURN: usize = 4;
/// Messages in a turn: in one read there may be thousands, and pings among them are answered one by one.
const MESSAGES_PER_TURN: usize = 256;
/// So much is put together before it is written.
const WRITE_BUFFER: usize = 128 * 1024;
/// What may wait to be written beside the message that is being said: answers to pings whose sender does not read them.
const MAX_UNWRITTEN: usize = 64 * 1024;
/// So long is waited for the other side's goodbye to ours.
const CLOSE_TIMEOUT: Nanos = Nanos::from_secs(1);
/// What the handshake is answered with, and so the status of all that is said after it.
const SWITCHING_PROTOCOLS: u16 = 101;

/// What all threads of a run share.
#[derive(Clone)]
pub(crate) struct Setup {
    route: Arc<Route>,
    /// What stands before a request's path: scheme and authority.
    origin: Arc<str>,
    /// What each request waits for.
    expected: Arc<[ExpectedMessage]>,
    reuse: Reuse,
    connect_timeout: Nanos,
    response_timeout: Nanos,
}

/// What a request waits for.
#[derive(Clone, Debug, Default)]
struct ExpectedMessage {
    /// Such messages; `None`: any, or as each launch says.
    pattern: Option<Regex>,
    chat: Chat,
}

impl ExpectedMessage {
    /// What `chat` says, as far as it is known before the run.
    fn new(chat: &Chat, patience: Nanos) -> Result<Self, String> {
        let no_regex = |reason| format!("websocket.await is no regular expression: {reason}");
        let known = chat.awaited.as_ref().and_then(Template::text);
        let pattern = known.map(Regex::new).transpose().map_err(no_regex)?;
        if let Some(own) = chat.awaited.as_ref().filter(|_| known.is_none()) {
            // Whatever the values will be, they are texts.
            let piece = |piece: &Piece| if let Piece::Text(text) = piece { text.to_string() } else { "x".to_owned() };
            Regex::new(&own.pieces().iter().map(piece).collect::<String>()).map_err(no_regex)?;
        }
        match chat.listen {
            Some(listen) if listen >= patience => Err(format!(
                "listens for {listen}, and target.response_timeout ends it after {patience}; write a longer one"
            )),
            _ => Ok(Self { pattern, chat: chat.clone() }),
        }
    }
}

impl Setup {
    /// For the target of `workload`, which `route` leads to and whose requests are all of WebSocket.
    ///
    /// # Errors
    /// No target, or something to wait for that is no regular expression.
    pub(crate) fn new(workload: &Workload, route: Arc<Route>) -> Result<Self, Error> {
        let target = workload.target().ok_or(Error::NoTarget)?;
        let expected = workload.requests().iter().map(|request| {
            let wrong = |reason: String| Error::Request { name: request.name().to_owned(), reason };
            match request.call() {
                Call::WebSocket(chat) => ExpectedMessage::new(chat, target.response_timeout()).map_err(wrong),
                _ => Err(wrong(
                    "stands beside requests of WebSocket; give each its own workload, and run them side by side"
                        .to_owned(),
                )),
            }
        });
        let scheme = if target.url().secure { "wss" } else { "ws" };
        Ok(Self {
            route,
            origin: format!("{scheme}://{}", target.url().host()).into(),
            expected: expected.collect::<Result<_, _>>()?,
            reuse: target.reuse(),
            connect_timeout: target.connect_timeout(),
            response_timeout: target.response_timeout(),
        })
    }
}

/// One thread's connections.
pub(crate) struct WebSocket {
    setup: Setup,
    event_loop: EventLoop,
    limit: usize,
    connections: Slab<Connection>,
    /// Sessions' connections: (key, number).
    by_session: HashMap<u64, (usize, u32)>,
    /// When is hung up on who does not say goodbye to ours, and on how many we wait.
    close_deadlines: Timers,
    closing: usize,
    /// When launches are over that only listen.
    listen_deadlines: Timers,
    opened: u32,
    serial: u64,
}

/// A session's connection.
pub(super) struct Connection {
    state: State,
    /// Its serial number within the worker, from 0.
    number: u32,
    /// How many requests it has carried.
    carried: u64,
    exchange: Option<Exchange>,
    /// Whether we have said goodbye.
    closing: bool,
}

/// How far a connection is.
enum State {
    ConnectionSlot(Stream, Box<Request<()>>),
    Handshake(Box<MidHandshake<ClientHandshake<Io>>>),
    Open(Box<tungstenite::WebSocket<Io>>),
    /// In the hands of whoever moves it from one state to the next.
    Moving,
}

/// Something said, and what is awaited.
struct Exchange {
    event: Event,
    /// Tells it from the connection's earlier and later ones.
    serial: u64,
    /// What is said as soon as the connection is open.
    unsent_message: Option<Message>,
    /// Whether the open connection is all that was wanted.
    only_connects: bool,
    /// What is awaited, where that is its own.
    pattern: Option<Regex>,
    /// How many more messages of those; `None`: as many as come in time.
    remaining: Option<u32>,
    /// The last of them.
    response: Option<Message>,
    body_limit: usize,
}

/// A stream as the standard library's traits want it.
struct Io {
    stream: Stream,
    /// Whether there may be something to read. Else the system is not asked: the poller will tell.
    readable: bool,
    /// How many more times it is read in this turn, and how many bytes that has brought.
    reads_left: usize,
    taken: usize,
    /// What went wrong with it, before it was made an error of.
    failure: Option<Failure>,
}

impl io::Read for Io {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Who reads until nothing is left is told that nothing is when the turn is over.
        if self.reads_left == 0 || !self.readable {
            return Err(ErrorKind::WouldBlock.into());
        }
        self.reads_left -= 1;
        match self.stream.read(buffer) {
            Ok(Read::Some { bytes, .. }) => {
                self.taken += bytes;
                Ok(bytes)
            }
            Ok(Read::Nothing { drained }) => {
                self.readable = !drained;
                Err(ErrorKind::WouldBlock.into())
            }
            Ok(Read::End) => Ok(0),
            Err(failure) => {
                let error = io::Error::other(failure.1.to_string());
                self.failure = Some(failure);
                Err(error)
            }
        }
    }
}

impl io::Write for Io {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

impl ConnectionSlot for Connection {
    fn number(&self) -> u32 {
        self.number
    }

    fn is_connecting(&self, serial: u64) -> bool {
        self.is_pending(serial) && !self.is_open()
    }
}

impl PendingExchange for Connection {
    fn is_pending(&self, serial: u64) -> bool {
        self.exchange.as_ref().is_some_and(|exchange| exchange.serial == serial)
    }

    fn event(&self) -> Option<&Event> {
        self.exchange.as_ref().map(|exchange| &exchange.event)
    }
}

impl Connection {
    fn io(&mut self) -> Option<&mut Io> {
        match &mut self.state {
            State::Handshake(handshake_request) => Some(handshake_request.get_mut().get_mut()),
            State::Open(socket) => Some(socket.get_mut()),
            State::ConnectionSlot(..) | State::Moving => None,
        }
    }

    fn stream(&mut self) -> Option<&mut Stream> {
        match &mut self.state {
            State::ConnectionSlot(stream, _) => Some(stream),
            State::Handshake(handshake_request) => Some(&mut handshake_request.get_mut().get_mut().stream),
            State::Open(socket) => Some(&mut socket.get_mut().stream),
            State::Moving => None,
        }
    }

    fn is_open(&self) -> bool {
        matches!(self.state, State::Open(_))
    }

    /// Goes on connecting; whether it is open.
    fn open(&mut self, route: &Route, ready: Ready, clock: &Clock) -> Result<bool, Failure> {
        if let State::ConnectionSlot(stream, _) = &mut self.state
            && !stream.is_open()
            && !stream.continue_connecting(route, ready.writable || ready.closed, clock)?
        {
            return Ok(false);
        }
        let greeted = match std::mem::replace(&mut self.state, State::Moving) {
            State::ConnectionSlot(stream, request) => {
                if let Some(exchange) = &mut self.exchange {
                    exchange.event.handshake = stream.handshake;
                }
                let config = WebSocketConfig::default()
                    .read_buffer_size(BUFFER)
                    .max_write_buffer_size(WRITE_BUFFER + MAX_UNWRITTEN)
                    .write_buffer_size(WRITE_BUFFER)
                    .max_message_size(Some(MAX_BODY_BYTES));
                let io = Io { stream, readable: true, reads_left: READS_PER_TURN, taken: 0, failure: None };
                ClientHandshake::start(io, *request, Some(config)).map_err(failure)?.handshake()
            }
            State::Handshake(handshake_request) => handshake_request.handshake(),
            other => {
                self.state = other;
                return Ok(true);
            }
        };
        match greeted {
            Ok((_, response)) if response.headers().contains_key(SEC_WEBSOCKET_EXTENSIONS) => {
                // What it says next would be in a language of its own (RFC 6455, section 4.1).
                Err((
                    Outcome::Malformed,
                    Reason::words("the server uses an extension of WebSocket that is not spoken here"),
                ))
            }
            Ok((socket, _)) => {
                self.state = State::Open(Box::new(socket));
                Ok(true)
            }
            Err(HandshakeError::Interrupted(handshake_request)) => {
                self.state = State::Handshake(Box::new(handshake_request));
                Ok(false)
            }
            Err(HandshakeError::Failure(error)) => Err(failure(error)),
        }
    }

    /// Says what has not been said yet.
    fn send_pending(&mut self) -> Result<(), Failure> {
        let State::Open(socket) = &mut self.state else { return Ok(()) };
        let said = match &mut self.exchange {
            None if !self.closing => return Ok(()),
            None => socket.flush(),
            Some(exchange) => match exchange.unsent_message.take() {
                Some(message) => {
                    let length = message.len();
                    exchange.event.bytes_out = length as u64;
                    socket.set_config(|config| config.max_write_buffer_size = length + WRITE_BUFFER + MAX_UNWRITTEN);
                    socket.send(message)
                }
                None => socket.flush(),
            },
        };
        said.or_else(|error| if would_block(&error) { Ok(()) } else { Err(failure(error)) })
    }

    /// Says goodbye with this code; whether there is somebody to say it to.
    fn send_close(&mut self, code: CloseCode) -> bool {
        let State::Open(socket) = &mut self.state else { return false };
        let goodbye = CloseFrame { code, reason: Utf8Bytes::default() };
        let said = socket.close(Some(goodbye)).and_then(|()| socket.flush());
        said.map_or_else(|error| would_block(&error), |()| true)
    }

    /// Sends the answer to the other side's goodbye, which the protocol has ready: both must say it.
    fn flush_close(&mut self) {
        if let State::Open(socket) = &mut self.state {
            // Who has said goodbye and then does not listen does not get it.
            let _ = socket.flush();
        }
    }

    /// Takes the next message; `None`: there is none yet.
    fn receive(&mut self) -> Result<Option<Message>, Failure> {
        let State::Open(socket) = &mut self.state else { return Ok(None) };
        match socket.read() {
            Ok(message) => Ok(Some(message)),
            Err(error) if would_block(&error) => Ok(None),
            Err(error) => Err(socket.get_mut().failure.take().unwrap_or_else(|| failure(error))),
        }
    }
}

impl WebSocket {
    /// The connections of one thread, at most `limit` of them, watched by `poller`, waiting without sleep for the last `spin`
    /// before a launch.
    pub(crate) fn new(setup: Setup, clock: Clock, poller: Poller, limit: Option<u32>, spin: Nanos) -> Self {
        Self {
            event_loop: EventLoop::new(clock, poller, spin, setup.connect_timeout, setup.response_timeout),
            setup,
            limit: limit.map_or(usize::MAX, |limit| limit as usize),
            connections: Slab::new(),
            by_session: HashMap::new(),
            close_deadlines: Timers::default(),
            closing: 0,
            listen_deadlines: Timers::default(),
            opened: 0,
            serial: 0,
        }
    }

    /// Opens a connection for an exchange; its key.
    fn open(&mut self, outgoing: &OutgoingRequest, exchange: Exchange) -> Result<usize, (Box<Exchange>, Failure)> {
        let new_event = handshake_request(outgoing, &self.setup.origin, &generate_key())
            .map_err(|reason| (Outcome::Unsent, reason.into()))
            .and_then(|request| {
                let stream = Stream::dial(&self.setup.route, &self.event_loop.clock)?;
                self.event_loop.poller.add(&stream, self.connections.vacant_key()).map_err(dial_failure)?;
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
        let state = State::ConnectionSlot(stream, Box::new(request));
        Ok(self.connections.insert(Connection { state, number, carried: 0, exchange, closing: false }))
    }

    /// Does what can be done on a connection whose turn has come: opens it, speaks, listens.
    fn on_socket_ready(&mut self, key: usize, ready: Ready, completions: &mut Vec<Completion>) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        let was_open = connection.is_open();
        let opened = connection.open(&self.setup.route, ready, &self.event_loop.clock);
        match opened.and_then(|open| if open { connection.send_pending().map(|()| true) } else { Ok(false) }) {
            Ok(true) => {}
            Ok(false) => {
                // A head may be longer than a turn.
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

    /// Takes the messages that have come, as many as one turn has.
    fn receive(&mut self, key: usize, completions: &mut Vec<Completion>) {
        let mut has_more = true;
        for _ in 0..MESSAGES_PER_TURN {
            let Some(connection) = self.connections.get_mut(key) else { return };
            let message = match connection.receive() {
                Ok(Some(message)) => message,
                Ok(None) => {
                    has_more = connection.io().is_some_and(|io| io.readable);
                    break;
                }
                Err(failure) => return self.fail(key, failure, completions),
            };
            let said = match &message {
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
            // What nobody waits for is let go by.
            let Some(exchange) = connection.exchange.as_mut().filter(|exchange| !exchange.only_connects) else {
                continue;
            };
            exchange.event.bytes_in += said.len() as u64;
            if exchange.event.first_byte.is_none() {
                exchange.event.first_byte = Some(self.event_loop.clock.now());
                let Event { session, object, .. } = exchange.event;
                completions.push(Completion::FirstByte { session, object });
            }
            let expected = &self.setup.expected[usize::from(exchange.event.label)];
            let pattern = exchange.pattern.as_ref().or(expected.pattern.as_ref());
            if pattern.is_none_or(|pattern| pattern.is_match(said)) {
                exchange.response = Some(message);
                exchange.remaining = exchange.remaining.map(|remaining| remaining - 1);
                if exchange.remaining == Some(0) {
                    self.complete(key, completions);
                }
            }
        }
        if has_more {
            self.requeue(key);
        }
    }

    /// There is more to read than a turn takes.
    fn requeue(&mut self, key: usize) {
        if let Some(connection) = self.connections.get(key) {
            let ready = Ready { token: key, readable: true, writable: false, closed: false };
            self.event_loop.requeue(ready, connection.number);
        }
    }

    /// The exchange of a connection has what it waited for.
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

    /// What a connection carried has failed, and so has the connection.
    fn fail(&mut self, key: usize, (outcome, reason): Failure, completions: &mut Vec<Completion>) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        let exchange = connection.exchange.take();
        match outcome {
            // Somebody is there, who does not say what is awaited.
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

    /// Says goodbye, and hangs up when the other side has said it too, or [`FAREWELL`] later.
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

    /// Ends what is over by now: launches that only listen, and waiting for goodbyes.
    fn fire_timers(&mut self, completions: &mut Vec<Completion>) {
        let now = self.event_loop.clock.now();
        loop {
            let connections = &self.connections;
            let listens = |key, serial| connections.get(key).is_some_and(|c: &Connection| c.is_pending(serial));
            let Some(key) = self.listen_deadlines.pop_expired(now, listens) else { break };
            if self.connections[key].is_open() {
                self.complete(key, completions);
            } else {
                let listen = self.connections[key]
                    .exchange
                    .as_ref()
                    .and_then(|exchange| self.setup.expected[usize::from(exchange.event.label)].chat.listen);
                self.fail(key, (Outcome::Timeout, Reason::NotConnected(listen.unwrap_or_default())), completions);
            }
        }
        loop {
            let connections = &self.connections;
            let leaves = |key, number| is_closing(connections, key, number);
            let Some(key) = self.close_deadlines.pop_expired(now, leaves) else { break };
            self.drop_connection(key);
        }
    }

    /// Ends a connection.
    fn drop_connection(&mut self, key: usize) {
        let Some(mut connection) = self.connections.try_remove(key) else { return };
        self.closing -= usize::from(connection.closing);
        if let Some(stream) = connection.stream() {
            let _ = self.event_loop.poller.remove(&*stream);
        }
    }
}

/// Whether the connection of this key and number is waited for to say goodbye.
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
        if let Some(io) = self.connections.get_mut(key).and_then(Connection::io) {
            io.readable |= ready.readable || ready.closed;
            (io.reads_left, io.taken) = (READS_PER_TURN, 0);
        }
        self.on_socket_ready(key, ready, completions);
        self.connections.get_mut(key).and_then(Connection::io).map_or(0, |io| io.taken)
    }

    fn on_connect_timeout(&mut self, key: usize, reason: Failure, completions: &mut Vec<Completion>) {
        self.fail(key, reason, completions);
    }

    fn on_response_timeout(&mut self, key: usize, within: Nanos, completions: &mut Vec<Completion>) {
        self.fail(key, (Outcome::Timeout, Reason::NotAwaited(within)), completions);
    }
}

impl ProtocolClient for WebSocket {
    fn now(&self) -> Instant {
        self.event_loop.clock.now()
    }

    fn begin(&mut self, outgoing: &Arc<OutgoingRequest>, event: Event, completions: &mut Vec<Completion>) -> Instant {
        let session = event.session;
        let connections = &self.connections;
        let is_own = |(key, number): &&(usize, u32)| {
            connections.get(*key).is_some_and(|connection| connection.number == *number && !connection.closing)
        };
        let own = self.by_session.get(&session).filter(is_own);
        let own = own.map(|(key, _)| *key);
        if own.is_none() && self.connections.len() - self.closing >= self.limit {
            let reason = Reason::Connections(self.limit as u64);
            completions.push(Completion::Done(Event { error: Some(reason), ..event }, None));
            return self.event_loop.clock.now();
        }
        let ExpectedMessage { chat, .. } = &self.setup.expected[usize::from(event.label)];
        let (unsent_message, pattern) = match message(outgoing, chat).and_then(|said| Ok((said, pattern(outgoing)?))) {
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
        let (key, fresh) = match own {
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
        self.event_loop.response_deadlines.push(sent, key, serial, connections.len(), would_block);
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

    fn wait(&mut self, deadline: Instant, completions: &mut Vec<Completion>) {
        let connections = &self.connections;
        let listens = |key, serial| connections.get(key).is_some_and(|c: &Connection| c.is_pending(serial));
        let farewell = self.close_deadlines.next_due(|key, number| is_closing(connections, key, number));
        let alarm = farewell.min(self.listen_deadlines.next_due(listens));
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

    fn finish(&mut self) {
        let open: Vec<usize> = self.connections.iter().map(|(key, _)| key).collect();
        for key in open {
            self.close(key);
        }
        let until = self.event_loop.clock.now() + CLOSE_TIMEOUT;
        // Nothing is carried any more, so nothing is heard.
        while !self.connections.is_empty() && self.event_loop.clock.now() < until {
            ProtocolClient::wait(self, until, &mut Vec::new());
        }
    }

    fn in_flight_since(&mut self, instant: Instant) -> Option<Event> {
        in_flight_since::<Vec<Completion>, _>(self, instant)
    }

    fn idle(&self) -> Nanos {
        self.event_loop.idle
    }

    fn request_text(&self, outgoing: &OutgoingRequest, event: &Event) -> RequestText {
        request_text(outgoing, &self.setup.origin, !event.reused)
    }
}

/// What `ask` says.
fn message(outgoing: &OutgoingRequest, chat: &Chat) -> Result<Option<Message>, String> {
    let Some(body) = outgoing.body.clone() else { return Ok(None) };
    match String::from_utf8(body) {
        Ok(text) if chat.binary => match bytes_of_hex(&text) {
            Ok(bytes) => Ok(Some(Message::binary(bytes))),
            Err(reason) => Err(format!("`{text}` {reason}")),
        },
        Ok(text) => Ok(Some(Message::text(text))),
        Err(bytes) => Ok(Some(Message::binary(bytes.into_bytes()))),
    }
}

/// What it awaits, where each launch awaits something else.
fn pattern(outgoing: &OutgoingRequest) -> Result<Option<Regex>, String> {
    let made = outgoing.awaited.as_deref().map(Regex::new).transpose();
    made.map_err(|reason| format!("websocket.await is no regular expression: {reason}"))
}

/// The request that asks the server at `origin` for a WebSocket, by this key.
fn handshake_request(outgoing: &OutgoingRequest, origin: &str, key: &str) -> Result<Request<()>, String> {
    let mut request = Request::new(());
    let named =
        outgoing.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("host")).map(|(_, host)| host.as_str());
    let uri = format!("{origin}{}", outgoing.path);
    *request.uri_mut() = Uri::try_from(uri).map_err(|reason| format!("`{}` is no path: {reason}", outgoing.path))?;
    let host = named.or_else(|| origin.split_once("://").map(|(_, host)| host)).unwrap_or_default();
    let own = [
        ("Host", host),
        ("Connection", "Upgrade"),
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", key),
    ];
    let given = outgoing.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    for (name, value) in own.into_iter().chain(given.filter(|(name, _)| !name.eq_ignore_ascii_case("host"))) {
        let known = HeaderName::from_bytes(name.as_bytes()).map_err(|reason| format!("the header {name}: {reason}"))?;
        let value =
            HeaderValue::from_bytes(value.as_bytes()).map_err(|reason| format!("the header {name}: {reason}"))?;
        request.headers_mut().append(known, value);
    }
    Ok(request)
}

/// How `ask` is said: on a connection that `is_new` behind the request for one, whose key is another each time.
pub(super) fn request_text(outgoing: &OutgoingRequest, origin: &str, is_new: bool) -> RequestText {
    let body = outgoing.body.clone().unwrap_or_default();
    if !is_new {
        return RequestText { head: Vec::new(), body };
    }
    match handshake_request(outgoing, origin, "(random)") {
        Err(reason) => RequestText::unavailable(reason),
        Ok(request) => {
            let path = request.uri().path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
            let headers = request.headers().iter();
            let headers = headers.map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value.as_bytes())));
            let head = [format!("GET {path} HTTP/1.1")].into_iter().chain(headers).collect();
            RequestText { head, body }
        }
    }
}

/// Whether the socket only asks for patience.
fn would_block(error: &tungstenite::Error) -> bool {
    matches!(error, tungstenite::Error::Io(error) if error.kind() == ErrorKind::WouldBlock)
}

/// What an error of WebSocket is; of an HTTP answer other than 101 its status.
#[allow(clippy::needless_pass_by_value)] // shaped for map_err
fn failure(error: tungstenite::Error) -> Failure {
    use tungstenite::Error as E;
    match error {
        E::Http(response) if response.status().as_u16() >= 400 => {
            (Outcome::HttpError, response.status().as_u16().to_string().into())
        }
        E::Http(response) => (Outcome::Malformed, format!("answered {} instead of 101", response.status()).into()),
        E::Io(error) => (Outcome::Reset, error.into()),
        E::ConnectionClosed | E::AlreadyClosed => (Outcome::Reset, Reason::words("closed by the server")),
        E::Protocol(tungstenite::error::ProtocolError::ResetWithoutClosingHandshake) => {
            (Outcome::Reset, Reason::words("closed by the server without a word"))
        }
        E::Protocol(tungstenite::error::ProtocolError::HandshakeIncomplete) => {
            (Outcome::Reset, Reason::words("closed by the server in the middle of the handshake"))
        }
        other => (Outcome::Malformed, other.to_string().into()),
    }
}
