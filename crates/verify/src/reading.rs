//! Reading lateness: how long the operating system held responses before the generator read them. Only some responses
//! are measured: those whose reads were timestamped.

use offered_events::{Event, Outcome};
use offered_stats::values::{Sorted, Values};

use crate::verdict::statistics::ReadingLateness;

/// Collects the reading lateness of responses.
#[derive(Default)]
pub(crate) struct ReadingCollector {
    /// Of first bytes, in nanoseconds.
    first_byte: Values<i64>,
    /// Response times of measured successful requests, in nanoseconds.
    response: Values<i64>,
    /// The same without the reading lateness of their last bytes.
    without: Values<i64>,
}

/// The reading lateness of measured responses.
pub(crate) struct MeasuredReading {
    first_byte: Sorted<i64>,
    response: Sorted<i64>,
    without: Sorted<i64>,
}

impl ReadingCollector {
    #[inline]
    pub(crate) fn add(&mut self, event: &Event) {
        if let Some(late) = event.reading_lateness {
            self.first_byte.add(late.0 as i64);
        }
        if event.outcome == Outcome::Ok
            && let (Some(late), Some(response)) = (event.done_lateness, event.response())
        {
            self.response.add(response.0);
            self.without.add(response.0 - late.0 as i64);
        }
    }

    pub(crate) fn finish(self) -> MeasuredReading {
        let Self { first_byte, response, without } = self;
        MeasuredReading { first_byte: first_byte.sorted(), response: response.sorted(), without: without.sorted() }
    }
}

impl MeasuredReading {
    /// The share of percentile `p` of the response times that late reading caused, as a fraction. `None` if nothing was
    /// measured.
    pub(crate) fn share(&self, p: f64) -> Option<f64> {
        let (with, without) = (self.response.quantile(p)? as f64, self.without.quantile(p)? as f64);
        Some(if with == 0.0 { 0.0 } else { (with - without) / with.abs() })
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
        assert_eq!(reading.share(0.5), Some(0.2));
        let lateness = reading.lateness().unwrap();
        assert_eq!((lateness.n, lateness.max_us), (200, 800_000.0));
        let nothing = ReadingCollector::default().finish();
        assert_eq!((nothing.share(0.5), nothing.lateness()), (None, None));
    }
}
