//! Counters of a run under way, for those who watch.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use offered_model::{Event, Outcome};

/// What one thread has done so far. Only that thread writes; anyone may read at any time.
#[derive(Debug, Default)]
pub(crate) struct LiveCounters {
    requests: AtomicU64,
    unsent: AtomicU64,
    ok: AtomicU64,
    failed: AtomicU64,
    in_flight: AtomicU64,
    /// Whether the first that ended was not understood.
    looks_like_tls: AtomicBool,
}

/// The counters at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Launches due so far, sent or not.
    pub requests: u64,
    /// Those not sent.
    pub unsent: u64,
    /// Those answered with a status below 400.
    pub ok: u64,
    /// Those that ended otherwise.
    pub failed: u64,
    /// Those under way.
    pub in_flight: u64,
}

impl LiveCounters {
    /// The counters now.
    pub(crate) fn counts(&self) -> Counts {
        Counts {
            requests: self.requests.load(Relaxed),
            unsent: self.unsent.load(Relaxed),
            ok: self.ok.load(Relaxed),
            failed: self.failed.load(Relaxed),
            in_flight: self.in_flight.load(Relaxed),
        }
    }

    /// Whether the first launch that ended was not understood by the other side, or that by us.
    pub(crate) fn looks_like_tls(&self) -> bool {
        self.looks_like_tls.load(Relaxed)
    }

    /// The first launch to end has ended with `event`.
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

/// Whether a launch ended as one does that speaks plainly to who speaks TLS: that one hangs up, waits for more, says something that is no
/// HTTP, or a 400.
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
