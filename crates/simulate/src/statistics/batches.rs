//! Batches: divides a run of unknown length into a bounded number of equal parts.

use offered_base::{Instant, Nanos};

use super::tally::Tally;
use crate::discipline::{Job, JobTokens};
use offered_workload::Goodput;

/// Tallies of two quantities that are recorded together.
pub(super) type Pair<const BITS: u32 = 6> = [Tally<BITS>; 2];

/// Tallies of one class. There may be thousands of classes, so the cells are coarse.
pub(super) type Class = Pair<4>;

fn merge<const BITS: u32>(mine: &mut Pair<BITS>, others: &Pair<BITS>) {
    mine.iter_mut().zip(others).for_each(|(mine, others)| mine.merge(others));
}

/// Integrals over time since the start.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TimeIntegrals {
    pub(super) at: Instant,
    /// Integral of the number in the system, in job nanoseconds.
    pub(super) present: u128,
    /// Integral of the number of busy servers, in server nanoseconds.
    pub(super) busy: u128,
}

impl TimeIntegrals {
    /// Advances to `to`, with `present` jobs in the system until then.
    #[inline]
    pub(super) fn advance(&mut self, to: Instant, present: u64, servers: u64) {
        let time = u128::from(self.at.until(to).0);
        self.present += u128::from(present) * time;
        self.busy += u128::from(present.min(servers)) * time;
        self.at = to;
    }
}

/// Statistics of the time between two completions.
#[derive(Clone, Debug, Default)]
pub(super) struct Batch {
    pub(super) length: Nanos,
    /// The integral over time of the number in the system, in job nanoseconds.
    pub(super) present: f64,
    /// The integral over time of the number of busy servers, in server nanoseconds.
    pub(super) busy: f64,
    /// Number of requests rejected because the system was full.
    pub(super) rejected: u64,
    /// Sum of the demands of completed jobs, and of their squares; nanoseconds.
    pub(super) work: f64,
    pub(super) squares: f64,
    /// Response in nanoseconds and slowdown of all requests.
    pub(super) requests: Pair,
    /// The same by class, where there are several classes.
    pub(super) classes: Vec<Class>,
    /// Durations and total response times of sessions, in nanoseconds, where sessions end.
    pub(super) sessions: Option<Pair>,
    /// Responses of an engine.
    pub(super) tokens: Option<Tokens>,
}

/// Responses of an engine.
#[derive(Clone, Debug, Default)]
pub(super) struct Tokens {
    /// Times to first token and per output token, in nanoseconds.
    pub(super) times: Pair,
    /// Tokens of the responses.
    pub(super) output: u64,
    /// Requests within the limits of goodput.
    pub(super) good: u64,
}

impl Tokens {
    /// Adds a job that completed at `now`.
    pub(super) fn add(&mut self, job: &Job, now: Instant, limits: Option<Goodput>) {
        let JobTokens { counts, first_after, .. } = job.tokens;
        let response = job.arrived.until(now);
        let later = counts.output.saturating_sub(1);
        let per_token = (later > 0).then(|| (response.0 - first_after.0) as f64 / f64::from(later));
        self.times[0].add(first_after.0 as f64);
        if let Some(per_token) = per_token {
            self.times[1].add(per_token);
        }
        self.output += u64::from(counts.output);
        let is_good = |limits: Goodput| {
            limits.ttft.is_none_or(|limit| first_after <= limit)
                && limits.response.is_none_or(|limit| response <= limit)
                && limits.tpot.zip(per_token).is_none_or(|(limit, per_token)| per_token <= limit.0 as f64)
        };
        self.good += u64::from(limits.is_some_and(is_good));
    }

    fn merge(&mut self, other: &Self) {
        merge(&mut self.times, &other.times);
        self.output += other.output;
        self.good += other.good;
    }
}

impl Batch {
    /// Number of completions.
    pub(super) fn count(&self) -> u64 {
        self.requests[0].count
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.length += other.length;
        self.present += other.present;
        self.busy += other.busy;
        self.rejected += other.rejected;
        self.work += other.work;
        self.squares += other.squares;
        merge(&mut self.requests, &other.requests);
        self.classes.iter_mut().zip(&other.classes).for_each(|(mine, others)| merge(mine, others));
        self.sessions.iter_mut().zip(&other.sessions).for_each(|(mine, others)| merge(mine, others));
        self.tokens.iter_mut().zip(&other.tokens).for_each(|(mine, others)| mine.merge(others));
    }

    pub(super) fn mean_response(&self) -> f64 {
        self.requests[0].sum / self.count() as f64
    }

    /// Sets the length and the integrals of the batch.
    fn set_span(&mut self, from: TimeIntegrals, to: TimeIntegrals) {
        self.length = from.at.until(to.at);
        self.present = (to.present - from.present) as f64;
        self.busy = (to.busy - from.busy) as f64;
    }
}

/// At most [`Batches::MAX`] equal batches. When there are more, neighbours are merged, so memory does not grow.
#[derive(Clone, Debug)]
pub(super) struct Batches {
    full: Vec<Batch>,
    pub(super) current: Batch,
    /// Integrals at the start of the current batch.
    begun: TimeIntegrals,
    size: u64,
    empty: Batch,
}

impl Batches {
    const MAX: usize = 64;
    /// Number of completions in a batch at the beginning.
    pub(super) const SMALLEST: u64 = 64;

    /// Batches for this number of classes, with or without sessions that end and tokens.
    pub(super) fn new(classes: usize, sessions: bool, tokens: bool) -> Self {
        let classes = if classes > 1 { vec![Class::default(); classes] } else { Vec::new() };
        let (sessions, tokens) = (sessions.then(Pair::default), tokens.then(Tokens::default));
        let empty = Batch { classes, sessions, tokens, ..Batch::default() };
        Self { full: Vec::new(), current: empty.clone(), begun: TimeIntegrals::default(), size: Self::SMALLEST, empty }
    }

    /// Starts the current batch at `now`.
    pub(super) fn begin(&mut self, now: TimeIntegrals) {
        self.begun = now;
    }

    /// Closes the current batch if it is full.
    #[inline]
    pub(super) fn close_if_full(&mut self, now: TimeIntegrals) {
        if self.current.count() == self.size {
            self.close(now);
        }
    }

    fn close(&mut self, now: TimeIntegrals) {
        self.current.set_span(self.begun, now);
        self.begun = now;
        self.full.push(std::mem::replace(&mut self.current, self.empty.clone()));
        if self.full.len() == Self::MAX {
            self.size *= 2;
            let mut all = std::mem::take(&mut self.full).into_iter();
            while let (Some(mut one), Some(next)) = (all.next(), all.next()) {
                one.merge(&next);
                self.full.push(one);
            }
        }
    }

    /// The full batches, in order.
    pub(super) fn full(&self) -> &[Batch] {
        &self.full
    }

    /// The current, partial batch up to `now`.
    pub(super) fn partial(&self, now: TimeIntegrals) -> Batch {
        let mut partial = self.current.clone();
        partial.set_span(self.begun, now);
        partial
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_base::{Purpose, Seed};
    use offered_distributions::Distribution;

    #[test]
    fn a_thousand_classes_fit_in_a_hundred_megabytes() {
        let classes = 1000;
        let mut batches = Batches::new(classes, false, false);
        let distribution = Distribution::exponential(1e7).unwrap();
        let mut stream = Seed(5).stream(Purpose::Size);
        for i in 0..3_000_000 {
            let (response, slowdown) = (distribution.sample(&mut stream), 1.0 + distribution.sample(&mut stream) / 1e6);
            let Batch { requests, classes: each, .. } = &mut batches.current;
            let [times, slowdowns] = &mut each[i % classes];
            times.add(response);
            slowdowns.add(slowdown);
            requests[0].add(response);
            batches.close_if_full(TimeIntegrals::default());
        }
        let kept = batches.full.iter().chain([&batches.current]);
        let bytes: usize = kept.flat_map(|batch| batch.classes.iter().flatten()).map(Tally::bytes).sum();
        assert!(batches.full.len() >= 32 && bytes < 100_000_000, "{bytes} bytes in {} batches", batches.full.len());
    }
}
