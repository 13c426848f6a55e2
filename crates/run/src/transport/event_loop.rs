//! The event loop of one thread, shared by all protocols: waits for sockets and for the next scheduled request, handles
//! the sockets that are ready, and enforces timeouts.
//!
//! The duration of an iteration is bounded. Whatever the peers send, the next scheduled request waits at most
//! [`MIN_TURN`] and the handling of one socket, and a request that was already overdue [`MAX_TURN`]. Sockets that were
//! not reached are handled first in the next iteration, each once.

use std::collections::VecDeque;

use offered_base::{Instant, Nanos};
use offered_events::{Event, Outcome, Reason};
use offered_io::{Clock, Poller, Ready};
use offered_workload::retry::TimeLimits;
use slab::Slab;

use super::Failure;
use super::deadlines::Deadlines;
use super::reading::ReadingLateness;
use super::stream_pauses::StreamPauses;
use super::timers::Timers;

/// How long sockets are handled before overdue requests get their turn.
const MAX_TURN: Nanos = Nanos::from_millis(1);
/// How long sockets are handled at least, so that frequent requests do not starve responses.
const MIN_TURN: Nanos = Nanos::from_micros(50);
/// The clock is read after this many bytes, unless a request is due before the turn ends; each handled socket counts as some bytes, too.
const CLOCK_CHECK_BYTES: usize = 64 * 1024;
const BYTES_PER_SOCKET: usize = 1024;

/// What a thread waits with.
pub(super) struct EventLoop {
    pub(super) clock: Clock,
    pub(super) poller: Poller,
    /// The timeouts for connecting and for responses.
    pub(super) connect_deadlines: Deadlines,
    response_deadlines: Deadlines,
    /// The earlier deadlines of requests that have their own limits.
    own_deadlines: Timers,
    /// The timeout of requests without their own.
    usual_timeout: Nanos,
    limits: Option<TimeLimits>,
    /// The last part of each wait that is spent without sleeping.
    spin: Nanos,
    /// Measures how late responses are read.
    pub(super) reading: ReadingLateness,
    pub(super) stream_pauses: StreamPauses,
    /// Total time spent waiting.
    pub(super) idle: Nanos,
    ready: Vec<Ready>,
    /// An instant before the poller last reported all ready sockets. The other sockets were empty then.
    polled: Instant,
    /// Sockets that the poller reported and that were not reached. It will not report them again.
    backlog: Backlog,
    /// Sockets that were handled with work remaining. They come after those that were not reached.
    requeued: Vec<(Ready, u32)>,
}

/// Sockets to be handled, each at most once, in the order in which they became ready.
///
/// A socket that is waiting becomes ready again with every packet. If each time counted, a backlog of streams would grow
/// with their packets instead of their number, and most of its turns would find nothing to read.
#[derive(Default)]
struct Backlog {
    tokens: VecDeque<usize>,
    /// The waiting sockets, by token.
    sockets: Vec<Option<Waiting>>,
}

/// A socket to be handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Waiting {
    /// The operations for which the socket is ready.
    ready: Ready,
    /// The number of its connection.
    number: u32,
    /// The instant since which data has been waiting, and the instant until which the socket was empty, as far as they
    /// are known.
    since: Instant,
    empty_until: Instant,
}

impl Backlog {
    fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Adds a socket that has been ready since `since` and was empty until `empty_until`. For a socket that is already
    /// waiting, adds the new operations.
    fn push(&mut self, ready: Ready, number: u32, since: Instant, empty_until: Instant) {
        if self.sockets.len() <= ready.token {
            self.sockets.resize(ready.token + 1, None);
        }
        let new = Waiting { ready, number, since, empty_until };
        match &mut self.sockets[ready.token] {
            Some(waiting) if waiting.number == number => {
                if !waiting.ready.readable {
                    (waiting.since, waiting.empty_until) = (since, empty_until);
                }
                waiting.ready.readable |= ready.readable;
                waiting.ready.writable |= ready.writable;
                waiting.ready.closed |= ready.closed;
            }
            // The connection that was waiting is closed.
            Some(waiting) => *waiting = new,
            free => {
                *free = Some(new);
                self.tokens.push_back(ready.token);
            }
        }
    }

    /// Whether the socket with this token is waiting.
    #[inline]
    fn contains(&self, token: usize) -> bool {
        !self.tokens.is_empty() && self.sockets.get(token).is_some_and(Option::is_some)
    }

    fn pop(&mut self) -> Option<Waiting> {
        let token = self.tokens.pop_front()?;
        self.sockets[token].take()
    }
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

    /// The event loop, the connections that may be connecting, by key, and the exchanges that may be waiting, by key.
    fn parts(&mut self) -> (&mut EventLoop, &Slab<Self::Connection>, &Slab<Self::Exchange>);

    /// Handles a ready socket, within bounds of its own; returns the number of bytes read. If work remains, it calls
    /// [`EventLoop::requeue`].
    fn on_ready(&mut self, ready: Ready, completions: &mut H) -> usize;

    /// The connection with this key was not open in time.
    fn on_connect_timeout(&mut self, key: usize, reason: Failure, completions: &mut H);

    /// The exchange with this key did not complete within `timeout`.
    fn on_response_timeout(&mut self, key: usize, timeout: Nanos, completions: &mut H);

    /// Whether all connections are idle or wait for the next event of a stream, so that the poll may be delayed. Asked when streams are
    /// frequent enough for a delay.
    #[inline]
    fn only_streams(&mut self) -> bool {
        false
    }

    /// Called after the sockets of an iteration have been handled.
    #[inline]
    fn after_sockets(&mut self, _heard: &mut H) {}
}

impl EventLoop {
    /// An event loop with a new clock and this `poller`, which waits without sleeping for the last `spin`, and with
    /// timeouts to connect and for responses, and the `limits` of single requests.
    pub(super) fn new(
        poller: Poller,
        spin: Nanos,
        (connect, answer): (Nanos, Nanos),
        limits: Option<TimeLimits>,
    ) -> Self {
        Self {
            clock: Clock::start(),
            poller,
            connect_deadlines: Deadlines::new(connect),
            response_deadlines: Deadlines::new(limits.as_ref().map_or(answer, |limits| limits.longest(answer))),
            own_deadlines: Timers::default(),
            usual_timeout: answer,
            limits,
            spin,
            reading: ReadingLateness::new(),
            stream_pauses: StreamPauses::default(),
            idle: Nanos::ZERO,
            ready: Vec::new(),
            polled: Instant::ZERO,
            backlog: Backlog::default(),
            requeued: Vec::new(),
        }
    }

    /// Switches to `clock` at the start of a run. No deadline may be pending.
    pub(super) fn start_at(&mut self, clock: Clock) {
        self.clock = clock;
        self.connect_deadlines = Deadlines::new(self.connect_deadlines.timeout());
        self.response_deadlines = Deadlines::new(self.response_deadlines.timeout());
        self.own_deadlines = Timers::default();
        self.stream_pauses = StreamPauses::default();
        (self.idle, self.polled) = (Nanos::ZERO, Instant::ZERO);
    }

    /// Starts the response timeout of the exchange of `event`, which is identified by `key` and `serial`. `live` is the number of exchanges
    /// that may be waiting.
    #[inline]
    pub(super) fn start_timeout(
        &mut self,
        event: &Event,
        (key, serial): (usize, u64),
        live: usize,
        is_pending: impl Fn(usize, u64) -> bool,
    ) {
        let sent = event.sent.unwrap_or_default();
        self.response_deadlines.push(sent, key, serial, live, &is_pending);
        if let Some(limits) = &self.limits {
            let at = limits.deadline(event, sent, self.usual_timeout);
            if at < sent + self.response_deadlines.timeout() {
                self.own_deadlines.push(at, key, serial, live, is_pending);
            }
        }
    }

    /// The instant at which the first timeout of a connection or exchange expires; [`Instant::MAX`] if none is waiting.
    #[inline]
    fn next_expiry(
        &mut self,
        connections: &Slab<impl ConnectionSlot>,
        exchanges: &Slab<impl PendingExchange>,
    ) -> Instant {
        let opening = |key, serial| connections.get(key).is_some_and(|connection| connection.is_connecting(serial));
        let waiting = |key, serial| exchanges.get(key).is_some_and(|exchange| exchange.is_pending(serial));
        let expiry = self.connect_deadlines.next_due(opening).min(self.response_deadlines.next_due(waiting));
        expiry.min(self.own_deadlines.next_due(waiting))
    }

    /// Handles the socket of connection `number` again in the next iteration, because work remains.
    pub(super) fn requeue(&mut self, ready: Ready, number: u32) {
        self.requeued.push((ready, number));
    }
}

/// When the next turn is needed if no socket becomes ready: at once if sockets wait, else at the next timeout.
pub(super) fn next_turn<H, S: SocketHandler<H>>(served: &mut S) -> Instant {
    let (event_loop, connections, exchanges) = served.parts();
    if !event_loop.backlog.is_empty() || !event_loop.requeued.is_empty() {
        return Instant::ZERO;
    }
    event_loop.next_expiry(connections, exchanges)
}

/// Runs one iteration: waits until a socket is ready or until `deadline`, then handles the ready sockets within the
/// bounds of an iteration.
#[inline]
pub(super) fn run_once<H, S: SocketHandler<H>>(served: &mut S, deadline: Instant, completions: &mut H) {
    let (event_loop, connections, exchanges) = served.parts();
    let before = event_loop.clock.now();
    for (ready, number) in event_loop.requeued.drain(..) {
        // What they have left may have been there for long.
        event_loop.backlog.push(ready, number, before, Instant::ZERO);
    }
    let expiry = event_loop.next_expiry(connections, exchanges);
    let until = if event_loop.backlog.is_empty() { deadline.min(expiry) } else { before };
    let pause_end = event_loop.stream_pauses.until(before, until.earlier(event_loop.spin));
    let pause_end = pause_end.filter(|_| served.only_streams());
    let event_loop = served.parts().0;
    let polled = pause_end.map_or(before, |end| {
        event_loop.clock.sleep_until(end);
        event_loop.clock.now()
    });
    let mut ready = std::mem::take(&mut event_loop.ready);
    let waited = event_loop.poller.wait_until(&event_loop.clock, polled, until, event_loop.spin, &mut ready);
    // Waiting on one's own poller fails only because of a bug.
    let now = waited.unwrap_or_else(|error| panic!("waiting for sockets: {error}"));
    event_loop.idle += before.until(now);
    event_loop.reading.adapt(now);
    let empty_until = event_loop.polled;
    if ready.len() + 1 < Poller::MAX_READY {
        event_loop.polled = polled;
    }
    event_loop.reading.woke_up(polled.until(now));
    event_loop.stream_pauses.polled(now, !ready.is_empty());
    let mut budget = TurnBudget::new(now, Some(deadline).filter(|due| *due > before));
    handle_backlog(served, &mut budget, completions);
    for ready in ready.drain(..) {
        let (event_loop, connections, _) = served.parts();
        if budget.is_spent(&event_loop.clock) || event_loop.backlog.contains(ready.token) {
            if let Some(connection) = connections.get(ready.token) {
                event_loop.backlog.push(ready, connection.number(), now, empty_until);
            }
        } else {
            event_loop.reading.socket_ready(now, empty_until);
            budget.read += served.on_ready(ready, completions) + BYTES_PER_SOCKET;
        }
    }
    let event_loop = served.parts().0;
    event_loop.ready = ready;
    served.after_sockets(completions);
    if now >= expiry {
        expire(served, now, completions);
        served.after_sockets(completions);
    }
}

/// Handles the sockets that were not reached in the previous iteration.
fn handle_backlog<H, S: SocketHandler<H>>(served: &mut S, budget: &mut TurnBudget, completions: &mut H) {
    while !budget.is_spent(&served.parts().0.clock) {
        let (event_loop, connections, _) = served.parts();
        let Some(Waiting { ready, number, since, empty_until }) = event_loop.backlog.pop() else { return };
        event_loop.reading.socket_ready(since, empty_until);
        if connections.get(ready.token).is_some_and(|connection| connection.number() == number) {
            budget.read += served.on_ready(ready, completions) + BYTES_PER_SOCKET;
        }
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
    /// Number of bytes between two readings of the clock.
    interval: usize,
    /// Number of bytes read since then.
    read: usize,
    is_spent: bool,
}

impl TurnBudget {
    /// From `now` until the next request is `due`; `None` if one is overdue.
    fn new(now: Instant, due: Option<Instant>) -> Self {
        let latest = now + MAX_TURN;
        let end = due.map_or(latest, |due| due.clamp(now + MIN_TURN, latest));
        let interval = if end < latest { BYTES_PER_SOCKET } else { CLOCK_CHECK_BYTES };
        Self { end, interval, read: 0, is_spent: false }
    }

    /// Whether the turn is over. Asked before each socket, so that a single one needs no reading of the clock.
    #[inline]
    fn is_spent(&mut self, clock: &Clock) -> bool {
        if self.read >= self.interval {
            self.read = 0;
            self.is_spent = clock.now() >= self.end;
        }
        self.is_spent
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
    loop {
        let (event_loop, _, exchanges) = served.parts();
        let waiting = |key, serial| exchanges.get(key).is_some_and(|exchange| exchange.is_pending(serial));
        let Some(key) = event_loop.own_deadlines.pop_expired(now, waiting) else { break };
        let label = exchanges.get(key).and_then(|exchange| exchange.event()).map_or(0, |event| event.label);
        let own = event_loop.limits.as_ref().and_then(|limits| limits.timeout(label));
        let timeout = own.unwrap_or(event_loop.usual_timeout);
        served.on_response_timeout(key, timeout, completions);
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    use super::*;

    const SOCKETS: usize = 8;

    struct Connection(UnixStream);

    impl ConnectionSlot for Connection {
        fn number(&self) -> u32 {
            0
        }

        fn is_connecting(&self, _: u64) -> bool {
            false
        }
    }

    impl PendingExchange for Connection {
        fn is_pending(&self, _: u64) -> bool {
            true
        }

        fn event(&self) -> Option<&Event> {
            None
        }
    }

    /// Each read takes a whole iteration.
    struct Slow {
        event_loop: EventLoop,
        connections: Slab<Connection>,
    }

    impl SocketHandler<Vec<(usize, usize)>> for Slow {
        type Connection = Connection;
        type Exchange = Connection;

        fn parts(&mut self) -> (&mut EventLoop, &Slab<Connection>, &Slab<Connection>) {
            (&mut self.event_loop, &self.connections, &self.connections)
        }

        fn on_ready(&mut self, ready: Ready, reads: &mut Vec<(usize, usize)>) -> usize {
            let mut bytes = [0; 1024];
            let stream = &mut self.connections[ready.token].0;
            reads.push((ready.token, stream.read(&mut bytes).unwrap_or(0)));
            let clock = &self.event_loop.clock;
            clock.sleep_until(clock.now() + MAX_TURN);
            CLOCK_CHECK_BYTES
        }

        fn on_connect_timeout(&mut self, _: usize, _: Failure, _: &mut Vec<(usize, usize)>) {}

        fn on_response_timeout(&mut self, _: usize, _: Nanos, _: &mut Vec<(usize, usize)>) {}
    }

    #[test]
    fn streams_that_become_ready_faster_than_they_are_read_take_turns() {
        let (poller, second) = (Poller::new().unwrap(), Nanos::from_secs(1));
        let event_loop = EventLoop::new(poller, Nanos::ZERO, (second, second), None);
        let mut served = Slow { event_loop, connections: Slab::new() };
        let mut peers = Vec::new();
        for token in 0..SOCKETS {
            let (near, far) = UnixStream::pair().unwrap();
            near.set_nonblocking(true).unwrap();
            served.event_loop.poller.add(&near, token).unwrap();
            served.connections.insert(Connection(near));
            peers.push(far);
        }
        let mut reads = Vec::new();
        run_once(&mut served, Instant::ZERO, &mut reads);
        for _ in 0..20 * SOCKETS {
            for peer in &mut peers {
                peer.write_all(b"x").unwrap();
            }
            run_once(&mut served, Instant::ZERO, &mut reads);
            assert!(served.event_loop.backlog.tokens.len() <= SOCKETS);
        }
        // After each has been read once, every turn finds something, and no stream waits longer than the others.
        for turns in reads[2 * SOCKETS..].windows(SOCKETS) {
            let tokens: std::collections::BTreeSet<_> = turns.iter().map(|(token, _)| *token).collect();
            assert!(tokens.len() == SOCKETS && turns.iter().all(|(_, bytes)| *bytes >= 1), "{turns:?}");
        }
    }

    #[test]
    fn a_turn_ends_when_a_request_is_due() {
        let (now, late) = (Instant(1_000_000_000), Nanos::from_millis(5));
        for (due, ends_after) in [
            (now.earlier(late), MIN_TURN),
            (now, MIN_TURN),
            (now + Nanos::from_micros(300), Nanos::from_micros(300)),
            (now + late, MAX_TURN),
        ] {
            let budget = TurnBudget::new(now, Some(due));
            // The clock is read after each socket unless the whole turn is free.
            assert_eq!((budget.end, budget.interval == BYTES_PER_SOCKET), (now + ends_after, ends_after < MAX_TURN));
        }
        // Requests that are overdue share the time with responses.
        assert_eq!(TurnBudget::new(now, None).end, now + MAX_TURN);
    }

    #[test]
    fn the_next_turn_is_at_the_first_timeout_of_any_kind() {
        let second = Nanos::from_secs(1);
        let event_loop = EventLoop::new(Poller::new().unwrap(), Nanos::ZERO, (second, second), None);
        let mut served = Slow { event_loop, connections: Slab::new() };
        let key = served.connections.insert(Connection(UnixStream::pair().unwrap().0));
        served.event_loop.response_deadlines.push(Instant::ZERO, key, 0, 1, |_, _| true);
        assert_eq!(next_turn::<Vec<(usize, usize)>, _>(&mut served), Instant::ZERO + second);
        // The limit of a single request is earlier.
        served.event_loop.own_deadlines.push(Instant(7), key, 0, 1, |_, _| true);
        assert_eq!(next_turn::<Vec<(usize, usize)>, _>(&mut served), Instant(7));
    }

    #[test]
    fn a_backlog_merges_what_a_socket_is_ready_for() {
        let ready = |token, readable, writable| Ready { token, readable, writable, closed: false };
        let mut backlog = Backlog::default();
        let waiting = |ready, number, since| {
            Some(Waiting { ready, number, since: Instant(since), empty_until: Instant(10 * since) })
        };
        for (socket, number, since) in [
            (ready(3, true, false), 7, 1),
            (ready(1, true, false), 8, 2),
            (ready(5, false, true), 7, 2),
            (ready(3, false, true), 7, 3),
            (ready(1, true, true), 9, 4),
            (ready(5, true, false), 7, 5),
        ] {
            backlog.push(socket, number, Instant(since), Instant(10 * since));
        }
        assert!(backlog.contains(3) && !backlog.contains(0) && !backlog.contains(99));
        // Waiting counts from when there was something to read.
        assert_eq!(backlog.pop(), waiting(ready(3, true, true), 7, 1));
        assert_eq!(backlog.pop(), waiting(ready(1, true, true), 9, 4));
        assert_eq!((backlog.pop(), backlog.pop()), (waiting(ready(5, true, true), 7, 5), None));
        assert!(backlog.is_empty() && !backlog.contains(3));
    }
}
