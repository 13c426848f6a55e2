//! Input files: their kinds, and errors that name the command that reads a kind.

use std::path::Path;

use toml_edit::{DocumentMut, Item, Table, Value};

use crate::failure::Failure;
use crate::output::status;

/// Reads a text file.
pub(crate) fn text(path: &Path) -> Result<String, Failure> {
    Ok(offered_experiment::read_workload_text(path)?)
}

/// The table of that name in a workload: created if missing, expanded if inline.
pub(crate) fn table<'a>(document: &'a mut DocumentMut, name: &str) -> Result<&'a mut Table, Failure> {
    if let Some(Item::Value(Value::InlineTable(inline))) = document.get_mut(name) {
        let mut table = std::mem::take(inline).into_table();
        table.fmt();
        // Insert a new key: the old one keeps the space before its `=`.
        document.remove(name);
        document.insert(name, Item::Table(table));
    }
    let item = document.entry(name).or_insert_with(|| Item::Table(Table::new()));
    item.as_table_mut().ok_or_else(|| Failure::input(format!("`{name}` is not a table in the workload")))
}

/// Reads the text of a workload file; an error for another kind of file.
pub(crate) fn workload(path: &Path) -> Result<String, Failure> {
    refuse(path, &[Kind::Workload])?;
    text(path)
}

/// Kind of a path, by its name or, for a directory, by its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A URL.
    Url,
    /// The URL of a run in an object store.
    Stored,
    /// A workload file.
    Workload,
    /// A run directory, or the record in it.
    Run,
    RunRecord,
    /// A sweep directory, or the document in it.
    Sweep,
    /// A script of another tool.
    Program,
    /// A test plan, a recording or an API description. A `.jmx` file is certainly a plan of JMeter.
    Plan,
    JMeterPlan,
    /// A result file. A `.jtl` file is certainly a result of JMeter.
    Result,
    JMeterResult,
    /// The log of a server.
    Log,
}

impl Kind {
    fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        if offered_experiment::is_object_store_url(path) {
            return Some(Self::Stored);
        }
        if path.to_str()?.contains("://") && !is_file_url(path) {
            return Some(Self::Url);
        }
        if path.join("sweep.json").is_file() || name == "sweep.json" {
            return Some(Self::Sweep);
        }
        if path.join("workload.toml").is_file() {
            return Some(Self::Run);
        }
        if name == "run.json" && path.with_file_name("workload.toml").is_file() {
            return Some(Self::RunRecord);
        }
        // Gatling's result file has a fixed name.
        if name == "simulation.log" {
            return Some(Self::Result);
        }
        Some(match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "toml" => Self::Workload,
            "js" | "ts" | "py" | "scala" | "kt" | "java" | "lua" | "groovy" => Self::Program,
            "har" | "json" | "yaml" | "yml" | "sql" => Self::Plan,
            "jmx" => Self::JMeterPlan,
            "jtl" => Self::JMeterResult,
            "csv" | "parquet" | "gz" | "zst" | "db" => Self::Result,
            "log" => Self::Log,
            _ => return None,
        })
    }

    /// An error message that names the command that reads it.
    pub(crate) fn hint(self, path: &Path) -> String {
        let name = path.display();
        match self {
            Self::Url => {
                format!(
                    "{name} is a URL; this command reads files. To send requests to it: offered run {name} --open 100/s"
                )
            }
            Self::Stored => {
                format!(
                    "{name} is in an object store; verify, report, export and watch can read it: offered verify {name}"
                )
            }
            Self::Workload => {
                format!("{name} is a workload file; run it first: offered run {name} -o runs/1")
            }
            Self::Run => format!(
                "{name} is a run directory; verify it: offered verify {name}; run it again: offered run {name}/workload.toml"
            ),
            Self::RunRecord => {
                let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
                format!("{name} is the record of a run; use the run directory: offered verify {}", folder.display())
            }
            Self::Sweep => {
                let is_document = path.file_name().is_some_and(|name| name == "sweep.json");
                let folder = path.parent().filter(|_| is_document).unwrap_or(path).display();
                format!(
                    "{name} is a sweep; report it: offered report {folder} -o page.html; verify one run: offered verify {folder}/cells/NAME"
                )
            }
            Self::Program => format!(
                "{name} is a program and cannot be translated; the chapter \"from-scripts\" of the book shows how to write it as \
                 a workload file"
            ),
            Self::Plan | Self::JMeterPlan => {
                format!(
                    "this command cannot read {name}; if it is another tool's test plan: offered import {name} -o workload.toml"
                )
            }
            Self::Result | Self::JMeterResult => {
                format!("this command cannot read {name}; if it is the result of a run: offered verify {name}")
            }
            Self::Log => format!("this command cannot read {name}; if it is a server log: offered logs {name}"),
        }
    }
}

/// Whether a path is a `file:` URL.
fn is_file_url(path: &Path) -> bool {
    path.to_str().is_some_and(|text| text.to_ascii_lowercase().starts_with("file:/"))
}

/// An error if the path looks like a kind that this command does not read. `read` lists the kinds that it reads; a path of
/// unknown kind passes.
pub(crate) fn refuse(path: &Path, read: &[Kind]) -> Result<(), Failure> {
    // Reading a file that does not exist says so.
    let is_there = |kind| matches!(kind, Kind::Url | Kind::Stored) || path.exists();
    match Kind::of(path) {
        Some(kind) if !read.contains(&kind) && is_there(kind) => Err(Failure::input(kind.hint(path))),
        _ => Ok(()),
    }
}

/// The kinds that may hold the result of a run.
pub(crate) const RESULTS: [Kind; 6] =
    [Kind::Run, Kind::Stored, Kind::Result, Kind::JMeterResult, Kind::Plan, Kind::Log];

/// Warns about lines of a log that cannot be parsed.
pub(crate) fn broken(name: &str, lines: &[String]) {
    /// Number of lines to print.
    const LISTED: usize = 10;
    let what = match lines.len() {
        1 => format!("1 line of {name} cannot be parsed and is ignored"),
        n => format!("{n} lines of {name} cannot be parsed and are ignored"),
    };
    status!("warning: {what}:");
    lines.iter().take(LISTED).for_each(|line| status!("  {line}"));
    if lines.len() > LISTED {
        status!("  and {} more", lines.len() - LISTED);
    }
}

/// Opens the files that a workload names, relative to its directory.
pub(crate) fn beside(workload: Option<&Path>) -> impl Fn(&str) -> Result<Vec<u8>, String> + Send + Sync + use<> {
    offered_experiment::file_reader(workload, broken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unsupported_kind_is_sent_to_the_command_that_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["run/workload.toml", "run/run.json", "sweep/sweep.json", "sweep/workload.toml"] {
            std::fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            std::fs::write(at(name), "").unwrap();
        }
        let hint = |path: &Path, read: &[Kind]| match refuse(path, read) {
            Err(Failure::Input(why)) => why,
            other => format!("{other:?}"),
        };
        for (path, verb) in [
            ("script.js", "from-scripts"),
            ("plan.jmx", "plan.jmx -o workload.toml"),
            ("file.jtl", "offered verify "),
            ("simulation.log", "offered verify "),
            ("access.log", "offered logs "),
        ] {
            assert!(
                refuse(&at(path), &[Kind::Workload]).is_ok(),
                "{path} does not exist, which is said when it is read"
            );
            std::fs::write(at(path), "").unwrap();
            let hint = hint(&at(path), &[Kind::Workload]);
            assert!(hint.contains(verb) && hint.contains(path), "{path}: {hint}");
        }
        for (url, verb) in [
            ("http://127.0.0.1/a", "offered run http://127.0.0.1/a --open"),
            ("s3://bucket/run7", "offered verify s3://bucket/run7"),
        ] {
            let hint = hint(Path::new(url), &[Kind::Workload]);
            assert!(hint.contains(verb), "{url}: {hint}");
        }
        let run = at("run").display().to_string();
        for (path, verb) in [
            (at("run/run.json"), format!("offered verify {run}")),
            (at("run/workload.toml"), "offered run".to_owned()),
            (at("sweep"), "offered report".to_owned()),
            (at("sweep/sweep.json"), format!("offered report {} -o", at("sweep").display())),
        ] {
            let hint = hint(&path, &RESULTS);
            assert!(hint.contains(&verb), "{}: {hint}", path.display());
        }
        for path in ["w.toml", "workload", "w.txt"] {
            assert!(refuse(Path::new(path), &[Kind::Workload]).is_ok(), "{path}");
        }
        assert!(refuse(&at("run"), &RESULTS).is_ok());
    }
}
