//! Streams of a server with a known law: a role chunk at once, the first token after 20 ms, then a chunk of four tokens every 5 ms, with
//! comments in between; and streams that end badly.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::sync::mpsc;
use std::time::Duration;

use offered_base::{Instant, Nanos};
use offered_events::{Event, Finish, Outcome};

use crate::http2::{DATA, END_HEADERS, END_STREAM, HEADERS, Peer};
use crate::{listen, run};

tests![
    a_stream_is_recorded_with_the_times_and_counts_of_its_tokens,
    every_broken_stream_is_a_failed_request,
    the_client_can_end_a_stream,
    an_error_status_is_an_error_and_no_stream
];

/// Number of chunks, and of tokens in each.
const CHUNKS: u64 = 6;
const TOKENS: u64 = 4;
const FIRST: Nanos = Nanos::from_millis(20);
const GAP: Nanos = Nanos::from_millis(5);

const REQUEST: &str = "post = \"/v1/chat/completions\"\nstream = \"openai\"\nbody = '{\"stream\": true}'";

/// How a stream ends.
#[derive(Clone, Copy, Debug)]
enum End {
    Well,
    WithoutMark,
    Error,
    /// The connection is closed in the middle of the body.
    Reset,
    RoleOnly,
}

fn chunk(delta: &str, finish: &str) -> String {
    format!("data: {{\"id\":\"1\",\"choices\":[{{\"index\":0,\"delta\":{{{delta}}},\"finish_reason\":{finish}}}]}}\n\n")
}

/// Passes the pieces of the body to `send`, at their times. Returns whether the body is complete.
fn body(end: End, mut send: impl FnMut(&str) -> io::Result<()>) -> io::Result<bool> {
    let (_never, pause) = mpsc::channel::<()>();
    let wait = |time: Nanos| {
        let _ = pause.recv_timeout(Duration::from_nanos(time.0));
    };
    send(&chunk("\"role\":\"assistant\",\"content\":\"\"", "null"))?;
    wait(FIRST);
    if matches!(end, End::RoleOnly) {
        send(&(chunk("", "\"stop\"") + "data: [DONE]\n\n"))?;
        return Ok(true);
    }
    for nth in 1..=CHUNKS {
        send(": ping\n\n")?;
        match end {
            End::Error if nth == 3 => send("data: {\"error\":{\"message\":\"out of memory\",\"code\":500}}\n\n")?,
            End::Reset if nth == 3 => return Ok(false),
            End::WithoutMark if nth == 3 => return Ok(true),
            _ => {}
        }
        let finish = if nth == CHUNKS { "\"length\"" } else { "null" };
        send(&chunk("\"content\":\" the the the the\"", finish))?;
        if nth < CHUNKS {
            wait(GAP);
        }
    }
    let tokens = CHUNKS * TOKENS;
    send(&format!("data: {{\"choices\":[],\"usage\":{{\"prompt_tokens\":9,\"completion_tokens\":{tokens}}}}}\n\n"))?;
    send("data: [DONE]\n\n")?;
    Ok(true)
}

/// Serves streams over HTTP/1.1 in chunked coding.
fn http1(end: End) -> SocketAddr {
    listen(move |_, mut stream| {
        stream.set_nodelay(true).unwrap();
        let mut buffer = [0; 4096];
        while stream.read(&mut buffer).is_ok_and(|read| read > 0) {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n";
            let sent = stream.write_all(head.as_bytes()).and_then(|()| {
                body(end, |text| stream.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes()))
            });
            match sent {
                Ok(true) if stream.write_all(b"0\r\n\r\n").is_ok() => {}
                _ => return,
            }
        }
    })
}

/// Serves streams over HTTP/2, one after another.
fn http2(end: End) -> SocketAddr {
    /// `:status: 200` and `content-type: text/event-stream` in HPACK.
    const HEAD: &[u8] = b"\x88\x0f\x10\x11text/event-stream";
    listen(move |_, stream| {
        stream.set_nodelay(true).unwrap(); // small frames do not wait for acknowledgements
        let Ok(mut peer) = Peer::greet(stream, &[]) else { return };
        while let Ok(frame) = peer.next() {
            if frame.flags & END_STREAM == 0 {
                continue;
            }
            let sent = peer
                .send(HEADERS, END_HEADERS, frame.stream, HEAD)
                .and_then(|()| body(end, |text| peer.send(DATA, 0, frame.stream, text.as_bytes())));
            match sent {
                Ok(true) if peer.send(DATA, END_STREAM, frame.stream, b"").is_ok() => {}
                _ => return,
            }
        }
    })
}

fn over(protocol: &str, end: End, request: &str) -> Vec<Event> {
    let address = if protocol == "h2" { http2(end) } else { http1(end) };
    run(&format!("url = \"http://{address}\"\nprotocol = \"{protocol}\""), request)
}

fn a_stream_is_recorded_with_the_times_and_counts_of_its_tokens() {
    for protocol in ["http1", "h2"] {
        let events = over(protocol, End::Well, REQUEST);
        assert_eq!(events.len(), 30);
        for event in events {
            assert_eq!((event.outcome, event.error.as_ref()), (Outcome::Ok, None), "{protocol}: {event:?}");
            let (stream, sent) = (event.stream.clone().unwrap(), event.sent.unwrap());
            let [first, answer, last] =
                [stream.first_token, stream.first_answer, stream.last_token].map(Option::unwrap);
            // A role and comments are no tokens. Instants are on the clock of the run: none is before its cause, but for the
            // precision of the stamps.
            let precision = Nanos::from_micros(500);
            assert!(sent <= stream.head && first == answer, "{protocol}: {event:?}");
            assert!(stream.head + FIRST <= first + precision, "{protocol}: {event:?}");
            assert!(first <= last && last <= event.done.unwrap(), "{protocol}: {event:?}");
            let pauses = Nanos(GAP.0 * (CHUNKS - 1));
            assert!(stream.coalesced > 0 || first.until(last) + precision >= pauses, "{protocol}: {event:?}");
            assert_eq!((stream.chunks, stream.finish), (CHUNKS, Some(Finish::Length)));
            assert_eq!((stream.tokens_in, stream.tokens_out), (Some(9), Some(CHUNKS * TOKENS)));
            assert_eq!(stream.gaps_us.len() as u64 + stream.coalesced, CHUNKS - 1, "{protocol}: {event:?}");
            assert!(stream.gaps_us.iter().all(|gap| *gap > 0), "{protocol}: {event:?}");
            let per_token = first.until(last).0 as f64 / (TOKENS * (CHUNKS - 1)) as f64;
            assert_eq!(stream.time_per_token_ns(), Some(per_token));
            if cfg!(target_os = "linux") {
                assert!(stream.read_late.is_some() && stream.last_read_late.is_some(), "{protocol}: {event:?}");
            }
        }
    }
}

fn every_broken_stream_is_a_failed_request() {
    for protocol in ["http1", "h2"] {
        for (end, outcome, reason, chunks) in [
            (End::Error, Outcome::StreamError, "out of memory", 2),
            (End::WithoutMark, Outcome::Truncated, "without a finish reason and without [DONE]", 2),
            (End::Reset, Outcome::Reset, "closed", 2),
            (End::RoleOnly, Outcome::NoToken, "without a token", 0),
        ] {
            for event in over(protocol, end, REQUEST) {
                assert_eq!(event.outcome, outcome, "{protocol} {end:?}: {event:?}");
                // Over HTTP/2 a closed connection fails all its streams, also those that the server has not begun.
                if protocol == "http1" || outcome != Outcome::Reset {
                    assert!(event.why().contains(reason), "{protocol} {end:?}: {event:?}");
                    assert_eq!(
                        event.stream.as_ref().map(|stream| stream.chunks),
                        Some(chunks),
                        "{protocol} {end:?}: {event:?}"
                    );
                }
            }
        }
        let short = REQUEST.replace("\"openai\"", "{ format = \"openai\", min_tokens = 25 }");
        for event in over(protocol, End::Well, &short) {
            assert_eq!(
                (event.outcome, &*event.why()),
                (Outcome::Short, "24 tokens, but at least 25 were expected"),
                "{protocol}"
            );
        }
    }
}

fn the_client_can_end_a_stream() {
    for protocol in ["http1", "h2"] {
        for (end, chunks) in
            [("count = 3", 3), ("await = \"finish_reason.:null\"", 1), ("end = \"[DONE]\"", CHUNKS + 2)]
        {
            let request = REQUEST.replace("\"openai\"", &format!("{{ format = \"sse\", {end} }}"));
            for event in over(protocol, End::Well, &request) {
                let recorded = event.stream.as_ref().map(|stream| stream.chunks);
                assert_eq!((event.outcome, recorded), (Outcome::Ok, Some(chunks)), "{protocol} {end}: {event:?}");
            }
        }
        let request = REQUEST.replace("\"openai\"", "{ format = \"sse\", listen = \"15ms\" }");
        let events = over(protocol, End::Well, &request);
        let early = |event: &&Event| event.stream.as_ref().is_some_and(|stream| stream.chunks < CHUNKS);
        let ended = events.iter().filter(|event| event.outcome == Outcome::Ok).filter(early).count();
        assert!(ended > 0 && events.len() == 30, "{protocol}: {events:?}");
    }
    // Without a response the request has failed.
    let silent = listen(|_, mut stream| while stream.read(&mut [0; 4096]).is_ok_and(|read| read > 0) {});
    let request = REQUEST.replace("\"openai\"", "{ format = \"sse\", listen = \"10ms\" }");
    for event in run(&format!("url = \"http://{silent}\""), &request) {
        assert_eq!((event.outcome, event.stream), (Outcome::Timeout, None));
        assert!(event.sent.unwrap_or(Instant::ZERO) + Nanos::from_millis(10) <= event.done.unwrap());
    }
}

fn an_error_status_is_an_error_and_no_stream() {
    let address = listen(|_, mut stream| {
        let mut buffer = [0; 4096];
        while stream.read(&mut buffer).is_ok_and(|read| read > 0)
            && stream.write_all(b"HTTP/1.1 429 Too Many\r\nContent-Length: 2\r\n\r\n{}").is_ok()
        {}
    });
    for event in run(&format!("url = \"http://{address}\""), REQUEST) {
        assert_eq!((event.outcome, event.status, event.stream), (Outcome::HttpError, 429, None));
    }
}
