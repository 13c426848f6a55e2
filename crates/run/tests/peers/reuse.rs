//! HTTP/1.1: servers that close connections which they had promised to keep (RFC 9112, sections 9.3.1 and 9.5).

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use offered_base::Share;
use offered_events::{Event, Outcome};
use offered_run::{Generator, Load};
use offered_workload::Workload;

use crate::listen;

tests![
    a_repeatable_request_is_sent_again_on_a_new_connection,
    another_request_is_not_sent_again,
    a_request_is_sent_again_once_and_only_without_a_response,
    without_a_new_connection_the_first_failure_counts
];

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const STREAM: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 94\r\n\r\n\
    data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
const CLOSED: &str = "reused connection closed before a response";

/// The events of `count` requests of one user, each sent as soon as the one before is complete.
fn run(count: u32, target: &str, request: &str) -> Vec<Event> {
    let text = format!(
        "duration = \"50s\"\nrequests = {count}\narrivals.closed = {{ users = 1 }}\ngenerator = {{ threads = 1, wait = \"sleep\" }}\n\
         [target]\n{target}\n[[request]]\n{request}\n"
    );
    let workload = Workload::parse(&text, "w.toml", &|_| Err(String::new())).unwrap_or_else(|why| panic!("{why}"));
    let generator = Generator::new(workload, Share::ALL, Load::Target).unwrap_or_else(|why| panic!("{why}"));
    let (_, sinks) = generator.run(None, Vec::new, |_| ()).unwrap();
    let mut events: Vec<Event> = sinks.into_iter().flatten().collect();
    events.sort_by_key(|event| event.step);
    assert_eq!(events.len(), count as usize, "{request}");
    events
}

/// Responds to the first request on a connection. The second is read, and the connection closed: with an RST if `resets`.
fn once(mut stream: TcpStream, answer: &str, resets: bool) {
    let mut buffer = [0; 4096];
    if stream.read(&mut buffer).is_ok_and(|read| read > 0) && stream.write_all(answer.as_bytes()).is_ok() {
        let _ = stream.read(&mut buffer);
        if resets {
            let _ = rustix::net::sockopt::set_socket_linger(&stream, Some(std::time::Duration::ZERO));
        } else {
            let _ = stream.shutdown(Shutdown::Write);
            let _ = stream.read(&mut buffer);
        }
    }
}

/// The events of ten requests to such a server, and the number of its connections.
fn with(answer: &'static str, resets: bool, target: &str, request: &str) -> (Vec<Event>, usize) {
    let connections = Arc::new(AtomicUsize::new(0));
    let count = connections.clone();
    let address = listen(move |_, stream| {
        count.fetch_add(1, Relaxed);
        once(stream, answer, resets);
    });
    (run(10, &format!("url = \"http://{address}\"\n{target}"), request), connections.load(Relaxed))
}

/// All requests succeed, and all but the first are sent twice.
fn a_repeatable_request_is_sent_again_on_a_new_connection() {
    let completion = "post = \"/v1/completions\"\nstream = \"openai\"\nbody = \"{}\"";
    for (answer, request) in [
        (OK, "get = \"/\""),
        (OK, "get = \"/\"\nheaders = { X-A = \"{{session}}\" }\ncheck = [{ body = true, contains = \"ok\" }]"),
        (OK, "put = \"/\"\nbody = \"x\""),
        (OK, "post = \"/\"\nbody = \"x\"\nheaders = { Idempotency-Key = \"{{session}}\" }"),
        (STREAM, completion),
    ] {
        for (resets, target) in [(false, ""), (true, ""), (false, "reuse = \"per-session\"")] {
            let (events, connections) = with(answer, resets, target, request);
            for (nth, event) in (0..).zip(&events) {
                assert_eq!(event.outcome, Outcome::Ok, "{request}: request {nth}: {event:?}");
                assert_eq!((event.resends, event.reused), (nth.min(1), false), "{event:?}");
                assert!(event.connection == u32::from(nth) && event.bytes_out > 0, "{event:?}");
            }
            assert_eq!(connections, 10, "{request}");
        }
    }
}

/// Every second request is lost, each on a connection that has carried one.
fn another_request_is_not_sent_again() {
    for (target, request) in [
        ("", "post = \"/\"\nbody = \"x\""),
        ("", "post = \"/\"\nbody = \"{{session}}\"\ncheck = [{ body = true, contains = \"ok\" }]"),
        ("resend = false", "get = \"/\""),
    ] {
        for resets in [false, true] {
            let (events, _) = with(OK, resets, target, request);
            for (nth, event) in events.iter().enumerate() {
                let (outcome, reason) = if nth % 2 == 0 { (Outcome::Ok, "") } else { (Outcome::Reset, CLOSED) };
                assert_eq!((event.outcome, &*event.why()), (outcome, reason), "{request}: request {nth}: {event:?}");
                assert_eq!((event.resends, event.reused), (0, nth % 2 == 1), "{event:?}");
            }
        }
    }
}

/// A response that has begun is not requested again, and one that fails on a new connection neither.
fn a_request_is_sent_again_once_and_only_without_a_response() {
    let address = listen(|nth, mut stream| {
        let mut buffer = [0; 4096];
        let _ = stream.read(&mut buffer);
        if nth != 1 && stream.write_all(OK.as_bytes()).is_ok() && stream.read(&mut buffer).is_ok_and(|read| read > 0) {
            let begins: &[u8] = if nth == 0 { b"" } else { b"HTTP/1.1 2" };
            let _ = stream.write_all(begins);
        }
    });
    let events = run(4, &format!("url = \"http://{address}\""), "get = \"/\"");
    let expected = [
        (Outcome::Ok, 0, ""),
        (Outcome::Reset, 1, "closed before a response"),
        (Outcome::Ok, 0, ""),
        (Outcome::Reset, 0, "closed within the response head"),
    ];
    for (event, (outcome, resends, reason)) in events.iter().zip(expected) {
        assert_eq!((event.outcome, event.resends, &*event.why()), (outcome, resends, reason), "{event:?}");
    }
}

fn without_a_new_connection_the_first_failure_counts() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address: SocketAddr = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        drop(listener);
        once(stream, OK, false);
    });
    let events = run(3, &format!("url = \"http://{address}\""), "get = \"/\"");
    assert_eq!(events[0].outcome, Outcome::Ok, "{:?}", events[0]);
    let lost = &events[1];
    assert_eq!((lost.outcome, lost.resends, lost.reused, &*lost.why()), (Outcome::Reset, 0, true, CLOSED), "{lost:?}");
    assert_eq!((lost.bytes_out, lost.connection), (events[0].bytes_out, 0), "it was written");
    assert_eq!((events[2].outcome, events[2].bytes_out), (Outcome::Refused, 0), "{events:?}");
}
