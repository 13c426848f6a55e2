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
use self::io::{Io, SharedStream};
use self::tasks::{Task, WakeQueue};
use super::Failure;
use super::event_loop::{ConnectionSlot, EventLoop, PendingExchange, SocketHandler, in_flight_since, run_once};
use super::grpc::Methods;
use super::protocol_client::{Completion, ProtocolClient, RequestText};
use super::route::Route;
use super::socket::dial_failure;
use super::stream::Stream;
use super::timers::{CONTINUE_TIMEOUT, Timers};
use crate::Error;
use crate::message::{MAX_BODY_BYTES, OutgoingRequest, Response};

/// How much one read takes at most.
const BUFFER: usize = 64 * 1024;
/// How much an exchange, and all of a connection together, may be sent before we say that we have read it. Answers are read at
/// once, so it is never the reader who holds the server back.
const WINDOW: u32 = 1 << 20;
const WINDOWS: u32 = 16 << 20;

/// Streams on a connection whose server has not yet said how many it takes.
const DEFAULT_MAX_STREAMS: usize = 100;
/// The largest head that is taken, in bytes, as over HTTP/1.
const MAX_HEAD_BYTES: u32 = 300 * 1024;
/// So often is a request sent again that a server does not process.
const MAX_RESENDS: u8 = 3;
/// No connection has this key.
const NO_CONNECTION: usize = usize::MAX;

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
        let methods = Methods::new(workload, target, |outgoing| setup.exchange_once(outgoing))?;
        Ok(Self { methods: Arc::new(methods), ..setup })
    }

    /// Asks one thing on a connection of its own and waits for the answer: before a run, when there is time.
    ///
    /// # Errors
    /// Nothing came back, and why.
    pub(crate) fn exchange_once(&self, outgoing: &OutgoingRequest) -> Result<Box<Response>, String> {
        let poller = Poller::new().map_err(|error| error.to_string())?;
        let mut client = Http2::new(self.clone(), Clock::start(), poller, None, Nanos::ZERO);
        let mut completions = Vec::new();
        client.begin(&Arc::new(outgoing.clone()), Event::at(Instant::ZERO), &mut completions);
        loop {
            for completion in completions.drain(..) {
                match completion {
                    Completion::FirstByte { .. } => {}
                    Completion::Done(_, Some(response)) => return Ok(response),
                    Completion::Done(event, None) => {
                        return Err(event.error.map(|reason| reason.to_string()).unwrap_or_default());
                    }
                }
            }
            client.wait(Instant::MAX, &mut completions);
        }
    }
}

/// One thread's connections and their streams.
pub(crate) struct Http2 {
    setup: Setup,
    event_loop: EventLoop,
    /// At most so many connections at once; without a limit there are as many as the streams need.
    limit: Option<usize>,
    connections: Slab<Connection>,
    exchanges: Slab<Exchange>,
    /// Sessions' own connections: (key, number).
    by_session: HashMap<u64, (usize, u32)>,
    /// What wakes the exchange with each key.
    wakers: Vec<Waker>,
    wake_queue: WakeQueue,
    tasks: Vec<Task>,
    /// Exchanges (key, serial) that were not processed, and are begun again when all that is ready has been served.
    unprocessed: Vec<(usize, u64)>,
    /// When bodies that are held back go out unasked, and when calls are over that said how long they wait.
    held_bodies: Timers,
    call_deadlines: Timers,
    opened: u32,
    serial: u64,
    buffer: Rc<RefCell<Box<[u8]>>>,
}

/// A connection.
pub(super) struct Connection {
    stream_ref: Rc<RefCell<SharedStream>>,
    /// Its serial number within the worker, from 0.
    number: u32,
    /// How many requests it has carried.
    carried: u64,
    /// How many are under way.
    under_way: usize,
    /// What speaks on it, once it is open.
    session: Option<H2Session>,
    /// Exchanges that wait for it to open.
    waiting: Vec<usize>,
    /// It takes no new streams: the server said that it goes away, or it is closed after its one exchange.
    retired: bool,
    waker: Waker,
    /// Why it is over, if the server has said so before it hung up.
    closing_failure: Option<Failure>,
}

struct H2Session {
    send: SendRequest<Bytes>,
    driver: client::Connection<Io, Bytes>,
}

impl Connection {
    /// Whether it takes another stream. One that the server has said goodbye on takes none from then on.
    fn has_room(&mut self) -> bool {
        let most = match &mut self.session {
            // Before the server has said how many it takes, `h2` sends no more than these.
            None => DEFAULT_MAX_STREAMS,
            Some(H2Session { send, .. }) => {
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
            event_loop: EventLoop::new(clock, poller, spin, setup.connect_timeout, setup.response_timeout),
            setup,
            limit: limit.map(|limit| limit as usize),
            connections: Slab::new(),
            exchanges: Slab::new(),
            by_session: HashMap::new(),
            wakers: Vec::new(),
            wake_queue: WakeQueue::default(),
            tasks: Vec::new(),
            unprocessed: Vec::new(),
            held_bodies: Timers::default(),
            call_deadlines: Timers::default(),
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
                let (key, number) = *self.by_session.get(&session)?;
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
        let stream = Stream::dial(&self.setup.route, &self.event_loop.clock)?;
        let key = self.connections.vacant_key();
        self.event_loop.poller.add(&stream, key).map_err(dial_failure)?;
        let number = self.opened;
        self.opened += 1;
        self.connections.insert(Connection {
            stream_ref: Rc::new(RefCell::new(SharedStream::new(stream, self.buffer.clone()))),
            number,
            carried: 0,
            under_way: 0,
            session: None,
            waiting: Vec::new(),
            retired: false,
            waker: self.wake_queue.waker(Task::Connection(key)),
            closing_failure: None,
        });
        let connections = &self.connections;
        let waits = |key, serial| connections.get(key).is_some_and(|c: &Connection| c.is_connecting(serial));
        self.event_loop.connect_deadlines.push(now, key, u64::from(number), connections.len(), waits);
        if self.setup.reuse == Reuse::PerSession {
            self.by_session.insert(session, (key, number));
        }
        self.wake_queue.wake(Task::Connection(key));
        Ok(key)
    }

    /// Asks everybody who was woken, until nobody is.
    fn run_woken(&mut self, completions: &mut Vec<Completion>) {
        let mut tasks = std::mem::take(&mut self.tasks);
        loop {
            self.wake_queue.take(&mut tasks);
            if tasks.is_empty() {
                let Some((key, serial)) = self.unprocessed.pop() else { break };
                self.resend_unprocessed(key, serial, completions);
            }
            for task in tasks.drain(..) {
                match task {
                    Task::Connection(key) => self.drive(key, completions),
                    Task::Exchange(key) => self.poll_response(key, completions),
                }
            }
        }
        self.tasks = tasks;
    }

    /// Lets a connection read and write what it can.
    fn drive(&mut self, key: usize, completions: &mut Vec<Completion>) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        if connection.session.is_none() {
            let open = connection.stream_ref.borrow().stream.is_open();
            if open {
                self.start_http2(key, completions);
            }
            return;
        }
        let Some(session) = &mut connection.session else { return };
        let polled = Pin::new(&mut session.driver).poll(&mut Context::from_waker(&connection.waker));
        if connection.stream_ref.borrow_mut().has_more() {
            let ready = Ready { token: key, readable: true, writable: false, closed: false };
            self.event_loop.requeue(ready, connection.number);
        }
        if let Poll::Ready(closed_cleanly) = polled {
            let failure_before = connection.stream_ref.borrow_mut().failure.take();
            let failure = failure_before.unwrap_or_else(|| match closed_cleanly {
                Ok(()) => (Outcome::Reset, CLOSED),
                Err(error) => failure(&error),
            });
            self.fail_connection(key, &failure, completions);
        }
    }

    /// A connection has just opened: HTTP/2 begins, with everything that waited for it.
    fn start_http2(&mut self, key: usize, completions: &mut Vec<Completion>) {
        let connection = &mut self.connections[key];
        let handshake = connection.stream_ref.borrow().stream.handshake;
        let mut builder = client::Builder::new();
        builder.enable_push(false).initial_window_size(WINDOW).initial_connection_window_size(WINDOWS);
        builder.max_header_list_size(MAX_HEAD_BYTES);
        // It writes the preface and is done: nothing of it waits for the server.
        let mut begin = Box::pin(builder.handshake::<_, Bytes>(Io(connection.stream_ref.clone())));
        match begin.as_mut().poll(&mut Context::from_waker(&connection.waker)) {
            Poll::Ready(Ok((send, driver))) => connection.session = Some(H2Session { send, driver }),
            Poll::Ready(Err(error)) => return self.fail_connection(key, &failure(&error), completions),
            Poll::Pending => {
                return self.fail_connection(
                    key,
                    &(Outcome::Reset, Reason::words("the socket took nothing")),
                    completions,
                );
            }
        }
        for (nth, waiting) in std::mem::take(&mut connection.waiting).into_iter().enumerate() {
            if let Some(exchange) = self.exchanges.get_mut(waiting) {
                // The handshake is the first one's: it was made for that.
                exchange.event.handshake = exchange.event.handshake.or(handshake.filter(|_| nth == 0));
                self.send_request(waiting, completions);
            }
        }
        self.wake_queue.wake(Task::Connection(key));
    }

    /// Hands the request of an exchange to its connection, which is open; its frames are written when that is asked to go on.
    fn send_request(&mut self, key: usize, completions: &mut Vec<Completion>) {
        let exchange = &mut self.exchanges[key];
        let Some(session) = self.connections.get_mut(exchange.connection).and_then(|c| c.session.as_mut()) else {
            return;
        };
        let Some((request, body)) = exchange.request.take() else { return };
        match session.send.send_request(request, body.is_none()) {
            Ok((response, stream)) => {
                exchange.state = State::Head(response);
                exchange.sending = body.map(|body| (stream, body));
                if exchange.held && exchange.sending.is_some() {
                    let (until, serial) = (self.event_loop.clock.now() + CONTINUE_TIMEOUT, exchange.serial);
                    let exchanges = &self.exchanges;
                    let holds =
                        |key, serial| exchanges.get(key).is_some_and(|e: &Exchange| e.held && e.is_pending(serial));
                    self.held_bodies.push(until, key, serial, exchanges.len(), holds);
                }
                let exchange = &mut self.exchanges[key];
                exchange.send_body(&mut Context::from_waker(&self.wakers[key]));
                self.wake_queue.wake(Task::Exchange(key));
            }
            Err(error) => {
                let failure = exchange.failure(&error);
                self.fail_or_resend(key, failure, completions);
            }
        }
    }

    /// Begins an exchange again that was not processed, on another connection.
    fn resend_unprocessed(&mut self, key: usize, serial: u64, completions: &mut Vec<Completion>) {
        let Some(exchange) = self.exchanges.get(key).filter(|exchange| exchange.is_pending(serial)) else { return };
        let (session, label) = (exchange.event.session, exchange.event.label);
        let request = exchange::request(&exchange.outgoing, &self.setup.origin, self.setup.methods.of(label));
        let now = self.event_loop.clock.now();
        let has_room = self.limit.is_none_or(|limit| self.connections.len() < limit);
        let connection = match self.usable(session) {
            Some(connection) => Ok(connection),
            None if has_room => self.open(session, now),
            None => Err((Outcome::Unprocessed, Reason::Streams(self.connections.len() as u64))),
        };
        let (connection, request) = match (connection, request) {
            (Ok(connection), Ok(request)) => (connection, request),
            (Err(failure), _) => return self.fail_exchange(key, failure, completions),
            (_, Err(reason)) => return self.fail_exchange(key, (Outcome::Unprocessed, reason.into()), completions),
        };
        let on = &mut self.connections[connection];
        let exchange = &mut self.exchanges[key];
        exchange.connection = connection;
        exchange.request = Some(request);
        exchange.held = exchange.outgoing.expects_continue();
        exchange.resent += 1;
        (exchange.event.connection, exchange.event.reused) = (on.number, on.carried > 0);
        on.carried += 1;
        on.under_way += 1;
        if on.session.is_some() {
            self.send_request(key, completions);
        } else {
            on.waiting.push(key);
        }
    }

    /// When the first body goes out that is held back, or the first call is over that said how long it waits.
    fn next_timer(&mut self) -> Instant {
        let exchanges = &self.exchanges;
        let holds = |key, serial| exchanges.get(key).is_some_and(|e: &Exchange| e.held && e.is_pending(serial));
        let waits = |key, serial| exchanges.get(key).is_some_and(|e: &Exchange| e.is_pending(serial));
        self.held_bodies.next_due(holds).min(self.call_deadlines.next_due(waits))
    }

    /// Does what is due by now of these.
    fn fire_timers(&mut self, completions: &mut Vec<Completion>) {
        let now = self.event_loop.clock.now();
        while self.next_timer() <= now {
            let exchanges = &self.exchanges;
            let holds = |key, serial| exchanges.get(key).is_some_and(|e: &Exchange| e.held && e.is_pending(serial));
            if let Some(key) = self.held_bodies.pop_expired(now, holds) {
                self.exchanges[key].held = false;
                self.wake_queue.wake(Task::Exchange(key));
                continue;
            }
            let waits = |key, serial| exchanges.get(key).is_some_and(|e: &Exchange| e.is_pending(serial));
            if let Some(key) = self.call_deadlines.pop_expired(now, waits) {
                let reason = self.exchanges[key].deadline_exceeded();
                self.fail_or_resend(key, (Outcome::Timeout, reason), completions);
            }
        }
        self.run_woken(completions);
    }

    /// Takes what has come of an answer.
    fn poll_response(&mut self, key: usize, completions: &mut Vec<Completion>) {
        let Some(exchange) = self.exchanges.get_mut(key) else { return };
        let mut context = Context::from_waker(&self.wakers[key]);
        match exchange.poll_response(&mut context, &self.event_loop.clock, completions) {
            Poll::Pending => {}
            Poll::Ready(Ok(())) => {
                let Some(mut exchange) = self.remove_exchange(key) else { return };
                exchange.complete(self.event_loop.clock.now(), &self.setup.methods, completions);
            }
            Poll::Ready(Err(failure)) => {
                let connection = self.connections.get(exchange.connection);
                // TLS knows better than what `h2` has made of it, and of an end nothing is known but what was said before it.
                let stream_ref = connection.and_then(|connection| connection.stream_ref.borrow().failure.clone());
                let failure_before = || {
                    connection.and_then(|connection| connection.closing_failure.clone()).filter(|_| failure.1 == CLOSED)
                };
                let failure = stream_ref.or_else(failure_before).unwrap_or(failure);
                self.fail_or_resend(key, failure, completions);
            }
        }
    }

    /// Ends an exchange with a failure; one that was not processed is begun again, if it may be.
    fn fail_or_resend(&mut self, key: usize, failure: Failure, completions: &mut Vec<Completion>) {
        let resend = self.setup.resend && failure.0 == Outcome::Unprocessed;
        let Some(exchange) = self.exchanges.get_mut(key).filter(|exchange| resend && exchange.resent < MAX_RESENDS)
        else {
            return self.fail_exchange(key, failure, completions);
        };
        exchange.state = State::Waiting;
        exchange.sending = None;
        let connection = std::mem::replace(&mut exchange.connection, NO_CONNECTION);
        self.unprocessed.push((key, exchange.serial));
        self.release_stream(connection, true);
    }

    /// Ends an exchange with a failure for good.
    fn fail_exchange(&mut self, key: usize, failure: Failure, completions: &mut Vec<Completion>) {
        if let Some(exchange) = self.remove_exchange(key) {
            exchange.fail(self.event_loop.clock.now(), failure, completions);
        }
    }

    /// Takes an exchange out of the books. A stream that had not ended is reset by this.
    fn remove_exchange(&mut self, key: usize) -> Option<Exchange> {
        let mut exchange = self.exchanges.try_remove(key)?;
        if !exchange.is_over() {
            exchange.state = State::Waiting;
        }
        self.release_stream(exchange.connection, self.setup.reuse == Reuse::Fresh);
        Some(exchange)
    }

    /// A connection carries one exchange less, and takes no more if it `is_done`.
    fn release_stream(&mut self, key: usize, is_done: bool) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        connection.under_way -= 1;
        connection.retired |= is_done;
        if connection.retired && connection.under_way == 0 {
            self.close(key);
        } else {
            self.wake_queue.wake(Task::Connection(key));
        }
    }

    /// A connection is over: what it still carries fails.
    fn fail_connection(&mut self, key: usize, failure: &Failure, completions: &mut Vec<Completion>) {
        self.connections[key].retired = true;
        self.connections[key].closing_failure = Some(failure.clone());
        let carried: Vec<usize> =
            self.exchanges.iter().filter(|(_, exchange)| exchange.connection == key).map(|(key, _)| key).collect();
        for exchange in carried {
            // What had come in whole before the end is an answer.
            self.poll_response(exchange, completions);
            if self.exchanges.get(exchange).is_some_and(|exchange| exchange.connection == key) {
                self.fail_or_resend(exchange, failure.clone(), completions);
            }
        }
        self.close(key);
    }

    /// Closes a connection that carries nothing; one that is open says goodbye.
    fn close(&mut self, key: usize) {
        let Some(connection) = self.connections.try_remove(key) else { return };
        if let Some(H2Session { send, mut driver }) = connection.session {
            drop(send);
            let _ = Pin::new(&mut driver).poll(&mut Context::from_waker(&connection.waker));
        }
        // A socket the poller does not know is closed all the same.
        let _ = self.event_loop.poller.remove(&*connection.stream_ref.borrow());
    }
}

impl SocketHandler<Vec<Completion>> for Http2 {
    type Connection = Connection;
    type Exchange = Exchange;

    fn parts(&mut self) -> (&mut EventLoop, &Slab<Connection>, &Slab<Exchange>) {
        (&mut self.event_loop, &self.connections, &self.exchanges)
    }

    fn on_ready(&mut self, ready: Ready, completions: &mut Vec<Completion>) -> usize {
        let key = ready.token;
        let Some(connection) = self.connections.get_mut(key) else { return 0 };
        let stream_ref = connection.stream_ref.clone();
        let opened = {
            let stream_ref = &mut *stream_ref.borrow_mut();
            stream_ref.begin_turn(ready);
            if stream_ref.stream.is_open() {
                Ok(true)
            } else {
                stream_ref.stream.continue_connecting(
                    &self.setup.route,
                    ready.writable || ready.closed,
                    &self.event_loop.clock,
                )
            }
        };
        match opened {
            Ok(true) => self.drive(key, completions),
            Ok(false) => {}
            Err(failure) => self.fail_connection(key, &failure, completions),
        }
        stream_ref.borrow().bytes_read
    }

    fn on_connect_timeout(&mut self, key: usize, reason: Failure, completions: &mut Vec<Completion>) {
        self.fail_connection(key, &reason, completions);
    }

    fn on_response_timeout(&mut self, key: usize, within: Nanos, completions: &mut Vec<Completion>) {
        self.fail_or_resend(key, (Outcome::Timeout, Reason::NotAnswered(within)), completions);
    }

    fn after_sockets(&mut self, completions: &mut Vec<Completion>) {
        self.run_woken(completions);
    }
}

impl ConnectionSlot for Connection {
    fn number(&self) -> u32 {
        self.number
    }

    fn is_connecting(&self, number: u64) -> bool {
        u64::from(self.number) == number && self.session.is_none()
    }
}

impl ProtocolClient for Http2 {
    fn now(&self) -> Instant {
        self.event_loop.clock.now()
    }

    fn begin(&mut self, outgoing: &Arc<OutgoingRequest>, event: Event, completions: &mut Vec<Completion>) -> Instant {
        let unsent = |event: Event, reason: Reason, completions: &mut Vec<Completion>| {
            completions.push(Completion::Done(Event { error: Some(reason), ..event }, None));
        };
        let (label, session) = (event.label, event.session);
        let request = match exchange::request(outgoing, &self.setup.origin, self.setup.methods.of(label)) {
            Ok(request) => request,
            Err(reason) => {
                unsent(event, reason.into(), completions);
                return self.event_loop.clock.now();
            }
        };
        let is_call = self.setup.methods.of(label).is_some();
        let timeout = match is_call.then(|| outgoing.grpc_timeout()).transpose() {
            Ok(timeout) => timeout.flatten(),
            Err(reason) => {
                unsent(event, reason.into(), completions);
                return self.event_loop.clock.now();
            }
        };
        let usable = self.usable(session);
        if usable.is_none() && self.limit.is_some_and(|limit| self.connections.len() >= limit) {
            unsent(event, Reason::Streams(self.connections.len() as u64), completions);
            return self.event_loop.clock.now();
        }
        let sent = self.event_loop.clock.now();
        let connection = match usable.map_or_else(|| self.open(session, sent), Ok) {
            Ok(key) => key,
            Err((Outcome::Unsent, reason)) => {
                unsent(event, reason, completions);
                return sent;
            }
            Err((outcome, reason)) => {
                let event = Event { sent: Some(sent), done: Some(self.event_loop.clock.now()), outcome, ..event };
                unsent(event, reason, completions);
                return sent;
            }
        };
        self.serial += 1;
        let on = &mut self.connections[connection];
        let event = Event { sent: Some(sent), connection: on.number, reused: on.carried > 0, ..event };
        on.carried += 1;
        on.under_way += 1;
        // A message that is cut could not be read.
        let wanted = if is_call && outgoing.body_limit > 0 { MAX_BODY_BYTES } else { outgoing.body_limit };
        let key =
            self.exchanges.insert(Exchange::new(event, connection, self.serial, request, outgoing.clone(), wanted));
        if key == self.wakers.len() {
            self.wakers.push(self.wake_queue.waker(Task::Exchange(key)));
        }
        let exchanges = &self.exchanges;
        let waits = |key, serial| exchanges.get(key).is_some_and(|exchange: &Exchange| exchange.is_pending(serial));
        self.event_loop.response_deadlines.push(sent, key, self.serial, exchanges.len(), waits);
        if let Some(timeout) = timeout {
            self.call_deadlines.push(sent + timeout, key, self.serial, exchanges.len(), waits);
        }
        if self.connections[connection].session.is_some() {
            self.send_request(key, completions);
        } else {
            self.connections[connection].waiting.push(key);
        }
        self.run_woken(completions);
        sent
    }

    fn wait(&mut self, deadline: Instant, completions: &mut Vec<Completion>) {
        let alarm = self.next_timer();
        run_once(self, deadline.min(alarm), completions);
        if alarm < Instant::MAX {
            self.fire_timers(completions);
        }
    }

    fn close_session(&mut self, session: u64) {
        if let Some((key, number)) = self.by_session.remove(&session)
            && self.connections.get(key).is_some_and(|c| c.number == number && c.under_way == 0)
        {
            self.close(key);
        }
    }

    fn cancel_all(&mut self, completions: &mut Vec<Completion>) {
        for exchange in self.exchanges.drain() {
            let error = Some(Reason::Stopped);
            completions
                .push(Completion::Done(Event { outcome: Outcome::Cut, status: 0, error, ..exchange.event }, None));
        }
        for connection in self.connections.drain() {
            let _ = self.event_loop.poller.remove(&*connection.stream_ref.borrow());
        }
    }

    fn in_flight_since(&mut self, instant: Instant) -> Option<Event> {
        in_flight_since::<Vec<Completion>, _>(self, instant)
    }

    fn idle(&self) -> Nanos {
        self.event_loop.idle
    }

    fn request_text(&self, outgoing: &OutgoingRequest, event: &Event) -> RequestText {
        request_text(outgoing, &self.setup.origin, self.setup.methods.of(event.label).is_some())
    }
}

/// How `ask` is said to the server whose scheme and authority are `origin`; a call if it `is_call`.
pub(super) fn request_text(outgoing: &OutgoingRequest, origin: &str, is_call: bool) -> RequestText {
    let (mut head, body) = match exchange::request(outgoing, origin, None) {
        Ok(request) => request,
        Err(reason) => return RequestText::unavailable(reason),
    };
    if is_call {
        head.headers_mut().remove(http::header::CONTENT_LENGTH);
        exchange::add_grpc_headers(head.headers_mut());
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
    RequestText { head: lines, body: body.map(|body| body.to_vec()).unwrap_or_default() }
}
