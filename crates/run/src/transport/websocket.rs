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
use super::alarms::Alarms;
use super::route::Route;
use super::socket::{Read, undialed};
use super::stream::Stream;
use super::turns::{Answering, Opening, Served, Turns, turn, under_way_since};
use super::wire::{Heard, Wire, Wording};
use crate::Error;
use crate::ask::{Ask, MOST_KEPT, Reply};

/// How much is read at a time, and how often in a turn.
const BUFFER: usize = 16 * 1024;
const TURN: usize = 4;
/// Messages in a turn: in one read there may be thousands, and pings among them are answered one by one.
const MESSAGES: usize = 256;
/// So much is put together before it is written.
const WRITE_AT_ONCE: usize = 128 * 1024;
/// What may wait to be written beside the message that is being said: answers to pings whose sender does not read them.
const UNWRITTEN: usize = 64 * 1024;
/// So long is waited for the other side's goodbye to ours.
const FAREWELL: Nanos = Nanos::from_secs(1);
/// What the handshake is answered with, and so the status of all that is said after it.
const SWITCHED: u16 = 101;

/// What all threads of a run share.
#[derive(Clone)]
pub(crate) struct Setup {
    route: Arc<Route>,
    /// What stands before a request's path: scheme and authority.
    origin: Arc<str>,
    /// What each request waits for.
    awaited: Arc<[Awaited]>,
    reuse: Reuse,
    connect_timeout: Nanos,
    response_timeout: Nanos,
}

/// What a request waits for.
#[derive(Clone, Debug, Default)]
struct Awaited {
    /// Such messages; `None`: any, or as each launch says.
    pattern: Option<Regex>,
    chat: Chat,
}

impl Awaited {
    /// What `chat` says, as far as it is known before the run.
    fn new(chat: &Chat, patience: Nanos) -> Result<Self, String> {
        let no_regex = |why| format!("websocket.await is no regular expression: {why}");
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
        let awaited = workload.requests().iter().map(|request| {
            let wrong = |why: String| Error::Request { name: request.name().to_owned(), why };
            match request.call() {
                Call::WebSocket(chat) => Awaited::new(chat, target.response_timeout()).map_err(wrong),
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
            awaited: awaited.collect::<Result<_, _>>()?,
            reuse: target.reuse(),
            connect_timeout: target.connect_timeout(),
            response_timeout: target.response_timeout(),
        })
    }
}

/// One thread's connections.
pub(crate) struct WebSocket {
    setup: Setup,
    turns: Turns,
    limit: usize,
    connections: Slab<Connection>,
    /// Sessions' connections: (key, number).
    owned: HashMap<u64, (usize, u32)>,
    /// When is hung up on who does not say goodbye to ours, and on how many we wait.
    farewells: Alarms,
    leaving: usize,
    /// When launches are over that only listen.
    listening: Alarms,
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
    leaving: bool,
}

/// How far a connection is.
enum State {
    Opening(Stream, Box<Request<()>>),
    Greeting(Box<MidHandshake<ClientHandshake<Io>>>),
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
    unsaid: Option<Message>,
    /// Whether the open connection is all that was wanted.
    only_connects: bool,
    /// What is awaited, where that is its own.
    pattern: Option<Regex>,
    /// How many more messages of those; `None`: as many as come in time.
    missing: Option<u32>,
    /// The last of them.
    answer: Option<Message>,
    wanted: usize,
}

/// A stream as the standard library's traits want it.
struct Io {
    stream: Stream,
    /// Whether there may be something to read. Else the system is not asked: the poller will tell.
    readable: bool,
    /// How many more times it is read in this turn, and how many bytes that has brought.
    turn: usize,
    taken: usize,
    /// What went wrong with it, before it was made an error of.
    failure: Option<Failure>,
}

impl io::Read for Io {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Who reads until nothing is left is told that nothing is when the turn is over.
        if self.turn == 0 || !self.readable {
            return Err(ErrorKind::WouldBlock.into());
        }
        self.turn -= 1;
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

impl Opening for Connection {
    fn number(&self) -> u32 {
        self.number
    }

    fn is_opening(&self, serial: u64) -> bool {
        self.is_at(serial) && !self.is_open()
    }
}

impl Answering for Connection {
    fn is_at(&self, serial: u64) -> bool {
        self.exchange.as_ref().is_some_and(|exchange| exchange.serial == serial)
    }

    fn event(&self) -> Option<&Event> {
        self.exchange.as_ref().map(|exchange| &exchange.event)
    }
}

impl Connection {
    fn io(&mut self) -> Option<&mut Io> {
        match &mut self.state {
            State::Greeting(greeting) => Some(greeting.get_mut().get_mut()),
            State::Open(socket) => Some(socket.get_mut()),
            State::Opening(..) | State::Moving => None,
        }
    }

    fn stream(&mut self) -> Option<&mut Stream> {
        match &mut self.state {
            State::Opening(stream, _) => Some(stream),
            State::Greeting(greeting) => Some(&mut greeting.get_mut().get_mut().stream),
            State::Open(socket) => Some(&mut socket.get_mut().stream),
            State::Moving => None,
        }
    }

    fn is_open(&self) -> bool {
        matches!(self.state, State::Open(_))
    }

    /// Goes on connecting; whether it is open.
    fn open(&mut self, route: &Route, ready: Ready, clock: &Clock) -> Result<bool, Failure> {
        if let State::Opening(stream, _) = &mut self.state
            && !stream.is_open()
            && !stream.go_on(route, ready.writable || ready.closed, clock)?
        {
            return Ok(false);
        }
        let greeted = match std::mem::replace(&mut self.state, State::Moving) {
            State::Opening(stream, request) => {
                if let Some(exchange) = &mut self.exchange {
                    exchange.event.handshake = stream.handshake;
                }
                let config = WebSocketConfig::default()
                    .read_buffer_size(BUFFER)
                    .max_write_buffer_size(WRITE_AT_ONCE + UNWRITTEN)
                    .write_buffer_size(WRITE_AT_ONCE)
                    .max_message_size(Some(MOST_KEPT));
                let io = Io { stream, readable: true, turn: TURN, taken: 0, failure: None };
                ClientHandshake::start(io, *request, Some(config)).map_err(failure)?.handshake()
            }
            State::Greeting(greeting) => greeting.handshake(),
            other => {
                self.state = other;
                return Ok(true);
            }
        };
        match greeted {
            Ok((_, answer)) if answer.headers().contains_key(SEC_WEBSOCKET_EXTENSIONS) => {
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
            Err(HandshakeError::Interrupted(greeting)) => {
                self.state = State::Greeting(Box::new(greeting));
                Ok(false)
            }
            Err(HandshakeError::Failure(error)) => Err(failure(error)),
        }
    }

    /// Says what has not been said yet.
    fn say(&mut self) -> Result<(), Failure> {
        let State::Open(socket) = &mut self.state else { return Ok(()) };
        let said = match &mut self.exchange {
            None if !self.leaving => return Ok(()),
            None => socket.flush(),
            Some(exchange) => match exchange.unsaid.take() {
                Some(message) => {
                    let length = message.len();
                    exchange.event.bytes_out = length as u64;
                    socket.set_config(|config| config.max_write_buffer_size = length + WRITE_AT_ONCE + UNWRITTEN);
                    socket.send(message)
                }
                None => socket.flush(),
            },
        };
        said.or_else(|error| if waits(&error) { Ok(()) } else { Err(failure(error)) })
    }

    /// Says goodbye with this code; whether there is somebody to say it to.
    fn say_goodbye(&mut self, code: CloseCode) -> bool {
        let State::Open(socket) = &mut self.state else { return false };
        let goodbye = CloseFrame { code, reason: Utf8Bytes::default() };
        let said = socket.close(Some(goodbye)).and_then(|()| socket.flush());
        said.map_or_else(|error| waits(&error), |()| true)
    }

    /// Sends the answer to the other side's goodbye, which the protocol has ready: both must say it.
    fn answer_close(&mut self) {
        if let State::Open(socket) = &mut self.state {
            // Who has said goodbye and then does not listen does not get it.
            let _ = socket.flush();
        }
    }

    /// Takes the next message; `None`: there is none yet.
    fn listen(&mut self) -> Result<Option<Message>, Failure> {
        let State::Open(socket) = &mut self.state else { return Ok(None) };
        match socket.read() {
            Ok(message) => Ok(Some(message)),
            Err(error) if waits(&error) => Ok(None),
            Err(error) => Err(socket.get_mut().failure.take().unwrap_or_else(|| failure(error))),
        }
    }
}

impl WebSocket {
    /// The connections of one thread, at most `limit` of them, watched by `poller`, waiting without sleep for the last `spin`
    /// before a launch.
    pub(crate) fn new(setup: Setup, clock: Clock, poller: Poller, limit: Option<u32>, spin: Nanos) -> Self {
        Self {
            turns: Turns::new(clock, poller, spin, setup.connect_timeout, setup.response_timeout),
            setup,
            limit: limit.map_or(usize::MAX, |limit| limit as usize),
            connections: Slab::new(),
            owned: HashMap::new(),
            farewells: Alarms::default(),
            leaving: 0,
            listening: Alarms::default(),
            opened: 0,
            serial: 0,
        }
    }

    /// Opens a connection for an exchange; its key.
    fn open(&mut self, ask: &Ask, exchange: Exchange) -> Result<usize, (Box<Exchange>, Failure)> {
        let begun = greeting(ask, &self.setup.origin, &generate_key())
            .map_err(|why| (Outcome::Unsent, why.into()))
            .and_then(|request| {
                let stream = Stream::dial(&self.setup.route, &self.turns.clock)?;
                self.turns.poller.add(&stream, self.connections.vacant_key()).map_err(undialed)?;
                Ok((stream, request))
            });
        let (stream, request) = match begun {
            Ok(begun) => begun,
            Err(failure) => return Err((Box::new(exchange), failure)),
        };
        let number = self.opened;
        self.opened += 1;
        let event = Event { connection: number, ..exchange.event };
        let exchange = Some(Exchange { event, ..exchange });
        let state = State::Opening(stream, Box::new(request));
        Ok(self.connections.insert(Connection { state, number, carried: 0, exchange, leaving: false }))
    }

    /// Does what can be done on a connection whose turn has come: opens it, speaks, listens.
    fn go_on(&mut self, key: usize, ready: Ready, heard: &mut Vec<Heard>) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        let was_open = connection.is_open();
        let opened = connection.open(&self.setup.route, ready, &self.turns.clock);
        match opened.and_then(|open| if open { connection.say().map(|()| true) } else { Ok(false) }) {
            Ok(true) => {}
            Ok(false) => {
                // A head may be longer than a turn.
                if connection.io().is_some_and(|io| io.readable) {
                    self.again(key);
                }
                return;
            }
            Err(failure) => return self.fail(key, failure, heard),
        }
        if !was_open && connection.exchange.as_ref().is_some_and(|exchange| exchange.only_connects) {
            self.complete(key, heard);
        }
        self.listen(key, heard);
    }

    /// Takes the messages that have come, as many as one turn has.
    fn listen(&mut self, key: usize, heard: &mut Vec<Heard>) {
        let mut has_more = true;
        for _ in 0..MESSAGES {
            let Some(connection) = self.connections.get_mut(key) else { return };
            let message = match connection.listen() {
                Ok(Some(message)) => message,
                Ok(None) => {
                    has_more = connection.io().is_some_and(|io| io.readable);
                    break;
                }
                Err(failure) => return self.fail(key, failure, heard),
            };
            let said = match &message {
                Message::Text(text) => text.as_bytes(),
                Message::Binary(bytes) => bytes,
                Message::Close(_) if connection.leaving => continue,
                Message::Close(why) => {
                    let why = why.as_ref().map(|why| format!("{} {}", u16::from(why.code), why.reason));
                    let why = why.map_or(String::new(), |why| format!(" ({})", why.trim_end()));
                    let why = format!("closed by the server{why}");
                    connection.answer_close();
                    return self.fail(key, (Outcome::Reset, why.into()), heard);
                }
                _ => continue,
            };
            // What nobody waits for is let go by.
            let Some(exchange) = connection.exchange.as_mut().filter(|exchange| !exchange.only_connects) else {
                continue;
            };
            exchange.event.bytes_in += said.len() as u64;
            if exchange.event.first_byte.is_none() {
                exchange.event.first_byte = Some(self.turns.clock.now());
                let Event { session, object, .. } = exchange.event;
                heard.push(Heard::FirstByte { session, object });
            }
            let awaited = &self.setup.awaited[usize::from(exchange.event.label)];
            let pattern = exchange.pattern.as_ref().or(awaited.pattern.as_ref());
            if pattern.is_none_or(|pattern| pattern.is_match(said)) {
                exchange.answer = Some(message);
                exchange.missing = exchange.missing.map(|missing| missing - 1);
                if exchange.missing == Some(0) {
                    self.complete(key, heard);
                }
            }
        }
        if has_more {
            self.again(key);
        }
    }

    /// There is more to read than a turn takes.
    fn again(&mut self, key: usize) {
        if let Some(connection) = self.connections.get(key) {
            let ready = Ready { token: key, readable: true, writable: false, closed: false };
            self.turns.again(ready, connection.number);
        }
    }

    /// The exchange of a connection has what it waited for.
    fn complete(&mut self, key: usize, heard: &mut Vec<Heard>) {
        let connection = &mut self.connections[key];
        let Some(exchange) = connection.exchange.take() else { return };
        let mut reply = Box::new(Reply { wanted: exchange.wanted, ..Reply::default() });
        match exchange.answer {
            Some(Message::Text(text)) => reply.add(text.as_bytes()),
            Some(Message::Binary(bytes)) => reply.add(&bytes),
            _ => {}
        }
        let now = self.turns.clock.now();
        let first_byte = exchange.event.first_byte.or(Some(now));
        let event = Event { first_byte, done: Some(now), status: SWITCHED, outcome: Outcome::Ok, ..exchange.event };
        if self.setup.reuse == Reuse::Fresh {
            self.close(key);
        }
        heard.push(Heard::Ended(event, Some(reply)));
    }

    /// What a connection carried has failed, and so has the connection.
    fn fail(&mut self, key: usize, (outcome, why): Failure, heard: &mut Vec<Heard>) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        let exchange = connection.exchange.take();
        match outcome {
            // Somebody is there, who does not say what is awaited.
            Outcome::Timeout => self.close(key),
            Outcome::Malformed => {
                connection.say_goodbye(CloseCode::Protocol);
                self.hang_up(key);
            }
            _ => self.hang_up(key),
        }
        let Some(Exchange { event, .. }) = exchange else { return };
        let event = Event { done: Some(self.turns.clock.now()), outcome, ..event };
        let refused = match outcome {
            Outcome::HttpError => Event { status: why.text().parse().unwrap_or_default(), ..event },
            _ => Event { error: Some(why), ..event },
        };
        heard.push(Heard::Ended(refused, None));
    }

    /// Says goodbye, and hangs up when the other side has said it too, or [`FAREWELL`] later.
    fn close(&mut self, key: usize) {
        let Some(connection) = self.connections.get_mut(key).filter(|connection| !connection.leaving) else { return };
        if !connection.say_goodbye(CloseCode::Normal) {
            return self.hang_up(key);
        }
        connection.leaving = true;
        self.leaving += 1;
        let (until, number) = (self.turns.clock.now() + FAREWELL, connection.number);
        let connections = &self.connections;
        self.farewells
            .push(until, key, number.into(), self.leaving, |key, number| is_leaving(connections, key, number));
    }

    /// Ends what is over by now: launches that only listen, and waiting for goodbyes.
    fn alarmed(&mut self, heard: &mut Vec<Heard>) {
        let now = self.turns.clock.now();
        loop {
            let connections = &self.connections;
            let listens = |key, serial| connections.get(key).is_some_and(|c: &Connection| c.is_at(serial));
            let Some(key) = self.listening.over(now, listens) else { break };
            if self.connections[key].is_open() {
                self.complete(key, heard);
            } else {
                let listen = self.connections[key]
                    .exchange
                    .as_ref()
                    .and_then(|exchange| self.setup.awaited[usize::from(exchange.event.label)].chat.listen);
                self.fail(key, (Outcome::Timeout, Reason::NotConnected(listen.unwrap_or_default())), heard);
            }
        }
        loop {
            let connections = &self.connections;
            let leaves = |key, number| is_leaving(connections, key, number);
            let Some(key) = self.farewells.over(now, leaves) else { break };
            self.hang_up(key);
        }
    }

    /// Ends a connection.
    fn hang_up(&mut self, key: usize) {
        let Some(mut connection) = self.connections.try_remove(key) else { return };
        self.leaving -= usize::from(connection.leaving);
        if let Some(stream) = connection.stream() {
            let _ = self.turns.poller.remove(&*stream);
        }
    }
}

/// Whether the connection of this key and number is waited for to say goodbye.
fn is_leaving(connections: &Slab<Connection>, key: usize, number: u64) -> bool {
    connections.get(key).is_some_and(|connection| connection.leaving && u64::from(connection.number) == number)
}

impl Served<Vec<Heard>> for WebSocket {
    type Connection = Connection;
    type Exchange = Connection;

    fn parts(&mut self) -> (&mut Turns, &Slab<Connection>, &Slab<Connection>) {
        (&mut self.turns, &self.connections, &self.connections)
    }

    fn serve(&mut self, ready: Ready, heard: &mut Vec<Heard>) -> usize {
        let key = ready.token;
        if let Some(io) = self.connections.get_mut(key).and_then(Connection::io) {
            io.readable |= ready.readable || ready.closed;
            (io.turn, io.taken) = (TURN, 0);
        }
        self.go_on(key, ready, heard);
        self.connections.get_mut(key).and_then(Connection::io).map_or(0, |io| io.taken)
    }

    fn not_connected(&mut self, key: usize, why: Failure, heard: &mut Vec<Heard>) {
        self.fail(key, why, heard);
    }

    fn not_answered(&mut self, key: usize, within: Nanos, heard: &mut Vec<Heard>) {
        self.fail(key, (Outcome::Timeout, Reason::NotAwaited(within)), heard);
    }
}

impl Wire for WebSocket {
    fn now(&self) -> Instant {
        self.turns.clock.now()
    }

    fn begin(&mut self, ask: &Arc<Ask>, event: Event, heard: &mut Vec<Heard>) -> Instant {
        let session = event.session;
        let connections = &self.connections;
        let is_own = |(key, number): &&(usize, u32)| {
            connections.get(*key).is_some_and(|connection| connection.number == *number && !connection.leaving)
        };
        let own = self.owned.get(&session).filter(is_own);
        let own = own.map(|(key, _)| *key);
        if own.is_none() && self.connections.len() - self.leaving >= self.limit {
            let why = Reason::Connections(self.limit as u64);
            heard.push(Heard::Ended(Event { error: Some(why), ..event }, None));
            return self.turns.clock.now();
        }
        let Awaited { chat, .. } = &self.setup.awaited[usize::from(event.label)];
        let (unsaid, pattern) = match message(ask, chat).and_then(|said| Ok((said, pattern(ask)?))) {
            Ok(made) => made,
            Err(why) => {
                heard.push(Heard::Ended(Event { error: Some(why.into()), ..event }, None));
                return self.turns.clock.now();
            }
        };
        let only_connects = chat.only_connects(unsaid.is_some());
        let (listen, missing) = (chat.listen, chat.count.or(chat.listen.is_none().then_some(1)));
        self.serial += 1;
        let sent = self.turns.clock.now();
        let event = Event { sent: Some(sent), ..event };
        let mut exchange = Exchange {
            event,
            serial: self.serial,
            unsaid,
            only_connects,
            pattern,
            missing,
            answer: None,
            wanted: ask.wanted,
        };
        let (key, fresh) = match own {
            Some(key) => {
                let connection = &mut self.connections[key];
                (exchange.event.connection, exchange.event.reused) = (connection.number, true);
                connection.exchange = Some(exchange);
                (key, false)
            }
            None => match self.open(ask, exchange) {
                Ok(key) => (key, true),
                Err((exchange, (outcome, why))) => {
                    let error = Some(why);
                    let event = match outcome {
                        Outcome::Unsent => Event { sent: None, error, ..exchange.event },
                        _ => Event { done: Some(self.turns.clock.now()), outcome, error, ..exchange.event },
                    };
                    heard.push(Heard::Ended(event, None));
                    return sent;
                }
            },
        };
        let connection = &mut self.connections[key];
        connection.carried += 1;
        self.owned.insert(session, (key, connection.number));
        let (connections, serial) = (&self.connections, self.serial);
        if fresh {
            let waits = |key, serial| connections.get(key).is_some_and(|c: &Connection| c.is_opening(serial));
            self.turns.connecting.push(sent, key, serial, connections.len(), waits);
        }
        let waits = |key, serial| connections.get(key).is_some_and(|c: &Connection| c.is_at(serial));
        self.turns.answering.push(sent, key, serial, connections.len(), waits);
        if let Some(time) = listen {
            self.listening.push(sent + time, key, serial, connections.len(), waits);
        }
        if only_connects && !fresh {
            self.complete(key, heard);
        } else if !fresh && let Err(failure) = self.connections[key].say() {
            self.fail(key, failure, heard);
        }
        sent
    }

    fn wait(&mut self, deadline: Instant, heard: &mut Vec<Heard>) {
        let connections = &self.connections;
        let listens = |key, serial| connections.get(key).is_some_and(|c: &Connection| c.is_at(serial));
        let farewell = self.farewells.first(|key, number| is_leaving(connections, key, number));
        let alarm = farewell.min(self.listening.first(listens));
        turn(self, deadline.min(alarm), heard);
        if alarm < Instant::MAX {
            self.alarmed(heard);
        }
    }

    fn leave(&mut self, session: u64) {
        if let Some((key, number)) = self.owned.remove(&session)
            && self.connections.get(key).is_some_and(|c| c.number == number)
        {
            self.close(key);
        }
    }

    fn abandon(&mut self, heard: &mut Vec<Heard>) {
        for (_, connection) in &mut self.connections {
            if let Some(exchange) = connection.exchange.take() {
                let error = Some(Reason::Stopped);
                heard.push(Heard::Ended(Event { outcome: Outcome::Cut, error, ..exchange.event }, None));
            }
        }
    }

    fn finish(&mut self) {
        let open: Vec<usize> = self.connections.iter().map(|(key, _)| key).collect();
        for key in open {
            self.close(key);
        }
        let until = self.turns.clock.now() + FAREWELL;
        // Nothing is carried any more, so nothing is heard.
        while !self.connections.is_empty() && self.turns.clock.now() < until {
            Wire::wait(self, until, &mut Vec::new());
        }
    }

    fn under_way_since(&mut self, instant: Instant) -> Option<Event> {
        under_way_since::<Vec<Heard>, _>(self, instant)
    }

    fn idle(&self) -> Nanos {
        self.turns.idle
    }

    fn wording(&self, ask: &Ask, event: &Event) -> Wording {
        wording(ask, &self.setup.origin, !event.reused)
    }
}

/// What `ask` says.
fn message(ask: &Ask, chat: &Chat) -> Result<Option<Message>, String> {
    let Some(body) = ask.body.clone() else { return Ok(None) };
    match String::from_utf8(body) {
        Ok(text) if chat.binary => match bytes_of_hex(&text) {
            Ok(bytes) => Ok(Some(Message::binary(bytes))),
            Err(why) => Err(format!("`{text}` {why}")),
        },
        Ok(text) => Ok(Some(Message::text(text))),
        Err(bytes) => Ok(Some(Message::binary(bytes.into_bytes()))),
    }
}

/// What it awaits, where each launch awaits something else.
fn pattern(ask: &Ask) -> Result<Option<Regex>, String> {
    let made = ask.awaited.as_deref().map(Regex::new).transpose();
    made.map_err(|why| format!("websocket.await is no regular expression: {why}"))
}

/// The request that asks the server at `origin` for a WebSocket, by this key.
fn greeting(ask: &Ask, origin: &str, key: &str) -> Result<Request<()>, String> {
    let mut request = Request::new(());
    let named = ask.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("host")).map(|(_, host)| host.as_str());
    let uri = format!("{origin}{}", ask.path);
    *request.uri_mut() = Uri::try_from(uri).map_err(|why| format!("`{}` is no path: {why}", ask.path))?;
    let host = named.or_else(|| origin.split_once("://").map(|(_, host)| host)).unwrap_or_default();
    let own = [
        ("Host", host),
        ("Connection", "Upgrade"),
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", key),
    ];
    let given = ask.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    for (name, value) in own.into_iter().chain(given.filter(|(name, _)| !name.eq_ignore_ascii_case("host"))) {
        let known = HeaderName::from_bytes(name.as_bytes()).map_err(|why| format!("the header {name}: {why}"))?;
        let value = HeaderValue::from_bytes(value.as_bytes()).map_err(|why| format!("the header {name}: {why}"))?;
        request.headers_mut().append(known, value);
    }
    Ok(request)
}

/// How `ask` is said: on a connection that `is_new` behind the request for one, whose key is another each time.
pub(super) fn wording(ask: &Ask, origin: &str, is_new: bool) -> Wording {
    let body = ask.body.clone().unwrap_or_default();
    if !is_new {
        return Wording { head: Vec::new(), body };
    }
    match greeting(ask, origin, "(random)") {
        Err(why) => Wording::none(why),
        Ok(request) => {
            let path = request.uri().path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
            let headers = request.headers().iter();
            let headers = headers.map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value.as_bytes())));
            let head = [format!("GET {path} HTTP/1.1")].into_iter().chain(headers).collect();
            Wording { head, body }
        }
    }
}

/// Whether the socket only asks for patience.
fn waits(error: &tungstenite::Error) -> bool {
    matches!(error, tungstenite::Error::Io(error) if error.kind() == ErrorKind::WouldBlock)
}

/// What an error of WebSocket is; of an HTTP answer other than 101 its status.
#[allow(clippy::needless_pass_by_value)] // shaped for map_err
fn failure(error: tungstenite::Error) -> Failure {
    use tungstenite::Error as E;
    match error {
        E::Http(answer) if answer.status().as_u16() >= 400 => {
            (Outcome::HttpError, answer.status().as_u16().to_string().into())
        }
        E::Http(answer) => (Outcome::Malformed, format!("answered {} instead of 101", answer.status()).into()),
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
