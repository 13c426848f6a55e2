//! Stalls: periods in which a worker sent nothing although requests were due, recognised by requests that were late together.
//!
//! A worker that was not running sends all overdue requests when it resumes. These requests are much later than
//! usual, and their intervals from scheduled to sent overlap. If the generator is only too slow, all requests are
//! similarly late, and no stalls are reported.

use offered_base::{Instant, Nanos};
use offered_events::Recording;

use crate::verdict::Stalls;

/// Requests with less lateness than this are not late.
const MIN_LATENESS: Nanos = Nanos::from_millis(1);
/// Requests with less lateness than this multiple of the median are not late.
const MEDIAN_FACTOR: u64 = 20;
/// The threads were idle if they worked for at most this share of the time of all stalls.
const MAX_WORK_SHARE: f64 = 0.5;

/// Finds the stalls of each worker in requests that come in the order of their scheduled times.
#[derive(Default)]
pub(crate) struct StallDetector {
    min_lateness: u64,
    workers: Vec<WorkerStalls>,
}

/// The stalls of a worker so far; times in nanoseconds.
#[derive(Clone, Copy, Default)]
struct WorkerStalls {
    count: u64,
    delayed_requests: u64,
    longest: u64,
    longest_start: u64,
    /// The total duration of the stalls that are over.
    total: u64,
    start: u64,
    end: u64,
}

impl WorkerStalls {
    fn add(&mut self, intended: u64, sent: u64) {
        self.delayed_requests += 1;
        if self.count == 0 || intended > self.end {
            self.total += self.end - self.start;
            (self.start, self.count) = (intended, self.count + 1);
        }
        self.end = self.end.max(sent);
        if self.end - self.start > self.longest {
            (self.longest, self.longest_start) = (self.end - self.start, self.start);
        }
    }
}

impl StallDetector {
    /// Creates a detector; `usual` is the median lateness.
    pub(crate) fn new(usual: Nanos) -> Self {
        Self { min_lateness: MIN_LATENESS.0.max(usual.0.saturating_mul(MEDIAN_FACTOR)), workers: Vec::new() }
    }

    /// Adds a request of this worker; both times are in nanoseconds.
    #[inline]
    pub(crate) fn add(&mut self, worker: usize, intended: u64, sent: u64) {
        if sent.saturating_sub(intended) <= self.min_lateness {
            return;
        }
        if self.workers.len() <= worker {
            self.workers.resize(worker + 1, WorkerStalls::default());
        }
        self.workers[worker].add(intended, sent);
    }

    /// The stalls found; `None` if there were none. `elapsed_s`: the duration of the run.
    pub(crate) fn finish(&self, recording: &Recording, elapsed_s: f64) -> Option<Stalls> {
        let (number, longest) = self.workers.iter().enumerate().max_by_key(|(_, worker)| worker.longest)?;
        let total: u64 = self.workers.iter().map(|worker| worker.total + (worker.end - worker.start)).sum();
        // The threads worked for at most the smaller of two times: a thread that the machine does not run can be busy, and one that spins uses
        // processor time.
        let work_s = recording.generator.as_ref().map(|generator| {
            let busy_s = generator.busy.iter().sum::<f64>() * elapsed_s;
            busy_s.min(generator.cpu_s)
        });
        Some(Stalls {
            count: self.workers.iter().map(|worker| worker.count).sum(),
            delayed_requests: self.workers.iter().map(|worker| worker.delayed_requests).sum(),
            longest_ms: Nanos(longest.longest).as_millis_f64(),
            longest_start_s: Instant(longest.longest_start).as_secs_f64(),
            longest_worker: recording.nodes.get(number).map(|(name, _)| name.clone()),
            total_ms: Nanos(total).as_millis_f64(),
            threads_idle: work_s.is_some_and(|work_s| work_s <= MAX_WORK_SHARE * Nanos(total).as_secs_f64()),
        })
    }
}
