//! The thresholds of a run, each with its result.

mod check;

use std::collections::BTreeMap;

use offered_base::{short, significant};
use offered_workload::Threshold;
use offered_workload::threshold::{Quantity, Unit};
use serde::de::Error;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::verdict::enums::CheckResult;

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
    /// The range in which the value lies without generator error, in the unit of `value`; only if the threshold is not
    /// checked because the generator error could change its result.
    pub possible_range: Option<[f64; 2]>,
    /// The reason why the threshold is not checked, if it is not the validity of the run.
    pub not_checked_reason: Option<UncheckedReason>,
}

offered_base::named! {
    /// Reason why a threshold is not checked although the run was measured.
    pub enum UncheckedReason {
        /// The run is incomplete: it was killed, or requests are missing.
        NeedsWholeRun = "needs_whole_run",
        /// The recording is one worker's share of the run, and the metric is about all workers: a rate, or the CoV of the gaps.
        NeedsAllWorkers = "needs_all_workers",
    }
}

impl UncheckedReason {
    /// The reason as a text.
    pub const fn text(self) -> &'static str {
        match self {
            Self::NeedsWholeRun => "needs the whole run",
            Self::NeedsAllWorkers => "needs all workers; use: offered verify DIR",
        }
    }
}

impl ThresholdResult {
    /// Checks a threshold during a run; `None` if nothing has been measured yet.
    pub fn check_interim(threshold: &Threshold, value: Option<f64>) -> Self {
        let result = value.map_or(CheckResult::NotChecked, |value| Self::compare(threshold, value));
        let threshold = threshold.clone();
        Self { threshold, value, ok_value: None, result, possible_range: None, not_checked_reason: None }
    }

    /// The result if only one worker's share of the run is known: a threshold on a rate or on the CoV of the gaps is
    /// not checked, because it needs the whole run.
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

    /// The value, and that of successful requests if failures change it: `872 ms if failures count as infinite, 795 ms
    /// of ok requests`.
    pub fn value_and_ok(&self) -> String {
        let found = self.value_text();
        match self.ok_value {
            None => found,
            Some(ok) if self.value.is_some_and(f64::is_infinite) => {
                format!("{found}; {} of ok requests", self.format_value(ok))
            }
            Some(ok) => format!("{found} if failures count as infinite, {} of ok requests", self.format_value(ok)),
        }
    }

    /// The value and that of successful requests, its possible range if there is one, and the reason why the threshold
    /// is not checked: `2.80 ms; with a generator without delays 1.90 ms to 2.80 ms`, `98.2/s (needs the whole run)`.
    pub fn value_and_range(&self) -> String {
        let found = self.value_and_ok();
        let found = match self.possible_range.map(|ends| ends.map(|end| self.format_value(end))) {
            None => found,
            Some([low, high]) => format!("{found}; with a generator without delays {low} to {high}"),
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
        let description = "The reason why the threshold is not checked, if it is not the validity of the run.";
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
                    "description": "The range in which the value lies without generator error, in the unit of the value; only if the threshold is not checked because the generator error could change its result. `null` is infinite.",
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
