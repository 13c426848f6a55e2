//! `offered schema`: prints the JSON Schemas of the workload file and of all JSON documents.
//!
//! The files under `schemas/` are generated from the types: `UPDATE_GOLDEN=1 cargo test -p offered --test verbs schema`.

use serde_json::Value;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::out;

const EXAMPLES: &str = "\
Examples:
  offered schema                                     the list of schemas
  offered schema run
  offered schema workload > workload.schema.json     for completion in an editor

Exit codes: 0 done; 2 wrong input.";

/// Print the JSON Schema of the workload file or of another command's JSON
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Schema name: workload, run, offered.run/1, ... [default: list all]
    name: Option<String>,
}

/// A schema that this command prints.
struct NamedSchema {
    /// The name without `offered.` and version, for example `plan.solve`.
    name: &'static str,
    /// The JSON Schema.
    text: &'static str,
}

macro_rules! schemas {
    ($($name:literal)+) => {
        &[$(NamedSchema { name: $name, text: include_str!(concat!("../../../schemas/", $name, ".json")) }),+]
    };
}

/// All schemas, in the order of the list.
const SCHEMAS: &[NamedSchema] = schemas! {
    "workload" "run" "verify" "verify-several" "run-directory" "sweep" "capacity" "compare" "simulate" "plan.emulate" "plan.table"
    "plan.curve" "plan.web-users" "plan.solve" "plan.flows" "plan.compare" "logs" "logs.each" "report" "import" "calibrate" "demo" "version"
};

/// Title of the schema of the workload file.
pub(crate) const WORKLOAD_TITLE: &str = "offered workload";

/// The schema of the workload file.
pub(crate) fn workload() -> &'static str {
    SCHEMAS[0].text
}

impl NamedSchema {
    fn property(&self, key: &str) -> String {
        let schema: Value = serde_json::from_str(self.text).expect("schemas are JSON");
        schema[key].as_str().unwrap_or_default().to_owned()
    }

    /// The `schema` key of the document, for example `offered.plan.solve/1`.
    fn id(&self) -> String {
        self.property("title")
    }

    /// The first sentence of the description.
    fn summary(&self) -> String {
        let description = self.property("description");
        description.split_once(". ").map_or(&*description, |(first, _)| first).trim_end_matches('.').to_owned()
    }
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let Some(name) = &args.name else {
        for schema in SCHEMAS {
            out!("{:<18}{}", schema.name, schema.summary());
        }
        return Ok(Exit::Done);
    };
    let Some(schema) = SCHEMAS.iter().find(|schema| schema.name == name || schema.id() == *name) else {
        let names: Vec<&str> = SCHEMAS.iter().map(|schema| schema.name).collect();
        return Err(Failure::input(format!("no schema `{name}`; use one of {}", names.join(", "))));
    };
    out!("{}", schema.text.trim_end());
    Ok(Exit::Done)
}
