//! Text files, read with errors that name them.

use std::path::Path;

use toml_edit::{DocumentMut, Item, Table, Value};

use crate::exit::Failure;
use crate::say::tell;

/// The text of a file.
pub(crate) fn text(path: &Path) -> Result<String, Failure> {
    Ok(offered_experiment::text(path)?)
}

/// The table of that name in a workload, made if need be; an inline one is opened up.
pub(crate) fn table<'a>(document: &'a mut DocumentMut, name: &str) -> Result<&'a mut Table, Failure> {
    if let Some(Item::Value(Value::InlineTable(inline))) = document.get_mut(name) {
        let mut table = std::mem::take(inline).into_table();
        table.fmt();
        // Anew, since the old key keeps the space before its `=`.
        document.remove(name);
        document.insert(name, Item::Table(table));
    }
    let item = document.entry(name).or_insert_with(|| Item::Table(Table::new()));
    item.as_table_mut().ok_or_else(|| Failure::input(format!("`{name}` is not a table in the workload")))
}

/// The text of a workload file; of what is none, which verb reads it.
pub(crate) fn workload(path: &Path) -> Result<String, Failure> {
    refuse(path, &[Kind::Workload])?;
    text(path)
}

/// What a path looks like, by its name and, of a folder, by what lies in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A URL.
    Url,
    /// The URL of a run in an object store.
    Stored,
    /// A workload file.
    Workload,
    /// The folder of a run, or the record in it.
    Run,
    RunRecord,
    /// The folder of a sweep, or the document in it.
    Sweep,
    /// A script for another tool.
    Program,
    /// A plan, a recording or a description; of JMeter it cannot be anything else.
    Plan,
    JMeterPlan,
    /// The result of a run; of JMeter it cannot be anything else.
    Result,
    JMeterResult,
    /// The log of a server.
    Log,
}

impl Kind {
    fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        if offered_experiment::is_in_store(path) {
            return Some(Self::Stored);
        }
        if path.to_str()?.contains("://") && !name_is_of_file(path) {
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
        // Gatling's result has a name of its own.
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

    /// Which verb reads it.
    pub(crate) fn told(self, path: &Path) -> String {
        let name = path.display();
        match self {
            Self::Url => {
                format!(
                    "{name} is a URL; what asks it is `offered run {name} --open 100/s`, and other verbs read files"
                )
            }
            Self::Stored => {
                format!(
                    "{name} is in an object store, where verify, report, export and watch read runs: offered verify {name}"
                )
            }
            Self::Workload => {
                format!("{name} is a workload; make a run of it: offered run {name} --out runs/1")
            }
            Self::Run => format!(
                "{name} is the folder of a run; judge it with offered verify {name}, run it again with offered run {name}/workload.toml"
            ),
            Self::RunRecord => {
                let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
                format!("{name} is the record of a run; give the run's folder: offered verify {}", folder.display())
            }
            Self::Sweep => {
                let is_document = path.file_name().is_some_and(|name| name == "sweep.json");
                let folder = path.parent().filter(|_| is_document).unwrap_or(path).display();
                format!(
                    "{name} is a sweep; see it with offered report {folder} -o page.html, judge one of its runs with offered verify {folder}/cells/NAME"
                )
            }
            Self::Program => format!(
                "{name} is a program, and programs are not translated; the page \"from-scripts\" of the book says how the same is \
                 written as a workload file"
            ),
            Self::Plan | Self::JMeterPlan => {
                format!(
                    "{name} is no file for this verb; if it is another tool's plan: offered import {name} -o workload.toml"
                )
            }
            Self::Result | Self::JMeterResult => {
                format!("{name} is no file for this verb; if it is the result of a run: offered verify {name}")
            }
            Self::Log => format!("{name} is no file for this verb; if it is a server's log: offered logs {name}"),
        }
    }
}

/// Whether a path is written as a URL of this machine's files.
fn name_is_of_file(path: &Path) -> bool {
    path.to_str().is_some_and(|text| text.to_ascii_lowercase().starts_with("file:/"))
}

/// Refuses what looks like something that this verb does not read, and says which one does; `read` are the kinds it reads, and what
/// looks like nothing is for the reader to tell.
pub(crate) fn refuse(path: &Path, read: &[Kind]) -> Result<(), Failure> {
    match Kind::of(path) {
        Some(kind) if !read.contains(&kind) => Err(Failure::input(kind.told(path))),
        _ => Ok(()),
    }
}

/// The kinds that hold the result of a run, or may.
pub(crate) const RESULTS: [Kind; 6] =
    [Kind::Run, Kind::Stored, Kind::Result, Kind::JMeterResult, Kind::Plan, Kind::Log];

/// Says which lines of a log that a workload names are left out.
pub(crate) fn broken(name: &str, lines: &[String]) {
    /// So many are shown.
    const LISTED: usize = 10;
    tell!("warning: {} lines of {name} are broken and left out:", lines.len());
    lines.iter().take(LISTED).for_each(|line| tell!("  {line}"));
    if lines.len() > LISTED {
        tell!("  and {} more", lines.len() - LISTED);
    }
}

/// Reads the files that a workload names, which stand beside it.
pub(crate) fn beside(workload: Option<&Path>) -> impl Fn(&str) -> Result<Vec<u8>, String> + Send + Sync + use<> {
    offered_experiment::beside(workload, broken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_verb_does_not_read_is_sent_to_the_one_that_does() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["run/workload.toml", "run/run.json", "sweep/sweep.json", "sweep/workload.toml"] {
            std::fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            std::fs::write(at(name), "").unwrap();
        }
        let told = |path: &Path, read: &[Kind]| match refuse(path, read) {
            Err(Failure::Input(why)) => why,
            other => format!("{other:?}"),
        };
        for (path, verb) in [
            ("script.js", "from-scripts"),
            ("plan.jmx", "offered import plan.jmx -o workload.toml"),
            ("file.jtl", "offered verify file.jtl"),
            ("simulation.log", "offered verify simulation.log"),
            ("access.log", "offered logs access.log"),
            ("http://127.0.0.1/a", "offered run http://127.0.0.1/a --open"),
            ("s3://bucket/run7", "offered verify s3://bucket/run7"),
        ] {
            let told = told(Path::new(path), &[Kind::Workload]);
            assert!(told.contains(verb), "{path}: {told}");
        }
        let run = at("run").display().to_string();
        for (path, verb) in [
            (at("run/run.json"), format!("offered verify {run}")),
            (at("run/workload.toml"), "offered run".to_owned()),
            (at("sweep"), "offered report".to_owned()),
            (at("sweep/sweep.json"), format!("offered report {} -o", at("sweep").display())),
        ] {
            let told = told(&path, &RESULTS);
            assert!(told.contains(&verb), "{}: {told}", path.display());
        }
        for path in ["w.toml", "workload", "w.txt"] {
            assert!(refuse(Path::new(path), &[Kind::Workload]).is_ok(), "{path}");
        }
        assert!(refuse(&at("run"), &RESULTS).is_ok());
    }
}
