//! Plans of other tools as workloads: one file per format, one neutral [`Plan`], and a note of everything that was not
//! translated, with its place and what it would have done.
//!
//! # Limitations
//! A workload has one target and one `[arrivals]`: requests to other servers become notes, and a file with several thread
//! groups becomes several plans.

mod address;
mod body;
mod chain;
mod curl;
mod data;
mod delay;
pub mod document;
mod har;
mod initial_values;
mod jmx;
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
mod unsupported;
mod write;

pub use note::Note;
pub use plan::{Arrivals, Flow, Phase, Plan, RateProfile, Request, Step, ValueSource, Variable};
pub use properties::read_properties;
pub use text::Text;

use std::collections::BTreeMap;
use std::fmt;

use data::Data;
use offered_model::Nanos;

/// The largest file that is read, in bytes; what people write is a hundred times smaller.
pub const MAX_PLAN_BYTES: usize = 64 << 20;

/// Why a file was not imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Something wrong at a line.
    #[error("{file}:{line}: {message}")]
    Line {
        /// The file's name.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong, and what was expected.
        message: String,
    },
    /// Something wrong with the whole.
    #[error("{file}: {message}")]
    File {
        /// The file's name.
        file: String,
        /// What is wrong, and what to do.
        message: String,
    },
    /// Something goes to a server whose name has a part in it that nothing gives a value.
    #[error("{file}: {element} goes to a server whose name is not known: {kind} `{name}` has no value")]
    UnresolvedHost {
        /// The file's name.
        file: String,
        /// What goes there, with its line where the file has lines.
        element: String,
        /// What it is that has no value.
        kind: ParameterKind,
        /// Its name.
        name: String,
    },
}

/// Something that a value can be given from outside the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// A variable.
    Variable,
    /// A property of `JMeter`.
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

/// What is known beyond the file.
#[derive(Clone, Copy, Default)]
pub struct ImportOptions<'g> {
    /// The file's format; `None`: what stands in it tells.
    pub format: Option<Format>,
    /// Values of variables, which win over the file's own.
    pub variables: Option<&'g BTreeMap<String, String>>,
    /// Values of `JMeter`'s properties.
    pub properties: Option<&'g BTreeMap<String, String>>,
    /// Pauses of a recording that are longer are taken as so long.
    pub max_pause: Option<Nanos>,
    /// Reads a file that the plan includes, or says why it cannot.
    pub read_include: Option<&'g IncludeReader<'g>>,
}

/// The text of a file that a plan includes, by the name it has there; or why it cannot be read.
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
    /// Messages quote files, in which anything can stand.
    fn into_one_line(mut self) -> Self {
        let (Self::Line { message, .. } | Self::File { message, .. } | Self::UnresolvedHost { element: message, .. }) =
            &mut self;
        if message.contains(char::is_control) || message.len() > 500 {
            *message = message.chars().map(|c| if c.is_control() { ' ' } else { c }).take(400).collect();
        }
        self
    }
}

/// A format that plans are read in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A test plan of `JMeter`.
    Jmx,
    /// A browser's recording.
    Har,
    /// A description of an interface, in JSON or YAML.
    Openapi,
    /// A collection of Postman.
    Postman,
    /// Command lines of curl.
    Curl,
    /// A script for pgbench, or a command that runs some.
    Pgbench,
}

const SUPPORTED_FORMATS: &str = "a JMeter test plan (.jmx), a browser's recording (HAR), an OpenAPI 3 description, a Postman collection, curl commands, or a pgbench script or command";

/// The plans of `text`, the content of `file`: one for every group of users in it. Without a format, which one it is is detect_format
/// by what stands in it, whatever the file is called.
///
/// # Errors
/// A text that is broken, cut off, too large, of no known format, or without any request; a program of a tool whose plans are
/// programs; a request to a server whose name is not known.
pub fn read(text: &str, file: &str, options: &ImportOptions) -> Result<Vec<Plan>, Error> {
    read_plans(text, file, options).map_err(Error::into_one_line)
}

fn read_plans(text: &str, file: &str, options: &ImportOptions) -> Result<Vec<Plan>, Error> {
    let refused = |message: String| Error::File { file: file.to_owned(), message };
    if text.len() > MAX_PLAN_BYTES {
        return Err(refused(format!("larger than {} MiB; no plan is", MAX_PLAN_BYTES >> 20)));
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
            if let Some(hint) = unsupported::hint(text) {
                return Err(refused(hint));
            }
            let openapi = openapi::looks_like(text);
            // A description may quote commands.
            if (curl::has_unindented_command(text) || !openapi) && curl::has_command(text) {
                return curl::read(text, file, options).map(one);
            }
            if !openapi && pgbench::looks_like(text) {
                return pgbench::read(text, file, options).map(one);
            }
            if !openapi {
                return Err(refused(format!("not a plan that offered knows: {SUPPORTED_FORMATS}")));
            }
        }
        None => {}
    }
    let data = if ['{', '['].contains(&first) { data::json(text, file)? } else { data::yaml(text, file)? };
    let format = options.format.map_or_else(|| detect_format(&data).map_err(refused), Ok)?;
    let plan = match format {
        Format::Har => har::read(&data, file, options),
        Format::Postman => postman::read(&data, file, options),
        Format::Openapi | Format::Jmx | Format::Curl | Format::Pgbench => openapi::read(&data, file, options),
    };
    plan.map(one)
}

/// Which format `data` is in; or what it is instead.
fn detect_format(data: &Data) -> Result<Format, String> {
    let schema = data.at(&["info", "schema"]).text();
    if data.at(&["log", "entries"]).is() {
        Ok(Format::Har)
    } else if data.get("openapi").is() {
        match data.get("openapi").plain() {
            version if version.starts_with("3.") => Ok(Format::Openapi),
            version => Err(format!("is OpenAPI {version}; versions 3.0 to 3.2 are read")),
        }
    } else if data.get("swagger").is() {
        let version = data.get("swagger").plain();
        Err(format!(
            "is Swagger {version}; make OpenAPI 3 of it (for example: npx swagger2openapi FILE), and import that"
        ))
    } else if schema.contains("/collection/v2") || data.at(&["info", "_postman_id"]).is() && data.get("item").is() {
        Ok(Format::Postman)
    } else if data.get("collection").get("item").is() {
        Err("is a Postman collection within an answer of its API; save what stands in `collection` by itself"
            .to_owned())
    } else if schema.contains("/collection/v1") || data.get("order").is() && data.get("requests").is() {
        Err("is a Postman collection of format 1; export it as Collection v2.1".to_owned())
    } else if data.get("_postman_variable_scope").is() {
        Err("is a Postman environment; export the collection, and write its values under [variables]".to_owned())
    } else {
        Err(format!("not a plan that offered knows: {SUPPORTED_FORMATS}"))
    }
}
