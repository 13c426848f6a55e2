//! The thresholds of a run, each with its result.

use std::collections::BTreeMap;
use std::io;

use offered_base::{short, significant};
use offered_workload::Threshold;
use offered_workload::threshold::{Metric, Quantity, Statistic, Unit};
use serde::de::Error;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::measured::Measurements;
use crate::threshold_sensitivity;
use crate::verdict::{CheckResult, Validity, Verdict};

/// A threshold, its measured value and its result.
#[derive(Clone, Debug, PartialEq)]
pub struct ThresholdResult {
    /// The threshold.
    pub threshold: Threshold,
    /// The measured value, in seconds, per second, or as a fraction; infinite if too many requests failed for a
    /// percentile; `None` if nothing was measured.
    pub value: Option<f64>,
    /// The same percentile of successful requests only, in the unit of `value`; only if failed requests, whose times count as infinite,
    /// change the value.
    pub ok_value: Option<f64>,
    /// Whether the value satisfies the bound.
    pub result: CheckResult,
    /// The range of the value with a punctual generator, in the unit of `value`; only if the threshold is not checked
    /// because the generator error could change its result.
    pub possible_range: Option<[f64; 2]>,
    /// Why the threshold is not checked, if that does not follow from the validity of the run.
    pub not_checked_reason: Option<UncheckedReason>,
}

offered_base::named! {
    /// Why a threshold is not checked although the run was measured.
    pub enum UncheckedReason {
        /// The run is incomplete: it was killed, or requests are missing.
        NeedsWholeRun = "needs_whole_run",
        /// The recording is one worker's share of the run, and the metric is about all workers: a rate, or the CoV of the gaps.
        NeedsAllWorkers = "needs_all_workers",
    }
}

impl UncheckedReason {
    /// The reason as people read it.
    pub const fn text(self) -> &'static str {
        match self {
            Self::NeedsWholeRun => "needs the whole run",
            Self::NeedsAllWorkers => "needs all workers: offered verify DIR",
        }
    }
}

impl ThresholdResult {
    /// Checks `thresholds` against `measured`. If the run is invalid, no threshold is checked. If the generator error
    /// exceeds its tolerance, only those thresholds are checked whose results it cannot change.
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

    /// Checks a threshold during a run; `None` if nothing has been measured yet.
    pub fn check_interim(threshold: &Threshold, value: Option<f64>) -> Self {
        let result = value.map_or(CheckResult::NotChecked, |value| Self::compare(threshold, value));
        let threshold = threshold.clone();
        Self { threshold, value, ok_value: None, result, possible_range: None, not_checked_reason: None }
    }

    /// The result where only one worker's share of the run is known: a threshold on a rate or on the CoV of the gaps is not checked, because
    /// only the whole run has that rate.
    #[must_use]
    pub fn of_share(self) -> Self {
        if !needs_all_workers(&self.threshold) {
            return self;
        }
        let not_checked_reason = self.not_checked_reason.or(Some(UncheckedReason::NeedsAllWorkers));
        Self { result: CheckResult::NotChecked, possible_range: None, not_checked_reason, ..self }
    }

    /// Whether the threshold passed, or is left to the verdict on all workers.
    pub fn passed_here(&self) -> bool {
        self.result == CheckResult::Passed || self.not_checked_reason == Some(UncheckedReason::NeedsAllWorkers)
    }

    fn compare(threshold: &Threshold, value: f64) -> CheckResult {
        if threshold.bound.holds(value) { CheckResult::Passed } else { CheckResult::Failed }
    }

    /// The value with its unit: `212.4 ms`, `0.05 %`, `98.2/s`.
    pub fn value_text(&self) -> String {
        self.value.map_or_else(|| "not measured".to_owned(), |value| self.format_value(value))
    }

    /// The value, and that of successful requests if failures change it: `872 ms with failures as infinite, 795 ms of ok requests`.
    pub fn value_and_ok(&self) -> String {
        let found = self.value_text();
        match self.ok_value {
            None => found,
            Some(ok) if self.value.is_some_and(f64::is_infinite) => {
                format!("{found}; {} of ok requests", self.format_value(ok))
            }
            Some(ok) => format!("{found} with failures as infinite, {} of ok requests", self.format_value(ok)),
        }
    }

    /// The value and that of successful requests, its possible range if there is one, and why it is not checked: `2.80 ms, with a punctual
    /// generator 1.90 ms to 2.80 ms`, `98.2/s (needs the whole run)`.
    pub fn value_and_range(&self) -> String {
        let found = self.value_and_ok();
        let found = match self.possible_range.map(|ends| ends.map(|end| self.format_value(end))) {
            None => found,
            Some([low, high]) => format!("{found}, with a punctual generator {low} to {high}"),
        };
        match self.not_checked_reason {
            None => found,
            Some(reason) => format!("{found} ({})", reason.text()),
        }
    }

    fn format_value(&self, value: f64) -> String {
        if value.is_infinite() {
            return "infinite: too many requests failed".to_owned();
        }
        let (scale, unit) = match self.threshold.metric.quantity.unit() {
            Unit::Seconds => (1e3, " ms"),
            Unit::Fraction => (1e2, " %"),
            Unit::PerSecond => (1.0, "/s"),
            Unit::Number => (1.0, ""),
        };
        // As many digits as the value needs to be on its side of the limit: 299.96 ms is below 300 ms.
        let bound = &self.threshold.bound;
        let is_on_its_side = |text: &str| {
            let shown: Result<f64, _> = text.replace(',', "").parse();
            shown.is_ok_and(|shown| bound.holds(shown / scale) == bound.holds(value))
        };
        let texts = (3..16).map(|digits| significant(value * scale, digits));
        let text = texts.into_iter().find(|text| is_on_its_side(text)).unwrap_or_else(|| short(value * scale));
        text + unit
    }
}

/// The JSON key of [`ThresholdResult::ok_value`], which is always a time.
const OK_KEY: &str = "value_ok_ms";

/// The same percentile of successful requests only; `None` if failures have no influence on the metric.
fn of_ok_requests(metric: &Metric) -> Option<Metric> {
    let quantity = match metric.quantity {
        Quantity::Response(of @ Statistic::Percentile(_)) => Quantity::ResponseOk(of),
        Quantity::Service(of @ Statistic::Percentile(_)) => Quantity::ServiceOk(of),
        _ => return None,
    };
    Some(Metric { quantity, label: metric.label.clone() })
}

/// Whether only all workers together can decide the threshold.
pub(crate) const fn needs_all_workers(threshold: &Threshold) -> bool {
    use Quantity::{ArrivalsCov, ArrivalsRate, GoodputRate, ThroughputRate, TokensRate};
    matches!(threshold.metric.quantity, ThroughputRate | ArrivalsRate | ArrivalsCov | TokensRate | GoodputRate)
}

/// The keys are `metric`, `bound`, `value_ms` (or `value_percent`, `value_per_s`, `value`) and `result`; `value_ok_ms` is the percentile of
/// successful requests, present if failures change it. An infinite
/// percentile (too many requests failed) is `null` with a result of `passed` or `failed`; a missing value is `null` and
/// `not_checked`. `not_checked_reason` is present where the validity of the run is not the reason. `possible_range`, if present, has two values in the same unit, where `null` is infinite.
impl Serialize for ThresholdResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (key, unit) = key(self.threshold.metric.quantity.unit());
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("metric", &self.threshold.metric.to_string())?;
        map.serialize_entry("bound", &self.threshold.bound.to_string())?;
        map.serialize_entry(key, &self.value.map(|value| value * unit))?;
        if let Some(ok) = self.ok_value {
            map.serialize_entry(OK_KEY, &(ok * unit))?;
        }
        map.serialize_entry("result", &self.result)?;
        if let Some(between) = self.possible_range {
            map.serialize_entry("possible_range", &between.map(|value| value * unit))?;
        }
        if let Some(reason) = self.not_checked_reason {
            map.serialize_entry("not_checked_reason", &reason)?;
        }
        map.end()
    }
}

/// The JSON key of a value, and the factor from its internal unit.
const fn key(unit: Unit) -> (&'static str, f64) {
    match unit {
        Unit::Seconds => ("value_ms", 1e3),
        Unit::Fraction => ("value_percent", 1e2),
        Unit::PerSecond => ("value_per_s", 1.0),
        Unit::Number => ("value", 1.0),
    }
}

impl<'de> Deserialize<'de> for ThresholdResult {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Map {
            metric: String,
            bound: String,
            result: CheckResult,
            #[serde(default)]
            possible_range: Option<[Option<f64>; 2]>,
            #[serde(default)]
            not_checked_reason: Option<UncheckedReason>,
            #[serde(flatten)]
            values: BTreeMap<String, Option<f64>>,
        }
        let Map { metric, bound, result, possible_range, not_checked_reason, values } = Map::deserialize(deserializer)?;
        let threshold = Threshold::new(&metric, &bound).map_err(D::Error::custom)?;
        let (key, unit) = key(threshold.metric.quantity.unit());
        let value = values.get(key).ok_or_else(|| D::Error::missing_field(key))?;
        let ok_value = values.get(OK_KEY).copied().flatten();
        let is_judged = result != CheckResult::NotChecked || possible_range.is_some();
        let beyond = || is_judged.then_some(f64::INFINITY);
        // The printed product with the factor is rounded, so a neighbouring value may print the same number.
        let exact = |printed: f64| {
            let value = printed / unit;
            let near = [value, value.next_up(), value.next_down()];
            near.into_iter().find(|value| value * unit == printed).unwrap_or(value)
        };
        let possible_range = possible_range.map(|ends| ends.map(|end| end.map_or(f64::INFINITY, exact)));
        let (value, ok_value) = (value.map(exact).or_else(beyond), ok_value.map(exact));
        Ok(Self { threshold, value, ok_value, result, possible_range, not_checked_reason })
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for ThresholdResult {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Checked".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let units = [Unit::Seconds, Unit::Fraction, Unit::PerSecond, Unit::Number];
        let figure = |unit| schemars::json_schema!({ "required": [key(unit).0] });
        let mut result = generator.subschema_for::<CheckResult>();
        result.insert("description".to_owned(), "Whether the value satisfies the bound.".into());
        let mut reason = generator.subschema_for::<UncheckedReason>();
        let description = "Why the threshold is not checked, if that does not follow from the validity of the run.";
        reason.insert("description".to_owned(), description.into());
        schemars::json_schema!({
            "description": "A threshold, its measured value and its result.",
            "type": "object",
            "properties": {
                "metric": { "description": "The metric, such as `response.p99`.", "type": "string" },
                "bound": { "description": "The bound, such as `< 250ms`.", "type": "string" },
                "value_ms": { "description": "The value, if it is a time; `null` if it is infinite or was not measured.", "type": ["number", "null"] },
                "value_ok_ms": { "description": "The same percentile of successful requests only; present if failed requests, whose times count as infinite, change the value.", "type": "number" },
                "value_percent": { "description": "The value, if it is a share.", "type": ["number", "null"] },
                "value_per_s": { "description": "The value, if it is a rate.", "type": ["number", "null"] },
                "value": { "description": "The value, if it has no unit.", "type": ["number", "null"] },
                "result": result,
                "not_checked_reason": reason,
                "possible_range": {
                    "description": "The range of the value with a punctual generator, in the unit of the value; only if the threshold is not checked \
                                    because the generator error could change its result. `null` is infinite.",
                    "type": "array",
                    "items": { "type": ["number", "null"] },
                    "minItems": 2,
                    "maxItems": 2,
                },
            },
            "required": ["metric", "bound", "result"],
            "oneOf": units.map(figure),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Criteria, verify};
    use offered_base::{Instant, Nanos};
    use offered_events::{Event, Outcome, Recording};

    /// One request every 10 ms for 10 s. Request i completes after i % 100 ms; every 50th fails; every other one has
    /// the label `even`.
    fn recording() -> Recording {
        let event = |i: u64| {
            let intended = Instant::from_millis(10 * i);
            Event {
                sent: Some(intended + Nanos::from_micros(5)),
                done: Some(intended + Nanos::from_millis(i % 100)),
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
        assert_eq!(p90.value_and_range(), "91.0 ms with failures as infinite, 90.0 ms of ok requests");
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
            assert!(text.ends_with(" (needs all workers: offered verify DIR)"), "{text}");
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
