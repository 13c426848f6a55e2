//! Retries and time limits of single requests against a peer that fails as scripted.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};

use offered_base::Nanos;
use offered_events::{Event, Outcome, Reason};

use crate::faults::read_to_end;
use crate::{listen, run};

tests![
    a_request_is_sent_again_until_it_succeeds,
    a_budget_bounds_retries_and_the_last_failure_is_the_outcome,
    users_give_up_and_their_sessions_end,
    a_long_timeout_of_one_request_outlives_that_of_the_target,
    an_open_circuit_breaker_sends_nothing
];

/// Sessions that meet a well-behaved peer: if the first responses of a run fail, it tests for TLS over a separate connection.
const WELL: u64 = 10;

/// A peer that handles attempt `n` (from 1) at the request of session `n` by `answer`: a status, or `None` for no response.
fn peer(answer: fn(session: u64, attempt: u32) -> Option<u16>) -> SocketAddr {
    let attempts: Arc<Mutex<HashMap<u64, u32>>> = Arc::default();
    listen(move |_, mut stream| {
        while let Some(session) = session(&mut stream) {
            let attempt = {
                let mut attempts = attempts.lock().unwrap();
                let attempt = attempts.entry(session).or_default();
                *attempt += 1;
                *attempt
            };
            let Some(status) = answer(session, attempt) else { return read_to_end(&mut stream) };
            let response = format!("HTTP/1.1 {status} Status\r\nContent-Length: 2\r\n\r\nok");
            if stream.write_all(response.as_bytes()).is_err() {
                return;
            }
        }
    })
}

/// Reads a request `GET /7 ...`; `None` at the end of the connection.
fn session(stream: &mut TcpStream) -> Option<u64> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    String::from_utf8(head).ok()?.strip_prefix("GET /")?.split(' ').next()?.parse().ok()
}

/// The requests of a run with these keys, and its attempts.
fn requests(peer: SocketAddr, target: &str, keys: &str) -> (Vec<Event>, Vec<Event>) {
    let target = format!("url = \"http://{peer}/\"\n{target}");
    let events = run(&target, &format!("get = \"/{{{{session}}}}\"\n{keys}"));
    events.into_iter().partition(Event::is_request)
}

fn a_request_is_sent_again_until_it_succeeds() {
    // With a script and without.
    for check in ["", "check = [{ status = 200 }]\n"] {
        let peer = peer(|session, attempt| match (session % 3, attempt) {
            (0, 1 | 2) => Some(503),
            (1, 1) => None,
            _ => Some(200),
        });
        let keys =
            "timeout = \"200ms\"\nretry = { times = 3, wait = \"5ms\", on = [\"check_failed\", 503, \"timeout\"] }\n";
        let (requests, attempts) = requests(peer, "", &format!("{keys}{check}"));
        let retries: Vec<u16> = requests.iter().map(|event| event.retries).collect();
        assert_eq!(retries, [2, 1, 0].repeat(10));
        for event in &requests {
            assert_eq!(event.outcome, Outcome::Ok, "{event:?}");
            let own: Vec<&Event> = attempts.iter().filter(|attempt| attempt.session == event.session).collect();
            assert_eq!(own.len(), if event.retries > 0 { usize::from(event.retries) + 1 } else { 0 });
            assert!(own.iter().zip(1..).all(|(attempt, n)| attempt.attempt == n), "{own:?}");
            if let [first, .., last] = own[..] {
                assert_eq!((event.sent, event.done), (first.sent, last.done));
                assert!(event.intended == first.intended && last.sent >= Some(last.intended));
                assert_eq!(event.bytes_out, own.iter().map(|attempt| attempt.bytes_out).sum::<u64>());
            }
        }
        let late = attempts.iter().find(|attempt| attempt.outcome == Outcome::Timeout).unwrap();
        assert_eq!(late.error, Some(Reason::ResponseTimeout(Nanos::from_millis(200))));
    }
}

fn a_budget_bounds_retries_and_the_last_failure_is_the_outcome() {
    let peer = peer(|_, _| Some(503));
    let target = "retry = { times = 9, wait = \"1ms\", budget = { share = 0.1, burst = 5 } }";
    let (requests, attempts) = requests(peer, target, "");
    let retries: u64 = requests.iter().map(|event| u64::from(event.retries)).sum();
    assert!(requests.iter().all(|event| (event.outcome, event.status) == (Outcome::HttpError, 503)));
    // Five at the start and one for ten of thirty requests.
    assert!((6..=8).contains(&retries), "{retries}");
    assert_eq!(attempts.iter().filter(|attempt| attempt.attempt > 1).count() as u64, retries);
}

fn users_give_up_and_their_sessions_end() {
    let peer = peer(|session, _| if session < WELL { Some(200) } else { None });
    let (requests, attempts) = requests(
        peer,
        "",
        "patience = { constant = \"150ms\" }\ntimeout = \"70ms\"\nretry = { times = 9, wait = \"1ms\" }",
    );
    for event in requests.iter().filter(|event| event.session >= WELL) {
        assert_eq!(
            (event.outcome, event.error.clone()),
            (Outcome::Timeout, Some(Reason::GaveUp(Nanos::from_millis(150))))
        );
        let waited = event.response().unwrap();
        assert!(waited >= Nanos::from_millis(70).into(), "{event:?}");
    }
    assert!(attempts.iter().any(|attempt| attempt.attempt == 2));
}

fn a_long_timeout_of_one_request_outlives_that_of_the_target() {
    let peer = peer(|session, _| if session < WELL { Some(200) } else { None });
    let (requests, _) = requests(peer, "response_timeout = \"20ms\"", "timeout = \"300ms\"");
    for event in requests.iter().filter(|event| event.session >= WELL) {
        assert_eq!(event.error, Some(Reason::ResponseTimeout(Nanos::from_millis(300))));
        assert!(event.service().unwrap() >= Nanos::from_millis(300).into(), "{event:?}");
    }
}

fn an_open_circuit_breaker_sends_nothing() {
    for check in ["", "check = [{ status = 200 }]\n"] {
        let peer = peer(|session, _| Some(if session < WELL { 200 } else { 503 }));
        let breaker = "circuit_breaker = { failure_rate = 0.2, minimum_calls = 5, open = \"1h\", on = [\"5xx\"] }\n";
        let (requests, attempts) = requests(peer, "", &format!("{breaker}{check}"));
        assert!(attempts.is_empty());
        let (held_back, sent): (Vec<Event>, Vec<Event>) =
            requests.into_iter().partition(|event| event.outcome == Outcome::BreakerOpen);
        assert!(held_back.iter().all(|event| event.sent.is_none() && event.error.is_none()), "{held_back:?}");
        assert!(sent.iter().all(|event| event.status == if event.session < WELL { 200 } else { 503 }), "{sent:?}");
        assert!(held_back.len() >= 10 && sent.len() >= 13, "{} of {}", held_back.len(), sent.len());
    }
}
