//! Translates test plans of other tools into workloads.
//!
//! Each format has a reader in a module of its own. [`read`] turns a file into tool-independent [`Plan`]s;
//! [`Plan::text`] writes the workload. Everything that is not translated, or not exactly, becomes a [`Note`] with its
//! line.
//!
//! # Limitations
//! The servers of a `JMeter` plan become targets, and so do those of the site that a recording shows. For other files, only the
//! server with the most requests becomes a target; requests to other servers are omitted, with a note. A file with several thread
//! groups becomes several plans.

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
mod distinct_requests;
pub mod document;
mod har;
mod initial_values;
mod jmx;
mod k6;
mod locust;
mod note;
mod openapi;
mod pgbench;
mod plan;
mod postman;
mod properties;
mod request_list;
pub mod scripts;
mod shell;
mod swagger;
#[cfg(test)]
mod tests;
mod text;
mod unique_names;
mod unsupported;
mod url_list;
mod write;

pub use note::Note;
pub use plan::{Arrivals, Block, Flow, Phase, Plan, RateProfile, Request, Step, ValueSource, Variable};
pub use properties::read_properties;
pub use text::Text;

use std::collections::BTreeMap;
use std::fmt;

use data::Data;
use offered_base::{Nanos, sentence, visible};

/// Maximum size of a plan file in bytes (64 MiB).
pub const MAX_PLAN_BYTES: usize = 64 << 20;

/// The reason why a file could not be imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// An error at a known line.
    #[error("{file}:{line}: {message}")]
    Line {
        /// File name.
        file: String,
        /// Line number, starting at 1.
        line: usize,
        /// The problem, and what was expected.
        message: String,
    },
    /// An error that concerns the whole file.
    #[error("{}", sentence(file, message))]
    File {
        /// File name.
        file: String,
        /// The problem, and the next step.
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
    /// A text of the file contains a variable without a value.
    #[error("{file}: {element}: {kind} `{name}` has no value")]
    Unresolved {
        /// File name.
        file: String,
        /// The place in the file.
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
    /// Upper bound of pauses in a recording; longer pauses are shortened to this time.
    pub max_pause: Option<Nanos>,
    /// Hosts of a recording that get requests, with their subdomains; empty for the hosts of the site of its first page.
    pub hosts: &'g [String],
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
        let (Self::Line { message, .. }
        | Self::File { message, .. }
        | Self::UnresolvedHost { element: message, .. }
        | Self::Unresolved { element: message, .. }) = &mut self;
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
    /// `OpenAPI` 3 or Swagger 2.0 description, JSON or YAML.
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
    /// Statistics history of Locust, CSV.
    Locust,
    /// A list of URLs for siege or vegeta.
    Urls,
}

const SUPPORTED_FORMATS: &str = "a JMeter test plan (.jmx), a browser recording (HAR), an OpenAPI 3 or Swagger 2.0 description, a Postman collection, curl commands, a pgbench script or command, an Artillery script, the options of a k6 script, a statistics history of Locust, or a list of URLs (siege, vegeta)";

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
        Some(Format::Locust) => return locust::read(text, file, options).map(one),
        Some(Format::Urls) => return url_list::read(text, file, options).map(one),
        Some(_) => {}
        None if first == '<' => {
            return match unsupported::tsung_hint(text) {
                Some(hint) => Err(refused(hint)),
                None => jmx::read(text, file, options),
            };
        }
        None if locust::looks_like(text) => return locust::read(text, file, options).map(one),
        None if url_list::looks_like(text) => return url_list::read(text, file, options).map(one),
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
    let data = if format == Format::Openapi && data.get("swagger").is() { swagger::to_openapi(&data) } else { data };
    let plan = match format {
        Format::Har => har::read(&data, file, options),
        Format::Postman => postman::read(&data, file, options),
        Format::Artillery => artillery::read(&data, file, options),
        Format::K6 => return k6::read(&data, file, options),
        Format::Openapi | Format::Jmx | Format::Curl | Format::Pgbench | Format::Locust | Format::Urls => {
            openapi::read(&data, file, options)
        }
    };
    plan.map(one)
}

/// Whether `text`, the begin of a file, has the header of a statistics history of Locust. Other CSV files are results.
pub fn is_locust_history(text: &str) -> bool {
    locust::looks_like(text.trim_start_matches('\u{feff}'))
}

/// The format of `data`, or a message about the kind of file that it is.
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
        match data.get("swagger").plain() {
            version if ["2", "2.0"].contains(&version.as_str()) => Ok(Format::Openapi),
            version => Err(format!("is Swagger {version}; only version 2.0 and OpenAPI 3.0 to 3.2 are supported")),
        }
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
