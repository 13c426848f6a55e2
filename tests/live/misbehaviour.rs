//! Servers that refuse, reset, stall, answer garbage, end early, close kept connections, or do not accept; and limits.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use offered_model::Outcome;
use rustix::net::{AddressFamily, SocketAddrV4, SocketType, bind, getsockname, listen, socket};

use crate::process::{Process, Serve, offered, until_exists};
use crate::run::{Run, run, seen, start};

tests![
    each_bad_ending_has_its_outcome,
    a_server_that_dies_in_the_middle_is_accounted_for_to_the_last_request,
    a_kept_connection_that_the_server_closes_is_not_used_again,
    a_server_that_does_not_accept_is_a_timeout,
    limits_leave_unsent_launches_with_the_reason,
    late_launches_are_skipped_and_counted_when_the_workload_says_so,
    a_process_without_file_descriptors_says_unsent_and_a_soft_limit_is_raised
];

const OPEN: &[&str] = &["--open", "100/s", "--duration", "1s"];

fn each_bad_ending_has_its_outcome() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("seen.csv");
    let server = Serve::start("127.0.0.1:0", &record);
    let cases = [
        ("/reset", Outcome::Reset, "eset"),
        ("/close", Outcome::Reset, "closed before a response"),
        ("/early", Outcome::Reset, "closed with 500 bytes of the body to come"),
        ("/garbage", Outcome::Malformed, "not an HTTP/1 answer; it begins with `"),
        ("/stall", Outcome::Timeout, "no complete answer within 400ms"),
    ];
    std::thread::scope(|scope| {
        for (path, outcome, words) in cases {
            let url = format!("{}{path}", server.url);
            scope.spawn(move || {
                let run = run(&[&[url.as_str(), "--timeout", "400ms"], OPEN].concat());
                // A busy machine may make any answer late.
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

fn a_server_that_dies_in_the_middle_is_accounted_for_to_the_last_request() {
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
    // The record of a killed server lacks its last rows; none of them is beyond what was launched.
    assert!(seen(&record).len() <= run.count(Outcome::Ok) + run.count(Outcome::Reset));
}

/// A server that answers each request in full and then closes the connection without a word of it; what it answered.
fn closing() -> (String, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let answered = Arc::new(AtomicU64::new(0));
    let count = answered.clone();
    // Ends with the process of the tests: nobody else connects.
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

fn a_kept_connection_that_the_server_closes_is_not_used_again() {
    let (url, answered) = closing();
    for reuse in ["pool", "per-session"] {
        let before = answered.load(Relaxed);
        let load = ["--closed", "5", "--think", "constant:50ms", "--duration", "1s"];
        let run = run(&[&[url.as_str(), "--reuse", reuse], &load[..]].concat());
        assert_eq!(run.count(Outcome::Ok) as u64, answered.load(Relaxed) - before, "{reuse}");
        // The end may be on its way when a request is written: that one is a reset, as it was.
        assert_eq!(run.count(Outcome::Ok) + run.count(Outcome::Reset), run.events.len(), "{reuse}");
        assert!(run.count(Outcome::Ok) * 2 > run.events.len(), "{reuse}: {}", run.json["outcomes"]);
    }
}

/// A listening socket with the shortest backlog, from which nobody accepts.
fn deaf() -> (OwnedFd, String) {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&socket, &SocketAddrV4::new([127, 0, 0, 1].into(), 0)).unwrap();
    listen(&socket, 0).unwrap();
    let address = SocketAddrV4::try_from(getsockname(&socket).unwrap()).unwrap();
    (socket, format!("http://{address}/"))
}

fn a_server_that_does_not_accept_is_a_timeout() {
    // Linux completes as many handshakes as the backlog holds, and ignores the others' first packets.
    let (_socket, url) = deaf();
    let limits = ["--connect-timeout", "300ms", "--timeout", "500ms"];
    let run = run(&[&[url.as_str()], OPEN, &limits].concat());
    run.all(Outcome::Timeout, "within");
    let unconnected = |error: &str| error == "no connection within 300ms";
    let unconnected = run.events.iter().filter(|event| unconnected(&event.why())).count();
    assert!(unconnected * 2 > run.events.len(), "{unconnected} of {}", run.events.len());
    assert!(run.events.iter().filter(|e| e.why().starts_with("no conn")).all(|e| e.bytes_out == 0));
}

fn limits_leave_unsent_launches_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("seen.csv");
    let server = Serve::start("127.0.0.1:0", &record);
    let url = format!("{}/delay/300ms", server.url);
    let mut sent = 0;
    for (limit, words) in [
        (&["--connections", "3"][..], "3 connections busy (connections limit)"),
        (&["--in-flight", "3"], "3 requests under way (in_flight limit)"),
        (&["--connections", "4", "--reuse", "fresh"], "4 connections busy (connections limit)"),
        (&["--connections", "5", "--threads", "2"], "connections busy (connections limit)"),
    ] {
        let run = run(&[&[url.as_str()], OPEN, limit].concat());
        let unsent = run.count(Outcome::Unsent);
        assert!(unsent > 0 && run.count(Outcome::Ok) > 0, "{}", run.json["outcomes"]);
        assert_eq!(run.count(Outcome::Ok) + unsent, run.events.len());
        assert_eq!(run.json["unsent"], unsent);
        assert!(run.events.iter().filter(|e| e.outcome == Outcome::Unsent).all(|e| e.why().contains(words)));
        assert!(run.json["warnings"].to_string().contains("never sent"), "{}", run.json["warnings"]);
        sent += run.sent();
    }
    server.stop();
    assert_eq!(seen(&record).len(), sent, "unsent means unsent");
}

fn late_launches_are_skipped_and_counted_when_the_workload_says_so() {
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
    // Nothing starts within a nanosecond.
    run.all(Outcome::Unsent, "(late = \"skip\")");
    assert_eq!(run.json["unsent"], run.events.len());
    assert_eq!(seen(&record).len(), 0);
}

fn a_process_without_file_descriptors_says_unsent_and_a_soft_limit_is_raised() {
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
