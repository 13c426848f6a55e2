//! Translates test plans of other tools into workloads.
//!
//! Each format has a reader in a module of its own. [`read`] turns a file into tool-independent [`Plan`]s;
//! [`Plan::text`] writes the workload. Everything that is not translated, or not exactly, becomes a [`Note`] with its
//! line.
//!
//! # Limitations
//! The servers of a `JMeter` plan become targets. Of other files only the server with most requests is a target; requests to others
//! are left out and noted. A file with several thread groups becomes several plans.

mod action;
mod address;
mod artillery;
mod body;
mod boolean;
mod chain;
mod combine;
mod curl;
mod data;
mod delay;
pub mod document;
mod har;
mod initial_values;
mod jmx;
mod k6;
mod note;
mod openapi;
mod pgbench;
mod plan;
mod postman;
mod properties;
mod request_list;
pub mod scripts;
mod shell;
#[cfg(test)]
mod tests;
mod text;
mod unique_name;
mod unsupported;
mod write;

pub use note::Note;
pub use plan::{Arrivals, Block, Flow, Phase, Plan, RateProfile, Request, Step, ValueSource, Variable};
pub use properties::read_properties;
pub use text::Text;

use std::collections::BTreeMap;
use std::fmt;

use data::Data;
use offered_base::{Nanos, visible};

/// Maximum size of a plan file in bytes (64 MiB).
pub const MAX_PLAN_BYTES: usize = 64 << 20;

/// Reason why a file could not be imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// An error at a known line.
    #[error("{file}:{line}: {message}")]
    Line {
        /// File name.
        file: String,
        /// Line number, starting at 1.
        line: usize,
        /// What is wrong and what was expected.
        message: String,
    },
    /// An error that concerns the whole file.
    #[error("{file}: {message}")]
    File {
        /// File name.
        file: String,
        /// What is wrong and what to do.
        message: String,
    },
    /// The host name of a request contains a variable or property without a value.
    #[error("{file}: the host of {element} is unknown: {kind} `{name}` has no value")]
    UnresolvedHost {
        /// File name.
        file: String,
        /// The request, with its line if the file has lines.
        element: String,
        /// Whether a variable or a property has no value.
        kind: ParameterKind,
        /// Name of the variable or property.
        name: String,
    },
}

/// A parameter of a plan that the user can set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// A variable.
    Variable,
    /// A `JMeter` property (`jmeter -J`).
    Property,
}

impl fmt::Display for ParameterKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Variable => "the variable",
            Self::Property => "the property",
        })
    }
}

/// Settings of an import.
#[derive(Clone, Copy, Default)]
pub struct ImportOptions<'g> {
    /// File format; `None` detects it from the content.
    pub format: Option<Format>,
    /// Values of variables; they override the values in the file.
    pub variables: Option<&'g BTreeMap<String, String>>,
    /// Values of `JMeter` properties.
    pub properties: Option<&'g BTreeMap<String, String>>,
    /// Upper bound of pauses in a recording; longer pauses are shortened to it.
    pub max_pause: Option<Nanos>,
    /// Reads a file that the plan includes; `None` if no other file may be read.
    pub read_include: Option<&'g IncludeReader<'g>>,
}

/// Returns the text of an included file by the name that the plan uses, or the reason why it cannot be read.
pub type IncludeReader<'g> = dyn Fn(&str) -> Result<String, String> + 'g;

impl<'g> ImportOptions<'g> {
    fn variable(&self, name: &str) -> Option<&'g str> {
        self.variables?.get(name).map(String::as_str)
    }

    fn property(&self, name: &str) -> Option<&'g str> {
        self.properties?.get(name).map(String::as_str)
    }
}

impl Error {
    /// Makes the message readable in one line, because messages quote arbitrary file content, and limits the length.
    fn into_one_line(mut self) -> Self {
        let (Self::Line { message, .. } | Self::File { message, .. } | Self::UnresolvedHost { element: message, .. }) =
            &mut self;
        let line = message.replace(['\r', '\n', '\t'], " ");
        let line = visible(&line);
        *message = if line.len() > 500 { line.chars().take(400).collect() } else { line.into_owned() };
        self
    }
}

/// A file format of test plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `JMeter` test plan (.jmx).
    Jmx,
    /// Browser recording (HTTP Archive, .har).
    Har,
    /// `OpenAPI` 3 description, JSON or YAML.
    Openapi,
    /// Postman collection.
    Postman,
    /// curl commands.
    Curl,
    /// pgbench script, or a command that runs pgbench scripts.
    Pgbench,
    /// Artillery script, YAML or JSON.
    Artillery,
    /// Options of a k6 script, JSON.
    K6,
}

const SUPPORTED_FORMATS: &str = "a JMeter test plan (.jmx), a browser recording (HAR), an OpenAPI 3 description, a Postman collection, curl commands, a pgbench script or command, an Artillery script, or the options of a k6 script";

/// Reads the plans in `text`, the content of `file`: one plan for each thread group. Without [`ImportOptions::format`]
/// the format is detected from the content; the file name does not matter.
///
/// # Errors
/// The text is malformed, truncated, too large, of unknown format or without requests; it is a script of a tool whose
/// plans are programs; or the host of a request is unknown.
pub fn read(text: &str, file: &str, options: &ImportOptions) -> Result<Vec<Plan>, Error> {
    read_plans(text, file, options).map_err(Error::into_one_line)
}

fn read_plans(text: &str, file: &str, options: &ImportOptions) -> Result<Vec<Plan>, Error> {
    let refused = |message: String| Error::File { file: file.to_owned(), message };
    if text.len() > MAX_PLAN_BYTES {
        return Err(refused(format!("larger than {} MiB, the maximum size of a plan", MAX_PLAN_BYTES >> 20)));
    }
    let text = text.trim_start_matches('\u{feff}');
    let first = text.trim_start().chars().next().ok_or_else(|| refused("is empty".to_owned()))?;
    let one = |plan: Plan| vec![plan];
    match options.format {
        Some(Format::Jmx) => return jmx::read(text, file, options),
        Some(Format::Curl) => return curl::read(text, file, options).map(one),
        Some(Format::Pgbench) => return pgbench::read(text, file, options).map(one),
        Some(_) => {}
        None if first == '<' => return jmx::read(text, file, options),
        None if !['{', '['].contains(&first) => {
            // An OpenAPI description may quote curl commands and scripts of other tools, and a script may contain a
            // description.
            let openapi = openapi::starts_with_key(text)
                || openapi::looks_like(text)
                    && (!curl::has_unindented_command(text) || openapi::is_description(text, file));
            let is_data = openapi || artillery::looks_like(text);
            if let Some(hint) = unsupported::hint(text).filter(|_| !is_data) {
                return Err(refused(hint));
            }
            if !is_data && curl::has_command(text) {
                return curl::read(text, file, options).map(one);
            }
            if !is_data && pgbench::looks_like(text) {
                return pgbench::read(text, file, options).map(one);
            }
            if !is_data {
                return Err(refused(format!("unknown file format; expected {SUPPORTED_FORMATS}")));
            }
        }
        None => {}
    }
    let data = if ['{', '['].contains(&first) { data::json(text, file)? } else { data::yaml(text, file)? };
    let format = options.format.map_or_else(|| detect_format(&data).map_err(refused), Ok)?;
    let plan = match format {
        Format::Har => har::read(&data, file, options),
        Format::Postman => postman::read(&data, file, options),
        Format::Artillery => artillery::read(&data, file, options),
        Format::K6 => return k6::read(&data, file, options),
        Format::Openapi | Format::Jmx | Format::Curl | Format::Pgbench => openapi::read(&data, file, options),
    };
    plan.map(one)
}

/// The format of `data`, or a message that says what `data` is instead.
fn detect_format(data: &Data) -> Result<Format, String> {
    let schema = data.at(&["info", "schema"]).text();
    if data.at(&["log", "entries"]).is() {
        Ok(Format::Har)
    } else if artillery::is_script(data) {
        Ok(Format::Artillery)
    } else if k6::has_options(data) {
        Ok(Format::K6)
    } else if data.get("openapi").is() {
        match data.get("openapi").plain() {
            version if version.starts_with("3.") => Ok(Format::Openapi),
            version => Err(format!("is OpenAPI {version}; only versions 3.0 to 3.2 are supported")),
        }
    } else if data.get("swagger").is() {
        let version = data.get("swagger").plain();
        Err(format!(
            "is Swagger {version}; convert it to OpenAPI 3 (for example: npx swagger2openapi FILE) and import the result"
        ))
    } else if schema.contains("/collection/v2") || data.at(&["info", "_postman_id"]).is() && data.get("item").is() {
        Ok(Format::Postman)
    } else if data.get("collection").get("item").is() {
        Err("is a response of the Postman API; save the value of `collection` as a file and import that".to_owned())
    } else if schema.contains("/collection/v1") || data.get("order").is() && data.get("requests").is() {
        Err("is a Postman collection v1; export it as Collection v2.1".to_owned())
    } else if data.get("_postman_variable_scope").is() {
        Err("is a Postman environment; export the collection, and write the values of the environment under [variables]".to_owned())
    } else {
        Err(format!("unknown file format; expected {SUPPORTED_FORMATS}"))
    }
}
