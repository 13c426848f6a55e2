//! The generator error: the effect of late sending on the measured response times.
//!
//! A run of `offered` records the scheduled and the sent time of every request, so the effect of a stall can be
//! computed. It has four components. For each reported percentile (p50, p95, p99), the share of the value that the
//! generator caused is at most their sum:
//!
//! * **Lateness.** Lateness is part of the response time. The share is (Q(response) - Q(service)) / Q(response), where
//!   Q is the percentile.
//! * **Late writing.** Between the instant of sending and the write that puts the request on the wire, the thread may wait, above all
//!   when it opens a connection. The share is (Q(service) - Q(service without that time)) / Q(response).
//! * **Bunching.** Requests that are sent together compete at the server. For each request, the requests in the window
//!   before it are counted; the window is as long as the median service time. The share is (Q(sent) - Q(scheduled)) /
//!   (1 + Q(scheduled)), where Q is the percentile of these counts for sent and for scheduled times. Because counts are
//!   integers, Q is smoothed over half the distance to the end on both sides. With processor sharing, response times
//!   grow in proportion to these counts.
//!
//! * **Late reading.** For responses whose reads were timestamped by the kernel, it is known how long the last byte
//!   waited for the generator. The share is (Q(w) - Q(w without that time)) / Q(response), of these responses, where w is the service time
//!   without late writing.
//!
//! The delays are subtracted one after another, so the sum is the effect of all delays together. If each delay were
//! subtracted from the whole response time, the sum would be too small: if 1 % of the requests are sent late and
//! another 1 % are read late, no single delay determines the p99.
//!
//! Streamed responses have further percentiles, with errors of their own ([`MetricError`]).
//!
//! Users of a closed system send when a response arrives, so their scheduled counts are unknown and only lateness, late
//! writing and late reading are measured. For the same reason only the first requests of sessions are counted for
//! bunching.
//!
//! The error rates of this method are measured in book/src/background/calibration.md.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use offered_stats::values::{Sorted, Values};

use crate::metric_error::{MetricError, NOTICEABLE_MS, PERCENTILES};
use crate::reading::{self, MeasuredReading};

/// The generator error of one percentile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PercentileError {
    /// The percentile: 50, 95 or 99.
    pub percentile: f64,
    /// The percentile of response times (done - scheduled) of successful requests.
    pub response_ms: f64,
    /// The percentile of service times (done - sent), that is, of response times without lateness.
    pub service_ms: f64,
    /// The percentile of response times if the requests that were not sent had been the slowest. `None` if all were sent, or if the
    /// percentile would be one of theirs.
    #[serde(default)]
    pub with_unsent_ms: Option<f64>,
    /// The share of lateness in the response time, as a fraction; negative if requests were sent early.
    pub lateness_share: f64,
    /// The relative increase of the number of requests sent close together, against the schedule, as a fraction;
    /// negative for a decrease. `None` in a closed system.
    pub bunching_share: Option<f64>,
    /// The share of the response time in which the response waited to be read, as a fraction. `None` if that was not measured.
    #[serde(default)]
    pub reading_share: Option<f64>,
    /// The share of the response time in which the request waited to be written after it was sent, as a fraction. `None` if that was not measured.
    #[serde(default)]
    pub writing_share: Option<f64>,
}

impl PercentileError {
    /// The largest share of the response time that the generator may have caused, as a fraction.
    pub fn upper_bound(&self) -> f64 {
        let others = [self.bunching_share, self.writing_share, self.reading_share];
        self.lateness_share.abs() + others.into_iter().flatten().map(f64::abs).sum::<f64>()
    }

    /// Whether the error exceeds a positive tolerance and is at least a millisecond.
    pub(crate) fn needs_warning(&self, tolerance: f64) -> bool {
        self.matters(self.upper_bound(), tolerance)
    }

    /// Whether late reading alone is such an error.
    pub(crate) fn is_read_late(&self, tolerance: f64) -> bool {
        self.reading_share.is_some_and(|share| self.matters(share.abs(), tolerance))
    }

    fn matters(&self, share: f64, tolerance: f64) -> bool {
        share * self.response_ms.abs() >= NOTICEABLE_MS && tolerance > 0.0 && share > tolerance
    }
}

/// The generator error of p50, p95 and p99 of the response times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GeneratorError {
    /// The length of the window in which requests are counted for bunching: the median service time.
    pub window_ms: f64,
    /// The tolerated share, as a fraction of the response time; 0 tolerates none.
    pub tolerance: f64,
    /// The errors of p50, p95 and p99, in this order.
    pub percentiles: Vec<PercentileError>,
    /// The errors of the percentiles of streamed responses; empty without such responses, or if they were not measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub streams: Vec<MetricError>,
}

impl GeneratorError {
    /// The percentile with the largest error.
    ///
    /// # Panics
    /// Never: there are always three percentiles.
    pub fn worst(&self) -> &PercentileError {
        self.percentiles
            .iter()
            .max_by(|a, b| a.upper_bound().total_cmp(&b.upper_bound()))
            .expect("shares of three figures")
    }

    /// The largest relative decrease and the largest relative increase of bunching, as fractions.
    pub(crate) fn bunching_range(&self) -> [f64; 2] {
        let largest = |sign: f64| {
            self.percentiles.iter().filter_map(|share| Some(sign * share.bunching_share?)).fold(0.0, f64::max)
        };
        [largest(-1.0), largest(1.0)]
    }

    /// Whether the error of every percentile is within the tolerance.
    pub fn is_within_tolerance(&self) -> bool {
        self.tolerance > 0.0 && self.worst().upper_bound() <= self.tolerance && self.worst_of_streams().is_none()
    }

    /// Whether the error of some percentile exceeds a positive tolerance.
    pub(crate) fn exceeds_tolerance(&self) -> bool {
        self.tolerance > 0.0 && !self.is_within_tolerance()
    }

    /// Whether the error of some percentile exceeds a positive tolerance and is at least a millisecond.
    pub fn needs_warning(&self) -> bool {
        self.percentiles.iter().any(|share| share.needs_warning(self.tolerance)) || self.worst_of_streams().is_some()
    }

    /// The largest error of the percentiles of streamed responses, as a share, if it exceeds a positive tolerance and is at least a
    /// millisecond.
    pub(crate) fn worst_of_streams(&self) -> Option<&MetricError> {
        MetricError::worst(&self.streams, self.tolerance).filter(|_| self.tolerance > 0.0)
    }

    /// The largest error of the percentiles of streamed responses, if it is larger than those of all response times.
    pub(crate) fn worst_if_of_streams(&self) -> Option<&MetricError> {
        self.worst_of_streams().filter(|worst| worst.share() > self.worst().upper_bound())
    }

    /// The largest error of all percentiles, as a fraction.
    pub(crate) fn largest_share(&self) -> f64 {
        self.worst_if_of_streams().map_or_else(|| self.worst().upper_bound(), MetricError::share)
    }

    /// The generator error for these response and service times of successful requests, these bunching counts, this lateness of writing and
    /// reading, these errors of streams, and `unsent` requests; `None` if none succeeded. With fewer than 100 of them the p99 is the maximum, so that the largest delay of a request counts.
    pub(crate) fn of(
        response: &Sorted<i64>,
        service: &Sorted<i64>,
        bunching: &BunchingCounts,
        reading: &MeasuredReading,
        streams: Vec<MetricError>,
        unsent: u64,
        tolerance: f64,
    ) -> Option<Self> {
        let of_all = 1.0 + unsent as f64 / response.len() as f64;
        let share = |p: f64| {
            let (with, without) = (response.quantile(p)?, service.quantile(p)?);
            let bunching = (!bunching.sent.is_empty()).then(|| {
                let (sent_count, expected) = (smoothed(&bunching.sent, p), smoothed(&bunching.scheduled, p));
                (sent_count - expected) / (1.0 + expected)
            });
            Some(PercentileError {
                percentile: p * 100.0,
                response_ms: with as f64 / 1e6,
                service_ms: without as f64 / 1e6,
                with_unsent_ms: response
                    .quantile(p * of_all)
                    .filter(|_| unsent > 0 && p * of_all < 1.0)
                    .map(|ns| ns as f64 / 1e6),
                lateness_share: reading::share(with - without, with),
                bunching_share: bunching,
                reading_share: reading.share(p),
                writing_share: reading.writing_share(p, with, without),
            })
        };
        let shares = PERCENTILES.iter().map(|p| share(*p)).collect::<Option<_>>()?;
        Some(Self { window_ms: bunching_window(service) as f64 / 1e6, tolerance, percentiles: shares, streams })
    }
}

/// The length of the window in which requests are counted for bunching, in nanoseconds: the median service time.
pub(crate) fn bunching_window(service: &Sorted<i64>) -> u64 {
    service.quantile(0.5).unwrap_or(0).max(1) as u64
}

/// For every request, the number of requests in the window before it, by sent and by scheduled times. Empty if unknown.
pub(crate) struct BunchingCounts {
    pub(crate) sent: Sorted,
    pub(crate) scheduled: Sorted,
}

/// Counts, for each request in order, the requests in the window before it.
pub(crate) struct BunchingCounter {
    window: u64,
    recent: VecDeque<u64>,
    counts: Values<u64>,
}

impl BunchingCounter {
    pub(crate) fn new(window: u64) -> Self {
        Self { window, recent: VecDeque::new(), counts: Values::default() }
    }

    /// Adds a request.
    #[inline]
    pub(crate) fn add(&mut self, at: u64) {
        while self.recent.front().is_some_and(|first| first.saturating_add(self.window) <= at) {
            self.recent.pop_front();
        }
        self.counts.add(self.recent.len() as u64);
        self.recent.push_back(at);
    }

    /// The counts, ascending.
    pub(crate) fn finish(self) -> Sorted {
        self.counts.sorted()
    }
}

/// The mean of the values between the quantiles p - h and p + h; h is half the distance from p to the nearer end. At
/// least four values are averaged, because counts are integers.
fn smoothed(sorted: &Sorted, p: f64) -> f64 {
    const MIN_VALUES: u64 = 4;
    let (n, half) = (sorted.len(), p.min(1.0 - p) / 2.0);
    let at = |p: f64| (p * n as f64) as u64;
    let (from, to) = (at(p - half), at(p + half));
    let missing = MIN_VALUES.saturating_sub(to - from);
    let to = (to + missing / 2).min(n);
    let from = from.min(to.saturating_sub(MIN_VALUES));
    sorted.mean_of_ranks(from..to.max((from + MIN_VALUES).min(n)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::ReadingCollector;
    use offered_base::{Instant, Nanos, Purpose, Seed};

    const MS: u64 = 1_000_000;

    /// Poisson requests at 300/s with this service time. Requests scheduled in the first `stall` of every `every`-th
    /// second are sent at the end of the stall.
    fn stalled(service: u64, stall: u64, every: u64) -> Vec<[u64; 3]> {
        let mut stream = Seed(7).stream(Purpose::Arrivals);
        let (mut at, second) = (0.0, 1_000_000_000);
        let mut requests = Vec::new();
        for _ in 0..30_000 {
            at += stream.exponential() / 300.0;
            let intended = (at * 1e9) as u64;
            let since = intended % (every * second);
            let sent = if since < stall { intended - since + stall } else { intended };
            requests.push([intended, sent, sent + service]);
        }
        requests
    }

    fn effect(times: &[[u64; 3]]) -> GeneratorError {
        of(times, times).unwrap()
    }

    /// The generator error of these responses, with the bunching of `launches`.
    fn of(responses: &[[u64; 3]], requests: &[[u64; 3]]) -> Option<GeneratorError> {
        let passed = |from: u64, to: u64| (Instant(to) - Instant(from)).0;
        let response =
            responses.iter().map(|[intended, _, done]| passed(*intended, *done)).collect::<Values<i64>>().sorted();
        let service = responses.iter().map(|[_, sent, done]| passed(*sent, *done)).collect::<Values<i64>>().sorted();
        let [meant, sent] = [0, 1].map(|which| {
            let mut at: Vec<u64> = requests.iter().map(|times| times[which]).collect();
            at.sort_unstable();
            let mut bunching = BunchingCounter::new(bunching_window(&service));
            for at in at {
                bunching.add(at);
            }
            bunching.finish()
        });
        let reading = ReadingCollector::default().finish();
        GeneratorError::of(
            &response,
            &service,
            &BunchingCounts { sent, scheduled: meant },
            &reading,
            Vec::new(),
            0,
            0.05,
        )
    }

    #[test]
    fn a_punctual_run_has_no_generator_error() {
        let effect = effect(&stalled(20 * MS, 0, 1));
        assert_eq!((effect.window_ms, effect.worst().upper_bound(), effect.is_within_tolerance()), (20.0, 0.0, true));
        assert!(!GeneratorError { tolerance: 0.0, ..effect }.is_within_tolerance(), "of nothing nothing is tolerated");
        assert_eq!(of(&[], &[]), None);
        // Of a few requests, the largest delay counts.
        let few = |i: u64| [100 * i * MS, (100 + 2) * i * MS, (102 * i + 2000) * MS];
        let few: Vec<[u64; 3]> = (0..20).map(few).collect();
        let worst = of(&few, &[]).unwrap().worst().lateness_share;
        assert!((worst - 38.0 / 2038.0).abs() < 1e-6, "{worst}");
    }

    #[test]
    fn requests_that_were_not_sent_may_have_been_the_slowest() {
        let response = (1..=1000).map(|ms| ms * MS as i64).collect::<Values<i64>>().sorted();
        let with = |unsent| {
            let nothing = BunchingCounts { sent: Values::default().sorted(), scheduled: Values::default().sorted() };
            let reading = ReadingCollector::default().finish();
            let error = GeneratorError::of(&response, &response, &nothing, &reading, Vec::new(), unsent, 0.05).unwrap();
            error.percentiles.iter().map(|of| (of.response_ms, of.with_unsent_ms)).collect::<Vec<_>>()
        };
        assert_eq!(with(0), [(500.0, None), (950.0, None), (990.0, None)]);
        assert_eq!(with(5), [(500.0, Some(503.0)), (950.0, Some(955.0)), (990.0, Some(995.0))]);
        // Of 1,011 requests the eleven slowest include the p99.
        assert_eq!(with(11)[2], (990.0, None));
    }

    #[test]
    fn stalls_matter_more_for_short_responses() {
        // A stall of 8.5 ms once a second is negligible for responses of 3.4 s and large for responses of 0.2 ms.
        let of = |service, stall, every| effect(&stalled(service, stall, every)).worst().upper_bound();
        assert!(of(3400 * MS, 17 * MS / 2, 1) < 0.01);
        assert!(of(MS / 5, 17 * MS / 2, 3) < 0.05, "one launch in 350");
        assert!(of(MS / 5, 40 * MS, 1) > 0.5, "one launch in twenty-five");
        assert!(of(20 * MS, 40 * MS, 1) > 0.1);
    }

    #[test]
    fn closed_systems_have_lateness_only() {
        let times = stalled(20 * MS, 40 * MS, 1);
        let closed = of(&times, &[]).unwrap();
        assert!(closed.needs_warning() && !GeneratorError { tolerance: 0.0, ..closed.clone() }.needs_warning());
        assert!(
            closed
                .percentiles
                .iter()
                .all(|share| share.bunching_share.is_none() && share.upper_bound() == share.lateness_share)
        );
        assert!(closed.worst().upper_bound() < effect(&times).worst().upper_bound());
    }

    #[test]
    fn delays_of_different_requests_add_up() {
        // Of a hundred requests one is sent 20 ms late, one waits 20 ms to be written, and one to be read; a server responds within 100 ms.
        let delay = |i: u64, which: u64| if i % 100 == which { 20 * MS } else { 0 };
        let events = (0..10_000u64).map(|i| {
            let [intended, late, writing, reading] = [10 * i * MS, delay(i, 0), delay(i, 30), delay(i, 60)];
            offered_events::Event {
                sent: Some(Instant(intended + late)),
                writing_lateness: Some(Nanos(writing)),
                done: Some(Instant(intended + late + writing + 100 * MS + reading)),
                done_lateness: Some(Nanos(reading)),
                outcome: offered_events::Outcome::Ok,
                ..offered_events::Event::at(Instant(intended))
            }
        });
        let mut collector = ReadingCollector::default();
        let (mut response, mut service) = (Values::default(), Values::default());
        for event in events {
            collector.add(&event);
            response.add(event.response().unwrap().0);
            service.add(event.service().unwrap().0);
        }
        let nothing = BunchingCounts { sent: Values::default().sorted(), scheduled: Values::default().sorted() };
        let (response, service) = (response.sorted(), service.sorted());
        let error =
            GeneratorError::of(&response, &service, &nothing, &collector.finish(), Vec::new(), 0, 0.05).unwrap();
        // No delay alone changes the p99, which all three increase from 100 to 120 ms.
        let p99 = error.percentiles[2];
        assert_eq!((p99.response_ms, p99.lateness_share), (120.0, 0.0));
        assert!((p99.upper_bound() - 20.0 / 120.0).abs() < 1e-9, "{p99:?}");
    }

    #[test]
    fn bunching_counts_requests_in_the_window_before() {
        let mut bunching = BunchingCounter::new(10);
        for at in [0, 5, 9, 10, 30] {
            bunching.add(at);
        }
        let sent_count = bunching.finish();
        assert_eq!(sent_count.ascending().map(|(sent_count, _)| sent_count).collect::<Vec<_>>(), [0, 0, 1, 2, 2]);
        let sorted = [0, 0, 1, 2, 2, 2, 3, 9].into_iter().collect::<Values<u64>>().sorted();
        assert_eq!(smoothed(&sorted, 0.5), 7.0 / 4.0);
    }
}
