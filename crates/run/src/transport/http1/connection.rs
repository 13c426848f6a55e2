//! One connection: a stream and the exchange it carries.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::sync::Arc;

use bytes::{Buf as _, Bytes};
use offered_base::{Instant, Nanos};
use offered_events::{Event, Reason};

use super::response::{Malformed, ResponseReader};
use crate::message::OutgoingRequest;
use crate::transport::Failure;
use crate::transport::event_loop::{ConnectionSlot, PendingExchange};
use crate::transport::stream::Stream;

/// A connection and its state.
pub(crate) struct Connection {
    pub(super) stream: Stream,
    /// The serial number of the connection within its thread, from 0.
    pub(super) number: u32,
    /// Number of requests carried so far.
    pub(super) carried: u64,
    /// The current exchange; `None` if the connection is idle.
    pub(super) exchange: Option<Exchange>,
    /// Bytes still to be written. Large bodies are shared with other requests.
    pub(super) unwritten: VecDeque<Bytes>,
    /// The body of the current request, held back until the server asks for it.
    pub(super) held: Option<Bytes>,
}

/// A request in flight.
#[derive(Debug)]
pub(super) struct Exchange {
    /// The event so far.
    pub(super) event: Event,
    pub(super) response: ResponseReader,
    /// Distinguishes it from other exchanges of the connection.
    pub(super) serial: u64,
    pub(super) source: Source,
    /// When it was sent, or sent again.
    pub(super) begun: Instant,
    /// Why the request is sent again, and the event before that.
    pub(super) closed: Option<Box<(Event, Failure)>>,
}

/// From what the bytes of a request are built, if it is sent again.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// The request of the workload with the label of the event; this is its sequence number in the run.
    Compiled(u64),
    Built(Arc<OutgoingRequest>),
}

impl Connection {
    /// Writes `bytes`, or as much as the socket takes; [`Self::write_more`] continues.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let written = match self.stream.write(bytes) {
            Ok(written) if written == bytes.len() => return Ok(()),
            Ok(written) => written,
            Err(error) if is_retryable(&error) => 0,
            Err(error) => {
                self.unwritten.push_back(Bytes::copy_from_slice(bytes));
                return Err(error);
            }
        };
        self.unwritten.push_back(Bytes::copy_from_slice(&bytes[written..]));
        self.write_more()
    }

    /// Writes `bytes` after those that are still to be written, without a copy.
    pub(super) fn write_shared(&mut self, bytes: Bytes) -> io::Result<()> {
        self.unwritten.push_back(bytes);
        self.write_more()
    }

    /// Whether the body of the exchange with this `serial` is still held back. While the connection of a request that is sent again opens, the
    /// timeout of its first connection does not count.
    pub(super) fn holds(&self, serial: u64) -> bool {
        self.held.is_some() && self.stream.is_open() && self.is_pending(serial)
    }

    /// Whether bytes are still to be written.
    pub(super) fn is_unwritten(&self) -> bool {
        !self.unwritten.is_empty() || self.stream.is_unwritten()
    }

    /// Whether the connection has nothing to do but wait for the events of a stream, if there is one.
    pub(super) fn is_idle_or_streams(&self) -> bool {
        let is_stream = |exchange: &Exchange| exchange.response.has_stream();
        self.stream.is_open()
            && !self.is_unwritten()
            && self.held.is_none()
            && self.exchange.as_ref().is_none_or(is_stream)
    }

    /// Number of bytes of the request that are still to be written.
    pub(super) fn unwritten_bytes(&self) -> u64 {
        self.unwritten.iter().chain(&self.held).map(|bytes| bytes.len() as u64).sum()
    }

    /// Writes the held-back body.
    pub(super) fn release_body(&mut self) -> io::Result<()> {
        self.held.take().map_or(Ok(()), |held| self.write_shared(held))
    }

    /// Continues to write, until the socket takes no more.
    pub(super) fn write_more(&mut self) -> io::Result<()> {
        while let Some(bytes) = self.unwritten.front_mut() {
            match self.stream.write(bytes) {
                Ok(written) if written == bytes.len() => drop(self.unwritten.pop_front()),
                Ok(written) => bytes.advance(written),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        self.stream.flush()
    }

    /// The request of the current exchange was written at `now`, as far as the socket takes it. Opening the connection took the network `opening`.
    #[inline]
    pub(super) fn written(&mut self, now: Instant, opening: Nanos) {
        if let Some(Exchange { event, begun, .. }) = &mut self.exchange {
            event.writing_lateness = Some(begun.until(now).saturating_sub(opening));
        }
    }

    /// The reason for a malformed response of the current exchange.
    pub(super) fn malformed_reason(&self, malformed: Malformed) -> Reason {
        let exchange = self.exchange.as_ref();
        exchange.map_or(Reason::words(malformed), |exchange| exchange.response.reason(malformed))
    }

    /// The current exchange. Bytes that were not written are subtracted from its event.
    pub(super) fn into_exchange(self) -> Option<Exchange> {
        let unwritten = self.unwritten_bytes();
        let mut exchange = self.exchange?;
        exchange.event.bytes_out -= unwritten;
        Some(exchange)
    }
}

impl ConnectionSlot for Connection {
    fn number(&self) -> u32 {
        self.number
    }

    fn is_connecting(&self, serial: u64) -> bool {
        self.is_pending(serial) && !self.stream.is_open()
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

/// Whether the failed write may be tried again.
fn is_retryable(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

impl Exchange {
    /// Records bytes read at `now`, which was `late` by this much if that was measured.
    #[inline]
    pub(super) fn received(&mut self, bytes: usize, now: Instant, late: Option<Nanos>) {
        if self.event.first_byte.is_none() {
            (self.event.first_byte, self.event.reading_lateness) = (Some(now), late);
        }
        self.event.bytes_in += bytes as u64;
    }
}
