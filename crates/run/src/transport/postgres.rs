//! PostgreSQL over TLS, TCP or a Unix socket: the extended query protocol, version 3.0.
//!
//! Connections are made before the run, as many as the workload says in each of its pools, and every statement is prepared on
//! every one of them. A request takes a free connection of its pool; where there is none it waits, and the first to wait is the
//! first to go. So few connections are a queue in front of the database, as a pool of an application is, and how long each
//! request stood in it is recorded (`waited`). A connection that breaks is made again.
//!
//! Messages, passwords and SCRAM are the `postgres-protocol` crate's; sockets and turns are as everywhere here.

mod connection;
mod frames;
mod hook;
mod login;
mod rows;
mod setup;
mod statements;

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use bytes::BytesMut;
use offered_clock::{Clock, Poller, Ready};
use offered_model::{Event, Instant, Nanos, Outcome, Reason};
use postgres_protocol::message::frontend;
use slab::Slab;

use self::connection::{Connection, Exchange, State, roll_back};
use self::frames::{Frame, Frames, malformed};
use self::hook::{Asked, Hook};
use self::login::{Login, refusal};
pub(crate) use self::setup::Setup;
use super::Failure;
use super::socket::{Place, Read, undialed};
use super::stream::Stream;
use super::turns::{Answering, Opening, Served, Turns, turn};
use super::wire::{Ask, Heard, Reply, Wire, Wording};
use crate::Error;

/// How much one read takes at most, and how many reads of one connection a turn has.
const BUFFER: usize = 64 * 1024;
const TURN: usize = 4;
/// How long after a connection could not be made another is tried.
const PAUSE: Nanos = Nanos::from_millis(100);
/// How long after the end of a run what was given up may take to be cancelled.
const GRACE: Nanos = Nanos::from_secs(1);
/// How often who waits for connections looks whether the run was stopped.
const NOTICE: Nanos = Nanos::from_millis(100);

/// One thread's connections.
pub(crate) struct Postgres {
    setup: Setup,
    turns: Turns,
    pools: Vec<Pool>,
    connections: Slab<Connection>,
    exchanges: Slab<Exchange>,
    hook: Option<Hook>,
    opened: u32,
    serial: u64,
    buffer: Box<[u8]>,
    /// The first connection that could not be made, and whether its stream was open by then.
    refused: Option<(Failure, bool)>,
}

impl Setup {
    /// Logs in once, prepares everything, and says goodbye.
    ///
    /// # Errors
    /// Nobody is there, or it does not let us in, or it knows no such statement.
    pub(crate) fn knock(&self) -> Result<(), Error> {
        let once = Self { pools: [(String::new(), 1)].into(), hook: None, ..self.clone() };
        Postgres::connected(once, Poller::new()?, |connections| connections, Nanos::ZERO, &AtomicBool::new(false))
            .map(drop)
    }
}

/// Connections that requests of one class share.
struct Pool {
    /// How many there are meant to be on this thread, and how many there are, those being made among them.
    size: u32,
    live: u32,
    /// Those that are free, the last used on top: (key, number). Those that have closed are passed over.
    free: Vec<(usize, u32)>,
    /// Requests that wait, by key and serial number. Those given up are passed over.
    queue: VecDeque<(usize, u64)>,
    /// After a connection could not be made: when the next is tried. Only one is, until one succeeds.
    again: Option<Instant>,
}

impl Postgres {
    /// The connections of one thread, `share` of those of each pool, all made; watched by `poller`, waiting without sleep for the
    /// last `spin` before a launch. When `stop` is set they are fewer.
    ///
    /// # Errors
    /// One could not be made.
    pub(crate) fn connected(
        setup: Setup,
        poller: Poller,
        share: impl Fn(u32) -> u32,
        spin: Nanos,
        stop: &AtomicBool,
    ) -> Result<Self, Error> {
        let pool = |(_, connections): &(String, u32)| Pool {
            size: share(*connections),
            live: 0,
            free: Vec::new(),
            queue: VecDeque::new(),
            again: None,
        };
        let mut own = Self {
            hook: setup.hook.clone().map(|command| Hook::new(command, poller.waker())),
            turns: Turns::new(Clock::start(), poller, spin, setup.connect_timeout, setup.response_timeout),
            pools: setup.pools.iter().map(pool).collect(),
            setup,
            connections: Slab::new(),
            exchanges: Slab::new(),
            opened: 0,
            serial: 0,
            buffer: vec![0; BUFFER].into(),
            refused: None,
        };
        let mut heard = Vec::new();
        (0..own.pools.len()).for_each(|pool| own.fill(pool, &mut heard));
        while own.pools.iter().any(|pool| pool.free.len() < pool.size as usize) && !stop.load(Relaxed) {
            if let Some(((outcome, why), was_open)) = own.refused.take() {
                let (place, why) = (own.setup.route.addresses.first(), why.to_string());
                return Err(match was_open {
                    true => Error::Database { place, why },
                    false => own.setup.route.addresses.unreachable(outcome, why),
                });
            }
            let deadline = own.turns.clock.now() + NOTICE;
            own.wait(deadline, &mut heard);
        }
        Ok(own)
    }

    /// From now on the time is that of `clock`.
    pub(crate) fn begin_at(&mut self, clock: Clock) {
        self.turns.begin_at(clock);
    }

    /// Makes the connections that a pool has too few of: all, or one where the last attempt failed.
    fn fill(&mut self, pool: usize, heard: &mut Vec<Heard>) {
        let now = self.turns.clock.now();
        let Pool { size, live, again, .. } = &self.pools[pool];
        let missing = size.saturating_sub(*live);
        let tries = match again {
            None => missing,
            Some(again) if now >= *again => missing.min(1),
            Some(_) => 0,
        };
        for _ in 0..tries {
            if let Err(failure) = self.connect(pool, heard) {
                self.not_made(pool, failure, false, heard);
                break;
            }
        }
        if tries > 0
            && let Some(again) = &mut self.pools[pool].again
        {
            *again = now + PAUSE;
        }
    }

    /// Begins to make a connection for a pool.
    fn connect(&mut self, pool: usize, heard: &mut Vec<Heard>) -> Result<(), Failure> {
        let (place, source) = self.setup.route.addresses.next().map_err(|why| (Outcome::Dns, why.into()))?;
        let stream = Stream::dial_at(&place, source, &self.setup.route, &self.turns.clock)?;
        let key = self.add(stream, place, pool, State::Connecting)?;
        self.pools[pool].live += 1;
        if self.connections[key].stream.is_open()
            && let Err(failure) = self.greet(key)
        {
            self.fail(key, failure, heard);
        }
        Ok(())
    }

    /// Watches a new stream; its key. It must be ready in time.
    fn add(&mut self, stream: Stream, place: Place, pool: usize, state: State) -> Result<usize, Failure> {
        let key = self.connections.vacant_key();
        self.turns.poller.add(&stream, key).map_err(undialed)?;
        let number = self.opened;
        self.opened += 1;
        let (frames, unwritten) = (Frames::default(), BytesMut::new());
        let (backend, carried, opening) = ((0, 0), 0, 0);
        self.connections.insert(Connection {
            stream,
            place,
            number,
            pool,
            state,
            frames,
            unwritten,
            backend,
            carried,
            opening,
        });
        self.expect(key);
        Ok(key)
    }

    /// From now on a connection must be ready within the time to connect.
    fn expect(&mut self, key: usize) {
        self.serial += 1;
        let (now, serial) = (self.turns.clock.now(), self.serial);
        self.connections[key].opening = serial;
        let connections = &self.connections;
        let opening = |key, serial| connections.get(key).is_some_and(|c: &Connection| c.is_opening(serial));
        self.turns.connecting.push(now, key, serial, connections.len(), opening);
    }

    /// A stream is open: says who is there, or what is to be cancelled.
    fn greet(&mut self, key: usize) -> Result<(), Failure> {
        let connection = &mut self.connections[key];
        if let State::Cancel { of } = connection.state {
            let (process, secret) = self.connections.get(of.0).map_or((0, 0), |other| other.backend);
            let connection = &mut self.connections[key];
            frontend::cancel_request(process, secret, &mut connection.unwritten);
            return connection.write();
        }
        let login = Login::begin(&self.setup, &mut connection.unwritten)?;
        connection.state = State::Login(Box::new(login));
        connection.write()
    }

    /// A connection is ready for requests: it takes the first that waits.
    fn free(&mut self, key: usize, heard: &mut Vec<Heard>) {
        let connection = &mut self.connections[key];
        (connection.state, connection.opening) = (State::Free, 0);
        let (number, pool) = (connection.number, connection.pool);
        while let Some((exchange, serial)) = self.pools[pool].queue.pop_front() {
            if self.exchanges.get(exchange).is_some_and(|waiting| waiting.is_at(serial) && waiting.on.is_none()) {
                return self.carry(key, exchange, heard);
            }
        }
        self.pools[pool].free.push((key, number));
    }

    /// A free connection takes an exchange.
    fn carry(&mut self, key: usize, exchange: usize, heard: &mut Vec<Heard>) {
        let (connection, carried) = (&mut self.connections[key], &mut self.exchanges[exchange]);
        let now = self.turns.clock.now();
        connection.state = State::Busy(exchange);
        carried.on = Some(key);
        carried.event.waited = carried.event.sent.map(|sent| sent.until(now));
        (carried.event.connection, carried.event.reused) = (connection.number, connection.carried > 0);
        connection.carried += 1;
        if let Err(failure) = self.execute(key, exchange) {
            self.fail(key, failure, heard);
        }
    }

    /// Writes the statement that is the exchange's next.
    fn execute(&mut self, key: usize, exchange: usize) -> Result<(), Failure> {
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
    fn go_on(&mut self, ready: Ready, heard: &mut Vec<Heard>) -> Result<usize, Failure> {
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

    /// A connection is over, and so is what it carried; another is made in its stead.
    fn fail(&mut self, key: usize, failure: Failure, heard: &mut Vec<Heard>) {
        let connection = self.connections.remove(key);
        // A socket the poller does not know is closed all the same.
        let _ = self.turns.poller.remove(&connection.stream);
        let pool = connection.pool;
        match connection.state {
            State::Cancel { of: (key, number) } => {
                // The server has closed it, as it does when it has taken note; or it was never heard.
                let was_heard = failure.0 == Outcome::Reset;
                let Some(other) = self.connections.get_mut(key).filter(|other| other.number == number) else { return };
                match &mut other.state {
                    State::Giving { cancelled, .. } if was_heard => *cancelled = true,
                    State::Giving { .. } => return self.fail(key, failure, heard),
                    _ => return,
                }
                return self.given_up(key, heard);
            }
            State::Busy(exchange) => {
                let Exchange { event, error, .. } = self.exchanges.remove(exchange);
                let (outcome, why) = match error {
                    // The server said why, and closed.
                    Some(error) => (Outcome::SqlError, error),
                    None => failure,
                };
                let now = self.turns.clock.now();
                let event = Event { bytes_out: event.bytes_out - connection.unwritten.len() as u64, ..event };
                heard.push(Heard::Ended(Event { done: Some(now), outcome, error: Some(why), ..event }, None));
            }
            State::Connecting | State::Login(_) | State::Hooked => {
                self.pools[pool].live -= 1;
                let was_open = connection.stream.is_open();
                return self.not_made(pool, failure, was_open, heard);
            }
            State::Free | State::Giving { .. } => {}
        }
        self.pools[pool].live -= 1;
        self.fill(pool, heard);
    }

    /// A connection could not be made. Where a pool has none at all, who waits for one has waited in vain.
    fn not_made(&mut self, pool: usize, failure: Failure, was_open: bool, heard: &mut Vec<Heard>) {
        let now = self.turns.clock.now();
        let pool = &mut self.pools[pool];
        pool.again = Some(now + PAUSE);
        if pool.live == 0 {
            for (exchange, serial) in pool.queue.drain(..) {
                if self.exchanges.get(exchange).is_some_and(|e| e.is_at(serial) && e.on.is_none()) {
                    let Exchange { event, .. } = self.exchanges.remove(exchange);
                    let waited = event.sent.map(|sent| sent.until(now));
                    let (outcome, why) = failure.clone();
                    let event = Event { done: Some(now), waited, outcome, error: Some(why), ..event };
                    heard.push(Heard::Ended(event, None));
                }
            }
        }
        self.refused.get_or_insert((failure, was_open));
    }

    /// What a connection carries is given up: the server is asked to cancel it.
    fn give_up(&mut self, key: usize, heard: &mut Vec<Heard>) {
        let connection = &mut self.connections[key];
        connection.state = State::Giving { ready: false, cancelled: false };
        let (of, pool, place) = ((key, connection.number), connection.pool, connection.place.clone());
        self.expect(key);
        let begun = Stream::dial_at(&place, None, &self.setup.bare, &self.turns.clock).and_then(|stream| {
            let is_open = stream.is_open();
            let cancel = self.add(stream, place, pool, State::Cancel { of })?;
            if is_open { self.greet(cancel) } else { Ok(()) }
        });
        if let Err(failure) = begun {
            self.fail(key, failure, heard);
        }
    }

    /// Something has come of giving up what a connection carried.
    fn given_up(&mut self, key: usize, heard: &mut Vec<Heard>) {
        if matches!(self.connections[key].state, State::Giving { ready: true, cancelled: true }) {
            self.free(key, heard);
        }
    }

    /// Hears what the hook was told of.
    fn hooked(&mut self, heard: &mut Vec<Heard>) {
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
}

impl Served<Vec<Heard>> for Postgres {
    type Connection = Connection;
    type Exchange = Exchange;

    fn parts(&mut self) -> (&mut Turns, &Slab<Connection>, &Slab<Exchange>) {
        (&mut self.turns, &self.connections, &self.exchanges)
    }

    fn serve(&mut self, ready: Ready, heard: &mut Vec<Heard>) -> usize {
        let number = self.connections.get(ready.token).map(|connection| connection.number);
        match self.go_on(ready, heard) {
            Ok(read) => read,
            Err(failure) => {
                if self.connections.get(ready.token).map(|connection| connection.number) == number {
                    self.fail(ready.token, failure, heard);
                }
                0
            }
        }
    }

    fn not_connected(&mut self, key: usize, why: Failure, heard: &mut Vec<Heard>) {
        self.fail(key, why, heard);
    }

    fn not_answered(&mut self, key: usize, within: Nanos, heard: &mut Vec<Heard>) {
        let Exchange { event, on, .. } = self.exchanges.remove(key);
        let now = self.turns.clock.now();
        let (why, waited) = match on {
            Some(_) => (Reason::NotAnswered(within), event.waited),
            None => (Reason::NoneFree(within), event.sent.map(|sent| sent.until(now))),
        };
        let error = Some(why);
        heard.push(Heard::Ended(Event { done: Some(now), waited, outcome: Outcome::Timeout, error, ..event }, None));
        if let Some(connection) = on {
            self.give_up(connection, heard);
        }
    }
}

impl Wire for Postgres {
    fn now(&self) -> Instant {
        self.turns.clock.now()
    }

    fn begin(&mut self, ask: &Arc<Ask>, event: Event, heard: &mut Vec<Heard>) -> Instant {
        let pool = self.setup.statements.pool(event.label);
        self.serial += 1;
        let (sent, serial) = (self.turns.clock.now(), self.serial);
        let reply = Box::new(Reply { wanted: ask.wanted, ..Reply::default() });
        let event = Event { sent: Some(sent), ..event };
        let exchange = Exchange { event, serial, ask: ask.clone(), on: None, step: 0, error: None, reply };
        let exchange = self.exchanges.insert(exchange);
        let exchanges = &self.exchanges;
        let waits = |key, serial| exchanges.get(key).is_some_and(|e: &Exchange| e.is_at(serial));
        self.turns.answering.push(sent, exchange, serial, exchanges.len(), waits);
        while let Some((key, number)) = self.pools[pool].free.pop() {
            if self.connections.get(key).is_some_and(|c| c.number == number && matches!(c.state, State::Free)) {
                self.carry(key, exchange, heard);
                return sent;
            }
        }
        self.pools[pool].queue.push_back((exchange, serial));
        sent
    }

    fn wait(&mut self, deadline: Instant, heard: &mut Vec<Heard>) {
        let again = self.pools.iter().filter(|pool| pool.live < pool.size).filter_map(|pool| pool.again).min();
        turn(self, again.map_or(deadline, |again| deadline.min(again)), heard);
        self.hooked(heard);
        if again.is_some() {
            (0..self.pools.len()).for_each(|pool| self.fill(pool, heard));
        }
    }

    fn leave(&mut self, _session: u64) {}

    fn abandon(&mut self, heard: &mut Vec<Heard>) {
        self.pools.iter_mut().for_each(|pool| pool.size = 0);
        for exchange in mem::take(&mut self.exchanges) {
            let Exchange { event, on, .. } = exchange.1;
            heard.push(Heard::Ended(Event { outcome: Outcome::Cut, error: Some(Reason::Stopped), ..event }, None));
            if let Some(connection) = on {
                self.give_up(connection, heard);
            }
        }
    }

    fn idle(&self) -> Nanos {
        self.turns.idle
    }

    fn wording(&self, ask: &Ask, event: &Event) -> Wording {
        wording(self.setup.statements.texts(event.label), ask)
    }
}

/// What `ask` says: these statements, and their parameters.
pub(super) fn wording<'t>(statements: impl Iterator<Item = &'t str>, ask: &Ask) -> Wording {
    let parameter = |(number, value): (usize, &Option<String>)| {
        format!("-- parameter {}: {}", number + 1, value.as_deref().unwrap_or("null"))
    };
    let lines = statements.map(str::to_owned).chain(ask.parameters.iter().enumerate().map(parameter));
    Wording { head: Vec::new(), body: lines.collect::<Vec<_>>().join("\n").into_bytes() }
}

impl Drop for Postgres {
    /// Waits a moment until what was given up is cancelled, for a database goes on with what nobody waits for; then says goodbye on
    /// every connection that can hear it.
    fn drop(&mut self) {
        self.pools.iter_mut().for_each(|pool| pool.size = 0);
        let (end, mut heard) = (self.turns.clock.now() + GRACE, Vec::new());
        let gives = |connections: &Slab<Connection>| {
            connections.iter().any(|(_, connection)| matches!(connection.state, State::Giving { .. }))
        };
        while gives(&self.connections) && self.turns.clock.now() < end {
            turn(self, end, &mut heard);
        }
        for (_, connection) in &mut self.connections {
            if matches!(connection.state, State::Free) {
                frontend::terminate(&mut connection.unwritten);
                // Who does not listen does not get it.
                let _ = connection.write();
            }
        }
    }
}
