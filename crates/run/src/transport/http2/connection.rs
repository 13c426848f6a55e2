//! Connections: choosing, opening, driving and closing them.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use h2::client::{self, SendRequest};
use offered_base::Instant;
use offered_events::{Outcome, Reason};
use offered_io::Ready;
use offered_workload::Reuse;

use super::Http2;
use super::exchange::{CLOSED, failure};
use super::io::{Io, SharedStream};
use super::tasks::Task;
use crate::transport::Failure;
use crate::transport::event_loop::ConnectionSlot;
use crate::transport::protocol_client::Completion;
use crate::transport::socket::dial_failure;
use crate::transport::stream::Stream;

/// Flow-control windows of a stream and of a connection. Responses are read at once, so they are large enough never to
/// slow the server down.
const WINDOW: u32 = 1 << 20;
const WINDOWS: u32 = 16 << 20;
/// Number of streams on a connection whose server has not yet announced a limit.
const DEFAULT_MAX_STREAMS: usize = 100;
/// Maximum size of a response head in bytes, as over HTTP/1.
const MAX_HEAD_BYTES: u32 = 300 * 1024;

/// A connection.
pub(crate) struct Connection {
    pub(super) stream_ref: Rc<RefCell<SharedStream>>,
    /// The serial number of the connection within its thread, from 0.
    pub(super) number: u32,
    /// Number of requests carried so far.
    pub(super) carried: u64,
    /// Number of requests in flight.
    pub(super) under_way: usize,
    /// The HTTP/2 session, once the connection is open.
    pub(super) session: Option<H2Session>,
    /// Exchanges that wait for the connection to open.
    pub(super) waiting: Vec<usize>,
    /// The connection takes no new streams: the server is going away, or it is closed after its one exchange.
    pub(super) retired: bool,
    pub(super) waker: Waker,
    /// The reason that the server gave before it closed the connection.
    pub(super) closing_failure: Option<Failure>,
}

pub(super) struct H2Session {
    pub(super) send: SendRequest<Bytes>,
    pub(super) driver: client::Connection<Io, Bytes>,
}

impl Connection {
    /// Whether the connection takes another stream. After GOAWAY it takes none.
    pub(super) fn has_room(&mut self) -> bool {
        let most = match &mut self.session {
            // Before the server has announced a limit, `h2` sends no more than this.
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

impl ConnectionSlot for Connection {
    fn number(&self) -> u32 {
        self.number
    }

    fn is_connecting(&self, number: u64) -> bool {
        u64::from(self.number) == number && self.session.is_none()
    }
}

impl Http2 {
    /// The connection that `session` can use now; `None` if a new one must be opened.
    pub(super) fn usable(&mut self, session: u64) -> Option<usize> {
        match self.setup.reuse {
            Reuse::Fresh => None,
            Reuse::PerSession => {
                let (key, number) = *self.by_session.get(&session)?;
                let own_connection = self.connections.get_mut(key).filter(|connection| connection.number == number)?;
                own_connection.has_room().then_some(key)
            }
            // With a limit, all connections share the streams. Without one, a new connection is opened only when all
            // are full.
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

    /// Whether the limit permits another connection. One that finishes its streams after GOAWAY takes no more requests, so it does not count.
    pub(super) fn may_open(&self) -> bool {
        let taking = || self.connections.iter().filter(|(_, connection)| !connection.retired).count();
        self.limit.is_none_or(|limit| self.connections.len() < limit || taking() < limit)
    }

    /// Starts to connect; returns the key of the new connection.
    pub(super) fn open(&mut self, session: u64, now: Instant) -> Result<usize, Failure> {
        let mut stream = Stream::dial(&self.setup.route, &self.event_loop.clock)?;
        let key = self.connections.vacant_key();
        self.event_loop.poller.add(&stream, key).map_err(dial_failure)?;
        stream.start_race(&self.event_loop.poller, key, &self.setup.route.addresses);
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

    /// Lets a connection read and write what it can.
    pub(super) fn drive(&mut self, key: usize, completions: &mut Vec<Completion>) {
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

    /// Starts HTTP/2 on a connection that has just opened, and sends what was waiting for it.
    fn start_http2(&mut self, key: usize, completions: &mut Vec<Completion>) {
        let connection = &mut self.connections[key];
        let handshake = connection.stream_ref.borrow().stream.handshake;
        let mut builder = client::Builder::new();
        builder.enable_push(false).initial_window_size(WINDOW).initial_connection_window_size(WINDOWS);
        builder.max_header_list_size(MAX_HEAD_BYTES);
        // The handshake only writes the preface; it does not wait for the server.
        let mut begin = Box::pin(builder.handshake::<_, Bytes>(Io(connection.stream_ref.clone())));
        match begin.as_mut().poll(&mut Context::from_waker(&connection.waker)) {
            Poll::Ready(Ok((send, driver))) => connection.session = Some(H2Session { send, driver }),
            Poll::Ready(Err(error)) => return self.fail_connection(key, &failure(&error), completions),
            Poll::Pending => {
                return self.fail_connection(
                    key,
                    &(Outcome::Reset, Reason::words("the socket accepted no data")),
                    completions,
                );
            }
        }
        for (nth, waiting) in std::mem::take(&mut connection.waiting).into_iter().enumerate() {
            if let Some(exchange) = self.exchanges.get_mut(waiting) {
                // The first exchange opened the connection, so the handshake time is part of that one.
                exchange.event.handshake = exchange.event.handshake.or(handshake.filter(|_| nth == 0));
                self.send_request(waiting, completions);
            }
        }
        self.wake_queue.wake(Task::Connection(key));
    }

    /// Counts one exchange less on a connection. If it `is_done`, the connection takes no more.
    pub(super) fn release_stream(&mut self, key: usize, is_done: bool) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        connection.under_way -= 1;
        connection.retired |= is_done;
        if connection.retired && connection.under_way == 0 {
            self.close(key);
        } else {
            self.wake_queue.wake(Task::Connection(key));
        }
    }

    /// Fails what a connection still carries, and closes it.
    pub(super) fn fail_connection(&mut self, key: usize, failure: &Failure, completions: &mut Vec<Completion>) {
        self.connections[key].retired = true;
        self.connections[key].closing_failure = Some(failure.clone());
        let carried: Vec<usize> =
            self.exchanges.iter().filter(|(_, exchange)| exchange.connection == key).map(|(key, _)| key).collect();
        for exchange in carried {
            // A response that was complete before the end counts.
            self.poll_response(exchange, completions);
            if self.exchanges.get(exchange).is_some_and(|exchange| exchange.connection == key) {
                self.fail_or_resend(exchange, failure.clone(), completions);
            }
        }
        self.close(key);
    }

    /// Closes a connection that carries nothing; if it is open, GOAWAY is sent.
    pub(super) fn close(&mut self, key: usize) {
        let Some(connection) = self.connections.try_remove(key) else { return };
        if let Some(H2Session { send, mut driver }) = connection.session {
            drop(send);
            let _ = Pin::new(&mut driver).poll(&mut Context::from_waker(&connection.waker));
        }
        self.event_loop.poller.remove_closing(&*connection.stream_ref.borrow());
    }
}
