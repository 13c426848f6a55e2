//! `offered schema`: prints the JSON Schemas of the workload file and of all JSON documents.
//!
//! The files under `schemas/` are generated from the types: `UPDATE_GOLDEN=1 cargo test -p offered --test verbs schema`.

use std::io::Read;

use flate2::read::DeflateDecoder;
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
    text: String,
}

/// The names of all schemas, in the order of the list.
const NAMES: [&[&str]; 3] = [
    &["workload", "run", "verify", "verify-several", "run-directory", "sweep", "capacity", "compare", "simulate"],
    &["plan.emulate", "plan.table", "plan.curve", "plan.web-users", "plan.solve", "plan.flows", "plan.compare"],
    &["fit", "logs", "logs.each", "report", "import", "calibrate", "demo", "version"],
];

/// Title of the schema of the workload file.
pub(crate) const WORKLOAD_TITLE: &str = "offered workload";

/// All schemas, in the order of [`NAMES`].
fn schemas() -> Vec<NamedSchema> {
    const COMPRESSED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/schemas.deflate"));
    let mut text = String::new();
    DeflateDecoder::new(COMPRESSED).read_to_string(&mut text).expect("the build compressed texts");
    let parts: Vec<&str> = text.split('\0').collect();
    let text_of =
        |name| parts.chunks_exact(2).find(|pair| pair[0] == name).expect("every name has a file")[1].to_owned();
    NAMES.concat().into_iter().map(|name| NamedSchema { name, text: text_of(name) }).collect()
}

/// The schema of the workload file.
pub(crate) fn workload() -> String {
    schemas().swap_remove(0).text
}

impl NamedSchema {
    fn property(&self, key: &str) -> String {
        let schema: Value = serde_json::from_str(&self.text).expect("schemas are JSON");
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
        for schema in schemas() {
            out!("{:<18}{}", schema.name, schema.summary());
        }
        return Ok(Exit::Done);
    };
    let Some(schema) = schemas().into_iter().find(|schema| schema.name == name || schema.id() == *name) else {
        return Err(Failure::input(format!("no schema `{name}`; use one of {}", NAMES.concat().join(", "))));
    };
    out!("{}", schema.text.trim_end());
    Ok(Exit::Done)
}
