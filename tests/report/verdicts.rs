//! `run`, `verify`, `report` and `sweep` give the same verdict on a run directory.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

/// A valid run.
const GOOD: &str = "\
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
/// A run that stops early because its data are used up.
const STOPS: &str = "\
seed = 7
duration = \"60s\"
arrivals.open = { rate = \"200/s\" }
target.url = \"http://ADDRESS/\"
variables.who = { file = \"people.csv\", per = \"request\", at_end = \"stop\" }

[[request]]
get = \"/{{who.name}}\"
";
/// Fifty million requests/s: one thread is saturated on any machine.
const SATURATES: &str = "\
seed = 7
duration = \"4ms\"
late = \"skip\"
late_after = \"1us\"
arrivals.open = { rate = \"50000000/s\" }
target = { url = \"http://ADDRESS/\", connections = 1 }
generator.threads = 1
";
/// The only cell of the sweep.
const RUN: &str = "sweep/cells/seed=7";

/// JSON output and exit code of a command.
fn asked(folder: &Path, args: &[&str]) -> (Value, i32) {
    let output = Command::new(env!("CARGO_BIN_EXE_offered")).current_dir(folder).args(args).output().unwrap();
    let document = serde_json::from_slice(&output.stdout);
    (document.unwrap_or_else(|_| panic!("{args:?}: {output:?}")), output.status.code().unwrap())
}

/// A server with empty responses, for the lifetime of the test program.
fn server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut requests = BufReader::new(&stream);
                let mut line = String::new();
                while requests.read_line(&mut line).is_ok_and(|n| n > 0) {
                    if line == "\r\n" && (&stream).write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").is_err() {
                        return;
                    }
                    line.clear();
                }
            });
        }
    });
    address
}

/// A sweep with one finished cell, and the output and exit code of the command that made it.
fn made(workload: &str, make: &[&str]) -> (tempfile::TempDir, Value, i32) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::create_dir_all(path.join("sweep/cells")).unwrap();
    for place in ["w.toml", "sweep/workload.toml"] {
        fs::write(path.join(place), workload).unwrap();
    }
    let people: Vec<String> = (0..60).map(|n| n.to_string()).collect();
    fs::write(path.join("people.csv"), format!("name\n{}\n", people.join("\n"))).unwrap();
    let (said, code) = asked(path, &[make, &["--output", RUN, "--json"]].concat());
    (folder, said, code)
}

/// The common verdict of all commands; asserts that they agree, with their exit codes.
fn agreed(folder: &Path, simulated: bool) -> Value {
    let (verified, _) = asked(folder, &["verify", RUN, "--json"]);
    // With its tolerance of zero, --strict knows other warnings.
    let (_, strict) = asked(folder, &["verify", RUN, "--strict", "--json"]);
    let (report, _) = asked(folder, &["report", RUN, "--json"]);
    let how: &[&str] = if simulated { &["--simulate"] } else { &[] };
    let sweep = ["sweep", "w.toml", "--vary", "seed=7", "--output", "sweep", "--json", "--quiet"];
    let (swept, code) = asked(folder, &[&sweep[..], how].concat());
    same(&verified, &report["runs"][0]["verdict"]);
    same(&verified, &swept["cells"][0]);
    let fails = verified["validity"] == "invalid";
    assert_eq!((strict == 3, code == 3), (fails, fails));
    verified
}

/// Asserts that two documents have the same verdict, reason and warnings.
fn same(one: &Value, other: &Value) {
    for key in ["validity", "reason", "warnings"] {
        assert!(!one[key].is_null(), "{key} is missing in {one}");
        assert_eq!(one[key], other[key], "{key}");
    }
}

/// Makes a run, and compares its verdict with that of every command on its directory.
fn run_and_all_commands(workload: &str, how: &[&str]) -> (tempfile::TempDir, Value) {
    let (folder, run, code) = made(workload, &[&["run", "w.toml", "--quiet"], how].concat());
    let verified = agreed(folder.path(), false);
    same(&run, &verified);
    assert_eq!(code == 3, verified["validity"] == "invalid");
    let report = |format| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_offered"));
        let output = command.current_dir(folder.path()).args(["report", RUN, "--format", format]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let (junit, markdown) = (report("junit"), report("md"));
    assert_eq!(
        (code != 0, code != 0),
        (junit.contains("<failure"), markdown.starts_with("### ❌")),
        "{junit}{markdown}"
    );
    (folder, verified)
}

/// The kinds of its warnings.
fn kinds(verdict: &Value) -> Vec<&str> {
    verdict["warnings"].as_array().unwrap().iter().map(|warning| warning["details"]["kind"].as_str().unwrap()).collect()
}

#[test]
fn all_commands_agree_on_a_valid_run() {
    let (_folder, verdict) = run_and_all_commands(GOOD, &["--dry-run", "exponential:20ms"]);
    assert_eq!(verdict["validity"], "valid");
    assert_eq!(
        verdict["reason"],
        "every request was sent at its scheduled time; the generator error of the p99 is 0 %"
    );
}

#[test]
fn all_commands_agree_on_a_stopped_run() {
    let (_folder, verdict) = run_and_all_commands(&STOPS.replace("ADDRESS", &server().to_string()), &[]);
    assert!(kinds(&verdict).contains(&"stopped_early"), "{verdict}");
}

#[test]
fn all_commands_agree_on_a_saturated_run() {
    let (_folder, verdict) = run_and_all_commands(&SATURATES.replace("ADDRESS", &server().to_string()), &[]);
    assert_eq!(verdict["validity"], "invalid");
    assert!(kinds(&verdict).contains(&"generator_saturated"), "{verdict}");
}

#[test]
fn all_commands_agree_on_a_simulated_run() {
    let (folder, ..) = made(GOOD, &["simulate", "w.toml"]);
    agreed(folder.path(), true);
}

#[test]
fn run_and_verify_agree_to_the_last_digit() {
    let (folder, run, _) = made(GOOD, &["run", "w.toml", "--dry-run", "exponential:20ms"]);
    let (verified, _) = asked(folder.path(), &["verify", RUN, "--json"]);
    let total = |table: &str| verified[table].as_array().unwrap().last().unwrap().clone();
    let responses = total("responses");
    let names = [("mean", "mean_ms"), ("sdev", "sdev_ms"), ("p50", "p50_ms"), ("p90", "p90_ms"), ("p95", "p95_ms")];
    for (ours, theirs) in names.into_iter().chain([("p99", "p99_ms"), ("p999", "p999_ms"), ("max", "max_ms")]) {
        assert_eq!(run["response_ms"][ours], responses[theirs], "{ours}");
    }
    assert_eq!(run["queue"], verified["queue"]);
    assert_eq!(run["arrivals"]["measured_cov"], total("gaps")["cov"]);
    assert_eq!((&verified["window"]["start_s"], &verified["window"]["end_s"]), (&json!(2.0), &json!(57.0)));
    assert_eq!(verified["window"]["requests"], responses["n"]);
}
