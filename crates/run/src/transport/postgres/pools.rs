//! The connection pools, and the queue of each.

use std::collections::VecDeque;

use bytes::BytesMut;
use offered_base::{Instant, Nanos};
use offered_events::{Event, Outcome};
use postgres_protocol::message::frontend;

use super::Postgres;
use super::connection::{Connection, Exchange, State};
use super::login::Login;
use super::messages::MessageReader;
use crate::transport::Failure;
use crate::transport::event_loop::{ConnectionSlot, PendingExchange};
use crate::transport::protocol_client::Completion;
use crate::transport::socket::dial_failure;
use crate::transport::stream::Stream;

/// Pause after a failed attempt to connect.
const PAUSE: Nanos = Nanos::from_millis(100);

/// The connections that requests of one class share.
pub(super) struct Pool {
    /// The target number of connections on this thread, and the present number, including those being opened.
    pub(super) size: u32,
    pub(super) live: u32,
    /// Idle connections, the last used on top: (key, number). Entries of closed connections are skipped.
    pub(super) idle: Vec<(usize, u32)>,
    /// Waiting requests: (key, serial). Entries of cancelled requests are skipped.
    pub(super) queue: VecDeque<(usize, u64)>,
    /// After a failed attempt to connect: when the next is made. Only one attempt is made at a time, until one
    /// succeeds.
    pub(super) retry_at: Option<Instant>,
}

impl Postgres {
    /// Opens the missing connections of a pool: all of them, or one if the last attempt failed.
    pub(super) fn fill(&mut self, pool: usize, completions: &mut Vec<Completion>) {
        let now = self.event_loop.clock.now();
        let Pool { size, live, retry_at, .. } = &self.pools[pool];
        let missing = size.saturating_sub(*live);
        let tries = match retry_at {
            None => missing,
            Some(retry_at) if now >= *retry_at => missing.min(1),
            Some(_) => 0,
        };
        for _ in 0..tries {
            if let Err(failure) = self.connect(pool, completions) {
                self.connect_failed(pool, failure, false, completions);
                break;
            }
        }
        if tries > 0
            && let Some(retry_at) = &mut self.pools[pool].retry_at
        {
            *retry_at = now + PAUSE;
        }
    }

    /// Starts to open a connection of a pool.
    fn connect(&mut self, pool: usize, completions: &mut Vec<Completion>) -> Result<(), Failure> {
        let stream = Stream::dial(&self.setup.route, &self.event_loop.clock)?;
        let key = self.add(stream, pool, State::Connecting)?;
        self.pools[pool].live += 1;
        if self.connections[key].stream.is_open()
            && let Err(failure) = self.start_login(key)
        {
            self.fail(key, failure, completions);
        }
        Ok(())
    }

    /// Registers a new stream and starts its connect timeout; returns its key.
    pub(super) fn add(&mut self, stream: Stream, pool: usize, state: State) -> Result<usize, Failure> {
        let key = self.connections.vacant_key();
        self.event_loop.poller.add(&stream, key).map_err(dial_failure)?;
        let number = self.opened;
        self.opened += 1;
        let (reader, unwritten) = (MessageReader::default(), BytesMut::new());
        let (backend, carried, opening) = ((0, 0), 0, 0);
        self.connections.insert(Connection {
            stream,
            number,
            pool,
            state,
            reader,
            unwritten,
            backend,
            carried,
            opening,
        });
        self.connections[key].stream.start_race(&self.event_loop.poller, key, &self.setup.route.addresses);
        self.start_connect_timeout(key);
        Ok(key)
    }

    /// Starts the connect timeout of a connection.
    pub(super) fn start_connect_timeout(&mut self, key: usize) {
        self.serial += 1;
        let (now, serial) = (self.event_loop.clock.now(), self.serial);
        self.connections[key].opening = serial;
        let connections = &self.connections;
        let opening = |key, serial| connections.get(key).is_some_and(|c: &Connection| c.is_connecting(serial));
        self.event_loop.connect_deadlines.push(now, key, serial, connections.len(), opening);
    }

    /// Sends the startup message, or the cancel request, on an open stream.
    pub(super) fn start_login(&mut self, key: usize) -> Result<(), Failure> {
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

    /// A connection is ready for requests: it takes the first in the queue.
    pub(super) fn mark_idle(&mut self, key: usize, completions: &mut Vec<Completion>) {
        let connection = &mut self.connections[key];
        (connection.state, connection.opening) = (State::Free, 0);
        let (number, pool) = (connection.number, connection.pool);
        while let Some((exchange, serial)) = self.pools[pool].queue.pop_front() {
            if self.exchanges.get(exchange).is_some_and(|waiting| waiting.is_pending(serial) && waiting.on.is_none()) {
                return self.assign(key, exchange, completions);
            }
        }
        self.pools[pool].idle.push((key, number));
    }

    /// Assigns an exchange to an idle connection.
    pub(super) fn assign(&mut self, key: usize, exchange: usize, completions: &mut Vec<Completion>) {
        let (connection, carried) = (&mut self.connections[key], &mut self.exchanges[exchange]);
        let now = self.event_loop.clock.now();
        connection.state = State::Busy(exchange);
        carried.on = Some(key);
        carried.event.waited = carried.event.sent.map(|sent| sent.until(now));
        (carried.event.connection, carried.event.reused) = (connection.number, connection.carried > 0);
        connection.carried += 1;
        if let Err(failure) = self.execute(key, exchange) {
            self.fail(key, failure, completions);
        }
    }

    /// A connection could not be opened. If the pool has no other, the requests in its queue fail.
    fn connect_failed(&mut self, pool: usize, failure: Failure, was_open: bool, completions: &mut Vec<Completion>) {
        let now = self.event_loop.clock.now();
        let pool = &mut self.pools[pool];
        pool.retry_at = Some(now + PAUSE);
        if pool.live == 0 {
            for (exchange, serial) in pool.queue.drain(..) {
                if self.exchanges.get(exchange).is_some_and(|e| e.is_pending(serial) && e.on.is_none()) {
                    let Exchange { event, .. } = self.exchanges.remove(exchange);
                    let waited = event.sent.map(|sent| sent.until(now));
                    let (outcome, reason) = failure.clone();
                    let event = Event { done: Some(now), waited, outcome, error: Some(reason), ..event };
                    completions.push(Completion::Done(event, None));
                }
            }
        }
        self.refused.get_or_insert((failure, was_open));
    }

    /// A connection has failed, and so has its exchange. Another connection is opened instead.
    pub(super) fn fail(&mut self, key: usize, failure: Failure, completions: &mut Vec<Completion>) {
        let connection = self.connections.remove(key);
        self.event_loop.poller.remove_closing(&connection.stream);
        let pool = connection.pool;
        match connection.state {
            State::Cancel { of: (key, number) } => {
                // The server closes the connection once it has processed the cancel request. Any other failure means
                // that it did not.
                let was_heard = failure.0 == Outcome::Reset;
                let Some(other) = self.connections.get_mut(key).filter(|other| other.number == number) else { return };
                match &mut other.state {
                    State::Cancelling { cancelled, .. } if was_heard => *cancelled = true,
                    State::Cancelling { .. } => return self.fail(key, failure, completions),
                    _ => return,
                }
                return self.cancel_progressed(key, completions);
            }
            State::Busy(exchange) => {
                let Exchange { event, error, .. } = self.exchanges.remove(exchange);
                let (outcome, reason) = match error {
                    // The server sent an error and closed.
                    Some(error) => (Outcome::SqlError, error),
                    None => failure,
                };
                let now = self.event_loop.clock.now();
                let event = Event { bytes_out: event.bytes_out - connection.unwritten.len() as u64, ..event };
                completions
                    .push(Completion::Done(Event { done: Some(now), outcome, error: Some(reason), ..event }, None));
            }
            State::Connecting | State::Login(_) | State::AwaitingHook => {
                self.pools[pool].live -= 1;
                let was_open = connection.stream.is_open();
                return self.connect_failed(pool, failure, was_open, completions);
            }
            State::Free | State::Cancelling { .. } => {}
        }
        self.pools[pool].live -= 1;
        self.fill(pool, completions);
    }
}
