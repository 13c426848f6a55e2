//! HTTP/1.1 over TCP or a Unix socket: one request at a time per connection, one write and one read per exchange.

mod addresses;
mod answer;
mod connection;
mod request;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::Arc;

use offered_clock::{Clock, Poller, Ready};
use offered_model::workload::{Reuse, Workload};
use offered_model::{Event, Launch, Nanos, Outcome};
use rustix::io::Errno;
use slab::Slab;

use self::addresses::Addresses;
use self::answer::{Answer, Progress};
use self::connection::{Connection, Exchange, dial};
use self::request::Compiled;
use super::{Transport, begun};
use crate::Error;

/// How much one read takes at most.
const BUFFER: usize = 64 * 1024;
/// Reads of one connection while launches, or other answers, may be waiting.
const TURN: usize = 4;
/// What has ended is swept out of a queue when it is more than half of it, and the queue longer than this.
const SWEEP: usize = 1024;
/// How long before a launch a precise wait stops sleeping: above nearly all the wake-up errors of a quiet machine.
pub(crate) const SPIN: Nanos = Nanos::from_micros(120);

/// What all threads of a run share: where to connect, what to send, and within which limits.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    addresses: Arc<Addresses>,
    requests: Arc<[Compiled]>,
    reuse: Reuse,
    connect_timeout: Nanos,
    response_timeout: Nanos,
}

impl Setup {
    /// For the target of `workload`.
    ///
    /// # Errors
    /// No target, a name that cannot be resolved, or a request that cannot be made.
    pub(crate) fn new(workload: &Workload) -> Result<Self, Error> {
        let target = workload.target.as_ref().ok_or(Error::NoTarget)?;
        let requests: Result<Vec<_>, _> = workload.requests.iter().map(|r| Compiled::new(r, target)).collect();
        Ok(Self {
            requests: requests?.into(),
            addresses: Arc::new(Addresses::resolve(&target.url.address, &target.sources)?),
            reuse: target.reuse,
            connect_timeout: target.connect_timeout,
            response_timeout: target.response_timeout,
        })
    }

    /// Connects once and hangs up.
    ///
    /// # Errors
    /// Nobody listens there.
    pub(crate) fn knock(&self) -> Result<(), Error> {
        self.addresses.knock(self.connect_timeout)
    }

    /// Resolves the target's name again.
    pub(crate) fn resolve_again(&self) {
        self.addresses.again();
    }
}

/// One thread's connections.
pub(crate) struct Http1 {
    setup: Setup,
    clock: Clock,
    poller: Poller,
    spin: Nanos,
    worker: u16,
    /// At most so many connections at once.
    limit: usize,
    connections: Slab<Connection>,
    /// Connections without an exchange, the last used on top: (key, number). Closed ones are passed over.
    free: Vec<(usize, u32)>,
    /// Sessions' own connections.
    owned: HashMap<u64, (usize, u32)>,
    /// When exchanges must be connected and answered: (instant, key, serial), each queue in order of time.
    connecting: VecDeque<(Nanos, usize, u64)>,
    answering: VecDeque<(Nanos, usize, u64)>,
    opened: u32,
    serial: u64,
    idle: Nanos,
    ready: Vec<Ready>,
    /// Connections (key, number) that had more to read than one turn takes: no event will announce them.
    again: Vec<(usize, u32)>,
    buffer: Box<[u8]>,
    scratch: Vec<u8>,
}

/// An attempt that failed: how, and in words.
type Failure = (Outcome, String);

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
            setup,
            clock,
            poller,
            spin,
            worker,
            limit: limit.map_or(usize::MAX, |limit| limit as usize),
            connections: Slab::new(),
            free: Vec::new(),
            owned: HashMap::new(),
            connecting: VecDeque::new(),
            answering: VecDeque::new(),
            opened: 0,
            serial: 0,
            idle: Nanos::ZERO,
            ready: Vec::new(),
            again: Vec::new(),
            buffer: vec![0; BUFFER].into(),
            scratch: Vec::new(),
        }
    }

    /// The connection that `session` may use now; `None` when a new one must be opened.
    fn reusable(&mut self, session: u64) -> Option<usize> {
        let live = |connections: &Slab<Connection>, (key, number): (usize, u32)| {
            connections.get(key).is_some_and(|c| c.number == number && c.exchange.is_none()).then_some(key)
        };
        match self.setup.reuse {
            Reuse::Fresh => None,
            Reuse::PerSession => self.owned.get(&session).and_then(|mine| live(&self.connections, *mine)),
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
    fn transmit(&mut self, key: usize, sequence: u64) -> Result<(), Failure> {
        let connection = &mut self.connections[key];
        let Some(exchange) = &mut connection.exchange else { return Ok(()) };
        let request = &self.setup.requests[usize::from(exchange.event.label)];
        let bytes = request.bytes(exchange.event.session, sequence, &mut self.scratch);
        exchange.event.bytes_out = bytes.len() as u64;
        connection.write(bytes).map_err(broken)
    }

    /// Opens a connection for the exchange; the request is written when it is open.
    fn open(&mut self, exchange: Exchange, sequence: u64) -> Result<(), (Box<Event>, Failure)> {
        let failed = |exchange: Exchange, failure| Err((Box::new(exchange.event), failure));
        let (place, source) = match self.setup.addresses.next() {
            Ok(place) => place,
            Err(why) => return failed(exchange, (Outcome::Dns, why)),
        };
        let (socket, open) = match dial(&place, source) {
            Ok(dialed) => dialed,
            Err(error) => return failed(exchange, undialed(&error)),
        };
        let (number, serial, session) = (self.opened, exchange.serial, exchange.event.session);
        self.opened += 1;
        let sent = exchange.event.sent.unwrap_or_default();
        let mut connection =
            Connection { socket, number, open, carried: 1, exchange: Some(exchange), unwritten: (Vec::new(), 0) };
        if let Some(exchange) = &mut connection.exchange {
            exchange.event.connection = number;
            if !open {
                let request = &self.setup.requests[usize::from(exchange.event.label)];
                let bytes = request.bytes(session, sequence, &mut self.scratch);
                exchange.event.bytes_out = bytes.len() as u64;
                connection.unwritten = (bytes.to_vec(), 0);
            }
        }
        let key = self.connections.insert(connection);
        if let Err(error) = self.poller.add(&self.connections[key].socket, key) {
            return match self.connections.remove(key).into_exchange() {
                Some(exchange) => failed(exchange, undialed(&error)),
                None => Ok(()),
            };
        }
        if self.setup.reuse == Reuse::PerSession {
            self.owned.insert(session, (key, number));
        }
        if open {
            if let Err(failure) = self.transmit(key, sequence) {
                return match self.close(key) {
                    Some(exchange) => failed(exchange, failure),
                    None => Ok(()),
                };
            }
        } else {
            sweep(&mut self.connecting, self.connections.len(), |key, serial| {
                self.connections.get(key).is_some_and(|c| c.is_at(serial) && !c.open)
            });
            self.connecting.push_back((sent + self.setup.connect_timeout, key, serial));
        }
        self.expect_answer(sent, key, serial);
        Ok(())
    }

    /// From now on the answer is due within its timeout.
    fn expect_answer(&mut self, sent: Nanos, key: usize, serial: u64) {
        sweep(&mut self.answering, self.connections.len(), |key, serial| {
            self.connections.get(key).is_some_and(|c| c.is_at(serial))
        });
        self.answering.push_back((sent + self.setup.response_timeout, key, serial));
    }

    /// Closes a connection; what it was carrying.
    fn close(&mut self, key: usize) -> Option<Exchange> {
        let connection = self.connections.remove(key);
        // A socket the poller does not know is closed all the same.
        let _ = self.poller.remove(&connection.socket);
        connection.into_exchange()
    }

    /// Ends the exchange of a connection with a failure, and the connection with it.
    fn fail(&mut self, key: usize, (outcome, why): Failure, events: &mut Vec<Event>) {
        let now = self.clock.now();
        if let Some(exchange) = self.close(key) {
            events.push(Event { done: Some(now), outcome, error: Some(why.into()), ..exchange.event });
        }
    }

    /// Does what a ready socket asks for.
    fn serve(&mut self, ready: Ready, events: &mut Vec<Event>) {
        let key = ready.token;
        let Some(connection) = self.connections.get_mut(key) else { return };
        if !connection.open {
            if !ready.writable && !ready.closed {
                return;
            }
            match connection.connected() {
                Ok(()) => connection.open = true,
                Err(error) => return self.fail(key, refused(&error), events),
            }
        }
        if ready.writable
            && !connection.unwritten.0.is_empty()
            && let Err(error) = connection.write_on()
        {
            // A server may answer (and close) before it has read everything: what it said is read first.
            if !ready.readable {
                return self.fail(key, broken(error), events);
            }
        }
        if ready.readable {
            self.receive(key, ready.closed, events);
        }
    }

    /// Reads what has come, as far as one turn goes; to the very end when the other side may have closed.
    fn receive(&mut self, key: usize, to_the_end: bool, events: &mut Vec<Event>) {
        for _ in 0..TURN {
            let connection = &mut self.connections[key];
            let read = match connection.read(&mut self.buffer) {
                Ok(read) => read,
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => continue,
                Err(error) => return self.fail(key, broken(error.into()), events),
            };
            let now = self.clock.now();
            let Some(exchange) = &mut connection.exchange else {
                // A free connection that ends, or speaks unasked, is of no more use.
                self.close(key);
                return;
            };
            if read == 0 {
                return match exchange.answer.end() {
                    Ok(()) => self.complete(key, false, now, events),
                    Err(why) => self.fail(key, (Outcome::Reset, why), events),
                };
            }
            exchange.received(read, now);
            match exchange.answer.read(&self.buffer[..read]) {
                Ok(Progress::More) if read < self.buffer.len() && !to_the_end => return,
                Ok(Progress::More) => {}
                Ok(Progress::Done { keep }) => {
                    let keep = keep && connection.unwritten.0.is_empty();
                    self.complete(key, keep, now, events);
                    if !keep || !to_the_end {
                        return;
                    }
                    // The end of a kept connection may already be there, and will not be told again.
                }
                Err(why) => return self.fail(key, (Outcome::Malformed, why.to_owned()), events),
            }
        }
        self.again.push((key, self.connections[key].number));
    }

    /// The answer is complete.
    fn complete(&mut self, key: usize, keep: bool, now: Nanos, events: &mut Vec<Event>) {
        let keep = keep && self.setup.reuse != Reuse::Fresh;
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
            events.push(Event { done: Some(now), status, outcome, ..exchange.event });
        }
    }

    /// Takes closed connections out of the free ones, when they are most of them: those used last hide them.
    fn sweep_free(&mut self) {
        if self.free.len() > SWEEP && self.free.len() > 2 * self.connections.len() {
            let connections = &self.connections;
            self.free.retain(|(key, number)| connections.get(*key).is_some_and(|c| c.number == *number));
        }
    }

    /// Gives up the exchanges whose time is over.
    fn expire(&mut self, events: &mut Vec<Event>) {
        let now = self.clock.now();
        while let Some((_, key, serial)) = self.connecting.front().copied().filter(|(at, ..)| *at <= now) {
            self.connecting.pop_front();
            if self.connections.get(key).is_some_and(|c| c.is_at(serial) && !c.open) {
                let why = format!("no connection within {}", self.setup.connect_timeout);
                self.fail(key, (Outcome::Timeout, why), events);
            }
        }
        while let Some((_, key, serial)) = self.answering.front().copied().filter(|(at, ..)| *at <= now) {
            self.answering.pop_front();
            if self.connections.get(key).is_some_and(|c| c.is_at(serial)) {
                let why = format!("no complete answer within {}", self.setup.response_timeout);
                self.fail(key, (Outcome::Timeout, why), events);
            }
        }
    }

    /// The first instant at which an exchange's time is over. Exchanges that have ended are forgotten on the way.
    fn next_expiry(&mut self) -> Nanos {
        let Self { connecting, answering, connections, .. } = self;
        let mut first = Nanos::MAX;
        for queue in [connecting, answering] {
            while queue.front().is_some_and(|(_, key, serial)| !connections.get(*key).is_some_and(|c| c.is_at(*serial)))
            {
                queue.pop_front();
            }
            first = queue.front().map_or(first, |(at, ..)| first.min(*at));
        }
        first
    }
}

impl Transport for Http1 {
    #[inline]
    fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn send(&mut self, launch: Launch, label: u16, sequence: u64, events: &mut Vec<Event>) -> Nanos {
        let event = begun(launch, label, self.worker);
        let reusable = self.reusable(launch.session);
        if reusable.is_none() && self.connections.len() >= self.limit {
            let why = format!("{} connections busy (connections limit)", self.limit);
            events.push(Event { error: Some(why.into()), ..event });
            return self.clock.now();
        }
        self.serial += 1;
        let answer = Answer::new(self.setup.requests[usize::from(label)].head_only);
        let sent = self.clock.now();
        let event = Event { sent: Some(sent), ..event };
        let mut exchange = Exchange { event, answer, serial: self.serial };
        if let Some(key) = reusable {
            let connection = &mut self.connections[key];
            exchange.event.connection = connection.number;
            exchange.event.reused = connection.carried > 0;
            connection.carried += 1;
            connection.exchange = Some(exchange);
            match self.transmit(key, sequence) {
                Ok(()) => self.expect_answer(sent, key, self.serial),
                Err(failure) => self.fail(key, failure, events),
            }
        } else if let Err((event, (outcome, why))) = self.open(exchange, sequence) {
            let error = Some(why.into());
            events.push(match outcome {
                Outcome::Unsent => Event { sent: None, error, ..*event },
                _ => Event { done: Some(self.clock.now()), outcome, error, ..*event },
            });
        }
        sent
    }

    fn wait(&mut self, deadline: Nanos, events: &mut Vec<Event>) {
        let expiry = self.next_expiry();
        let before = self.clock.now();
        let until = if self.again.is_empty() { deadline.min(expiry) } else { before };
        let mut ready = std::mem::take(&mut self.ready);
        if let Err(error) = self.poller.wait_until(&self.clock, until, self.spin, &mut ready) {
            // Only a bug makes waiting on one's own poller fail.
            panic!("waiting for sockets: {error}");
        }
        let now = self.clock.now();
        self.idle += now.since(before);
        for (key, number) in std::mem::take(&mut self.again) {
            if self.connections.get(key).is_some_and(|c| c.number == number) {
                // Its end may have been told in an earlier turn.
                self.receive(key, true, events);
            }
        }
        for ready in ready.drain(..) {
            self.serve(ready, events);
        }
        self.ready = ready;
        if now >= expiry {
            self.expire(events);
        }
    }

    fn leave(&mut self, session: u64) {
        if let Some((key, number)) = self.owned.remove(&session)
            && self.connections.get(key).is_some_and(|c| c.number == number)
        {
            self.close(key);
        }
    }

    fn abandon(&mut self, events: &mut Vec<Event>) {
        for connection in self.connections.drain() {
            let _ = self.poller.remove(&connection.socket);
            if let Some(exchange) = connection.into_exchange() {
                let error = Some("the run was stopped".into());
                events.push(Event { outcome: Outcome::Cut, error, ..exchange.event });
            }
        }
    }

    fn idle(&self) -> Nanos {
        self.idle
    }
}

/// An attempt to connect that ended before it began: for want of something of ours nothing was sent.
fn undialed(error: &io::Error) -> Failure {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::MFILE | Errno::NFILE) => {
            (Outcome::Unsent, "no file descriptor is left (raise `ulimit -n`)".to_owned())
        }
        Some(Errno::ADDRNOTAVAIL) => (Outcome::Unsent, "no local port is left (reuse connections)".to_owned()),
        Some(Errno::NOBUFS | Errno::NOMEM | Errno::NOSPC) => (Outcome::Unsent, error.to_string()),
        // What a Unix socket says whose server does not accept.
        Some(Errno::AGAIN) => (Outcome::Refused, "the server's backlog is full".to_owned()),
        _ => refused(error),
    }
}

/// A connection attempt that failed.
fn refused(error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::TimedOut => (Outcome::Timeout, error.to_string()),
        _ => (Outcome::Refused, error.to_string()),
    }
}

/// A connection that broke under an exchange.
#[allow(clippy::needless_pass_by_value)] // shaped for map_err
fn broken(error: io::Error) -> Failure {
    (Outcome::Reset, error.to_string())
}

/// Takes out of a queue of deadlines those of exchanges that are over, when they are most of it: behind one that waits long
/// the others would pile up.
fn sweep(queue: &mut VecDeque<(Nanos, usize, u64)>, live: usize, is_waiting: impl Fn(usize, u64) -> bool) {
    if queue.len() > SWEEP && queue.len() > 2 * live {
        queue.retain(|(_, key, serial)| is_waiting(*key, *serial));
    }
}
