//! What is said on a connection, and what is made of it: the protocol.

use std::mem;

use offered_clock::Ready;
use offered_model::{Event, Instant, Outcome, Reason};

use super::connection::{Connection, Exchange, State, roll_back};
use super::frames::{Frame, malformed};
use super::hook::{Asked, Hook};
use super::login::refusal;
use super::{Postgres, rows};
use crate::transport::Failure;
use crate::transport::socket::Read;
use crate::transport::wire::Heard;

/// How many reads of one connection a turn has.
const TURN: usize = 4;

impl Postgres {
    /// Writes the statement that is the exchange's next.
    pub(super) fn execute(&mut self, key: usize, exchange: usize) -> Result<(), Failure> {
        let (connection, carried) = (&mut self.connections[key], &mut self.exchanges[exchange]);
        let before = connection.unwritten.len();
        let Event { label, .. } = carried.event;
        let written =
            self.setup.statements.execute(label, carried.step, &carried.ask.parameters, &mut connection.unwritten);
        written.map_err(|why| (Outcome::Reset, Reason::words(why)))?;
        carried.event.bytes_out += (connection.unwritten.len() - before) as u64;
        connection.write()
    }

    /// Connects, writes and reads on a socket that is ready; how many bytes were read.
    pub(super) fn go_on(&mut self, ready: Ready, heard: &mut Vec<Heard>) -> Result<usize, Failure> {
        let key = ready.token;
        let Some(connection) = self.connections.get_mut(key) else { return Ok(0) };
        if !connection.stream.is_open() {
            let route =
                if matches!(connection.state, State::Cancel { .. }) { &self.setup.bare } else { &self.setup.route };
            if !connection.stream.go_on(route, ready.writable || ready.closed, &self.turns.clock)? {
                return Ok(0);
            }
            self.greet(key)?;
        } else if ready.writable
            && let Err(failure) = connection.write()
            && !ready.readable
        {
            return Err(failure);
        }
        if ready.readable { self.receive(key, ready.closed, heard) } else { Ok(0) }
    }

    /// Reads what has come, as far as one turn goes; to the very end when the other side may have closed. How much that was.
    fn receive(&mut self, key: usize, to_the_end: bool, heard: &mut Vec<Heard>) -> Result<usize, Failure> {
        let (mut taken, number) = (0, self.connections[key].number);
        for _ in 0..TURN {
            // A connection that was replaced is not to be read under its old key.
            let Some(connection) = self.connections.get_mut(key).filter(|c| c.number == number) else {
                return Ok(taken);
            };
            let (read, drained) = match connection.stream.read(&mut self.buffer)? {
                Read::Some { bytes, drained } => (bytes, drained),
                Read::End => return Err((Outcome::Reset, Reason::words("closed by the server"))),
                Read::Nothing { drained: true } => return Ok(taken),
                Read::Nothing { drained: false } => continue,
            };
            taken += read;
            let buffer = mem::take(&mut self.buffer);
            let heard = self.hear(key, &buffer[..read], heard);
            self.buffer = buffer;
            heard?;
            if drained && !to_the_end {
                return Ok(taken);
            }
        }
        if let Some(connection) = self.connections.get(key).filter(|connection| connection.number == number) {
            // Its end may have been told already.
            let ready = Ready { token: key, readable: true, writable: false, closed: true };
            self.turns.again(ready, connection.number);
        }
        Ok(taken)
    }

    /// Hears the messages in these bytes.
    fn hear(&mut self, key: usize, mut bytes: &[u8], heard: &mut Vec<Heard>) -> Result<(), Failure> {
        let now = self.turns.clock.now();
        let connection = &mut self.connections[key];
        let number = connection.number;
        if let State::Busy(exchange) = connection.state {
            self.exchanges[exchange].event.first_byte.get_or_insert(now);
        }
        let mut frames = mem::take(&mut connection.frames);
        loop {
            let wants_rows = match self.connections[key].state {
                State::Busy(exchange) => self.exchanges[exchange].reply.wanted > 0,
                _ => false,
            };
            let Some(frame) = frames.next(&mut bytes, wants_rows)? else { break };
            self.told(key, frame, now, heard)?;
            if self.connections.get(key).is_none_or(|connection| connection.number != number) {
                return Ok(());
            }
        }
        self.connections[key].frames = frames;
        Ok(())
    }

    /// Hears one message.
    fn told(&mut self, key: usize, frame: Frame<'_>, now: Instant, heard: &mut Vec<Heard>) -> Result<(), Failure> {
        let connection = &mut self.connections[key];
        match &mut connection.state {
            State::Busy(exchange) => {
                let exchange = *exchange;
                self.answered(key, exchange, frame, now, heard)
            }
            // What is said without being asked: notices, settings, notifications.
            _ if matches!(frame.tag, b'N' | b'S' | b'A') => Ok(()),
            State::Login(login) => {
                let ready = login.hear(frame, &self.setup, &mut connection.unwritten)?;
                connection.write()?;
                if let Some(backend) = ready {
                    connection.backend = backend;
                    self.logged_in(key, heard);
                }
                Ok(())
            }
            State::Giving { ready, .. } if frame.tag == b'Z' => {
                match frame.body {
                    b"I" => *ready = true,
                    _ => {
                        roll_back(connection);
                        connection.write()?;
                    }
                }
                self.given_up(key, heard);
                Ok(())
            }
            State::Giving { .. } if frame.tag != b'G' => Ok(()),
            // Why it is about to close.
            State::Free | State::Hooked if frame.tag == b'E' => Err((Outcome::Refused, frame.error()?)),
            _ => Err(malformed(&format!("a message `{}` nobody asked for", char::from(frame.tag)))),
        }
    }

    /// A connection has logged in and prepared everything.
    fn logged_in(&mut self, key: usize, heard: &mut Vec<Heard>) {
        let connection = &mut self.connections[key];
        let pool = connection.pool;
        match &self.hook {
            Some(hook) => {
                (connection.state, connection.opening) = (State::Hooked, 0);
                let class = self.setup.pools[pool].0.clone();
                hook.ask(Asked { connection: (key, connection.number), pid: connection.backend.0, class });
            }
            None => self.free(key, heard),
        }
        if self.pools[pool].again.take().is_some() {
            self.fill(pool, heard);
        }
    }

    /// Hears what the hook was told of.
    pub(super) fn hooked(&mut self, heard: &mut Vec<Heard>) {
        while let Some(((key, number), done)) = self.hook.as_ref().and_then(Hook::told) {
            let is_there = |c: &Connection| c.number == number && matches!(c.state, State::Hooked);
            if self.connections.get(key).is_some_and(is_there) {
                match done {
                    Ok(()) => self.free(key, heard),
                    Err(why) => self.fail(key, refusal(why), heard),
                }
            }
        }
    }

    /// Hears a message about a request.
    fn answered(
        &mut self,
        key: usize,
        exchange: usize,
        frame: Frame<'_>,
        now: Instant,
        heard: &mut Vec<Heard>,
    ) -> Result<(), Failure> {
        let carried = &mut self.exchanges[exchange];
        carried.event.bytes_in += frame.bytes();
        let label = carried.event.label;
        match frame.tag {
            b'D' if carried.reply.wanted > 0 && frame.body.len() == frame.size => {
                let columns = self.setup.statements.columns(label, carried.step);
                let mut row = vec![if carried.reply.size == 0 { b'[' } else { b',' }];
                rows::append(frame.body, columns, &mut row).map_err(malformed)?;
                carried.reply.add(&row);
            }
            // Too long to be kept: now the answer is not whole.
            b'D' if carried.reply.wanted > 0 => carried.reply.size += frame.size as u64,
            b'C' => carried.event.rows += rows::of_command(frame.body),
            b'E' => {
                let error = frame.error()?;
                carried.error.get_or_insert(error);
            }
            b'Z' => return self.paused(key, exchange, frame.body, now, heard),
            b'D' | b'2' | b'I' | b'N' | b'S' | b'A' => {}
            b'G' | b'H' | b'W' => return Err((Outcome::Malformed, Reason::words("COPY is not spoken here"))),
            tag => return Err(malformed(&format!("a message `{}` nobody asked for", char::from(tag)))),
        }
        Ok(())
    }

    /// A statement is over, with the connection in this state (`I`dle, in a `T`ransaction, in a failed on`E`): the next one
    /// follows, or the request is over.
    fn paused(
        &mut self,
        key: usize,
        exchange: usize,
        state: &[u8],
        now: Instant,
        heard: &mut Vec<Heard>,
    ) -> Result<(), Failure> {
        let (connection, carried) = (&mut self.connections[key], &mut self.exchanges[exchange]);
        let is_idle = state == b"I";
        if carried.error.is_none() {
            carried.step += 1;
            if carried.step < self.setup.statements.steps(carried.event.label) {
                return self.execute(key, exchange);
            }
            if !is_idle {
                const LEFT: &str = "it left its transaction open, which was rolled back; write transaction = [...]";
                carried.error = Some(Reason::words(LEFT));
            }
        }
        if !is_idle {
            let before = connection.unwritten.len();
            roll_back(connection);
            carried.event.bytes_out += (connection.unwritten.len() - before) as u64;
            return connection.write();
        }
        let Exchange { event, error, mut reply, .. } = self.exchanges.remove(exchange);
        if reply.wanted > 0 {
            reply.add(if reply.size == 0 { b"[]" } else { b"]" });
        }
        reply.rows = event.rows;
        let outcome = if error.is_some() { Outcome::SqlError } else { Outcome::Ok };
        let reply = error.is_none().then_some(reply);
        heard.push(Heard::Ended(Event { done: Some(now), outcome, error, ..event }, reply));
        self.free(key, heard);
        Ok(())
    }
}
