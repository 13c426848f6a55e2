//! Interim results of thresholds, each with its own running statistic.

use std::sync::Arc;

use hdrhistogram::Histogram;
use offered_base::{Difference, Nanos};
use offered_events::{Event, Outcome};
use offered_schedule::Flows;
use offered_stats::summary::quantile_at;
use offered_verify::{Object, ThresholdResult, VisitRecord, check_outcomes, page_response, token_metrics};
use offered_workload::threshold::{Metric, Quantity, Statistic, Unit};
use offered_workload::{Goodput, Group, Threshold};

use crate::times::value_at;

/// A threshold and its statistic so far.
pub(crate) struct ThresholdTracker {
    threshold: Threshold,
    /// Only events with this label; `None`: all events.
    label: Option<u16>,
    /// Only events of this step of the flows; `None`: all events.
    step: Option<usize>,
    flows: Option<Arc<Flows>>,
    /// Times of successful responses in ns, or numbers of a metric in millionths, with three significant digits.
    times: Histogram<u64>,
    /// Numbers of a metric below zero, without their sign.
    negative: Histogram<u64>,
    failed: u64,
    completed: u64,
    /// Number of sent requests, and of their attempts.
    sent: u64,
    attempts: u64,
    /// Number of output tokens, and of requests within these limits.
    tokens: u64,
    good: u64,
    goodput: Option<Goodput>,
    /// Whether each label is a page, that is, a request with objects.
    pages: Vec<bool>,
    /// The names of the checks of each label.
    checks: Vec<Vec<String>>,
    /// The names of the metrics of each label.
    metrics: Vec<Vec<String>>,
}

impl ThresholdTracker {
    /// Creates a tracker for each threshold, except thresholds on unknown requests and on scenarios. `labels` are all requests, `pages` those
    /// with objects, `checks` and `metrics` the names of the checks and metrics of those that have any.
    pub(crate) fn all(
        thresholds: &[Threshold],
        labels: &[String],
        pages: &[String],
        [checks, metrics]: [&[(String, Vec<String>)]; 2],
        goodput: Option<Goodput>,
        flows: Option<&Arc<Flows>>,
    ) -> Vec<Self> {
        let pages: Vec<bool> = labels.iter().map(|label| pages.contains(label)).collect();
        let [checks, metrics] = [checks, metrics].map(|names| -> Vec<Vec<String>> {
            let of = |label| names.iter().find(|(name, _)| name == label).map_or_else(Vec::new, |(_, all)| all.clone());
            labels.iter().map(of).collect()
        });
        let tracker = |threshold: &Threshold| {
            let Metric { quantity, label } = &threshold.metric;
            let is_flow = |label: &String| {
                flows.is_some_and(|flows| flows.flows().iter().any(|flow| flow.name == *label)).then_some((None, None))
            };
            let (label, step) = match label {
                None => (None, None),
                Some(_) if matches!(quantity, Quantity::ChecksFailed | Quantity::Metric(_)) => (None, None),
                Some(label) if quantity.is_of_visits() => is_flow(label)?,
                Some(_) if quantity.is_of_groups() => (None, None),
                Some(label) => match labels.iter().position(|name| name == label) {
                    Some(number) => (Some(number as u16), None),
                    None => (None, Some(flows?.step_names().iter().position(|name| name == label)?)),
                },
            };
            let [times, negative] = [(); 2].map(|()| Histogram::new(3).expect("three digits are allowed"));
            let (threshold, pages, checks) = (threshold.clone(), pages.clone(), checks.clone());
            let metrics = metrics.clone();
            Some(Self {
                threshold,
                label,
                step,
                flows: flows.cloned(),
                times,
                negative,
                failed: 0,
                completed: 0,
                sent: 0,
                attempts: 0,
                tokens: 0,
                good: 0,
                goodput,
                pages,
                checks,
                metrics,
            })
        };
        thresholds.iter().filter_map(tracker).collect()
    }

    /// Adds a request inside the analysed time, with its objects.
    pub(crate) fn add(&mut self, event: &Event, objects: &[Object]) {
        let step = || self.flows.as_ref()?.step_number(event.visit?.place);
        let is_other = self.label.is_some_and(|label| label != event.label);
        if is_other || self.step.is_some_and(|of| step() != Some(of)) {
            return;
        }
        let is_page = self.pages.get(usize::from(event.label)) == Some(&true);
        match self.threshold.metric.quantity {
            Quantity::Objects(_) | Quantity::ObjectsErrors => {
                for object in objects {
                    self.add_outcome(object.outcome, object.service);
                }
            }
            Quantity::Page(_) | Quantity::PageErrors if is_page => {
                self.add_outcome(event.outcome, page_response(event, objects));
            }
            Quantity::Page(_) | Quantity::PageErrors => {}
            quantity if quantity.is_of_visits() || quantity.is_of_groups() => {}
            Quantity::Metric(_) => {
                let names = self.metrics.get(usize::from(event.label)).map_or(&[][..], Vec::as_slice);
                let values = event.metrics.as_deref().unwrap_or_default();
                let wanted =
                    names.iter().zip(values).filter(|(name, _)| Some(*name) == self.threshold.metric.label.as_ref());
                for value in wanted.filter_map(|(_, value)| value.get()) {
                    let histogram = if value < 0.0 { &mut self.negative } else { &mut self.times };
                    let millionths = (1e6 * value.abs()).round() as u64;
                    histogram.record(millionths.min(i64::MAX as u64)).expect("the histogram resizes itself");
                }
            }
            Quantity::ChecksFailed => {
                let names = self.checks.get(usize::from(event.label)).map_or(&[][..], Vec::as_slice);
                let name = self.threshold.metric.label.as_deref();
                let outcomes: Vec<Outcome> = check_outcomes(event, names, name).collect();
                for outcome in outcomes {
                    self.add_outcome(outcome, event.service());
                }
            }
            Quantity::Lateness(_) if event.outcome == Outcome::Cut => {}
            Quantity::Lateness(_) => self.record(event.lateness()),
            Quantity::AttemptsPerRequest => {
                self.sent += u64::from(event.sent.is_some());
                self.attempts += event.sent.map_or(0, |_| 1 + u64::from(event.retries));
            }
            Quantity::Ttft(_) => self.add_outcome(event.outcome, token_metrics::time_to_first_token(event)),
            Quantity::Tpot(_) => self.add_outcome(event.outcome, token_metrics::time_per_token(event)),
            Quantity::Gap(_) | Quantity::Itl(_) if event.outcome != Outcome::Ok => {}
            Quantity::Gap(_) => token_metrics::gaps(event).for_each(|gap| self.record(Some(gap))),
            Quantity::Itl(_) => token_metrics::token_gaps(event).for_each(|gap| self.record(Some(gap))),
            Quantity::TokensRate => {
                let stream = event.stream.as_ref().filter(|_| event.outcome == Outcome::Ok);
                self.tokens += stream.and_then(|stream| stream.tokens_out).unwrap_or(0);
            }
            Quantity::GoodputRate | Quantity::GoodputShare => {
                self.good += u64::from(token_metrics::is_good(event, self.goodput.unwrap_or_default()));
                self.add_outcome(event.outcome, event.response());
            }
            Quantity::Service(_) | Quantity::ServiceOk(_) => self.add_outcome(event.outcome, event.service()),
            _ => self.add_outcome(event.outcome, event.response()),
        }
    }

    /// Adds a visit or one of these groups, which began inside the analysed time.
    pub(crate) fn add_visit(&mut self, visit: &VisitRecord, groups: &[Group]) {
        let Metric { quantity, label } = &self.threshold.metric;
        let time = match (quantity, visit.group) {
            (Quantity::Visit(_) | Quantity::VisitsSuccess, None) => visit.response,
            (Quantity::Group(_) | Quantity::GroupsSuccess, Some(_)) => visit.response,
            (Quantity::VisitDuration(_), None) | (Quantity::GroupDuration(_), Some(_)) => visit.duration,
            _ => return,
        };
        let name = match visit.group {
            Some(group) => groups.get(group).map(|group| &group.name),
            None => self.flows.as_ref().and_then(|flows| flows.flow_at(visit.place)).map(|flow| &flow.name),
        };
        if label.is_none() || name == label.as_ref() {
            self.add_outcome(visit.outcome, Some(time));
        }
    }

    /// Adds an outcome, and the time it took.
    fn add_outcome(&mut self, outcome: Outcome, time: Option<Difference>) {
        let errors = self.threshold.metric.quantity.unit() == Unit::Fraction;
        self.completed += u64::from(outcome.is_response());
        match outcome {
            Outcome::Cut => {}
            // It might have succeeded, although there was no response.
            Outcome::Unprocessed if errors => {}
            Outcome::Ok => self.record(time),
            _ => self.failed += 1,
        }
    }

    fn record(&mut self, time: Option<Difference>) {
        if let Some(time) = time {
            self.times.record(time.positive().0).expect("the histogram resizes itself");
        }
    }

    /// The interim result after `elapsed` of the analysed time. `rate_per_s` and `cov` are those of the sent requests in that
    /// time.
    pub(crate) fn result(&self, elapsed: Nanos, rate_per_s: Option<f64>, cov: Option<f64>) -> ThresholdResult {
        let whole = |value: Option<f64>| value.filter(|_| self.label.is_none());
        let per_s = |n: u64| (elapsed > Nanos::ZERO).then(|| n as f64 / elapsed.as_secs_f64());
        let all = self.failed + self.times.len();
        let share = |n: u64| (all > 0).then(|| n as f64 / all as f64);
        let value = match self.threshold.metric.quantity {
            Quantity::Response(statistic)
            | Quantity::Service(statistic)
            | Quantity::Page(statistic)
            | Quantity::Objects(statistic)
            | Quantity::Visit(statistic)
            | Quantity::VisitDuration(statistic)
            | Quantity::Group(statistic)
            | Quantity::GroupDuration(statistic)
            | Quantity::Ttft(statistic)
            | Quantity::Tpot(statistic)
            | Quantity::Gap(statistic)
            | Quantity::Itl(statistic) => self.time(statistic, self.failed),
            Quantity::Metric(statistic) => self.number(statistic),
            Quantity::ResponseOk(statistic) | Quantity::ServiceOk(statistic) | Quantity::Lateness(statistic) => {
                self.time(statistic, 0)
            }
            Quantity::ErrorsRate | Quantity::PageErrors | Quantity::ObjectsErrors | Quantity::ChecksFailed => {
                share(self.failed)
            }
            Quantity::VisitsSuccess | Quantity::GroupsSuccess => share(self.times.len()),
            Quantity::ThroughputRate => per_s(self.completed),
            Quantity::TokensRate => per_s(self.tokens),
            Quantity::GoodputRate => per_s(self.good),
            Quantity::GoodputShare => share(self.good),
            Quantity::AttemptsPerRequest => (self.sent > 0).then(|| self.attempts as f64 / self.sent as f64),
            Quantity::ArrivalsRate => whole(rate_per_s),
            Quantity::ArrivalsCov => whole(cov),
        };
        ThresholdResult::check_interim(&self.threshold, value)
    }

    /// The statistic in seconds. Failed requests count as infinitely long.
    fn time(&self, statistic: Statistic, failed: u64) -> Option<f64> {
        let good = self.times.len();
        match statistic {
            Statistic::Percentile(p) => {
                let rank = (good + failed > 0).then(|| quantile_at(good + failed, p / 100.0))?;
                Some(if rank < good { value_at(&self.times, rank) as f64 / 1e9 } else { f64::INFINITY })
            }
            _ if good == 0 => (failed > 0).then_some(f64::INFINITY),
            Statistic::Mean => Some(self.times.mean() / 1e9),
            Statistic::Max => Some(self.times.max() as f64 / 1e9),
        }
    }

    /// The statistic of the numbers of a metric, in its unit.
    fn number(&self, statistic: Statistic) -> Option<f64> {
        let (below, others) = (self.negative.len(), self.times.len());
        let all = below + others;
        let millionths = match statistic {
            _ if all == 0 => return None,
            Statistic::Percentile(p) => match quantile_at(all, p / 100.0) {
                rank if rank < below => -(value_at(&self.negative, below - 1 - rank) as f64),
                rank => value_at(&self.times, rank - below) as f64,
            },
            Statistic::Mean => (self.times.mean() * others as f64 - self.negative.mean() * below as f64) / all as f64,
            Statistic::Max if others == 0 => -(self.negative.min() as f64),
            Statistic::Max => self.times.max() as f64,
        };
        Some(millionths / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_base::Instant;
    use offered_events::MetricValue;
    use offered_verify::{CheckResult, ObjectJoiner};

    #[test]
    fn a_page_counts_with_its_objects_or_as_failed() {
        let labels = ["page".to_owned(), "plain".to_owned()];
        let value_of = |text: &str| {
            let mut trackers =
                ThresholdTracker::all(&[text.parse().unwrap()], &labels, &labels[..1], [&[], &[]], None, None);
            let mut joined = ObjectJoiner::default();
            for i in 0..100u64 {
                let intended = Instant::from_millis(i);
                let at = |ms| Some(intended + Nanos::from_millis(ms));
                let page = Event { session: i, sent: at(0), done: at(10), outcome: Outcome::Ok, ..Event::at(intended) };
                let good = i % 10 != 0;
                let [object, outcome] = if good { [Outcome::Ok; 2] } else { [Outcome::Reset, Outcome::ObjectFailed] };
                let object = Event { object: 1, sent: at(10), done: at(30), outcome: object, ..page.clone() };
                for event in [object, Event { outcome, ..page.clone() }, Event { session: 100 + i, label: 1, ..page }] {
                    if let Some(objects) = joined.add(&event) {
                        trackers[0].add(&event, &objects);
                    }
                }
            }
            trackers[0].result(Nanos::from_secs(10), None, None).value.unwrap()
        };
        let near = |value: f64, truth: f64| assert!((value / truth - 1.0).abs() < 0.001, "{value}");
        near(value_of("errors < 1%"), 0.05);
        near(value_of("page.errors < 1%"), 0.1);
        near(value_of("objects.errors < 1%"), 0.1);
        near(value_of("page.p90 < 1s"), 0.03);
        near(value_of("objects.p90 < 1s"), 0.02);
        assert_eq!(value_of("page.p91 < 1s"), f64::INFINITY);
        assert_eq!(value_of("objects.p91 < 1s"), f64::INFINITY);
    }

    #[test]
    fn failed_requests_count_as_infinitely_long() {
        let of = |text: &str, failed: usize| {
            let labels = ["home".to_owned(), "buy".to_owned()];
            let mut trackers = ThresholdTracker::all(&[text.parse().unwrap()], &labels, &[], [&[], &[]], None, None);
            let tracker = &mut trackers[0];
            for i in 0..100usize {
                let at = Instant::from_millis(i as u64);
                let outcome = if i < failed { Outcome::HttpError } else { Outcome::Ok };
                let done = Some(at + Nanos::from_millis(10));
                tracker.add(&Event { sent: Some(at), done, outcome, label: (i % 2) as u16, ..Event::at(at) }, &[]);
            }
            let result = tracker.result(Nanos::from_secs(10), Some(99.0), Some(1.1));
            (result.value.unwrap(), result.result)
        };
        let near = |value: f64, truth: f64| (value / truth - 1.0).abs() < 0.001;
        assert!(near(of("p99 < 20ms", 1).0, 0.010) && of("p99 < 20ms", 1).1 == CheckResult::Passed);
        assert_eq!(of("p99 < 20ms", 2), (f64::INFINITY, CheckResult::Failed));
        assert!(near(of("response.ok.p99 < 20ms", 2).0, 0.010));
        assert_eq!(of("errors{buy} < 5%", 10), (0.1, CheckResult::Failed));
        assert_eq!(of("throughput > 1/s", 10), (10.0, CheckResult::Passed));
        assert_eq!(of("arrivals.rate > 90/s", 0), (99.0, CheckResult::Passed));
        assert!(
            ThresholdTracker::all(&["p99{unknown} < 1s".parse().unwrap()], &[], &[], [&[], &[]], None, None).is_empty()
        );
    }

    #[test]
    fn numbers_of_a_metric_may_be_negative_or_large() {
        let (labels, metrics) = (["a".to_owned()], [("a".to_owned(), vec!["x".to_owned(), "y".to_owned()])]);
        let value_of = |text: &str| {
            let mut trackers =
                ThresholdTracker::all(&[text.parse().unwrap()], &labels, &[], [&[], &metrics], None, None);
            for (x, y) in [(-3.0, 2e12), (-1.0, 1e12), (0.0, 1e12), (8.0, 1e12)] {
                let numbers = [Some(x), Some(y)].map(MetricValue::new);
                let event = Event { metrics: Some(Box::new(numbers)), ..Event::at(Instant::from_millis(1)) };
                trackers[0].add(&event, &[]);
            }
            trackers[0].result(Nanos::from_secs(10), None, None).value.unwrap()
        };
        for (metric, value) in [
            ("metric.p25{x}", -3.0),
            ("metric.p50{x}", -1.0),
            ("metric.p75{x}", 0.0),
            ("metric.mean{x}", 1.0),
            ("metric.max{x}", 8.0),
            ("metric.max{y}", 2e12),
            ("metric.mean{y}", 1.25e12),
        ] {
            let found = value_of(&format!("{metric} < 5"));
            assert!((found - value).abs() <= 5e-3 * value.abs(), "{metric}: {found}");
        }
    }

    #[test]
    fn checks_are_counted_by_name() {
        let (labels, checks) =
            (["a".to_owned(), "b".to_owned()], [("a".to_owned(), vec!["x".to_owned(), "y".to_owned()])]);
        let value_of = |text: &str| {
            let mut trackers =
                ThresholdTracker::all(&[text.parse().unwrap()], &labels, &[], [&checks, &[]], None, None);
            for (label, outcome, error) in [
                (0, Outcome::Ok, None),
                (0, Outcome::CheckFailed, Some("x; y")),
                (0, Outcome::CheckFailed, Some("y")),
                (0, Outcome::Timeout, None),
                (1, Outcome::Ok, None),
            ] {
                let at = Instant::from_millis(1);
                let event = Event { sent: Some(at), done: Some(at), outcome, label, ..Event::at(at) };
                trackers[0].add(&Event { error: error.map(Into::into), ..event }, &[]);
            }
            trackers[0].result(Nanos::from_secs(10), None, None).value
        };
        assert_eq!(value_of("checks.failed < 1%"), Some(0.5));
        assert_eq!(value_of("checks.failed{x} < 1%"), Some(1.0 / 3.0));
        assert_eq!(value_of("checks.failed{y} < 1%"), Some(2.0 / 3.0));
    }
}
