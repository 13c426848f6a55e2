//! `offered compare` on modelled servers, whose true difference is known.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// A workload at an M/M/1 with this mean service time.
fn workload(folder: &Path, name: &str, seed: u64, service: &str) -> String {
    let text = format!(
        "seed = {seed}\nduration = \"1m\"\narrivals.open.rate = \"60/s\"\nserver = {{ discipline = \"fcfs\", service = {{ exponential = \"{service}\" }} }}\n"
    );
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

fn compare(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_offered")).arg("compare").args(args).output().unwrap()
}

fn simulated(a: &str, b: &str, rest: &[&str]) -> (Option<i32>, Value) {
    let output = compare(&[&[a, b, "--simulate", "--json", "--quiet", "--round", "20s"], rest].concat());
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{text}")))
}

fn row<'a>(document: &'a Value, statistic: &str) -> &'a Value {
    document["responses"].as_array().unwrap().iter().find(|row| row["statistic"] == statistic).unwrap()
}

#[test]
fn a_slower_server_is_known_to_be_slower_and_the_interval_holds_the_truth() {
    let folder = tempfile::tempdir().unwrap();
    let a = workload(folder.path(), "a.toml", 1, "8ms");
    let b = workload(folder.path(), "b.toml", 1001, "10ms");
    // Response times are exponential with rate mu - lambda: every percentile changes by the same factor.
    let truth = 100.0 * ((125.0 - 60.0) / (100.0 - 60.0) - 1.0);
    let (code, found) = simulated(&a, &b, &[]);
    assert_eq!((code, &found["schema"]), (Some(0), &"offered.compare/1".into()));
    for statistic in ["mean", "p50", "p90", "p95", "p99"] {
        let row = row(&found, statistic);
        let [low, high] = ["low_percent", "high_percent"].map(|key| row[key].as_f64().unwrap());
        assert!(low <= truth && truth <= high, "{statistic}: {low} to {high}, truth {truth}");
    }
    assert!(row(&found, "p95")["low_percent"].as_f64().unwrap() > 0.0 && found["end"] == "decided", "{found}");
    assert!(found["conclusion"].as_str().unwrap().contains("% slower than A's"), "{found}");
    // The other way round.
    let (_, found) = simulated(&b, &a, &["--metric", "mean"]);
    assert!(
        found["conclusion"].as_str().unwrap().starts_with("B's mean is")
            && row(&found, "mean")["high_percent"].as_f64().unwrap() < 0.0
    );
}

#[test]
fn the_gate_passes_fails_or_does_not_know() {
    let folder = tempfile::tempdir().unwrap();
    let a = workload(folder.path(), "a.toml", 1, "8ms");
    let same = workload(folder.path(), "same.toml", 2001, "8ms");
    let slow = workload(folder.path(), "slow.toml", 3001, "10ms");
    let (code, found) = simulated(&a, &same, &["--no-worse-than", "40%", "--metric", "mean"]);
    assert_eq!((code, &found["result"], &found["end"]), (Some(0), &"passed".into(), &"decided".into()), "{found}");
    let (code, found) = simulated(&a, &slow, &["--no-worse-than", "10%", "--metric", "mean"]);
    assert_eq!((code, &found["result"]), (Some(99), &"failed".into()), "{found}");
    let (code, found) = simulated(&a, &same, &["--no-worse-than", "0.1%", "--pairs", "4"]);
    assert_eq!((code, &found["result"], &found["end"]), (Some(3), &"not_checked".into(), &"rounds".into()), "{found}");
}

#[test]
fn wrong_input_is_an_error_with_the_next_step() {
    let folder = tempfile::tempdir().unwrap();
    let a = workload(folder.path(), "a.toml", 1, "8ms");
    let ramp = folder.path().join("ramp.toml");
    fs::write(&ramp, "duration = \"1m\"\narrivals.open.rate = { ramp = [\"1/s\", \"9/s\"], over = \"1m\" }\nserver.service = { constant = \"1ms\" }\n").unwrap();
    let ramp = ramp.display().to_string();
    for (args, why) in [
        (&[&*a][..], "nothing to compare: give two --target"),
        (&[&*a, "--target", "http://a/"], "nothing to compare"),
        (
            &[&*a, "--baseline", "none", "--target", "http://a/", "--target", "http://b/"],
            "with --baseline, A is the recording",
        ),
        (&[&*a, &*a, "--settle", "10s"], "--settle 10s must be shorter than --round 10s"),
        (&[&*a, &*a, "--metric", "errors"], "is not mean, max or a percentile"),
        (&[&*a, &*ramp, "--simulate"], "set the round to 1m"),
        (&[&*a, &*a, "--pairs", "3"], "--pairs"),
    ] {
        let output = compare(args);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(matches!(output.status.code(), Some(1 | 2)) && text.contains(why), "{args:?}: {text}");
    }
}

#[test]
fn reports_hold_the_result_in_their_formats() {
    let folder = tempfile::tempdir().unwrap();
    let a = workload(folder.path(), "a.toml", 1, "8ms");
    let b = workload(folder.path(), "b.toml", 1001, "10ms");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let [page, summary, suites, json] = ["c.html", "c.md", "c.xml", "c.json"].map(at);
    let (markdown, junit) = (at("d.md"), at("d.xml"));
    let common = ["--simulate", "--quiet", "--round", "20s", "--no-worse-than", "5%"];
    let files = ["-o", &page, "-o", &summary, "-o", &suites, "-o", &json, "--markdown", &markdown, "--junit", &junit];
    let output = compare(&[&[&*a, &b], &common[..], &files].concat());
    assert_eq!(output.status.code(), Some(99), "{output:?}");
    // One way for all commands: each flag of `run`, and -o as of `report`.
    assert_eq!((read("c.md"), read("c.xml")), (read("d.md"), read("d.xml")));
    let document: Value = serde_json::from_str(&read("c.json")).unwrap();
    crate::schema::holds("compare", &document);
    let rounds = document["b"]["rounds_ms"].as_array().unwrap().len() as u64;
    assert_eq!((Some(rounds), &document["result"]), (document["rounds"].as_u64(), &"failed".into()));
    let conclusion = document["conclusion"].as_str().unwrap();
    let text = read("c.md");
    let shown = text.split("<details>").next().unwrap();
    assert!(shown.lines().count() < 15 && text.contains("FAILED: ") && text.contains("| p95 ms | "), "{text}");
    assert!(read("c.xml").contains("tests=\"2\" failures=\"1\""), "{}", read("c.xml"));
    for name in ["c.html", "c.xml"] {
        assert!(
            read(name).replace("&#x27;", "'").replace("&#39;", "'").replace("&apos;", "'").contains(conclusion),
            "{name}"
        );
    }
    // The document makes the same page.
    let again =
        Command::new(env!("CARGO_BIN_EXE_offered")).args(["report", &json, "-o", &at("e.html")]).output().unwrap();
    assert!(again.status.success() && read("e.html") == read("c.html"), "{again:?}");
    // What cannot be written is found before the first round; a simulation records nothing.
    for (file, words) in [("no.toml/c.md", "cannot write"), ("rounds", "--simulate records no rounds")] {
        fs::write(folder.path().join("no.toml"), "").unwrap();
        let output = compare(&[&[&*a, &b], &common[..], &["-o", &at(file)]].concat());
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && stderr.contains(words), "{stderr}");
    }
}
