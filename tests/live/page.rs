//! The live page in a real browser.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStderr, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;

use crate::chromium::Chromium;
use crate::harness::Tested;
use crate::process::{Serve, offered, soon};

tests![the_live_page_updates_matches_the_result_and_becomes_the_report, the_stop_button_asks_for_confirmation];

/// A run with a live page.
struct Run {
    child: Child,
    /// The URL it printed.
    link: String,
    stderr: BufReader<ChildStderr>,
}

impl Run {
    fn start(server: &Serve, folder: &Path, duration: &str) -> Self {
        let mut command = offered(&["run", &server.url, "--open", "200/s", "--seed", "4", "--wait-mode", "sleep"]);
        command.args(["--json", "--quiet", "-d", duration, "--output"]).arg(folder.join("run")).arg("--ui");
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        let link = line.trim().strip_prefix("live page: ").unwrap_or_else(|| panic!("no link: {line}")).to_owned();
        Self { child, link, stderr }
    }

    /// Waits for its end and returns the JSON document that it printed.
    fn end(self) -> Value {
        let Self { child, stderr, .. } = self;
        let output = child.wait_with_output().unwrap();
        let rest: Vec<String> = stderr.lines().map_while(Result::ok).collect();
        assert!(matches!(output.status.code(), Some(0 | 3)), "{output:?} {rest:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// A response being read, without a browser.
fn get(link: &str, path: &str) -> BufReader<TcpStream> {
    let (host, own) = link.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(50))).unwrap();
    write!(stream, "GET /{own}{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    BufReader::new(stream)
}

/// All updates sent to pages, until the run has ended and this client has fetched the report like a page.
fn pulses(link: &str) -> JoinHandle<Vec<Value>> {
    let link = link.to_owned();
    std::thread::spawn(move || {
        let lines = get(&link, "events").lines().map(Result::unwrap);
        let told = lines.take_while(|line| line != "event: ended");
        // The line that is not an object describes the run.
        let pulses = told.filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok());
        let pulses = pulses.filter(Value::is_object).collect();
        let mut report = String::new();
        get(&link, "").read_to_string(&mut report).unwrap();
        assert!(report.contains("<!DOCTYPE html>") || report.contains("<!doctype html>"), "{report}");
        pulses
    })
}

/// Text of an element of the page, as soon as `which` is true for it.
fn until(browser: &mut Chromium, id: &str, which: impl Fn(&str) -> bool) -> String {
    let seen = soon(|| Some(browser.text(id)).filter(|text| which(text)));
    seen.unwrap_or_else(|| panic!("{id} is {:?} at last", browser.text(id)))
}

/// Charts with a line of several points.
const DRAWN: &str =
    "[...document.querySelectorAll('figure')].filter(f => f.querySelector('polyline[points*=\" \"]')).length";

fn the_live_page_updates_matches_the_result_and_becomes_the_report() -> Tested {
    let folder = tempfile::tempdir().unwrap();
    let mut browser = Chromium::start()?;
    let server = Serve::start("127.0.0.1:0", &folder.path().join("seen.csv"));
    let run = Run::start(&server, folder.path(), "6s");
    let told = pulses(&run.link);
    browser.open(&run.link);
    let first: u64 = until(&mut browser, "requests", |text| !text.is_empty()).parse().unwrap();
    let later: u64 =
        until(&mut browser, "requests", |text| text.parse().is_ok_and(|n: u64| n > first)).parse().unwrap();
    assert_eq!(browser.text("about"), format!("open, target 200/s at {}/", server.url));
    assert_eq!(browser.value(DRAWN), 6);
    until(&mut browser, "cov", |text| text.contains("(95 % "));
    for (id, part) in [("time", " s of 6 s"), ("phase", "running"), ("errors", "none"), ("so_far", "200")] {
        let text = browser.text(id);
        assert!(text.contains(part), "{id}: {text}");
    }
    assert!(browser.console().is_empty(), "{:?}", browser.console());
    let status = |link: &str| format!("fetch('{link}').then(answer => answer.status)");
    assert_eq!(browser.value(&status(&run.link)), 200);
    let wrong: String = run.link.split_at(run.link.len() - 2).0.to_owned() + "/";
    assert_eq!(browser.value(&status(&wrong)), 404);

    let is_report = "!document.getElementById('requests') && !!document.querySelector('.judgements')";
    assert!(soon(|| (browser.value(is_report) == true).then_some(())).is_some(), "the page becomes the report");
    let (link, json, pulses) = (run.link.clone(), run.end(), told.join().unwrap());
    let launched: Vec<u64> = pulses.iter().filter_map(|pulse| pulse["requests"].as_u64()).collect();
    assert!(launched.contains(&first) && launched.contains(&later), "{launched:?}");
    let last = pulses.last().unwrap();
    assert_eq!((&last["phase"], &last["requests"]), (&"ended".into(), &json["total_requests"]));
    for (live, result) in [
        ("/so_far/target_rate_per_s", "/target_rate_per_s"),
        ("/so_far/sent_rate_per_s", "/sent_rate_per_s"),
        ("/so_far/response/p50_ms", "/response_ms/p50"),
        ("/so_far/response/p95_ms", "/response_ms/p95"),
        ("/so_far/lateness/p50_us", "/lateness_us/p50"),
        ("/measured_cov", "/arrivals/measured_cov"),
        ("/measured_cov_low", "/arrivals/measured_cov_low"),
        ("/scheduled_cov", "/arrivals/scheduled_cov"),
        ("/outcomes/ok", "/outcomes/ok"),
    ] {
        let number = |document: &Value, pointer| document.pointer(pointer).and_then(Value::as_f64).unwrap();
        let (pointer, live, result) = (live, number(last, live), number(&json, result));
        // Percentiles are the same values, here in bins of 0.1 %.
        let tolerance = if pointer.contains("/p") { 0.001 } else { 0.02 };
        assert!((live / result - 1.0).abs() < tolerance, "{pointer}: {live} is not {result}");
    }
    assert!(TcpStream::connect(link.split('/').nth(2).unwrap()).is_err(), "the page is gone with the run");
    Ok(())
}

/// Presses a button and returns whether the confirmation is visible afterwards.
fn press(browser: &mut Chromium, id: &str) -> bool {
    browser.value(&format!("document.getElementById('{id}').click(), document.getElementById('ask').open")) == true
}

fn the_stop_button_asks_for_confirmation() -> Tested {
    let folder = tempfile::tempdir().unwrap();
    let mut browser = Chromium::start()?;
    let server = Serve::start("127.0.0.1:0", &folder.path().join("seen.csv"));
    let run = Run::start(&server, folder.path(), "10m");
    browser.open(&run.link);
    until(&mut browser, "requests", |text| !text.is_empty());
    assert!(press(&mut browser, "stop"));
    assert!(!press(&mut browser, "no"));
    let before = browser.text("requests");
    until(&mut browser, "requests", |text| text != before && !text.is_empty());
    assert_eq!(browser.text("phase"), "running");
    assert!(press(&mut browser, "stop"));
    assert!(!press(&mut browser, "yes"));
    let json = run.end();
    assert!(json["warnings"].to_string().contains("the run was stopped before its end"), "{}", json["warnings"]);
    let kept = offered_store::read(&folder.path().join("run"), &offered_store::ReadOptions::default()).unwrap();
    assert_eq!(json["total_requests"], kept.events.launches());
    Ok(())
}
