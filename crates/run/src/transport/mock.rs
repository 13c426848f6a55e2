//! A mock server on a virtual clock. Its response times are drawn from a distribution.
//!
//! A run with it takes almost no time, and shows exactly which requests would be sent, without sending them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use offered_base::{Instant, Nanos, Purpose, Seed};
use offered_distributions::Distribution;
use offered_events::{Event, Outcome};
use offered_schedule::Launch;

use super::{Client, Transport, new_event};

/// A virtual clock, and a server that handles any number of requests at once.
pub(crate) struct Mock {
    now: Instant,
    seed: Seed,
    response: Distribution,
    worker: u16,
    in_flight: BinaryHeap<Reverse<PendingResponse>>,
}

/// A response to come, ordered by completion time, session and step.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct PendingResponse {
    done: Instant,
    launch: Launch,
    label: u16,
    sent: Instant,
}

impl Mock {
    /// A server whose response times, in seconds, follow `response`. Each is a function of `seed`, session and step.
    pub(crate) fn new(seed: Seed, response: Distribution, worker: u16) -> Self {
        Self { now: Instant::ZERO, seed, response, worker, in_flight: BinaryHeap::new() }
    }

    fn event(&self, response: &PendingResponse) -> Event {
        Event { sent: Some(response.sent), ..new_event(response.launch, response.label, self.worker) }
    }
}

impl Client<Vec<Event>> for Mock {
    fn now(&self) -> Instant {
        self.now
    }

    fn wait(&mut self, deadline: Instant, events: &mut Vec<Event>) {
        let first = self.in_flight.peek().map(|top| top.0.done).filter(|done| *done <= deadline);
        self.now = self.now.max(first.unwrap_or(deadline));
        while self.in_flight.peek().is_some_and(|top| top.0.done <= self.now) {
            let Some(Reverse(response)) = self.in_flight.pop() else { return };
            let done = Some(response.done);
            events.push(Event { first_byte: done, done, outcome: Outcome::Ok, ..self.event(&response) });
        }
    }

    fn close_session(&mut self, _session: u64) {}

    fn cancel_all(&mut self, events: &mut Vec<Event>) {
        while let Some(Reverse(response)) = self.in_flight.pop() {
            events.push(Event { outcome: Outcome::Cut, ..self.event(&response) });
        }
    }

    fn idle(&self) -> Nanos {
        Instant::ZERO.until(self.now)
    }
}

impl Transport for Mock {
    fn send(&mut self, launch: Launch, label: u16, _sequence: u64, _events: &mut Vec<Event>) -> Instant {
        let mut stream = self.seed.at(Purpose::Size, launch.session, launch.step);
        let done = self.now + Nanos::from_secs_f64(self.response.sample(&mut stream));
        self.in_flight.push(Reverse(PendingResponse { done, launch, label, sent: self.now }));
        self.now
    }
}
