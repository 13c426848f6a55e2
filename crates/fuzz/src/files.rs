//! Result files and run directories, and the page that is made of them.

use std::fs;
use std::path::Path;

use offered_experiment::{ByThreads, Terms, WithTwin};
use offered_report::html::html;
use offered_report::junit::junit;
use offered_report::markdown::markdown;
use offered_report::{Report, Run, document, summary};
use offered_store::{Format, ReadOptions, read_from};

const TABLES: [&str; 15] = [
    "jtl-csv",
    "gatling-text",
    "k6-csv",
    "vegeta-csv",
    "goose-csv",
    "hey-csv",
    "oha-csv",
    "locust-csv",
    "ab-g",
    "phout",
    "h2load",
    "pgbench",
    "access-log",
    "instants",
    "csv",
];

/// Reads `bytes` as what they look like.
pub(crate) fn sniffed(bytes: &[u8]) {
    let _ = read_from("fuzz", bytes, &ReadOptions::default());
}

/// Reads them as each kind of table.
pub(crate) fn tables(bytes: &[u8]) {
    read_as(bytes, &TABLES);
}

/// As each kind of JSON.
pub(crate) fn json(bytes: &[u8]) {
    read_as(bytes, &["k6-json", "vegeta-json", "fortio", "goose-json", "har"]);
}

pub(crate) fn xml(bytes: &[u8]) {
    read_as(bytes, &["jtl-xml"]);
}

pub(crate) fn gatling_binary(bytes: &[u8]) {
    read_as(bytes, &["gatling-binary", "oha-db"]);
}

/// As a part of a run directory: what libFuzzer need not find out is how it begins.
pub(crate) fn parquet(bytes: &[u8]) {
    sniffed(&[b"PAR1", bytes].concat());
}

/// As what they look like, and makes a page of it.
pub(crate) fn report(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("results");
    fs::write(&file, bytes).expect("a file");
    paged(&file);
}

/// The files of a run directory, as `offered run --dry-run` made it.
const RUN: [(&str, &[u8]); 4] = [
    ("run.json", include_bytes!("../../../tests/samples/run/run.json")),
    ("workload.toml", include_bytes!("../../../tests/samples/run/workload.toml")),
    ("events/part-0000.parquet", include_bytes!("../../../tests/samples/run/events/part-0000.parquet")),
    ("events/part-0001.parquet", include_bytes!("../../../tests/samples/run/events/part-0001.parquet")),
];

/// Changes files of a run directory and makes a page of it. Four bytes are one change: the file, where in it, and what is turned
/// there.
pub(crate) fn run_directories(bytes: &[u8]) {
    let mut files = RUN.map(|(name, bytes)| (name, bytes.to_vec()));
    for change in bytes.chunks_exact(4) {
        let (_, file) = &mut files[usize::from(change[0]) % RUN.len()];
        let at = usize::from(u16::from_be_bytes([change[1], change[2]])) % file.len();
        file[at] ^= change[3];
    }
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("events")).expect("a folder");
    for (name, bytes) in files {
        fs::write(folder.path().join(name), bytes).expect("a file");
    }
    paged(folder.path());
}

/// Judges what is there and writes it in every form; what is judged can be written.
fn paged(path: &Path) {
    let terms = Terms { by_threads: ByThreads::IfFew, with_twin: WithTwin::IfMeasured, ..Terms::default() };
    let Ok(run) = Run::judged(&path.into(), &ReadOptions::default(), &terms, |_, _| ()) else { return };
    let report = Report::new(vec![run]);
    serde_json::to_string(&report).expect("JSON");
    html(&document(&report), "").expect("a page");
    markdown(&summary(&report));
    junit(&report).expect("cases");
}

/// Reads `bytes` as each of these formats.
fn read_as(bytes: &[u8], formats: &[&str]) {
    for name in formats {
        let format = Format::from_name(name);
        assert!(format.is_some(), "{name} is no format");
        let start_column = Some("a".to_owned());
        let _ = read_from("fuzz", bytes, &ReadOptions { format, start_column, ..ReadOptions::default() });
    }
}
