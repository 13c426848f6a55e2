//! PostgreSQL over TLS, TCP or a Unix socket: the extended query protocol, version 3.0.
//!
//! All connections of the workload's pools are opened before the run, and each connection prepares every statement.
//! A request takes an idle connection of its pool. Without one it waits in a FIFO queue, as in the connection pool
//! of an application; the time spent there is recorded (`waited`). A connection that breaks is opened again.
//!
//! Messages, passwords and SCRAM are implemented by the `postgres-protocol` crate.

mod cancel;
mod connection;
mod hook;
mod login;
mod messages;
mod pools;
mod protocol;
mod rows;
mod setup;
mod statements;

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use offered_base::{Instant, Nanos};
use offered_events::{Event, Outcome, Reason};
use offered_io::{Clock, Ready};
use slab::Slab;

use self::connection::{Connection, Exchange, State};
use self::hook::Hook;
use self::pools::Pool;
pub(crate) use self::setup::Setup;
use super::event_loop::{EventLoop, PendingExchange, SocketHandler, in_flight_since, next_turn, run_once};
use super::protocol_client::{Completion, ProtocolClient, RequestText};
use super::unscripted::{Requests, Unscripted};
use super::{Client, Failure, ProtocolSetup, ThreadResources};
use crate::Error;
use crate::message::{OutgoingRequest, Response};

/// Maximum number of bytes of one read.
const BUFFER: usize = 64 * 1024;
/// Interval at which a stop is polled while connections are opened.
const POLL_INTERVAL: Nanos = Nanos::from_millis(100);

/// The connections of one thread.
pub(crate) struct Postgres {
    setup: Setup,
    event_loop: EventLoop,
    pools: Vec<Pool>,
    connections: Slab<Connection>,
    exchanges: Slab<Exchange>,
    hook: Option<Hook>,
    opened: u32,
    serial: u64,
    buffer: Box<[u8]>,
    /// The first connection that failed to open, and whether its stream was open by then.
    refused: Option<(Failure, bool)>,
}

impl ProtocolSetup for Setup {
    type Client = Postgres;
    type Unscripted = Unscripted<Postgres>;

    /// Logs in once, prepares all statements and disconnects.
    fn preflight(&self) -> Result<(), Error> {
        let once = Self { pools: [(String::new(), 1)].into(), hook: None, ..self.clone() };
        once.connect(ThreadResources::for_single_requests(&AtomicBool::new(false))?).map(drop)
    }

    fn connect(self, thread: ThreadResources<'_>) -> Result<Postgres, Error> {
        Postgres::open_pools(self, thread)
    }

    fn unscripted(client: Postgres, requests: Requests, worker: u16) -> Unscripted<Postgres> {
        Unscripted::new(client, requests, worker)
    }
}

impl Postgres {
    /// When a connection is next opened again.
    fn retry_at(&self) -> Option<Instant> {
        self.pools.iter().filter(|pool| pool.live < pool.size).filter_map(|pool| pool.retry_at).min()
    }

    /// Opens the connections of one thread. A stop during that leaves some unopened.
    fn open_pools(setup: Setup, thread: ThreadResources<'_>) -> Result<Self, Error> {
        let ThreadResources { poller, part_of_pool, spin, limits, stop, .. } = thread;
        let pool = |(_, connections): &(String, u32)| Pool {
            size: part_of_pool(*connections),
            live: 0,
            idle: Vec::new(),
            queue: VecDeque::new(),
            retry_at: None,
        };
        let mut client = Self {
            hook: setup.hook.clone().map(|command| Hook::new(command, poller.waker())).transpose()?,
            event_loop: EventLoop::new(poller, spin, (setup.connect_timeout, setup.response_timeout), limits),
            pools: setup.pools.iter().map(pool).collect(),
            setup,
            connections: Slab::new(),
            exchanges: Slab::new(),
            opened: 0,
            serial: 0,
            buffer: vec![0; BUFFER].into(),
            refused: None,
        };
        let mut completions = Vec::new();
        (0..client.pools.len()).for_each(|pool| client.fill(pool, &mut completions));
        while client.pools.iter().any(|pool| pool.idle.len() < pool.size as usize) && !stop.load(Relaxed) {
            if let Some(((outcome, reason), was_open)) = client.refused.take() {
                let (address, reason) = (client.setup.route.addresses.first(), reason.to_string());
                return Err(match was_open {
                    true => Error::Database { address, reason },
                    false => client.setup.route.addresses.connect_error(outcome, reason),
                });
            }
            let deadline = client.event_loop.clock.now() + POLL_INTERVAL;
            client.wait(deadline, &mut completions);
        }
        Ok(client)
    }
}

impl SocketHandler<Vec<Completion>> for Postgres {
    type Connection = Connection;
    type Exchange = Exchange;

    fn parts(&mut self) -> (&mut EventLoop, &Slab<Connection>, &Slab<Exchange>) {
        (&mut self.event_loop, &self.connections, &self.exchanges)
    }

    fn on_ready(&mut self, ready: Ready, completions: &mut Vec<Completion>) -> usize {
        let number = self.connections.get(ready.token).map(|connection| connection.number);
        match self.on_socket_ready(ready, completions) {
            Ok(read) => read,
            Err(failure) => {
                if self.connections.get(ready.token).map(|connection| connection.number) == number {
                    self.fail(ready.token, failure, completions);
                }
                0
            }
        }
    }

    fn on_connect_timeout(&mut self, key: usize, reason: Failure, completions: &mut Vec<Completion>) {
        self.fail(key, reason, completions);
    }

    fn on_response_timeout(&mut self, key: usize, within: Nanos, completions: &mut Vec<Completion>) {
        let Exchange { event, on, .. } = self.exchanges.remove(key);
        let now = self.event_loop.clock.now();
        let (reason, waited) = match on {
            Some(_) => (Reason::ResponseTimeout(within), event.waited),
            None => (Reason::PoolTimeout(within), event.sent.map(|sent| sent.until(now))),
        };
        let error = Some(reason);
        completions
            .push(Completion::Done(Event { done: Some(now), waited, outcome: Outcome::Timeout, error, ..event }, None));
        if let Some(connection) = on {
            self.cancel_exchange(connection, completions);
        }
    }
}

impl Client<Vec<Completion>> for Postgres {
    fn now(&self) -> Instant {
        self.event_loop.clock.now()
    }

    fn wait(&mut self, deadline: Instant, completions: &mut Vec<Completion>) {
        let retry_at = self.retry_at();
        run_once(self, retry_at.map_or(deadline, |retry_at| deadline.min(retry_at)), completions);
        self.process_hook_results(completions);
        if retry_at.is_some() {
            (0..self.pools.len()).for_each(|pool| self.fill(pool, completions));
        }
    }

    fn close_session(&mut self, _session: u64) {}

    fn cancel_all(&mut self, completions: &mut Vec<Completion>) {
        self.pools.iter_mut().for_each(|pool| pool.size = 0);
        for exchange in mem::take(&mut self.exchanges) {
            let Exchange { event, on, .. } = exchange.1;
            completions
                .push(Completion::Done(Event { outcome: Outcome::Cut, error: Some(Reason::Stopped), ..event }, None));
            if let Some(connection) = on {
                self.cancel_exchange(connection, completions);
            }
        }
    }

    fn in_flight_since(&mut self, instant: Instant) -> Option<Event> {
        in_flight_since::<Vec<Completion>, _>(self, instant)
    }

    fn idle(&self) -> Nanos {
        self.event_loop.idle
    }
}

impl ProtocolClient for Postgres {
    fn start_at(&mut self, clock: Clock) {
        self.event_loop.start_at(clock);
    }

    fn begin(&mut self, outgoing: &Arc<OutgoingRequest>, event: Event, completions: &mut Vec<Completion>) -> Instant {
        let pool = self.setup.statements.pool(event.label);
        self.serial += 1;
        let (sent, serial) = (self.event_loop.clock.now(), self.serial);
        let response = Box::new(Response { body_limit: outgoing.body_limit, ..Response::default() });
        let event = Event { sent: Some(sent), ..event };
        let exchange = Exchange { event, serial, outgoing: outgoing.clone(), on: None, step: 0, error: None, response };
        let exchange = self.exchanges.insert(exchange);
        let exchanges = &self.exchanges;
        let waits = |key, serial| exchanges.get(key).is_some_and(|e: &Exchange| e.is_pending(serial));
        self.event_loop.start_timeout(&exchanges[exchange].event, (exchange, serial), exchanges.len(), waits);
        while let Some((key, number)) = self.pools[pool].idle.pop() {
            if self.connections.get(key).is_some_and(|c| c.number == number && matches!(c.state, State::Free)) {
                self.assign(key, exchange, completions);
                return sent;
            }
        }
        self.pools[pool].queue.push_back((exchange, serial));
        sent
    }

    fn next_turn(&mut self) -> Instant {
        next_turn::<Vec<Completion>, _>(self).min(self.retry_at().unwrap_or(Instant::MAX))
    }

    fn request_text(&self, outgoing: &OutgoingRequest, event: &Event) -> RequestText {
        request_text(self.setup.statements.texts(event.label), outgoing)
    }
}

/// The text of a request: its statements and their parameters.
pub(super) fn request_text<'t>(statements: impl Iterator<Item = &'t str>, outgoing: &OutgoingRequest) -> RequestText {
    let parameter = |(number, value): (usize, &Option<String>)| {
        format!("-- parameter {}: {}", number + 1, value.as_deref().unwrap_or("null"))
    };
    let lines = statements.map(str::to_owned).chain(outgoing.parameters.iter().enumerate().map(parameter));
    RequestText { head: Vec::new(), body: lines.collect::<Vec<_>>().join("\n").into_bytes() }
}
