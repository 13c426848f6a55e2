//! The connection of a session: its states, and the messages that it sends and receives.

use std::io::{self, ErrorKind};

use http::Request;
use http::header::SEC_WEBSOCKET_EXTENSIONS;
use offered_events::{Event, Outcome, Reason};
use offered_io::{Clock, Poller, Ready};
use regex::bytes::Regex;
use tungstenite::handshake::MidHandshake;
use tungstenite::handshake::client::ClientHandshake;
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tungstenite::{HandshakeError, Message, Utf8Bytes};

use super::handshake::{failure, would_block};
use crate::message::MAX_BODY_BYTES;
use crate::transport::Failure;
use crate::transport::event_loop::{ConnectionSlot, PendingExchange};
use crate::transport::route::Route;
use crate::transport::socket::Read;
use crate::transport::stream::Stream;

/// Maximum number of bytes of one read, and of reads of a connection per loop iteration.
const BUFFER: usize = 16 * 1024;
pub(super) const READS_PER_TURN: usize = 4;
/// Number of bytes buffered before they are written.
const WRITE_BUFFER: usize = 128 * 1024;
/// Maximum number of unwritten bytes besides the message being sent: pongs to a peer that does not read them.
const MAX_UNWRITTEN: usize = 64 * 1024;

/// The connection of a session.
pub(crate) struct Connection {
    pub(super) state: State,
    /// The serial number of the connection within its thread, from 0.
    pub(super) number: u32,
    /// Number of requests carried so far.
    pub(super) carried: u64,
    pub(super) exchange: Option<Exchange>,
    /// Whether our Close frame was sent.
    pub(super) closing: bool,
}

/// The state of a connection.
pub(super) enum State {
    Opening(Stream, Box<Request<()>>),
    Handshake(Box<MidHandshake<ClientHandshake<Io>>>),
    Open(Box<tungstenite::WebSocket<Io>>),
    /// Temporary, while the state changes.
    Moving,
}

/// A request in flight.
pub(super) struct Exchange {
    pub(super) event: Event,
    /// Distinguishes it from other exchanges of the connection.
    pub(super) serial: u64,
    /// The message to send as soon as the connection is open.
    pub(super) unsent_message: Option<Message>,
    /// Whether the request is complete once the connection is open.
    pub(super) only_connects: bool,
    /// The pattern to match, if it depends on the request.
    pub(super) pattern: Option<Regex>,
    /// Number of matching messages still to come; `None`: as many as come in time.
    pub(super) remaining: Option<u32>,
    /// The last matching message.
    pub(super) response: Option<Message>,
    pub(super) body_limit: usize,
}

/// A stream with the traits of the standard library.
pub(super) struct Io {
    pub(super) stream: Stream,
    /// Whether there may be something to read. Otherwise no system call is made; the poller will report it.
    pub(super) readable: bool,
    /// Number of reads left in this iteration, and number of bytes read in it.
    pub(super) reads_left: usize,
    pub(super) taken: usize,
    /// The failure of the stream, before it became an `io::Error`.
    pub(super) failure: Option<Failure>,
}

impl io::Read for Io {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Ends the reads of this iteration for a caller that reads until nothing is left.
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
    pub(super) fn io(&mut self) -> Option<&mut Io> {
        match &mut self.state {
            State::Handshake(handshake_request) => Some(handshake_request.get_mut().get_mut()),
            State::Open(socket) => Some(socket.get_mut()),
            State::Opening(..) | State::Moving => None,
        }
    }

    pub(super) fn stream(&mut self) -> Option<&mut Stream> {
        match &mut self.state {
            State::Opening(stream, _) => Some(stream),
            State::Handshake(handshake_request) => Some(&mut handshake_request.get_mut().get_mut().stream),
            State::Open(socket) => Some(&mut socket.get_mut().stream),
            State::Moving => None,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(self.state, State::Open(_))
    }

    /// Continues to connect; returns whether the connection is open.
    pub(super) fn open(
        &mut self,
        route: &Route,
        ready: Ready,
        clock: &Clock,
        registered: (&Poller, usize),
    ) -> Result<bool, Failure> {
        if let State::Opening(stream, _) = &mut self.state
            && !stream.is_open()
            && !stream.continue_connecting(route, ready.writable || ready.closed, clock, registered)?
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
                // What follows could not be decoded (RFC 6455, section 4.1).
                Err((Outcome::Malformed, Reason::words("the server uses an unsupported WebSocket extension")))
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

    /// Sends what is pending.
    pub(super) fn send_pending(&mut self) -> Result<(), Failure> {
        let State::Open(socket) = &mut self.state else { return Ok(()) };
        let sent = match &mut self.exchange {
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
        sent.or_else(|error| if would_block(&error) { Ok(()) } else { Err(failure(error)) })
    }

    /// Sends a Close frame; returns whether that was possible.
    pub(super) fn send_close(&mut self, code: CloseCode) -> bool {
        let State::Open(socket) = &mut self.state else { return false };
        let frame = CloseFrame { code, reason: Utf8Bytes::default() };
        let sent = socket.close(Some(frame)).and_then(|()| socket.flush());
        sent.map_or_else(|error| would_block(&error), |()| true)
    }

    /// Sends the Close frame that answers the peer's; the library has it ready.
    pub(super) fn flush_close(&mut self) {
        if let State::Open(socket) = &mut self.state {
            // A peer that no longer reads does not get it.
            let _ = socket.flush();
        }
    }

    /// Takes the next message; `None` if there is none yet.
    pub(super) fn receive(&mut self) -> Result<Option<Message>, Failure> {
        let State::Open(socket) = &mut self.state else { return Ok(None) };
        match socket.read() {
            Ok(message) => Ok(Some(message)),
            Err(error) if would_block(&error) => Ok(None),
            Err(error) => Err(socket.get_mut().failure.take().unwrap_or_else(|| failure(error))),
        }
    }
}
