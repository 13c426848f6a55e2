//! `offered schema`: prints the JSON Schemas of the workload file and of all JSON documents.

use offered_events::document::Document;
use offered_experiment::Summary;
use offered_experiment::calibrate::Calibration;
use offered_experiment::document::{Record, capacity, demo, simulate, sweep};
use offered_import::document::ImportDocument;
use offered_logs::document as logs;
use offered_plan::document as plan;
use offered_report::Report;
use offered_verify::{Verdict, Verdicts};
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde_json::Value;

use crate::exit::{Exit, Failure};
use crate::output::{json, out};

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

/// A document with a schema.
struct DocumentType {
    /// The `schema` key of the document, for example `offered.plan.solve/1`; `workload` for the workload file.
    id: &'static str,
    schema: fn() -> Schema,
}

/// All schemas, in the order of the list.
const DOCUMENTS: &[DocumentType] = &[
    DocumentType { id: "workload", schema: of_workload },
    DocumentType::document::<Summary>(),
    DocumentType::document::<Verdict>(),
    DocumentType::document::<Verdicts>(),
    DocumentType::document::<Record>(),
    DocumentType::document::<sweep::Document>(),
    DocumentType::document::<capacity::Document>(),
    DocumentType::document::<simulate::Document>(),
    DocumentType::document::<plan::Emulation>(),
    DocumentType::document::<plan::Populations>(),
    DocumentType::document::<plan::Curve>(),
    DocumentType::document::<plan::WebUsers>(),
    DocumentType::document::<plan::Solutions>(),
    DocumentType::document::<plan::FlowMix>(),
    DocumentType::document::<plan::Comparison>(),
    DocumentType::document::<logs::LogAnalysis>(),
    DocumentType::document::<Report>(),
    DocumentType::document::<ImportDocument>(),
    DocumentType::document::<Calibration>(),
    DocumentType::document::<demo::Demo>(),
];

impl DocumentType {
    const fn document<D: Document + JsonSchema>() -> Self {
        Self { id: D::SCHEMA, schema: of_document::<D> }
    }

    /// `plan.solve`.
    fn name(&self) -> &'static str {
        let version = self.id.rfind('/').unwrap_or(self.id.len());
        self.id[..version].trim_start_matches("offered.")
    }

    /// The first sentence of its description.
    fn line(&self) -> String {
        let schema = (self.schema)();
        let description = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        description.split_once(". ").map_or(description, |(first, _)| first).trim_end_matches('.').to_owned()
    }
}

fn of_workload() -> Schema {
    Schema::try_from(offered_workload::schema()).expect("a schema is an object")
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let Some(name) = &args.name else {
        for document in DOCUMENTS {
            out!("{:<18}{}", document.name(), document.line());
        }
        return Ok(Exit::Done);
    };
    let Some(document) = DOCUMENTS.iter().find(|document| document.name() == name || document.id == name) else {
        let names: Vec<&str> = DOCUMENTS.iter().map(DocumentType::name).collect();
        return Err(Failure::input(format!("no schema `{name}`; use one of {}", names.join(", "))));
    };
    json(&(document.schema)());
    Ok(Exit::Done)
}

/// The schema of a printed document: keys that are always present are required.
fn of_document<D: Document + JsonSchema>() -> Schema {
    let mut schema = SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<D>();
    schema.insert("title".to_owned(), D::SCHEMA.into());
    RecursiveTransform(plain).transform(&mut schema);
    schema
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
