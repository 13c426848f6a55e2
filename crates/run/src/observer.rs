//! Observes complete exchanges: all exchanges of a single session, or the first failures of a run.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

use offered_events::{Event, Exchange, Outcome, Reason};

/// Receives the exchanges of all threads and forwards the ones that its constructor selects. Forwarding never blocks.
pub struct ExchangeObserver {
    out: Sender<Exchange>,
    /// Maximum number of bytes of a body to forward.
    body: usize,
    /// If only failures are wanted: the number of failures seen of each kind.
    failures: Option<Mutex<HashMap<FailureKind, usize>>>,
    count: AtomicUsize,
}

/// What failures of one kind have in common: request, outcome, status and reason.
type FailureKind = (u16, Outcome, u16, Option<String>);

impl ExchangeObserver {
    /// Maximum number of failures forwarded per kind.
    pub const MAX_PER_KIND: usize = 5;
    /// Maximum number of failures forwarded in total.
    pub const MAX_FAILURES: usize = 50;
    /// Maximum number of bytes of a body: of a failure, and if all exchanges are wanted.
    const FAILURE_BODY_BYTES: usize = 4096;
    const FULL_BODY_BYTES: usize = 1 << 20;

    /// Forwards all exchanges.
    pub fn all() -> (Self, Receiver<Exchange>) {
        let (out, count) = channel();
        (Self { out, body: Self::FULL_BODY_BYTES, failures: None, count: AtomicUsize::new(0) }, count)
    }

    /// Forwards the first failures of each kind.
    pub fn failures_only() -> (Self, Receiver<Exchange>) {
        let (out, count) = channel();
        (
            Self { out, body: Self::FAILURE_BODY_BYTES, failures: Some(Mutex::default()), count: AtomicUsize::new(0) },
            count,
        )
    }

    /// Number of bytes of a response body that must be stored for the observer.
    pub(crate) fn body_limit(&self) -> usize {
        if self.is_full() { 0 } else { self.body }
    }

    /// Number of bytes of a body that are forwarded.
    pub(crate) fn shown_bytes(&self) -> usize {
        self.body
    }

    fn is_full(&self) -> bool {
        self.failures.is_some() && self.count.load(Relaxed) >= Self::MAX_FAILURES
    }

    /// Whether the exchange that ended with this event is to be forwarded. If so, it counts toward the maximum.
    pub(crate) fn accepts(&self, event: &Event) -> bool {
        let Some(failures) = &self.failures else { return true };
        let of_the_run = matches!(event.outcome, Outcome::Ok | Outcome::Unsent | Outcome::Cut);
        if of_the_run || self.is_full() {
            return false;
        }
        let reason = event.error.as_ref().map(|reason| Reason::kind(reason).into_owned());
        let mut failures = failures.lock().unwrap_or_else(PoisonError::into_inner);
        let before = failures.entry((event.label, event.outcome, event.status, reason)).or_default();
        *before += 1;
        *before <= Self::MAX_PER_KIND && self.count.fetch_add(1, Relaxed) < Self::MAX_FAILURES
    }

    /// Forwards an exchange.
    pub(crate) fn record(&self, exchange: Exchange) {
        // The receiver may be gone.
        let _ = self.out.send(exchange);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_base::Instant;

    fn failed(label: u16, reason: &'static str) -> Event {
        Event { label, outcome: Outcome::CheckFailed, error: Some(Reason::words(reason)), ..Event::at(Instant(1)) }
    }

    #[test]
    fn failures_are_limited_per_kind_and_in_total() {
        let (observer, _) = ExchangeObserver::failures_only();
        let count = |label, reason| (0..20).filter(|_| observer.accepts(&failed(label, reason))).count();
        assert_eq!(
            (count(0, "a"), count(0, "b"), count(1, "a")),
            (ExchangeObserver::MAX_PER_KIND, ExchangeObserver::MAX_PER_KIND, ExchangeObserver::MAX_PER_KIND)
        );
        assert!(!observer.accepts(&Event { outcome: Outcome::Ok, ..failed(9, "a") }));
        assert!(!observer.accepts(&Event { outcome: Outcome::Unsent, ..failed(9, "late") }));
        assert!(observer.body_limit() > 0);
        let rest: usize = (2..20).map(|label| count(label, "a")).sum();
        assert_eq!(
            (rest + 3 * ExchangeObserver::MAX_PER_KIND, observer.body_limit()),
            (ExchangeObserver::MAX_FAILURES, 0)
        );
    }

    #[test]
    fn an_observer_of_everything_has_no_limit() {
        let (observer, _) = ExchangeObserver::all();
        assert!((0..100).all(|_| observer.accepts(&Event { outcome: Outcome::Ok, ..failed(0, "a") })));
        assert!(observer.body_limit() > 0);
    }
}
