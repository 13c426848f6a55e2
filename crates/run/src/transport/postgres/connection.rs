//! A connection, its state, and the request that it carries.

use std::sync::Arc;

use bytes::{Buf, BytesMut};
use offered_events::{Event, Reason};
use postgres_protocol::message::frontend;

use super::login::Login;
use super::messages::MessageReader;
use crate::message::{OutgoingRequest, Response};
use crate::transport::Failure;
use crate::transport::event_loop::{ConnectionSlot, PendingExchange};
use crate::transport::socket::reset_failure;
use crate::transport::stream::Stream;

/// A connection, from the attempt to open it.
pub(crate) struct Connection {
    pub(super) stream: Stream,
    /// The serial number of the connection within its thread, from 0.
    pub(super) number: u32,
    pub(super) pool: usize,
    pub(super) state: State,
    pub(super) reader: MessageReader,
    /// Bytes still to be written.
    pub(super) unwritten: BytesMut,
    /// The process ID of the server process, and the secret key for cancel requests.
    pub(super) backend: (i32, i32),
    /// Number of requests carried so far.
    pub(super) carried: u64,
    /// Serial number of the current connect timeout; 0 if there is none.
    pub(super) opening: u64,
}

/// The state of a connection.
pub(super) enum State {
    /// The stream is being opened.
    Connecting,
    Login(Box<Login>),
    /// The hook command is running for its server process.
    AwaitingHook,
    Free,
    /// Carries the exchange with this key.
    Busy(usize),
    /// The request is being cancelled. The connection may be used again only when it is ready for the next query *and*
    /// the server has processed the cancel request; otherwise the cancel request could hit the next request.
    Cancelling {
        ready: bool,
        cancelled: bool,
    },
    /// Sends a cancel request for another connection (key and number).
    Cancel {
        of: (usize, u32),
    },
}

/// A request in flight, or waiting for a connection.
pub(crate) struct Exchange {
    pub(super) event: Event,
    pub(super) serial: u64,
    pub(super) outgoing: Arc<OutgoingRequest>,
    /// The key of its connection; `None` while it waits for one.
    pub(super) on: Option<usize>,
    /// The index of the statement being executed.
    pub(super) step: usize,
    /// The first error; the transaction is rolled back after it.
    pub(super) error: Option<Reason>,
    pub(super) response: Box<Response>,
}

impl ConnectionSlot for Connection {
    fn number(&self) -> u32 {
        self.number
    }

    fn is_connecting(&self, serial: u64) -> bool {
        self.opening == serial
    }
}

impl PendingExchange for Exchange {
    fn is_pending(&self, serial: u64) -> bool {
        self.serial == serial
    }

    fn event(&self) -> Option<&Event> {
        Some(&self.event)
    }
}

impl Connection {
    /// Writes pending bytes, as far as the socket takes them.
    pub(super) fn write(&mut self) -> Result<(), Failure> {
        while !self.unwritten.is_empty() {
            match self.stream.write(&self.unwritten) {
                Ok(encoded) => self.unwritten.advance(encoded),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(reset_failure(error)),
            }
        }
        if self.stream.is_unwritten() { self.stream.flush().map_err(reset_failure) } else { Ok(()) }
    }
}

/// Rolls back the open transaction.
pub(super) fn roll_back(connection: &mut Connection) {
    frontend::query("rollback", &mut connection.unwritten).expect("a query without a zero byte");
}
