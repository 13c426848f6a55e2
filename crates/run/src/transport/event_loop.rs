//! The event loop of one thread, shared by all protocols: waits for sockets and for the next scheduled request, handles
//! the sockets that are ready, and enforces timeouts.
//!
//! An iteration is bounded. Whatever the peers send, scheduled requests get their turn after [`MAX_TURN`] plus the one
//! socket being handled. Sockets that were not reached are handled first in the next iteration.

use offered_base::{Instant, Nanos};
use offered_events::{Event, Outcome, Reason};
use offered_io::{Clock, Poller, Ready};
use slab::Slab;

use super::Failure;
use super::deadlines::Deadlines;

/// How long sockets are handled before scheduled requests get their turn.
const MAX_TURN: Nanos = Nanos::from_millis(1);
/// The clock is read after this many bytes; each handled socket counts as some bytes, too.
const CLOCK_CHECK_BYTES: usize = 64 * 1024;
const BYTES_PER_SOCKET: usize = 1024;

/// What a thread waits with.
pub(super) struct EventLoop {
    pub(super) clock: Clock,
    pub(super) poller: Poller,
    /// The timeouts for connecting and for responses.
    pub(super) connect_deadlines: Deadlines,
    pub(super) response_deadlines: Deadlines,
    /// The last part of each wait that is spent without sleeping.
    spin: Nanos,
    /// Total time spent waiting.
    pub(super) idle: Nanos,
    ready: Vec<Ready>,
    /// Sockets with unfinished work and the numbers of their connections. The poller will not report them again.
    requeued: Vec<(Ready, u32)>,
}

/// A connection, as the event loop sees it.
pub(super) trait ConnectionSlot {
    /// The serial number of the connection within its thread.
    fn number(&self) -> u32;

    /// Whether this is the connection with this `serial`, and it is still connecting.
    fn is_connecting(&self, serial: u64) -> bool;
}

/// An exchange that waits for a response.
pub(super) trait PendingExchange {
    /// Whether this is the exchange with this `serial`, and it is still waiting.
    fn is_pending(&self, serial: u64) -> bool;

    /// The event so far; `None` if there is no exchange.
    fn event(&self) -> Option<&Event>;
}

/// Handles the sockets of an event loop. `H` collects the results.
pub(super) trait SocketHandler<H> {
    type Connection: ConnectionSlot;
    type Exchange: PendingExchange;

    /// The event loop; the connections that may be connecting, by key; and the exchanges that may be waiting, by key.
    fn parts(&mut self) -> (&mut EventLoop, &Slab<Self::Connection>, &Slab<Self::Exchange>);

    /// Handles a ready socket, within bounds of its own; returns the number of bytes read. If work remains, it calls
    /// [`EventLoop::requeue`].
    fn on_ready(&mut self, ready: Ready, completions: &mut H) -> usize;

    /// The connection with this key was not open in time.
    fn on_connect_timeout(&mut self, key: usize, reason: Failure, completions: &mut H);

    /// The exchange with this key did not complete within `timeout`.
    fn on_response_timeout(&mut self, key: usize, timeout: Nanos, completions: &mut H);

    /// Called after the sockets of an iteration have been handled.
    #[inline]
    fn after_sockets(&mut self, _heard: &mut H) {}
}

impl EventLoop {
    /// An event loop with this `clock` and `poller`, which waits without sleeping for the last `spin`, and with
    /// timeouts to connect and for responses.
    pub(super) fn new(clock: Clock, poller: Poller, spin: Nanos, connect: Nanos, answer: Nanos) -> Self {
        Self {
            clock,
            poller,
            connect_deadlines: Deadlines::new(connect),
            response_deadlines: Deadlines::new(answer),
            spin,
            idle: Nanos::ZERO,
            ready: Vec::new(),
            requeued: Vec::new(),
        }
    }

    /// Switches to `clock` at the start of a run. No deadline may be pending.
    pub(super) fn start_at(&mut self, clock: Clock) {
        self.clock = clock;
        self.connect_deadlines = Deadlines::new(self.connect_deadlines.timeout());
        self.response_deadlines = Deadlines::new(self.response_deadlines.timeout());
        self.idle = Nanos::ZERO;
    }

    /// Handles the socket of connection `number` again in the next iteration, because work remains.
    pub(super) fn requeue(&mut self, ready: Ready, number: u32) {
        self.requeued.push((ready, number));
    }
}

/// Runs one iteration: waits until a socket is ready or until `deadline`, then handles the ready sockets within the
/// bounds of an iteration.
#[inline]
pub(super) fn run_once<H, S: SocketHandler<H>>(served: &mut S, deadline: Instant, completions: &mut H) {
    let (event_loop, connections, exchanges) = served.parts();
    let opening = |key, serial| connections.get(key).is_some_and(|connection| connection.is_connecting(serial));
    let waiting = |key, serial| exchanges.get(key).is_some_and(|exchange| exchange.is_pending(serial));
    let expiry = event_loop.connect_deadlines.next_due(opening).min(event_loop.response_deadlines.next_due(waiting));
    let before = event_loop.clock.now();
    let until = if event_loop.requeued.is_empty() { deadline.min(expiry) } else { before };
    let (mut ready, requeued) = (std::mem::take(&mut event_loop.ready), std::mem::take(&mut event_loop.requeued));
    if let Err(error) = event_loop.poller.wait_until(&event_loop.clock, until, event_loop.spin, &mut ready) {
        // Waiting on one's own poller fails only because of a bug.
        panic!("waiting for sockets: {error}");
    }
    let now = event_loop.clock.now();
    event_loop.idle += before.until(now);
    let mut budget = TurnBudget { end: now + MAX_TURN, read: 0, is_spent: false, had_more: 0 };
    for (ready, number) in requeued {
        let (event_loop, connections, _) = served.parts();
        if connections.get(ready.token).is_none_or(|connection| connection.number() != number) {
            continue;
        }
        if budget.is_spent {
            event_loop.requeue(ready, number);
        } else {
            let read = served.on_ready(ready, completions);
            budget.spend(read, served);
        }
    }
    for ready in ready.drain(..) {
        if budget.is_spent {
            let (event_loop, connections, _) = served.parts();
            if let Some(connection) = connections.get(ready.token) {
                event_loop.requeue(ready, connection.number());
            }
        } else {
            let read = served.on_ready(ready, completions);
            budget.spend(read, served);
        }
    }
    let event_loop = served.parts().0;
    event_loop.ready = ready;
    // Sockets that were not reached come before those that had more work than fits.
    event_loop.requeued.rotate_left(budget.had_more);
    served.after_sockets(completions);
    if now >= expiry {
        expire(served, now, completions);
        served.after_sockets(completions);
    }
}

/// The event of the next exchange that was sent by `instant` and is still in flight. Each is returned once.
#[inline]
pub(super) fn in_flight_since<H, S: SocketHandler<H>>(served: &mut S, instant: Instant) -> Option<Event> {
    let (event_loop, _, exchanges) = served.parts();
    let waiting = |key, serial| exchanges.get(key).is_some_and(|exchange| exchange.is_pending(serial));
    let key = event_loop.response_deadlines.next_started_by(instant, waiting)?;
    exchanges.get(key)?.event().cloned()
}

/// The rest of an iteration.
struct TurnBudget {
    end: Instant,
    read: usize,
    is_spent: bool,
    /// Number of handled sockets with work remaining.
    had_more: usize,
}

impl TurnBudget {
    /// Accounts for one handled socket and the bytes read from it.
    #[inline]
    fn spend<H, S: SocketHandler<H>>(&mut self, read: usize, served: &mut S) {
        self.read += read + BYTES_PER_SOCKET;
        if self.read >= CLOCK_CHECK_BYTES {
            let event_loop = served.parts().0;
            self.read = 0;
            self.is_spent = event_loop.clock.now() >= self.end;
            if self.is_spent {
                self.had_more = event_loop.requeued.len();
            }
        }
    }
}

/// Fails the connections and exchanges whose timeouts have expired.
fn expire<H, S: SocketHandler<H>>(served: &mut S, now: Instant, completions: &mut H) {
    loop {
        let (event_loop, connections, _) = served.parts();
        let opening = |key, serial| connections.get(key).is_some_and(|connection| connection.is_connecting(serial));
        let Some(key) = event_loop.connect_deadlines.pop_expired(now, opening) else { break };
        let reason = Reason::ConnectTimeout(event_loop.connect_deadlines.timeout());
        served.on_connect_timeout(key, (Outcome::Timeout, reason), completions);
    }
    loop {
        let (event_loop, _, exchanges) = served.parts();
        let waiting = |key, serial| exchanges.get(key).is_some_and(|exchange| exchange.is_pending(serial));
        let Some(key) = event_loop.response_deadlines.pop_expired(now, waiting) else { break };
        let timeout = event_loop.response_deadlines.timeout();
        served.on_response_timeout(key, timeout, completions);
    }
}
