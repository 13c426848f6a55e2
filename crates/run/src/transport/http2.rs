//! HTTP/2 over TLS, TCP or a Unix socket: exchanges are streams of few connections (RFC 9113).
//!
//! The protocol is the `h2` crate's, its runtime is not there: a connection is asked to go on when its socket is ready or when
//! something of it was used, an exchange when its waker was woken. So a request is written by the thread that found it due,
//! before that thread does anything else.

mod exchange;
mod io;
mod tasks;

use std::cell::RefCell;
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use h2::client::{self, SendRequest};
use offered_clock::{Clock, Poller, Ready};
use offered_model::workload::{Reuse, Workload};
use offered_model::{Event, Instant, Nanos, Outcome, Reason};
use slab::Slab;

use self::exchange::{CLOSED, Exchange, State, failure};
use self::io::{Io, Link};
use self::tasks::{Task, Woken};
use super::Failure;
use super::alarms::{Alarms, HOLD};
use super::grpc::Methods;
use super::route::Route;
use super::socket::undialed;
use super::stream::Stream;
use super::turns::{Answering, Opening, Served, Turns, turn, under_way_since};
use super::wire::{Heard, Wire, Wording};
use crate::Error;
use crate::ask::{Ask, MOST_KEPT, Reply};

/// How much one read takes at most.
const BUFFER: usize = 64 * 1024;
/// How much an exchange, and all of a connection together, may be sent before we say that we have read it. Answers are read at
/// once, so it is never the reader who holds the server back.
const WINDOW: u32 = 1 << 20;
const WINDOWS: u32 = 16 << 20;

/// Streams on a connection whose server has not yet said how many it takes.
const UNTOLD: usize = 100;
/// The largest head that is taken, in bytes, as over HTTP/1.
const HEAD: u32 = 300 * 1024;
/// So often is a request sent again that a server does not process.
const MOST_RESENT: u8 = 3;
/// No connection has this key.
const NOWHERE: usize = usize::MAX;

/// What all threads of a run share.
#[derive(Clone)]
pub(crate) struct Setup {
    route: Arc<Route>,
    /// What stands before a request's path: scheme and authority.
    origin: Arc<str>,
    methods: Arc<Methods>,
    reuse: Reuse,
    /// Whether what the server did not process is sent again.
    resend: bool,
    connect_timeout: Nanos,
    response_timeout: Nanos,
}

impl Setup {
    /// For the target of `workload`, which `route` leads to.
    ///
    /// # Errors
    /// No target, or a method of gRPC that cannot be called.
    pub(crate) fn new(workload: &Workload, route: Arc<Route>) -> Result<Self, Error> {
        let target = workload.target().ok_or(Error::NoTarget)?;
        let scheme = if target.url().secure { "https" } else { "http" };
        let setup = Self {
            route,
            origin: format!("{scheme}://{}", target.url().host()).into(),
            methods: Arc::default(),
            reuse: target.reuse(),
            resend: target.resend(),
            connect_timeout: target.connect_timeout(),
            response_timeout: target.response_timeout(),
        };
        let methods = Methods::new(workload, target, |ask| setup.ask(ask))?;
        Ok(Self { methods: Arc::new(methods), ..setup })
    }

    /// Asks one thing on a connection of its own and waits for the answer: before a run, when there is time.
    ///
    /// # Errors
    /// Nothing came back, and why.
    pub(crate) fn ask(&self, ask: &Ask) -> Result<Box<Reply>, String> {
        let poller = Poller::new().map_err(|error| error.to_string())?;
        let mut wire = Http2::new(self.clone(), Clock::start(), poller, None, Nanos::ZERO);
        let mut heard = Vec::new();
        wire.begin(&Arc::new(ask.clone()), Event::at(Instant::ZERO), &mut heard);
        loop {
            for told in heard.drain(..) {
                match told {
                    Heard::FirstByte { .. } => {}
                    Heard::Ended(_, Some(reply)) => return Ok(reply),
                    Heard::Ended(event, None) => {
                        return Err(event.error.map(|why| why.to_string()).unwrap_or_default());
                    }
                }
            }
            wire.wait(Instant::MAX, &mut heard);
        }
    }
}

/// One thread's connections and their streams.
pub(crate) struct Http2 {
    setup: Setup,
    turns: Turns,
    /// At most so many connections at once; without a limit there are as many as the streams need.
    limit: Option<usize>,
    connections: Slab<Connection>,
    exchanges: Slab<Exchange>,
    /// Sessions' own connections: (key, number).
    owned: HashMap<u64, (usize, u32)>,
    /// What wakes the exchange with each key.
    wakers: Vec<Waker>,
    woken: Woken,
    tasks: Vec<Task>,
    /// Exchanges (key, serial) that were not processed, and are begun again when all that is ready has been served.
    unprocessed: Vec<(usize, u64)>,
    /// When bodies that are held back go out unasked, and when calls are over that said how long they wait.
    holding: Alarms,
    calls: Alarms,
    opened: u32,
    serial: u64,
    buffer: Rc<RefCell<Box<[u8]>>>,
}

/// A connection.
pub(super) struct Connection {
    link: Rc<RefCell<Link>>,
    /// Its serial number within the worker, from 0.
    number: u32,
    /// How many requests it has carried.
    carried: u64,
    /// How many are under way.
    under_way: usize,
    /// What speaks on it, once it is open.
    speaking: Option<Speaking>,
    /// Exchanges that wait for it to open.
    waiting: Vec<usize>,
    /// It takes no new streams: the server said that it goes away, or it is closed after its one exchange.
    retired: bool,
    waker: Waker,
    /// Why it is over, if the server has said so before it hung up.
    told: Option<Failure>,
}

struct Speaking {
    send: SendRequest<Bytes>,
    driver: client::Connection<Io, Bytes>,
}

impl Connection {
    /// Whether it takes another stream. One that the server has said goodbye on takes none from then on.
    fn has_room(&mut self) -> bool {
        let most = match &mut self.speaking {
            // Before the server has said how many it takes, `h2` sends no more than these.
            None => UNTOLD,
            Some(Speaking { send, .. }) => {
                let ready = send.poll_ready(&mut Context::from_waker(&self.waker));
                self.retired |= matches!(ready, Poll::Ready(Err(_)));
                send.current_max_send_streams()
            }
        };
        !self.retired && self.under_way < most
    }
}

impl Http2 {
    /// The connections of one thread, at most `limit` of them, watched by `poller`, waiting without sleep for the last `spin`
    /// before a launch.
    pub(crate) fn new(setup: Setup, clock: Clock, poller: Poller, limit: Option<u32>, spin: Nanos) -> Self {
        Self {
            turns: Turns::new(clock, poller, spin, setup.connect_timeout, setup.response_timeout),
            setup,
            limit: limit.map(|limit| limit as usize),
            connections: Slab::new(),
            exchanges: Slab::new(),
            owned: HashMap::new(),
            wakers: Vec::new(),
            woken: Woken::default(),
            tasks: Vec::new(),
            unprocessed: Vec::new(),
            holding: Alarms::default(),
            calls: Alarms::default(),
            opened: 0,
            serial: 0,
            buffer: Rc::new(RefCell::new(vec![0; BUFFER].into())),
        }
    }

    /// The connection that `session` may use now; `None`: a new one must be opened.
    fn usable(&mut self, session: u64) -> Option<usize> {
        match self.setup.reuse {
            Reuse::Fresh => None,
            Reuse::PerSession => {
                let (key, number) = *self.owned.get(&session)?;
                let mine = self.connections.get_mut(key).filter(|connection| connection.number == number)?;
                mine.has_room().then_some(key)
            }
            // With a limit that many connections share the streams; without one more are opened only when all are full.
            Reuse::Pool => match self.limit {
                None => self.connections.iter_mut().find_map(|(key, connection)| connection.has_room().then_some(key)),
                Some(limit) if self.connections.len() < limit => None,
                Some(_) => {
                    let with_room =
                        self.connections.iter_mut().filter_map(|(key, c)| c.has_room().then_some((c.under_way, key)));
                    with_room.min().map(|(_, key)| key)
                }
            },
        }
    }

    /// Begins to connect; the new connection's key.
    fn open(&mut self, session: u64, now: Instant) -> Result<usize, Failure> {
        let stream = Stream::dial(&self.setup.route, &self.turns.clock)?;
        let key = self.connections.vacant_key();
        self.turns.poller.add(&stream, key).map_err(undialed)?;
        let number = self.opened;
        self.opened += 1;
        self.connections.insert(Connection {
            link: Rc::new(RefCell::new(Link::new(stream, self.buffer.clone()))),
            number,
            carried: 0,
            under_way: 0,
            speaking: None,
            waiting: Vec::new(),
            retired: false,
            waker: self.woken.waker(Task::Connection(key)),
            told: None,
        });
        let connections = &self.connections;
        let waits = |key, serial| connections.get(key).is_some_and(|c: &Connection| c.is_opening(serial));
        self.turns.connecting.push(now, key, u64::from(number), connections.len(), waits);
        if self.setup.reuse == Reuse::PerSession {
            self.owned.insert(session, (key, number));
        }
        self.woken.wake(Task::Connection(key));
        Ok(key)
    }

    /// Asks everybody who was woken, until nobody is.
    fn run(&mut self, heard: &mut Vec<Heard>) {
        let mut tasks = std::mem::take(&mut self.tasks);
        loop {
            self.woken.take(&mut tasks);
            if tasks.is_empty() {
                let Some((key, serial)) = self.unprocessed.pop() else { break };
                self.begin_again(key, serial, heard);
            }
            for task in tasks.drain(..) {
                match task {
                    Task::Connection(key) => self.go_on(key, heard),
                    Task::Exchange(key) => self.listen(key, heard),
                }
            }
        }
        self.tasks = tasks;
    }

    /// Lets a connection read and write what it can.
    fn go_on(&mut self, key: usize, heard: &mut Vec<Heard>) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        if connection.speaking.is_none() {
            let open = connection.link.borrow().stream.is_open();
            if open {
                self.speak(key, heard);
            }
            return;
        }
        let Some(speaking) = &mut connection.speaking else { return };
        let polled = Pin::new(&mut speaking.driver).poll(&mut Context::from_waker(&connection.waker));
        if connection.link.borrow_mut().has_more() {
            let ready = Ready { token: key, readable: true, writable: false, closed: false };
            self.turns.again(ready, connection.number);
        }
        if let Poll::Ready(ended) = polled {
            let told = connection.link.borrow_mut().failure.take();
            let failure = told.unwrap_or_else(|| match ended {
                Ok(()) => (Outcome::Reset, CLOSED),
                Err(error) => failure(&error),
            });
            self.end(key, &failure, heard);
        }
    }

    /// A connection has just opened: HTTP/2 begins, with everything that waited for it.
    fn speak(&mut self, key: usize, heard: &mut Vec<Heard>) {
        let connection = &mut self.connections[key];
        let handshake = connection.link.borrow().stream.handshake;
        let mut builder = client::Builder::new();
        builder.enable_push(false).initial_window_size(WINDOW).initial_connection_window_size(WINDOWS);
        builder.max_header_list_size(HEAD);
        // It writes the preface and is done: nothing of it waits for the server.
        let mut begin = Box::pin(builder.handshake::<_, Bytes>(Io(connection.link.clone())));
        match begin.as_mut().poll(&mut Context::from_waker(&connection.waker)) {
            Poll::Ready(Ok((send, driver))) => connection.speaking = Some(Speaking { send, driver }),
            Poll::Ready(Err(error)) => return self.end(key, &failure(&error), heard),
            Poll::Pending => return self.end(key, &(Outcome::Reset, Reason::words("the socket took nothing")), heard),
        }
        for (nth, waiting) in std::mem::take(&mut connection.waiting).into_iter().enumerate() {
            if let Some(exchange) = self.exchanges.get_mut(waiting) {
                // The handshake is the first one's: it was made for that.
                exchange.event.handshake = exchange.event.handshake.or(handshake.filter(|_| nth == 0));
                self.transmit(waiting, heard);
            }
        }
        self.woken.wake(Task::Connection(key));
    }

    /// Hands the request of an exchange to its connection, which is open; its frames are written when that is asked to go on.
    fn transmit(&mut self, key: usize, heard: &mut Vec<Heard>) {
        let exchange = &mut self.exchanges[key];
        let Some(speaking) = self.connections.get_mut(exchange.connection).and_then(|c| c.speaking.as_mut()) else {
            return;
        };
        let Some((request, body)) = exchange.request.take() else { return };
        match speaking.send.send_request(request, body.is_none()) {
            Ok((response, stream)) => {
                exchange.state = State::Head(response);
                exchange.sending = body.map(|body| (stream, body));
                if exchange.held && exchange.sending.is_some() {
                    let (until, serial) = (self.turns.clock.now() + HOLD, exchange.serial);
                    let exchanges = &self.exchanges;
                    let holds = |key, serial| exchanges.get(key).is_some_and(|e: &Exchange| e.held && e.is_at(serial));
                    self.holding.push(until, key, serial, exchanges.len(), holds);
                }
                let exchange = &mut self.exchanges[key];
                exchange.go_on_sending(&mut Context::from_waker(&self.wakers[key]));
                self.woken.wake(Task::Exchange(key));
            }
            Err(error) => {
                let failure = exchange.failure(&error);
                self.finish(key, failure, heard);
            }
        }
    }

    /// Begins an exchange again that was not processed, on another connection.
    fn begin_again(&mut self, key: usize, serial: u64, heard: &mut Vec<Heard>) {
        let Some(exchange) = self.exchanges.get(key).filter(|exchange| exchange.is_at(serial)) else { return };
        let (session, label) = (exchange.event.session, exchange.event.label);
        let request = exchange::request(&exchange.ask, &self.setup.origin, self.setup.methods.of(label));
        let now = self.turns.clock.now();
        let has_room = self.limit.is_none_or(|limit| self.connections.len() < limit);
        let connection = match self.usable(session) {
            Some(connection) => Ok(connection),
            None if has_room => self.open(session, now),
            None => Err((Outcome::Unprocessed, Reason::Streams(self.connections.len() as u64))),
        };
        let (connection, request) = match (connection, request) {
            (Ok(connection), Ok(request)) => (connection, request),
            (Err(failure), _) => return self.give_up(key, failure, heard),
            (_, Err(why)) => return self.give_up(key, (Outcome::Unprocessed, why.into()), heard),
        };
        let on = &mut self.connections[connection];
        let exchange = &mut self.exchanges[key];
        exchange.connection = connection;
        exchange.request = Some(request);
        exchange.held = exchange.ask.expects_continue();
        exchange.resent += 1;
        (exchange.event.connection, exchange.event.reused) = (on.number, on.carried > 0);
        on.carried += 1;
        on.under_way += 1;
        if on.speaking.is_some() {
            self.transmit(key, heard);
        } else {
            on.waiting.push(key);
        }
    }

    /// When the first body goes out that is held back, or the first call is over that said how long it waits.
    fn next_alarm(&mut self) -> Instant {
        let exchanges = &self.exchanges;
        let holds = |key, serial| exchanges.get(key).is_some_and(|e: &Exchange| e.held && e.is_at(serial));
        let waits = |key, serial| exchanges.get(key).is_some_and(|e: &Exchange| e.is_at(serial));
        self.holding.first(holds).min(self.calls.first(waits))
    }

    /// Does what is due by now of these.
    fn alarmed(&mut self, heard: &mut Vec<Heard>) {
        let now = self.turns.clock.now();
        while self.next_alarm() <= now {
            let exchanges = &self.exchanges;
            let holds = |key, serial| exchanges.get(key).is_some_and(|e: &Exchange| e.held && e.is_at(serial));
            if let Some(key) = self.holding.over(now, holds) {
                self.exchanges[key].held = false;
                self.woken.wake(Task::Exchange(key));
                continue;
            }
            let waits = |key, serial| exchanges.get(key).is_some_and(|e: &Exchange| e.is_at(serial));
            if let Some(key) = self.calls.over(now, waits) {
                let why = self.exchanges[key].overdue();
                self.finish(key, (Outcome::Timeout, why), heard);
            }
        }
        self.run(heard);
    }

    /// Takes what has come of an answer.
    fn listen(&mut self, key: usize, heard: &mut Vec<Heard>) {
        let Some(exchange) = self.exchanges.get_mut(key) else { return };
        let mut context = Context::from_waker(&self.wakers[key]);
        match exchange.listen(&mut context, &self.turns.clock, heard) {
            Poll::Pending => {}
            Poll::Ready(Ok(())) => {
                let Some(mut exchange) = self.release(key) else { return };
                exchange.complete(self.turns.clock.now(), &self.setup.methods, heard);
            }
            Poll::Ready(Err(failure)) => {
                let connection = self.connections.get(exchange.connection);
                // TLS knows better than what `h2` has made of it, and of an end nothing is known but what was said before it.
                let link = connection.and_then(|connection| connection.link.borrow().failure.clone());
                let told = || connection.and_then(|connection| connection.told.clone()).filter(|_| failure.1 == CLOSED);
                let failure = link.or_else(told).unwrap_or(failure);
                self.finish(key, failure, heard);
            }
        }
    }

    /// Ends an exchange with a failure; one that was not processed is begun again, if it may be.
    fn finish(&mut self, key: usize, failure: Failure, heard: &mut Vec<Heard>) {
        let resend = self.setup.resend && failure.0 == Outcome::Unprocessed;
        let Some(exchange) = self.exchanges.get_mut(key).filter(|exchange| resend && exchange.resent < MOST_RESENT)
        else {
            return self.give_up(key, failure, heard);
        };
        exchange.state = State::Waiting;
        exchange.sending = None;
        let connection = std::mem::replace(&mut exchange.connection, NOWHERE);
        self.unprocessed.push((key, exchange.serial));
        self.let_go(connection, true);
    }

    /// Ends an exchange with a failure for good.
    fn give_up(&mut self, key: usize, failure: Failure, heard: &mut Vec<Heard>) {
        if let Some(exchange) = self.release(key) {
            exchange.fail(self.turns.clock.now(), failure, heard);
        }
    }

    /// Takes an exchange out of the books. A stream that had not ended is reset by this.
    fn release(&mut self, key: usize) -> Option<Exchange> {
        let mut exchange = self.exchanges.try_remove(key)?;
        if !exchange.is_over() {
            exchange.state = State::Waiting;
        }
        self.let_go(exchange.connection, self.setup.reuse == Reuse::Fresh);
        Some(exchange)
    }

    /// A connection carries one exchange less, and takes no more if it `is_done`.
    fn let_go(&mut self, key: usize, is_done: bool) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        connection.under_way -= 1;
        connection.retired |= is_done;
        if connection.retired && connection.under_way == 0 {
            self.close(key);
        } else {
            self.woken.wake(Task::Connection(key));
        }
    }

    /// A connection is over: what it still carries fails.
    fn end(&mut self, key: usize, failure: &Failure, heard: &mut Vec<Heard>) {
        self.connections[key].retired = true;
        self.connections[key].told = Some(failure.clone());
        let carried: Vec<usize> =
            self.exchanges.iter().filter(|(_, exchange)| exchange.connection == key).map(|(key, _)| key).collect();
        for exchange in carried {
            // What had come in whole before the end is an answer.
            self.listen(exchange, heard);
            if self.exchanges.get(exchange).is_some_and(|exchange| exchange.connection == key) {
                self.finish(exchange, failure.clone(), heard);
            }
        }
        self.close(key);
    }

    /// Closes a connection that carries nothing; one that is open says goodbye.
    fn close(&mut self, key: usize) {
        let Some(connection) = self.connections.try_remove(key) else { return };
        if let Some(Speaking { send, mut driver }) = connection.speaking {
            drop(send);
            let _ = Pin::new(&mut driver).poll(&mut Context::from_waker(&connection.waker));
        }
        // A socket the poller does not know is closed all the same.
        let _ = self.turns.poller.remove(&*connection.link.borrow());
    }
}

impl Served<Vec<Heard>> for Http2 {
    type Connection = Connection;
    type Exchange = Exchange;

    fn parts(&mut self) -> (&mut Turns, &Slab<Connection>, &Slab<Exchange>) {
        (&mut self.turns, &self.connections, &self.exchanges)
    }

    fn serve(&mut self, ready: Ready, heard: &mut Vec<Heard>) -> usize {
        let key = ready.token;
        let Some(connection) = self.connections.get_mut(key) else { return 0 };
        let link = connection.link.clone();
        let opened = {
            let link = &mut *link.borrow_mut();
            link.begin_turn(ready);
            if link.stream.is_open() {
                Ok(true)
            } else {
                link.stream.go_on(&self.setup.route, ready.writable || ready.closed, &self.turns.clock)
            }
        };
        match opened {
            Ok(true) => self.go_on(key, heard),
            Ok(false) => {}
            Err(failure) => self.end(key, &failure, heard),
        }
        link.borrow().taken
    }

    fn not_connected(&mut self, key: usize, why: Failure, heard: &mut Vec<Heard>) {
        self.end(key, &why, heard);
    }

    fn not_answered(&mut self, key: usize, within: Nanos, heard: &mut Vec<Heard>) {
        self.finish(key, (Outcome::Timeout, Reason::NotAnswered(within)), heard);
    }

    fn settle(&mut self, heard: &mut Vec<Heard>) {
        self.run(heard);
    }
}

impl Opening for Connection {
    fn number(&self) -> u32 {
        self.number
    }

    fn is_opening(&self, number: u64) -> bool {
        u64::from(self.number) == number && self.speaking.is_none()
    }
}

impl Wire for Http2 {
    fn now(&self) -> Instant {
        self.turns.clock.now()
    }

    fn begin(&mut self, ask: &Arc<Ask>, event: Event, heard: &mut Vec<Heard>) -> Instant {
        let unsent = |event: Event, why: Reason, heard: &mut Vec<Heard>| {
            heard.push(Heard::Ended(Event { error: Some(why), ..event }, None));
        };
        let (label, session) = (event.label, event.session);
        let request = match exchange::request(ask, &self.setup.origin, self.setup.methods.of(label)) {
            Ok(request) => request,
            Err(why) => {
                unsent(event, why.into(), heard);
                return self.turns.clock.now();
            }
        };
        let is_call = self.setup.methods.of(label).is_some();
        let patience = match is_call.then(|| ask.grpc_timeout()).transpose() {
            Ok(patience) => patience.flatten(),
            Err(why) => {
                unsent(event, why.into(), heard);
                return self.turns.clock.now();
            }
        };
        let usable = self.usable(session);
        if usable.is_none() && self.limit.is_some_and(|limit| self.connections.len() >= limit) {
            unsent(event, Reason::Streams(self.connections.len() as u64), heard);
            return self.turns.clock.now();
        }
        let sent = self.turns.clock.now();
        let connection = match usable.map_or_else(|| self.open(session, sent), Ok) {
            Ok(key) => key,
            Err((Outcome::Unsent, why)) => {
                unsent(event, why, heard);
                return sent;
            }
            Err((outcome, why)) => {
                let event = Event { sent: Some(sent), done: Some(self.turns.clock.now()), outcome, ..event };
                unsent(event, why, heard);
                return sent;
            }
        };
        self.serial += 1;
        let on = &mut self.connections[connection];
        let event = Event { sent: Some(sent), connection: on.number, reused: on.carried > 0, ..event };
        on.carried += 1;
        on.under_way += 1;
        // A message that is cut could not be read.
        let wanted = if is_call && ask.wanted > 0 { MOST_KEPT } else { ask.wanted };
        let key = self.exchanges.insert(Exchange::new(event, connection, self.serial, request, ask.clone(), wanted));
        if key == self.wakers.len() {
            self.wakers.push(self.woken.waker(Task::Exchange(key)));
        }
        let exchanges = &self.exchanges;
        let waits = |key, serial| exchanges.get(key).is_some_and(|exchange: &Exchange| exchange.is_at(serial));
        self.turns.answering.push(sent, key, self.serial, exchanges.len(), waits);
        if let Some(patience) = patience {
            self.calls.push(sent + patience, key, self.serial, exchanges.len(), waits);
        }
        if self.connections[connection].speaking.is_some() {
            self.transmit(key, heard);
        } else {
            self.connections[connection].waiting.push(key);
        }
        self.run(heard);
        sent
    }

    fn wait(&mut self, deadline: Instant, heard: &mut Vec<Heard>) {
        let alarm = self.next_alarm();
        turn(self, deadline.min(alarm), heard);
        if alarm < Instant::MAX {
            self.alarmed(heard);
        }
    }

    fn leave(&mut self, session: u64) {
        if let Some((key, number)) = self.owned.remove(&session)
            && self.connections.get(key).is_some_and(|c| c.number == number && c.under_way == 0)
        {
            self.close(key);
        }
    }

    fn abandon(&mut self, heard: &mut Vec<Heard>) {
        for exchange in self.exchanges.drain() {
            let error = Some(Reason::Stopped);
            heard.push(Heard::Ended(Event { outcome: Outcome::Cut, status: 0, error, ..exchange.event }, None));
        }
        for connection in self.connections.drain() {
            let _ = self.turns.poller.remove(&*connection.link.borrow());
        }
    }

    fn under_way_since(&mut self, instant: Instant) -> Option<Event> {
        under_way_since::<Vec<Heard>, _>(self, instant)
    }

    fn idle(&self) -> Nanos {
        self.turns.idle
    }

    fn wording(&self, ask: &Ask, event: &Event) -> Wording {
        wording(ask, &self.setup.origin, self.setup.methods.of(event.label).is_some())
    }
}

/// How `ask` is said to the server whose scheme and authority are `origin`; a call if it `is_call`.
pub(super) fn wording(ask: &Ask, origin: &str, is_call: bool) -> Wording {
    let (mut head, body) = match exchange::request(ask, origin, None) {
        Ok(request) => request,
        Err(why) => return Wording::none(why),
    };
    if is_call {
        head.headers_mut().remove(http::header::CONTENT_LENGTH);
        exchange::announce(head.headers_mut());
        *head.method_mut() = http::Method::POST;
    }
    let uri = head.uri();
    let mut lines = vec![
        format!(":method: {}", head.method()),
        format!(":scheme: {}", uri.scheme_str().unwrap_or_default()),
        format!(":authority: {}", uri.authority().map(http::uri::Authority::as_str).unwrap_or_default()),
        format!(":path: {}", uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str)),
    ];
    let headers = head.headers().iter();
    lines.extend(headers.map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value.as_bytes()))));
    Wording { head: lines, body: body.map(|body| body.to_vec()).unwrap_or_default() }
}
