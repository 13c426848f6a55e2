//! HTTP/2 over TLS, TCP or a Unix socket: exchanges are streams of a few connections (RFC 9113).
//!
//! The protocol is implemented by the `h2` crate, without an asynchronous runtime. A connection is polled when its
//! socket is ready or when something on it was used; an exchange is polled when its waker was woken. So the sending
//! thread writes a request before it does anything else. The flow control of bodies is in `exchange`, the sizes of the
//! windows are in `connection`.

mod connection;
mod exchange;
mod io;
mod setup;
mod streams;
mod tasks;

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;

use offered_base::{Instant, Nanos};
use offered_events::{Event, Outcome, Reason};
use offered_io::{Clock, Ready};
use slab::Slab;

use self::connection::Connection;
use self::exchange::Exchange;
pub(crate) use self::setup::Setup;
use self::tasks::{Task, WakeQueue};
use super::event_loop::{EventLoop, PendingExchange, SocketHandler, in_flight_since, next_turn, run_once};
use super::protocol_client::{Completion, ProtocolClient, RequestText};
use super::timers::Timers;
use super::{Client, Failure, ThreadResources};
use crate::message::{MAX_BODY_BYTES, OutgoingRequest};

/// Maximum number of bytes of one read.
const BUFFER: usize = 64 * 1024;

/// The connections of one thread and their streams.
pub(crate) struct Http2 {
    setup: Setup,
    event_loop: EventLoop,
    /// Maximum number of connections; without a limit, as many as the streams need.
    limit: Option<usize>,
    connections: Slab<Connection>,
    exchanges: Slab<Exchange>,
    /// The connection of each session, with `reuse = "per-session"`: (key, number).
    by_session: HashMap<u64, (usize, u32)>,
    /// The waker of the exchange with each key.
    wakers: Vec<Waker>,
    wake_queue: WakeQueue,
    tasks: Vec<Task>,
    /// Exchanges (key, serial) that the server did not process. They are sent again after all ready sockets have been
    /// handled.
    unprocessed: Vec<(usize, u64)>,
    /// When held-back bodies are sent even if the server has not asked for them, and the deadlines of gRPC calls.
    held_bodies: Timers,
    call_deadlines: Timers,
    opened: u32,
    serial: u64,
    buffer: Rc<RefCell<Box<[u8]>>>,
}

impl Http2 {
    fn new(setup: Setup, thread: ThreadResources<'_>) -> Self {
        let ThreadResources { poller, connections, spin, limits, .. } = thread;
        Self {
            event_loop: EventLoop::new(poller, spin, (setup.connect_timeout, setup.response_timeout), limits),
            setup,
            limit: connections.map(|limit| limit as usize),
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
            stream_ref.begin_turn(ready, self.event_loop.reading.samples(true) || self.setup.has_streams);
            if stream_ref.stream.is_open() {
                Ok(true)
            } else {
                stream_ref.stream.continue_connecting(
                    &self.setup.route,
                    ready.writable || ready.closed,
                    &self.event_loop.clock,
                    (&self.event_loop.poller, key),
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
        self.fail_or_resend(key, (Outcome::Timeout, Reason::ResponseTimeout(within)), completions);
    }

    fn after_sockets(&mut self, completions: &mut Vec<Completion>) {
        self.run_woken(completions);
    }
}

impl Client<Vec<Completion>> for Http2 {
    fn now(&self) -> Instant {
        self.event_loop.clock.now()
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
            self.event_loop.poller.remove_closing(&*connection.stream_ref.borrow());
        }
    }

    fn in_flight_since(&mut self, instant: Instant) -> Option<Event> {
        in_flight_since::<Vec<Completion>, _>(self, instant)
    }

    fn idle(&self) -> Nanos {
        self.event_loop.idle
    }
}

impl ProtocolClient for Http2 {
    fn start_at(&mut self, clock: Clock) {
        self.event_loop.start_at(clock);
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
            Ok(timeout) => timeout.flatten().or(outgoing.stream.as_ref().and_then(|stream| stream.listen())),
            Err(reason) => {
                unsent(event, reason.into(), completions);
                return self.event_loop.clock.now();
            }
        };
        let usable = self.usable(session);
        if usable.is_none() && !self.may_open() {
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
        // A truncated message could not be decoded.
        let body_limit = if is_call && outgoing.body_limit > 0 { MAX_BODY_BYTES } else { outgoing.body_limit };
        let key =
            self.exchanges.insert(Exchange::new(event, connection, self.serial, request, outgoing.clone(), body_limit));
        if key == self.wakers.len() {
            self.wakers.push(self.wake_queue.waker(Task::Exchange(key)));
        }
        let exchanges = &self.exchanges;
        let waits = |key, serial| exchanges.get(key).is_some_and(|exchange: &Exchange| exchange.is_pending(serial));
        if let Some(event) = exchanges[key].event() {
            self.event_loop.start_timeout(event, (key, self.serial), exchanges.len(), waits);
        }
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

    fn next_turn(&mut self) -> Instant {
        next_turn::<Vec<Completion>, _>(self).min(self.next_timer())
    }

    fn request_text(&self, outgoing: &OutgoingRequest, event: &Event) -> RequestText {
        request_text(outgoing, &self.setup.origin, self.setup.methods.of(event.label).is_some())
    }
}

/// The text of a request to the server at `origin` (scheme and authority); of a gRPC call if `is_call`.
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
