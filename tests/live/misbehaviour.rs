//! Servers that refuse, reset, stall, send garbage, close early, close kept-alive connections, or do not accept; and
//! limits.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use offered_events::Outcome;
use rustix::net::{AddressFamily, SocketAddrV4, SocketType, bind, getsockname, listen, socket};

use crate::process::{Process, Serve, offered, until_exists};
use crate::run::{Run, run, seen, start};

tests![
    every_failure_has_its_outcome,
    a_killed_server_is_accounted_for_to_the_last_request,
    a_connection_closed_by_the_server_is_not_reused,
    a_server_that_does_not_accept_is_a_timeout,
    limits_leave_unsent_requests_with_a_reason,
    late_requests_are_skipped_and_counted,
    missing_file_descriptors_leave_requests_unsent_and_the_soft_limit_is_raised
];

const OPEN: &[&str] = &["--open", "100/s", "--duration", "1s"];

fn every_failure_has_its_outcome() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("seen.csv");
    let server = Serve::start("127.0.0.1:0", &record);
    let cases = [
        ("/reset", Outcome::Reset, "eset"),
        ("/close", Outcome::Reset, "closed before a response"),
        ("/early", Outcome::Reset, "closed with 500 bytes of the body missing"),
        ("/garbage", Outcome::Malformed, "not an HTTP/1 response; it begins with `"),
        ("/stall", Outcome::Timeout, "no complete response within 400ms"),
    ];
    std::thread::scope(|scope| {
        for (path, outcome, words) in cases {
            let url = format!("{}{path}", server.url);
            scope.spawn(move || {
                let run = run(&[&[url.as_str(), "--timeout", "400ms"], OPEN].concat());
                // On a busy machine any response may be late.
                let late = run.events.iter().filter(|e| e.outcome == Outcome::Timeout).count();
                assert!(outcome == Outcome::Timeout || late * 2 < run.events.len(), "{path}: {late} late");
                for event in run.events.iter().filter(|e| outcome == Outcome::Timeout || e.outcome != Outcome::Timeout)
                {
                    let says = event.why();
                    assert!(event.outcome == outcome && says.contains(words), "{path}: {event:?}");
                }
            });
        }
    });
    server.stop();
}

fn a_killed_server_is_accounted_for_to_the_last_request() {
    let folder = tempfile::tempdir().unwrap();
    let (record, out) = (folder.path().join("seen.csv"), folder.path().join("run"));
    let server = Serve::start("127.0.0.1:0", &record);
    let process = start(&out, &[&server.url, "--open", "200/s", "--duration", "4s"]);
    until_exists(&out.join("events/part-0000.parquet"));
    server.kill();
    let run = Run::of(process.end(), &out);
    assert!(run.count(Outcome::Ok) > 0 && run.count(Outcome::Refused) > 0, "{}", run.json["outcomes"]);
    assert_eq!(run.count(Outcome::Ok) + run.count(Outcome::Refused) + run.count(Outcome::Reset), run.events.len());
    assert!(run.events.iter().all(|event| event.outcome != Outcome::Refused || event.bytes_out == 0), "never written");
    // The record of a killed server lacks its last rows; all its rows are requests that were sent.
    assert!(seen(&record).len() <= run.count(Outcome::Ok) + run.count(Outcome::Reset));
}

/// A server that sends a complete response to each request and then closes the connection without notice; and its count
/// of responses.
fn closing() -> (String, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let answered = Arc::new(AtomicU64::new(0));
    let count = answered.clone();
    // Ends with the test process; there are no other clients.
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = [0; 1024];
            if stream.read(&mut head).unwrap_or(0) > 0 {
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
                count.fetch_add(1, Relaxed);
            }
        }
    });
    (url, answered)
}

fn a_connection_closed_by_the_server_is_not_reused() {
    let (url, answered) = closing();
    for reuse in ["pool", "per-session"] {
        let before = answered.load(Relaxed);
        let load = ["--closed", "5", "--think", "constant:50ms", "--duration", "1s"];
        let run = run(&[&[url.as_str(), "--reuse", reuse], &load[..]].concat());
        assert_eq!(run.count(Outcome::Ok) as u64, answered.load(Relaxed) - before, "{reuse}");
        // The close may be in transit when a request is written; that request is sent again.
        assert_eq!(run.count(Outcome::Ok), run.events.len(), "{reuse}: {}", run.json["outcomes"]);
    }
}

/// A listening socket with the shortest backlog that never accepts.
fn deaf() -> (OwnedFd, String) {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&socket, &SocketAddrV4::new([127, 0, 0, 1].into(), 0)).unwrap();
    listen(&socket, 0).unwrap();
    let address = SocketAddrV4::try_from(getsockname(&socket).unwrap()).unwrap();
    (socket, format!("http://{address}/"))
}

fn a_server_that_does_not_accept_is_a_timeout() {
    // Linux completes as many handshakes as the backlog holds, and ignores further SYN packets.
    let (_socket, url) = deaf();
    let limits = ["--connect-timeout", "300ms", "--timeout", "500ms"];
    let run = run(&[&[url.as_str()], OPEN, &limits].concat());
    run.all(Outcome::Timeout, "within");
    let unconnected = |error: &str| error == "no connection within 300ms";
    let unconnected = run.events.iter().filter(|event| unconnected(&event.why())).count();
    assert!(unconnected * 2 > run.events.len(), "{unconnected} of {}", run.events.len());
    assert!(run.events.iter().filter(|e| e.why().starts_with("no conn")).all(|e| e.bytes_out == 0));
}

fn limits_leave_unsent_requests_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("seen.csv");
    let server = Serve::start("127.0.0.1:0", &record);
    let url = format!("{}/delay/300ms", server.url);
    let mut sent = 0;
    for (limit, words) in [
        (&["--connections", "3"][..], "3 connections busy (connections limit)"),
        (&["--in-flight", "3"], "3 requests in flight (in_flight limit)"),
        (&["--connections", "4", "--reuse", "fresh"], "4 connections busy (connections limit)"),
        (&["--connections", "5", "--threads", "2"], "connections busy (connections limit)"),
    ] {
        let run = run(&[&[url.as_str()], OPEN, limit].concat());
        let unsent = run.count(Outcome::Unsent);
        assert!(unsent > 0 && run.count(Outcome::Ok) > 0, "{}", run.json["outcomes"]);
        assert_eq!(run.count(Outcome::Ok) + unsent, run.events.len());
        assert_eq!(run.json["unsent"], unsent);
        assert!(run.events.iter().filter(|e| e.outcome == Outcome::Unsent).all(|e| e.why().contains(words)));
        assert!(run.json["warnings"].to_string().contains("not sent"), "{}", run.json["warnings"]);
        sent += run.sent();
    }
    server.stop();
    assert_eq!(seen(&record).len(), sent, "unsent means unsent");
}

fn late_requests_are_skipped_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("seen.csv");
    let server = Serve::start("127.0.0.1:0", &record);
    let file = folder.path().join("w.toml");
    let text = format!(
        "duration = \"1s\"\nlate = \"skip\"\nlate_after = \"1ns\"\narrivals.open.rate = \"100/s\"\ntarget.url = \"{}\"\n",
        server.url
    );
    std::fs::write(&file, text).unwrap();
    let run = run(&[file.to_str().unwrap()]);
    server.stop();
    // Every request is more than a nanosecond late.
    run.all(Outcome::Unsent, "(late = \"skip\")");
    assert_eq!(run.json["unsent"], run.events.len());
    assert_eq!(seen(&record).len(), 0);
}

fn missing_file_descriptors_leave_requests_unsent_and_the_soft_limit_is_raised() {
    let folder = tempfile::tempdir().unwrap();
    let server = Serve::start("127.0.0.1:0", &folder.path().join("seen.csv"));
    let url = format!("{}/delay/700ms", server.url);
    for (limit, name) in [("ulimit -n 40", "hard"), ("ulimit -Sn 40", "soft")] {
        let out = folder.path().join(name);
        let program = offered(&[]).get_program().to_owned();
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{limit} && exec \"$0\" \"$@\"")]).arg(program);
        command.args(["run", "--json", "--quiet", "--reuse", "fresh", &url, "--output"]).arg(&out).args(OPEN);
        let run = Run::of(Process::start(command).end(), &out);
        let unsent: Vec<_> = run.events.iter().filter(|event| event.outcome == Outcome::Unsent).collect();
        assert_eq!(unsent.is_empty(), name == "soft", "{}", run.json["outcomes"]);
        assert!(unsent.iter().all(|e| e.why().contains("ulimit -n")), "{:?}", unsent.first());
        assert_eq!(run.count(Outcome::Ok) + unsent.len(), run.events.len());
    }
    server.stop();
}
