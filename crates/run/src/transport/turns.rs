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
const LENGTH: Nanos = Nanos::from_millis(1);
/// The clock is asked whenever so many bytes have been read; a socket counts as so many besides.
const ASK: usize = 64 * 1024;
const SOCKET: usize = 1024;

/// What a thread waits with.
pub(super) struct Turns {
    pub(super) clock: Clock,
    pub(super) poller: Poller,
    /// When something that has begun must be connected, and when answered.
    pub(super) connecting: Deadlines,
    pub(super) answering: Deadlines,
    /// The last so much of a wait is spent without sleep.
    spin: Nanos,
    /// How long has been waited so far.
    pub(super) idle: Nanos,
    ready: Vec<Ready>,
    /// Sockets, with their connections' numbers, that no event will announce again: there was more than a turn takes.
    again: Vec<(Ready, u32)>,
}

/// A connection, as its turns see it.
pub(super) trait Opening {
    /// Its serial number within the worker.
    fn number(&self) -> u32;

    /// Whether it is the one noted as `serial` and still waits to be open.
    fn is_opening(&self, serial: u64) -> bool;
}

/// What waits for an answer.
pub(super) trait Answering {
    /// Whether it is the one noted as `serial` and still waits.
    fn is_at(&self, serial: u64) -> bool;

    /// Its event as far as it has come; `None` when it waits for nothing.
    fn event(&self) -> Option<&Event>;
}

/// What is served in turns; `H` takes what is heard.
pub(super) trait Served<H> {
    type Connection: Opening;
    type Exchange: Answering;

    /// What it waits with; by key the connections that may be opening, and what may wait for answers.
    fn parts(&mut self) -> (&mut Turns, &Slab<Self::Connection>, &Slab<Self::Exchange>);

    /// Does what a ready socket asks for, within bounds of its own; how many bytes that took. Where more is left than it took, it
    /// says [`Turns::again`].
    fn serve(&mut self, ready: Ready, heard: &mut H) -> usize;

    /// The connection with this key is not open in time.
    fn not_connected(&mut self, key: usize, why: Failure, heard: &mut H);

    /// The exchange with this key is not answered in time, which was so much.
    fn not_answered(&mut self, key: usize, within: Nanos, heard: &mut H);

    /// Does what follows from what was done in a turn.
    #[inline]
    fn settle(&mut self, _heard: &mut H) {}
}

impl Turns {
    /// On `clock` and `poller`, waiting without sleep for the last `spin`; with times to connect and to answer in.
    pub(super) fn new(clock: Clock, poller: Poller, spin: Nanos, connect: Nanos, answer: Nanos) -> Self {
        Self {
            clock,
            poller,
            connecting: Deadlines::new(connect),
            answering: Deadlines::new(answer),
            spin,
            idle: Nanos::ZERO,
            ready: Vec::new(),
            again: Vec::new(),
        }
    }

    /// From now on the time is that of `clock`, and nothing waits yet.
    pub(super) fn begin_at(&mut self, clock: Clock) {
        self.clock = clock;
        self.connecting = Deadlines::new(self.connecting.within());
        self.answering = Deadlines::new(self.answering.within());
        self.idle = Nanos::ZERO;
    }

    /// There is more to do on the socket of connection `number` than one turn takes.
    pub(super) fn again(&mut self, ready: Ready, number: u32) {
        self.again.push((ready, number));
    }
}

/// Waits until something is ready, or until `deadline`; serves what is, as far as one turn goes.
#[inline]
pub(super) fn turn<H, S: Served<H>>(served: &mut S, deadline: Instant, heard: &mut H) {
    let (turns, connections, exchanges) = served.parts();
    let opening = |key, serial| connections.get(key).is_some_and(|connection| connection.is_opening(serial));
    let waiting = |key, serial| exchanges.get(key).is_some_and(|exchange| exchange.is_at(serial));
    let expiry = turns.connecting.first(opening).min(turns.answering.first(waiting));
    let before = turns.clock.now();
    let until = if turns.again.is_empty() { deadline.min(expiry) } else { before };
    let (mut ready, again) = (std::mem::take(&mut turns.ready), std::mem::take(&mut turns.again));
    if let Err(error) = turns.poller.wait_until(&turns.clock, until, turns.spin, &mut ready) {
        // Only a bug makes waiting on one's own poller fail.
        panic!("waiting for sockets: {error}");
    }
    let now = turns.clock.now();
    turns.idle += before.until(now);
    let mut budget = Budget { end: now + LENGTH, read: 0, is_over: false, had_more: 0 };
    for (ready, number) in again {
        let (turns, connections, _) = served.parts();
        if connections.get(ready.token).is_none_or(|connection| connection.number() != number) {
            continue;
        }
        if budget.is_over {
            turns.again(ready, number);
        } else {
            let read = served.serve(ready, heard);
            budget.spend(read, served);
        }
    }
    for ready in ready.drain(..) {
        if budget.is_over {
            let (turns, connections, _) = served.parts();
            if let Some(connection) = connections.get(ready.token) {
                turns.again(ready, connection.number());
            }
        } else {
            let read = served.serve(ready, heard);
            budget.spend(read, served);
        }
    }
    let turns = served.parts().0;
    turns.ready = ready;
    // Who was not reached comes before those who had more than their part.
    turns.again.rotate_left(budget.had_more);
    served.settle(heard);
    if now >= expiry {
        expire(served, now, heard);
        served.settle(heard);
    }
}

/// The event of the next exchange that was sent by `instant` and is still under way, each once.
#[inline]
pub(super) fn under_way_since<H, S: Served<H>>(served: &mut S, instant: Instant) -> Option<Event> {
    let (turns, _, exchanges) = served.parts();
    let waiting = |key, serial| exchanges.get(key).is_some_and(|exchange| exchange.is_at(serial));
    let key = turns.answering.begun_by(instant, waiting)?;
    exchanges.get(key)?.event().cloned()
}

/// What is left of a turn.
struct Budget {
    end: Instant,
    read: usize,
    is_over: bool,
    /// How many of those that were served have more.
    had_more: usize,
}

impl Budget {
    /// A socket was served, and so many bytes read.
    #[inline]
    fn spend<H, S: Served<H>>(&mut self, read: usize, served: &mut S) {
        self.read += read + SOCKET;
        if self.read >= ASK {
            let turns = served.parts().0;
            self.read = 0;
            self.is_over = turns.clock.now() >= self.end;
            if self.is_over {
                self.had_more = turns.again.len();
            }
        }
    }
}

/// Gives up what is not connected or answered in time.
fn expire<H, S: Served<H>>(served: &mut S, now: Instant, heard: &mut H) {
    loop {
        let (turns, connections, _) = served.parts();
        let opening = |key, serial| connections.get(key).is_some_and(|connection| connection.is_opening(serial));
        let Some(key) = turns.connecting.over(now, opening) else { break };
        let why = Reason::NotConnected(turns.connecting.within());
        served.not_connected(key, (Outcome::Timeout, why), heard);
    }
    loop {
        let (turns, _, exchanges) = served.parts();
        let waiting = |key, serial| exchanges.get(key).is_some_and(|exchange| exchange.is_at(serial));
        let Some(key) = turns.answering.over(now, waiting) else { break };
        let within = turns.answering.within();
        served.not_answered(key, within, heard);
    }
}
