//! The protocol: writing to a connection, and handling its messages.

use std::mem;

use offered_base::Instant;
use offered_events::{Event, Outcome, Reason};
use offered_io::Ready;

use super::connection::{Connection, Exchange, State, roll_back};
use super::hook::{Hook, HookCall};
use super::login::login_failure;
use super::messages::{RawMessage, malformed};
use super::{Postgres, rows};
use crate::transport::Failure;
use crate::transport::protocol_client::Completion;
use crate::transport::socket::Read;

/// Maximum number of reads of one connection per loop iteration.
const READS_PER_TURN: usize = 4;

impl Postgres {
    /// Writes the next statement of an exchange.
    pub(super) fn execute(&mut self, key: usize, exchange: usize) -> Result<(), Failure> {
        let (connection, carried) = (&mut self.connections[key], &mut self.exchanges[exchange]);
        let before = connection.unwritten.len();
        let Event { label, .. } = carried.event;
        let encoded =
            self.setup.statements.execute(label, carried.step, &carried.outgoing.parameters, &mut connection.unwritten);
        encoded.map_err(|reason| (Outcome::Reset, Reason::words(reason)))?;
        carried.event.bytes_out += (connection.unwritten.len() - before) as u64;
        connection.write()
    }

    /// Connects, writes and reads on a ready socket. Returns the number of bytes read.
    pub(super) fn on_socket_ready(
        &mut self,
        ready: Ready,
        completions: &mut Vec<Completion>,
    ) -> Result<usize, Failure> {
        let key = ready.token;
        let Some(connection) = self.connections.get_mut(key) else { return Ok(0) };
        if !connection.stream.is_open() {
            let route = if matches!(connection.state, State::Cancel { .. }) {
                &self.setup.plain_route
            } else {
                &self.setup.route
            };
            let (clock, registered) = (&self.event_loop.clock, (&self.event_loop.poller, key));
            if !connection.stream.continue_connecting(route, ready.writable || ready.closed, clock, registered)? {
                return Ok(0);
            }
            self.start_login(key)?;
        } else if ready.writable
            && let Err(failure) = connection.write()
            && !ready.readable
        {
            return Err(failure);
        }
        if ready.readable { self.receive(key, ready.closed, completions) } else { Ok(0) }
    }

    /// Reads from a connection, a bounded number of times; to the end of the stream if the peer may have closed.
    /// Returns the number of bytes read.
    fn receive(&mut self, key: usize, to_the_end: bool, completions: &mut Vec<Completion>) -> Result<usize, Failure> {
        let (mut taken, number) = (0, self.connections[key].number);
        for _ in 0..READS_PER_TURN {
            // A connection that was replaced must not be read under its old key.
            let Some(connection) = self.connections.get_mut(key).filter(|c| c.number == number) else {
                return Ok(taken);
            };
            connection.stream.stamp_reads(self.event_loop.reading.samples(true));
            let (read, drained) = match connection.stream.read(&mut self.buffer)? {
                Read::Some { bytes, drained } => (bytes, drained),
                Read::End => return Err((Outcome::Reset, Reason::words("closed by the server"))),
                Read::Nothing { drained: true } => return Ok(taken),
                Read::Nothing { drained: false } => continue,
            };
            taken += read;
            let buffer = mem::take(&mut self.buffer);
            let completions = self.on_bytes(key, &buffer[..read], completions);
            self.buffer = buffer;
            completions?;
            if drained && !to_the_end {
                return Ok(taken);
            }
        }
        if let Some(connection) = self.connections.get(key).filter(|connection| connection.number == number) {
            // The poller may have reported the end already.
            let ready = Ready { token: key, readable: true, writable: false, closed: true };
            self.event_loop.requeue(ready, connection.number);
        }
        Ok(taken)
    }

    /// Handles the messages in these bytes.
    fn on_bytes(&mut self, key: usize, mut bytes: &[u8], completions: &mut Vec<Completion>) -> Result<(), Failure> {
        let now = self.event_loop.clock.now();
        let connection = &mut self.connections[key];
        let number = connection.number;
        if let State::Busy(exchange) = connection.state {
            let (event, arrival) = (&mut self.exchanges[exchange].event, connection.stream.arrival());
            let late = self.event_loop.reading.of_read(arrival, event.sent, now);
            if event.first_byte.is_none() {
                (event.first_byte, event.reading_lateness) = (Some(now), late);
            }
            // That of the last read remains.
            event.done_lateness = late;
        }
        let mut reader = mem::take(&mut connection.reader);
        loop {
            let wants_rows = match self.connections[key].state {
                State::Busy(exchange) => self.exchanges[exchange].response.body_limit > 0,
                _ => false,
            };
            let Some(raw) = reader.next(&mut bytes, wants_rows)? else { break };
            self.on_message(key, raw, now, completions)?;
            if self.connections.get(key).is_none_or(|connection| connection.number != number) {
                return Ok(());
            }
        }
        self.connections[key].reader = reader;
        Ok(())
    }

    /// Handles one message.
    fn on_message(
        &mut self,
        key: usize,
        raw: RawMessage<'_>,
        now: Instant,
        completions: &mut Vec<Completion>,
    ) -> Result<(), Failure> {
        let connection = &mut self.connections[key];
        match &mut connection.state {
            State::Busy(exchange) => {
                let exchange = *exchange;
                self.on_result(key, exchange, raw, now, completions)
            }
            // Asynchronous messages: notices, parameter status, notifications.
            _ if matches!(raw.tag, b'N' | b'S' | b'A') => Ok(()),
            State::Login(login) => {
                let ready = login.on_message(raw, &self.setup, &mut connection.unwritten)?;
                connection.write()?;
                if let Some(backend) = ready {
                    connection.backend = backend;
                    self.logged_in(key, completions);
                }
                Ok(())
            }
            State::Cancelling { ready, .. } if raw.tag == b'Z' => {
                match raw.body {
                    b"I" => *ready = true,
                    _ => {
                        roll_back(connection);
                        connection.write()?;
                    }
                }
                self.cancel_progressed(key, completions);
                Ok(())
            }
            State::Cancelling { .. } if raw.tag != b'G' => Ok(()),
            // The reason why the server is about to close.
            State::Free | State::AwaitingHook if raw.tag == b'E' => Err((Outcome::Refused, raw.error()?)),
            _ => Err(malformed(&format!("an unexpected message `{}`", char::from(raw.tag)))),
        }
    }

    /// A connection has logged in and prepared everything.
    fn logged_in(&mut self, key: usize, completions: &mut Vec<Completion>) {
        let connection = &mut self.connections[key];
        let pool = connection.pool;
        match &self.hook {
            Some(hook) => {
                (connection.state, connection.opening) = (State::AwaitingHook, 0);
                let class = self.setup.pools[pool].0.clone();
                hook.call(HookCall { connection: (key, connection.number), pid: connection.backend.0, class });
            }
            None => self.mark_idle(key, completions),
        }
        if self.pools[pool].retry_at.take().is_some() {
            self.fill(pool, completions);
        }
    }

    /// Handles the results of hook calls.
    pub(super) fn process_hook_results(&mut self, completions: &mut Vec<Completion>) {
        while let Some(((key, number), done)) = self.hook.as_ref().and_then(Hook::next_result) {
            let is_there = |c: &Connection| c.number == number && matches!(c.state, State::AwaitingHook);
            if self.connections.get(key).is_some_and(is_there) {
                match done {
                    Ok(()) => self.mark_idle(key, completions),
                    Err(reason) => self.fail(key, login_failure(reason), completions),
                }
            }
        }
    }

    /// Handles a message about a request.
    fn on_result(
        &mut self,
        key: usize,
        exchange: usize,
        raw: RawMessage<'_>,
        now: Instant,
        completions: &mut Vec<Completion>,
    ) -> Result<(), Failure> {
        let carried = &mut self.exchanges[exchange];
        carried.event.bytes_in += raw.bytes();
        let label = carried.event.label;
        match raw.tag {
            b'D' if carried.response.body_limit > 0 && raw.body.len() == raw.size => {
                let columns = self.setup.statements.columns(label, carried.step);
                let mut row = vec![if carried.response.size == 0 { b'[' } else { b',' }];
                rows::append(raw.body, columns, &mut row).map_err(malformed)?;
                carried.response.add(&row);
            }
            // Too large to keep: the response is incomplete.
            b'D' if carried.response.body_limit > 0 => carried.response.size += raw.size as u64,
            b'C' => carried.event.rows += rows::of_command(raw.body),
            b'E' => {
                let error = raw.error()?;
                carried.error.get_or_insert(error);
            }
            b'Z' => return self.statement_done(key, exchange, raw.body, now, completions),
            b'D' | b'2' | b'I' | b'N' | b'S' | b'A' => {}
            b'G' | b'H' | b'W' => return Err((Outcome::Malformed, Reason::words("COPY is not supported"))),
            tag => return Err(malformed(&format!("an unexpected message `{}`", char::from(tag)))),
        }
        Ok(())
    }

    /// A statement has ended. `state` is the transaction status (`I`dle, in a `T`ransaction, in a failed one: `E`). The
    /// next statement follows, or the request is complete.
    fn statement_done(
        &mut self,
        key: usize,
        exchange: usize,
        state: &[u8],
        now: Instant,
        completions: &mut Vec<Completion>,
    ) -> Result<(), Failure> {
        let (connection, carried) = (&mut self.connections[key], &mut self.exchanges[exchange]);
        let is_idle = state == b"I";
        if carried.error.is_none() {
            carried.step += 1;
            if carried.step < self.setup.statements.steps(carried.event.label) {
                return self.execute(key, exchange);
            }
            if !is_idle {
                const LEFT: &str =
                    "the request left its transaction open, so it was rolled back; write transaction = [...]";
                carried.error = Some(Reason::words(LEFT));
            }
        }
        if !is_idle {
            let before = connection.unwritten.len();
            roll_back(connection);
            carried.event.bytes_out += (connection.unwritten.len() - before) as u64;
            return connection.write();
        }
        let Exchange { event, error, mut response, .. } = self.exchanges.remove(exchange);
        if response.body_limit > 0 {
            response.add(if response.size == 0 { b"[]" } else { b"]" });
        }
        response.rows = event.rows;
        let outcome = if error.is_some() { Outcome::SqlError } else { Outcome::Ok };
        let response = error.is_none().then_some(response);
        completions.push(Completion::Done(Event { done: Some(now), outcome, error, ..event }, response));
        self.mark_idle(key, completions);
        Ok(())
    }
}
