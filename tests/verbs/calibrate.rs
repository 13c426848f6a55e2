//! `offered calibrate`, and the warning of `run` that uses its result.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

fn offered(state: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_offered")).env("XDG_STATE_HOME", state).args(args).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn the_result_is_saved_and_printed() {
    let state = tempfile::tempdir().unwrap();
    let output = offered(state.path(), &["calibrate", "--quick", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let kept = std::fs::read_to_string(state.path().join("offered/calibration.json")).unwrap();
    assert_eq!(found, serde_json::from_str::<Value>(&kept).unwrap());
    assert_eq!(found["schema"], "offered.calibrate/1");
    let rows = found["open_runs"].as_array().unwrap();
    assert_eq!(rows.len(), 6);
    for row in rows {
        let figure = |key: &str| row[key].as_f64().unwrap();
        assert!(figure("sent_rate_per_s") > 0.0 && figure("lateness_p50_us") <= figure("lateness_p99_us"), "{row}");
        assert!(figure("lateness_p99_us") <= figure("lateness_max_us"), "{row}");
    }
    assert!(found["max_rate_per_s"].as_f64().unwrap() > 0.0);
    assert!(found["cpu_us_per_request"].as_f64().unwrap() > 0.0);
}

/// Stderr of a dry run at 1,000/s on a machine of that name, calibrated to `rate`.
fn warned(machine: &str, rate: f64) -> String {
    let state = tempfile::tempdir().unwrap();
    let folder = state.path().join("offered");
    std::fs::create_dir(&folder).unwrap();
    let found = json!({
        "schema": "offered.calibrate/1", "version": "0", "measured_unix_s": 0, "open_runs": [],
        "machine": machine, "processors": std::thread::available_parallelism().unwrap(),
        "max_rate_per_s": rate, "cpu_us_per_request": 6.0
    });
    std::fs::write(folder.join("calibration.json"), found.to_string()).unwrap();
    let args = ["run", "http://127.0.0.1:9/", "--open", "1000/s", "--duration", "2s", "--seed", "1", "--dry-run"];
    stdout(&offered(state.path(), &[&args[..], &["--threads", "1"]].concat()))
}

#[test]
fn run_warns_above_half_of_the_calibrated_rate() {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let warning = "more than half of the 1900/s";
    assert!(warned(&name, 1900.0).contains(warning), "{}", warned(&name, 1900.0));
    assert!(!warned(&name, 2100.0).contains("calibrat"));
    assert!(!warned("another machine", 1900.0).contains("calibrat"));
}
