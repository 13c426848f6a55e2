//! `offered schema`: the schemas in `schemas/` are those of the types, and documents conform to them.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;

use serde_json::Value;

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
        let text: Value = serde_json::from_str(&offered(&[schema])).unwrap();
        read.push((schema.to_owned(), jsonschema::validator_for(&text).unwrap()));
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
    let names: Vec<String> =
        offered(&[]).lines().map(|line| line.split_whitespace().next().unwrap().to_owned()).collect();
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    for name in &names {
        let (printed, file) = (offered(&[name]), folder().join(format!("{name}.json")));
        if update {
            fs::write(&file, &printed).unwrap();
        }
        let kept = fs::read_to_string(&file).unwrap_or_default();
        assert!(kept == printed, "{}: UPDATE_GOLDEN=1 cargo test -p offered --test verbs schema", file.display());
        let schema: Value = serde_json::from_str(&printed).unwrap();
        jsonschema::meta::validate(&schema).unwrap_or_else(|why| panic!("{name}: {why}"));
    }
    let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let files: BTreeSet<String> = files.map(|file| file.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    assert_eq!(files, names.into_iter().collect());
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
    for line in offered(&[]).lines() {
        let (name, about) = line.split_once(' ').unwrap();
        assert!(!about.trim().is_empty(), "{name}");
        walk(&serde_json::from_str(&offered(&[name])).unwrap(), name);
    }
}

#[test]
fn names_and_schema_ids_are_accepted_and_others_list_the_names() {
    assert_eq!(offered(&["run"]), offered(&["offered.run/1"]));
    let output = Command::new(env!("CARGO_BIN_EXE_offered")).args(["schema", "rnu"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("there is no schema `rnu`; there are workload, run, verify,"), "{said}");
}
