//! One thread's turns: it waits for its sockets and for the next launch, serves the sockets that are ready, and gives up what
//! takes too long. The same for every protocol.
//!
//! A turn is bounded: whatever a peer sends, and however many do, launches have their turn again after [`LENGTH`] and the one
//! socket that was being served. What was not reached is served first in the next turn.

use offered_clock::{Clock, Poller, Ready};
use offered_model::{Event, Instant, Nanos, Outcome, Reason};
use slab::Slab;

use super::Failure;
use super::deadlines::Deadlines;

/// How long sockets are served before launches have their turn.
const MAX_TURN: Nanos = Nanos::from_millis(1);
/// The clock is asked whenever so many bytes have been read; a socket counts as so many besides.
const CLOCK_CHECK_BYTES: usize = 64 * 1024;
const BYTES_PER_SOCKET: usize = 1024;

/// What a thread waits with.
pub(super) struct EventLoop {
    pub(super) clock: Clock,
    pub(super) poller: Poller,
    /// When something that has begun must be connected, and when answered.
    pub(super) connect_deadlines: Deadlines,
    pub(super) response_deadlines: Deadlines,
    /// The last so much of a wait is spent without sleep.
    spin: Nanos,
    /// How long has been waited so far.
    pub(super) idle: Nanos,
    ready: Vec<Ready>,
    /// Sockets, with their connections' numbers, that no event will announce again: there was more than a turn takes.
    requeued: Vec<(Ready, u32)>,
}

/// A connection, as its turns see it.
pub(super) trait ConnectionSlot {
    /// Its serial number within the worker.
    fn number(&self) -> u32;

    /// Whether it is the one noted as `serial` and still waits to be open.
    fn is_connecting(&self, serial: u64) -> bool;
}

/// What waits for an answer.
pub(super) trait PendingExchange {
    /// Whether it is the one noted as `serial` and still waits.
    fn is_pending(&self, serial: u64) -> bool;

    /// Its event as far as it has come; `None` when it waits for nothing.
    fn event(&self) -> Option<&Event>;
}

/// What is served in turns; `H` takes what is heard.
pub(super) trait SocketHandler<H> {
    type Connection: ConnectionSlot;
    type Exchange: PendingExchange;

    /// What it waits with; by key the connections that may be opening, and what may wait for answers.
    fn parts(&mut self) -> (&mut EventLoop, &Slab<Self::Connection>, &Slab<Self::Exchange>);

    /// Does what a ready socket asks for, within bounds of its own; how many bytes that took. Where more is left than it took, it
    /// says [`Turns::again`].
    fn on_ready(&mut self, ready: Ready, completions: &mut H) -> usize;

    /// The connection with this key is not open in time.
    fn on_connect_timeout(&mut self, key: usize, reason: Failure, completions: &mut H);

    /// The exchange with this key is not answered in time, which was so much.
    fn on_response_timeout(&mut self, key: usize, timeout: Nanos, completions: &mut H);

    /// Does what follows from what was done in a turn.
    #[inline]
    fn after_sockets(&mut self, _heard: &mut H) {}
}

impl EventLoop {
    /// On `clock` and `poller`, waiting without sleep for the last `spin`; with times to connect and to answer in.
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

    /// From now on the time is that of `clock`, and nothing waits yet.
    pub(super) fn start_at(&mut self, clock: Clock) {
        self.clock = clock;
        self.connect_deadlines = Deadlines::new(self.connect_deadlines.timeout());
        self.response_deadlines = Deadlines::new(self.response_deadlines.timeout());
        self.idle = Nanos::ZERO;
    }

    /// There is more to do on the socket of connection `number` than one turn takes.
    pub(super) fn requeue(&mut self, ready: Ready, number: u32) {
        self.requeued.push((ready, number));
    }
}

/// Waits until something is ready, or until `deadline`; serves what is, as far as one turn goes.
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
        // Only a bug makes waiting on one's own poller fail.
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
    // Who was not reached comes before those who had more than their part.
    event_loop.requeued.rotate_left(budget.had_more);
    served.after_sockets(completions);
    if now >= expiry {
        expire(served, now, completions);
        served.after_sockets(completions);
    }
}

/// The event of the next exchange that was sent by `instant` and is still under way, each once.
#[inline]
pub(super) fn in_flight_since<H, S: SocketHandler<H>>(served: &mut S, instant: Instant) -> Option<Event> {
    let (event_loop, _, exchanges) = served.parts();
    let waiting = |key, serial| exchanges.get(key).is_some_and(|exchange| exchange.is_pending(serial));
    let key = event_loop.response_deadlines.next_started_by(instant, waiting)?;
    exchanges.get(key)?.event().cloned()
}

/// What is left of a turn.
struct TurnBudget {
    end: Instant,
    read: usize,
    is_spent: bool,
    /// How many of those that were served have more.
    had_more: usize,
}

impl TurnBudget {
    /// A socket was served, and so many bytes read.
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

/// Gives up what is not connected or answered in time.
fn expire<H, S: SocketHandler<H>>(served: &mut S, now: Instant, completions: &mut H) {
    loop {
        let (event_loop, connections, _) = served.parts();
        let opening = |key, serial| connections.get(key).is_some_and(|connection| connection.is_connecting(serial));
        let Some(key) = event_loop.connect_deadlines.pop_expired(now, opening) else { break };
        let reason = Reason::NotConnected(event_loop.connect_deadlines.timeout());
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
