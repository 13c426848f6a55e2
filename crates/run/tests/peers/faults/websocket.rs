//! WebSocket (RFC 6455): invalid handshakes and frames. The frames are those of the Autobahn test suite's chapters on
//! framing, pings, reserved bits, opcodes, fragmentation, UTF-8 and closing.
//!
//! The peer completes the handshake, receives `hi`, performs its steps, and closes in an orderly way.

use std::io::Read;
use std::net::TcpStream;
use std::sync::Arc;

use tungstenite::accept;
use tungstenite::handshake::derive_accept_key;

use super::Step::{self, Pause, Reset, Stall};
use super::{Case, Expected, Peer, flood, http_error, malformed, ok, perform, reset, run_cases, say, timeout};
use crate::websocket::echo;

tests![each_fault_is_one_event];

/// Opcodes (RFC 6455, section 5.2), and the FIN bit.
const END: u8 = 0x80;
const MORE: u8 = 0x00;
const TEXT: u8 = 0x01;
const BINARY: u8 = 0x02;
const CLOSE: u8 = 0x88;
const PING: u8 = 0x89;
const PONG: u8 = 0x8a;

/// A frame of less than 126 bytes, unmasked, as servers send it.
fn frame(first: u8, payload: impl AsRef<[u8]>) -> Vec<u8> {
    let payload = payload.as_ref();
    [&[first, payload.len() as u8], payload].concat()
}

/// The head of a frame that claims this length.
fn claims(first: u8, length: u64) -> Vec<u8> {
    [&[first, 127][..], &length.to_be_bytes()].concat()
}

fn close(code: u16, reason: impl AsRef<[u8]>) -> Vec<u8> {
    frame(CLOSE, [&code.to_be_bytes()[..], reason.as_ref()].concat())
}

fn matching_message() -> Vec<u8> {
    frame(END | TEXT, "hi there")
}

fn all(frames: impl IntoIterator<Item = Vec<u8>>) -> Step {
    Step::Send(frames.into_iter().flatten().collect())
}

/// A peer that completes the handshake, receives a message and performs these steps.
fn case(name: &str, steps: impl IntoIterator<Item = Step>, expected: Expected) -> Case {
    let steps: Vec<Step> = steps.into_iter().collect();
    let act = move |stream| {
        let Ok(mut socket) = accept(stream) else { return };
        if socket.read().is_ok() {
            perform(socket.get_mut(), &steps);
        }
    };
    Case::new(name, act, expected)
}

/// A peer that responds to the handshake with this text, in which `{key}` is replaced by the correct key.
fn handshake(name: &str, said: &'static str, then: &'static [Step], expected: Expected) -> Case {
    let act = move |mut stream: TcpStream| {
        let mut headers = [0; 4096];
        let read = stream.read(&mut headers).unwrap_or(0);
        let headers = String::from_utf8_lossy(&headers[..read]).into_owned();
        let key = headers
            .lines()
            .find_map(|line| line.split_once("Sec-WebSocket-Key: ").or(line.split_once("sec-websocket-key: ")));
        let accepted = derive_accept_key(key.map_or("", |(_, key)| key.trim()).as_bytes());
        let said = say(said.replace("{key}", &accepted).replace('\n', "\r\n"));
        perform(&mut stream, &[&[said], then].concat());
    };
    Case::new(name, act, expected)
}

fn handshakes() -> Vec<Case> {
    const FINE: &str =
        "HTTP/1.1 101 Switching Protocols\nConnection: Upgrade\nUpgrade: websocket\nSec-WebSocket-Accept: {key}\n";
    let fine = |more: &str| -> &'static str { Box::leak(format!("{FINE}{more}\n").into_boxed_str()) };
    let without = |line: &str| -> &'static str {
        let text: String =
            FINE.lines().filter(|said| !said.starts_with(line)).map(|said| format!("{said}\n")).collect();
        Box::leak(format!("{text}\n").into_boxed_str())
    };
    let instead =
        |from: &str, to: &str| -> &'static str { Box::leak(format!("{}\n", FINE.replace(from, to)).into_boxed_str()) };
    vec![
        handshake("sends nothing", "", &[Stall], timeout()),
        handshake("closes", "", &[], reset("closed by the server during the handshake")),
        handshake("resets", "", &[Reset], reset("")),
        handshake("half a handshake", "HTTP/1.1 101 Switch", &[], reset("closed by the server during the handshake")),
        handshake("stalls in the handshake", "HTTP/1.1 101 Switch", &[Stall], timeout()),
        handshake(
            "200 instead of 101",
            "HTTP/1.1 200 OK\nContent-Length: 0\n\n",
            &[],
            malformed("the response was 200 OK instead of 101"),
        ),
        handshake(
            "a redirect",
            "HTTP/1.1 302 Found\nLocation: /\nContent-Length: 0\n\n",
            &[],
            malformed("the response was 302"),
        ),
        handshake("403", "HTTP/1.1 403 Forbidden\nContent-Length: 0\n\n", &[], http_error(403)),
        handshake("426", "HTTP/1.1 426 Upgrade Required\nContent-Length: 0\n\n", &[], http_error(426)),
        handshake("no HTTP", "SSH-2.0-OpenSSH_9.2\n\n", &[], malformed("")),
        handshake("HTTP/1.0", instead("HTTP/1.1", "HTTP/1.0"), &[Stall], malformed("")),
        handshake("another key", instead("{key}", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), &[Stall], malformed("Key mismatch")),
        handshake("no key", without("Sec"), &[Stall], malformed("Key mismatch")),
        handshake("no upgrade", without("Upgrade"), &[Stall], malformed("Upgrade: websocket")),
        handshake("another upgrade", instead("websocket", "h2c"), &[Stall], malformed("Upgrade: websocket")),
        handshake("no connection", without("Connection"), &[Stall], malformed("Connection: upgrade")),
        handshake(
            "a protocol that was not requested",
            fine("Sec-WebSocket-Protocol: chat\n"),
            &[Stall],
            malformed("ubprotocol"),
        ),
        handshake(
            "an extension that was not requested",
            fine("Sec-WebSocket-Extensions: permessage-deflate\n"),
            &[Stall],
            malformed("an unsupported WebSocket extension"),
        ),
        handshake(
            "a head of 300 lines",
            fine(Box::leak("X: 1\n".repeat(300).into_boxed_str())),
            &[Stall],
            malformed(""),
        ),
        handshake(
            "a head without end",
            "HTTP/1.1 101 Switching Protocols\nX: ",
            Box::leak(Box::new([flood("a")])),
            malformed("Attack attempt"),
        ),
        handshake("sends it before the request", fine(""), Box::leak(Box::new([say(matching_message())])), ok(101)),
    ]
}

/// Invalid frames, by where the error shows.
fn frames() -> Vec<Case> {
    let masked = [&[END | TEXT, 0x82][..], &[1, 2, 3, 4], b"hi"].concat();
    vec![
        case("in pieces", [all([frame(TEXT, "hi"), frame(MORE, " th"), frame(END, "ere")]), Stall], ok(101).bytes(8)),
        case(
            "in pieces, with a ping between",
            [all([frame(TEXT, "hi"), frame(PING, "?"), frame(END, "!")]), Stall],
            ok(101).bytes(3),
        ),
        case("as bytes", [all([frame(END | BINARY, "hi there")]), Stall], ok(101).bytes(8)),
        case(
            "other messages first",
            [all([frame(END | TEXT, "ho"), frame(END | TEXT, ""), matching_message()]), Stall],
            ok(101).bytes(10),
        ),
        case("masked", [say(masked), Stall], malformed("masked frame from server")),
        case("bit 1 that is reserved", [say(frame(0xc1, "hi")), Stall], malformed("Reserved bits")),
        case("bit 3 that is reserved", [say(frame(0x91, "hi")), Stall], malformed("Reserved bits")),
        case("opcode 3", [say(frame(0x83, "hi")), Stall], malformed("opcode")),
        case("opcode 7", [say(frame(0x87, "hi")), Stall], malformed("")),
        case("opcode 11", [say(frame(0x8b, "hi")), Stall], malformed("")),
        case("opcode 15", [say(frame(0x8f, "hi")), Stall], malformed("")),
        case("a ping in pieces", [say(frame(0x09, "?")), Stall], malformed("Fragmented control frame")),
        case("a Close frame in pieces", [say(frame(0x08, "")), Stall], malformed("Fragmented control frame")),
        case(
            "a ping of 126 bytes",
            [say([&[PING, 126, 0, 126][..], &[0; 126]].concat()), Stall],
            malformed("Control frame too big"),
        ),
        case("a ping of 2^62 bytes", [say(claims(PING, 1 << 62)), Stall], malformed("")),
        case("a length of 2^63", [say(claims(END | TEXT, 1 << 63)), Stall], malformed("")),
        case("a length of 2^64 - 1", [say(claims(END | TEXT, u64::MAX)), Stall], malformed("")),
        case("a length of 17 MB", [say(claims(END | TEXT, 17 << 20)), Stall], malformed("too long")),
        case("a length written too long", [say([&[END | TEXT, 126, 0, 2][..], b"hi"].concat()), Stall], ok(101)),
        case("the rest of nothing", [say(frame(END, "hi")), Stall], malformed("nothing to continue")),
        case(
            "a message within another",
            [all([frame(TEXT, "hi"), frame(END | TEXT, "hi")]), Stall],
            malformed("more fragments"),
        ),
        case("text that is no UTF-8", [say(frame(END | TEXT, b"hi \xff\xfe")), Stall], malformed("UTF-8")),
        case("text cut in a letter", [say(frame(END | TEXT, b"hi \xe2\x82")), Stall], malformed("UTF-8")),
        case("a surrogate", [say(frame(END | TEXT, b"hi \xed\xa0\x80")), Stall], malformed("UTF-8")),
        case(
            "a letter in two pieces",
            [all([frame(TEXT, b"hi \xe2\x82"), frame(END, b"\xac")]), Stall],
            ok(101).bytes(6),
        ),
        case("half the head of a frame", [say([END | TEXT]), Stall], timeout()),
        case("half a frame", [say([&[END | TEXT, 8][..], b"hi"].concat()), Stall], timeout()),
        case("a message that never ends", [say(frame(TEXT, "hi")), Stall], timeout()),
        case(
            "closes in a frame",
            [say([&[END | TEXT, 8][..], b"hi"].concat())],
            reset("closed by the server without a Close frame"),
        ),
        case("messages without end", [flood(frame(END | TEXT, "x"))], timeout()),
        case("empty messages without end", [flood(frame(END | TEXT, ""))], timeout()),
        case("pings without end", [flood(frame(PING, "x"))], timeout()),
        case("pongs without end", [flood(frame(PONG, ""))], timeout()),
        case("pieces without end", [say(frame(TEXT, "hi")), flood(frame(MORE, ""))], timeout()),
        case(
            "a message without end",
            [say(frame(TEXT, "hi")), flood([&[MORE, 127, 0, 0, 0, 0, 0, 4, 0, 0][..], &[b'x'; 1 << 18]].concat())],
            malformed("too long").or(timeout()),
        ),
    ]
}

/// How a connection ends.
fn close_frames() -> Vec<Case> {
    vec![
        case("closes without a Close frame", [], reset("closed by the server without a Close frame")),
        case("resets", [Reset], reset("")),
        case("sends nothing", [Stall], timeout().bytes(0)),
        case("a Close frame", [say(close(1000, "")), Stall], reset("closed by the server (1000)")),
        case(
            "goodbye and why",
            [say(close(1001, "closing time")), Stall],
            reset("closed by the server (1001 closing time)"),
        ),
        case("a Close frame without a code", [say(frame(CLOSE, "")), Stall], reset("closed by the server")),
        case(
            "a Close frame with a code of its own",
            [say(close(4711, "")), Stall],
            reset("closed by the server (4711)"),
        ),
        case("a Close frame after a response", [all([matching_message(), close(1000, "")]), Stall], ok(101)),
        case(
            "a response after a Close frame",
            [all([close(1000, ""), matching_message()]), Stall],
            reset("closed by the server (1000)"),
        ),
        case(
            "two Close frames",
            [all([close(1000, ""), close(1001, "")]), Stall],
            reset("closed by the server (1000)"),
        ),
        case(
            "a Close frame in a message",
            [all([frame(TEXT, "hi"), close(1000, "")]), Stall],
            reset("closed by the server (1000)"),
        ),
        case("a Close frame of one byte", [say(frame(CLOSE, [3])), Stall], malformed("close sequence")),
        case("a Close frame with a code of 0", [say(close(0, "")), Stall], malformed("").or(reset(""))),
        case("a Close frame with a code of 1005", [say(close(1005, "")), Stall], malformed("").or(reset(""))),
        case("a Close frame with a code of 65535", [say(close(u16::MAX, "")), Stall], malformed("").or(reset(""))),
        case("a Close frame that is no UTF-8", [say(close(1000, [0xff])), Stall], malformed("UTF-8")),
        case(
            "a Close frame of 126 bytes",
            [say([&[CLOSE, 126, 0, 126, 3, 232][..], &[b'x'; 124]].concat()), Stall],
            malformed("Control frame too big"),
        ),
        case(
            "a Close frame that repaints the screen",
            [say(close(1000, "\x1b[2J")), Stall],
            reset("closed by the server (1000 "),
        ),
        case("resets after an answer", [say(matching_message()), Pause, Reset], ok(101)),
    ]
}

const OWN: &str = "response_timeout = \"3s\"";
const SAY_HI: &str = "name = \"chat\"\nwebsocket = { send = \"hi {{session}}\", await = \"^hi\" }";

fn each_fault_is_one_event() {
    let well: Peer = Arc::new(|stream| drop(accept(stream).map(echo)));
    let cases = [handshakes(), frames(), close_frames()].into_iter().flatten().collect();
    run_cases("http", OWN, SAY_HI, (well, ok(101)), cases);
}
