//! One directory, one verdict: `run`, `verify`, `report` and `sweep` say the same of it.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

const WORKLOAD: &str = "\
seed = 7
duration = \"60s\"
skip_first = \"2s\"
skip_last = \"3s\"
arrivals.open = { rate = \"50/s\" }
target.url = \"http://127.0.0.1:1/\"

[server]
discipline = \"ps\"
service = { exponential = \"10ms\" }
";
/// The only cell of the sweep of the one seed.
const RUN: &str = "sweep/cells/seed=7";

/// What a verb prints as JSON, and its exit code.
fn asked(folder: &Path, args: &[&str]) -> (Value, i32) {
    let output = Command::new(env!("CARGO_BIN_EXE_offered")).current_dir(folder).args(args).output().unwrap();
    let document = serde_json::from_slice(&output.stdout);
    (document.unwrap_or_else(|_| panic!("{args:?}: {output:?}")), output.status.code().unwrap())
}

/// A sweep whose only cell is there already, and what the verb that made it said.
fn made(make: &[&str]) -> (tempfile::TempDir, Value) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("sweep/cells")).unwrap();
    for place in ["w.toml", "sweep/workload.toml"] {
        fs::write(folder.path().join(place), WORKLOAD).unwrap();
    }
    let (said, code) = asked(folder.path(), &[make, &["--out", RUN, "--json"]].concat());
    assert_eq!(code, 0, "{said}");
    (folder, said)
}

/// Changes what the record of the run says of its generator.
fn seen(folder: &Path, key: &str, value: Value) {
    let path = folder.join(RUN).join("run.json");
    let mut record: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    record["generator"][key] = value;
    fs::write(path, record.to_string()).unwrap();
}

/// The judgement and the doubts of every verb; they must agree, and so must the exit codes.
fn agreed(folder: &Path, simulated: bool) -> (String, String) {
    let (verified, strict) = asked(folder, &["verify", RUN, "--strict", "--json"]);
    let (report, _) = asked(folder, &["report", RUN, "--json"]);
    let how: &[&str] = if simulated { &["--simulate"] } else { &[] };
    let sweep = ["sweep", "w.toml", "--vary", "seed=7", "--out", "sweep", "--json", "--quiet"];
    let (swept, code) = asked(folder, &[&sweep[..], how].concat());
    let (reported, cell) = (&report["runs"][0]["verdict"], &swept["cells"][0]);
    for key in ["judgement", "because", "warnings"] {
        assert_eq!(verified[key], reported[key], "{key}");
        assert_eq!(verified[key], cell[key], "{key}");
    }
    let fails = verified["judgement"] == "fails";
    assert_eq!((strict == 3, code == 3), (fails, fails));
    (verified["because"].as_str().unwrap().to_owned(), verified["warnings"].to_string())
}

#[test]
fn every_verb_says_the_same_of_a_good_a_stopped_and_a_saturated_run() {
    let (folder, run) = made(&["run", "w.toml", "--dry-run", "exponential:20ms"]);
    let (because, _) = agreed(folder.path(), false);
    assert_eq!(run["judgement"], "holds");
    assert_eq!(because, "every launch came at the instant it was meant for; nothing of the p99 is the generator's");

    seen(folder.path(), "stopped", json!(true));
    let (_, warnings) = agreed(folder.path(), false);
    assert!(warnings.contains("the run was stopped before its time"), "{warnings}");

    seen(folder.path(), "busy", json!([0.2, 0.953]));
    let (because, _) = agreed(folder.path(), false);
    assert_eq!(because, "the generator was saturated: thread 1 was busy for 95 % of the run");
    let (code, strict) = asked(folder.path(), &["verify", RUN, "--strict", "--json"]);
    assert_eq!((code["judgement"].as_str(), strict), (Some("fails"), 3));
}

#[test]
fn every_verb_says_the_same_of_a_simulated_run() {
    let (folder, _) = made(&["simulate", "w.toml"]);
    agreed(folder.path(), true);
}

#[test]
fn run_and_verify_agree_to_the_last_digit() {
    let (folder, run) = made(&["run", "w.toml", "--dry-run", "exponential:20ms"]);
    let (verified, _) = asked(folder.path(), &["verify", RUN, "--json"]);
    let total = |table: &str| verified[table].as_array().unwrap().last().unwrap().clone();
    let responses = total("responses");
    let names = [("mean", "mean_ms"), ("sdev", "sdev_ms"), ("p50", "median_ms"), ("p90", "p90_ms"), ("p95", "p95_ms")];
    for (ours, theirs) in names.into_iter().chain([("p99", "p99_ms"), ("p999", "p99.9_ms"), ("max", "max_ms")]) {
        assert_eq!(run["response_ms"][ours], responses[theirs], "{ours}");
    }
    assert_eq!(run["queue"], verified["queue"]);
    assert_eq!(run["arrivals"]["sent_cov"], total("launches")["cov"]);
    assert_eq!((&verified["window"]["from_s"], &verified["window"]["to_s"]), (&json!(2.0), &json!(57.0)));
    assert_eq!(verified["window"]["launches"], responses["n"]);
}
