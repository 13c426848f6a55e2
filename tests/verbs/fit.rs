//! `offered fit` as a command: its JSON document, the workload that it writes, and what it refuses.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn offered(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_offered")).current_dir(folder).args(args).output().unwrap()
}

#[test]
fn closed_runs_give_a_workload_that_plan_and_simulate_take() {
    let folder = tempfile::tempdir().unwrap();
    let text = "seed = 3\nduration = \"400s\"\narrivals.closed = { users = 2, think = { exponential = \"400ms\" } }\n\
        server = { servers = 2, discipline = \"fcfs\", service = { exponential = \"20ms\" } }\n";
    fs::write(folder.path().join("w.toml"), text).unwrap();
    let swept =
        offered(folder.path(), &["sweep", "w.toml", "--vary", "users=2,30,50", "--simulate", "-o", "sweep", "--quiet"]);
    assert!(swept.status.success(), "{swept:?}");
    let fitted = offered(folder.path(), &["fit", "sweep", "--json", "-o", "fitted.toml"]);
    assert!(fitted.status.success(), "{fitted:?}");
    let found: Value = serde_json::from_slice(&fitted.stdout).unwrap();
    crate::schema::holds("offered.fit/1", &found);
    let best = &found["candidates"][0];
    assert!(best["servers"] == 2 && best["discipline"] == "fcfs" && best["explains"] == true, "{found:#}");
    assert!((found["service"][0]["mean_ms"].as_f64().unwrap() / 20.0 - 1.0).abs() < 0.1, "{found:#}");
    for verb in [&["plan", "solve"][..], &["simulate"]] {
        let taken = offered(folder.path(), &[verb, &["fitted.toml"]].concat());
        assert!(taken.status.success(), "{taken:?}");
    }
}

#[test]
fn what_is_no_run_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("x.csv"), "a,b\n").unwrap();
    let refused = offered(folder.path(), &["fit", "x.csv"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("not a run directory"), "{refused:?}");
}
