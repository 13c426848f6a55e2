//! The driver: one thread's loop between its agenda and its transport.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use offered_model::workload::{Late, Mix};
use offered_model::{After, Agenda, Event, Instant, Launch, Nanos, Outcome, Reason, Visit};

use crate::live::{Counts, LiveCounters};
use crate::{Sink, Transport};

/// Launches in a row before answers are looked at again: late launches must not starve them.
const MAX_SENDS_PER_ITERATION: usize = 64;
/// Events in a batch for the sink, and how old the first of them may become.
const BATCH: usize = 1024;
const MAX_BATCH_AGE: Nanos = Nanos::from_millis(500);
/// A launch that is under way for so long is told of before its end.
const LONG_RUNNING: Nanos = Nanos::from_millis(500);
/// So many are told of in a turn: it costs some 100 ns each.
const MAX_REPORTED_PER_ITERATION: usize = 64;
/// How soon a request to stop is noticed.
const POLL_INTERVAL: Nanos = Nanos::from_millis(100);
/// How long after a stop answers are still waited for, and after the end of the run late launches are still sent.
const GRACE_PERIOD: Nanos = Nanos::from_secs(2);
/// A session that could not be served pauses at least so long, lest a closed one without think time spin on a refusal.
const FAILURE_PAUSE: Nanos = Nanos::from_millis(100);

/// What drives one thread.
pub(crate) struct Driver<'a, T> {
    pub(crate) agenda: Agenda,
    pub(crate) mix: Mix,
    pub(crate) late: Late,
    /// Launches are meant from 0 up to here.
    pub(crate) end: Instant,
    /// At most so many launches under way.
    pub(crate) in_flight: u64,
    /// This worker's number.
    pub(crate) worker: u16,
    /// The number of its first launch, and how many workers there are: the next is so much further.
    pub(crate) numbering: (u64, u64),
    pub(crate) transport: T,
    pub(crate) stop: &'a AtomicBool,
    /// Set once nothing is waited for any more either.
    pub(crate) abort: &'a AtomicBool,
    pub(crate) live: &'a LiveCounters,
    pub(crate) sink: &'a mut dyn Sink,
    /// Where in its flow each session with a launch under way stands; `None` in a workload without flows.
    pub(crate) positions: Option<HashMap<u64, (u16, Visit)>>,
}

/// What is kept between turns of the loop.
struct LoopState {
    counts: Counts,
    batch: Vec<Event>,
    /// When the first event of the batch came.
    batch_since: Instant,
    /// Launches that are under way for long, to be told of, and when the first of them was noticed.
    long_running: Vec<Event>,
    long_running_since: Instant,
    /// Events that have come and are not yet booked.
    new_events: Vec<Event>,
    /// When the last object of the page was done whose launch comes next.
    page_done: Instant,
}

impl<T: Transport> Driver<'_, T> {
    /// Launches everything of the agenda, waits for the answers, and hands every event to the sink; how long that took
    /// and for how much of it there was nothing to do.
    pub(crate) fn run(&mut self) -> (Nanos, Nanos) {
        let mut state = LoopState {
            counts: Counts::default(),
            batch: Vec::with_capacity(BATCH),
            batch_since: Instant::ZERO,
            long_running: Vec::new(),
            long_running_since: Instant::ZERO,
            new_events: Vec::new(),
            page_done: Instant::ZERO,
        };
        let mut stopped: Option<Instant> = None;
        loop {
            let mut now = self.transport.now();
            self.process_events(now, &mut state);
            self.report_in_flight(now, &mut state);
            if self.stop.load(Relaxed) {
                let since = *stopped.get_or_insert(now);
                if now > since + GRACE_PERIOD || self.abort.load(Relaxed) {
                    self.transport.cancel_all(&mut state.new_events);
                    self.process_events(now, &mut state);
                }
            } else {
                now = self.send_due(now, &mut state);
            }
            let next = if stopped.is_some() { None } else { self.agenda.next_due() };
            if next.is_none() && state.counts.in_flight == 0 {
                break;
            }
            // A launch that ended at once may bring its session back at once.
            let next = if state.new_events.is_empty() { next.unwrap_or(Instant::MAX) } else { now };
            let deadline = next.min(now + POLL_INTERVAL);
            self.transport.wait(deadline, &mut state.new_events);
        }
        self.flush_batch(&mut state);
        let elapsed_and_idle = (Instant::ZERO.until(self.transport.now()), self.transport.idle());
        self.transport.finish();
        elapsed_and_idle
    }

    /// Launches what is due at `now`; the time when that was done.
    fn send_due(&mut self, mut now: Instant, state: &mut LoopState) -> Instant {
        for _ in 0..MAX_SENDS_PER_ITERATION {
            let Some(launch) = self.agenda.due(now) else { break };
            let label = self.mix.choose(launch);
            if let Some(positions) = &mut self.positions {
                positions.insert(launch.session, (launch.place, launch.visit));
            }
            let sequence = self.numbering.0 + state.counts.requests * self.numbering.1;
            state.counts.requests += 1;
            state.counts.in_flight += 1;
            let not_sent_reason = match self.late {
                // At a rate far beyond what can be sent the run would else go on for ever.
                _ if now > self.end + GRACE_PERIOD => Some(Reason::Over),
                Late::Skip(limit) if launch.intended.until(now) > limit => {
                    Some(Reason::Late(launch.intended.until(now)))
                }
                _ if state.counts.in_flight > self.in_flight => Some(Reason::InFlight(self.in_flight)),
                _ => None,
            };
            now = match not_sent_reason {
                None => self.transport.send(launch, label, sequence, &mut state.new_events),
                Some(reason) => {
                    let event =
                        Event { session: launch.session, step: launch.step, label, ..Event::at(launch.intended) };
                    state.new_events.push(Event { worker: self.worker, error: Some(reason), ..event });
                    now
                }
            };
        }
        now
    }

    /// Books the events that have come: their sessions go on or leave, the counters move, the batch grows.
    fn process_events(&mut self, now: Instant, state: &mut LoopState) {
        for event in state.new_events.drain(..) {
            if T::HAS_OBJECTS && event.object > 0 {
                state.page_done = state.page_done.max(event.done.unwrap_or_default());
                state.batch.push(event);
                continue;
            }
            let Event { intended, session, step, .. } = event;
            let (place, visit) =
                self.positions.as_mut().and_then(|positions| positions.remove(&session)).unwrap_or_default();
            let launch = Launch { intended, session, step, place, visit };
            let mut done = event.done.unwrap_or(now);
            if T::HAS_OBJECTS {
                done = done.max(std::mem::take(&mut state.page_done));
            }
            let pause = match event.outcome {
                Outcome::Unsent | Outcome::NoValue | Outcome::Refused | Outcome::Dns => FAILURE_PAUSE,
                _ => Nanos::ZERO,
            };
            let after = if self.transport.ends_session(&event) {
                // Who comes back knows nothing of the time before.
                self.transport.close_session(event.session);
                self.agenda.broken_off(launch, done + pause)
            } else {
                self.agenda.completed(launch, done + pause)
            };
            if after != After::Returns {
                self.transport.close_session(event.session);
            }
            state.counts.in_flight -= 1;
            if state.counts.ok + state.counts.failed == 0 && event.outcome != Outcome::Unsent {
                self.live.record_first(&event);
            }
            match event.outcome {
                Outcome::Ok => state.counts.ok += 1,
                Outcome::Unsent => state.counts.unsent += 1,
                _ => state.counts.failed += 1,
            }
            if state.batch.is_empty() {
                state.batch_since = now;
            }
            state.batch.push(event);
        }
        self.live.publish(state.counts);
        if state.batch.len() >= BATCH || (!state.batch.is_empty() && state.batch_since.until(now) >= MAX_BATCH_AGE) {
            self.flush_batch(state);
        }
    }

    /// Tells the sink of launches that are under way for long.
    fn report_in_flight(&mut self, now: Instant, state: &mut LoopState) {
        let since = now.earlier(LONG_RUNNING);
        for _ in 0..MAX_REPORTED_PER_ITERATION {
            let Some(launch) = self.transport.in_flight_since(since) else { break };
            if state.long_running.is_empty() {
                state.long_running_since = now;
            }
            state.long_running.push(launch);
        }
        if state.long_running.len() >= BATCH
            || (!state.long_running.is_empty() && state.long_running_since.until(now) >= MAX_BATCH_AGE)
        {
            self.sink.in_flight(std::mem::take(&mut state.long_running));
        }
    }

    fn flush_batch(&mut self, state: &mut LoopState) {
        self.sink.record(std::mem::replace(&mut state.batch, Vec::with_capacity(BATCH)));
    }
}

#[cfg(test)]
mod tests;
