//! Thresholds held against a run: each one judged by itself.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;

use offered_model::Threshold;
use offered_model::threshold::Unit;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::threshold_sensitivity;
use crate::measured::Measured;
use crate::verdict::{CheckResult, Validity, Verdict};

/// A threshold, what it was held against, and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ThresholdResult {
    /// What was to be kept.
    pub threshold: Threshold,
    /// The figure, in seconds, per second, or as a fraction; `None` when there was none.
    pub value: Option<f64>,
    /// Whether it keeps the bound.
    pub result: CheckResult,
    /// Between which values a punctual generator would have found the figure, where it is not checked because its generator's lateness
    /// would decide it; in the units of `value`.
    pub possible_range: Option<[f64; 2]>,
}

impl ThresholdResult {
    /// `thresholds` held against what was `measured` in a run of this verdict: one that must not be believed passes nothing and fails
    /// nothing, and where its generator did more to a figure than is tolerated only those are checked that it did not decide.
    ///
    /// # Errors
    /// The recording can no longer be read.
    pub fn check_all(thresholds: &[Threshold], measured: &Measured, verdict: &Verdict) -> io::Result<Vec<Self>> {
        let believable = verdict.validity != Validity::Invalid;
        let effect = verdict.generator_error.as_ref().filter(|_| believable);
        let check = |threshold: &Threshold| {
            let value = measured.estimate(&threshold.metric)?.map(|estimate| estimate.value);
            let between = effect.map(|effect| threshold_sensitivity::open(threshold, measured, effect)).transpose()?.flatten();
            let judgement = match value {
                Some(value) if believable && between.is_none() => Self::compare(threshold, value),
                _ => CheckResult::NotChecked,
            };
            Ok(Self { threshold: threshold.clone(), value, result: judgement, possible_range: between })
        };
        thresholds.iter().map(check).collect()
    }

    /// A threshold held against a figure that is not known yet, or for good.
    pub fn check_interim(threshold: &Threshold, value: Option<f64>) -> Self {
        let result = value.map_or(CheckResult::NotChecked, |value| Self::compare(threshold, value));
        Self { threshold: threshold.clone(), value, result, possible_range: None }
    }

    fn compare(threshold: &Threshold, value: f64) -> CheckResult {
        if threshold.bound.holds(value) { CheckResult::Passed } else { CheckResult::Failed }
    }

    /// The figure as people read it: `212.4 ms`, `0.05 %`, `98.2/s`.
    pub fn value_text(&self) -> String {
        self.value.map_or_else(|| "nothing to measure".to_owned(), |value| self.format_value(value))
    }

    /// The figure, and where the generator's lateness would decide the threshold, between what it might have been: `2.8 ms, with a punctual
    /// generator 1.9 ms to 2.8 ms`.
    pub fn value_and_range(&self) -> String {
        let found = self.value_text();
        match self.possible_range.map(|ends| ends.map(|end| self.format_value(end))) {
            None => found,
            Some([low, high]) => format!("{found}, with a punctual generator {low} to {high}"),
        }
    }

    fn format_value(&self, value: f64) -> String {
        if value.is_infinite() {
            return "never: too many failed".to_owned();
        }
        let digits = |x: f64| if x >= 100.0 { format!("{x:.1}") } else { format!("{x:.3}") };
        match self.threshold.metric.quantity.unit() {
            Unit::Seconds => format!("{} ms", digits(value * 1e3)),
            Unit::Fraction => format!("{} %", digits(value * 1e2)),
            Unit::PerSecond => format!("{}/s", digits(value)),
            Unit::Number => digits(value),
        }
    }
}

/// `metric`, `bound`, `value_ms` (or `value_percent`, `value_per_s`, `value`) and `judgement`. A percentile that is beyond all times
/// (too many failed) is `null` and yet judged, which tells it from a figure that could not be had. `between`, where it is there, has two
/// values of the same unit, `null` being beyond all times too.
impl Serialize for ThresholdResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (key, unit) = key(self.threshold.metric.quantity.unit());
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("metric", &self.threshold.metric.to_string())?;
        map.serialize_entry("bound", &self.threshold.bound.to_string())?;
        map.serialize_entry(key, &self.value.map(|value| value * unit))?;
        map.serialize_entry("judgement", &self.result)?;
        if let Some(between) = self.possible_range {
            map.serialize_entry("between", &between.map(|value| value * unit))?;
        }
        map.end()
    }
}

/// What the value is called in JSON, and so many times what it is.
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
            judgement: CheckResult,
            #[serde(default)]
            between: Option<[Option<f64>; 2]>,
            #[serde(flatten)]
            values: BTreeMap<String, Option<f64>>,
        }
        let Map { metric, bound, judgement, between, values } = Map::deserialize(deserializer)?;
        let threshold = Threshold::new(&metric, &bound).map_err(D::Error::custom)?;
        let (key, unit) = key(threshold.metric.quantity.unit());
        let value = values.get(key).ok_or_else(|| D::Error::missing_field(key))?;
        let is_judged = judgement != CheckResult::NotChecked || between.is_some();
        let beyond = || is_judged.then_some(f64::INFINITY);
        // A product with the unit is rounded, so the number that was printed may be that of the quotient's neighbour.
        let exact = |printed: f64| {
            let value = printed / unit;
            let near = [value, value.next_up(), value.next_down()];
            near.into_iter().find(|value| value * unit == printed).unwrap_or(value)
        };
        let between = between.map(|ends| ends.map(|end| end.map_or(f64::INFINITY, exact)));
        Ok(Self { value: value.map(exact).or_else(beyond), threshold, result: judgement, possible_range: between })
    }
}

impl JsonSchema for ThresholdResult {
    fn schema_name() -> Cow<'static, str> {
        "Checked".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let units = [Unit::Seconds, Unit::Fraction, Unit::PerSecond, Unit::Number];
        let figure = |unit| json_schema!({ "required": [key(unit).0] });
        let mut judgement = generator.subschema_for::<CheckResult>();
        judgement.insert("description".to_owned(), "Whether it keeps the bound.".into());
        json_schema!({
            "description": "A threshold, what it was held against, and what came of it.",
            "type": "object",
            "properties": {
                "metric": { "description": "What is looked at, such as `response.p99`.", "type": "string" },
                "bound": { "description": "What it was to keep, such as `< 250ms`.", "type": "string" },
                "value_ms": { "description": "The figure, where it is a time.", "type": ["number", "null"] },
                "value_percent": { "description": "The figure, where it is a share.", "type": ["number", "null"] },
                "value_per_s": { "description": "The figure, where it is a rate.", "type": ["number", "null"] },
                "value": { "description": "The figure, where it has no unit.", "type": ["number", "null"] },
                "judgement": judgement,
                "between": {
                    "description": "Between which values a punctual generator would have found the figure, in its unit, where it is not \
                                    checked because the generator's lateness would decide it; `null` is beyond all times.",
                    "type": "array",
                    "items": { "type": ["number", "null"] },
                    "minItems": 2,
                    "maxItems": 2,
                },
            },
            "required": ["metric", "bound", "judgement"],
            "oneOf": units.map(figure),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Criteria, verify};
    use offered_model::{Event, Instant, Nanos, Outcome, Recording};

    /// A launch every 10 ms for 10 s; number i answers after i % 100 ms, every 50th is an error, and every other is `even`.
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

    fn checked(text: &str, believable: bool) -> ThresholdResult {
        let recording = recording();
        let verdict = verify(&recording, &Criteria::default()).unwrap();
        let measured =
            Measured::new(&recording, &verdict.gaps, &verdict.window, Instant::ZERO..Instant::from_secs(10));
        let judgement = if believable { Validity::Valid } else { Validity::Invalid };
        ThresholdResult::check_all(&[text.parse().unwrap()], &measured, &Verdict { validity: judgement, ..verdict.clone() }).unwrap().remove(0)
    }

    #[test]
    fn every_figure_is_what_it_says() {
        for (text, value) in [
            // Every fiftieth failed: it never came back.
            ("p50 < 1s", 0.051),
            ("p90 < 1s", 0.091),
            ("p98.1 < 1s", f64::INFINITY),
            ("p98.1{odd} < 1s", 0.099),
            ("response.ok.p50 < 1s", 0.049),
            ("service.p99 < 1s", f64::INFINITY),
            ("service.ok.p99 < 1s", 0.097_995),
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
        // Ten of the last answers come after the end; at worst.
        let throughput = checked("throughput > 1/s", true).value.unwrap();
        assert!((99.0..100.0).contains(&throughput), "{throughput}");
    }

    #[test]
    fn pages_and_their_objects_have_figures_of_their_own() {
        // A page every 10 ms, and every other launch is none. The page is there after 10 ms, its two objects come 10 ms and 30 ms
        // later; of every tenth page the second is missing, and of every fiftieth the page.
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
        let measured =
            Measured::new(&recording, &verdict.gaps, &verdict.window, Instant::ZERO..Instant::from_secs(10));
        let of = |text: &str, measured: &Measured| {
            let threshold: Threshold = text.parse().unwrap();
            measured.estimate(&threshold.metric).unwrap().map(|estimate| estimate.value)
        };
        let near = |text, value: f64| {
            let found = of(text, &measured).unwrap();
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
        assert_eq!(of("page.errors{plain} < 1%", &measured), None, "nothing to measure");
        // Of a request whose objects never came it takes the workload to know that there were to be some.
        let measured = measured.with_pages(vec!["plain".to_owned()]);
        assert_eq!(of("page.errors{plain} < 1%", &measured), Some(0.0));
        assert!((of("page.errors < 1%", &measured).unwrap() - 0.05).abs() < 1e-9);
    }

    #[test]
    fn a_threshold_holds_or_fails_or_was_not_checked() {
        assert_eq!(checked("p90 < 95ms", true).result, CheckResult::Passed);
        assert_eq!(checked("p90 < 80ms", true).result, CheckResult::Failed);
        assert_eq!(checked("p90 < 80ms", false).result, CheckResult::NotChecked);
        assert_eq!(checked("p90{nobody} < 80ms", true).result, CheckResult::NotChecked);
    }

    #[test]
    fn units_stand_in_the_names() {
        let json = |text| serde_json::to_value(checked(text, true)).unwrap();
        assert_eq!(json("p90 < 80ms")["value_ms"].as_f64().map(f64::round), Some(91.0));
        assert_eq!(json("p90 < 80ms")["metric"], "response.p90");
        assert_eq!(json("errors < 1%")["value_percent"], 2.0);
        assert_eq!(json("errors < 1%")["judgement"], "fails");
        assert_eq!(checked("errors < 1%", true).value_text(), "2.000 %");
    }

    #[test]
    fn too_few_values_make_no_interval() {
        let recording = recording();
        let verdict = verify(&recording, &Criteria::default()).unwrap();
        let measured =
            Measured::new(&recording, &verdict.gaps, &verdict.window, Instant::ZERO..Instant::from_secs(10));
        let width = |text: &str| {
            let threshold: Threshold = text.parse().unwrap();
            measured.estimate(&threshold.metric).unwrap().unwrap().half_width()
        };
        assert!(width("p90 < 1s") < 0.01, "every second is like every other: {}", width("p90 < 1s"));
        assert_eq!(width("p99.9 < 1s"), f64::INFINITY);
        assert_eq!(width("max < 1s"), f64::INFINITY);
    }
}
