//! `offered simulate`.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn offered(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_offered")).current_dir(folder).arg("simulate").args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

const OPEN: &str = "seed = 3\nduration = \"10m\"\n[arrivals]\nopen = { rate = \"50/s\" }\n[server]\ndiscipline = \"ps\"\nservice = { exponential = \"10ms\" }\n";

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    folder
}

#[test]
fn one_result_is_a_small_table() {
    let folder = folder(&[("w.toml", OPEN)]);
    let output = offered(folder.path(), &["w.toml"]);
    let table = text(&output.stdout);
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
    for word in ["open, ps", "response ms", "p99", "throughput/s", "measured load", "E[N]/X"] {
        assert!(table.contains(word), "{word} in\n{table}");
    }
    assert!(table.lines().count() < 20 && table.lines().all(|line| line.chars().count() <= 80), "{table}");
}

#[test]
fn a_sweep_gives_the_same_numbers_on_any_number_of_threads() {
    let folder = folder(&[("w.toml", OPEN)]);
    let sweep = |threads: &str| {
        let args = ["w.toml", "--jobs", "2e4", "--json", "--threads", threads];
        let sweeps = ["--vary", "load=0.3..0.9:0.3", "--vary", "discipline=fcfs,srpt", "--vary", "scv=1,4"];
        let output = offered(folder.path(), &[&args[..], &sweeps].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let one = sweep("1");
    assert_eq!(one, sweep("4"));
    let json: Value = serde_json::from_str(&one).unwrap();
    assert_eq!(json["schema"], "offered.simulate/1");
    let results = json["results"].as_array().unwrap();
    assert_eq!(results.len(), 12);
    assert_eq!(results[7]["varied"], serde_json::json!({ "load": "0.6", "discipline": "srpt", "scv": "4" }));
    for result in results {
        let (asked, reached) = (result["load"].as_f64().unwrap(), result["load_reached"].as_f64().unwrap());
        assert!((asked / reached - 1.0).abs() < 0.1, "{asked} {reached}");
        for key in [
            "model",
            "discipline",
            "users",
            "stay",
            "scv",
            "jobs",
            "slowdown",
            "throughput_per_s",
            "in_system",
            "think_s",
            "warnings",
        ] {
            assert!(result.get(key).is_some(), "{key} is missing");
        }
        for key in ["mean", "p50", "p90", "p95", "p99", "max"] {
            assert!(result["response_s"][key].as_f64().unwrap() > 0.0, "{key}");
        }
        // At load 0.9 every discipline needs more jobs.
        let has_interval = ["low", "high"].iter().all(|key| result["response_s"][key].as_f64() > Some(0.0));
        assert_eq!(has_interval, result["load"].as_f64() < Some(0.8), "{result}");
    }
}

#[test]
fn the_run_directory_is_like_that_of_a_run() {
    let folder = folder(&[("w.toml", OPEN)]);
    let output = offered(folder.path(), &["w.toml", "--jobs", "5000", "--output", "run"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let run = folder.path().join("run");
    let recording = offered_store::read(&run, &offered_store::ReadOptions::default()).unwrap();
    let answered =
        recording.events.to_vec().unwrap().iter().filter(|e| e.outcome == offered_events::Outcome::Ok).count();
    assert_eq!(answered, 5000);
    assert!(recording.events.to_vec().unwrap().iter().all(|e| e.sent == Some(e.intended) && e.done >= e.sent));
    assert_eq!(recording.notes, []);
    assert_eq!(std::fs::read_to_string(run.join("workload.toml")).unwrap(), OPEN);
    // A second run must not touch the first.
    let output = offered(folder.path(), &["w.toml", "--output", "run"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("exists already"), "{}", text(&output.stderr));
}

#[test]
fn a_csv_has_a_row_per_result() {
    let folder = folder(&[("w.toml", OPEN)]);
    let args = ["w.toml", "--jobs", "5e3", "--csv", "t.csv", "--vary", "discipline=fcfs,ps"];
    assert_eq!(offered(folder.path(), &args).status.code(), Some(0));
    let csv = std::fs::read_to_string(folder.path().join("t.csv")).unwrap();
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(rows.len(), 3);
    assert!(rows[0].starts_with("varied_discipline,model,discipline,") && rows[2].starts_with("ps,open,ps,"), "{csv}");
    assert!(rows.iter().all(|row| row.split(',').count() >= rows[0].split(',').count()), "{csv}");
}

#[test]
fn classes_have_the_names_of_their_requests() {
    let requests = "[[request]]\nname = \"a\"\nget = \"/a\"\n[[request]]\nname = \"b\\u001b[2J\"\nget = \"/b\"\n";
    let folder = folder(&[("w.toml", &format!("{OPEN}{requests}"))]);
    let output = offered(folder.path(), &["w.toml"]);
    let table = text(&output.stdout);
    assert_eq!((table.matches("\n  a ").count(), table.matches("\n  b\\u{1b}[2J ").count()), (2, 2), "{table}");
    let json: Value = serde_json::from_slice(&offered(folder.path(), &["w.toml", "--json"]).stdout).unwrap();
    let labels = json["results"][0]["classes"].as_array().unwrap().iter().map(|class| class["label"].as_str());
    assert_eq!(labels.collect::<Vec<_>>(), [Some("a"), Some("b\u{1b}[2J")]);
}

#[test]
fn a_supercomputer_log_is_a_service_distribution_and_invalid_lines_are_reported() {
    let job = "1 0 -1 60 128 -1 -1 -1 -1 -1 -1 1 1 -1 -1 -1 -1 -1\n";
    let log = format!("; a log\n{job}{}broken\n", job.replace(" 60 ", " 20 "));
    let workload = OPEN.replace("{ exponential = \"10ms\" }", "{ empirical = \"log.swf\" }");
    let folder = folder(&[("w.toml", &workload), ("log.swf", &log)]);
    let output = offered(folder.path(), &["w.toml", "--load", "0.5", "--jobs", "2e4", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(
        text(&output.stderr).contains("1 line of log.swf cannot be parsed and is ignored"),
        "{}",
        text(&output.stderr)
    );
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["results"][0]["scv"], 0.25);
}

#[test]
fn wrong_input_is_one_line_and_code_2() {
    let law = |law: &str| OPEN.replace("{ exponential = \"10ms\" }", law);
    let folder = folder(&[
        ("w.toml", OPEN),
        ("fast.toml", &OPEN.replace("50/s", "150/s")),
        ("nobody.toml", &OPEN.replace("open = { rate = \"50/s\" }", "closed = { users = 0 }")),
        ("closed.toml", &OPEN.replace("open = { rate = \"50/s\" }", "closed = { users = 5 }")),
        ("list.toml", &law("{ empirical = [\"1s\", \"-2s\"] }")),
        ("work.toml", &law("{ constant = \"0s\" }")),
        ("gone.toml", &law("{ empirical = \"gone.swf\" }")),
        ("broken.toml", &law("{ empirical = \"broken.swf\" }")),
        ("broken.swf", "; a log\n1 0 -1 -7 128 -1 -1 -1 -1 -1 -1 1 1 -1 -1 -1 -1 -1\n"),
        ("zip.toml", &law("{ empirical = \"zip.swf.gz\" }")),
        ("zip.swf.gz", "not zipped"),
        ("negative.toml", &OPEN.replace("10ms", "-10ms")),
        (
            "none.toml",
            &OPEN
                .replace("[server]", "[target]\nurl = \"http://127.0.0.1/\"\n[server]")
                .replace("discipline = \"ps\"", "discipline = \"sptr\""),
        ),
    ]);
    for (args, why) in [
        (&["absent.toml"][..], "cannot read absent.toml"),
        (&["fast.toml"], "the load is 1.500"),
        (&["nobody.toml"], "nobody.toml:4: arrivals.closed.users must be at least 1"),
        (&["negative.toml"], "not a duration"),
        (&["none.toml"], "unknown discipline `sptr`"),
        (&["w.toml", "--load", "1"], "without end"),
        (&["w.toml", "--vary", "rate=0.0001/s"], "no request completed"),
        (&["w.toml", "--vary", "discipline=pesjf"], "discipline=pesjf: the discipline pesjf needs classes"),
        (&["w.toml", "--vary", "users=3"], "users=3: the workload's arrivals are not closed"),
        (&["w.toml", "--vary", "discipline=priority"], "classes"),
        (&["w.toml", "--vary", "discipline=ps:0"], "discipline"),
        (&["w.toml", "--vary", "scv=-1"], "scv=-1"),
        (&["w.toml", "--load", "0"], "a load must be above zero"),
        (&["w.toml", "--load", "nan"], "a load must be above zero"),
        (&["closed.toml", "--vary", "users=0"], "arrivals.closed.users must be at least 1"),
        (&["closed.toml", "--load", "0.9"], "the load of a closed system needs a think time to adjust"),
        (&["list.toml"], "list.toml:7: server.service.empirical"),
        (&["work.toml"], "all service demands are zero"),
        (&["gone.toml"], "cannot read `gone.swf`"),
        (
            &["broken.toml"],
            "broken.swf has no job with a run time; is it in the Standard Workload Format?; broken.swf:2: the run time is neither a time nor -1",
        ),
        (&["zip.toml"], "zip.swf.gz:1: read error"),
    ] {
        let output = offered(folder.path(), args);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        assert!(error.starts_with("error: ") && error.lines().count() == 1 && error.contains(why), "{args:?}: {error}");
    }
}

#[test]
fn a_short_simulation_prints_what_it_knows_and_what_an_interval_needs() {
    let folder = folder(&[("w.toml", OPEN)]);
    let output = offered(folder.path(), &["w.toml", "--jobs", "100"]);
    let (table, warnings) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{warnings}");
    assert!(table.contains("100 requests after a warm-up of 0; 95 % intervals need 1280 (--jobs 1280)"), "{table}");
    assert!(table.contains("needs 2e3") && !table.contains("inf") && !table.contains("NaN"), "{table}");
    assert!(warnings.contains("100 completed requests are too few") && warnings.contains("--jobs 1280"), "{warnings}");
    let json: Value =
        serde_json::from_slice(&offered(folder.path(), &["w.toml", "--jobs", "100", "--json"]).stdout).unwrap();
    let result = &json["results"][0];
    assert_eq!((&result["jobs"], &result["jobs_needed"]), (&100.into(), &1280.into()));
    assert!(result["response_s"]["mean"].as_f64().unwrap() > 0.0 && result["response_s"]["low"].is_null(), "{result}");
    // With that many requests there is an interval.
    let output = offered(folder.path(), &["w.toml", "--jobs", "1280", "--json"]);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let result = &json["results"][0];
    assert!(result["response_s"]["low"].is_number() && result["jobs_needed"].is_null(), "{result}");
}

#[test]
fn points_without_a_steady_state_are_marked_and_the_others_simulated() {
    let folder = folder(&[("w.toml", OPEN)]);
    let vary = ["w.toml", "--jobs", "5e3", "--vary", "load=0.5,1"];
    let output = offered(folder.path(), &[&vary[..], &["--csv", "t.csv"]].concat());
    let (table, warnings) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{warnings}");
    let row = |name: &str| table.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{table}"));
    assert!(row("load=1 ").trim_end().ends_with("unstable") && !row("load=0.5").contains("unstable"), "{table}");
    assert!(warnings.contains("load=1: the load is 1.000, and at 1 or more the queue"), "{warnings}");
    let csv = std::fs::read_to_string(folder.path().join("t.csv")).unwrap();
    assert_eq!(csv.lines().count(), 3, "{csv}");
    assert!(csv.lines().nth(2).unwrap().starts_with("1,,,"), "{csv}");
    let json: Value =
        serde_json::from_slice(&offered(folder.path(), &[&vary[..], &["--json"]].concat()).stdout).unwrap();
    assert_eq!(
        (json["results"].as_array().unwrap().len(), &json["unmeasurable"][0]["varied"]["load"]),
        (1, &"1".into())
    );
}

/// One rule decides which percentiles of heavy-tailed sizes have an interval.
#[test]
fn a_cell_of_a_sweep_needs_as_many_large_sizes_as_a_simulation() {
    let workload = "seed = 1\nduration = \"5m\"\narrivals.open.rate = \"90/s\"\n\
                    server.service = { pareto = { min = \"5.4545ms\", shape = 2.2 } }\n";
    let folder = folder(&[("w.toml", workload)]);
    let json = |output: Output| -> Value { serde_json::from_slice(&output.stdout).unwrap() };
    let simulated = json(offered(folder.path(), &["w.toml", "--json"]));
    let sweep = ["sweep", "w.toml", "--simulate", "--vary", "rate=90", "--quiet", "--json", "-o", "cells"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_offered"));
    let swept = json(command.current_dir(folder.path()).args(sweep).output().unwrap());
    let [simulated, swept] =
        [&simulated["results"][0]["response_s"], &swept["cells"][0]["response_ms"]].map(|of| &of["values_needed"]);
    assert!(swept["p90"].is_u64() && swept["mean"].is_null(), "no number of responses is enough for the mean: {swept}");
    let [simulated, swept] = [simulated, swept].map(|of| of["p99"].as_f64().unwrap());
    assert!((simulated / swept - 1.0).abs() < 1e-3 && swept > 1e6, "{simulated} {swept}");
}

#[test]
fn sweep_cells_without_a_steady_state_are_marked() {
    let folder = folder(&[("w.toml", OPEN)]);
    let sweep = |more: &[&str]| {
        let args =
            ["sweep", "w.toml", "--vary", "rate=50,0.0001,200", "--simulate", "--slo", "p90 < 1s", "-o", "out", "-q"];
        let mut command = Command::new(env!("CARGO_BIN_EXE_offered"));
        command.current_dir(folder.path()).args([&args[..], more].concat()).output().unwrap()
    };
    let output = sweep(&[]);
    let table = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{table}{}", text(&output.stderr));
    let row = |name: &str| table.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{table}"));
    assert!(row("rate=50 ").contains("VALID") || row("rate=50 ").contains("WARNINGS"), "{table}");
    assert!(row("rate=200 ").contains("NOT CHECKED") && row("rate=200: ").contains("the load is 2.000"), "{table}");
    assert!(row("rate=0.0001: ").contains("no request completed"), "{table}");
    // The limit is between the cell that meets it and the one without a steady state.
    let json: Value = serde_json::from_slice(&sweep(&["--json"]).stdout).unwrap();
    let limit = json["limits"][0]["value"].as_f64().unwrap();
    assert!((50.0..200.0).contains(&limit), "{}", json["limits"]);
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    // The same command again finds the same.
    assert_eq!(text(&sweep(&[]).stdout), table);
    let json: Value = serde_json::from_slice(&sweep(&["--json"]).stdout).unwrap();
    let cell = &json["cells"][2];
    assert_eq!((&cell["validity"], &cell["response_ms"]), (&"not_checked".into(), &Value::Null));
    assert!(cell["reason"].as_str().unwrap().contains("grows without end"), "{cell}");
    let report = Command::new(env!("CARGO_BIN_EXE_offered"))
        .current_dir(folder.path())
        .args(["report", "out", "-o", "page.html"])
        .output()
        .unwrap();
    assert_eq!(report.status.code(), Some(0), "{}", text(&report.stderr));
}

#[test]
fn a_simulation_that_failed_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let unstable = "duration = \"1s\"\narrivals.open.rate = \"10/s\"\n";
    std::fs::write(folder.path().join("w.toml"), unstable).unwrap();
    let output = offered(folder.path(), &["w.toml", "--output", "run"]);
    assert_ne!(output.status.code(), Some(0));
    assert!(!folder.path().join("run").exists(), "{}", text(&output.stderr));
}

/// Three simultaneous jobs of 100, 300 and 200 ms complete after 100, 400 and 600 ms: work and order are those of the trace.
#[test]
fn the_work_of_a_trace_is_served_in_the_order_it_was_recorded() {
    let group =
        |i: u32| format!("{0} {1} 0 100ms\n{0} {2} 1 300ms\n{0} {3} 0 200ms\n", 5 * i, 3 * i, 3 * i + 1, 3 * i + 2);
    let trace = format!("offered.trace/1\nGET /a\nGET /b\n{}", (0..700).map(group).collect::<String>());
    let replay = "seed = 1\nduration = \"1h\"\narrivals.replay = { trace = \"day.trace\", timestamps = \"as-recorded\" }\n[server]\n";
    let folder = folder(&[("day.trace", &trace), ("w.toml", replay)]);
    let output = offered(folder.path(), &["w.toml", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let json: Value = serde_json::from_str(&text(&output.stdout)).unwrap();
    let result = &json["results"][0];
    assert!((result["response_s"]["mean"].as_f64().unwrap() - 1.1 / 3.0).abs() < 1e-9, "{result}");
    assert!((result["load"].as_f64().unwrap() - 2100.0 * 0.2 / 3600.0).abs() < 1e-9, "{result}");
    let plain: String = trace
        .lines()
        .map(|line| line.strip_suffix("00ms").map_or(line, |line| &line[..line.len() - 2]).to_owned() + "\n")
        .collect();
    // Without work in the trace, the server needs a service distribution.
    std::fs::write(folder.path().join("day.trace"), plain).unwrap();
    let output = offered(folder.path(), &["w.toml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("w.toml:4: server: `service` is missing"), "{}", text(&output.stderr));
}
