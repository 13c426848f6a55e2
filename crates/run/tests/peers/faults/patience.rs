//! What is waited for on purpose: that a server wants a body (`Expect: 100-continue`, RFC 9110, section 10.1.1), and no longer than a
//! call says (`grpc-timeout`).

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use offered_model::{Outcome, Share, Workload};
use offered_run::{Generator, Load};

use super::http2::{OWN, header};
use super::{Do, Ends, Mode, Peer, drip, ends, http_error, meet, ok, play, reset, say, timeout, until_gone};
use crate::grpc::{TEA, descriptors, serve};
use crate::http2::{self, DATA, END_HEADERS, END_STREAM, HEADERS, RST_STREAM, STATUS_200};

const EXPECTS: &str = "post = \"/\"\nbody = \"hello\"\nheaders = { Expect = \"100-continue\" }";
const GO_ON: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
const REFUSAL: &[u8] = b"HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n";

/// Reads the head of a request, and nothing may have come with it.
fn head(stream: &mut TcpStream) -> io::Result<()> {
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

fn polite(mut stream: TcpStream) {
    while head(&mut stream).is_ok()
        && stream.write_all(GO_ON).is_ok()
        && body(&mut stream).is_ok()
        && stream.write_all(OK).is_ok()
    {}
}

/// A peer that hears a head, says this, then hears the body and answers.
fn wants(name: &str, steps: impl IntoIterator<Item = Do>, ends: Ends) -> Mode {
    let steps: Vec<Do> = steps.into_iter().collect();
    let act = move |mut stream: TcpStream| {
        if head(&mut stream).is_err() {
            return;
        }
        for step in &steps {
            match step {
                Do::Say(bytes) => drop(stream.write_all(bytes)),
                Do::Hear => {
                    if body(&mut stream).is_err() {
                        return;
                    }
                }
                step => return play(&mut stream, std::slice::from_ref(step)),
            }
        }
        play(&mut stream, &[]);
    };
    Mode::new(name, act, ends)
}

#[test]
fn a_body_is_held_back_until_it_is_wanted() {
    let leaked = Arc::new(AtomicUsize::new(0));
    let counted = leaked.clone();
    let refuses = move |mut stream: TcpStream| {
        if head(&mut stream).is_ok() && stream.write_all(REFUSAL).is_ok() {
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest);
            counted.fetch_add(rest.len(), Relaxed);
        }
    };
    let hints = [b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n", GO_ON].concat();
    let modes = vec![
        wants("wants it", [say(GO_ON), Do::Hear, say(OK), Do::Stall], ok(200).bytes((GO_ON.len() + OK.len()) as u64)),
        wants("says something else first", [say(hints), Do::Hear, say(OK), Do::Stall], ok(200)),
        wants(
            "says nothing, and gets it after a second",
            [Do::Hear, say(OK), Do::Stall],
            ok(200).bytes(OK.len() as u64),
        ),
        wants("answers along with 100", [say([GO_ON, OK].concat()), Do::Stall], ok(200)),
        wants("wants it, and answers no more", [say(GO_ON), Do::Hear, Do::Stall], timeout()),
        wants("hangs up", [], reset("closed before a response")),
        wants("wants it, and hangs up", [say(GO_ON), Do::Hear], reset("closed before a response")),
        wants("says 100 byte by byte, and hangs up", [drip(GO_ON)], reset("closed before a response")),
        Mode::new("refuses it", refuses, http_error(417).bytes(REFUSAL.len() as u64)),
    ];
    let target = "reuse = \"per-session\"\nresponse_timeout = \"3s\"";
    meet("http", target, EXPECTS, (Arc::new(polite), ok(200)), modes);
    assert_eq!(leaked.load(Relaxed), 0, "what was refused is not sent");
}

/// Reads a head over HTTP/2, of which a body must still come; its stream.
fn announced(peer: &mut http2::Peer) -> io::Result<u32> {
    let frame = peer.next()?;
    let fits = frame.kind == HEADERS && frame.flags & END_STREAM == 0;
    if fits { Ok(frame.stream) } else { Err(io::ErrorKind::InvalidData.into()) }
}

fn data(peer: &mut http2::Peer) -> io::Result<()> {
    let frame = peer.next()?;
    let fits = frame.kind == DATA && frame.payload == b"hello" && frame.flags & END_STREAM != 0;
    if fits { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
}

#[test]
fn a_body_is_held_back_over_http2_too() {
    let go_on = |peer: &mut http2::Peer, stream| peer.send(HEADERS, END_HEADERS, stream, &header(":status", "100"));
    let mode = |name: &str, act: fn(&mut http2::Peer, u32) -> io::Result<()>, ends| {
        let serve = move |stream: TcpStream| {
            let Ok(mut peer) = http2::Peer::greet(stream, &[]) else { return };
            if announced(&mut peer).and_then(|stream| act(&mut peer, stream)).is_ok() {
                until_gone(&mut peer.0);
            }
        };
        Mode::new(name, serve, ends)
    };
    let leaked = Arc::new(AtomicUsize::new(0));
    let counted = leaked.clone();
    let refuses = move |stream: TcpStream| {
        let Ok(mut peer) = http2::Peer::greet(stream, &[]) else { return };
        let Ok(stream) = announced(&mut peer) else { return };
        let _ = peer.send(HEADERS, END_STREAM | END_HEADERS, stream, &header(":status", "417"));
        while let Ok(frame) = peer.next() {
            counted.fetch_add(usize::from(frame.kind == DATA), Relaxed);
        }
    };
    let well: Peer = Arc::new(move |stream| {
        let Ok(mut peer) = http2::Peer::greet(stream, &[]) else { return };
        while let Ok(stream) = announced(&mut peer)
            && go_on(&mut peer, stream).is_ok()
            && data(&mut peer).is_ok()
            && peer.answer(stream).is_ok()
        {}
    });
    let modes = vec![
        mode(
            "says nothing, and gets it after a second",
            |peer, stream| data(peer).and_then(|()| peer.answer(stream)),
            ok(200),
        ),
        mode(
            "says something else first",
            |peer, stream| {
                peer.send(HEADERS, END_HEADERS, stream, &header(":status", "103"))?;
                peer.send(HEADERS, END_HEADERS, stream, &header(":status", "100"))?;
                data(peer)?;
                peer.answer(stream)
            },
            ok(200),
        ),
        mode(
            "wants it, and answers no more",
            |peer, stream| peer.send(HEADERS, END_HEADERS, stream, &header(":status", "100")),
            timeout(),
        ),
        Mode::new("refuses it", refuses, http_error(417)),
    ];
    meet("http", OWN, EXPECTS, (well, ok(200)), modes);
    assert_eq!(leaked.load(Relaxed), 0, "what was refused is not sent");
}

#[test]
fn a_call_waits_as_long_as_it_says_and_tells_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.binpb");
    std::fs::write(&file, descriptors()).unwrap();
    let target = format!("{OWN}\ndescriptors = {:?}", file.to_str().unwrap());
    let well: Peer = Arc::new(|stream| drop(serve(stream, (TEA, &[("grpc-status", "0")]))));
    let told = Arc::new(AtomicUsize::new(0));
    let overdue = || ends(Outcome::Timeout, "DEADLINE_EXCEEDED: no complete response within the grpc-timeout of 400ms");
    // What it says first, before it waits for the call to be taken back.
    let waits = |name: &str, says: fn(&mut http2::Peer, u32) -> io::Result<()>, ends| {
        let told = told.clone();
        let act = move |stream: TcpStream| {
            let Ok(mut peer) = http2::Peer::greet(stream, &[]) else { return };
            let Ok(stream) = peer.request() else { return };
            if says(&mut peer, stream).is_err() {
                return;
            }
            let mut head = [0; 9];
            while peer.0.read_exact(&mut head).is_ok() {
                let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
                let mut payload = vec![0; length];
                if peer.0.read_exact(&mut payload).is_err() {
                    return;
                }
                // CANCEL, as gRPC has it.
                told.fetch_add(usize::from(head[3] == RST_STREAM && payload == [0, 0, 0, 8]), Relaxed);
            }
        };
        Mode::new(name, act, ends)
    };
    let modes = vec![
        waits("says nothing", |_, _| Ok(()), overdue()),
        waits("begins", |peer, stream| peer.send(HEADERS, END_HEADERS, stream, STATUS_200), overdue()),
        waits(
            "says so itself",
            |peer, stream| {
                let status = [STATUS_200, &header("grpc-status", "4")].concat();
                peer.send(HEADERS, END_STREAM | END_HEADERS, stream, &status)
            },
            Ends::new(Outcome::GrpcError, 200, "DEADLINE_EXCEEDED"),
        ),
    ];
    let request = |patience: &str| {
        format!(
            "grpc = \"shop.Desk/Order\"\nbody = '{{\"name\": \"tea\"}}'\nheaders = {{ grpc-timeout = \"{patience}\" }}"
        )
    };
    meet("http", &target, &request("400m"), (well, ok(200)), modes);
    assert_eq!(told.load(Relaxed), 2);
    let text = format!(
        "duration = \"1s\"\narrivals.open.rate = \"1/s\"\n[target]\nurl = \"http://127.0.0.1:9\"\n{target}\n[[request]]\n{}\n",
        request("2s")
    );
    let workload = Workload::parse(&text, "w.toml", &|_| Err(String::new())).unwrap();
    let error = Generator::new(workload, Share::ALL, Load::Target).err().expect("it is no time").to_string();
    assert!(error.contains("`2s` is no grpc-timeout; write up to eight digits and a unit"), "{error}");
}
