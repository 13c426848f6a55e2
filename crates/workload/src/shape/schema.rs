//! The JSON Schema of the workload file, made of its [shape](super).

use serde_json::{Map, Value, json};

use super::{CONDITION_PART, DISTRIBUTIONS, Key, Kind, STEP, Shape, THRESHOLD, WORKLOAD};
use crate::Policy;

/// A number as durations and rates have it.
const DECIMAL: &str = r"(?:\d+\.?\d*|\.\d+)";
/// A number as other limits have it.
const NUMBER: &str = r"\+?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?";

/// The JSON Schema of a workload file, for the JSON equivalent of its TOML (draft 7, the newest version that TOML editors support).
///
/// It lists every key, rejects all others, and checks the form of values. It does not include the further rules of the reader, such
/// as keys that need another key.
pub fn schema() -> Value {
    let mut schema = table(&WORKLOAD);
    schema["$schema"] = "http://json-schema.org/draft-07/schema#".into();
    schema["title"] = "offered workload".into();
    schema["$defs"] = json!({
        "time": form(&format!("^{}$", time()), "A duration, such as \"500ms\", \"10s\", \"1m30s\" or \"1h\"."),
        "rate": form(&format!("^{}$", rate()), "A rate, such as \"100/s\", \"6000/m\" or \"0.5/s\"."),
        "rate_or_zero": form(&format!("^{}$", rate()), "A rate, such as \"100/s\", or \"0/s\"."),
        "distribution": table(&DISTRIBUTIONS),
        "discipline": discipline(),
        "step": { "anyOf": [{ "type": "string" }, table(&STEP)] },
        "condition": table(&CONDITION_PART),
        "thresholds": thresholds(),
    });
    schema
}

fn form(pattern: &str, about: &str) -> Value {
    json!({ "description": about, "type": "string", "pattern": pattern })
}

fn time() -> String {
    format!(r"\s*(?:{DECIMAL}\s*(?:ms|us|µs|ns|s|m|h)\s*)+")
}

fn rate() -> String {
    format!(r"\s*{DECIMAL}\s*/\s*(?:s|sec|second|m|min|minute|h|hour|{})\s*", time())
}

fn table(shape: &Shape) -> Value {
    let property = |key: &Key| {
        let mut schema = value(&key.value);
        if schema.get("$ref").is_some() {
            // Keys beside a reference are ignored.
            schema = json!({ "allOf": [schema] });
        }
        schema["description"] = key.about.into();
        (key.name.to_owned(), schema)
    };
    let properties: Map<String, Value> = shape.keys.iter().map(property).collect();
    let mut schema = json!({
        "description": shape.about,
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    });
    if !shape.needed.is_empty() {
        schema["required"] = shape.needed.into();
    }
    if !shape.one_of.is_empty() {
        schema["oneOf"] = shape.one_of.iter().map(|name| json!({ "required": [name] })).collect();
    }
    if !shape.some_of.is_empty() {
        schema["anyOf"] = shape.some_of.iter().map(|name| json!({ "required": [name] })).collect();
    }
    schema
}

fn value(kind: &Kind) -> Value {
    match kind {
        Kind::Time => json!({ "$ref": "#/$defs/time" }),
        Kind::Rate => json!({ "$ref": "#/$defs/rate" }),
        Kind::RateOrZero => json!({ "$ref": "#/$defs/rate_or_zero" }),
        Kind::Distribution => json!({ "$ref": "#/$defs/distribution" }),
        Kind::Discipline => json!({ "$ref": "#/$defs/discipline" }),
        Kind::Step => json!({ "$ref": "#/$defs/step" }),
        Kind::Condition => json!({ "$ref": "#/$defs/condition" }),
        Kind::Thresholds => json!({ "$ref": "#/$defs/thresholds" }),
        Kind::Text | Kind::Template | Kind::File => json!({ "type": "string" }),
        Kind::Form(pattern) => json!({ "type": "string", "pattern": pattern }),
        Kind::Choice(names) => json!({ "type": "string", "enum": names }),
        Kind::Number(least) if least.is_finite() => json!({ "type": "number", "minimum": least }),
        Kind::Number(_) => json!({ "type": "number" }),
        Kind::Whole(least, u64::MAX) => json!({ "type": "integer", "minimum": least }),
        Kind::Whole(least, most) => json!({ "type": "integer", "minimum": least, "maximum": most }),
        Kind::Boolean => json!({ "type": "boolean" }),
        Kind::Only(truth) => json!({ "const": truth }),
        Kind::Table(shape) => table(shape),
        Kind::List(item) => json!({ "type": "array", "items": value(item) }),
        Kind::Pair(first, second) => json!({
            "type": "array", "items": [value(first), value(second)], "additionalItems": false, "minItems": 2,
        }),
        Kind::Triple(items) => json!({
            "type": "array", "items": items.iter().map(value).collect::<Vec<_>>(), "additionalItems": false, "minItems": 3,
        }),
        Kind::Named(item) => json!({ "type": "object", "additionalProperties": value(item) }),
        Kind::Any(kinds) => json!({ "anyOf": kinds.iter().map(value).collect::<Vec<_>>() }),
    }
}

fn discipline() -> Value {
    let names: Vec<String> = Policy::all().map(|policy| policy.to_string()).collect();
    let set = format!(r"^(?:ps:\+?\d+(?::priority)?|(?:sejf|pesjf|lejf|peljf):{NUMBER}|rr:{})$", time());
    json!({
        "description": "Scheduling discipline: a name, or a name with a parameter, such as \"ps:16\", \"sejf:0.5\" or \"rr:10ms\".",
        "anyOf": [{ "type": "string", "enum": names }, { "type": "string", "pattern": set }],
    })
}

/// Metrics and their bounds, as [`crate::threshold`] reads them.
fn thresholds() -> Value {
    let label = r"\s*(?:\{[^{}]+\})?\s*$";
    let samples = r"response\.ok\.|response\.|service\.ok\.|service\.|lateness\.|page\.|objects\.|visit\.duration\.|visit\.|group\.duration\.|group\.|ttft\.|tpot\.|gap\.|itl\.";
    let times = format!(r"^\s*(?:{samples})?(?:mean|max|p{NUMBER}){label}");
    let limits = [
        (times, time(), "A bound of a time, such as \"< 250ms\" or \"10ms..20ms\"."),
        (
            format!(
                r"^\s*(?:errors(?:\.rate)?|page\.errors|objects\.errors|visits\.success|groups\.success|checks\.failed|goodput\.share){label}"
            ),
            format!(r"\s*{NUMBER}\s*%?\s*"),
            "A bound of a share, such as \"< 0.1%\".",
        ),
        (
            format!(r"^\s*(?:throughput|throughput\.rate|goodput|goodput\.rate|tokens\.rate|arrivals\.rate){label}"),
            rate(),
            "A bound of a rate, such as \"> 90/s\".",
        ),
        (
            format!(r"^\s*(?:arrivals\.cov|attempts\.per_request|metric\.(?:mean|max|p{NUMBER})){label}"),
            format!(r"\s*{NUMBER}\s*"),
            "A bound of a number, such as \"0.95..1.05\".",
        ),
    ];
    let bound = |(metric, limit, about): &(String, String, &str)| {
        let bound = form(&format!(r"^\s*(?:[<>]=?{limit}|=?{limit}\.\.{limit})$"), about);
        let mut stopping = table(&THRESHOLD);
        stopping["properties"]["bound"] = bound.clone();
        (metric.clone(), json!({ "anyOf": [bound, stopping] }))
    };
    json!({
        "description": "Metrics in quotes and their bounds: \"response.p99\" = \"< 250ms\", \"response.p90{home}\", \"errors.rate\", \
                        \"throughput.rate\", \"arrivals.cov\".",
        "type": "object",
        "patternProperties": limits.iter().map(bound).collect::<Map<String, Value>>(),
        "additionalProperties": false,
    })
}
