//! One connection, what it is doing, and the request that it carries.

use std::sync::Arc;

use bytes::{Buf, BytesMut};
use offered_model::{Event, Reason};
use postgres_protocol::message::frontend;

use super::login::Login;
use super::messages::MessageReader;
use crate::message::{OutgoingRequest, Response};
use crate::transport::Failure;
use crate::transport::event_loop::{ConnectionSlot, PendingExchange};
use crate::transport::socket::{Endpoint, reset_failure};
use crate::transport::stream::Stream;

/// A connection, or an attempt at one.
pub(crate) struct Connection {
    pub(super) stream: Stream,
    pub(super) endpoint: Endpoint,
    /// Its serial number within the worker, from 0.
    pub(super) number: u32,
    pub(super) pool: usize,
    pub(super) state: State,
    pub(super) reader: MessageReader,
    /// What is still to be written.
    pub(super) unwritten: BytesMut,
    /// The process that serves it, and what proves that a request to cancel comes from here.
    pub(super) backend: (i32, i32),
    /// How many requests it has carried.
    pub(super) carried: u64,
    /// Tells what it must be done with in time from what it had to be before; 0: nothing.
    pub(super) opening: u64,
}

/// What a connection is doing.
pub(super) enum State {
    /// Its stream is being opened.
    Connecting,
    Login(Box<Login>),
    /// Its process is being told to the hook.
    AwaitingHook,
    Free,
    /// It carries the exchange with this key.
    Busy(usize),
    /// What it carried was given up, and is being cancelled. Only when it has said that it is ready again *and* the server has
    /// taken note of the request to cancel can that not hit the next request.
    Cancelling {
        ready: bool,
        cancelled: bool,
    },
    /// It asks to cancel what another (key and number) is doing.
    Cancel {
        of: (usize, u32),
    },
}

/// A request under way, or waiting.
pub(crate) struct Exchange {
    pub(super) event: Event,
    pub(super) serial: u64,
    pub(super) outgoing: Arc<OutgoingRequest>,
    /// Which connection carries it; `None`: it waits for one.
    pub(super) on: Option<usize>,
    /// Which of its statements is being executed.
    pub(super) step: usize,
    /// The first error, after which the transaction is rolled back.
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
    /// Writes what is still to be written, as far as the socket takes it.
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

/// Ends the transaction that is open.
pub(super) fn roll_back(connection: &mut Connection) {
    frontend::query("rollback", &mut connection.unwritten).expect("a text without a zero");
}
