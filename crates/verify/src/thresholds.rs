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

use crate::measured::Measured;
use crate::verdict::Judgement;

/// A threshold, what it was held against, and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// What was to be kept.
    pub threshold: Threshold,
    /// The figure, in seconds, per second, or as a fraction; `None` when there was none.
    pub value: Option<f64>,
    /// Whether it keeps the bound.
    pub judgement: Judgement,
}

impl Checked {
    /// `thresholds` held against `measured`; `believable` says whether the run may be held against anything: what came of a
    /// run that must not be believed passes nothing and fails nothing.
    ///
    /// # Errors
    /// The recording can no longer be read.
    pub fn all(thresholds: &[Threshold], measured: &Measured, believable: bool) -> io::Result<Vec<Self>> {
        let check = |threshold: &Threshold| {
            let value = measured.estimate(&threshold.metric)?.map(|estimate| estimate.value);
            let judgement = match value {
                Some(value) if believable && threshold.bound.holds(value) => Judgement::Holds,
                Some(_) if believable => Judgement::Fails,
                _ => Judgement::NotChecked,
            };
            Ok(Self { threshold: threshold.clone(), value, judgement })
        };
        thresholds.iter().map(check).collect()
    }

    /// The figure as people read it: `212.4 ms`, `0.05 %`, `98.2/s`.
    pub fn value_in_words(&self) -> String {
        let Some(value) = self.value else { return "nothing to measure".to_owned() };
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
/// (too many failed) is `null` and yet judged, which tells it from a figure that could not be had.
impl Serialize for Checked {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (key, unit) = key(self.threshold.metric.quantity.unit());
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("metric", &self.threshold.metric.to_string())?;
        map.serialize_entry("bound", &self.threshold.bound.to_string())?;
        map.serialize_entry(key, &self.value.map(|value| value * unit))?;
        map.serialize_entry("judgement", &self.judgement)?;
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

impl<'de> Deserialize<'de> for Checked {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Map {
            metric: String,
            bound: String,
            judgement: Judgement,
            #[serde(flatten)]
            values: BTreeMap<String, Option<f64>>,
        }
        let Map { metric, bound, judgement, values } = Map::deserialize(deserializer)?;
        let threshold = Threshold::new(&metric, &bound).map_err(D::Error::custom)?;
        let (key, unit) = key(threshold.metric.quantity.unit());
        let value = values.get(key).ok_or_else(|| D::Error::missing_field(key))?;
        let beyond = || (judgement != Judgement::NotChecked).then_some(f64::INFINITY);
        // A product with the unit is rounded, so the number that was printed may be that of the quotient's neighbour.
        let exact = |printed: f64| {
            let value = printed / unit;
            let near = [value, value.next_up(), value.next_down()];
            near.into_iter().find(|value| value * unit == printed).unwrap_or(value)
        };
        Ok(Self { value: value.map(exact).or_else(beyond), threshold, judgement })
    }
}

impl JsonSchema for Checked {
    fn schema_name() -> Cow<'static, str> {
        "Checked".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let units = [Unit::Seconds, Unit::Fraction, Unit::PerSecond, Unit::Number];
        let figure = |unit| json_schema!({ "required": [key(unit).0] });
        let mut judgement = generator.subschema_for::<Judgement>();
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
            },
            "required": ["metric", "bound", "judgement"],
            "oneOf": units.map(figure),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ask, verify};
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

    fn checked(text: &str, believable: bool) -> Checked {
        let recording = recording();
        let verdict = verify(&recording, &Ask::default()).unwrap();
        let measured =
            Measured::new(&recording, &verdict.launches, &verdict.window, Instant::ZERO..Instant::from_secs(10));
        Checked::all(&[text.parse().unwrap()], &measured, believable).unwrap().remove(0)
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
            let read: Checked = serde_json::from_str(&printed).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), printed);
            let found = read.value.unwrap();
            assert!(found == value || (found - value).abs() < 1e-9 + 0.001 * value, "{text}: {found}");
        }
        // Ten of the last answers come after the end; at worst.
        let throughput = checked("throughput > 1/s", true).value.unwrap();
        assert!((99.0..100.0).contains(&throughput), "{throughput}");
    }

    #[test]
    fn a_threshold_holds_or_fails_or_was_not_checked() {
        assert_eq!(checked("p90 < 95ms", true).judgement, Judgement::Holds);
        assert_eq!(checked("p90 < 80ms", true).judgement, Judgement::Fails);
        assert_eq!(checked("p90 < 80ms", false).judgement, Judgement::NotChecked);
        assert_eq!(checked("p90{nobody} < 80ms", true).judgement, Judgement::NotChecked);
    }

    #[test]
    fn units_stand_in_the_names() {
        let json = |text| serde_json::to_value(checked(text, true)).unwrap();
        assert_eq!(json("p90 < 80ms")["value_ms"].as_f64().map(f64::round), Some(91.0));
        assert_eq!(json("p90 < 80ms")["metric"], "response.p90");
        assert_eq!(json("errors < 1%")["value_percent"], 2.0);
        assert_eq!(json("errors < 1%")["judgement"], "fails");
        assert_eq!(checked("errors < 1%", true).value_in_words(), "2.000 %");
    }

    #[test]
    fn too_few_values_make_no_interval() {
        let recording = recording();
        let verdict = verify(&recording, &Ask::default()).unwrap();
        let measured =
            Measured::new(&recording, &verdict.launches, &verdict.window, Instant::ZERO..Instant::from_secs(10));
        let width = |text: &str| {
            let threshold: Threshold = text.parse().unwrap();
            measured.estimate(&threshold.metric).unwrap().unwrap().half_width()
        };
        assert!(width("p90 < 1s") < 0.01, "every second is like every other: {}", width("p90 < 1s"));
        assert_eq!(width("p99.9 < 1s"), f64::INFINITY);
        assert_eq!(width("max < 1s"), f64::INFINITY);
    }
}
