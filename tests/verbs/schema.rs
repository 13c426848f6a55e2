//! `offered schema`: the schemas in `schemas/` are those of the types, and documents conform to them.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;

use offered_events::document::Document;
use offered_experiment::Summary;
use offered_experiment::calibrate::Calibration;
use offered_experiment::document::version::Version;
use offered_experiment::document::{Record, capacity, compare, demo, simulate, sweep};
use offered_import::document::ImportDocument;
use offered_logs::document as logs;
use offered_plan::document as plan;
use offered_report::Report;
use offered_verify::{Verdict, Verdicts};
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde_json::Value;

/// The schemas of all documents with their `schema` key (`workload` for the workload file), generated from the types.
fn schemas() -> Vec<(&'static str, Schema)> {
    fn document<D: Document + JsonSchema>() -> (&'static str, Schema) {
        let mut schema = SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<D>();
        schema.insert("title".to_owned(), D::SCHEMA.into());
        RecursiveTransform(plain).transform(&mut schema);
        (D::SCHEMA, schema)
    }
    vec![
        ("workload", offered_workload::schema().try_into().expect("a schema is an object")),
        document::<Summary>(),
        document::<Verdict>(),
        document::<Verdicts>(),
        document::<Record>(),
        document::<sweep::Document>(),
        document::<capacity::Document>(),
        document::<compare::Document>(),
        document::<simulate::Document>(),
        document::<plan::Emulation>(),
        document::<plan::Populations>(),
        document::<plan::Curve>(),
        document::<plan::WebUsers>(),
        document::<plan::Solutions>(),
        document::<plan::FlowMix>(),
        document::<plan::Comparison>(),
        document::<logs::LogAnalysis>(),
        document::<logs::LogAnalyses>(),
        document::<Report>(),
        document::<ImportDocument>(),
        document::<Calibration>(),
        document::<demo::Demo>(),
        document::<Version>(),
    ]
}

/// Removes rustdoc links, escapes and line breaks from descriptions.
fn plain(schema: &mut Schema) {
    let Some(Value::String(text)) = schema.get_mut("description") else { return };
    let mut words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for (link, plain) in [("[`", "`"), ("`]", "`"), ("\\[", "["), ("\\]", "]")] {
        words = words.replace(link, plain);
    }
    *text = words;
}

/// The name of a schema, for example `plan.solve`.
fn name(id: &str) -> &str {
    id.split('/').next().unwrap_or(id).trim_start_matches("offered.")
}

fn offered(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_offered")).arg("schema").args(args).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../schemas")
}

/// Checks `document` against the schema with this name.
pub(crate) fn holds(schema: &str, document: &Value) {
    static READ: Mutex<Vec<(String, jsonschema::Validator)>> = Mutex::new(Vec::new());
    let mut read = READ.lock().unwrap();
    if read.iter().all(|(name, _)| name != schema) {
        let schemas = schemas();
        let (_, text) = schemas.iter().find(|(id, _)| *id == schema || name(id) == schema).unwrap();
        read.push((schema.to_owned(), jsonschema::validator_for(text.as_value()).unwrap()));
    }
    let (_, validator) = read.iter().find(|(name, _)| name == schema).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(document).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{schema}: {errors:?}\n{document:#}");
    // A document with a missing or changed key must be refused.
    for key in document.as_object().unwrap().keys() {
        let mut other = document.clone();
        other[key] = serde_json::json!({ "another": ["thing"] });
        assert!(!validator.is_valid(&other), "{schema}: anything may be under {key}");
    }
    let mut other = document.clone();
    other.as_object_mut().unwrap().remove("schema");
    assert!(!validator.is_valid(&other), "{schema}: a document may have no name");
}

#[test]
fn the_committed_schemas_are_those_of_the_types() {
    let (schemas, update) = (schemas(), std::env::var_os("UPDATE_GOLDEN").is_some());
    for (id, schema) in &schemas {
        let file = folder().join(format!("{}.json", name(id)));
        let generated = serde_json::to_string_pretty(schema).unwrap() + "\n";
        if update {
            fs::write(&file, &generated).unwrap();
        }
        let kept = fs::read_to_string(&file).unwrap_or_default();
        assert!(kept == generated, "{}: UPDATE_GOLDEN=1 cargo test -p offered --test verbs schema", file.display());
        // The program holds the files as they were when it was compiled.
        assert!(update || offered(&[id]) == generated, "{id}");
        jsonschema::meta::validate(schema.as_value()).unwrap_or_else(|why| panic!("{id}: {why}"));
    }
    let names: BTreeSet<String> = schemas.iter().map(|(id, _)| name(id).to_owned()).collect();
    let listed: BTreeSet<String> =
        offered(&[]).lines().map(|line| line.split_whitespace().next().unwrap().to_owned()).collect();
    assert_eq!(listed, names);
    let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let files: BTreeSet<String> = files.map(|file| file.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    assert_eq!(files, names);
}

#[test]
fn every_key_has_a_description() {
    fn walk(schema: &Value, place: &str) {
        let Some(fields) = schema.as_object() else { return };
        for (name, key) in fields.get("properties").and_then(Value::as_object).into_iter().flatten() {
            // Names of statistics need no description.
            let said =
                key.get("description").or(key.get("const")).is_some() || key["type"] == "number" || name.len() < 5;
            assert!(said, "{place}.{name}");
        }
        for (name, inner) in fields {
            walk(inner, &format!("{place}.{name}"));
        }
    }
    for (id, schema) in schemas() {
        assert!(schema.get("description").is_some(), "{id}");
        walk(schema.as_value(), id);
    }
}

#[test]
fn names_and_schema_ids_are_accepted_and_others_list_the_names() {
    assert_eq!(offered(&["run"]), offered(&["offered.run/1"]));
    let output = Command::new(env!("CARGO_BIN_EXE_offered")).args(["schema", "rnu"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("no schema `rnu`; use one of workload, run, verify,"), "{said}");
}
