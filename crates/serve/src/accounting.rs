//! Statistics and record of a server.

use offered_base::{Instant, Nanos};
use offered_io::Clock;

use crate::Summary;
use crate::record::{Recorder, Row};
use crate::request::Request;

/// The counts, and the record if the server writes one.
pub(crate) struct Accounting {
    pub(crate) clock: Clock,
    pub(crate) summary: Summary,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) collect_arrivals: bool,
    /// Sum of the jobs' lateness in ns; with the number of jobs it gives the mean.
    lateness_sum: u128,
    jobs_completed: u128,
}

impl Accounting {
    pub(crate) fn new(clock: Clock, recorder: Option<Recorder>, collect_arrivals: bool) -> Self {
        Self { clock, summary: Summary::default(), recorder, collect_arrivals, lateness_sum: 0, jobs_completed: 0 }
    }

    /// Counts a request after its last byte was read.
    pub(crate) fn arrived(&mut self, now: Instant) {
        self.summary.requests += 1;
        if self.collect_arrivals {
            self.summary.arrivals.push(now);
        }
    }

    /// Counts a response after its last byte was passed to the system.
    pub(crate) fn completed(&mut self, request: Request, now: Instant) {
        self.summary.completed += 1;
        if let (Some(_), Some(due)) = (request.work, request.due) {
            let late = due.until(now);
            self.jobs_completed += 1;
            self.lateness_sum += u128::from(late.0);
            self.summary.lateness_max = self.summary.lateness_max.max(late);
        }
        self.record(request, Some(now));
    }

    /// Records a request without a response because its connection ended.
    pub(crate) fn incomplete(&mut self, request: Request) {
        self.record(request, None);
    }

    fn record(&mut self, request: Request, done: Option<Instant>) {
        if let Some(recorder) = &mut self.recorder {
            let Request { arrival, received, work, due, path, .. } = request;
            recorder.add(Row { arrival, work, due, done, path, received });
        }
    }

    /// Closes the record and returns the final counts.
    pub(crate) fn finish(self) -> std::io::Result<Summary> {
        let mut summary = self.summary;
        if let Some(mean) = self.lateness_sum.checked_div(self.jobs_completed) {
            summary.lateness_mean = Nanos(mean as u64);
        }
        self.recorder.map_or(Ok(()), Recorder::finish)?;
        Ok(summary)
    }
}
