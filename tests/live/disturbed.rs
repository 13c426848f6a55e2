//! Runs that are disturbed while they run: `run` and `verify` on its directory say the same and exit with the same code.
//!
//! What every command says about 48 situations is in `tests/verbs/situations.rs`, from edited recordings; here the situations are real.

use std::path::Path;

use offered_base::{Instant, Nanos, Seed};
use offered_distributions::Distribution;
use offered_io::Clock;
use offered_serve::{Options, Server};
use offered_simulate::policy::{BuildDiscipline, Policy, ServerConfig};
use rustix::process::Signal;

use crate::process::{Process, Serve, ended, offered, until_exists};

tests![
    a_run_that_is_frozen_for_a_while,
    a_run_that_is_frozen_past_its_end,
    an_overloaded_server,
    a_server_that_dies,
    a_threshold_that_fails
];

/// A result: the judgements with their reasons, without line breaks, and the exit code.
struct Said {
    text: String,
    code: Option<i32>,
}

/// Runs this workload against `url`, lets `disturb` act on the process once events were written, and checks that `verify` agrees.
fn run(url: &str, load: &str, disturb: impl FnOnce(&Process)) -> Said {
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (folder.path().join("w.toml"), folder.path().join("run"));
    std::fs::write(&file, format!("seed = 3\ntarget.url = \"{url}/\"\ngenerator.wait = \"sleep\"\n{load}")).unwrap();
    let [file, out_name] = [&file, &out].map(|path| path.to_str().unwrap());
    let process = Process::start(offered(&["run", file, "--quiet", "--output", out_name]));
    until_exists(&out.join("events/part-0000.parquet"));
    disturb(&process);
    let run = said(process.end());
    let verified = said(ended(&["verify", out_name]));
    assert_eq!((verified.code, &verified.text), (run.code, &run.text));
    run
}

fn said(ended: crate::process::Ended) -> Said {
    let first = ended.stdout.split("\n\n").next().unwrap_or_default();
    assert!(first.len() > 5, "{ended:?}");
    Said { text: first.split_whitespace().collect::<Vec<_>>().join(" "), code: ended.code }
}

fn serve(folder: &Path) -> Serve {
    Serve::start("127.0.0.1:0", &folder.join("seen.csv"))
}

fn wait(ms: u64) {
    Clock::start().sleep_until(Instant::ZERO + Nanos::from_millis(ms));
}

#[track_caller]
fn expect(said: &Said, code: i32, begins: &str, parts: &[&str]) {
    let Said { text, code: found } = said;
    assert_eq!(*found, Some(code), "{text}");
    assert!(text.starts_with(begins), "{text}");
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
}

fn a_run_that_is_frozen_for_a_while() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path());
    let said = run(&server.url, "duration = \"5s\"\narrivals.open.rate = \"300/s\"\n", |process| {
        process.signal(Signal::STOP);
        wait(1500);
        process.signal(Signal::CONT);
    });
    server.stop();
    expect(&said, 3, "INVALID", &["stopped the generator", "which delayed "]);
    assert!(!said.text.contains("saturated") && !said.text.contains("limit of"), "{}", said.text);
}

fn a_run_that_is_frozen_past_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path());
    let said = run(&server.url, "duration = \"3s\"\narrivals.open.rate = \"300/s\"\n", |process| {
        process.signal(Signal::STOP);
        wait(4000);
        process.signal(Signal::CONT);
    });
    server.stop();
    expect(&said, 3, "INVALID", &["the generator stood still from ", " to 3.0 s"]);
    assert!(!said.text.contains("saturated") && !said.text.contains("limit of"), "{}", said.text);
}

fn an_overloaded_server() {
    // One request at a time, 20 ms each: 50/s.
    let seed = Seed(1);
    let policy = Policy::Fcfs.boxed(&ServerConfig { servers: 1, class_means: Vec::new(), seed, rates: None }).unwrap();
    let server = Server::start(Options::new(policy, Distribution::constant(0.02).unwrap(), seed)).unwrap();
    let url = server.address().to_string();
    let said = run(&url, "duration = \"4s\"\narrivals.open.rate = \"150/s\"\n", |_| ());
    server.stop().unwrap();
    // On a busy machine the run may be invalid as well.
    assert!(matches!(said.code, Some(0 | 3)), "{}", said.text);
    assert!(said.text.contains("OVERLOADED target 150/s") && said.text.contains(": backlog grows "), "{}", said.text);
}

fn a_server_that_dies() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path());
    let url = server.url.clone();
    let said = run(&url, "duration = \"4s\"\narrivals.open.rate = \"100/s\"\n", |_| server.kill());
    assert!(matches!(said.code, Some(0 | 3)), "{}", said.text);
    assert!(said.text.contains("FAILURES ") && said.text.contains(": refused: "), "{}", said.text);
}

fn a_threshold_that_fails() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path());
    let load = "duration = \"3s\"\narrivals.open.rate = \"100/s\"\n[thresholds]\np95 = \"< 1us\"\n";
    let said = run(&server.url, load, |_| ());
    server.stop();
    match said.code {
        // On a busy machine the run may be invalid, and then no threshold is checked.
        Some(3) => expect(&said, 3, "INVALID", &["NOT CHECKED response.p95 < 1us (needs a valid run)"]),
        _ => expect(&said, 99, "FAILED response.p95 < 1us: ", &[]),
    }
}
