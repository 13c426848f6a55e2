use std::collections::HashMap;
use std::path::Path;
use std::sync::LazyLock;

use jsonschema::Validator;
use proptest::prelude::*;
use proptest::string::string_regex;
use serde_json::{Value, json};
use toml::de::{DeTable, DeValue};

use super::schema;
use crate::Workload;
use crate::write::tests::{read, workload};
use crate::{Policy, Threshold};
use offered_base::time::{Nanos, Rate};

static SCHEMA: LazyLock<Validator> = LazyLock::new(|| jsonschema::validator_for(&schema()).unwrap());

/// The JSON equivalent of a TOML text.
fn json(text: &str) -> Value {
    fn of(value: &DeValue<'_>) -> Value {
        match value {
            DeValue::String(text) => text.as_ref().into(),
            DeValue::Integer(number) => serde_json::from_str(number.as_str()).unwrap(),
            DeValue::Float(number) => serde_json::from_str(number.as_str()).unwrap(),
            DeValue::Boolean(truth) => (*truth).into(),
            DeValue::Datetime(instant) => instant.to_string().into(),
            DeValue::Array(items) => items.iter().map(|item| of(item.get_ref())).collect(),
            DeValue::Table(entries) => of_table(entries),
        }
    }
    fn of_table(table: &DeTable<'_>) -> Value {
        table.iter().map(|(key, value)| (key.get_ref().to_string(), of(value.get_ref()))).collect()
    }
    of_table(DeTable::parse(text).unwrap_or_else(|why| panic!("{why}\n{text}")).get_ref())
}

/// The errors of a workload file against the schema.
fn against(text: &str) -> Vec<String> {
    SCHEMA.iter_errors(&json(text)).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// The schema's definitions, each by itself.
static DEFINITIONS: LazyLock<HashMap<String, Validator>> = LazyLock::new(|| {
    let schema = schema();
    let names = schema["$defs"].as_object().unwrap().keys();
    let part = |name: &String| json!({ "$schema": schema["$schema"], "allOf": [{ "$ref": format!("#/$defs/{name}") }], "$defs": schema["$defs"] });
    names.map(|name| (name.clone(), jsonschema::validator_for(&part(name)).unwrap())).collect()
});

/// Whether a value is valid for a definition of the schema.
fn takes(definition: &str, value: &Value) -> bool {
    DEFINITIONS[definition].is_valid(value)
}

proptest! {
    #[test]
    fn written_workloads_satisfy_the_schema(text in workload()) {
        prop_assert_eq!(against(&text), Vec::<String>::new(), "{}", text);
        let written = read(&text).to_string();
        prop_assert_eq!(against(&written), Vec::<String>::new(), "{}", written);
    }

    #[test]
    fn texts_that_the_reader_takes_the_schema_takes(
        time in string_regex(" ?([0-9.]{1,4} ?(s|ms|m|h|us|µs|ns|d)? ?){1,3}").unwrap(),
        rate in string_regex(" ?[0-9.]{1,4} ?/ ?(s|sec|second|m|min|minute|h|hour|d|[0-9]{1,2}m?s)").unwrap(),
        policy in string_regex("(ps|rr|sejf|pesjf|fcfs|srpt|fb)(:[0-9.]{1,3}(ms|e1)?)?").unwrap(),
        metric in string_regex("(response.|response.ok.|service.|lateness.|)(mean|max|p99|p99.9|p)|errors|errors.rate|throughput|throughput.rate|arrivals.rate|arrivals.cov").unwrap(),
        label in string_regex("(\\{[a-z ]{1,3}\\})?").unwrap(),
        limit in string_regex("[0-9.]{1,3}(ms|s|%|/s|e-1)?").unwrap(),
        sign in string_regex("(<|<=|>|>=|=|) ?").unwrap(),
        range in any::<bool>(),
    ) {
        prop_assert!(time.parse::<Nanos>().is_err() || takes("time", &time.as_str().into()), "{}", time);
        prop_assert!(rate.parse::<Rate>().is_err() || takes("rate", &rate.as_str().into()), "{}", rate);
        prop_assert!(policy.parse::<Policy>().is_err() || takes("discipline", &policy.as_str().into()), "{}", policy);
        let bound = if range { format!("{sign}{limit}..{limit}") } else { format!("{sign}{limit}") };
        let metric = metric + &label;
        let threshold = json!({ &metric: &bound });
        prop_assert!(Threshold::new(&metric, &bound).is_err() || takes("thresholds", &threshold), "{}", threshold);
    }
}

#[test]
fn the_schema_takes_thresholds_of_all_metrics() {
    for (metric, bound) in [
        ("page.p95", "< 1s"),
        ("objects.mean", "< 1s"),
        ("visit.p95", "< 3s"),
        ("visit.duration.p95{buyer}", "< 30s"),
        ("visits.success", "> 99%"),
        ("group.p95{checkout}", "< 2s"),
        ("metric.p95{rows}", "<= 100"),
        ("metric.mean{rows}", "9..11"),
        ("group.duration.mean", "< 9s"),
        ("groups.success", "> 99%"),
        ("response.p95{buyer/cart}", "< 1s"),
        ("ttft.p95{chat}", "< 500ms"),
        ("tpot.max", "< 50ms"),
        ("gap.p99", "< 1s"),
        ("itl.p99", "< 1s"),
        ("page.errors", "< 1%"),
        ("objects.errors", "< 1%"),
        ("checks.failed", "< 1%"),
        ("goodput.share", "> 95%"),
        ("goodput", "> 9/s"),
        ("goodput.rate", "> 9/s"),
        ("tokens.rate", "> 100/s"),
        ("attempts.per_request", "< 1.5"),
    ] {
        let threshold = json!({ metric: bound });
        assert!(Threshold::new(metric, bound).is_ok() && takes("thresholds", &threshold), "{threshold}");
    }
}

#[test]
fn every_example_satisfies_the_schema() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> = files.filter(|path| path.extension().is_some_and(|kind| kind == "toml")).collect();
    assert!(files.len() > 5);
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(against(&text), Vec::<String>::new(), "{}", file.display());
    }
}

#[test]
fn the_reader_refuses_what_the_schema_refuses() {
    let open = "duration = \"10s\"\narrivals.open.rate = \"1/s\"\n";
    let closed = "duration = \"10s\"\narrivals.closed.users = 1\n";
    for text in [
        "duration = \"10s\"".to_owned(),
        "duration = 10\narrivals.open.rate = \"1/s\"".to_owned(),
        "duration = \"10 parsecs\"\narrivals.open.rate = \"1/s\"".to_owned(),
        "duration = \"10s\"\narrivals.open.rate = 1".to_owned(),
        "duration = \"10s\"\narrivals.open.rate = \"1\"".to_owned(),
        "duration = \"10s\"\narrivals.open.rat = \"1/s\"".to_owned(),
        "duration = \"10s\"\n[arrivals]".to_owned(),
        format!("{open}arrivals.closed.users = 1"),
        format!("{open}seeds = 1"),
        format!("{open}seed = -1"),
        format!("requests = 0\n{open}"),
        format!("{open}late = \"skipped\""),
        format!("{open}generator.threads = 0"),
        format!("{open}generator.threads = 5000"),
        format!("{open}target.url = \"ftp://a/\""),
        format!("{open}target = {{ url = \"http://a/\", redirects = 101 }}"),
        format!("{open}server = {{ service = \"10ms\" }}"),
        format!("{open}server = {{ service = {{ exponential = \"10ms\" }}, discipline = \"sptr\" }}"),
        format!("{open}server = {{ service = {{ exponential = \"10ms\", constant = \"1s\" }} }}"),
        format!("{open}server = {{ service = {{ gamma = {{ mean = \"10ms\" }} }} }}"),
        format!("{open}server = {{ service = {{ uniform = [\"10ms\"] }} }}"),
        format!("{open}server = {{ service = {{ exponential = \"10ms\" }}, rates = 2 }}"),
        format!("{open}server = {{ service = {{ exponential = \"10ms\" }}, rates = {{ coherence = 0.1 }} }}"),
        format!("{open}thresholds = {{ \"response.p99\" = \"250ms\" }}"),
        format!("{open}thresholds = {{ \"respons.p99\" = \"< 250ms\" }}"),
        format!("{open}thresholds = {{ \"errors.rate\" = \"< 1s\" }}"),
        format!("{open}thresholds.response.p99 = \"< 250ms\""),
        format!("{open}thresholds.errors = {{ bound = \"< 1s\", stop = true }}"),
        format!("{open}thresholds.errors = {{ bound = \"< 1%\", stop = \"yes\" }}"),
        format!("{open}[[request]]\nget = \"/\"\ncheck = [{{ status = 99 }}]"),
        format!("{open}[[request]]\nget = \"/\"\ncheck = [{{ contains = \"a\" }}]"),
        format!("{open}[[request]]\nget = \"/\"\nextract = [{{ name = \"a\" }}]"),
        format!("{open}[[request]]\nget = \"/\"\non_failure = \"end\""),
        format!("{open}[[request]]\nget = \"/\"\nweight = -1"),
        format!("{open}[variables]\na = {{ file = \"users.txt\" }}"),
        format!("{open}[variables]\na = {{ uuid = false }}"),
        format!("{closed}[[request]]\nget = \"/\"\n[[flow]]\nname = \"a\""),
        format!("{closed}[[request]]\nget = \"/\"\n[[flow]]\nname = \"a\"\n[[flow.step]]\nrequest = \"/\"\nrepeat = 0"),
    ] {
        assert_ne!(against(&text), Vec::<String>::new(), "the schema takes\n{text}");
        let read = Workload::parse(&text, "w.toml", &|_| Ok(Vec::new()));
        assert!(read.is_err(), "the reader takes\n{text}");
    }
}

#[test]
fn every_key_has_a_description() {
    fn walk(schema: &Value, place: &str, keys: &mut usize) {
        let Some(fields) = schema.as_object() else { return };
        for (name, key) in fields.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let about = key["description"].as_str().unwrap_or_default();
            assert!(about.len() > 1 && about.ends_with('.'), "{place}.{name}: {about}");
            *keys += 1;
        }
        for (name, inner) in fields {
            walk(inner, &format!("{place}.{name}"), keys);
            inner.as_array().into_iter().flatten().for_each(|item| walk(item, place, keys));
        }
    }
    let mut keys = 0;
    walk(&schema(), "", &mut keys);
    assert!(keys > 150, "{keys}");
}
