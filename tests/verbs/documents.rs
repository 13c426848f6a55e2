//! Every JSON document can be read by its type and written again unchanged.

use std::path::Path;
use std::process::Command;

use offered_events::document::Document;
use offered_experiment::document::version::Version;
use offered_experiment::document::{RunRecord, SimulationRecord, capacity, simulate, sweep};
use offered_experiment::{Summary, calibrate::Calibration};
use offered_import::document::ImportDocument;
use offered_logs::document as logs;
use offered_plan::document as plan;
use offered_report::Report;
use offered_verify::{Verdict, Verdicts};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Checks that reading and writing the document keeps all of it.
pub(crate) fn round_trip<D: Serialize + DeserializeOwned>(text: &str) {
    let document: D = serde_json::from_str(text).unwrap_or_else(|why| panic!("{why} in\n{text}"));
    let printed = serde_json::to_value(document).unwrap();
    assert_eq!(printed, serde_json::from_str::<Value>(text).unwrap());
}

/// The same for a document with a schema, which must come first.
fn named<D: Document + Serialize + DeserializeOwned>(text: &str) {
    assert!(text.starts_with(&format!("{{\n  \"schema\": \"{}\",\n", D::SCHEMA)), "{text}");
    round_trip::<D>(text);
    let other = text.replacen(D::SCHEMA, "offered.other/1", 1);
    let Err(why) = serde_json::from_str::<D>(&other) else { panic!("{} is taken for another", D::SCHEMA) };
    assert!(why.to_string().contains("the document has the schema `offered.other/1`"), "{why}");
    crate::schema::holds(D::SCHEMA, &serde_json::from_str(text).unwrap());
}

const OPEN: &str = "\
seed = 3
duration = \"200s\"
skip_first = \"1s\"
target.url = \"http://127.0.0.1:9/\"

[arrivals]
open = { rate = \"50/s\" }

[server]
discipline = \"ps\"
service = { exponential = \"10ms\" }

[[request]]
name = \"home\"
get = \"/\"
weight = 4

[[request]]
name = \"buy\"
post = \"/buy\"

[thresholds]
\"p99\" = \"< 250ms\"
\"errors.rate\" = \"< 0.1%\"
\"throughput.rate\" = \"> 1/s\"
\"arrivals.cov\" = \"0.9..1.1\"
";

const VISITS: &str = "\
duration = \"200s\"
arrivals.partly_open = { rate = \"5/s\", think = { exponential = \"1s\" } }
server.service = { hyperexponential = { mean = \"10ms\", scv = 4 } }

[[request]]
name = \"home\"
get = \"/\"

[[flow]]
name = \"look\"

[[flow.step]]
request = \"home\"
repeat = 3
";

/// Infinite second moment: infinite means under some disciplines.
const HEAVY: &str = "\
duration = \"10s\"
arrivals.open.rate = \"1/s\"
server.service = { pareto = { min = \"1ms\", shape = 1.5 } }
";

/// Stdout of the program for `args` in `folder`.
fn printed(folder: &Path, args: &str) -> String {
    let output =
        Command::new(env!("CARGO_BIN_EXE_offered")).current_dir(folder).args(args.split_whitespace()).output().unwrap();
    let (text, said) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8_lossy(&output.stderr).into_owned());
    assert!(matches!(output.status.code(), Some(0 | 3 | 99)), "offered {args}: {said}");
    text
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in [
        ("open.toml", OPEN),
        ("visits.toml", VISITS),
        ("heavy.toml", HEAVY),
        ("curl.sh", "curl http://127.0.0.1:8080/ --http3\n"),
    ] {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    folder
}

#[test]
fn runs_and_their_verdicts() {
    let folder = folder();
    let here = folder.path();
    named::<Summary>(&printed(here, "run open.toml --dry-run exponential:20ms --json --quiet --output run"));
    named::<Summary>(&printed(here, "run open.toml --dry-run --duration 1ms --skip-first 0s --json --quiet"));
    named::<RunRecord>(&std::fs::read_to_string(here.join("run/run.json")).unwrap());
    named::<Verdict>(&printed(here, "verify run --by-threads --json"));
    named::<Verdicts>(&printed(here, "verify run run --json"));
}

#[test]
fn simulations_sweeps_and_searches() {
    let folder = folder();
    let here = folder.path();
    let simulated = |args: &str| named::<simulate::Document>(&printed(here, &format!("simulate {args} --json")));
    simulated("open.toml --jobs 20000 --vary load=0.5,0.7 --vary discipline=fcfs,ps");
    simulated("visits.toml --jobs 5000");
    simulated("heavy.toml --jobs 3000");
    printed(here, "simulate visits.toml --output simulated");
    let record = std::fs::read_to_string(here.join("simulated/run.json")).unwrap();
    named::<SimulationRecord>(&record);
    named::<sweep::Document>(&printed(
        here,
        "sweep open.toml --vary rate=20,60 --simulate --slo p99<60ms --output s --json -q",
    ));
    let kept = std::fs::read_to_string(here.join("s/sweep.json")).unwrap();
    named::<sweep::Document>(&kept);
    let search = "capacity open.toml --vary rate --slo p99<60ms --simulate --precision 50% --json -q";
    named::<capacity::Document>(&printed(here, search));
}

#[test]
fn plans_and_imports() {
    let folder = folder();
    let here = folder.path();
    let plan = |args: &str| printed(here, &format!("plan {args} --json"));
    named::<plan::Emulation>(&plan("emulate --rate 19/s --response 900ms --bottleneck 50ms --users 400"));
    named::<plan::Emulation>(&plan("emulate --rate 1/s --response 1ms --users 1 --think-distribution constant"));
    named::<plan::Populations>(&plan("table --stations 50ms,40ms --users 1,20 --think 0s"));
    named::<plan::Curve>(&plan("table --stations 50ms,40ms --users 1,20 --think 10s --curve"));
    named::<plan::WebUsers>(&plan(
        "web-users --rate 159.16/s --response 253.38ms --think 0s,10s --pages 9 --objects 15",
    ));
    named::<plan::Solutions>(&plan("solve open.toml --load 0.5,0.9"));
    named::<plan::Solutions>(&plan("solve heavy.toml"));
    named::<plan::Solutions>(&plan("solve visits.toml"));
    named::<plan::Solutions>(&plan("solve --class browse:100:10s:50ms,40ms --class buy:3:0s:1ms,40ms"));
    named::<plan::FlowMix>(&plan("flows visits.toml"));
    named::<plan::Comparison>(&plan("compare open.toml --load 0.5,0.99 --users 1,10 --stay 0.5 --jobs 2000"));
    named::<plan::Comparison>(&plan("compare heavy.toml --load 0.5 --users 2 --stay 0.5 --jobs 2000"));
    named::<ImportDocument>(&printed(here, "import curl.sh --input-format curl --json"));
}

#[test]
fn sites_and_reports() {
    let folder = folder();
    let here = folder.path();
    let line = |i: usize| {
        let (client, minute, second) = (i % 7, i / 60 % 60, i % 60);
        format!(
            "10.0.0.{client} - - [10/Oct/2026:09:{minute:02}:{second:02} +0000] \"GET /{} HTTP/1.1\" 200 {}\n",
            i % 5,
            100 + i
        )
    };
    std::fs::write(here.join("access.log"), (0..900).map(line).collect::<String>()).unwrap();
    std::fs::write(here.join("one.log"), line(0)).unwrap();
    let site = printed(here, "logs access.log --json --quiet --discipline ps --load 0.3");
    named::<logs::LogAnalysis>(&site);
    named::<logs::LogAnalysis>(&printed(here, "logs one.log --json --quiet --no-compare"));
    std::fs::write(here.join("site.json"), site).unwrap();
    printed(here, "run open.toml --dry-run exponential:20ms --quiet --output run");
    printed(here, "run open.toml --dry-run exponential:25ms --seed 9 --quiet --output other");
    printed(here, "run open.toml --dry-run --duration 1ms --skip-first 0s --quiet --output short");
    printed(here, "sweep open.toml --vary rate=20,60 --simulate --output s -q");
    named::<Report>(&printed(here, "report run other short s site.json --json"));
}

#[test]
fn the_version_is_a_document_with_target_and_features() {
    let folder = tempfile::tempdir().unwrap();
    let text = printed(folder.path(), "--version --json");
    named::<Version>(&text);
    let version: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(version["version"], env!("CARGO_PKG_VERSION"));
    assert!(version["target"].as_str().unwrap().contains(std::env::consts::ARCH), "{version}");
    let features: Vec<&str> =
        version["features"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    assert_eq!(features.contains(&"objects"), cfg!(feature = "objects"), "{version}");
    assert_eq!(printed(folder.path(), "-V"), concat!("offered ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn calibrations() {
    let text = "{\n  \"schema\": \"offered.calibrate/1\",\n  \"version\": \"0\", \"measured_unix_s\": 7, \"machine\": \"a\", \"processors\": 2,
        \"open_runs\": [{ \"wait_mode\": \"spin\", \"target_rate_per_s\": 1000, \"sent_rate_per_s\": 999.5, \"lateness_p50_us\": 0.1,
        \"lateness_p99_us\": 0.3, \"lateness_max_us\": 12.7, \"cpu_share\": 0.99 }],
        \"max_rate_per_s\": 98765.4, \"cpu_us_per_request\": 6.0 }";
    named::<Calibration>(text);
}

#[test]
fn a_run_records_no_secrets_and_refuses_the_blanked_workload() {
    let folder = tempfile::tempdir().unwrap();
    let text = "duration = \"1s\"\narrivals.open.rate = \"20/s\"\n[target]\nurl = \"http://127.0.0.1:9/\"\nauth.bearer = \"hunter2\"\n\
                [[request]]\nget = \"/a?key=hunter2\"\n[[request]]\nget = \"/a?key=hunter3\"\n";
    std::fs::write(folder.path().join("w.toml"), text).unwrap();
    let offered = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_offered"));
        command.current_dir(folder.path()).args(args).output().unwrap()
    };
    assert!(offered(&["run", "w.toml", "--dry-run", "--output", "r"]).status.success());
    let kept = std::fs::read_to_string(folder.path().join("r/workload.toml")).unwrap();
    assert!(kept.contains("bearer = \"(blanked)\""), "{kept}");
    let verdict = offered(&["verify", "r", "--json"]);
    let verdict = String::from_utf8(verdict.stdout).unwrap();
    assert!(verdict.contains("\"/a\"") && verdict.contains("\"/a (2)\"") && !verdict.contains("hunter"), "{verdict}");
    let again = offered(&["run", "r/workload.toml"]);
    let error = String::from_utf8(again.stderr).unwrap();
    assert!(again.status.code() == Some(2) && error.contains("redacted copy of a workload"), "{error}");
}
