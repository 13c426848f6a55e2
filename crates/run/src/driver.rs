//! The driver: the loop of one thread between its agenda and its transport.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use offered_base::{Instant, Nanos};
use offered_events::{Event, Outcome, Reason};
use offered_schedule::{Agenda, Launch, Sessions, Visit};
use offered_workload::attempts::{AttemptTracker, FAILURE_PAUSE, Resend};
use offered_workload::{Late, Mix};

use crate::Sink;
use crate::in_flight::InFlight;
use crate::live::{Counts, LiveCounters};
use crate::transport::Transport;

/// Maximum number of consecutive sends before responses are polled again, so that overdue requests do not starve them.
const MAX_SENDS_PER_ITERATION: usize = 64;
/// Number of events in a batch for the sink, and the maximum age of its first event.
const BATCH: usize = 1024;
const MAX_BATCH_AGE: Nanos = Nanos::from_millis(500);
/// A request in flight for this long is reported to the sink before it completes.
const LONG_RUNNING: Nanos = Nanos::from_millis(500);
/// Maximum number of in-flight requests reported per loop iteration (about 100 ns each).
const MAX_REPORTED_PER_ITERATION: usize = 64;
/// Interval at which a request to stop is polled.
const POLL_INTERVAL: Nanos = Nanos::from_millis(100);
/// How long responses are awaited after a stop, and how long overdue requests are still sent after the end of the run.
const GRACE_PERIOD: Nanos = Nanos::from_secs(2);

/// Everything one thread needs to run its share of the agenda.
pub(crate) struct Driver<'a, T> {
    pub(crate) agenda: Agenda,
    pub(crate) mix: Mix,
    pub(crate) late: Late,
    /// The end of the schedule: requests are scheduled from 0 up to here.
    pub(crate) end: Instant,
    /// The requests in flight and their limits, by target.
    pub(crate) in_flight: InFlight,
    /// The number of this thread in the whole run.
    pub(crate) worker: u16,
    /// The sequence number of the first request of this thread, and the increment from one to the next: the number of
    /// threads in the whole run.
    pub(crate) numbering: (u64, u64),
    pub(crate) transport: T,
    pub(crate) stop: &'a AtomicBool,
    /// Set to abort: responses are no longer awaited after a stop.
    pub(crate) abort: &'a AtomicBool,
    pub(crate) live: &'a LiveCounters,
    pub(crate) sink: &'a mut dyn Sink,
    /// Decide which requests belong to visits.
    pub(crate) sessions: &'a Sessions,
    /// The position in its flow of each session with a request in flight; `None` in a workload without flows.
    pub(crate) positions: Option<HashMap<u64, (u16, Visit)>>,
    /// Retries, circuit breakers and impatient users; `None` in a workload without.
    pub(crate) attempts: Option<AttemptTracker>,
}

/// State of the loop of one thread.
struct LoopState {
    counts: Counts,
    batch: Vec<Event>,
    /// When the first event of the batch arrived.
    batch_since: Instant,
    /// Long-running requests that will be reported to the sink, and the time when the first was found.
    long_running: Vec<Event>,
    long_running_since: Instant,
    /// Events that have arrived and are not yet processed.
    new_events: Vec<Event>,
    /// When the last object of a page was done; the event of the page follows.
    page_done: Instant,
}

impl<T: Transport> Driver<'_, T> {
    /// Sends all requests of the agenda, awaits the responses and hands every event to the sink. Returns the elapsed
    /// time and how much of it was idle.
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
            self.settle_attempts(now, &mut state);
            self.process_events(now, &mut state);
            self.report_in_flight(now, &mut state);
            if self.stop.load(Relaxed) {
                let since = *stopped.get_or_insert(now);
                if let Some(attempts) = &mut self.attempts {
                    attempts.stop(&mut state.new_events);
                }
                if now > since + GRACE_PERIOD || self.abort.load(Relaxed) {
                    self.transport.cancel_all(&mut state.new_events);
                    self.settle_attempts(now, &mut state);
                    self.process_events(now, &mut state);
                }
            } else {
                now = self.send_due(now, &mut state);
            }
            let next = if stopped.is_some() { None } else { self.agenda.next_due() };
            if next.is_none() && state.counts.in_flight == 0 {
                break;
            }
            // A request that ended at once may make its session due again at once.
            let next = if state.new_events.is_empty() { next.unwrap_or(Instant::MAX) } else { now };
            let again = self.attempts.as_ref().and_then(AttemptTracker::next_due).unwrap_or(Instant::MAX);
            let deadline = next.min(again).min(now + POLL_INTERVAL);
            self.transport.wait(deadline, &mut state.new_events);
        }
        self.flush_batch(&mut state);
        let elapsed_and_idle = (Instant::ZERO.until(self.transport.now()), self.transport.idle());
        self.transport.finish();
        elapsed_and_idle
    }

    /// Sends the requests that are due at `now`. Returns the time after the last one.
    fn send_due(&mut self, mut now: Instant, state: &mut LoopState) -> Instant {
        for _ in 0..MAX_SENDS_PER_ITERATION {
            let again = self.attempts.as_mut().and_then(|all| all.due(now, &mut state.new_events));
            if let Some(Resend { launch, label, sequence }) = again {
                now = self.transport.send(launch, label, sequence, &mut state.new_events);
                continue;
            }
            let Some(launch) = self.agenda.due(now) else { break };
            let label = self.mix.choose(launch);
            if let Some(positions) = &mut self.positions {
                positions.insert(launch.session, (launch.place, launch.visit));
            }
            let sequence = self.numbering.0 + state.counts.requests * self.numbering.1;
            state.counts.requests += 1;
            state.counts.in_flight += 1;
            let exceeded = self.in_flight.start(label);
            let not_sent_reason = match self.late {
                // At a rate far above what can be sent, the run would otherwise never end.
                _ if now > self.end + GRACE_PERIOD => Some(Reason::RunOver),
                Late::Skip(limit) if launch.intended.until(now) > limit => {
                    Some(Reason::Late(launch.intended.until(now)))
                }
                _ => exceeded.map(Reason::InFlight),
            };
            let resend = Resend { launch, label, sequence };
            let mut is_held_back = || self.attempts.as_mut().is_some_and(|attempts| !attempts.first(resend, now));
            let outcome = match not_sent_reason {
                Some(_) => Some(Outcome::Unsent),
                None => is_held_back().then_some(Outcome::BreakerOpen),
            };
            now = match outcome {
                None => self.transport.send(launch, label, sequence, &mut state.new_events),
                Some(outcome) => {
                    let event =
                        Event { session: launch.session, step: launch.step, label, ..Event::at(launch.intended) };
                    state.new_events.push(Event { worker: self.worker, outcome, error: not_sent_reason, ..event });
                    now
                }
            };
        }
        now
    }

    /// Replaces the received events of attempts by the events of the requests that have ended.
    #[inline]
    fn settle_attempts(&mut self, now: Instant, state: &mut LoopState) {
        let Some(attempts) = &mut self.attempts else { return };
        if state.batch.is_empty() {
            state.batch_since = now;
        }
        if state.long_running.is_empty() {
            state.long_running_since = now;
        }
        attempts.settle(&mut state.new_events, &mut state.batch, &mut state.long_running);
    }

    /// Processes the events that have arrived: advances their sessions, updates the counters, fills the batch.
    fn process_events(&mut self, now: Instant, state: &mut LoopState) {
        if state.batch.is_empty() {
            state.batch_since = now;
        }
        for event in &mut state.new_events {
            if T::HAS_OBJECTS && event.object > 0 {
                state.page_done = state.page_done.max(event.done.unwrap_or_default());
                continue;
            }
            let Event { intended, session, step, .. } = *event;
            let (place, visit) =
                self.positions.as_mut().and_then(|positions| positions.remove(&session)).unwrap_or_default();
            let launch = Launch { intended, session, step, place, visit };
            let mut done = event.done.unwrap_or(now);
            if T::HAS_OBJECTS {
                done = done.max(std::mem::take(&mut state.page_done));
            }
            let pause = match event.outcome {
                Outcome::Unsent
                | Outcome::NoValue
                | Outcome::AuthError
                | Outcome::BreakerOpen
                | Outcome::Refused
                | Outcome::Dns => FAILURE_PAUSE,
                _ => Nanos::ZERO,
            };
            let gave_up = matches!(event.error, Some(Reason::GaveUp(_)));
            let after = if gave_up || self.transport.ends_session(event, self.mix.on_failure(place)) {
                self.agenda.broken_off(launch, done + pause)
            } else {
                let transport = &self.transport;
                self.agenda.decided(launch, done + pause, &mut |number| transport.decide(number, event))
            };
            // A session that starts again begins without cookies and connections.
            if !after.is_same_visitor() {
                self.transport.close_session(event.session);
            }
            event.visit = self.sessions.position(launch, after.ends_visit());
            state.counts.in_flight -= 1;
            self.in_flight.end(event.label);
            if state.counts.ok + state.counts.failed == 0 && event.outcome != Outcome::Unsent {
                self.live.record_first(event);
            }
            match event.outcome {
                Outcome::Ok => state.counts.ok += 1,
                Outcome::Unsent => state.counts.unsent += 1,
                _ => state.counts.failed += 1,
            }
        }
        state.batch.append(&mut state.new_events);
        self.live.publish(state.counts);
        if state.batch.len() >= BATCH || (!state.batch.is_empty() && state.batch_since.until(now) >= MAX_BATCH_AGE) {
            self.flush_batch(state);
        }
    }

    /// Reports long-running requests to the sink.
    fn report_in_flight(&mut self, now: Instant, state: &mut LoopState) {
        let since = now.earlier(LONG_RUNNING);
        for _ in 0..MAX_REPORTED_PER_ITERATION {
            let Some(mut event) = self.transport.in_flight_since(since) else { break };
            if state.long_running.is_empty() {
                state.long_running_since = now;
            }
            let Event { intended, session, step, .. } = event;
            let position = self.positions.as_ref().and_then(|positions| positions.get(&session));
            let (place, visit) = position.copied().unwrap_or_default();
            event.visit = self.sessions.position(Launch { intended, session, step, place, visit }, false);
            state.long_running.push(event);
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
