//! Delays of the generator within the service time: the delay of writing requests, and the time for which the operating
//! system held responses before the generator read them. Only responses with timestamped reads are measured.

use offered_events::{Event, Outcome};
use offered_stats::values::{Sorted, Values};

use crate::verdict::statistics::ReadingLateness;

/// Collects the reading lateness of responses.
#[derive(Default)]
pub(crate) struct ReadingCollector {
    /// Of first bytes, in nanoseconds.
    first_byte: Values<i64>,
    /// Service times of successful requests without their writing lateness, in nanoseconds, and whether it was measured
    /// for at least one.
    written: Values<i64>,
    is_writing_measured: bool,
    /// Times of successful requests with timestamped reads: response times, service times without writing lateness, and
    /// service times without the reading lateness of the last bytes too.
    response: Values<i64>,
    unread: Values<i64>,
    without: Values<i64>,
}

/// The delays of the generator within service times.
pub(crate) struct MeasuredReading {
    first_byte: Sorted<i64>,
    written: Option<Sorted<i64>>,
    response: Sorted<i64>,
    unread: Sorted<i64>,
    without: Sorted<i64>,
}

impl ReadingCollector {
    #[inline]
    pub(crate) fn add(&mut self, event: &Event) {
        if let Some(late) = event.reading_lateness {
            self.first_byte.add(late.0 as i64);
        }
        if event.outcome == Outcome::Ok
            && let (Some(written), Some(done), Some(response)) = (event.written(), event.done, event.response())
        {
            let service = (done - written).0;
            self.written.add(service);
            self.is_writing_measured |= event.writing_lateness.is_some();
            if let Some(late) = event.done_lateness {
                self.response.add(response.0);
                self.unread.add(service);
                self.without.add(service - late.0 as i64);
            }
        }
    }

    pub(crate) fn finish(self) -> MeasuredReading {
        let [response, unread, without] = [self.response, self.unread, self.without].map(Values::sorted);
        let written = self.is_writing_measured.then(|| self.written.sorted());
        MeasuredReading { first_byte: self.first_byte.sorted(), written, response, unread, without }
    }
}

impl MeasuredReading {
    /// The share of percentile `p` of the response times by which late reading increases that of the service times, as a fraction. `None` if
    /// nothing was measured.
    pub(crate) fn share(&self, p: f64) -> Option<f64> {
        let (with, without) = (self.unread.quantile(p)?, self.without.quantile(p)?);
        Some(share(with - without, self.response.quantile(p)?))
    }

    /// The same for late writing, of these `response` and `service` times.
    pub(crate) fn writing_share(&self, p: f64, response: i64, service: i64) -> Option<f64> {
        Some(share(service - self.written.as_ref()?.quantile(p)?, response))
    }

    /// The lateness of first bytes; `None` if nothing was measured.
    pub(crate) fn lateness(&self) -> Option<ReadingLateness> {
        let summary = self.first_byte.summary(1e3)?;
        Some(ReadingLateness {
            n: summary.n as u64,
            p50_us: summary.median,
            p90_us: summary.p90,
            p99_us: summary.p99,
            max_us: summary.max,
        })
    }
}

/// This part of a response time, as a fraction.
pub(crate) fn share(part: i64, response: i64) -> f64 {
    if response == 0 { 0.0 } else { part as f64 / response.abs() as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_base::{Instant, Nanos};

    #[test]
    fn only_measured_successful_responses_count_for_the_share() {
        let event = |response: u64, late: Option<u64>, outcome| Event {
            sent: Some(Instant::ZERO),
            done: Some(Instant::from_millis(response)),
            reading_lateness: late.map(Nanos::from_millis),
            done_lateness: late.map(Nanos::from_millis),
            outcome,
            ..Event::at(Instant::ZERO)
        };
        let mut collector = ReadingCollector::default();
        for _ in 0..100 {
            collector.add(&event(100, Some(20), Outcome::Ok));
            collector.add(&event(900, None, Outcome::Ok));
            collector.add(&event(900, Some(800), Outcome::HttpError));
        }
        let reading = collector.finish();
        assert_eq!((reading.share(0.5), reading.writing_share(0.5, 10, 5)), (Some(0.2), None));
        let lateness = reading.lateness().unwrap();
        assert_eq!((lateness.n, lateness.max_us), (200, 800_000.0));
        let nothing = ReadingCollector::default().finish();
        assert_eq!((nothing.share(0.5), nothing.lateness()), (None, None));
    }
}
