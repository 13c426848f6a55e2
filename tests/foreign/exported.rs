//! Files written by `offered export` verify to the same numbers as the exported run.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::harness::{Tested, needs};
use crate::program::{Server, offered, printed, total, verdict};

tests![
    exported_files_verify_to_the_same_document_as_the_run,
    csv_and_vegeta_verify_to_the_same_tables,
    exported_gap_lists_match_the_table,
    other_programs_read_the_hdr_log,
    other_programs_read_the_folder_of_events_as_one_table
];

const HEAD: &str = "seed = 7\nduration = \"30s\"\n[target]\nurl = \"http://127.0.0.1:1\"\n\
    [[request]]\nname = \"home\"\nget = \"/\"\n[[request]]\nname = 'a, \"b\"'\nget = \"/x\"\n[arrivals]\n";
const KINDS: [(&str, &str); 3] = [
    ("open", "open = { rate = \"60/s\", process = \"poisson\" }\n"),
    ("closed", "closed = { users = 40, think = { uniform = [\"0s\", \"2s\"] } }\n"),
    ("partly-open", "partly_open = { rate = \"10/s\", stay = 0.8, think = { exponential = \"1s\" } }\n"),
];

/// Runs of every system model with exponential responses, and their workloads.
fn runs() -> (tempfile::TempDir, Vec<(String, String)>) {
    let folder = tempfile::tempdir().unwrap();
    let run = |(name, arrivals): &(&str, &str)| {
        let workload = folder.path().join(format!("{name}.toml")).to_str().unwrap().to_owned();
        let out = folder.path().join(name).to_str().unwrap().to_owned();
        fs::write(&workload, format!("{HEAD}{arrivals}")).unwrap();
        printed(offered(&["run", &workload, "--dry-run", "exponential:20ms", "--output", &out]));
        (out, workload)
    };
    let runs = KINDS.iter().map(run).collect();
    (folder, runs)
}

fn export(run: &str, to: &str) -> String {
    let file = format!("{run}.{to}");
    printed(offered(&["export", run, "--format", to, "-o", &file]));
    file
}

fn exported_files_verify_to_the_same_document_as_the_run() {
    let (_folder, runs) = runs();
    for ((run, workload), to) in runs.iter().flat_map(|run| [(run, "jtl"), (run, "csv")]) {
        let mut ours = verdict(run, &["--by-threads"]);
        let mut theirs = verdict(&export(run, to), &["--by-threads", "--workload", workload]);
        assert!(total(&ours, "gaps")["n"].as_u64().unwrap() > 1000, "{run}");
        for document in [&mut ours, &mut theirs] {
            let source = document["source"].as_object_mut().unwrap();
            assert!(source.remove("path").is_some() && source.remove("format").is_some());
            // The workload is part of the run, and is named for the file of another tool.
            document["expected"].as_object_mut().unwrap().remove("is_own_workload");
            // Formats of other tools have no fields for visits and the generator's observations.
            document.as_object_mut().unwrap().remove("visits");
            document["findings"].as_array_mut().unwrap().retain(|finding| finding["check"] != "busiest_thread");
        }
        assert_eq!(ours, theirs, "{run} {to}");
    }
}

fn csv_and_vegeta_verify_to_the_same_tables() {
    let (_folder, runs) = runs();
    let columns = ["--start-column", "sent_ns", "--end-column", "done_ns", "--label-column", "label", "--unit", "1ns"];
    for (run, _) in runs {
        let window = ["--skip-first", "0s"];
        let ours = verdict(&run, &window);
        let csv = verdict(&export(&run, "csv"), &[&window[..], &columns[..]].concat());
        let vegeta = verdict(&export(&run, "vegeta"), &window);
        assert_eq!(ours["gaps"], csv["gaps"], "{run}");
        assert_eq!(total(&ours, "gaps"), total(&vegeta, "gaps"), "{run}");
        for key in ["n", "mean_ms", "sdev_ms", "p999_ms", "max_ms"] {
            assert_eq!(total(&ours, "responses")[key], total(&csv, "responses")[key], "{run} {key}");
            assert_eq!(total(&ours, "responses")[key], total(&vegeta, "responses")[key], "{run} {key}");
        }
    }
}

fn exported_gap_lists_match_the_table() {
    let (folder, runs) = runs();
    let gaps = |file: &Path| -> Vec<f64> {
        fs::read_to_string(file).unwrap().lines().map(|line| line.parse().unwrap()).collect()
    };
    for (run, _) in runs {
        let written = folder.path().join("gaps.txt");
        let verdict = verdict(&run, &["--skip-first", "0s", "--gaps", written.to_str().unwrap()]);
        let (written, exported) = (gaps(&written), gaps(Path::new(&export(&run, "gaps"))));
        assert_eq!(written, exported, "{run}");
        let (n, mean) = (written.len() as f64, written.iter().sum::<f64>() / written.len() as f64);
        let variance = written.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let cov = total(&verdict, "gaps")["cov"].as_f64().unwrap();
        assert!((variance.sqrt() / mean - cov).abs() < 1e-9, "{run}: {cov}");
    }
}

fn other_programs_read_the_hdr_log() -> Tested {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/foreign/tools/hdr.py");
    let has = Command::new("python3").args(["-c", "import hdrh"]).output().is_ok_and(|found| found.status.success());
    needs("hdrhistogram", has)?;
    let (_folder, runs) = runs();
    for (run, _) in runs {
        let verdict = verdict(&run, &["--skip-first", "0s"]);
        let ours = total(&verdict, "responses");
        let mut read = Command::new("python3");
        read.arg(&script).arg(export(&run, "hdr"));
        let theirs: serde_json::Value = serde_json::from_str(&printed(read)).unwrap();
        assert_eq!(theirs["response"]["n"], ours["n"], "{run}");
        assert!(theirs["service"]["intervals"].as_u64().unwrap() >= 29, "{run}: {theirs}");
        for (key, hdr) in [("mean_ms", "mean_ms"), ("p50_ms", "median_ms"), ("p99_ms", "p99_ms"), ("max_ms", "max_ms")]
        {
            // The log has three significant digits.
            let (theirs, ours) = (theirs["response"][hdr].as_f64().unwrap(), ours[key].as_f64().unwrap());
            assert!((theirs / ours - 1.0).abs() < 2e-3, "{run} {key}: {theirs} and {ours}");
        }
    }
    Ok(())
}

/// Prints rows, the sum of `status - 302` and the start for each library.
const READ_EVENTS: &str = r#"
import sys, pandas, polars, duckdb, pyarrow.parquet
folder = sys.argv[1]
table = pandas.read_parquet(folder)
print(len(table), (table["status"] - 302).sum(), (table["sent_ns"] - table["done_ns"]).max() <= 0)
table = polars.read_parquet(folder)
print(len(table), (table["status"] - 302).sum(), (table["sent_ns"] - table["done_ns"]).max() <= 0)
print(*duckdb.sql(f"SELECT count(*), sum(status - 302)::INT, max(sent_ns - done_ns) <= 0 FROM '{folder}/*.parquet'").fetchall()[0])
print(int(pyarrow.parquet.read_metadata(folder + "/part-0000.parquet").metadata[b"offered.started_unix_ns"]))
"#;

fn other_programs_read_the_folder_of_events_as_one_table() -> Tested {
    let python = |code: &str| {
        let mut python = Command::new("python3");
        python.args(["-c", code]);
        python
    };
    let modules = python("import pandas, polars, duckdb, pyarrow").output();
    needs("parquet", modules.is_ok_and(|output| output.status.success()))?;
    let (server, folder) = (Server::start(), tempfile::tempdir().unwrap());
    let run = folder.path().join("run").to_str().unwrap().to_owned();
    // The verdict does not matter here; a busy machine may make it INVALID.
    let run_output = offered(&["run", &server.url, "--open", "200/s", "--duration", "1s", "--output", &run]).output();
    assert!(run_output.is_ok());
    let record: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(Path::new(&run).join("run.json")).unwrap()).unwrap();
    let mut command = python(READ_EVENTS);
    command.arg(Path::new(&run).join("events"));
    let read = printed(command);
    let requests = record["summary"]["total_requests"].as_i64().unwrap();
    let table = format!("{requests} {} True\n", requests * (200 - 302));
    assert_eq!(read, table.repeat(3) + &format!("{}\n", record["started_unix_ns"]));
    Ok(())
}
