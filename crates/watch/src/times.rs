//! Response and lateness in histograms: of all, and of the last seconds.

use hdrhistogram::Histogram;
use offered_model::{Event, Instant, Outcome};

use crate::pulse::{Bar, Lateness, Response};

/// Cells of [`Times::bars`] per decade.
const PER_DECADE: f64 = 4.0;
/// The last seconds are so many.
pub(crate) const RECENT: u64 = 10;

/// Times of events, in nanoseconds, to three digits: the response of good answers, the lateness of all launches. A histogram has
/// no place below zero, and a generator never launches before the instant it was meant to.
#[derive(Clone, Debug)]
pub(crate) struct Times {
    response: Histogram<u64>,
    lateness: Histogram<u64>,
    answered: u64,
}

impl Default for Times {
    fn default() -> Self {
        let histogram = Histogram::new(3).expect("three digits are few enough");
        Self { response: histogram.clone(), lateness: histogram, answered: 0 }
    }
}

impl Times {
    pub(crate) fn add(&mut self, event: &Event) {
        self.answered += u64::from(event.outcome.is_answer());
        let response = event.response().filter(|_| event.outcome == Outcome::Ok);
        for (histogram, time) in [(&mut self.response, response), (&mut self.lateness, event.lateness())] {
            if let Some(time) = time {
                histogram.record(time.positive().0).expect("it grows as it must");
            }
        }
    }

    fn merge(&mut self, other: &Self) {
        for (ours, theirs) in [(&mut self.response, &other.response), (&mut self.lateness, &other.lateness)] {
            ours.add(theirs).expect("it grows as it must");
        }
        self.answered += other.answered;
    }

    fn clear(&mut self) {
        self.response.reset();
        self.lateness.reset();
        self.answered = 0;
    }

    /// How many complete answers came, good and bad.
    pub(crate) fn answered(&self) -> u64 {
        self.answered
    }

    /// How the responses are spread: cells of half a decade and more, as many as hold something and those between.
    pub(crate) fn bars(&self) -> Vec<Bar> {
        let (Some(low), Some(high)) = (self.response.iter_recorded().next(), self.response.iter_recorded().last())
        else {
            return Vec::new();
        };
        let place = |ns: u64| ((ns.max(1) as f64).log10() * PER_DECADE) as usize;
        let edge = |place: usize| 10f64.powf(place as f64 / PER_DECADE) / 1e6;
        let first = place(low.value_iterated_to());
        let mut bars: Vec<Bar> = (first..=place(high.value_iterated_to()))
            .map(|place| Bar { from_ms: edge(place), to_ms: edge(place + 1), n: 0 })
            .collect();
        for value in self.response.iter_recorded() {
            bars[place(value.value_iterated_to()) - first].n += value.count_at_value();
        }
        bars
    }

    pub(crate) fn response(&self) -> Option<Response> {
        percentiles(&self.response)
    }

    pub(crate) fn lateness(&self) -> Option<Lateness> {
        let at = |p| self.lateness.value_at_quantile(p) as f64 / 1e3;
        (!self.lateness.is_empty()).then(|| Lateness { p50: at(0.5), p99: at(0.99) })
    }
}

fn percentiles(histogram: &Histogram<u64>) -> Option<Response> {
    let at = |p| histogram.value_at_quantile(p) as f64 / 1e6;
    (!histogram.is_empty()).then(|| Response {
        p50: at(0.5),
        p95: at(0.95),
        p99: at(0.99),
        max: histogram.max() as f64 / 1e6,
    })
}

/// The time from sending to a good answer, in nanoseconds, to three digits.
pub(crate) struct Services(Histogram<u64>);

impl Default for Services {
    fn default() -> Self {
        Self(Histogram::new(3).expect("three digits are few enough"))
    }
}

impl Services {
    pub(crate) fn add(&mut self, event: &Event) {
        if let Some(service) = event.service().filter(|_| event.outcome == Outcome::Ok) {
            self.0.record(service.positive().0).expect("it grows as it must");
        }
    }

    pub(crate) fn percentiles(&self) -> Option<Response> {
        percentiles(&self.0)
    }
}

/// The times of what ended in each of the last seconds: a ring, one cell a second.
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
        // One more than are shown: the second under way.
        Self { cells: vec![Cell::default(); RECENT as usize + 1] }
    }
}

impl Ring {
    /// Takes an event, unless the second in which it ended is long gone.
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

    /// What ended in the last seconds before `now`, the one under way included.
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
    use offered_model::Nanos;

    /// Meant for 1 us before it was sent, done after `response`.
    fn event(done: Instant, response: Nanos) -> Event {
        let intended = done.earlier(response);
        let sent = Some(intended + Nanos::from_micros(1));
        Event { sent, done: Some(done), outcome: Outcome::Ok, ..Event::at(intended) }
    }

    fn near(value: f64, truth: f64) -> bool {
        (truth..=truth * 1.001).contains(&value)
    }

    #[test]
    fn percentiles_are_those_of_the_sample_to_three_digits() {
        let mut times = Times::default();
        assert_eq!((times.response(), times.lateness()), (None, None));
        for i in 1..=1000 {
            times.add(&event(Instant::from_secs(10), Nanos::from_millis(i)));
        }
        times.add(&Event::at(Instant::ZERO)); // never sent, took no time
        let failed = event(Instant::from_secs(10), Nanos::from_micros(2));
        times.add(&Event { outcome: Outcome::HttpError, ..failed }); // an answer, and not a good one
        assert_eq!(times.answered(), 1001);
        let bars = times.bars();
        assert_eq!(bars.iter().map(|bar| bar.n).sum::<u64>(), 1000);
        assert!(bars[0].from_ms <= 1.0 && bars[bars.len() - 1].to_ms >= 1000.0 && bars.len() == 13, "{bars:?}");
        let (response, lateness) = (times.response().unwrap(), times.lateness().unwrap());
        assert!(near(response.p50, 500.0) && near(response.p95, 950.0) && near(response.p99, 990.0), "{response:?}");
        assert!(near(lateness.p50, 1.0) && near(lateness.p99, 1.0), "{lateness:?}");
    }

    #[test]
    fn the_last_seconds_forget_what_came_before() {
        let mut ring = Ring::default();
        let slow = |s| event(Instant::from_secs(s), Nanos::from_millis(100));
        let quick = |s| event(Instant::from_secs(s), Nanos::from_millis(1));
        ring.add(&slow(5));
        (6..=15).for_each(|s| ring.add(&quick(s)));
        assert!(near(ring.recent(Instant::from_secs(15)).response().unwrap().p99, 100.0));
        assert!(near(ring.recent(Instant::from_secs(16)).response().unwrap().p99, 1.0));
        (16..=18).for_each(|s| ring.add(&quick(s)));
        ring.add(&slow(4)); // its cell is that of second 15
        assert!(near(ring.recent(Instant::from_secs(18)).response().unwrap().p99, 1.0));
        assert_eq!(ring.recent(Instant::from_secs(60)).response(), None);
    }
}
