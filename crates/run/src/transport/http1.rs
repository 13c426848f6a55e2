//! HTTP/1.1 over TCP, TLS or a Unix socket: one request at a time per connection, one write and one read per exchange.

mod answer;
mod connection;
mod head;
mod request;

use std::collections::HashMap;
use std::sync::Arc;

use offered_clock::{Clock, Poller, Ready};
use offered_model::workload::{Reuse, Workload};
use offered_model::{Event, Instant, Launch, Nanos, Outcome, Reason};
use slab::Slab;

pub use self::answer::read_answer;
use self::answer::{Answer, Progress};
use self::connection::{Connection, Exchange};
use self::request::Compiled;
pub(super) use self::request::Host;
use super::alarms::{Alarms, HOLD};
use super::route::Route;
use super::socket::{Read, broken, undialed};
use super::stream::Stream;
use super::turns::{Answering, Opening, Served, Turns, turn, under_way_since};
use super::wire::{Heard, Wire, Wording};
use super::{Failure, Transport, begun};
use crate::Error;
use crate::ask::Ask;

/// How much one read takes at most.
const BUFFER: usize = 64 * 1024;
/// Reads of one connection in a turn.
const TURN: usize = 4;
/// Closed connections are swept out of the free ones when they are more than half of them, and those more than this.
const SWEEP: usize = 1024;
/// A session has at most so many connections beside its first.
const MOST_LANES: u8 = 63;

/// What all threads of a run share: where to connect, what to send, and within which limits.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    route: Arc<Route>,
    requests: Arc<[Compiled]>,
    host: Arc<Host>,
    reuse: Reuse,
    connect_timeout: Nanos,
    response_timeout: Nanos,
}

impl Setup {
    /// For the target of `workload`, which `route` leads to.
    ///
    /// # Errors
    /// No target, or a request that cannot be made.
    pub(crate) fn new(workload: &Workload, route: Arc<Route>) -> Result<Self, Error> {
        let target = workload.target().ok_or(Error::NoTarget)?;
        // Those of a script are made one by one.
        let plain = if workload.is_scripted() { &[][..] } else { workload.requests() };
        let requests: Result<Vec<_>, _> = plain.iter().map(|r| Compiled::new(r, target, workload.seed())).collect();
        Ok(Self {
            requests: requests?.into(),
            host: Arc::new(Host::new(target)),
            route,
            reuse: target.reuse(),
            connect_timeout: target.connect_timeout(),
            response_timeout: target.response_timeout(),
        })
    }
}

/// One thread's connections.
pub(crate) struct Http1 {
    setup: Setup,
    turns: Turns,
    worker: u16,
    /// At most so many connections at once.
    limit: usize,
    connections: Slab<Connection>,
    /// Connections without an exchange, the last used on top: (key, number). Closed ones are passed over.
    free: Vec<(usize, u32)>,
    /// Sessions' own connections: the first of each, and those beside it.
    owned: HashMap<u64, (usize, u32)>,
    beside: HashMap<(u64, u8), (usize, u32)>,
    opened: u32,
    serial: u64,
    /// When bodies that are held back go out unasked.
    holding: Alarms,
    buffer: Box<[u8]>,
    scratch: Vec<u8>,
}

/// Where exchanges go when they are over. Who only wants events pays for nothing else: which it is, is known when this is
/// compiled.
trait Ear {
    /// Whether it wants to know what answers say.
    const LISTENS: bool;

    /// Takes the event of an exchange that is over, and its answer as far as it came.
    fn ended(&mut self, event: Event, answer: Answer);

    /// Is told of the first byte of an answer.
    fn begins(&mut self, _event: &Event) {}
}

impl Ear for Vec<Event> {
    const LISTENS: bool = false;

    #[inline]
    fn ended(&mut self, event: Event, _answer: Answer) {
        self.push(event);
    }
}

impl Ear for Vec<Heard> {
    const LISTENS: bool = true;

    fn ended(&mut self, event: Event, answer: Answer) {
        let reply = matches!(event.outcome, Outcome::Ok | Outcome::HttpError).then(|| answer.into_reply()).flatten();
        self.push(Heard::Ended(event, reply));
    }

    fn begins(&mut self, event: &Event) {
        self.push(Heard::FirstByte { session: event.session, object: event.object });
    }
}

/// What an exchange says.
trait Say {
    /// The bytes of the request of `event`, made in `scratch` where they must be made.
    fn bytes<'a>(&'a self, requests: &'a [Compiled], event: &Event, scratch: &'a mut Vec<u8>) -> &'a [u8];

    /// How many of these, at their end, are held back until the server wants them.
    #[inline]
    fn held(&self) -> usize {
        0
    }
}

/// The workload's request as it was compiled, with this number in the run.
struct Prepared(u64);

impl Say for Prepared {
    #[inline]
    fn bytes<'a>(&'a self, requests: &'a [Compiled], event: &Event, scratch: &'a mut Vec<u8>) -> &'a [u8] {
        requests[usize::from(event.label)].bytes((event.session, event.step), self.0, scratch)
    }
}

/// These bytes, of which so many at the end are held back.
struct Given(Vec<u8>, usize);

impl Say for Given {
    fn bytes<'a>(&'a self, _: &'a [Compiled], _: &Event, _: &'a mut Vec<u8>) -> &'a [u8] {
        &self.0
    }

    fn held(&self) -> usize {
        self.1
    }
}

impl Http1 {
    /// The connections of `worker`, at most `limit` of them, watched by `poller`, waiting without sleep for the last `spin`
    /// before a launch.
    pub(crate) fn new(
        setup: Setup,
        clock: Clock,
        poller: Poller,
        worker: u16,
        limit: Option<u32>,
        spin: Nanos,
    ) -> Self {
        Self {
            turns: Turns::new(clock, poller, spin, setup.connect_timeout, setup.response_timeout),
            setup,
            worker,
            limit: limit.map_or(usize::MAX, |limit| limit as usize),
            connections: Slab::new(),
            free: Vec::new(),
            owned: HashMap::new(),
            beside: HashMap::new(),
            opened: 0,
            serial: 0,
            holding: Alarms::default(),
            buffer: vec![0; BUFFER].into(),
            scratch: Vec::new(),
        }
    }

    /// The connection that `session` may use now, in this of its lanes; `None` when a new one must be opened.
    #[inline]
    fn reusable(&mut self, session: u64, lane: u8) -> Option<usize> {
        let live = |connections: &Slab<Connection>, (key, number): (usize, u32)| {
            connections.get(key).is_some_and(|c| c.number == number && c.exchange.is_none()).then_some(key)
        };
        match self.setup.reuse {
            Reuse::Fresh => None,
            Reuse::PerSession => {
                let mine = if lane == 0 { self.owned.get(&session) } else { self.beside.get(&(session, lane)) };
                mine.and_then(|mine| live(&self.connections, *mine))
            }
            Reuse::Pool => {
                while let Some(candidate) = self.free.pop() {
                    if let Some(key) = live(&self.connections, candidate) {
                        return Some(key);
                    }
                }
                None
            }
        }
    }

    /// Writes the exchange's request on an open connection.
    fn transmit(&mut self, key: usize, say: &impl Say) -> Result<(), Failure> {
        let connection = &mut self.connections[key];
        let Some(exchange) = &mut connection.exchange else { return Ok(()) };
        let bytes = say.bytes(&self.setup.requests, &exchange.event, &mut self.scratch);
        exchange.event.bytes_out = bytes.len() as u64;
        let (now, held) = bytes.split_at(bytes.len() - say.held());
        if !held.is_empty() {
            connection.held = Some(held.into());
        }
        connection.write(now).map_err(broken)?;
        if say.held() > 0 {
            self.hold(key);
        }
        Ok(())
    }

    /// From now on the body of an exchange is held back for a while.
    fn hold(&mut self, key: usize) {
        let connections = &self.connections;
        let Some(exchange) = &connections[key].exchange else { return };
        let (until, serial) = (self.turns.clock.now() + HOLD, exchange.serial);
        let holds = |key, serial| connections.get(key).is_some_and(|c: &Connection| c.holds(serial));
        self.holding.push(until, key, serial, connections.len(), holds);
    }

    /// When the first of the bodies that are held back goes out unasked.
    fn held_until(&mut self) -> Instant {
        let connections = &self.connections;
        self.holding.first(|key, serial| connections.get(key).is_some_and(|c: &Connection| c.holds(serial)))
    }

    /// Lets the bodies out that were held back long enough.
    fn let_out(&mut self, ear: &mut impl Ear) {
        let now = self.turns.clock.now();
        while self.held_until() <= now {
            let connections = &self.connections;
            let holds = |key, serial| connections.get(key).is_some_and(|c: &Connection| c.holds(serial));
            let Some(key) = self.holding.over(now, holds) else { return };
            if let Err(error) = self.connections[key].let_out() {
                self.fail(key, broken(error), ear);
            }
        }
    }

    /// Opens a connection for the exchange; the request is written when it is open.
    fn open(&mut self, exchange: Exchange, lane: u8, say: &impl Say) -> Result<(), (Box<Exchange>, Failure)> {
        let failed = |exchange: Exchange, failure| Err((Box::new(exchange), failure));
        let stream = match Stream::dial(&self.setup.route, &self.turns.clock) {
            Ok(stream) => stream,
            Err(failure) => return failed(exchange, failure),
        };
        let open = stream.is_open();
        let (number, serial, session) = (self.opened, exchange.serial, exchange.event.session);
        self.opened += 1;
        let sent = exchange.event.sent.unwrap_or_default();
        let mut connection =
            Connection { stream, number, carried: 1, exchange: Some(exchange), unwritten: (Vec::new(), 0), held: None };
        if let Some(exchange) = &mut connection.exchange {
            exchange.event.connection = number;
            if !open {
                let bytes = say.bytes(&self.setup.requests, &exchange.event, &mut self.scratch);
                exchange.event.bytes_out = bytes.len() as u64;
                let (now, held) = bytes.split_at(bytes.len() - say.held());
                connection.unwritten = (now.to_vec(), 0);
                connection.held = (!held.is_empty()).then(|| held.into());
            }
        }
        let key = self.connections.insert(connection);
        if let Err(error) = self.turns.poller.add(&self.connections[key].stream, key) {
            return match self.connections.remove(key).into_exchange() {
                Some(exchange) => failed(exchange, undialed(error)),
                None => Ok(()),
            };
        }
        if self.setup.reuse == Reuse::PerSession {
            match lane {
                0 => self.owned.insert(session, (key, number)),
                _ => self.beside.insert((session, lane), (key, number)),
            };
        }
        if open {
            if let Err(failure) = self.transmit(key, say) {
                return match self.close(key) {
                    Some(exchange) => failed(exchange, failure),
                    None => Ok(()),
                };
            }
        } else {
            let connections = &self.connections;
            let waits = |key, serial| connections.get(key).is_some_and(|c: &Connection| c.is_opening(serial));
            self.turns.connecting.push(sent, key, serial, connections.len(), waits);
        }
        self.expect_answer(sent, key, serial);
        Ok(())
    }

    /// From now on the answer is due within its timeout.
    fn expect_answer(&mut self, sent: Instant, key: usize, serial: u64) {
        let connections = &self.connections;
        let waits = |key, serial| connections.get(key).is_some_and(|c: &Connection| c.is_at(serial));
        self.turns.answering.push(sent, key, serial, connections.len(), waits);
    }

    /// Closes a connection; what it was carrying.
    fn close(&mut self, key: usize) -> Option<Exchange> {
        let connection = self.connections.remove(key);
        // A socket the poller does not know is closed all the same.
        let _ = self.turns.poller.remove(&connection.stream);
        connection.into_exchange()
    }

    /// Ends the exchange of a connection with a failure, and the connection with it.
    fn fail(&mut self, key: usize, (outcome, why): Failure, ear: &mut impl Ear) {
        let now = self.turns.clock.now();
        if let Some(exchange) = self.close(key) {
            let Exchange { event, answer, .. } = exchange;
            ear.ended(Event { done: Some(now), outcome, error: Some(why), ..event }, answer);
        }
    }

    /// Connects, writes and reads on a socket that is ready; how many bytes were read.
    fn go_on(&mut self, ready: Ready, ear: &mut impl Ear) -> usize {
        let key = ready.token;
        let Some(mut connection) = self.connections.get_mut(key) else { return 0 };
        let mut writable = ready.writable;
        if !connection.stream.is_open() {
            match connection.stream.go_on(&self.setup.route, ready.writable || ready.closed, &self.turns.clock) {
                Ok(false) => return 0,
                Ok(true) => writable = true,
                Err(failure) => {
                    self.fail(key, failure, ear);
                    return 0;
                }
            }
            if let Some(exchange) = &mut connection.exchange {
                exchange.event.handshake = connection.stream.handshake;
            }
            if connection.held.is_some() {
                self.hold(key);
                connection = &mut self.connections[key];
            }
        }
        if writable
            && connection.is_unwritten()
            && let Err(error) = connection.write_on()
        {
            // A server may answer (and close) before it has read everything: what it said is read first.
            if !ready.readable {
                self.fail(key, broken(error), ear);
                return 0;
            }
        }
        if ready.readable { self.receive(key, ready.closed, ear) } else { 0 }
    }

    /// Reads what has come, as far as one turn goes; to the very end when the other side may have closed. How much that was.
    fn receive<E: Ear>(&mut self, key: usize, to_the_end: bool, ear: &mut E) -> usize {
        let mut taken = 0;
        for _ in 0..TURN {
            let connection = &mut self.connections[key];
            let (read, drained) = match connection.stream.read(&mut self.buffer) {
                Ok(Read::Some { bytes, drained }) => (bytes, drained),
                Ok(Read::End) => (0, true),
                Ok(Read::Nothing { drained: true }) => return taken,
                Ok(Read::Nothing { drained: false }) => continue,
                Err(failure) => {
                    self.fail(key, failure, ear);
                    return taken;
                }
            };
            taken += read;
            let now = self.turns.clock.now();
            let Some(exchange) = &mut connection.exchange else {
                // A free connection that ends, or speaks unasked, is of no more use.
                self.close(key);
                return taken;
            };
            if read == 0 {
                match exchange.answer.end() {
                    Ok(()) => self.complete(key, false, now, ear),
                    Err(why) => self.fail(key, (Outcome::Reset, why), ear),
                }
                return taken;
            }
            // Who holds a body back is first told whether to send it: that is not the answer's first byte.
            let holds = E::LISTENS && connection.held.is_some();
            if E::LISTENS && !holds && exchange.event.first_byte.is_none() {
                ear.begins(&exchange.event);
            }
            if holds {
                exchange.event.bytes_in += read as u64;
            } else {
                exchange.received(read, now);
            }
            // What `LISTENS` is cannot be said here, only matched: an associated constant is no parameter yet.
            let bytes = &self.buffer[..read];
            let progress =
                if E::LISTENS { exchange.answer.read::<true>(bytes) } else { exchange.answer.read::<false>(bytes) };
            if holds && exchange.answer.status() > 0 {
                exchange.event.first_byte = Some(now);
                ear.begins(&exchange.event);
            } else if holds
                && exchange.answer.continues()
                && let Err(error) = connection.let_out()
            {
                self.fail(key, broken(error), ear);
                return taken;
            }
            match progress {
                Ok(Progress::More) if drained && !to_the_end => return taken,
                Ok(Progress::More) => {}
                Ok(Progress::Done { keep }) => {
                    // Whoever expects a body takes the next request for it.
                    let lacks = connection.is_unwritten() || E::LISTENS && connection.held.is_some();
                    let keep = keep && !lacks && self.setup.reuse != Reuse::Fresh;
                    self.complete(key, keep, now, ear);
                    if !keep || (drained && !to_the_end) {
                        return taken;
                    }
                    // The end of a kept connection may already be there, and will not be told again.
                }
                Err(why) => {
                    let of = |exchange: &Exchange| exchange.answer.why(why);
                    let why = connection.exchange.as_ref().map_or(Reason::words(why), of);
                    self.fail(key, (Outcome::Malformed, why), ear);
                    return taken;
                }
            }
        }
        // Its end may have been told already.
        let ready = Ready { token: key, readable: true, writable: false, closed: true };
        self.turns.again(ready, self.connections[key].number);
        taken
    }

    /// The answer is complete.
    fn complete(&mut self, key: usize, keep: bool, now: Instant, ear: &mut impl Ear) {
        let exchange = if keep {
            let connection = &mut self.connections[key];
            let exchange = connection.exchange.take();
            if self.setup.reuse == Reuse::Pool {
                self.free.push((key, connection.number));
                self.sweep_free();
            }
            exchange
        } else {
            self.close(key)
        };
        if let Some(exchange) = exchange {
            let status = exchange.answer.status();
            let outcome = if status < 400 { Outcome::Ok } else { Outcome::HttpError };
            let Exchange { event, answer, .. } = exchange;
            ear.ended(Event { done: Some(now), status, outcome, ..event }, answer);
        }
    }

    /// Takes closed connections out of the free ones, when they are most of them: those used last hide them.
    fn sweep_free(&mut self) {
        if self.free.len() > SWEEP && self.free.len() > 2 * self.connections.len() {
            let connections = &self.connections;
            self.free.retain(|(key, number)| connections.get(*key).is_some_and(|c| c.number == *number));
        }
    }

    /// Begins an exchange; the time when it was sent.
    #[inline]
    fn begin_with(&mut self, event: Event, answer: Answer, lane: u8, say: &impl Say, ear: &mut impl Ear) -> Instant {
        let reusable = self.reusable(event.session, lane);
        if reusable.is_none() && self.connections.len() >= self.limit {
            let why = Reason::Connections(self.limit as u64);
            ear.ended(Event { error: Some(why), ..event }, answer);
            return self.turns.clock.now();
        }
        self.serial += 1;
        let sent = self.turns.clock.now();
        let event = Event { sent: Some(sent), ..event };
        let mut exchange = Exchange { event, answer, serial: self.serial };
        if let Some(key) = reusable {
            let connection = &mut self.connections[key];
            exchange.event.connection = connection.number;
            exchange.event.reused = connection.carried > 0;
            connection.carried += 1;
            connection.exchange = Some(exchange);
            match self.transmit(key, say) {
                Ok(()) => self.expect_answer(sent, key, self.serial),
                Err(failure) => self.fail(key, failure, ear),
            }
        } else if let Err((exchange, (outcome, why))) = self.open(exchange, lane, say) {
            let error = Some(why);
            let Exchange { event, answer, .. } = *exchange;
            let event = match outcome {
                Outcome::Unsent => Event { sent: None, error, ..event },
                _ => Event { done: Some(self.turns.clock.now()), outcome, error, ..event },
            };
            ear.ended(event, answer);
        }
        sent
    }

    /// Closes what was a session's own.
    fn let_go(&mut self, session: u64) {
        let first = self.owned.remove(&session);
        self.close_if_same(first);
        if !self.beside.is_empty() {
            for lane in 1..=MOST_LANES {
                let beside = self.beside.remove(&(session, lane));
                self.close_if_same(beside);
            }
        }
    }

    fn close_if_same(&mut self, connection: Option<(usize, u32)>) {
        if let Some((key, number)) = connection
            && self.connections.get(key).is_some_and(|c| c.number == number)
        {
            self.close(key);
        }
    }

    fn give_up(&mut self, ear: &mut impl Ear) {
        for connection in self.connections.drain() {
            let _ = self.turns.poller.remove(&connection.stream);
            if let Some(Exchange { event, answer, .. }) = connection.into_exchange() {
                let error = Some(Reason::Stopped);
                ear.ended(Event { outcome: Outcome::Cut, error, ..event }, answer);
            }
        }
    }
}

impl<E: Ear> Served<E> for Http1 {
    type Connection = Connection;
    type Exchange = Connection;

    #[inline]
    fn parts(&mut self) -> (&mut Turns, &Slab<Connection>, &Slab<Connection>) {
        (&mut self.turns, &self.connections, &self.connections)
    }

    #[inline]
    fn serve(&mut self, ready: Ready, ear: &mut E) -> usize {
        self.go_on(ready, ear)
    }

    fn not_connected(&mut self, key: usize, why: Failure, ear: &mut E) {
        self.fail(key, why, ear);
    }

    fn not_answered(&mut self, key: usize, within: Nanos, ear: &mut E) {
        self.fail(key, (Outcome::Timeout, Reason::NotAnswered(within)), ear);
    }
}

impl Transport for Http1 {
    #[inline]
    fn now(&self) -> Instant {
        self.turns.clock.now()
    }

    fn send(&mut self, launch: Launch, label: u16, sequence: u64, events: &mut Vec<Event>) -> Instant {
        let answer = Answer::new(self.setup.requests[usize::from(label)].head_only);
        self.begin_with(begun(launch, label, self.worker), answer, 0, &Prepared(sequence), events)
    }

    fn wait(&mut self, deadline: Instant, events: &mut Vec<Event>) {
        turn(self, deadline, events);
    }

    fn leave(&mut self, session: u64) {
        self.let_go(session);
    }

    fn abandon(&mut self, events: &mut Vec<Event>) {
        self.give_up(events);
    }

    fn under_way_since(&mut self, instant: Instant) -> Option<Event> {
        under_way_since::<Vec<Event>, _>(self, instant)
    }

    fn idle(&self) -> Nanos {
        self.turns.idle
    }
}

/// Under a script: the bytes of each request are made when it is sent, and answers are listened to.
impl Wire for Http1 {
    fn now(&self) -> Instant {
        self.turns.clock.now()
    }

    fn begin(&mut self, ask: &Arc<Ask>, event: Event, heard: &mut Vec<Heard>) -> Instant {
        let say = match request::bytes(ask, &self.setup.host, self.setup.reuse == Reuse::Fresh) {
            Ok(bytes) => Given(bytes, request::held(ask)),
            Err(why) => {
                heard.push(Heard::Ended(Event { worker: self.worker, error: Some(why.into()), ..event }, None));
                return self.turns.clock.now();
            }
        };
        let answer = Answer::kept(ask.method == "HEAD", ask.wanted);
        self.begin_with(Event { worker: self.worker, ..event }, answer, ask.lane, &say, heard)
    }

    fn wait(&mut self, deadline: Instant, heard: &mut Vec<Heard>) {
        let held_until = self.held_until();
        turn(self, deadline.min(held_until), heard);
        if held_until < Instant::MAX {
            self.let_out(heard);
        }
    }

    fn leave(&mut self, session: u64) {
        self.let_go(session);
    }

    fn abandon(&mut self, heard: &mut Vec<Heard>) {
        self.give_up(heard);
    }

    fn under_way_since(&mut self, instant: Instant) -> Option<Event> {
        under_way_since::<Vec<Heard>, _>(self, instant)
    }

    fn idle(&self) -> Nanos {
        self.turns.idle
    }

    fn wording(&self, ask: &Ask, _event: &Event) -> Wording {
        wording(ask, &self.setup.host, self.setup.reuse == Reuse::Fresh)
    }
}

/// How `ask` is said to `host`, on a connection that is closed after it or kept.
pub(super) fn wording(ask: &Ask, host: &Host, close: bool) -> Wording {
    request::bytes(ask, host, close).map_or_else(Wording::none, |bytes| Wording::of_http1(&bytes))
}
