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
mod giving;
mod hearing;
mod hook;
mod login;
mod pools;
mod rows;
mod setup;
mod statements;

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use offered_clock::{Clock, Poller, Ready};
use offered_model::{Event, Instant, Nanos, Outcome, Reason};
use slab::Slab;

use self::connection::{Connection, Exchange, State};
use self::hook::Hook;
use self::pools::Pool;
pub(crate) use self::setup::Setup;
use super::Failure;
use super::turns::{Answering, Served, Turns, turn, under_way_since};
use super::wire::{Heard, Wire, Wording};
use crate::Error;
use crate::ask::{Ask, Reply};

/// How much one read takes at most.
const BUFFER: usize = 64 * 1024;
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
            hook: setup.hook.clone().map(|command| Hook::new(command, poller.waker())).transpose()?,
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

    fn under_way_since(&mut self, instant: Instant) -> Option<Event> {
        under_way_since::<Vec<Heard>, _>(self, instant)
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
