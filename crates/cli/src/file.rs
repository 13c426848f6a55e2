//! Text files, read with errors that name them.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use offered_simulate::swf::Swf;
use toml_edit::{DocumentMut, Item, Table, Value};

use crate::exit::Failure;

/// The text of a file.
pub(crate) fn text(path: &Path) -> Result<String, Failure> {
    let bytes = std::fs::read(path).map_err(|why| Failure::input(format!("cannot read {}: {why}", path.display())))?;
    String::from_utf8(bytes).map_err(|_| Failure::input(format!("{} is not a text file", path.display())))
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
    match elsewhere(path) {
        Some(told) => Err(Failure::input(told)),
        None => text(path),
    }
}

/// Which verb reads what does not look like a workload file.
fn elsewhere(path: &Path) -> Option<String> {
    let name = path.display();
    if path.join("workload.toml").is_file() {
        return Some(format!("{name} is the folder of a run; its workload is {name}/workload.toml"));
    }
    let written = path.to_str()?;
    if written.contains("://") {
        return Some(format!(
            "this verb reads a workload file; write one with [target] url = \"{written}\", or try the URL with `offered run`"
        ));
    }
    let kind = path.extension()?.to_str()?.to_ascii_lowercase();
    Some(match kind.as_str() {
        "js" | "ts" | "py" | "scala" | "kt" | "java" | "lua" | "groovy" => format!(
            "{name} is a program, and programs are not translated; the page \"from-scripts\" of the book says how the same is \
             written as a workload file"
        ),
        "jmx" | "har" | "json" | "yaml" | "yml" => {
            format!("{name} is no workload file; if it is another tool's plan: offered import {name} -o workload.toml")
        }
        "jtl" | "csv" | "parquet" | "gz" | "zst" | "db" => {
            format!("{name} is no workload file; if it is the result of a run: offered verify {name}")
        }
        "log" => format!("{name} is no workload file; if it is a server's log: offered logs {name}"),
        _ => return None,
    })
}

/// So many broken lines of a log are shown.
const LISTED: usize = 10;

/// Reads the files that a workload names, which stand beside it.
pub(crate) fn beside(workload: Option<&Path>) -> impl Fn(&str) -> Result<Vec<u8>, String> + use<> {
    let folder = workload.and_then(Path::parent).map(Path::to_owned).unwrap_or_default();
    move |name| named(&folder.join(name), name)
}

/// What is in a file that a workload names, unzipped; of a log in Standard Workload Format (`.swf`), its run times.
fn named(path: &Path, name: &str) -> Result<Vec<u8>, String> {
    let file = BufReader::new(File::open(path).map_err(|why| why.to_string())?);
    let kind = name.to_ascii_lowercase();
    let (plain, zipped) = kind.strip_suffix(".gz").map_or((kind.as_str(), false), |plain| (plain, true));
    let mut content: Box<dyn BufRead> =
        if zipped { Box::new(BufReader::new(MultiGzDecoder::new(file))) } else { Box::new(file) };
    if plain.strip_suffix(".swf").is_none() {
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes).map_err(|why| why.to_string())?;
        return Ok(bytes);
    }
    let swf = Swf::read(name, content).map_err(|wrong| wrong.to_string())?;
    if !swf.broken.is_empty() {
        eprintln!("warning: {} lines of {name} are broken and left out:", swf.broken.len());
        swf.broken.iter().take(LISTED).for_each(|line| eprintln!("  {line}"));
        if swf.broken.len() > LISTED {
            eprintln!("  and {} more", swf.broken.len() - LISTED);
        }
    }
    Ok(swf.run_times.iter().map(f64::to_string).collect::<Vec<_>>().join("\n").into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_workload_is_sent_to_the_verb_that_reads_it() {
        for (path, verb) in [
            ("script.js", "from-scripts"),
            ("plan.jmx", "offered import plan.jmx -o workload.toml"),
            ("file.jtl", "offered verify file.jtl"),
            ("access.log", "offered logs access.log"),
            ("http://127.0.0.1/", "url = \"http://127.0.0.1/\""),
        ] {
            let told = elsewhere(Path::new(path)).unwrap_or_default();
            assert!(told.contains(verb), "{path}: {told}");
        }
        for path in ["w.toml", "workload", "w.txt"] {
            assert_eq!(elsewhere(Path::new(path)), None, "{path}");
        }
    }
}
