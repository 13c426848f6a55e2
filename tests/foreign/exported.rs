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
    other_programs_read_the_folder_of_events_as_one_table,
    arrow_files_are_the_table_of_the_run_directory,
    spans_are_messages_of_opentelemetry,
    a_k6_file_has_the_arrivals_of_the_run,
    a_combined_log_has_the_sessions_of_the_run
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

fn python(code: &str) -> Command {
    let mut python = Command::new("python3");
    python.args(["-c", code]);
    python
}

/// Whether Python has these modules.
fn has(modules: &str) -> bool {
    python(&format!("import {modules}")).output().is_ok_and(|output| output.status.success())
}

fn other_programs_read_the_folder_of_events_as_one_table() -> Tested {
    needs("parquet", has("pandas, polars, duckdb, pyarrow"))?;
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

/// Compares an Arrow file with the folder of events, and prints the number of its rows, its batches and its metadata.
const COMPARE_ARROW: &str = r#"
import sys, glob, pyarrow, pyarrow.ipc, pyarrow.parquet, polars
file, folder = sys.argv[1:]
reader = pyarrow.ipc.open_file(file)
table = reader.read_all()
table.validate(full=True)
parts = [pyarrow.parquet.read_table(part) for part in sorted(glob.glob(folder + "/*.parquet"))]
parquet = pyarrow.concat_tables(parts)
assert table.schema.equals(parquet.schema), (table.schema, parquet.schema)
assert table.equals(parquet), "other values"
assert polars.read_ipc(file).equals(polars.from_arrow(parquet))
print(len(table), reader.num_record_batches, (table.schema.metadata or {}).get(b"offered.started_unix_ns", b"-").decode())
"#;

fn arrow_files_are_the_table_of_the_run_directory() -> Tested {
    needs("parquet", has("pandas, polars, duckdb, pyarrow"))?;
    let (folder, runs) = runs();
    let compared = |run: &str| {
        let mut compare = python(COMPARE_ARROW);
        compare.arg(export(run, "arrow")).arg(Path::new(run).join("events"));
        printed(compare)
    };
    let requests = |run: &str| verdict(run, &[])["source"]["requests"].as_u64().unwrap();
    for (run, _) in runs {
        assert_eq!(compared(&run), format!("{} 1 -\n", requests(&run)), "{run}");
    }
    // Several parts and batches, scenarios and flows.
    let workload = folder.path().join("many.toml");
    fs::write(&workload, MANY).unwrap();
    let many = folder.path().join("many").to_str().unwrap().to_owned();
    printed(offered(&["run", workload.to_str().unwrap(), "--dry-run", "exponential:20ms", "-o", &many]));
    assert_eq!(compared(&many), format!("{} 2 -\n", requests(&many)));
    let server = Server::start();
    let run = folder.path().join("run").to_str().unwrap().to_owned();
    // The verdict does not matter here; a busy machine may make it INVALID.
    assert!(offered(&["run", &server.url, "--open", "200/s", "-d", "1s", "-o", &run]).output().is_ok());
    let record: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(Path::new(&run).join("run.json")).unwrap()).unwrap();
    let row = format!("{} 1 {}\n", record["summary"]["total_requests"], record["started_unix_ns"]);
    assert_eq!(compared(&run), row);
    Ok(())
}

const MANY: &str = r#"
seed = 7
duration = "15s"
target.url = "http://127.0.0.1:1/"
[[request]]
name = "a"
get = "/a"
[[request]]
name = "b"
get = "/b"
[[flow]]
name = "f"
step = [{ request = "a" }, { request = "b" }]
[[scenario]]
name = "one"
arrivals.partly_open.rate = "1000/s"
flows = ["f"]
[[scenario]]
name = "two"
arrivals.open.rate = "1000/s"
requests = ["a"]
"#;

/// Parses spans as messages of `OpenTelemetry`, and prints their number, the sums of their durations, and the number of distinct IDs.
/// (In OTLP, IDs are hexadecimal; in other JSON of protocol buffers, Base64.)
const READ_SPANS: &str = r#"
import sys, json, base64
from google.protobuf import json_format
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData
spans = []
for line in open(sys.argv[1]):
    data = json.loads(line)
    for span in data["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        for key in ["traceId", "spanId"]:
            span[key] = base64.b64encode(bytes.fromhex(span[key])).decode()
    data = json_format.ParseDict(data, TracesData())
    assert data.resource_spans[0].resource.attributes[0].key == "service.name"
    spans += data.resource_spans[0].scope_spans[0].spans
assert all(len(span.trace_id) == 16 and len(span.span_id) == 8 and span.kind == span.SPAN_KIND_CLIENT for span in spans)
print(len(spans), sum(span.end_time_unix_nano - span.start_time_unix_nano for span in spans), len({span.trace_id for span in spans}))
"#;

fn spans_are_messages_of_opentelemetry() -> Tested {
    needs("opentelemetry", has("opentelemetry.proto.trace.v1.trace_pb2"))?;
    let (_folder, runs) = runs();
    for (run, _) in runs {
        let verdict = verdict(&run, &["--skip-first", "0s"]);
        let mut read = python(READ_SPANS);
        read.arg(export(&run, "otlp"));
        let read = printed(read);
        let [spans, total_ns, traces] = read.split_whitespace().collect::<Vec<_>>()[..] else { panic!("{read}") };
        let responses = total(&verdict, "responses");
        assert_eq!((spans, traces), (&*responses["n"].to_string(), &*responses["n"].to_string()), "{run}");
        // On the virtual clock every request is sent at its scheduled time.
        let mean_ms = total_ns.parse::<f64>().unwrap() / responses["n"].as_f64().unwrap() / 1e6;
        assert!((mean_ms / responses["mean_ms"].as_f64().unwrap() - 1.0).abs() < 1e-9, "{run}: {mean_ms}");
    }
    Ok(())
}

fn a_k6_file_has_the_arrivals_of_the_run() {
    let (_folder, runs) = runs();
    for (run, workload) in runs {
        let window = ["--skip-first", "0s"];
        let expected = ["--skip-first", "0s", "--workload", &workload];
        let (ours, theirs) = (verdict(&run, &window), verdict(&export(&run, "k6"), &expected));
        assert_eq!(theirs["source"]["format"], "k6-json");
        // k6 does not record which request is the first of a session, so all requests are judged.
        if !run.ends_with("partly-open") {
            assert_eq!((&ours["validity"], &ours["pattern"]), (&theirs["validity"], &theirs["pattern"]), "{run}");
        }
        for (table, key) in [("gaps", "n"), ("responses", "n")] {
            assert_eq!(total(&ours, table)[key], total(&theirs, table)[key], "{run} {table}");
        }
        // Times in ms have an error of a few ns as floating-point numbers.
        for (table, key) in [("gaps", "mean_ms"), ("gaps", "cov"), ("responses", "mean_ms"), ("responses", "p99_ms")] {
            let [ours, theirs] = [&ours, &theirs].map(|of| total(of, table)[key].as_f64().unwrap());
            assert!((ours / theirs - 1.0).abs() < 1e-6, "{run} {table} {key}: {ours} and {theirs}");
        }
    }
}

fn a_combined_log_has_the_sessions_of_the_run() {
    let (_folder, runs) = runs();
    for (run, _) in runs {
        let requests = verdict(&run, &[])["source"]["requests"].clone();
        let mut logs = offered(&["logs", &export(&run, "combined"), "--json"]);
        logs.stderr(std::process::Stdio::inherit());
        let logs: serde_json::Value = serde_json::from_str(&printed(logs)).unwrap();
        assert_eq!((&logs["requests"], &logs["unreadable_lines"]), (&requests, &0.into()), "{run}");
        let text = fs::read_to_string(format!("{run}.combined")).unwrap();
        let sessions = text.lines().map(|line| line.split(' ').next()).collect::<std::collections::BTreeSet<_>>();
        assert_eq!(logs["clients"], sessions.len(), "{run}: {logs:#}");
    }
}
