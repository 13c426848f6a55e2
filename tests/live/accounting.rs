//! Counts agree with those of the server, for every system model, transport, and way to end a response.

use std::path::Path;

use offered_base::Instant;
use offered_events::{Event, Outcome};
use offered_schedule::{Launch, Visit};
use offered_workload::Workload;

use crate::harness::{Tested, needs};
use crate::process::{Serve, soon};
use crate::run::{Run, run, seen, start};

tests![
    every_request_is_one_event_and_one_row_at_the_server,
    the_same_over_a_unix_socket,
    the_same_over_ipv6,
    large_bodies_cost_no_memory_and_delay_no_request
];

const OPEN: &[&str] = &["--open", "150/s", "--duration", "1s"];
const CLOSED: &[&str] = &["--closed", "20", "--think", "exponential:100ms", "--duration", "1s"];
const PARTLY: &[&str] = &["--partly-open", "40/s", "--stay", "0.75", "--think", "exponential:50ms", "--duration", "1s"];

/// A run against a target of the recording server, and the expected outcome of each request.
struct Case {
    target: &'static str,
    load: &'static [&'static str],
    more: &'static [&'static str],
    outcome: Outcome,
    /// Size of each response body, bytes.
    body: u64,
}

const fn case(target: &'static str, load: &'static [&'static str], more: &'static [&'static str]) -> Case {
    Case { target, load, more, outcome: Outcome::Ok, body: 3 }
}

const CASES: &[Case] = &[
    case("/", OPEN, &["--reuse", "pool"]),
    case("/", OPEN, &["--reuse", "per-session"]),
    case("/", OPEN, &["--reuse", "fresh"]),
    case("/", OPEN, &["--threads", "3"]),
    case("/", CLOSED, &["--reuse", "pool"]),
    case("/", CLOSED, &["--reuse", "per-session"]),
    case("/", CLOSED, &["--reuse", "fresh"]),
    case("/", PARTLY, &["--reuse", "pool"]),
    case("/", PARTLY, &["--reuse", "per-session"]),
    case("/", PARTLY, &["--reuse", "fresh"]),
    Case { body: 0, ..case("/bytes/5000", OPEN, &["--method", "HEAD"]) },
    case("/", OPEN, &["--method", "POST", "--body", "user {{session}}, request {{sequence}}"]),
    Case { body: 5000, ..case("/bytes/5000", OPEN, &[]) },
    Case { body: 70_000, ..case("/chunked/70000", OPEN, &[]) },
    Case { body: 5000, ..case("/nolength/5000", OPEN, &[]) },
    case("/continue", OPEN, &[]),
    Case { body: 0, ..case("/status/204", OPEN, &[]) },
    Case { body: 0, ..case("/status/304", OPEN, &[]) },
    Case { outcome: Outcome::HttpError, body: 24, ..case("/status/503", OPEN, &[]) },
];

fn every_request_is_one_event_and_one_row_at_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("seen.csv");
    let server = Serve::start("127.0.0.1:0", &record);
    let runs: Vec<Run> = std::thread::scope(|scope| {
        let begun: Vec<_> = CASES
            .iter()
            .enumerate()
            .map(|(i, case)| {
                let url = format!("{}{}?case={i}.", server.url, case.target);
                scope.spawn(move || run(&[&[url.as_str()], case.load, case.more].concat()))
            })
            .collect();
        begun.into_iter().map(|run| run.join().unwrap()).collect()
    });
    server.stop();
    let seen = seen(&record);
    for (i, (case, run)) in CASES.iter().zip(&runs).enumerate() {
        let name = format!("{} {:?} {:?}", case.target, case.load, case.more);
        run.all(case.outcome, "");
        let rows = seen.iter().filter(|row| row.path.ends_with(&format!("?case={i}.")));
        assert!(rows.clone().all(|row| row.is_answered), "{name}");
        assert_eq!(rows.count(), run.events.len(), "{name}");
        let least = if case.target == "/continue" { 70 } else { 20 };
        assert!(
            run.events.iter().all(|e| (case.body + least..case.body + 400).contains(&e.bytes_in)),
            "{name}: {:?}",
            run.events[0]
        );
        assert!(run.events.iter().all(|e| e.bytes_out > 40), "{name}");
        let sessions = run.events.iter().filter(|event| event.step == 0).count();
        let reused = run.events.iter().filter(|event| event.reused).count();
        assert_eq!(
            run.events.len() - reused,
            run.connections(),
            "{name}: the first use of a connection is not a reuse"
        );
        match case.more {
            ["--reuse", "fresh"] => assert_eq!(reused, 0, "{name}"),
            ["--reuse", "per-session"] => assert_eq!(run.connections(), sessions, "{name}"),
            ["--reuse", "pool"] => assert!(reused > 0, "{name}"),
            _ if case.target.starts_with("/nolength") => assert_eq!(reused, 0, "{name}"),
            _ => {}
        }
    }
}

/// Every request to a server with this address and `path` is one row of the server's record.
fn both_sides_agree(folder: &Path, listen: &str, path: &str) {
    let record = folder.join("seen.csv");
    let server = Serve::start(listen, &record);
    let run = run(&[&[format!("{}{path}", server.url).as_str()], OPEN].concat());
    server.stop();
    run.all(Outcome::Ok, "");
    let seen = seen(&record);
    assert_eq!(seen.len(), run.events.len());
    assert!(seen.iter().all(|row| row.is_answered && row.path == "/bytes/100"));
}

fn the_same_over_a_unix_socket() {
    let folder = tempfile::tempdir().unwrap();
    let socket = format!("unix:{}", folder.path().join("s.sock").display());
    both_sides_agree(folder.path(), &socket, ":/bytes/100");
}

fn the_same_over_ipv6() -> Tested {
    needs("ipv6", std::net::TcpListener::bind("[::1]:0").is_ok())?;
    let folder = tempfile::tempdir().unwrap();
    both_sides_agree(folder.path(), "[::1]:0", "/bytes/100");
    Ok(())
}

fn large_bodies_cost_no_memory_and_delay_no_request() {
    let folder = tempfile::tempdir().unwrap();
    let server = Serve::start("127.0.0.1:0", &folder.path().join("seen.csv"));
    let text = |seed: u64| {
        format!(
            "seed = {seed}\nduration = \"1s\"\narrivals.open = {{ rate = \"300/s\", process = \"constant\" }}\n\
             target.url = \"{}\"\n[[request]]\nget = \"/bytes/1000000000\"\n[[request]]\nget = \"/?work_ms=0\"\nweight = 300\n",
            server.url
        )
    };
    // A seed whose schedule has one large request early.
    let large = |seed: &u64| {
        let mix = Workload::parse(&text(*seed), "w.toml", &|_| Err(String::new())).unwrap().mix();
        (0..300)
            .filter(|session| {
                mix.choose(Launch {
                    intended: Instant::ZERO,
                    session: *session,
                    step: 0,
                    place: 0,
                    visit: Visit::FIRST,
                }) == 0
            })
            .collect::<Vec<_>>()
    };
    let seed = (1..10_000).find(|seed| matches!(large(seed)[..], [0..60])).unwrap();
    let file = folder.path().join("w.toml");
    std::fs::write(&file, text(seed)).unwrap();
    let out = folder.path().join("run");
    let mut process = start(&out, &[file.to_str().unwrap(), "--threads", "1"]);
    let mut most = 0;
    soon(|| {
        most = most.max(peak_kb(process.id()));
        (!process.is_running()).then_some(())
    });
    let run = Run::of(process.end(), &out);
    server.stop();
    run.all(Outcome::Ok, "");
    assert_eq!(run.events.len(), 300);
    let is_large = |event: &&Event| run.labels[usize::from(event.label)].starts_with("/bytes");
    let large = run.events.iter().find(is_large).unwrap();
    assert!((1_000_000_000..1_000_000_400).contains(&large.bytes_in), "{large:?}");
    assert!((1..200_000).contains(&most), "{most} kB");
    let (first, done) = (large.first_byte.unwrap(), large.done.unwrap());
    let meanwhile = |at: Option<Instant>| at.is_some_and(|at| first < at && at < done);
    let due = run.events.iter().filter(|event| meanwhile(Some(event.intended))).count();
    let sent = run.events.iter().filter(|event| meanwhile(event.sent)).count();
    assert!(due > 10 && sent * 2 > due, "{sent} of the {due} launches due during the large answer were sent during it");
}

/// Peak memory of the process in kB; 0 if it has ended or the system does not report it.
fn peak_kb(process: u32) -> u64 {
    let status = std::fs::read_to_string(Path::new("/proc").join(process.to_string()).join("status"));
    let status = status.unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|peak| peak.trim().strip_suffix(" kB")?.parse().ok()).unwrap_or(0)
}
