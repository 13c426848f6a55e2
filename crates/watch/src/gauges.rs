//! Thresholds as they stand: each with its own running figure.

use hdrhistogram::Histogram;
use offered_model::threshold::{Quantity, Statistic, Unit};
use offered_model::{Difference, Event, Nanos, Outcome, Threshold};
use offered_verify::{Checked, Object, page_response};

/// A threshold and the figure it is held against, so far.
pub(crate) struct Gauge {
    threshold: Threshold,
    /// Only events of this label; `None`: all.
    label: Option<u16>,
    /// Times of good answers, in nanoseconds, to three digits.
    times: Histogram<u64>,
    failed: u64,
    answered: u64,
    /// The labels of the requests that bring objects.
    pages: Vec<bool>,
}

impl Gauge {
    /// One for each threshold whose request there is, among the requests of these names, of which `pages` bring objects.
    pub(crate) fn all(thresholds: &[Threshold], labels: &[String], pages: &[String]) -> Vec<Self> {
        let pages: Vec<bool> = labels.iter().map(|label| pages.contains(label)).collect();
        let gauge = |threshold: &Threshold| {
            let label = match &threshold.metric.label {
                None => None,
                Some(label) => Some(labels.iter().position(|name| name == label)? as u16),
            };
            let times = Histogram::new(3).expect("three digits are few enough");
            Some(Self { threshold: threshold.clone(), label, times, failed: 0, answered: 0, pages: pages.clone() })
        };
        thresholds.iter().filter_map(gauge).collect()
    }

    /// Takes a launch that counts, with the objects that it brought.
    pub(crate) fn add(&mut self, event: &Event, objects: &[Object]) {
        if self.label.is_some_and(|label| label != event.label) {
            return;
        }
        let is_page = self.pages.get(usize::from(event.label)) == Some(&true);
        match self.threshold.metric.quantity {
            Quantity::Objects(_) | Quantity::ObjectsErrors => {
                for object in objects {
                    self.take(object.outcome, object.service);
                }
            }
            Quantity::Page(_) | Quantity::PageErrors if is_page => {
                self.take(event.outcome, page_response(event, objects));
            }
            Quantity::Page(_) | Quantity::PageErrors => {}
            Quantity::Lateness(_) if event.outcome == Outcome::Cut => {}
            Quantity::Lateness(_) => self.record(event.lateness()),
            Quantity::Service(_) | Quantity::ServiceOk(_) => self.take(event.outcome, event.service()),
            _ => self.take(event.outcome, event.response()),
        }
    }

    /// Takes what ended so, and was there after this time.
    fn take(&mut self, outcome: Outcome, time: Option<Difference>) {
        let errors = self.threshold.metric.quantity.unit() == Unit::Fraction;
        self.answered += u64::from(outcome.is_answer());
        match outcome {
            Outcome::Cut => {}
            // It might have gone well, though it never came back.
            Outcome::Unprocessed if errors => {}
            Outcome::Ok => self.record(time),
            _ => self.failed += 1,
        }
    }

    fn record(&mut self, time: Option<Difference>) {
        if let Some(time) = time {
            self.times.record(time.positive().0).expect("it grows as it must");
        }
    }

    /// The threshold as it stands after `elapsed` of the time that counts, where the launches that count came with this rate and
    /// CoV.
    pub(crate) fn checked(&self, elapsed: Nanos, rate_per_s: Option<f64>, cov: Option<f64>) -> Checked {
        let whole = |value: Option<f64>| value.filter(|_| self.label.is_none());
        let value = match self.threshold.metric.quantity {
            Quantity::Response(statistic)
            | Quantity::Service(statistic)
            | Quantity::Page(statistic)
            | Quantity::Objects(statistic) => self.time(statistic, self.failed),
            Quantity::ResponseOk(statistic) | Quantity::ServiceOk(statistic) | Quantity::Lateness(statistic) => {
                self.time(statistic, 0)
            }
            Quantity::ErrorsRate | Quantity::PageErrors | Quantity::ObjectsErrors => {
                let all = self.failed + self.times.len();
                (all > 0).then(|| self.failed as f64 / all as f64)
            }
            Quantity::ThroughputRate => (elapsed > Nanos::ZERO).then(|| self.answered as f64 / elapsed.as_secs_f64()),
            Quantity::ArrivalsRate => whole(rate_per_s),
            Quantity::ArrivalsCov => whole(cov),
        };
        Checked::as_it_stands(&self.threshold, value)
    }

    /// In seconds; the `failed` never came back, so a percentile among them is infinite.
    fn time(&self, statistic: Statistic, failed: u64) -> Option<f64> {
        let good = self.times.len();
        match statistic {
            Statistic::Percentile(p) => {
                let rank = (p / 100.0 * (good + failed) as f64).ceil().max(1.0);
                match good + failed {
                    0 => None,
                    _ if rank > good as f64 => Some(f64::INFINITY),
                    _ => Some(self.times.value_at_quantile(rank / good as f64) as f64 / 1e9),
                }
            }
            _ if good == 0 => (failed > 0).then_some(f64::INFINITY),
            Statistic::Mean => Some(self.times.mean() / 1e9),
            Statistic::Max => Some(self.times.max() as f64 / 1e9),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_model::Instant;
    use offered_verify::{Joined, Judgement};

    #[test]
    fn a_page_is_there_with_its_objects_or_not_at_all() {
        let labels = ["page".to_owned(), "plain".to_owned()];
        let figure = |text: &str| {
            let mut gauges = Gauge::all(&[text.parse().unwrap()], &labels, &labels[..1]);
            let mut joined = Joined::default();
            for i in 0..100u64 {
                let intended = Instant::from_millis(i);
                let at = |ms| Some(intended + Nanos::from_millis(ms));
                let page = Event { session: i, sent: at(0), done: at(10), outcome: Outcome::Ok, ..Event::at(intended) };
                let good = i % 10 != 0;
                let [object, outcome] = if good { [Outcome::Ok; 2] } else { [Outcome::Reset, Outcome::ObjectFailed] };
                let object = Event { object: 1, sent: at(10), done: at(30), outcome: object, ..page.clone() };
                for event in [object, Event { outcome, ..page.clone() }, Event { session: 100 + i, label: 1, ..page }] {
                    if let Some(objects) = joined.add(&event) {
                        gauges[0].add(&event, &objects);
                    }
                }
            }
            gauges[0].checked(Nanos::from_secs(10), None, None).value.unwrap()
        };
        let near = |value: f64, truth: f64| assert!((truth..=truth * 1.001).contains(&value), "{value}");
        near(figure("errors < 1%"), 0.05);
        near(figure("page.errors < 1%"), 0.1);
        near(figure("objects.errors < 1%"), 0.1);
        near(figure("page.p90 < 1s"), 0.03);
        near(figure("objects.p90 < 1s"), 0.02);
        assert_eq!(figure("page.p91 < 1s"), f64::INFINITY);
        assert_eq!(figure("objects.p91 < 1s"), f64::INFINITY);
    }

    #[test]
    fn what_failed_never_came_back() {
        let of = |text: &str, failed: usize| {
            let labels = ["home".to_owned(), "buy".to_owned()];
            let mut gauges = Gauge::all(&[text.parse().unwrap()], &labels, &[]);
            let gauge = &mut gauges[0];
            for i in 0..100usize {
                let at = Instant::from_millis(i as u64);
                let outcome = if i < failed { Outcome::HttpError } else { Outcome::Ok };
                let done = Some(at + Nanos::from_millis(10));
                gauge.add(&Event { sent: Some(at), done, outcome, label: (i % 2) as u16, ..Event::at(at) }, &[]);
            }
            let checked = gauge.checked(Nanos::from_secs(10), Some(99.0), Some(1.1));
            (checked.value.unwrap(), checked.judgement)
        };
        let near = |value: f64, truth: f64| (truth..=truth * 1.001).contains(&value);
        assert!(near(of("p99 < 20ms", 1).0, 0.010) && of("p99 < 20ms", 1).1 == Judgement::Holds);
        assert_eq!(of("p99 < 20ms", 2), (f64::INFINITY, Judgement::Fails));
        assert!(near(of("response.ok.p99 < 20ms", 2).0, 0.010));
        assert_eq!(of("errors{buy} < 5%", 10), (0.1, Judgement::Fails));
        assert_eq!(of("throughput > 1/s", 10), (10.0, Judgement::Holds));
        assert_eq!(of("arrivals.rate > 90/s", 0), (99.0, Judgement::Holds));
        assert!(Gauge::all(&["p99{nobody} < 1s".parse().unwrap()], &[], &[]).is_empty());
    }
}
