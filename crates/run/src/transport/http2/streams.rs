//! Exchanges as streams of connections: sending, receiving, resending and failing them.

use std::task::{Context, Poll};

use offered_base::{Instant, Nanos};
use offered_events::{Outcome, Reason};
use offered_workload::Reuse;

use super::Http2;
use super::exchange::{self, CLOSED, Exchange, State};
use super::tasks::Task;
use crate::transport::Failure;
use crate::transport::event_loop::PendingExchange;
use crate::transport::protocol_client::Completion;
use crate::transport::timers::CONTINUE_TIMEOUT;

/// Maximum number of times that a request which the server did not process is sent again.
const MAX_RESENDS: u16 = 3;
/// The key of no connection.
const NO_CONNECTION: usize = usize::MAX;

impl Http2 {
    /// Polls all woken tasks, until none is left.
    pub(super) fn run_woken(&mut self, completions: &mut Vec<Completion>) {
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

    /// Hands a request to its open connection. The frames are written when the connection is polled.
    pub(super) fn send_request(&mut self, key: usize, completions: &mut Vec<Completion>) {
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

    /// Sends a request that was not processed again, on another connection.
    fn resend_unprocessed(&mut self, key: usize, serial: u64, completions: &mut Vec<Completion>) {
        let Some(exchange) = self.exchanges.get(key).filter(|exchange| exchange.is_pending(serial)) else { return };
        let (session, label) = (exchange.event.session, exchange.event.label);
        let request = exchange::request(&exchange.outgoing, &self.setup.origin, self.setup.methods.of(label));
        let now = self.event_loop.clock.now();
        let connection = match self.usable(session) {
            Some(connection) => Ok(connection),
            None if self.may_open() => self.open(session, now),
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
        exchange.event.resends += 1;
        (exchange.event.connection, exchange.event.reused) = (on.number, on.carried > 0);
        on.carried += 1;
        on.under_way += 1;
        if on.session.is_some() {
            self.send_request(key, completions);
        } else {
            on.waiting.push(key);
        }
    }

    /// When the first held-back body or call deadline is due.
    pub(super) fn next_timer(&mut self) -> Instant {
        let exchanges = &self.exchanges;
        let holds = |key, serial| exchanges.get(key).is_some_and(|e: &Exchange| e.held && e.is_pending(serial));
        let waits = |key, serial| exchanges.get(key).is_some_and(|e: &Exchange| e.is_pending(serial));
        self.held_bodies.next_due(holds).min(self.call_deadlines.next_due(waits))
    }

    /// Handles the held-back bodies and call deadlines that are due.
    pub(super) fn fire_timers(&mut self, completions: &mut Vec<Completion>) {
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
                if self.exchanges[key].stop_listening() {
                    self.complete(key, None, completions);
                    continue;
                }
                let reason = self.exchanges[key].deadline_exceeded();
                self.fail_or_resend(key, (Outcome::Timeout, reason), completions);
            }
        }
        self.run_woken(completions);
    }

    /// Reads what has arrived of a response.
    pub(super) fn poll_response(&mut self, key: usize, completions: &mut Vec<Completion>) {
        let Some(exchange) = self.exchanges.get_mut(key) else { return };
        let mut context = Context::from_waker(&self.wakers[key]);
        let connection = self.connections.get(exchange.connection);
        let arrival = connection.and_then(|connection| connection.stream_ref.borrow().stream.arrival());
        let shared = self.event_loop.reading.shared_arrival(arrival);
        match exchange.poll_response(&mut context, &self.event_loop.clock, shared, completions) {
            Poll::Pending => {}
            Poll::Ready(Ok(())) => self.complete(key, arrival, completions),
            Poll::Ready(Err(failure)) => {
                let connection = self.connections.get(exchange.connection);
                // The stream knows a TLS failure better than `h2`. If the server only closed, the reason it gave before
                // applies.
                let stream_ref = connection.and_then(|connection| connection.stream_ref.borrow().failure.clone());
                let failure_before = || {
                    connection.and_then(|connection| connection.closing_failure.clone()).filter(|_| failure.1 == CLOSED)
                };
                let failure = stream_ref.or_else(failure_before).unwrap_or(failure);
                self.fail_or_resend(key, failure, completions);
            }
        }
    }

    /// Completes an exchange whose response has arrived, with this receive time of its last bytes.
    fn complete(&mut self, key: usize, arrival: Option<Nanos>, completions: &mut Vec<Completion>) {
        if let Some(mut exchange) = self.remove_exchange(key) {
            exchange.complete(self.event_loop.clock.now(), arrival, &self.setup.methods, completions);
        }
    }

    /// Fails an exchange. One that the server did not process is sent again, if allowed.
    pub(super) fn fail_or_resend(&mut self, key: usize, failure: Failure, completions: &mut Vec<Completion>) {
        let resend = self.setup.resend && failure.0 == Outcome::Unprocessed;
        let Some(exchange) =
            self.exchanges.get_mut(key).filter(|exchange| resend && exchange.event.resends < MAX_RESENDS)
        else {
            return self.fail_exchange(key, failure, completions);
        };
        exchange.state = State::Waiting;
        exchange.sending = None;
        let connection = std::mem::replace(&mut exchange.connection, NO_CONNECTION);
        self.unprocessed.push((key, exchange.serial));
        self.release_stream(connection, true);
    }

    /// Fails an exchange for good.
    fn fail_exchange(&mut self, key: usize, failure: Failure, completions: &mut Vec<Completion>) {
        if let Some(exchange) = self.remove_exchange(key) {
            exchange.fail(self.event_loop.clock.now(), failure, completions);
        }
    }

    /// Removes an exchange. A stream that has not ended is reset by this.
    fn remove_exchange(&mut self, key: usize) -> Option<Exchange> {
        let mut exchange = self.exchanges.try_remove(key)?;
        if !exchange.is_over() {
            exchange.state = State::Waiting;
        }
        self.release_stream(exchange.connection, self.setup.reuse == Reuse::Fresh);
        Some(exchange)
    }
}
