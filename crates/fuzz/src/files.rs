//! Result files and run directories, and the reports built from them.

use std::fs;
use std::path::Path;

use offered_experiment::{ThreadAnalysis, TwinComparison, VerifyOptions};
use offered_report::html::html;
use offered_report::junit::junit;
use offered_report::markdown::markdown;
use offered_report::{Report, Run, document};
use offered_store::{InputFormat, ReadOptions, read_from};

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

/// Reads `bytes` in the detected format.
pub(crate) fn detected_formats(bytes: &[u8]) {
    let _ = read_from("fuzz", bytes, &ReadOptions::default());
}

/// Reads `bytes` in every tabular format.
pub(crate) fn tables(bytes: &[u8]) {
    read_as(bytes, &TABLES);
}

/// Reads `bytes` in every JSON format.
pub(crate) fn json(bytes: &[u8]) {
    let of_models = ["aiperf", "guidellm", "vllm-bench", "inference-perf"];
    read_as(bytes, &["k6-json", "vegeta-json", "fortio", "goose-json", "har"]);
    read_as(bytes, &of_models);
}

pub(crate) fn xml(bytes: &[u8]) {
    read_as(bytes, &["jtl-xml"]);
}

pub(crate) fn gatling_binary(bytes: &[u8]) {
    read_as(bytes, &["gatling-binary", "oha-db"]);
}

/// Reads `bytes` as a Parquet part of a run directory. The magic bytes are added, so that the fuzzer need not find
/// them.
pub(crate) fn parquet(bytes: &[u8]) {
    detected_formats(&[b"PAR1", bytes].concat());
}

/// Reads `bytes` in the detected format and builds a report.
pub(crate) fn report(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("results");
    fs::write(&file, bytes).expect("a file");
    build_report(&file);
}

/// Files of a run directory that `offered run --dry-run` wrote.
const RUN: [(&str, &[u8]); 4] = [
    ("run.json", include_bytes!("../../../tests/samples/run/run.json")),
    ("workload.toml", include_bytes!("../../../tests/samples/run/workload.toml")),
    ("events/part-0000.parquet", include_bytes!("../../../tests/samples/run/events/part-0000.parquet")),
    ("events/part-0001.parquet", include_bytes!("../../../tests/samples/run/events/part-0001.parquet")),
];

/// Changes files of a run directory and builds a report. Four bytes are one change: the file, the offset (two bytes),
/// and the bits to flip.
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
    build_report(folder.path());
}

/// Judges a recording and writes the report in every form. What can be judged must be writable.
fn build_report(path: &Path) {
    let terms = VerifyOptions {
        by_threads: ThreadAnalysis::IfFewSessions,
        twin: TwinComparison::IfMeasured,
        ..VerifyOptions::default()
    };
    let Ok(run) = Run::judged(&path.into(), &ReadOptions::default(), &terms, |_, _| ()) else { return };
    let report = Report::new(vec![run]);
    serde_json::to_string(&report).expect("JSON");
    html(&document(&report)).expect("a page");
    markdown(&report);
    junit(&report).expect("cases");
}

/// Reads `bytes` in each of these formats.
fn read_as(bytes: &[u8], formats: &[&str]) {
    for name in formats {
        let format = InputFormat::from_name(name);
        assert!(format.is_some(), "unknown format {name}");
        let start_column = Some("a".to_owned());
        let _ = read_from("fuzz", bytes, &ReadOptions { format, start_column, ..ReadOptions::default() });
    }
}
