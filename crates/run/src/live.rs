//! Counters of a running load generator.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use offered_events::{Event, Outcome};

/// Counters of one thread. Only that thread writes; any thread may read at any time.
#[derive(Debug, Default)]
pub(crate) struct LiveCounters {
    requests: AtomicU64,
    unsent: AtomicU64,
    ok: AtomicU64,
    failed: AtomicU64,
    in_flight: AtomicU64,
    /// Whether the first event suggests that the target speaks TLS.
    looks_like_tls: AtomicBool,
}

/// A snapshot of the counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests that were due so far, sent or not.
    pub requests: u64,
    /// Requests that were not sent.
    pub unsent: u64,
    /// Requests that completed successfully.
    pub ok: u64,
    /// Requests that were sent and failed.
    pub failed: u64,
    /// Requests in flight.
    pub in_flight: u64,
}

impl LiveCounters {
    /// The current values.
    pub(crate) fn counts(&self) -> Counts {
        Counts {
            requests: self.requests.load(Relaxed),
            unsent: self.unsent.load(Relaxed),
            ok: self.ok.load(Relaxed),
            failed: self.failed.load(Relaxed),
            in_flight: self.in_flight.load(Relaxed),
        }
    }

    /// Whether the first event suggests that the target speaks TLS; see [`looks_like_tls`].
    pub(crate) fn looks_like_tls(&self) -> bool {
        self.looks_like_tls.load(Relaxed)
    }

    /// Records the first event of the thread.
    pub(crate) fn record_first(&self, event: &Event) {
        self.looks_like_tls.store(looks_like_tls(event), Relaxed);
    }

    pub(crate) fn publish(&self, counts: Counts) {
        self.requests.store(counts.requests, Relaxed);
        self.unsent.store(counts.unsent, Relaxed);
        self.ok.store(counts.ok, Relaxed);
        self.failed.store(counts.failed, Relaxed);
        self.in_flight.store(counts.in_flight, Relaxed);
    }
}

/// Whether a request ended as a plain-text request to a TLS server does: the server hangs up, waits for more, answers
/// with something other than HTTP, or with status 400.
pub(crate) fn looks_like_tls(event: &Event) -> bool {
    match event.outcome {
        Outcome::Reset | Outcome::Malformed | Outcome::Timeout => true,
        Outcome::HttpError => event.status == 400,
        _ => false,
    }
}

impl std::iter::Sum for Counts {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |a, b| Self {
            requests: a.requests + b.requests,
            unsent: a.unsent + b.unsent,
            ok: a.ok + b.ok,
            failed: a.failed + b.failed,
            in_flight: a.in_flight + b.in_flight,
        })
    }
}
