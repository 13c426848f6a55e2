//! `offered verify --twin`, with simulations instead of runs, so that results are exact.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

const ARRIVALS: [(&str, &str); 3] = [
    ("open", "open = { rate = \"80/s\" }"),
    ("closed", "closed = { users = 20, think = { exponential = \"150ms\" } }"),
    ("partly-open", "partly_open = { rate = \"16/s\", stay = 0.8, think = { exponential = \"100ms\" } }"),
];

fn workload(arrivals: &str, discipline: &str) -> String {
    format!(
        "seed = 3\nduration = \"30s\"\nskip_first = \"3s\"\narrivals.{arrivals}\n[server]\ndiscipline = \"{discipline}\"\n\
         service = {{ exponential = \"10ms\" }}\n[[request]]\nname = \"a\"\nget = \"/a\"\n[[request]]\nname = \"b\"\nget = \"/b\"\nweight = 3\n"
    )
}

fn offered(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_offered")).current_dir(folder).args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// `simulate w.toml --output run` with these flags, in a folder that also has `other.toml`.
fn simulated(workload: &str, other: &str, flags: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("w.toml"), workload).unwrap();
    std::fs::write(folder.path().join("other.toml"), other).unwrap();
    let output = offered(folder.path(), &[&["simulate", "w.toml", "--output", "run"], flags].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    folder
}

fn twin(folder: &Path, flags: &[&str]) -> Value {
    let output = offered(folder, &[&["verify", "run", "--twin", "--json"], flags].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let verdict: Value = serde_json::from_slice(&output.stdout).unwrap();
    verdict["twin"].clone()
}

#[test]
fn a_simulation_is_its_own_twin_in_every_system() {
    for (system, arrivals) in ARRIVALS {
        for flags in [&[][..], &["--jobs", "1500"]] {
            let folder = simulated(&workload(arrivals, "ps"), "", flags);
            let twin = twin(folder.path(), &[]);
            assert_eq!(twin["model"], format!("{system}, ps"));
            let rows = twin["requests"].as_array().unwrap();
            let labels: Vec<&str> = rows.iter().map(|row| row["label"].as_str().unwrap()).collect();
            assert_eq!(labels, ["a", "b", "Total"]);
            for row in rows {
                let known = ["ratio", "ratio_low", "ratio_high"].map(|key| row[key].as_f64());
                assert_eq!(known, [Some(1.0); 3], "{system} {flags:?}: {row}");
                assert!((row["correlation"].as_f64().unwrap() - 1.0).abs() < 1e-9, "{row}");
            }
            assert_eq!(twin["same_time"], twin["pairs"]);
            assert!(twin["pairs"].as_u64().unwrap() > 1000, "{twin}");
            // Requests that the simulation left in flight complete here.
            let cut = twin["unpaired"]["failed"].as_u64().unwrap();
            let all: u64 = twin["unpaired"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
            assert!(all == cut && cut < 20, "{system} {flags:?}: {twin}");
        }
    }
}

#[test]
fn two_policies_are_compared_on_the_same_requests() {
    let (_, open) = ARRIVALS[0];
    let folder = simulated(&workload(open, "fcfs"), &workload(open, "srpt").replace("seed = 3", "seed = 8"), &[]);
    let twin = twin(folder.path(), &["--workload", "other.toml"]);
    let total = twin["requests"].as_array().unwrap().last().unwrap();
    let number = |key: &str| total[key].as_f64().unwrap();
    // The seed is that of the run, so all requests are the same.
    assert_eq!((&twin["same_time"], &twin["model"]), (&twin["pairs"], &Value::from("open, srpt")));
    assert!(number("ratio_low") > 1.0 && number("ratio") > number("ratio_low"), "{total}");
    let page = text(&offered(folder.path(), &["verify", "run", "--twin", "--workload", "other.toml"]).stdout);
    assert!(
        page.contains("Compared with its simulation: open, srpt (ms)") && page.contains("% slower than its model."),
        "{page}"
    );
    assert!(page.contains("requests have a pair."), "{page}");
}

#[test]
fn runs_without_a_twin_get_an_error() {
    let (_, open) = ARRIVALS[0];
    let folder =
        simulated(&workload(open, "ps"), "duration = \"30s\"\narrivals.open.rate = \"80/s\"\n", &["--load", "0.5"]);
    std::fs::write(folder.path().join("launches.txt"), (0..200).map(|i| format!("{i}\n")).collect::<String>()).unwrap();
    for (args, why) in [
        (&["launches.txt"][..], "no twin"),
        (&["run"], "this simulation was scaled to a load"),
        (&["run", "--workload", "other.toml"], "this simulation was scaled to a load"),
    ] {
        let output = offered(folder.path(), &[&["verify", "--twin"], args].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(text(&output.stderr).contains(why), "{args:?}: {}", text(&output.stderr));
    }
    let folder = simulated(&workload(open, "ps"), "duration = \"30s\"\narrivals.open.rate = \"80/s\"\n", &[]);
    let output = offered(folder.path(), &["verify", "run", "--twin", "--workload", "other.toml"]);
    assert!(
        output.status.code() == Some(2) && text(&output.stderr).contains("server.service"),
        "{}",
        text(&output.stderr)
    );
}
