//! Concurrency at arrival: the number of requests in flight when another one was sent.

use std::io;

use offered_base::Difference;
use offered_events::Outcome;
use offered_stats::order::Key;

use crate::scope::{Scope, in_order};

/// A request is sent or completes.
#[derive(Clone, Copy)]
struct Change {
    at: u64,
    what: ChangeKind,
}

#[derive(Clone, Copy)]
enum ChangeKind {
    Arrival,
    /// The instant of sending, and the response time in nanoseconds of a successful request.
    ArrivalWithResponse(i64),
    Departure,
}

impl Key for Change {
    /// At the same instant departures come before arrivals.
    type Rank = (u64, bool);

    fn rank(&self) -> Self::Rank {
        (self.at, !matches!(self.what, ChangeKind::Departure))
    }
}

/// The counts so far.
struct Tracker<C> {
    collector: C,
    arrived: u64,
    departed: u64,
}

impl Scope<'_> {
    /// Creates a collector with `fresh`. For each successful request, in the order of their sent times, calls `see` with the number of
    /// requests in flight when it was sent, and with its response time.
    ///
    /// # Errors
    /// The recording cannot be read.
    pub fn concurrency_at_arrival<C>(
        self,
        fresh: impl Fn() -> C,
        see: impl Fn(&mut C, u64, Difference),
    ) -> io::Result<C> {
        let source = |give: &mut dyn FnMut(Change)| {
            self.each_sent(|sent, event| {
                let good = event.response().filter(|_| event.outcome == Outcome::Ok);
                let what = good.map_or(ChangeKind::Arrival, |response| ChangeKind::ArrivalWithResponse(response.0));
                give(Change { at: sent, what });
                if let Some(done) = event.done {
                    give(Change { at: done.0, what: ChangeKind::Departure });
                }
            })
        };
        let fresh = || Tracker { collector: fresh(), arrived: 0, departed: 0 };
        let pass = |present: &mut Tracker<C>, passing: Change| match passing.what {
            ChangeKind::Departure => present.departed += 1,
            what => {
                if let ChangeKind::ArrivalWithResponse(response) = what {
                    // In a damaged row the completion may precede the sending.
                    see(&mut present.collector, present.arrived.saturating_sub(present.departed), Difference(response));
                }
                present.arrived += 1;
            }
        };
        Ok(in_order(&source, fresh, pass)?.collector)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::criteria::Criteria;
    use offered_base::{Instant, Nanos};
    use offered_events::{Event, Recording};

    #[test]
    fn departures_come_before_arrivals_at_the_same_time() {
        let event = |sent: u64, stay: u64, outcome| {
            let sent = Instant::from_millis(sent);
            Event { sent: Some(sent), done: Some(sent + Nanos::from_millis(stay)), outcome, ..Event::at(sent) }
        };
        // Ordered by completion: two sent at once when another completes, one that fails, one sent to an idle server.
        let events = vec![
            event(0, 5, Outcome::Ok),
            event(5, 1, Outcome::Ok),
            event(5, 2, Outcome::HttpError),
            event(6, 2, Outcome::Ok),
            event(1, 20, Outcome::Ok),
        ];
        let recording = Recording::of_run(events, vec!["a".into()]);
        let scope = Scope::of(&recording, &Criteria::default()).unwrap();
        let found = scope
            .concurrency_at_arrival(Vec::new, |found, others, response| found.push((others, response.0 / 1_000_000)));
        assert_eq!(found.unwrap(), [(0, 5), (1, 20), (1, 1), (2, 2)]);
    }
}
