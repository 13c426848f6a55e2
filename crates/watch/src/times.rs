//! Histograms of response times and lateness: of the whole run, and of the last seconds.

use hdrhistogram::Histogram;
use offered_base::Instant;
use offered_events::{Event, Outcome};
use offered_stats::summary::quantile_at;

use crate::snapshot::{HistogramBin, LatenessPercentiles, ResponsePercentiles};

/// Number of bins of [`Times::histogram`] per decade.
const BINS_PER_DECADE: f64 = 4.0;
/// The length of the recent past in seconds.
pub(crate) const RECENT: u64 = 10;

/// Times of events in ns, with three significant digits: response times of successful requests, lateness of all requests. Lateness is never
/// negative, because the generator never sends early.
#[derive(Clone, Debug)]
pub(crate) struct Times {
    response: Histogram<u64>,
    lateness: Histogram<u64>,
    completed: u64,
}

impl Default for Times {
    fn default() -> Self {
        let histogram = Histogram::new(3).expect("three digits are allowed");
        Self { response: histogram.clone(), lateness: histogram, completed: 0 }
    }
}

impl Times {
    pub(crate) fn add(&mut self, event: &Event) {
        self.completed += u64::from(event.outcome.is_response());
        let response = event.response().filter(|_| event.outcome == Outcome::Ok);
        for (histogram, time) in [(&mut self.response, response), (&mut self.lateness, event.lateness())] {
            if let Some(time) = time {
                histogram.record(time.positive().0).expect("the histogram resizes itself");
            }
        }
    }

    fn merge(&mut self, other: &Self) {
        for (ours, theirs) in [(&mut self.response, &other.response), (&mut self.lateness, &other.lateness)] {
            ours.add(theirs).expect("the histogram resizes itself");
        }
        self.completed += other.completed;
    }

    fn clear(&mut self) {
        self.response.reset();
        self.lateness.reset();
        self.completed = 0;
    }

    /// Number of complete responses, successful or not.
    pub(crate) fn completed(&self) -> u64 {
        self.completed
    }

    /// Histogram of response times, with equal bins on a logarithmic scale, from the first to the last non-empty bin.
    pub(crate) fn histogram(&self) -> Vec<HistogramBin> {
        let (Some(low), Some(high)) = (self.response.iter_recorded().next(), self.response.iter_recorded().last())
        else {
            return Vec::new();
        };
        let place = |ns: u64| ((ns.max(1) as f64).log10() * BINS_PER_DECADE) as usize;
        let edge = |place: usize| 10f64.powf(place as f64 / BINS_PER_DECADE) / 1e6;
        let first = place(low.value_iterated_to());
        let mut bins: Vec<HistogramBin> = (first..=place(high.value_iterated_to()))
            .map(|place| HistogramBin { from_ms: edge(place), to_ms: edge(place + 1), count: 0 })
            .collect();
        for value in self.response.iter_recorded() {
            bins[place(value.value_iterated_to()) - first].count += value.count_at_value();
        }
        bins
    }

    pub(crate) fn response(&self) -> Option<ResponsePercentiles> {
        percentiles(&self.response)
    }

    pub(crate) fn lateness(&self) -> Option<LatenessPercentiles> {
        let at = |p| quantile(&self.lateness, p) as f64 / 1e3;
        (!self.lateness.is_empty()).then(|| LatenessPercentiles { p50_us: at(0.5), p99_us: at(0.99) })
    }
}

/// The quantile as in the result of the run: the value of rank [`quantile_at`]. The histogram must not be empty.
fn quantile(histogram: &Histogram<u64>, p: f64) -> u64 {
    value_at(histogram, quantile_at(histogram.len(), p))
}

/// The value of this rank, from 0: the middle of its bin, at most 0.05 % from it.
pub(crate) fn value_at(histogram: &Histogram<u64>, rank: u64) -> u64 {
    // The histogram rounds ranks up; half a rank cannot be rounded to a neighbour.
    let highest = histogram.value_at_quantile((rank as f64 + 0.5) / histogram.len() as f64);
    histogram.median_equivalent(highest).min(histogram.max())
}

fn percentiles(histogram: &Histogram<u64>) -> Option<ResponsePercentiles> {
    let at = |p| quantile(histogram, p) as f64 / 1e6;
    (!histogram.is_empty()).then(|| ResponsePercentiles {
        p50_ms: at(0.5),
        p95_ms: at(0.95),
        p99_ms: at(0.99),
        max_ms: histogram.max() as f64 / 1e6,
    })
}

/// Service times of successful requests in ns, with three significant digits.
pub(crate) struct Services(Histogram<u64>);

impl Default for Services {
    fn default() -> Self {
        Self(Histogram::new(3).expect("three digits are allowed"))
    }
}

impl Services {
    pub(crate) fn add(&mut self, event: &Event) {
        if let Some(service) = event.service().filter(|_| event.outcome == Outcome::Ok) {
            self.0.record(service.positive().0).expect("the histogram resizes itself");
        }
    }

    pub(crate) fn percentiles(&self) -> Option<ResponsePercentiles> {
        percentiles(&self.0)
    }
}

/// The times of events that ended in the last seconds: a ring with one cell per second.
#[derive(Debug)]
pub(crate) struct Ring {
    cells: Vec<Cell>,
}

#[derive(Clone, Debug, Default)]
struct Cell {
    second: u64,
    times: Times,
}

impl Default for Ring {
    fn default() -> Self {
        // One more than reported: the current second is incomplete.
        Self { cells: vec![Cell::default(); RECENT as usize + 1] }
    }
}

impl Ring {
    /// Adds an event, unless it ended too long ago.
    pub(crate) fn add(&mut self, event: &Event) {
        let second = second(event.done.unwrap_or(event.intended));
        let place = second as usize % self.cells.len();
        let cell = &mut self.cells[place];
        if cell.second < second {
            cell.second = second;
            cell.times.clear();
        }
        if cell.second == second {
            cell.times.add(event);
        }
    }

    /// The times of events that ended in the last seconds before `now`, including the current second.
    pub(crate) fn recent(&self, now: Instant) -> Times {
        let mut all = Times::default();
        for cell in self.cells.iter().filter(|cell| cell.second + RECENT >= second(now)) {
            all.merge(&cell.times);
        }
        all
    }
}

fn second(instant: Instant) -> u64 {
    instant.0 / 1_000_000_000
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_base::Nanos;

    /// Scheduled 1 us before it was sent, done after `response`.
    fn event(done: Instant, response: Nanos) -> Event {
        let intended = done.earlier(response);
        let sent = Some(intended + Nanos::from_micros(1));
        Event { sent, done: Some(done), outcome: Outcome::Ok, ..Event::at(intended) }
    }

    fn near(value: f64, truth: f64) -> bool {
        (value / truth - 1.0).abs() < 0.001
    }

    #[test]
    fn percentiles_are_exact_to_three_digits() {
        let mut times = Times::default();
        assert_eq!((times.response(), times.lateness()), (None, None));
        for i in 1..=1000 {
            times.add(&event(Instant::from_secs(10), Nanos::from_millis(i)));
        }
        times.add(&Event::at(Instant::ZERO)); // not sent, so without times
        let failed = event(Instant::from_secs(10), Nanos::from_micros(2));
        times.add(&Event { outcome: Outcome::HttpError, ..failed }); // a response, but not a successful one
        assert_eq!(times.completed(), 1001);
        let bins = times.histogram();
        assert_eq!(bins.iter().map(|bin| bin.count).sum::<u64>(), 1000);
        assert!(bins[0].from_ms <= 1.0 && bins[bins.len() - 1].to_ms >= 1000.0 && bins.len() == 13, "{bins:?}");
        let (response, lateness) = (times.response().unwrap(), times.lateness().unwrap());
        assert!(
            near(response.p50_ms, 500.0) && near(response.p95_ms, 950.0) && near(response.p99_ms, 990.0),
            "{response:?}"
        );
        assert!(near(lateness.p50_us, 1.0) && near(lateness.p99_us, 1.0), "{lateness:?}");
    }

    #[test]
    fn quantiles_are_those_of_the_result() {
        let mut chance = 1u64;
        let mut drawn = || {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            10_000 + (chance >> 33) % 500_000_000
        };
        for n in [1, 2, 3, 19, 20, 100, 997] {
            let mut values: Vec<u64> = (0..n).map(|_| drawn()).collect();
            let mut histogram = Histogram::<u64>::new(3).unwrap();
            for value in &values {
                histogram.record(*value).unwrap();
            }
            values.sort_unstable();
            for p in [0.01, 0.5, 0.9, 0.95, 0.99, 0.999] {
                let (live, result) = (quantile(&histogram, p), offered_stats::summary::quantile(&values, p));
                assert!((live as f64 / result as f64 - 1.0).abs() < 0.0006, "{n} values, {p}: {live} is not {result}");
            }
        }
    }

    #[test]
    fn earlier_events_are_dropped() {
        let mut ring = Ring::default();
        let slow = |s| event(Instant::from_secs(s), Nanos::from_millis(100));
        let quick = |s| event(Instant::from_secs(s), Nanos::from_millis(1));
        ring.add(&slow(5));
        (6..=15).for_each(|s| ring.add(&quick(s)));
        assert!(near(ring.recent(Instant::from_secs(15)).response().unwrap().p99_ms, 100.0));
        assert!(near(ring.recent(Instant::from_secs(16)).response().unwrap().p99_ms, 1.0));
        (16..=18).for_each(|s| ring.add(&quick(s)));
        ring.add(&slow(4)); // its cell is that of second 15
        assert!(near(ring.recent(Instant::from_secs(18)).response().unwrap().p99_ms, 1.0));
        assert_eq!(ring.recent(Instant::from_secs(60)).response(), None);
    }
}
