//! WebSocket (RFC 6455): handshakes that are none, and frames that must not be. The frames are those of the Autobahn test suite's
//! chapters on framing, pings, reserved bits, opcodes, fragmentation, UTF-8 and closing.
//!
//! Read like this: the peer shakes hands, hears `hi`, does what its steps say, and hangs up in good order.

use std::io::Read;
use std::net::TcpStream;
use std::sync::Arc;

use tungstenite::accept;
use tungstenite::handshake::derive_accept_key;

use super::Do::{self, Pause, Reset, Stall};
use super::{Ends, Mode, Peer, flood, http_error, malformed, meet, ok, play, reset, say, timeout};
use crate::websocket::echo;

/// Opcodes (RFC 6455, section 5.2), with the bit that says that a message ends.
const END: u8 = 0x80;
const MORE: u8 = 0x00;
const TEXT: u8 = 0x01;
const BINARY: u8 = 0x02;
const CLOSE: u8 = 0x88;
const PING: u8 = 0x89;
const PONG: u8 = 0x8a;

/// A frame of less than 126 bytes, not masked: as servers say it.
fn frame(first: u8, payload: impl AsRef<[u8]>) -> Vec<u8> {
    let payload = payload.as_ref();
    [&[first, payload.len() as u8], payload].concat()
}

/// A frame that says it is so long.
fn claims(first: u8, length: u64) -> Vec<u8> {
    [&[first, 127][..], &length.to_be_bytes()].concat()
}

fn close(code: u16, reason: impl AsRef<[u8]>) -> Vec<u8> {
    frame(CLOSE, [&code.to_be_bytes()[..], reason.as_ref()].concat())
}

fn hi() -> Vec<u8> {
    frame(END | TEXT, "hi there")
}

fn all(frames: impl IntoIterator<Item = Vec<u8>>) -> Do {
    Do::Say(frames.into_iter().flatten().collect())
}

/// A peer that shakes hands, hears a message and does this.
fn mode(name: &str, steps: impl IntoIterator<Item = Do>, ends: Ends) -> Mode {
    let steps: Vec<Do> = steps.into_iter().collect();
    let act = move |stream| {
        let Ok(mut socket) = accept(stream) else { return };
        if socket.read().is_ok() {
            play(socket.get_mut(), &steps);
        }
    };
    Mode::new(name, act, ends)
}

/// A peer that says this to who wants to shake hands, `{key}` being what it must say to its key.
fn greeting(name: &str, said: &'static str, then: &'static [Do], ends: Ends) -> Mode {
    let act = move |mut stream: TcpStream| {
        let mut head = [0; 4096];
        let read = stream.read(&mut head).unwrap_or(0);
        let head = String::from_utf8_lossy(&head[..read]).into_owned();
        let key = head
            .lines()
            .find_map(|line| line.split_once("Sec-WebSocket-Key: ").or(line.split_once("sec-websocket-key: ")));
        let accepted = derive_accept_key(key.map_or("", |(_, key)| key.trim()).as_bytes());
        let said = say(said.replace("{key}", &accepted).replace('\n', "\r\n"));
        play(&mut stream, &[&[said], then].concat());
    };
    Mode::new(name, act, ends)
}

fn handshakes() -> Vec<Mode> {
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
        greeting("says nothing", "", &[Stall], timeout()),
        greeting("hangs up", "", &[], reset("closed by the server during the handshake")),
        greeting("breaks", "", &[Reset], reset("")),
        greeting(
            "half a handshake",
            "HTTP/1.1 101 Switch",
            &[],
            reset("closed by the server during the handshake"),
        ),
        greeting("stalls in the handshake", "HTTP/1.1 101 Switch", &[Stall], timeout()),
        greeting(
            "200 instead of 101",
            "HTTP/1.1 200 OK\nContent-Length: 0\n\n",
            &[],
            malformed("the response was 200 OK instead of 101"),
        ),
        greeting(
            "a redirect",
            "HTTP/1.1 302 Found\nLocation: /\nContent-Length: 0\n\n",
            &[],
            malformed("the response was 302"),
        ),
        greeting("403", "HTTP/1.1 403 Forbidden\nContent-Length: 0\n\n", &[], http_error(403)),
        greeting("426", "HTTP/1.1 426 Upgrade Required\nContent-Length: 0\n\n", &[], http_error(426)),
        greeting("no HTTP", "SSH-2.0-OpenSSH_9.2\n\n", &[], malformed("")),
        greeting("HTTP/1.0", instead("HTTP/1.1", "HTTP/1.0"), &[Stall], malformed("")),
        greeting("another key", instead("{key}", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), &[Stall], malformed("Key mismatch")),
        greeting("no key", without("Sec"), &[Stall], malformed("Key mismatch")),
        greeting("no upgrade", without("Upgrade"), &[Stall], malformed("Upgrade: websocket")),
        greeting("another upgrade", instead("websocket", "h2c"), &[Stall], malformed("Upgrade: websocket")),
        greeting("no connection", without("Connection"), &[Stall], malformed("Connection: upgrade")),
        greeting(
            "a protocol nobody asked for",
            fine("Sec-WebSocket-Protocol: chat\n"),
            &[Stall],
            malformed("ubprotocol"),
        ),
        greeting(
            "an extension nobody asked for",
            fine("Sec-WebSocket-Extensions: permessage-deflate\n"),
            &[Stall],
            malformed("an unsupported WebSocket extension"),
        ),
        greeting(
            "a head of 300 lines",
            fine(Box::leak("X: 1\n".repeat(300).into_boxed_str())),
            &[Stall],
            malformed(""),
        ),
        greeting(
            "a head without end",
            "HTTP/1.1 101 Switching Protocols\nX: ",
            Box::leak(Box::new([flood("a")])),
            malformed("Attack attempt"),
        ),
        greeting("says it before it is asked", fine(""), Box::leak(Box::new([say(hi())])), ok(101)),
    ]
}

/// Frames that must not be, by where it shows.
fn frames() -> Vec<Mode> {
    let masked = [&[END | TEXT, 0x82][..], &[1, 2, 3, 4], b"hi"].concat();
    vec![
        mode("in pieces", [all([frame(TEXT, "hi"), frame(MORE, " th"), frame(END, "ere")]), Stall], ok(101).bytes(8)),
        mode(
            "in pieces, with a ping between",
            [all([frame(TEXT, "hi"), frame(PING, "?"), frame(END, "!")]), Stall],
            ok(101).bytes(3),
        ),
        mode("as bytes", [all([frame(END | BINARY, "hi there")]), Stall], ok(101).bytes(8)),
        mode("others first", [all([frame(END | TEXT, "ho"), frame(END | TEXT, ""), hi()]), Stall], ok(101).bytes(10)),
        mode("masked", [say(masked), Stall], malformed("masked frame from server")),
        mode("bit 1 that is reserved", [say(frame(0xc1, "hi")), Stall], malformed("Reserved bits")),
        mode("bit 3 that is reserved", [say(frame(0x91, "hi")), Stall], malformed("Reserved bits")),
        mode("opcode 3", [say(frame(0x83, "hi")), Stall], malformed("opcode")),
        mode("opcode 7", [say(frame(0x87, "hi")), Stall], malformed("")),
        mode("opcode 11", [say(frame(0x8b, "hi")), Stall], malformed("")),
        mode("opcode 15", [say(frame(0x8f, "hi")), Stall], malformed("")),
        mode("a ping in pieces", [say(frame(0x09, "?")), Stall], malformed("Fragmented control frame")),
        mode("a goodbye in pieces", [say(frame(0x08, "")), Stall], malformed("Fragmented control frame")),
        mode(
            "a ping of 126 bytes",
            [say([&[PING, 126, 0, 126][..], &[0; 126]].concat()), Stall],
            malformed("Control frame too big"),
        ),
        mode("a ping of 2^62 bytes", [say(claims(PING, 1 << 62)), Stall], malformed("")),
        mode("a length of 2^63", [say(claims(END | TEXT, 1 << 63)), Stall], malformed("")),
        mode("a length of 2^64 - 1", [say(claims(END | TEXT, u64::MAX)), Stall], malformed("")),
        mode("a length of 17 MB", [say(claims(END | TEXT, 17 << 20)), Stall], malformed("too long")),
        mode("a length written too long", [say([&[END | TEXT, 126, 0, 2][..], b"hi"].concat()), Stall], ok(101)),
        mode("the rest of nothing", [say(frame(END, "hi")), Stall], malformed("nothing to continue")),
        mode(
            "a message within another",
            [all([frame(TEXT, "hi"), frame(END | TEXT, "hi")]), Stall],
            malformed("more fragments"),
        ),
        mode("text that is no UTF-8", [say(frame(END | TEXT, b"hi \xff\xfe")), Stall], malformed("UTF-8")),
        mode("text cut in a letter", [say(frame(END | TEXT, b"hi \xe2\x82")), Stall], malformed("UTF-8")),
        mode("a surrogate", [say(frame(END | TEXT, b"hi \xed\xa0\x80")), Stall], malformed("UTF-8")),
        mode(
            "a letter in two pieces",
            [all([frame(TEXT, b"hi \xe2\x82"), frame(END, b"\xac")]), Stall],
            ok(101).bytes(6),
        ),
        mode("half the head of a frame", [say([END | TEXT]), Stall], timeout()),
        mode("half a frame", [say([&[END | TEXT, 8][..], b"hi"].concat()), Stall], timeout()),
        mode("a message that never ends", [say(frame(TEXT, "hi")), Stall], timeout()),
        mode(
            "hangs up in a frame",
            [say([&[END | TEXT, 8][..], b"hi"].concat())],
            reset("closed by the server without a Close frame"),
        ),
        mode("messages without end", [flood(frame(END | TEXT, "x"))], timeout()),
        mode("empty messages without end", [flood(frame(END | TEXT, ""))], timeout()),
        mode("pings without end", [flood(frame(PING, "x"))], timeout()),
        mode("pongs without end", [flood(frame(PONG, ""))], timeout()),
        mode("pieces without end", [say(frame(TEXT, "hi")), flood(frame(MORE, ""))], timeout()),
        mode(
            "a message without end",
            [say(frame(TEXT, "hi")), flood([&[MORE, 127, 0, 0, 0, 0, 0, 4, 0, 0][..], &[b'x'; 1 << 18]].concat())],
            malformed("too long").or(timeout()),
        ),
    ]
}

/// How it ends.
fn goodbyes() -> Vec<Mode> {
    vec![
        mode("hangs up without a word", [], reset("closed by the server without a Close frame")),
        mode("breaks", [Reset], reset("")),
        mode("says nothing", [Stall], timeout().bytes(0)),
        mode("goodbye", [say(close(1000, "")), Stall], reset("closed by the server (1000)")),
        mode(
            "goodbye and why",
            [say(close(1001, "closing time")), Stall],
            reset("closed by the server (1001 closing time)"),
        ),
        mode("goodbye without a code", [say(frame(CLOSE, "")), Stall], reset("closed by the server")),
        mode("goodbye with a code of its own", [say(close(4711, "")), Stall], reset("closed by the server (4711)")),
        mode("goodbye behind an answer", [all([hi(), close(1000, "")]), Stall], ok(101)),
        mode("an answer behind goodbye", [all([close(1000, ""), hi()]), Stall], reset("closed by the server (1000)")),
        mode("two goodbyes", [all([close(1000, ""), close(1001, "")]), Stall], reset("closed by the server (1000)")),
        mode(
            "goodbye in a message",
            [all([frame(TEXT, "hi"), close(1000, "")]), Stall],
            reset("closed by the server (1000)"),
        ),
        mode("goodbye of one byte", [say(frame(CLOSE, [3])), Stall], malformed("close sequence")),
        mode("goodbye with a code of 0", [say(close(0, "")), Stall], malformed("").or(reset(""))),
        mode("goodbye with a code of 1005", [say(close(1005, "")), Stall], malformed("").or(reset(""))),
        mode("goodbye with a code of 65535", [say(close(u16::MAX, "")), Stall], malformed("").or(reset(""))),
        mode("goodbye that is no UTF-8", [say(close(1000, [0xff])), Stall], malformed("UTF-8")),
        mode(
            "goodbye of 126 bytes",
            [say([&[CLOSE, 126, 0, 126, 3, 232][..], &[b'x'; 124]].concat()), Stall],
            malformed("Control frame too big"),
        ),
        mode(
            "goodbye that repaints the screen",
            [say(close(1000, "\x1b[2J")), Stall],
            reset("closed by the server (1000 "),
        ),
        mode("breaks behind an answer", [say(hi()), Pause, Reset], ok(101)),
    ]
}

const OWN: &str = "response_timeout = \"3s\"";
const SAY_HI: &str = "name = \"chat\"\nwebsocket = { send = \"hi {{session}}\", await = \"^hi\" }";

#[test]
fn each_fault_is_one_event() {
    let well: Peer = Arc::new(|stream| drop(accept(stream).map(echo)));
    let modes = [handshakes(), frames(), goodbyes()].into_iter().flatten().collect();
    meet("http", OWN, SAY_HI, (well, ok(101)), modes);
}
