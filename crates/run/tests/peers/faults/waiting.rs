//! Deliberate waiting: for the server to ask for a body (`Expect: 100-continue`, RFC 9110, section 10.1.1), and no
//! longer than the deadline of a call (`grpc-timeout`).

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use offered_base::Share;
use offered_events::Outcome;
use offered_run::{Generator, Load};
use offered_workload::Workload;

use super::http2::{OWN, header};
use super::{
    Case, Expected, Peer, Step, drip, expected, http_error, ok, perform, read_to_end, reset, run_cases, say, timeout,
};
use crate::grpc::{TEA, descriptors, serve};
use crate::http2::{self, DATA, END_HEADERS, END_STREAM, HEADERS, RST_STREAM, STATUS_200};

tests![a_body_waits_for_100_continue, a_body_is_held_back_over_http2_too, a_call_with_a_deadline_is_cancelled_in_time];

const REQUEST: &str = "post = \"/\"\nbody = \"hello\"\nheaders = { Expect = \"100-continue\" }";
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
const REFUSAL: &[u8] = b"HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n";

/// Reads the head of a request; the body must not have come with it.
fn headers(stream: &mut TcpStream) -> io::Result<()> {
    let (mut came, mut buffer) = (Vec::new(), [0; 4096]);
    while !came.windows(4).any(|four| four == b"\r\n\r\n") {
        match stream.read(&mut buffer)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => came.extend_from_slice(&buffer[..read]),
        }
    }
    if came.ends_with(b"\r\n\r\n") { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
}

fn body(stream: &mut TcpStream) -> io::Result<()> {
    let mut body = [0; 5];
    stream.read_exact(&mut body)?;
    if &body == b"hello" { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
}

fn well_behaved(mut stream: TcpStream) {
    while headers(&mut stream).is_ok()
        && stream.write_all(CONTINUE).is_ok()
        && body(&mut stream).is_ok()
        && stream.write_all(OK).is_ok()
    {}
}

/// A peer that reads a head, sends this, then reads the body and responds.
fn expecting(name: &str, steps: impl IntoIterator<Item = Step>, expected: Expected) -> Case {
    let steps: Vec<Step> = steps.into_iter().collect();
    let act = move |mut stream: TcpStream| {
        if headers(&mut stream).is_err() {
            return;
        }
        for step in &steps {
            match step {
                Step::Send(bytes) => drop(stream.write_all(bytes)),
                Step::Receive => {
                    if body(&mut stream).is_err() {
                        return;
                    }
                }
                step => return perform(&mut stream, std::slice::from_ref(step)),
            }
        }
        perform(&mut stream, &[]);
    };
    Case::new(name, act, expected)
}

fn a_body_waits_for_100_continue() {
    let leaked = Arc::new(AtomicUsize::new(0));
    let counted = leaked.clone();
    let refuses = move |mut stream: TcpStream| {
        if headers(&mut stream).is_ok() && stream.write_all(REFUSAL).is_ok() {
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest);
            counted.fetch_add(rest.len(), Relaxed);
        }
    };
    let hints = [b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n", CONTINUE].concat();
    let cases = vec![
        expecting(
            "wants it",
            [say(CONTINUE), Step::Receive, say(OK), Step::Stall],
            ok(200).bytes((CONTINUE.len() + OK.len()) as u64),
        ),
        expecting("sends something else first", [say(hints), Step::Receive, say(OK), Step::Stall], ok(200)),
        expecting(
            "sends nothing, and gets it after a second",
            [Step::Receive, say(OK), Step::Stall],
            ok(200).bytes(OK.len() as u64),
        ),
        expecting("responds together with 100", [say([CONTINUE, OK].concat()), Step::Stall], ok(200)),
        expecting("wants it, and does not respond", [say(CONTINUE), Step::Receive, Step::Stall], timeout()),
        expecting("closes", [], reset("closed before a response")),
        expecting("wants it, and closes", [say(CONTINUE), Step::Receive], reset("closed before a response")),
        expecting("sends 100 byte by byte, and closes", [drip(CONTINUE)], reset("closed before a response")),
        Case::new("refuses it", refuses, http_error(417).bytes(REFUSAL.len() as u64)),
    ];
    let target = "reuse = \"per-session\"\nresponse_timeout = \"3s\"";
    run_cases("http", target, REQUEST, (Arc::new(well_behaved), ok(200)), cases);
    assert_eq!(leaked.load(Relaxed), 0, "a refused request is not sent");
}

/// Reads HTTP/2 headers that a body must follow; returns the stream.
fn read_headers(peer: &mut http2::Peer) -> io::Result<u32> {
    let frame = peer.next()?;
    let fits = frame.kind == HEADERS && frame.flags & END_STREAM == 0;
    if fits { Ok(frame.stream) } else { Err(io::ErrorKind::InvalidData.into()) }
}

fn data(peer: &mut http2::Peer) -> io::Result<()> {
    let frame = peer.next()?;
    let fits = frame.kind == DATA && frame.payload == b"hello" && frame.flags & END_STREAM != 0;
    if fits { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
}

fn a_body_is_held_back_over_http2_too() {
    let go_on = |peer: &mut http2::Peer, stream| peer.send(HEADERS, END_HEADERS, stream, &header(":status", "100"));
    let case = |name: &str, act: fn(&mut http2::Peer, u32) -> io::Result<()>, expected| {
        let serve = move |stream: TcpStream| {
            let Ok(mut peer) = http2::Peer::greet(stream, &[]) else { return };
            if read_headers(&mut peer).and_then(|stream| act(&mut peer, stream)).is_ok() {
                read_to_end(&mut peer.0);
            }
        };
        Case::new(name, serve, expected)
    };
    let leaked = Arc::new(AtomicUsize::new(0));
    let counted = leaked.clone();
    let refuses = move |stream: TcpStream| {
        let Ok(mut peer) = http2::Peer::greet(stream, &[]) else { return };
        let Ok(stream) = read_headers(&mut peer) else { return };
        let _ = peer.send(HEADERS, END_STREAM | END_HEADERS, stream, &header(":status", "417"));
        while let Ok(frame) = peer.next() {
            counted.fetch_add(usize::from(frame.kind == DATA), Relaxed);
        }
    };
    let well: Peer = Arc::new(move |stream| {
        let Ok(mut peer) = http2::Peer::greet(stream, &[]) else { return };
        while let Ok(stream) = read_headers(&mut peer)
            && go_on(&mut peer, stream).is_ok()
            && data(&mut peer).is_ok()
            && peer.answer(stream).is_ok()
        {}
    });
    let cases = vec![
        case(
            "sends nothing, and gets it after a second",
            |peer, stream| data(peer).and_then(|()| peer.answer(stream)),
            ok(200),
        ),
        case(
            "sends something else first",
            |peer, stream| {
                peer.send(HEADERS, END_HEADERS, stream, &header(":status", "103"))?;
                peer.send(HEADERS, END_HEADERS, stream, &header(":status", "100"))?;
                data(peer)?;
                peer.answer(stream)
            },
            ok(200),
        ),
        case(
            "wants it, and does not respond",
            |peer, stream| peer.send(HEADERS, END_HEADERS, stream, &header(":status", "100")),
            timeout(),
        ),
        Case::new("refuses it", refuses, http_error(417)),
    ];
    run_cases("http", OWN, REQUEST, (well, ok(200)), cases);
    assert_eq!(leaked.load(Relaxed), 0, "a refused request is not sent");
}

fn a_call_with_a_deadline_is_cancelled_in_time() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.binpb");
    std::fs::write(&file, descriptors()).unwrap();
    let target = format!("{OWN}\ndescriptors = {:?}", file.to_str().unwrap());
    let well: Peer = Arc::new(|stream| drop(serve(stream, (TEA, &[("grpc-status", "0")]))));
    let (cancel, cancelled) = mpsc::channel();
    let deadline_exceeded =
        || expected(Outcome::Timeout, "DEADLINE_EXCEEDED: no complete response within the grpc-timeout of 400ms");
    // What the peer sends before it waits for the call to be cancelled.
    let waiting = |name: &str, says: fn(&mut http2::Peer, u32) -> io::Result<()>, expected| {
        let cancel = cancel.clone();
        let act = move |stream: TcpStream| {
            let Ok(mut peer) = http2::Peer::greet(stream, &[]) else { return };
            let Ok(stream) = peer.request() else { return };
            if says(&mut peer, stream).is_err() {
                return;
            }
            let mut headers = [0; 9];
            while peer.0.read_exact(&mut headers).is_ok() {
                let length = u32::from_be_bytes([0, headers[0], headers[1], headers[2]]) as usize;
                let mut payload = vec![0; length];
                if peer.0.read_exact(&mut payload).is_err() {
                    return;
                }
                // CANCEL, as gRPC requires.
                if headers[3] == RST_STREAM && payload == [0, 0, 0, 8] {
                    let _ = cancel.send(());
                }
            }
        };
        Case::new(name, act, expected)
    };
    let cases = vec![
        waiting("sends nothing", |_, _| Ok(()), deadline_exceeded()),
        waiting("begins", |peer, stream| peer.send(HEADERS, END_HEADERS, stream, STATUS_200), deadline_exceeded()),
        waiting(
            "says so itself",
            |peer, stream| {
                let status = [STATUS_200, &header("grpc-status", "4")].concat();
                peer.send(HEADERS, END_STREAM | END_HEADERS, stream, &status)
            },
            Expected::new(Outcome::GrpcError, 200, "DEADLINE_EXCEEDED"),
        ),
    ];
    let request = |patience: &str| {
        format!(
            "grpc = \"shop.Desk/Order\"\nbody = '{{\"name\": \"tea\"}}'\nheaders = {{ grpc-timeout = \"{patience}\" }}"
        )
    };
    run_cases("http", &target, &request("400m"), (well, ok(200)), cases);
    // The peers read on threads of their own, which may still be behind.
    for _ in 0..2 {
        cancelled.recv_timeout(Duration::from_secs(10)).expect("two calls are cancelled");
    }
    assert!(cancelled.try_recv().is_err());
    let text = format!(
        "duration = \"1s\"\narrivals.open.rate = \"1/s\"\n[target]\nurl = \"http://127.0.0.1:9\"\n{target}\n[[request]]\n{}\n",
        request("2s")
    );
    let workload = Workload::parse(&text, "w.toml", &|_| Err(String::new())).unwrap();
    let error = Generator::new(workload, Share::ALL, Load::Target).err().expect("it is no time").to_string();
    assert!(error.contains("`2s` is not a valid grpc-timeout; write up to eight digits and a unit"), "{error}");
}
