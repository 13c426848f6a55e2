//! `offered plan`: its output, its errors, and the keys of its JSON.
//!
//! `UPDATE_GOLDEN=1 cargo test -p offered --test verbs plan` rewrites tests/golden/plan after an intended change.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use offered_base::{Instant, Nanos};
use offered_events::{Event, Outcome};
use serde_json::Value;

fn plan(args: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_offered")).arg("plan").args(args.split_whitespace()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn done(args: &str) -> String {
    let output = plan(args);
    assert!(output.status.success(), "plan {args}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn json(args: &str) -> Value {
    serde_json::from_str(&done(&format!("{args} --json"))).unwrap()
}

/// Compares the output of these commands, one per line, with a file.
fn golden(name: &str, args: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/plan").join(name);
    let found: String = args.lines().map(done).collect();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap();
    assert_eq!(found, expected, "plan {args} against {}", path.display());
}

/// A file with this content in a temporary directory.
fn file(name: &str, content: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    (folder, path)
}

fn workload(arrivals: &str, server: &str) -> (tempfile::TempDir, PathBuf) {
    file("w.toml", &format!("duration = \"10s\"\n[arrivals]\n{arrivals}\n{server}\n"))
}

const H2: &str = "[server]\nservice = { hyperexponential = { mean = \"10s\", scv = 8 } }";

#[test]
fn the_paper_s_tables_and_figures_are_printed() {
    golden("emulate.txt", "emulate --rate 31.73/s --response 53ms --users 200");
    golden(
        "table-1a.txt",
        "table --stations 50ms,40ms,30ms --think 10s --users 100,200,400,600,800,1000 --method schweitzer",
    );
    golden("table-1a-exact.txt", "table --stations 50ms,40ms,30ms --think 10s --users 100,200,400,600,800,1000");
    golden(
        "table-1b.txt",
        "table --stations 50ms,40ms,30ms --ratio 20/s --users 100,200,400,600,800,1000 --method schweitzer",
    );
    golden("curve.txt", "table --stations 50ms,40ms,30ms --think 10s --users 500 --curve");
    let runs = [
        ("15.91/s", "53.17ms"),
        ("31.73/s", "52.74ms"),
        ("46.79/s", "54.06ms"),
        ("60.26/s", "59.64ms"),
        ("77.56/s", "74.97ms"),
        ("118.03/s", "132.67ms"),
        ("159.16/s", "253.38ms"),
    ];
    let web_users = runs.map(|(rate, response)| {
        format!("web-users --rate {rate} --response {response} --think 10s,20s,30s,40s,50s --pages 9 --objects 15")
    });
    golden("table-4.txt", &web_users.join("\n"));
}

#[test]
fn the_scripts_for_other_tools_are_written() {
    for tool in ["jmeter", "k6", "locust", "gatling", "wrk2"] {
        let args = format!(
            "emulate --rate 31.73/s --response 53ms --users 200 --url http://127.0.0.1:8080/Home.aspx --for {tool}"
        );
        golden(&format!("script.{tool}"), &args);
        let script = done(&args);
        assert!(
            script.contains("127.0.0.1") && script.contains("200 users with a mean think time of 6.303 s"),
            "{tool}: {script}"
        );
    }
    let exponential =
        done("emulate --rate 10/s --response 1s --url http://h/ --think-distribution exponential --for jmeter");
    assert!(exponential.contains("JSR223Timer") && !exponential.contains("testclass=\"PoissonRandomTimer\""));
}

#[test]
fn a_written_workload_is_read_back_unchanged() {
    let (folder, requests) = workload(
        "open = { rate = \"1/s\" }",
        "[target]\nurl = \"http://127.0.0.1:8080/\"\n[[request]]\nname = \"a \\\"b\\\"\"\npost = \"/a?x=1\"\nbody = \"n={{sequence}}\"\nweight = 3\n\
         headers = { X-A = \"1\" }\n[[request]]\nget = \"/b\"",
    );
    let out = folder.path().join("closed.toml");
    done(&format!(
        "emulate {} --rate 31.73/s --response 53ms --users 200 --output {}",
        requests.display(),
        out.display()
    ));
    let written = std::fs::read_to_string(&out).unwrap();
    let parsed = offered_workload::Workload::parse(&written, "out", &|_| Err(String::new())).unwrap();
    let offered_schedule::Sessions::Closed(closed) = parsed.sessions() else { panic!("{written}") };
    assert_eq!((closed.users(), parsed.requests().len()), (200, 2));
    assert!((closed.think().mean() - 200.0 / 31.73).abs() < 1e-9);
    assert_eq!((parsed.requests()[0].name(), parsed.requests()[0].weight()), ("a \"b\"", 3.0));
}

#[test]
fn the_json_has_the_documented_keys() {
    let table = json("table --stations 50ms --think 10s --users 100");
    let row = &table["rows"][0];
    for key in ["users", "think_s", "ratio_per_s", "rate_per_s", "concurrency", "q_over_z", "response_s", "rort"] {
        assert!(row[key].is_number(), "{key} in {row}");
    }
    assert!((row["concurrency"].as_f64().unwrap() / 0.962_872_46 - 1.0).abs() < 1e-7);
    let web = json("web-users --rate 159.16/s --response 253.38ms --think 10s --pages 9 --objects 15");
    assert!((web["pages_per_s"].as_f64().unwrap() - 95.496).abs() < 1e-9);
    assert!((web["rows"][0]["web_users"].as_f64().unwrap() - 979.156_776).abs() < 1e-5);
    assert!(web["concurrency_pages"].is_number() && web["rows"][0]["think_s"] == 10.0);
    let emulated = json("emulate --rate 19/s --response 900ms --bottleneck 50ms --users 400");
    assert!(
        emulated["cov"].as_f64().unwrap() > 0.99 && emulated["with_queueing"]["dispersion"].as_f64().unwrap() < 0.8
    );

    let (_folder, path) = workload("open = { rate = \"0.09/s\" }", H2);
    let solved = json(&format!("solve {} --load 0.5,0.9", path.display()));
    assert_eq!(solved["schema"], "offered.plan.solve/1");
    let results = solved["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    for key in ["model", "discipline", "method", "source", "assumption"] {
        assert!(results[1][key].is_string(), "{key} in {}", results[1]);
    }
    for (key, expected) in [("load", 0.9), ("rate_per_s", 0.09), ("response_s", 415.0), ("in_system", 37.35)] {
        assert!((results[1][key].as_f64().unwrap() / expected - 1.0).abs() < 1e-9, "{key} in {}", results[1]);
    }
    assert!(results[1]["users"].is_null() && results[1]["think_s"].is_null());
}

#[test]
fn models_without_a_formula_are_reported_as_such() {
    let mm = "[server]\nservice = { exponential = \"10s\" }\n";
    let think = "think = { exponential = \"1s\" }";
    for (arrivals, server, load, response) in [
        ("open = { rate = \"1/s\" }".to_owned(), mm.to_owned(), 0.9, Some(100.0)),
        ("open = { rate = \"1/s\" }".into(), format!("{mm}servers = 2"), 0.9, Some(52.631_579)),
        ("open = { rate = \"1/s\" }".into(), format!("{H2}\ndiscipline = \"srpt\""), 0.9, Some(30.195_248)),
        ("open = { rate = \"1/s\" }".into(), format!("{H2}\ndiscipline = \"ps\""), 0.9, Some(100.0)),
        ("open = { rate = \"1/s\" }".into(), format!("{H2}\ndiscipline = \"fb\""), 0.7, Some(25.702_507)),
        ("open = { rate = \"1/s\" }".into(), format!("{H2}\nservers = 2"), 0.9, Some(201.842_105)),
        ("open = { rate = \"1/s\" }".into(), format!("{H2}\ndiscipline = \"rr:10ms\""), 0.9, None),
        ("open = { rate = \"1/s\", process = \"constant\" }".into(), mm.into(), 0.9, Some(51.786_594)),
        (format!("closed = {{ users = 100, {think} }}"), H2.into(), 0.9, Some(173.939_82)),
        (format!("closed = {{ users = 1000, {think} }}"), format!("{H2}\ndiscipline = \"ps\""), 0.7, Some(33.080_632)),
        (format!("closed = {{ users = 100, {think} }}"), format!("{H2}\ndiscipline = \"srpt\""), 0.7, None),
        ("closed = { users = 100, think = { constant = \"1s\" } }".into(), H2.into(), 0.7, None),
        // By the formula of Takacs, in a separate program.
        (format!("closed = {{ users = 100, {think} }}"), mm.replace("exponential", "constant"), 0.9, Some(44.041_561)),
        ("partly_open = { rate = \"1/s\", stay = 0.75 }".into(), format!("{H2}\ndiscipline = \"ps\""), 0.6, Some(25.0)),
        ("partly_open = { rate = \"1/s\", stay = 0.9 }".into(), H2.into(), 0.9, Some(131.5)),
        (format!("partly_open = {{ rate = \"1/s\", stay = 0.75, {think} }}"), H2.into(), 0.6, Some(38.138_764)),
        ("partly_open = { rate = \"1/s\", stay = 0.75, think = { constant = \"1s\" } }".into(), H2.into(), 0.6, None),
    ] {
        let (_folder, path) = workload(&arrivals, &server);
        let solved = json(&format!("solve {} --load {load}", path.display()));
        let result = &solved["results"][0];
        match response {
            Some(expected) => {
                assert!(
                    (result["response_s"].as_f64().unwrap() / expected - 1.0).abs() < 1e-6,
                    "{arrivals} {server}: {result}"
                );
                assert!(result["method"].is_string());
            }
            None => {
                assert!(result["response_s"].is_null() && result["method"].is_null(), "{result}");
                assert!(result["assumption"].as_str().unwrap().starts_with("no closed form: "), "{result}");
            }
        }
    }
}

#[test]
fn classes_of_requests_are_ranked_by_their_mean() {
    let two = "[server]\nservice = { exponential = \"10s\" }\ndiscipline = \"pesjf\"\n[[request]]\nget = \"/a\"\nweight = 9\n\
               service = { exponential = \"5s\" }\n[[request]]\nget = \"/b\"\nservice = { exponential = \"55s\" }";
    let (_folder, path) = workload("open = { rate = \"1/s\" }", two);
    let solved = json(&format!("solve {} --load 0.5", path.display()));
    // By hand: lambda = 0.05, the short ones make a load of 0.225.
    let (lambda, first, load) = (0.05, 0.225, 0.5);
    let short = 5.0 + lambda * 0.9 * 25.0 / (1.0 - first);
    let long = 55.0 / (1.0 - first) + lambda * (0.9 * 25.0 + 0.1 * 3025.0) / ((1.0 - first) * (1.0 - load));
    let expected: f64 = 0.9 * short + 0.1 * long;
    assert!((solved["results"][0]["response_s"].as_f64().unwrap() / expected - 1.0).abs() < 1e-9, "{solved}");
}

#[test]
fn networks_and_classes_are_solved() {
    let stations = "[[station]]\nname = \"web\"\nservice = { exponential = \"50ms\" }\n[[station]]\nname = \"app\"\nvisits = 2\n\
                    service = { exponential = \"20ms\" }\n[[station]]\nname = \"db\"\ndiscipline = \"ps\"\nvisits = 0.5\n\
                    service = { constant = \"60ms\" }";
    let (_folder, path) = workload("closed = { users = 200, think = { constant = \"10s\" } }", stations);
    let solved = json(&format!("solve {}", path.display()));
    let result = &solved["results"][0];
    assert!((result["throughput_per_s"].as_f64().unwrap() / 18.640_896 - 1.0).abs() < 1e-7, "{result}");
    assert!((result["in_system"].as_f64().unwrap() / 13.591_042 - 1.0).abs() < 1e-7);
    assert_eq!(result["stations"].as_array().unwrap().len(), 3);
    let (_folder, path) = workload("open = { rate = \"1/s\" }", stations);
    let solved = json(&format!("solve {} --load 0.5", path.display()));
    let expected = 0.05 / 0.5 + 0.04 / 0.6 + 0.03 / 0.7;
    assert!((solved["results"][0]["response_s"].as_f64().unwrap() / expected - 1.0).abs() < 1e-12);

    let classes = json("solve --class a:3:1s:50ms,40ms --class b:2:2s:10ms,80ms");
    assert_eq!(classes["results"].as_array().unwrap().len(), 2);
    let beyond = json("solve --class a:3000:1000s:50ms,40ms --class b:2000:2000s:10ms,80ms --budget 100000");
    assert!(
        beyond["results"][0]["assumption"].as_str().unwrap().contains("error of the response time is at most"),
        "{beyond}"
    );
}

#[test]
fn models_are_compared_at_equal_load() {
    let (_folder, path) = workload("open = { rate = \"1/s\" }", H2);
    let compared = json(&format!("compare {} --load 0.9 --users 100,1000 --stay 0.5", path.display()));
    let rows = compared["rows"].as_array().unwrap();
    let responses: Vec<f64> = rows.iter().map(|row| row["response_s"].as_f64().unwrap()).collect();
    for (found, expected) in responses.iter().zip([415.0, 173.939_82, 322.223_95, 257.5]) {
        assert!((found / expected - 1.0).abs() < 1e-6, "{responses:?}");
    }
}

#[test]
fn models_without_a_formula_are_simulated_and_marked() {
    // Principle (viii) and its limit: partly-open, FCFS, C2 = 8, load 0.6, p = 0.75, Z = 100: 47.6 by a Markov chain with exponential
    // think times. These think times are nearly exponential, but have no chain.
    let think = "think = { gamma = { mean = \"100s\", scv = 0.99 } }";
    let (_folder, path) = workload(&format!("partly_open = {{ rate = \"1/s\", stay = 0.5, {think} }}"), H2);
    let ask = format!("compare {} --load 0.6 --users 4 --stay 0.75 --jobs {{}}", path.display());
    let compared = json(&ask.replace("{}", "300000"));
    let rows = compared["rows"].as_array().unwrap();
    let number = |key: &str| rows[2][key].as_f64().unwrap();
    assert_eq!((&rows[2]["method"], &rows[2]["model"]), (&Value::from("simulation"), &Value::from("p=0.75")));
    let half = (number("response_high_s") - number("response_low_s")) / 2.0;
    assert!((number("response_s") - 47.6).abs() < 2.0 * half && half < 8.0, "{}", rows[2]);
    assert!((number("load_reached") - 0.6).abs() < 0.05 && number("jobs") >= 50_000.0, "{}", rows[2]);
    assert!(rows[2]["assumption"].as_str().unwrap().starts_with("no closed form: "));
    assert!(rows[0]["method"] != "simulation" && rows[0]["response_low_s"].is_null(), "{}", rows[0]);
    let shown = done(&ask.replace("{}", "20000"));
    let marks: Vec<usize> = shown.lines().map(|line| line.matches('±').count()).collect();
    assert_eq!(marks, [0, 0, 0, 1, 1, 0, 0, 2, 0], "{shown}");
    assert!(shown.contains("simulated (20000 requests"), "{shown}");
    // Impossible cells are reported; the others are still compared.
    let (_folder, path) =
        workload("open = { rate = \"1/s\" }", "[server]\nservers = 4\nservice = { exponential = \"10s\" }");
    let shown = done(&format!("compare {} --load 0.9 --users 3,100 --stay 0", path.display()));
    assert!(shown.contains("-: closed N=3 at load 0.9: ") && !shown.contains('±'), "{shown}");
}

#[test]
fn web_users_are_read_from_a_recording() {
    // 100 s of 20 requests/s with a response time of 250 ms.
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let mut writer = offered_store::Writer::create(&run, "", vec!["a".to_owned()]).unwrap();
    let event = |i: u64| {
        let sent = Instant::from_millis(50 * i);
        Event { sent: Some(sent), done: Some(sent + Nanos::from_millis(250)), outcome: Outcome::Ok, ..Event::at(sent) }
    };
    writer.write((0..=2000).map(event).collect()).unwrap();
    let record = offered_store::RunRecord::new(offered_store::RunKind::Run, offered_store::EndCondition::Duration);
    writer.finish(&record).unwrap();
    let web = json(&format!("web-users {} --think 10s", run.display()));
    assert!((web["rows"][0]["web_users"].as_f64().unwrap() / (20.0 * 10.25) - 1.0).abs() < 1e-3, "{web}");
}

#[test]
fn wrong_use_is_one_line_with_a_fix() {
    let (_folder, over) = workload("open = { rate = \"1/s\" }", H2);
    let (_folder2, none) = workload("open = { rate = \"1/s\" }", "");
    for (args, part) in [
        ("emulate --rate 21/s --response 1s --bottleneck 50ms".to_owned(), "1/S_max"),
        (
            "emulate --rate 10/s --response 10ms --bottleneck 50ms".into(),
            "shorter than the service demand of the bottleneck",
        ),
        ("emulate --rate -1/s --response 1s".into(), "not a rate"),
        ("emulate --rate 10/s --response 5".into(), "500ms, 10s"),
        ("emulate --rate 10/s --response 1s --users 0".into(), "at least 1 user"),
        ("emulate --rate 10/s --response 1s --users 10000001".into(), "write a number up to 10000000"),
        ("table --stations 10ms --think 5s --users 50,10000001".into(), "write a number up to 10000000"),
        ("emulate --rate 10/s --response 1s --rort 3x".into(), "3%"),
        ("emulate --rate 10/s --response 1s --for k6".into(), "--url"),
        (
            "emulate --rate 10/s --response 1s --for k6 --url http://h/ --think-distribution poisson".into(),
            "nearly constant",
        ),
        ("emulate --rate 10/s --response 1s --for k6 --url unix:/s".into(), "Unix socket"),
        ("emulate --rate 10/s --response 1s --for k6 --url http://h/ --duration 5s".into(), "--duration"),
        ("table --stations 50ms --think 10s --ratio 20/s --users 5".into(), "cannot be used with"),
        ("table --stations 50ms --users 5".into(), "required"),
        ("table --stations 0s --think 1s --users 5".into(), "above zero"),
        ("table --stations 50ms --load 1.5 --users 5".into(), "below 1"),
        ("table --stations 50ms --think 1s --users 5 --method schweitzer --convergence 0".into(), "tolerance"),
        ("web-users --rate 1/s --response 1s".into(), "--think"),
        ("web-users --rate 1/s --response 1s --think 1s --objects 0".into(), "objects"),
        ("web-users nosuch.jtl --think 1s".into(), "nosuch.jtl"),
        (format!("solve {}", over.display()), "the load is 10.0000"),
        (format!("solve {} --load 1", over.display()), "below 1"),
        (format!("solve {}", none.display()), "[server]"),
        ("solve nosuch.toml".into(), "nosuch.toml"),
        ("solve --class a:1:1s".into(), "NAME:USERS:THINK:DEMAND"),
        ("solve --class a:1:1s:50ms --class b:1:1s:50ms,40ms".into(), "2 demands for 1 stations"),
        (format!("compare {} --stay 1", over.display()), "below 1"),
    ] {
        let output = plan(&args);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "plan {args}: {error}");
        assert!(error.starts_with("error: ") && error.trim_end().lines().count() == 1, "plan {args}: {error}");
        assert!(error.contains(part), "plan {args}: `{part}` is not in {error}");
        assert!(output.stdout.is_empty());
    }
}
