//! The requests of a run: when each was sent and done, and how many were in flight when it was sent.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;

use offered_base::Instant;
use offered_events::{Outcome, Recording};
use offered_schedule::{After, Launch};
use offered_simulate::Job;
use offered_simulate::drive::SimulationObserver;
use offered_stats::summary::quantile_at;
use offered_verify::Window;

use super::in_flight::{BATCHES, InFlight};
use crate::Error;

/// Maximum number of requests of a run that are held, from its start.
const MAX_REQUESTS: usize = 1_000_000;

/// A request that was sent, in nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentRequest {
    pub(super) sent: u64,
    /// `u64::MAX`: it was in flight at the end.
    pub(super) done: u64,
    pub(super) label: u16,
    pub(super) is_ok: bool,
}

impl SentRequest {
    fn order(&self) -> (u64, u64) {
        (self.sent, self.done)
    }
}

/// A successful request of the window, in the order of sending.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observed {
    /// Index of its label.
    pub(super) label: u16,
    /// done - sent, seconds.
    pub(super) time: f64,
    /// Number of other requests in flight when it was sent.
    pub(super) met: u32,
    /// Time until the next request was sent, seconds.
    pub(super) until_next: f64,
}

/// The successful requests of a run within its window.
pub(super) struct Observations {
    pub(super) requests: Vec<Observed>,
    /// The window, nanoseconds since the start of the run.
    pub(super) window: std::ops::Range<u64>,
    /// Duration of the window, seconds.
    duration: f64,
    /// Completions in each of [`BATCHES`] parts of the window.
    completions: [u64; BATCHES],
    /// Times and completions by number of requests in flight.
    pub(super) numbers: InFlight,
}

impl Observations {
    /// The requests of a recording, at most a million. `labels` are those of the workload; others are in flight, but not observed.
    pub(super) fn of(recording: &Recording, window: &Window, labels: &[String]) -> Result<Self, Error> {
        let mut all = Vec::new();
        let number = |name: &String| labels.iter().position(|label| label == name).map(|place| place as u16);
        let numbers: Vec<Option<u16>> = recording.labels.iter().map(number).collect();
        let origin =
            if recording.on_run_clock { 0 } else { recording.events.extent().sent.map_or(0, |(first, _)| first.0) };
        recording.events.each(|event| {
            let Some(sent) = event.sent.filter(|_| event.object == 0) else { return };
            let done = event.done.filter(|_| event.outcome != Outcome::Cut).map_or(u64::MAX, |done| done.0 - origin);
            let label = numbers.get(usize::from(event.label)).copied().flatten();
            let is_ok = event.outcome == Outcome::Ok && label.is_some();
            all.push(SentRequest { sent: sent.0 - origin, done, label: label.unwrap_or_default(), is_ok });
            // The first requests of a long run are selected before it is read to its end, so that it need not fit into memory.
            if all.len() == 2 * MAX_REQUESTS {
                all.select_nth_unstable_by_key(MAX_REQUESTS, SentRequest::order);
                all.truncate(MAX_REQUESTS);
            }
        })?;
        let ns = |seconds: f64| (seconds * 1e9) as u64;
        Ok(Self::new(all, ns(window.start_s)..ns(window.end_s).max(1)))
    }

    /// The requests that were sent within `window`, after those before it have determined what they met.
    pub(super) fn new(mut all: Vec<SentRequest>, window: std::ops::Range<u64>) -> Self {
        all.sort_unstable_by_key(SentRequest::order);
        all.truncate(MAX_REQUESTS);
        let end = window.end.min(all.last().map_or(0, |last| last.sent + 1));
        let duration = end.saturating_sub(window.start) as f64 / 1e9;
        let (mut requests, mut completions) = (Vec::new(), [0; BATCHES]);
        let mut in_flight: BinaryHeap<Reverse<u64>> = BinaryHeap::new();
        let mut numbers = InFlight::new(window.start..end.max(window.start));
        for (i, one) in all.iter().enumerate() {
            while let Some(Reverse(done)) = in_flight.peek().copied().filter(|first| first.0 <= one.sent) {
                numbers.add(in_flight.len(), done, true);
                in_flight.pop();
            }
            numbers.add(in_flight.len(), one.sent, false);
            let met = in_flight.len() as u32;
            in_flight.push(Reverse(one.done));
            if one.is_ok && (window.start..end).contains(&one.done) {
                let part = (one.done - window.start) as f64 / 1e9 / duration * BATCHES as f64;
                completions[(part as usize).min(BATCHES - 1)] += 1;
            }
            if one.is_ok && one.done != u64::MAX && (window.start..end).contains(&one.sent) {
                let next = all.get(i + 1).map_or(u64::MAX, |next| next.sent);
                let seconds = |from: u64, to: u64| to.saturating_sub(from) as f64 / 1e9;
                let (time, until_next) = (seconds(one.sent, one.done), seconds(one.sent, next));
                requests.push(Observed { label: one.label, time, met, until_next });
            }
        }
        Self { requests, window: window.start..end, duration, completions, numbers }
    }

    /// Completed requests per second.
    pub(super) fn completed_rate(&self) -> f64 {
        self.completions.iter().sum::<u64>() as f64 / self.duration
    }

    /// Standard error of the completed rate, per second.
    pub(super) fn completed_rate_error(&self) -> f64 {
        let rates: Vec<f64> =
            self.completions.iter().map(|count| *count as f64 * BATCHES as f64 / self.duration).collect();
        mean_and_error(&rates).1
    }

    /// Mean number of requests in flight, by Little's law.
    pub(super) fn in_flight(&self) -> f64 {
        self.completed_rate() * self.mean()
    }

    /// Number of requests that met no other.
    pub(super) fn unloaded(&self) -> u64 {
        self.requests.iter().filter(|request| request.met == 0).count() as u64
    }

    /// Mean of done - sent, seconds.
    pub(super) fn mean(&self) -> f64 {
        self.requests.iter().map(|request| request.time).sum::<f64>() / self.requests.len() as f64
    }

    /// A quantile of done - sent, seconds.
    pub(super) fn quantile(&self, p: f64) -> f64 {
        quantile(self.requests.iter().map(|request| request.time).collect(), p)
    }
}

/// Mean of independent values, and its standard error.
pub(super) fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (mean, (squares / (n - 1.0).max(1.0) / n).sqrt())
}

/// The quantile `p` of values; 0 without any.
pub(super) fn quantile(mut values: Vec<f64>, p: f64) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let place = quantile_at(values.len() as u64, p) as usize;
    *values.select_nth_unstable_by(place, f64::total_cmp).1
}

/// Collects the requests of a simulation.
#[derive(Default)]
pub(super) struct Collected(pub(super) Vec<SentRequest>);

impl SimulationObserver for Collected {
    fn arrived(&mut self, _: Instant) {}

    fn rejected(&mut self, launch: Launch, class: u16, _: After) {
        self.0.push(SentRequest { sent: launch.intended.0, done: launch.intended.0, label: class, is_ok: false });
    }

    fn completed(&mut self, now: Instant, launch: Launch, job: &Job, _: After) -> ControlFlow<()> {
        self.0.push(SentRequest { sent: launch.intended.0, done: now.0, label: job.class, is_ok: true });
        if self.0.len() < MAX_REQUESTS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    fn unfinished(&mut self, _: Instant, launch: Launch, class: u16) {
        self.0.push(SentRequest { sent: launch.intended.0, done: u64::MAX, label: class, is_ok: false });
    }
}
