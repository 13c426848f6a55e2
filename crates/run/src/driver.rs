//! The driver: one thread's loop between its agenda and its transport.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use offered_model::workload::{Late, Mix};
use offered_model::{After, Agenda, Event, Instant, Launch, Nanos, Outcome, Reason, Visit};

use crate::live::{Counts, Live};
use crate::{Sink, Transport};

/// Launches in a row before answers are looked at again: late launches must not starve them.
const IN_A_ROW: usize = 64;
/// Events in a batch for the sink, and how old the first of them may become.
const BATCH: usize = 1024;
const BATCH_AGE: Nanos = Nanos::from_millis(500);
/// A launch that is under way for so long is told of before its end.
const LONG: Nanos = Nanos::from_millis(500);
/// So many are told of in a turn: it costs some 100 ns each.
const TOLD: usize = 64;
/// How soon a request to stop is noticed.
const NOTICE: Nanos = Nanos::from_millis(100);
/// How long after a stop answers are still waited for, and after the end of the run late launches are still sent.
const GRACE: Nanos = Nanos::from_secs(2);
/// A session that could not be served pauses at least so long, lest a closed one without think time spin on a refusal.
const PAUSE: Nanos = Nanos::from_millis(100);

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
    pub(crate) hurry: &'a AtomicBool,
    pub(crate) live: &'a Live,
    pub(crate) sink: &'a mut dyn Sink,
    /// Where in its flow each session with a launch under way stands; `None` in a workload without flows.
    pub(crate) places: Option<HashMap<u64, (u16, Visit)>>,
}

/// What is kept between turns of the loop.
struct Books {
    counts: Counts,
    batch: Vec<Event>,
    /// When the first event of the batch came.
    since: Instant,
    /// Launches that are under way for long, to be told of, and when the first of them was noticed.
    long: Vec<Event>,
    noticed: Instant,
    /// Events that have come and are not yet booked.
    fresh: Vec<Event>,
    /// When the last object of the page was done whose launch comes next.
    page: Instant,
}

impl<T: Transport> Driver<'_, T> {
    /// Launches everything of the agenda, waits for the answers, and hands every event to the sink; how long that took
    /// and for how much of it there was nothing to do.
    pub(crate) fn run(&mut self) -> (Nanos, Nanos) {
        let mut books = Books {
            counts: Counts::default(),
            batch: Vec::with_capacity(BATCH),
            since: Instant::ZERO,
            long: Vec::new(),
            noticed: Instant::ZERO,
            fresh: Vec::new(),
            page: Instant::ZERO,
        };
        let mut stopped: Option<Instant> = None;
        loop {
            let mut now = self.transport.now();
            self.book(now, &mut books);
            self.tell(now, &mut books);
            if self.stop.load(Relaxed) {
                let since = *stopped.get_or_insert(now);
                if now > since + GRACE || self.hurry.load(Relaxed) {
                    self.transport.abandon(&mut books.fresh);
                    self.book(now, &mut books);
                }
            } else {
                now = self.launch(now, &mut books);
            }
            let next = if stopped.is_some() { None } else { self.agenda.next_due() };
            if next.is_none() && books.counts.in_flight == 0 {
                break;
            }
            // A launch that ended at once may bring its session back at once.
            let next = if books.fresh.is_empty() { next.unwrap_or(Instant::MAX) } else { now };
            let deadline = next.min(now + NOTICE);
            self.transport.wait(deadline, &mut books.fresh);
        }
        self.hand_over(&mut books);
        let spent = (Instant::ZERO.until(self.transport.now()), self.transport.idle());
        self.transport.finish();
        spent
    }

    /// Launches what is due at `now`; the time when that was done.
    fn launch(&mut self, mut now: Instant, books: &mut Books) -> Instant {
        for _ in 0..IN_A_ROW {
            let Some(launch) = self.agenda.due(now) else { break };
            let label = self.mix.choose(launch);
            if let Some(places) = &mut self.places {
                places.insert(launch.session, (launch.place, launch.visit));
            }
            let sequence = self.numbering.0 + books.counts.launched * self.numbering.1;
            books.counts.launched += 1;
            books.counts.in_flight += 1;
            let refusal = match self.late {
                // At a rate far beyond what can be sent the run would else go on for ever.
                _ if now > self.end + GRACE => Some(Reason::Over),
                Late::Skip(limit) if launch.intended.until(now) > limit => {
                    Some(Reason::Late(launch.intended.until(now)))
                }
                _ if books.counts.in_flight > self.in_flight => Some(Reason::InFlight(self.in_flight)),
                _ => None,
            };
            now = match refusal {
                None => self.transport.send(launch, label, sequence, &mut books.fresh),
                Some(why) => {
                    let event =
                        Event { session: launch.session, step: launch.step, label, ..Event::at(launch.intended) };
                    books.fresh.push(Event { worker: self.worker, error: Some(why), ..event });
                    now
                }
            };
        }
        now
    }

    /// Books the events that have come: their sessions go on or leave, the counters move, the batch grows.
    fn book(&mut self, now: Instant, books: &mut Books) {
        for event in books.fresh.drain(..) {
            if T::PAGES && event.object > 0 {
                books.page = books.page.max(event.done.unwrap_or_default());
                books.batch.push(event);
                continue;
            }
            let Event { intended, session, step, .. } = event;
            let (place, visit) = self.places.as_mut().and_then(|places| places.remove(&session)).unwrap_or_default();
            let launch = Launch { intended, session, step, place, visit };
            let mut done = event.done.unwrap_or(now);
            if T::PAGES {
                done = done.max(std::mem::take(&mut books.page));
            }
            let pause = match event.outcome {
                Outcome::Unsent | Outcome::NoValue | Outcome::Refused | Outcome::Dns => PAUSE,
                _ => Nanos::ZERO,
            };
            let after = if self.transport.ends(&event) {
                // Who comes back knows nothing of the time before.
                self.transport.leave(event.session);
                self.agenda.broken_off(launch, done + pause)
            } else {
                self.agenda.completed(launch, done + pause)
            };
            if after != After::Returns {
                self.transport.leave(event.session);
            }
            books.counts.in_flight -= 1;
            if books.counts.ok + books.counts.failed == 0 && event.outcome != Outcome::Unsent {
                self.live.first(&event);
            }
            match event.outcome {
                Outcome::Ok => books.counts.ok += 1,
                Outcome::Unsent => books.counts.unsent += 1,
                _ => books.counts.failed += 1,
            }
            if books.batch.is_empty() {
                books.since = now;
            }
            books.batch.push(event);
        }
        self.live.show(books.counts);
        if books.batch.len() >= BATCH || (!books.batch.is_empty() && books.since.until(now) >= BATCH_AGE) {
            self.hand_over(books);
        }
    }

    /// Tells the sink of launches that are under way for long.
    fn tell(&mut self, now: Instant, books: &mut Books) {
        let since = now.earlier(LONG);
        for _ in 0..TOLD {
            let Some(launch) = self.transport.under_way_since(since) else { break };
            if books.long.is_empty() {
                books.noticed = now;
            }
            books.long.push(launch);
        }
        if books.long.len() >= BATCH || (!books.long.is_empty() && books.noticed.until(now) >= BATCH_AGE) {
            self.sink.under_way(std::mem::take(&mut books.long));
        }
    }

    fn hand_over(&mut self, books: &mut Books) {
        self.sink.keep(std::mem::replace(&mut books.batch, Vec::with_capacity(BATCH)));
    }
}

#[cfg(test)]
mod tests;
