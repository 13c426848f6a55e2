//! What a server has seen and done so far.

use offered_clock::Clock;
use offered_model::{Instant, Nanos};

use crate::Summary;
use crate::connection::Request;
use crate::record::{Recorder, Row};

/// The counts, and the record if one is kept.
pub(crate) struct Ledger {
    pub(crate) clock: Clock,
    pub(crate) summary: Summary,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) keep_arrivals: bool,
    /// The sum of the jobs' lateness and the number of those jobs, for its mean.
    late: u128,
    jobs_answered: u128,
}

impl Ledger {
    pub(crate) fn new(clock: Clock, recorder: Option<Recorder>, keep_arrivals: bool) -> Self {
        Self { clock, summary: Summary::default(), recorder, keep_arrivals, late: 0, jobs_answered: 0 }
    }

    /// A request's last byte was read.
    pub(crate) fn arrived(&mut self, now: Instant) {
        self.summary.requests += 1;
        if self.keep_arrivals {
            self.summary.arrivals.push(now);
        }
    }

    /// The last byte of a request's answer was handed to the system.
    pub(crate) fn answered(&mut self, request: Request, now: Instant) {
        self.summary.answered += 1;
        if let (Some(_), Some(due)) = (request.work, request.due) {
            let late = due.until(now);
            self.jobs_answered += 1;
            self.late += u128::from(late.0);
            self.summary.lateness_max = self.summary.lateness_max.max(late);
        }
        self.record(request, Some(now));
    }

    /// A request that arrived, whose connection ended before its answer was out.
    pub(crate) fn unanswered(&mut self, request: Request) {
        self.record(request, None);
    }

    fn record(&mut self, request: Request, done: Option<Instant>) {
        if let Some(recorder) = &mut self.recorder {
            let Request { arrival, received, work, due, path, .. } = request;
            recorder.add(Row { arrival, work, due, done, path, received });
        }
    }

    /// Closes the record; the final counts.
    pub(crate) fn finish(self) -> std::io::Result<Summary> {
        let mut summary = self.summary;
        if let Some(mean) = self.late.checked_div(self.jobs_answered) {
            summary.lateness_mean = Nanos(mean as u64);
        }
        self.recorder.map_or(Ok(()), Recorder::finish)?;
        Ok(summary)
    }
}
