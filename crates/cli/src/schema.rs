//! `offered schema`: what the documents and the workload file may hold, for editors and other programs.

use offered_experiment::Summary;
use offered_experiment::calibrate::Calibration;
use offered_experiment::document::{Record, capacity, demo, plan, simulate, sweep};
use offered_import::document::Imported;
use offered_logs::document as logs;
use offered_model::document::Document;
use offered_report::Report;
use offered_verify::{Verdict, Verdicts};
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde_json::Value;

use crate::exit::{Exit, Failure};
use crate::say::{json, say};

const EXAMPLES: &str = "\
Examples:
  offered schema                                     the names
  offered schema run
  offered schema workload > workload.schema.json     an editor completes and checks workload.toml with it

Exit codes: 0 done; 2 wrong input.";

/// Print the JSON Schema of the workload file, or of what another verb prints as JSON
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// workload, or the document: run, or offered.run/1; without it, all of them with a line each
    name: Option<String>,
}

/// Something that has a schema.
struct Known {
    /// What its documents call themselves: `offered.plan.solve/1`; of the workload file, `workload`.
    called: &'static str,
    schema: fn() -> Schema,
}

/// All of them, in the order in which they are met.
const DOCUMENTS: &[Known] = &[
    Known { called: "workload", schema: of_workload },
    Known::document::<Summary>(),
    Known::document::<Verdict>(),
    Known::document::<Verdicts>(),
    Known::document::<Record>(),
    Known::document::<sweep::Document>(),
    Known::document::<capacity::Document>(),
    Known::document::<simulate::Document>(),
    Known::document::<plan::Emulation>(),
    Known::document::<plan::Populations>(),
    Known::document::<plan::Curve>(),
    Known::document::<plan::WebUsers>(),
    Known::document::<plan::Solutions>(),
    Known::document::<plan::Mix>(),
    Known::document::<plan::Comparison>(),
    Known::document::<logs::Document>(),
    Known::document::<Report>(),
    Known::document::<Imported>(),
    Known::document::<Calibration>(),
    Known::document::<demo::Demo>(),
];

impl Known {
    const fn document<D: Document + JsonSchema>() -> Self {
        Self { called: D::SCHEMA, schema: of_document::<D> }
    }

    /// `plan.solve`.
    fn name(&self) -> &'static str {
        let version = self.called.rfind('/').unwrap_or(self.called.len());
        self.called[..version].trim_start_matches("offered.")
    }

    /// What it is, in a line.
    fn line(&self) -> String {
        let schema = (self.schema)();
        let description = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        description.split_once(". ").map_or(description, |(first, _)| first).trim_end_matches('.').to_owned()
    }
}

fn of_workload() -> Schema {
    Schema::try_from(offered_model::workload::schema()).expect("a schema is an object")
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let Some(name) = &args.name else {
        for known in DOCUMENTS {
            say!("{:<18}{}", known.name(), known.line());
        }
        return Ok(Exit::Done);
    };
    let Some(known) = DOCUMENTS.iter().find(|known| known.name() == name || known.called == name) else {
        let names: Vec<&str> = DOCUMENTS.iter().map(Known::name).collect();
        return Err(Failure::input(format!("there is no schema `{name}`; there are {}", names.join(", "))));
    };
    json(&(known.schema)());
    Ok(Exit::Done)
}

/// The schema of a document as it is printed: every key that is always there is required.
fn of_document<D: Document + JsonSchema>() -> Schema {
    let mut schema = SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<D>();
    schema.insert("title".to_owned(), D::SCHEMA.into());
    RecursiveTransform(plain).transform(&mut schema);
    schema
}

/// The comments of fields are written for rustdoc: its links and escapes mean nothing here, nor do the ends of its lines.
fn plain(schema: &mut Schema) {
    let Some(Value::String(text)) = schema.get_mut("description") else { return };
    let mut words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for (link, plain) in [("[`", "`"), ("`]", "`"), ("\\[", "["), ("\\]", "]")] {
        words = words.replace(link, plain);
    }
    *text = words;
}
