//! HTTP/2 (RFC 9113, RFC 7541), frame by frame. What h2spec asks of servers is asked of a client here.
//!
//! Read like this: the peer says its settings, hears a request on stream 1, does what its steps say, and hangs up in good order.

use std::sync::Arc;

use offered_model::Outcome;

use super::Do::{Pause, Reset, Stall};
use super::{
    Do, Ends, Mode, Peer, ends, flood, http_error, malformed, meet, ok, play, reset, say, timeout, until_gone,
};
use crate::http2::{
    self, ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PING, PRIORITY, PUSH_PROMISE, RST_STREAM,
    SETTINGS, STATUS_200, WINDOW_UPDATE,
};

/// Flags.
const PADDED: u8 = 8;
/// Settings.
const HEADER_TABLE_SIZE: u16 = 1;
const ENABLE_PUSH: u16 = 2;
const MAX_CONCURRENT_STREAMS: u16 = 3;
const INITIAL_WINDOW_SIZE: u16 = 4;
const MAX_FRAME_SIZE: u16 = 5;
/// Names of the codes of errors, in order (RFC 9113, section 7), and one that has none.
const CODES: [&str; 15] = [
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY",
    "HTTP_1_1_REQUIRED",
    "14",
];

/// A frame.
pub(super) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    [&(payload.len() as u32).to_be_bytes()[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// The head of a frame that says it is so long.
fn claims(length: u32, kind: u8, flags: u8, stream: u32) -> Vec<u8> {
    [&length.to_be_bytes()[1..], &[kind, flags], &stream.to_be_bytes()].concat()
}

/// The head of an answer on stream 1, more to come.
fn head(block: impl AsRef<[u8]>) -> Vec<u8> {
    frame(HEADERS, END_HEADERS, 1, block.as_ref())
}

/// An answer of stream 1 that is a head.
fn whole(block: impl AsRef<[u8]>) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | END_STREAM, 1, block.as_ref())
}

/// Data of stream 1.
fn data(flags: u8, bytes: impl AsRef<[u8]>) -> Vec<u8> {
    frame(DATA, flags, 1, bytes.as_ref())
}

/// A header as HPACK has it where neither table nor Huffman's code is used.
pub(super) fn header(name: &str, value: &str) -> Vec<u8> {
    [&[0, name.len() as u8], name.as_bytes(), &[value.len() as u8], value.as_bytes()].concat()
}

/// `:status: 200` and another header.
fn with(name: &str, value: &str) -> Vec<u8> {
    [STATUS_200, &header(name, value)].concat()
}

fn setting(id: u16, value: u32) -> Vec<u8> {
    frame(SETTINGS, 0, 0, &[&id.to_be_bytes()[..], &value.to_be_bytes()].concat())
}

fn all(frames: impl IntoIterator<Item = Vec<u8>>) -> Do {
    Do::Say(frames.into_iter().flatten().collect())
}

/// A peer that greets, hears a request and then does this.
pub(super) fn mode(name: impl Into<String>, steps: impl IntoIterator<Item = Do>, ends: Ends) -> Mode {
    let steps: Vec<Do> = steps.into_iter().collect();
    let act = move |stream| {
        let Ok(mut peer) = http2::Peer::greet(stream, &[]) else { return };
        if peer.request().is_ok() {
            play(&mut peer.0, &steps);
        }
    };
    Mode::new(name, act, ends)
}

/// A peer that greets nobody, and does this when it hears something.
fn rude(name: &str, steps: impl IntoIterator<Item = Do>, ends: Ends) -> Mode {
    let steps: Vec<Do> = [Do::Hear].into_iter().chain(steps).collect();
    Mode::new(name, move |mut stream| play(&mut stream, &steps), ends)
}

/// What the crate says of a peer that does what it must not.
fn broke() -> Ends {
    malformed("the server violated HTTP/2 (")
}

/// The end before the end.
fn closed() -> Ends {
    reset("closed before the response was complete")
}

/// How a connection begins and ends.
fn connections() -> Vec<Mode> {
    vec![
        rude("hangs up at the preface", [], closed()),
        rude("breaks at the preface", [Reset], reset("")),
        rude("HTTP/1", [say("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")], broke()),
        rude("garbage", [say([0xff; 4096])], broke()),
        rude("says nothing", [Stall], timeout()),
        rude(
            "another frame than SETTINGS first",
            [all([frame(PING, 0, 0, &[0; 8]), whole(STATUS_200)])],
            broke().or(ok(200)),
        ),
        mode("hangs up behind the request", [], closed()),
        mode("breaks behind the request", [Reset], reset("")),
        mode("half the head of a frame", [say([0, 0])], closed()),
        mode("half a frame", [say(claims(10, HEADERS, END_HEADERS, 1))], closed()),
        mode("stalls in a frame", [say(claims(10, HEADERS, END_HEADERS, 1)), Stall], timeout()),
        mode("stalls behind the head", [say(head(STATUS_200)), Stall], timeout()),
        mode("hangs up behind the head", [say(head(STATUS_200))], closed()),
        mode("hangs up in the body", [all([head(STATUS_200), data(0, "hel")])], closed().bytes(3)),
        mode("breaks in the body", [all([head(STATUS_200), data(0, "hel")]), Pause, Reset], reset("")),
        mode("answers, and says more", [all([whole(STATUS_200), data(0, "more")])], ok(200)),
        mode(
            "goes away and answers",
            [all([frame(GOAWAY, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 0]), whole(STATUS_200)])],
            ok(200),
        ),
        mode(
            "goes away without having looked",
            [say(frame(GOAWAY, 0, 0, &[0; 8]))],
            ends(Outcome::Unprocessed, "the server closed the connection (GOAWAY, NO_ERROR)"),
        ),
        mode("goes away with a promise", [say(frame(GOAWAY, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 0]))], reset("")),
        mode(
            "goes away because of us",
            [say(frame(GOAWAY, 0, 0, b"\0\0\0\x01\0\0\0\x0benough"))],
            reset("the server closed the connection (GOAWAY, ENHANCE_YOUR_CALM)"),
        ),
        mode(
            "goes away, later with more streams",
            [all([frame(GOAWAY, 0, 0, &[0; 8]), frame(GOAWAY, 0, 0, &[0, 0, 0, 9, 0, 0, 0, 0])])],
            ends(Outcome::Unprocessed, "GOAWAY").or(broke()),
        ),
        mode("goes away on a stream", [say(frame(GOAWAY, 0, 1, &[0; 8]))], broke()),
        mode("goes away in four bytes", [say(frame(GOAWAY, 0, 0, &[0; 4]))], broke()),
    ]
}

/// `RST_STREAM`, with each code there is, and as it must not be.
fn resets() -> Vec<Mode> {
    let code = |code: usize| frame(RST_STREAM, 0, 1, &(code as u32).to_be_bytes());
    let mut modes: Vec<Mode> = CODES
        .iter()
        .enumerate()
        .map(|(number, name)| {
            let ends = match *name {
                "REFUSED_STREAM" => ends(Outcome::Unprocessed, "RST_STREAM, REFUSED_STREAM"),
                _ => reset("the server reset the stream (RST_STREAM, "),
            };
            mode(format!("resets with {name}"), [say(code(number)), Stall], ends)
        })
        .collect();
    modes.extend([
        mode("resets behind the head", [all([head(STATUS_200), code(2)]), Stall], reset("RST_STREAM, INTERNAL_ERROR")),
        mode("refuses behind the head", [all([head(STATUS_200), code(7)]), Stall], reset("RST_STREAM, REFUSED_STREAM")),
        mode("resets behind the answer", [all([whole(STATUS_200), code(8)]), Stall], ok(200)),
        mode("resets stream 0", [say(frame(RST_STREAM, 0, 0, &[0; 4])), Stall], broke()),
        mode("resets a stream nobody opened", [say(frame(RST_STREAM, 0, 3, &[0; 4])), Stall], broke()),
        mode("resets in three bytes", [say(frame(RST_STREAM, 0, 1, &[0; 3])), Stall], broke()),
    ]);
    modes
}

/// Frames about the connection: settings, windows, pings.
fn control() -> Vec<Mode> {
    let update = |stream, by: u32| frame(WINDOW_UPDATE, 0, stream, &by.to_be_bytes());
    let answer = whole(STATUS_200);
    let then_answers = |frame: Vec<u8>| [all([frame, whole(STATUS_200)]), Stall];
    vec![
        mode("a setting nobody knows", then_answers(setting(0x99, 7)), ok(200)),
        mode("a table of 4 GB for heads", then_answers(setting(HEADER_TABLE_SIZE, u32::MAX)), ok(200)),
        mode("no streams any more", then_answers(setting(MAX_CONCURRENT_STREAMS, 0)), ok(200)),
        mode("an unasked acknowledgement", then_answers(frame(SETTINGS, ACK, 0, &[])), broke().or(ok(200))),
        mode("settings on a stream", then_answers(frame(SETTINGS, 0, 1, &[])), broke()),
        mode("settings of five bytes", then_answers(frame(SETTINGS, 0, 0, &[0; 5])), broke()),
        mode("an acknowledgement with settings", then_answers(frame(SETTINGS, ACK, 0, &[0; 6])), broke()),
        mode("pushing set to 2", then_answers(setting(ENABLE_PUSH, 2)), broke()),
        mode("a window of 2^31", then_answers(setting(INITIAL_WINDOW_SIZE, 1 << 31)), broke()),
        mode("frames of a byte", then_answers(setting(MAX_FRAME_SIZE, 1)), broke()),
        mode("a ping", then_answers(frame(PING, 0, 0, &[0; 8])), ok(200)),
        mode("a ping on a stream", then_answers(frame(PING, 0, 1, &[0; 8])), broke()),
        mode("a ping of seven bytes", then_answers(frame(PING, 0, 0, &[0; 7])), broke()),
        mode("an answer to no ping", then_answers(frame(PING, ACK, 0, &[9; 8])), ok(200)),
        mode("a window larger by nothing", then_answers(update(1, 0)), broke()),
        mode("all windows larger by nothing", then_answers(update(0, 0)), broke()),
        // Nobody sends there any more.
        mode("a window beyond 2^31", then_answers(update(1, i32::MAX as u32)), ok(200)),
        mode("all windows beyond 2^31", then_answers(update(0, i32::MAX as u32)), broke()),
        mode("a window of three bytes", then_answers(frame(WINDOW_UPDATE, 0, 1, &[0; 3])), broke()),
        mode("a window nobody opened", then_answers(update(3, 1)), broke()),
        mode("a priority", then_answers(frame(PRIORITY, 0, 1, &[0, 0, 0, 3, 9])), ok(200)),
        mode("a stream before itself", then_answers(frame(PRIORITY, 0, 1, &[0, 0, 0, 1, 9])), broke()),
        mode("a priority of four bytes", then_answers(frame(PRIORITY, 0, 1, &[0; 4])), broke()),
        mode("a frame nobody knows", then_answers(frame(0xbe, 0xff, 1, b"?")), ok(200)),
        mode("a bit that is reserved", then_answers(frame(0xbe, 0, 0x8000_0001, b"?")), ok(200)),
        mode(
            "a promise nobody wanted",
            then_answers(frame(PUSH_PROMISE, END_HEADERS, 1, &[0, 0, 0, 2, 0x82])),
            broke(),
        ),
        mode("settings without end", [flood(setting(0x99, 7))], timeout()),
        mode("pings without end", [flood(frame(PING, 0, 0, &[0; 8]))], timeout()),
        mode("answers to no ping without end", [flood(frame(PING, ACK, 0, &[0; 8]))], timeout()),
        mode("unknown frames without end", [flood(frame(0xbe, 0, 0, &[0; 6]))], timeout()),
        mode("priorities without end", [flood(frame(PRIORITY, 0, 1, &[0, 0, 0, 3, 9]))], timeout()),
        mode("resets without end", [say(&answer), flood(frame(RST_STREAM, 0, 1, &[0; 4]))], ok(200)),
    ]
}

/// Frames of streams that are not theirs, too long, or out of order.
fn streams() -> Vec<Mode> {
    let beyond = claims((1 << 14) + 1, DATA, 0, 1);
    vec![
        mode("data on stream 0", [say(frame(DATA, 0, 0, b"x")), Stall], broke()),
        mode("a head on stream 0", [say(frame(HEADERS, END_HEADERS, 0, STATUS_200)), Stall], broke()),
        mode("data on a stream nobody opened", [say(frame(DATA, 0, 3, b"x")), Stall], broke()),
        mode("a head on a stream nobody opened", [say(frame(HEADERS, END_HEADERS, 3, STATUS_200)), Stall], broke()),
        mode("a stream of the server's own", [say(frame(HEADERS, END_HEADERS, 2, STATUS_200)), Stall], broke()),
        mode("data before the head", [say(data(0, "x")), Stall], broke()),
        mode("a frame longer than agreed", [all([head(STATUS_200), beyond, vec![0; (1 << 14) + 1]]), Stall], broke()),
        mode("a frame of 16 MB", [all([head(STATUS_200), claims(0x00ff_ffff, DATA, 0, 1)]), Stall], broke()),
        mode("padding longer than its frame", [all([head(STATUS_200), data(PADDED, [9, b'x'])]), Stall], broke()),
        mode(
            "padding longer than its head",
            [say(frame(HEADERS, END_HEADERS | PADDED, 1, &[9, 0x88])), Stall],
            broke(),
        ),
        mode("padding", [all([head(STATUS_200), data(PADDED | END_STREAM, b"\x02ok\0\0")]), Stall], ok(200).bytes(2)),
        mode("a head that goes on in data", [all([frame(HEADERS, 0, 1, STATUS_200), data(0, "x")]), Stall], broke()),
        mode(
            "a head that goes on elsewhere",
            [all([frame(HEADERS, 0, 1, STATUS_200), frame(CONTINUATION, 4, 3, &[])]), Stall],
            broke(),
        ),
        mode(
            "a head in two frames",
            [all([frame(HEADERS, 1, 1, &[]), frame(CONTINUATION, 4, 1, STATUS_200)]), Stall],
            ok(200),
        ),
        mode("the rest of no head", [say(frame(CONTINUATION, END_HEADERS, 1, STATUS_200)), Stall], broke()),
        mode("a head that stalls", [say(frame(HEADERS, 0, 1, STATUS_200)), Stall], timeout()),
        mode(
            "a head without end",
            [say(frame(HEADERS, 0, 1, STATUS_200)), flood(frame(CONTINUATION, 0, 1, &header("x", &"a".repeat(100))))],
            malformed("the server violated HTTP/2"),
        ),
        mode(
            "a head of empty frames without end",
            [say(frame(HEADERS, 0, 1, STATUS_200)), flood(frame(CONTINUATION, 0, 1, &[]))],
            malformed("the server violated HTTP/2"),
        ),
        mode(
            "empty data without end",
            [say(head(STATUS_200)), flood(data(0, ""))],
            malformed("the server violated HTTP/2 (ENHANCE_YOUR_CALM)"),
        ),
        mode("a body without end", [say(head(STATUS_200)), flood(data(0, "x".repeat(1000)))], timeout()),
        mode("interim answers without end", [flood(head(b"\x08\x03100"))], malformed("").or(timeout())),
    ]
}

/// Heads: their compression, and what HTTP wants of them.
fn heads() -> Vec<Mode> {
    let bomb = [&[0x40, 1, b'x', 0x7f, 0x81, 0x1e][..], &[b'a'; 4000], &vec![0xbe; 1000], STATUS_200].concat();
    let length = |said: &str| head(with("content-length", said));
    vec![
        mode("an entry 0 of the table", [say(whole([0x80])), Stall], broke()),
        mode("an entry that is not there", [say(whole([0xff, 0x80, 0x80, 0x01])), Stall], broke()),
        mode("a number without end", [say(whole([[0xff].as_slice(), &[0x80; 20]].concat())), Stall], broke()),
        mode("a text longer than its head", [say(whole([0x00, 0x05, b'x'])), Stall], broke()),
        mode("a wrong code of Huffman's", [say(whole(b"\x88\0\x01x\x84\xff\xff\xff\xff")), Stall], broke()),
        mode("a table larger than agreed", [say(whole([0x3f, 0xe1, 0xff, 0x03, 0x88])), Stall], broke()),
        mode("a head that unpacks to 4 MB", [say(whole(bomb)), Stall], malformed("the server violated HTTP/2")),
        mode("no status", [say(whole(header("x", "1"))), Stall], broke()),
        mode("two statuses", [say(whole([STATUS_200, STATUS_200].concat())), Stall], broke()),
        mode("status abc", [say(whole(header(":status", "abc"))), Stall], broke()),
        mode("status 099", [say(whole(header(":status", "099"))), Stall], broke()),
        mode("status 1000", [say(whole(header(":status", "1000"))), Stall], broke()),
        mode("status 101", [say(whole(header(":status", "101"))), Stall], broke()),
        mode("status 500", [say(whole(header(":status", "500"))), Stall], http_error(500)),
        mode("status 999", [say(whole(header(":status", "999"))), Stall], http_error(999)),
        mode("an interim answer first", [all([head(b"\x08\x03103"), whole(STATUS_200)]), Stall], ok(200)),
        mode("an interim answer at the end", [say(whole(b"\x08\x03100")), Stall], broke()),
        mode("a status behind the headers", [say(whole([&header("x", "1"), STATUS_200].concat())), Stall], broke()),
        // Forgiven by the crate, as is a status in the trailers.
        mode("a header of requests", [say(whole(with(":path", "/"))), Stall], ok(200)),
        mode("a header nobody knows, with a colon", [say(whole(with(":x", "/"))), Stall], broke()),
        mode("a name in capitals", [say(whole(with("X-A", "1"))), Stall], broke()),
        mode("no name", [say(whole(with("", "1"))), Stall], broke()),
        mode("a name with a blank", [say(whole(with("x a", "1"))), Stall], broke()),
        mode("a line break in a value", [say(whole(with("x", "1\r\ny: 2"))), Stall], broke()),
        mode("a NUL in a value", [say(whole(with("x", "1\0"))), Stall], broke()),
        mode("a header of connections", [say(whole(with("connection", "close"))), Stall], broke()),
        mode("a coding of HTTP/1", [say(whole(with("transfer-encoding", "chunked"))), Stall], broke()),
        mode("a length that is none", [say(length("x")), Stall], broke()),
        mode("less than its length", [all([length("9"), data(END_STREAM, "hello")]), Stall], broke()),
        mode("more than its length", [all([length("2"), data(END_STREAM, "hello")]), Stall], broke()),
        mode(
            "two lengths",
            [say(head([STATUS_200, &header("content-length", "1"), &header("content-length", "2")].concat())), Stall],
            broke().or(timeout()),
        ),
        mode("trailers", [all([head(STATUS_200), data(0, "ok"), whole(header("x", "1"))]), Stall], ok(200).bytes(2)),
        mode("trailers with a status", [all([head(STATUS_200), whole(STATUS_200)]), Stall], ok(200)),
        mode("trailers that are not the end", [all([head(STATUS_200), head(header("x", "1"))]), Stall], broke()),
        mode("204 with a body", [all([head(header(":status", "204")), data(END_STREAM, "ok")]), Stall], ok(204)),
    ]
}

/// What the target says beside its address.
pub(super) const OWN: &str = "protocol = \"h2\"\nreuse = \"per-session\"\nresend = false\nresponse_timeout = \"3s\"";

fn well() -> Peer {
    Arc::new(|stream| drop(http2::Peer::greet(stream, &[]).and_then(http2::Peer::well)))
}

#[test]
fn each_fault_is_one_event() {
    let modes = [connections(), resets(), control(), streams(), heads()].into_iter().flatten().collect();
    meet("http", OWN, "get = \"/\"", (well(), ok(200)), modes);
}

/// A server may close the window for good, or never read.
#[test]
fn a_request_that_is_not_taken_is_one_event() {
    let request = format!("post = \"/\"\nbody = \"{}\"", "x".repeat(1 << 20));
    let hears = |name: &str, settings: &'static [(u16, u32)], then: fn(http2::Peer) -> std::io::Result<()>, ends| {
        Mode::new(name, move |stream| drop(http2::Peer::greet(stream, settings).and_then(then)), ends)
    };
    let stalls: fn(http2::Peer) -> std::io::Result<()> = |mut peer| {
        until_gone(&mut peer.0);
        Ok(())
    };
    let early: fn(http2::Peer) -> std::io::Result<()> = |mut peer| {
        let stream = peer.next()?.stream;
        peer.answer(stream)?;
        peer.send(RST_STREAM, 0, stream, &[0; 4])?;
        until_gone(&mut peer.0);
        Ok(())
    };
    let grows: fn(http2::Peer) -> std::io::Result<()> = |mut peer| {
        let stream = peer.request()?;
        peer.answer(stream)?;
        until_gone(&mut peer.0);
        Ok(())
    };
    let modes = vec![
        hears("opens no window", &[(INITIAL_WINDOW_SIZE, 0)], stalls, timeout()),
        hears("opens a window of a byte", &[(INITIAL_WINDOW_SIZE, 1)], stalls, timeout()),
        hears("answers before the body, and wants none", &[(INITIAL_WINDOW_SIZE, 0)], early, ok(200)),
        hears("takes no streams", &[(MAX_CONCURRENT_STREAMS, 0), (INITIAL_WINDOW_SIZE, 0)], stalls, timeout()),
        hears(
            "has a window for all of it, and none for the connection",
            &[(INITIAL_WINDOW_SIZE, 1 << 30)],
            grows,
            timeout(),
        ),
    ];
    let well: Peer = Arc::new(|stream| {
        let settings = [(INITIAL_WINDOW_SIZE, 1 << 30)];
        drop(http2::Peer::greet(stream, &settings).and_then(|mut peer| {
            peer.send(WINDOW_UPDATE, 0, 0, &(1_u32 << 30).to_be_bytes())?;
            peer.well()
        }));
    });
    meet("http", OWN, &request, (well, ok(200)), modes);
}
