//! Handling ready sockets: connecting, writing remaining bytes, reading responses, and closing connections.

use offered_base::{Instant, Nanos};
use offered_events::{Event, Outcome};
use offered_io::Ready;
use offered_workload::Reuse;

use super::Http1;
use super::connection::Exchange;
use super::response::{Malformed, Progress, ResponseReader};
use crate::transport::Failure;
use crate::transport::protocol_client::Completion;
use crate::transport::socket::{Read, reset_failure};
use crate::transport::stream_pauses::StreamPauses;

/// Maximum number of reads of one connection per loop iteration.
const READS_PER_TURN: usize = 4;
/// Closed connections are removed from the idle list when they are more than half of it and the list is longer than
/// this.
const SWEEP_THRESHOLD: usize = 1024;

/// Receives the results of exchanges. Whether responses are kept is known at compile time, so that unscripted runs pay
/// nothing for it.
pub(super) trait CompletionSink {
    /// Whether responses are kept and first bytes reported.
    const KEEPS_RESPONSE: bool;

    /// Receives the event of a completed exchange, with the received part of its response.
    fn done(&mut self, event: Event, response: ResponseReader);

    /// Called for the first byte of a response.
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

    fn done(&mut self, mut event: Event, response: ResponseReader) {
        let mut response = response.into_response();
        if let Some(response) = &mut response {
            response.conclude_stream(&mut event);
        }
        let response = response.filter(|_| event.outcome.is_response());
        self.push(Completion::Done(event, response));
    }

    fn first_byte(&mut self, event: &Event) {
        self.push(Completion::FirstByte { session: event.session, object: event.object });
    }
}

impl Http1 {
    /// Closes a connection and returns its exchange.
    pub(super) fn close(&mut self, key: usize) -> Option<Exchange> {
        let connection = self.connections.remove(key);
        self.event_loop.poller.remove_closing(&connection.stream);
        connection.into_exchange()
    }

    /// Fails the exchange of a connection, unless it can be sent again, and closes the connection.
    pub(super) fn fail(&mut self, key: usize, failure: Failure, sink: &mut impl CompletionSink) {
        let Err((outcome, reason)) = self.resend(key, failure) else { return };
        let now = self.event_loop.clock.now();
        if let Some(exchange) = self.close(key) {
            let Exchange { event, response, .. } = exchange;
            sink.done(Event { done: Some(now), outcome, error: Some(reason), ..event }, response);
        }
    }

    /// Connects, writes and reads on a ready socket. Returns the number of bytes read.
    pub(super) fn on_socket_ready(&mut self, ready: Ready, sink: &mut impl CompletionSink) -> usize {
        let key = ready.token;
        let Some(mut connection) = self.connections.get_mut(key) else { return 0 };
        let mut writable = ready.writable;
        let opens = !connection.stream.is_open();
        if opens {
            match connection.stream.continue_connecting(
                &self.setup.route,
                ready.writable || ready.closed,
                &self.event_loop.clock,
                (&self.event_loop.poller, key),
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
            // A server may respond and close before it has read the whole request: read the response first.
            if !ready.readable {
                self.fail(key, reset_failure(error), sink);
                return 0;
            }
        }
        if opens && let Some(opening) = connection.stream.opening_time() {
            connection.written(self.event_loop.clock.now(), opening);
        }
        if ready.readable { self.receive(key, ready.closed, sink) } else { 0 }
    }

    /// Reads once from a connection, with or without a timestamp.
    #[inline]
    fn read(&mut self, key: usize) -> Result<Read, Failure> {
        let connection = &mut self.connections[key];
        let is_first = connection.exchange.as_ref().is_some_and(|exchange| exchange.event.first_byte.is_none());
        // The instants of a stream are those of its reads.
        let has_stream = connection.exchange.as_ref().is_some_and(|exchange| exchange.response.has_stream());
        connection.stream.stamp_reads(self.event_loop.reading.samples(is_first) || has_stream);
        connection.stream.read(&mut self.buffer)
    }

    /// Reads from a connection, a bounded number of times; to the end of the stream if the peer may have closed.
    /// Returns the number of bytes read.
    pub(super) fn receive<E: CompletionSink>(&mut self, key: usize, to_the_end: bool, sink: &mut E) -> usize {
        let mut taken = 0;
        for _ in 0..READS_PER_TURN {
            let (read, drained) = match self.read(key) {
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
            let connection = &mut self.connections[key];
            let now = self.event_loop.clock.now();
            let Some(exchange) = &mut connection.exchange else {
                // An idle connection that closes, or receives unexpected bytes, cannot be used again.
                self.close(key);
                return taken;
            };
            let late = self.event_loop.reading.of_read(connection.stream.arrival(), exchange.event.sent, now);
            if read == 0 {
                match exchange.response.end() {
                    Ok(()) => self.finish(key, false, (now, None), sink),
                    Err(reason) => self.fail(key, (Outcome::Reset, reason), sink),
                }
                return taken;
            }
            if E::KEEPS_RESPONSE
                && let Some(stream) = exchange.response.stream()
            {
                let arrival = self.event_loop.reading.data_arrival(connection.stream.arrival(), late);
                stream.begin_read(now, arrival, exchange.event.sent);
            }
            // With a held-back body the first bytes may be an interim response, which is not the first byte of the
            // response.
            let holds_body = E::KEEPS_RESPONSE && connection.held.is_some();
            if E::KEEPS_RESPONSE && !holds_body && exchange.event.first_byte.is_none() {
                sink.first_byte(&exchange.event);
            }
            if holds_body {
                exchange.event.bytes_in += read as u64;
            } else {
                exchange.received(read, now, late);
            }
            let progress = parse::<E>(exchange, &self.buffer[..read], &mut self.event_loop.stream_pauses);
            if holds_body && exchange.response.status() > 0 {
                (exchange.event.first_byte, exchange.event.reading_lateness) = (Some(now), late);
                sink.first_byte(&exchange.event);
            } else if holds_body
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
                    // The server would take the next request for the rest of the body.
                    let is_incomplete = connection.is_unwritten() || E::KEEPS_RESPONSE && connection.held.is_some();
                    let keep = keep && !is_incomplete && self.setup.reuse != Reuse::Fresh;
                    self.finish(key, keep, (now, late), sink);
                    if !keep || (drained && !to_the_end) {
                        return taken;
                    }
                    // The end of a kept connection may already be there, and the poller will not report it again.
                }
                Err(reason) => {
                    let reason = connection.malformed_reason(reason);
                    self.fail(key, (Outcome::Malformed, reason), sink);
                    return taken;
                }
            }
        }
        // The poller may have reported the end already.
        let ready = Ready { token: key, readable: true, writable: false, closed: true };
        self.event_loop.requeue(ready, self.connections[key].number);
        taken
    }

    /// The response is complete: its last bytes were read at `now`, and `late`, if that was measured.
    pub(super) fn finish(
        &mut self,
        key: usize,
        keep: bool,
        (now, late): (Instant, Option<Nanos>),
        sink: &mut impl CompletionSink,
    ) {
        // The event is completed in place: each move of an exchange copies nearly 400 bytes.
        let connection = &mut self.connections[key];
        if let Some(Exchange { event, response, .. }) = &mut connection.exchange {
            (event.done, event.done_lateness) = (Some(now), late);
            event.status = response.status();
            event.outcome = if event.status < 400 { Outcome::Ok } else { Outcome::HttpError };
        }
        if !keep {
            if let Some(Exchange { event, response, .. }) = self.close(key) {
                sink.done(event, response);
            }
            return;
        }
        let number = connection.number;
        if let Some(Exchange { event, response, .. }) = connection.exchange.take() {
            sink.done(event, response);
        }
        if self.setup.reuse == Reuse::Pool {
            self.idle.push((key, number));
            self.sweep_idle();
        }
    }

    /// Removes closed connections from the idle list if they are the majority. Otherwise they stay below the
    /// connections that were used last.
    fn sweep_idle(&mut self) {
        if self.idle.len() > SWEEP_THRESHOLD && self.idle.len() > 2 * self.connections.len() {
            let connections = &self.connections;
            self.idle.retain(|(key, number)| connections.get(*key).is_some_and(|c| c.number == *number));
        }
    }
}

/// Parses the bytes of one read.
#[inline]
fn parse<E: CompletionSink>(
    exchange: &mut Exchange,
    bytes: &[u8],
    pauses: &mut StreamPauses,
) -> Result<Progress, Malformed> {
    // An associated constant cannot be passed as a const argument yet, so it is matched here.
    if !E::KEEPS_RESPONSE {
        return exchange.response.read::<false>(bytes);
    }
    let progress = exchange.response.read::<true>(bytes);
    if let Some(interval) = exchange.response.stream().and_then(|stream| stream.interval(exchange.event.sent)) {
        pauses.observe(interval);
    }
    progress
}
