//! Checks thresholds against a run.

use std::io;

use offered_workload::Threshold;
use offered_workload::threshold::{Metric, Quantity, Statistic};

use super::{ThresholdResult, UncheckedReason};
use crate::measured::Measurements;
use crate::threshold_sensitivity;
use crate::verdict::{CheckResult, Validity, Verdict};

impl ThresholdResult {
    /// Checks `thresholds` against `measured`. If the run is invalid, no threshold is checked. If the generator error
    /// exceeds its tolerance, a threshold is checked only if this error cannot change its result.
    ///
    /// # Errors
    /// The recording cannot be read.
    pub fn check_all(
        thresholds: &[Threshold],
        measurements: &Measurements,
        verdict: &Verdict,
    ) -> io::Result<Vec<Self>> {
        let usable = verdict.validity != Validity::Invalid;
        let error = verdict.generator_error.as_ref().filter(|_| usable);
        let any_failed = verdict.requests.last().is_some_and(|total| total.failed > 0);
        let check = |threshold: &Threshold| {
            let estimate =
                |metric: &Metric| Ok::<_, io::Error>(measurements.estimate(metric)?.map(|found| found.value));
            let value = estimate(&threshold.metric)?;
            let of_ok = of_ok_requests(&threshold.metric).filter(|_| any_failed);
            let ok_value = of_ok.map(|metric| estimate(&metric)).transpose()?.flatten().filter(|ok| Some(*ok) != value);
            let between = error
                .map(|error| threshold_sensitivity::affected_range(threshold, measurements, error))
                .transpose()?
                .flatten();
            let not_checked_reason = verdict.incomplete.is_some().then_some(UncheckedReason::NeedsWholeRun);
            let result = match value {
                Some(value) if usable && between.is_none() && not_checked_reason.is_none() => {
                    Self::compare(threshold, value)
                }
                _ => CheckResult::NotChecked,
            };
            let (threshold, possible_range) = (threshold.clone(), between);
            let checked = Self { threshold, value, ok_value, result, possible_range, not_checked_reason };
            Ok(if measurements.is_share() { checked.of_share() } else { checked })
        };
        thresholds.iter().map(check).collect()
    }
}

/// The same percentile of successful requests only; `None` if failures have no influence on the metric.
fn of_ok_requests(metric: &Metric) -> Option<Metric> {
    let quantity = match metric.quantity {
        Quantity::Response(of @ Statistic::Percentile(_)) => Quantity::ResponseOk(of),
        Quantity::Service(of @ Statistic::Percentile(_)) => Quantity::ServiceOk(of),
        _ => return None,
    };
    Some(Metric { quantity, label: metric.label.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Criteria, verify};
    use offered_base::{Instant, Nanos};
    use offered_events::{Event, Outcome, Recording};
    use offered_stats::requirements::{IntervalRequirements, MeanRequirement};

    /// One request every 10 ms for 10 s. Request i completes after 37 i % 100 ms; every 50th fails; every other one has
    /// the label `even`.
    fn recording() -> Recording {
        let event = |i: u64| {
            let intended = Instant::from_millis(10 * i);
            Event {
                sent: Some(intended + Nanos::from_micros(5)),
                // Every tenth of a second has fast and slow responses.
                done: Some(intended + Nanos::from_millis(37 * i % 100)),
                label: (i % 2) as u16,
                outcome: if i.is_multiple_of(50) { Outcome::HttpError } else { Outcome::Ok },
                ..Event::at(intended)
            }
        };
        Recording::of_run((0..1000).map(event).collect(), vec!["even".to_owned(), "odd".to_owned()])
    }

    fn checked(text: &str, usable: bool) -> ThresholdResult {
        let recording = recording();
        let verdict = verify(&recording, &Criteria::default()).unwrap();
        let measurements =
            Measurements::new(&recording, &verdict.gaps, &verdict.window, Instant::ZERO..Instant::from_secs(10));
        let judgement = if usable { Validity::Valid } else { Validity::Invalid };
        ThresholdResult::check_all(
            &[text.parse().unwrap()],
            &measurements,
            &Verdict { validity: judgement, ..verdict.clone() },
        )
        .unwrap()
        .remove(0)
    }

    #[test]
    fn the_sizes_of_a_simulation_decide_whether_the_mean_has_an_interval() {
        let recording = recording();
        let verdict = verify(&recording, &Criteria::default()).unwrap();
        let half_width = |metric: &str, mean| {
            let requirements = IntervalRequirements { mean, ..IntervalRequirements::default() };
            let judged = Instant::ZERO..Instant::from_secs(10);
            let measured = Measurements::new(&recording, &verdict.gaps, &verdict.window, judged);
            let measured = measured.with_requirements(requirements);
            measured.estimate(&metric.parse().unwrap()).unwrap().unwrap().half_width()
        };
        // The 500 requests of a name wait in one queue with the others.
        for metric in ["mean", "mean{odd}"] {
            assert!(half_width(metric, MeanRequirement::Responses(900)) < 1.0, "{metric}");
            for mean in [MeanRequirement::Responses(2000), MeanRequirement::NoNumber, MeanRequirement::InfiniteMean] {
                assert_eq!(half_width(metric, mean), f64::INFINITY, "{metric}");
            }
        }
    }

    #[test]
    fn every_metric_has_the_documented_value() {
        for (text, value) in [
            // Every 50th failed, which counts as infinite.
            ("p50 < 1s", 0.051),
            ("p90 < 1s", 0.091),
            ("p98.1 < 1s", f64::INFINITY),
            ("p98.1{odd} < 1s", 0.099),
            ("response.ok.p50 < 1s", 0.049),
            ("service.p99 < 1s", f64::INFINITY),
            ("service.ok.p99 < 1s", 0.098_995),
            ("max < 1s", 0.099),
            ("p50{even} < 1s", 0.052),
            ("lateness.p99 < 1s", 5e-6),
            ("errors < 1%", 0.02),
            ("errors{odd} < 1%", 0.0),
            ("arrivals.rate > 1/s", 100.0),
            ("arrivals.rate{odd} > 1/s", 50.0),
            ("arrivals.cov = 0..0.1", 0.0),
        ] {
            let checked = checked(text, true);
            let printed = serde_json::to_string(&checked).unwrap();
            let read: ThresholdResult = serde_json::from_str(&printed).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), printed);
            let found = read.value.unwrap();
            assert!(found == value || (found - value).abs() < 1e-9 + 0.001 * value, "{text}: {found}");
        }
        // At most ten of the last responses come after the end.
        let throughput = checked("throughput > 1/s", true).value.unwrap();
        assert!((99.0..100.0).contains(&throughput), "{throughput}");
    }

    #[test]
    fn pages_and_objects_have_their_own_metrics() {
        // A page every 10 ms, each followed by another request. The page completes after 10 ms, its two objects 10 ms
        // and 30 ms later. For every tenth page the second object fails, for every 50th the page itself.
        let mut events = Vec::new();
        for i in 0..1000u64 {
            let intended = Instant::from_millis(10 * i);
            let at = |ms| Some(intended + Nanos::from_millis(ms));
            let event = Event { session: i, sent: at(0), done: at(10), outcome: Outcome::Ok, ..Event::at(intended) };
            let there = i % 50 != 49;
            let whole = i % 10 != 9;
            for (object, done, good) in [(1, 20, true), (2, 40, whole)].into_iter().filter(|_| there) {
                let outcome = if good { Outcome::Ok } else { Outcome::HttpError };
                events.push(Event { object, sent: at(10), done: at(done), outcome, ..event.clone() });
            }
            let outcome = match (there, whole) {
                (false, _) => Outcome::HttpError,
                (true, false) => Outcome::ObjectFailed,
                (true, true) => Outcome::Ok,
            };
            events.push(Event { outcome, ..event.clone() });
            events.push(Event { session: 1000 + i, label: 1, ..event });
        }
        let recording = Recording::of_run(events, vec!["page".to_owned(), "plain".to_owned()]);
        let verdict = verify(&recording, &Criteria::default()).unwrap();
        let measurements =
            Measurements::new(&recording, &verdict.gaps, &verdict.window, Instant::ZERO..Instant::from_secs(10));
        let of = |text: &str, measurements: &Measurements| {
            let threshold: Threshold = text.parse().unwrap();
            measurements.estimate(&threshold.metric).unwrap().map(|estimate| estimate.value)
        };
        let near = |text, value: f64| {
            let found = of(text, &measurements).unwrap();
            assert!(found == value || (found - value).abs() < 1e-3 * value, "{text}: {found}");
        };
        near("errors < 1%", 0.05);
        near("page.errors < 1%", 0.1);
        near("objects.errors < 1%", 80.0 / 1960.0);
        near("page.p89 < 1s", 0.04);
        near("page.p91 < 1s", f64::INFINITY);
        near("page.mean{page} < 1s", 0.04);
        near("page.max < 1s", 0.04);
        near("objects.p40 < 1s", 0.01);
        near("objects.p60 < 1s", 0.03);
        near("objects.p97 < 1s", f64::INFINITY);
        assert_eq!(of("page.errors{plain} < 1%", &measurements), None, "not measured");
        // If no object of a request ever completed, only the workload shows that it has objects.
        let measurements = measurements.with_pages(vec!["plain".to_owned()]);
        assert_eq!(of("page.errors{plain} < 1%", &measurements), Some(0.0));
        assert!((of("page.errors < 1%", &measurements).unwrap() - 0.05).abs() < 1e-9);
    }

    #[test]
    fn both_percentiles_are_named_where_failures_change_them() {
        let of = |text| checked(text, true);
        // Every 50th fails: the 90th of 1000 is another one than that of 980.
        let p90 = of("p90 < 1s");
        assert_eq!((p90.value, p90.ok_value), (Some(0.091), Some(0.09)));
        assert_eq!(p90.value_and_range(), "91.0 ms if failures count as infinite, 90.0 ms of ok requests");
        assert_eq!(of("p98.1 < 1s").value_and_ok(), "infinite: too many requests failed; 98.0 ms of ok requests");
        let json = serde_json::to_value(&p90).unwrap();
        assert_eq!(json["value_ok_ms"].as_f64().map(f64::round), Some(90.0));
        assert_eq!(serde_json::from_value::<ThresholdResult>(json).unwrap(), p90);
        // No request of this label failed, and these metrics ignore failures.
        for text in ["p98.1{odd} < 1s", "response.ok.p50 < 1s", "max < 1s", "errors < 1%", "lateness.p99 < 1s"] {
            let one = of(text);
            assert_eq!((one.ok_value, serde_json::to_value(&one).unwrap().get("value_ok_ms")), (None, None), "{text}");
        }
    }

    #[test]
    fn a_value_is_printed_on_its_side_of_the_limit() {
        let text = |threshold: &str, value| {
            ThresholdResult::check_interim(&threshold.parse().unwrap(), Some(value)).value_text()
        };
        assert_eq!(text("p95 < 300ms", 0.071_43), "71.4 ms");
        assert_eq!(text("p95 < 300ms", 0.299_96), "299.96 ms");
        assert_eq!(text("p95 < 300ms", 0.3), "300 ms");
        assert_eq!(text("p95 < 300ms", 1.204_2), "1,204 ms");
        assert_eq!(text("errors < 1%", 0.009_999), "0.9999 %");
        assert_eq!(text("errors < 1%", 0.0), "0 %");
        assert_eq!(text("arrivals.cov = 0.95..1.05", 1.050_4), "1.0504");
    }

    #[test]
    fn thresholds_pass_fail_or_are_not_checked() {
        assert_eq!(checked("p90 < 95ms", true).result, CheckResult::Passed);
        assert_eq!(checked("p90 < 80ms", true).result, CheckResult::Failed);
        assert_eq!(checked("p90 < 80ms", false).result, CheckResult::NotChecked);
        assert_eq!(checked("p90{nobody} < 80ms", true).result, CheckResult::NotChecked);
    }

    #[test]
    fn one_worker_leaves_rates_and_gaps_to_all_workers() {
        let recording = recording();
        let verdict = verify(&recording, &Criteria::default()).unwrap();
        let verdict = Verdict { validity: Validity::Valid, ..verdict };
        let judged = Instant::ZERO..Instant::from_secs(10);
        let measurements = Measurements::new(&recording, &verdict.gaps, &verdict.window, judged).of_share(true);
        let thresholds = ["throughput > 150/s", "arrivals.rate > 150/s", "arrivals.cov = 0.9..1.1", "p90 < 80ms"];
        let thresholds = thresholds.map(|text| text.parse().unwrap());
        let checked = ThresholdResult::check_all(&thresholds, &measurements, &verdict).unwrap();
        for whole in &checked[..3] {
            assert_eq!(whole.result, CheckResult::NotChecked, "{}", whole.threshold);
            let text = whole.value_and_range();
            assert!(text.ends_with(" (needs all workers; use: offered verify DIR)"), "{text}");
            assert!(whole.passed_here());
            let json = serde_json::to_value(whole).unwrap();
            assert_eq!(json["not_checked_reason"], "needs_all_workers");
            assert_eq!(
                serde_json::from_value::<ThresholdResult>(json).unwrap().not_checked_reason,
                whole.not_checked_reason
            );
        }
        assert_eq!((checked[3].result, checked[3].passed_here()), (CheckResult::Failed, false));
    }

    #[test]
    fn json_keys_contain_units() {
        let json = |text| serde_json::to_value(checked(text, true)).unwrap();
        assert_eq!(json("p90 < 80ms")["value_ms"].as_f64().map(f64::round), Some(91.0));
        assert_eq!(json("p90 < 80ms")["metric"], "response.p90");
        assert_eq!(json("errors < 1%")["value_percent"], 2.0);
        assert_eq!(json("errors < 1%")["result"], "failed");
        assert_eq!(checked("errors < 1%", true).value_text(), "2.00 %");
    }

    #[test]
    fn too_few_values_have_an_infinite_interval() {
        let recording = recording();
        let verdict = verify(&recording, &Criteria::default()).unwrap();
        let measurements =
            Measurements::new(&recording, &verdict.gaps, &verdict.window, Instant::ZERO..Instant::from_secs(10));
        let width = |text: &str| {
            let threshold: Threshold = text.parse().unwrap();
            measurements.estimate(&threshold.metric).unwrap().unwrap().half_width()
        };
        assert!(width("p90 < 1s") < 0.01, "every second is like every other: {}", width("p90 < 1s"));
        assert_eq!(width("p99.9 < 1s"), f64::INFINITY);
        assert_eq!(width("max < 1s"), f64::INFINITY);
    }
}
