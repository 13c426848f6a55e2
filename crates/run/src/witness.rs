//! Who sees exchanges whole: a person who walks a session once, or who wants to know later what failed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

use offered_model::{Event, Exchange, Outcome, Reason};

/// Sees the exchanges of all threads that are to be seen, and hands them on. Handing on never waits.
pub struct Witness {
    out: Sender<Exchange>,
    /// So many bytes of a body are handed on.
    body: usize,
    /// Of who sees only failures: how many of each kind there were.
    failures: Option<Mutex<HashMap<Kind, usize>>>,
    seen: AtomicUsize,
}

/// What failures have in common: request, outcome, status and why.
type Kind = (u16, Outcome, u16, Option<String>);

impl Witness {
    /// So many failures are seen of a kind.
    pub const EACH: usize = 5;
    /// So many failures are seen at all.
    pub const MAX_SEEN: usize = 50;
    /// So many bytes of a failure's body, and of a body that is looked at by itself.
    const BODY: usize = 4096;
    const WHOLE_BODY: usize = 1 << 20;

    /// Of everything.
    pub fn of_everything() -> (Self, Receiver<Exchange>) {
        let (out, seen) = channel();
        (Self { out, body: Self::WHOLE_BODY, failures: None, seen: AtomicUsize::new(0) }, seen)
    }

    /// Of the first few failures of each kind.
    pub fn of_failures() -> (Self, Receiver<Exchange>) {
        let (out, seen) = channel();
        (Self { out, body: Self::BODY, failures: Some(Mutex::default()), seen: AtomicUsize::new(0) }, seen)
    }

    /// How many bytes of an answer's body must be kept for it.
    pub(crate) fn wanted(&self) -> usize {
        if self.is_full() { 0 } else { self.body }
    }

    /// How many bytes of a body it hands on.
    pub(crate) fn shown(&self) -> usize {
        self.body
    }

    fn is_full(&self) -> bool {
        self.failures.is_some() && self.seen.load(Relaxed) >= Self::MAX_SEEN
    }

    /// Whether it looks at an exchange that ended so; one that it looks at counts.
    pub(crate) fn looks_at(&self, event: &Event) -> bool {
        let Some(failures) = &self.failures else { return true };
        let of_the_run = matches!(event.outcome, Outcome::Ok | Outcome::Unsent | Outcome::Cut);
        if of_the_run || self.is_full() {
            return false;
        }
        let why = event.error.as_ref().map(|why| Reason::kind(why).into_owned());
        let mut failures = failures.lock().unwrap_or_else(PoisonError::into_inner);
        let before = failures.entry((event.label, event.outcome, event.status, why)).or_default();
        *before += 1;
        *before <= Self::EACH && self.seen.fetch_add(1, Relaxed) < Self::MAX_SEEN
    }

    /// Sees it.
    pub(crate) fn saw(&self, exchange: Exchange) {
        // Who wanted to know may be gone.
        let _ = self.out.send(exchange);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_model::Instant;

    fn failed(label: u16, why: &'static str) -> Event {
        Event { label, outcome: Outcome::CheckFailed, error: Some(Reason::words(why)), ..Event::at(Instant(1)) }
    }

    #[test]
    fn of_each_kind_of_failure_the_first_few_are_seen_and_not_too_many_in_all() {
        let (witness, _) = Witness::of_failures();
        let seen = |label, why| (0..20).filter(|_| witness.looks_at(&failed(label, why))).count();
        assert_eq!((seen(0, "a"), seen(0, "b"), seen(1, "a")), (Witness::EACH, Witness::EACH, Witness::EACH));
        assert!(!witness.looks_at(&Event { outcome: Outcome::Ok, ..failed(9, "a") }));
        assert!(!witness.looks_at(&Event { outcome: Outcome::Unsent, ..failed(9, "late") }));
        assert!(witness.wanted() > 0);
        let rest: usize = (2..20).map(|label| seen(label, "a")).sum();
        assert_eq!((rest + 3 * Witness::EACH, witness.wanted()), (Witness::MAX_SEEN, 0));
    }

    #[test]
    fn who_sees_everything_is_never_full() {
        let (witness, _) = Witness::of_everything();
        assert!((0..100).all(|_| witness.looks_at(&Event { outcome: Outcome::Ok, ..failed(0, "a") })));
        assert!(witness.wanted() > 0);
    }
}
