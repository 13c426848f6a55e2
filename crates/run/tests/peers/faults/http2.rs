//! HTTP/2 (RFC 9113, RFC 7541), frame by frame, similar to what h2spec tests in servers.
//!
//! The peer sends its settings, receives a request on stream 1, performs its steps, and closes in an orderly way.

use std::sync::Arc;

use offered_events::Outcome;

use super::Step::{Pause, Reset, Stall};
use super::{
    Case, Expected, Peer, Step, expected, flood, http_error, malformed, ok, perform, read_to_end, reset, run_cases,
    say, timeout,
};
use crate::http2::{
    self, ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PING, PRIORITY, PUSH_PROMISE, RST_STREAM,
    SETTINGS, STATUS_200, WINDOW_UPDATE,
};

tests![each_fault_is_one_event, a_request_that_is_not_read_is_one_event];

/// Flags.
const PADDED: u8 = 8;
/// Settings.
const HEADER_TABLE_SIZE: u16 = 1;
const ENABLE_PUSH: u16 = 2;
const MAX_CONCURRENT_STREAMS: u16 = 3;
const INITIAL_WINDOW_SIZE: u16 = 4;
const MAX_FRAME_SIZE: u16 = 5;
/// The names of the error codes, in order (RFC 9113, section 7), and an unknown code.
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

/// The head of a frame that claims this length.
fn claims(length: u32, kind: u8, flags: u8, stream: u32) -> Vec<u8> {
    [&length.to_be_bytes()[1..], &[kind, flags], &stream.to_be_bytes()].concat()
}

/// The headers of a response on stream 1, not the end of it.
fn headers(block: impl AsRef<[u8]>) -> Vec<u8> {
    frame(HEADERS, END_HEADERS, 1, block.as_ref())
}

/// A response on stream 1 that consists of headers.
fn headers_only(block: impl AsRef<[u8]>) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | END_STREAM, 1, block.as_ref())
}

/// Data on stream 1.
fn data(flags: u8, bytes: impl AsRef<[u8]>) -> Vec<u8> {
    frame(DATA, flags, 1, bytes.as_ref())
}

/// A literal header in HPACK, without table and Huffman code.
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

fn all(frames: impl IntoIterator<Item = Vec<u8>>) -> Step {
    Step::Send(frames.into_iter().flatten().collect())
}

/// A peer that sends its settings, receives a request and then performs these steps.
pub(super) fn case(name: impl Into<String>, steps: impl IntoIterator<Item = Step>, expected: Expected) -> Case {
    let steps: Vec<Step> = steps.into_iter().collect();
    let act = move |stream| {
        let Ok(mut peer) = http2::Peer::greet(stream, &[]) else { return };
        if peer.request().is_ok() {
            perform(&mut peer.0, &steps);
        }
    };
    Case::new(name, act, expected)
}

/// A peer that sends no settings, and performs these steps when it receives something.
fn without_settings(name: &str, steps: impl IntoIterator<Item = Step>, expected: Expected) -> Case {
    let steps: Vec<Step> = [Step::Receive].into_iter().chain(steps).collect();
    Case::new(name, move |mut stream| perform(&mut stream, &steps), expected)
}

/// The failure for a peer that violates the protocol.
fn protocol_violation() -> Expected {
    malformed("the server violated HTTP/2 (")
}

/// The connection was closed before the end of the response.
fn closed_early() -> Expected {
    reset("closed before the response was complete")
}

/// How a connection begins and ends.
fn connections() -> Vec<Case> {
    vec![
        without_settings("closes at the preface", [], closed_early()),
        without_settings("resets at the preface", [Reset], reset("")),
        without_settings(
            "HTTP/1",
            [say("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")],
            protocol_violation(),
        ),
        without_settings("garbage", [say([0xff; 4096])], protocol_violation()),
        without_settings("sends nothing", [Stall], timeout()),
        without_settings(
            "another frame than SETTINGS first",
            [all([frame(PING, 0, 0, &[0; 8]), headers_only(STATUS_200)])],
            protocol_violation().or(ok(200)),
        ),
        case("closes after the request", [], closed_early()),
        case("resets after the request", [Reset], reset("")),
        case("half the head of a frame", [say([0, 0])], closed_early()),
        case("half a frame", [say(claims(10, HEADERS, END_HEADERS, 1))], closed_early()),
        case("stalls in a frame", [say(claims(10, HEADERS, END_HEADERS, 1)), Stall], timeout()),
        case("stalls after the head", [say(headers(STATUS_200)), Stall], timeout()),
        case("closes after the head", [say(headers(STATUS_200))], closed_early()),
        case("closes in the body", [all([headers(STATUS_200), data(0, "hel")])], closed_early().bytes(3)),
        case("resets in the body", [all([headers(STATUS_200), data(0, "hel")]), Pause, Reset], reset("")),
        case("responds, and sends more", [all([headers_only(STATUS_200), data(0, "more")])], ok(200)),
        case(
            "goes away and responds",
            [all([frame(GOAWAY, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 0]), headers_only(STATUS_200)])],
            ok(200),
        ),
        case(
            "goes away without having looked",
            [say(frame(GOAWAY, 0, 0, &[0; 8]))],
            expected(Outcome::Unprocessed, "the server closed the connection (GOAWAY, NO_ERROR)"),
        ),
        case("goes away with a promise", [say(frame(GOAWAY, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 0]))], reset("")),
        case(
            "goes away because of us",
            [say(frame(GOAWAY, 0, 0, b"\0\0\0\x01\0\0\0\x0benough"))],
            reset("the server closed the connection (GOAWAY, ENHANCE_YOUR_CALM)"),
        ),
        case(
            "goes away, later with more streams",
            [all([frame(GOAWAY, 0, 0, &[0; 8]), frame(GOAWAY, 0, 0, &[0, 0, 0, 9, 0, 0, 0, 0])])],
            expected(Outcome::Unprocessed, "GOAWAY").or(protocol_violation()),
        ),
        case("goes away on a stream", [say(frame(GOAWAY, 0, 1, &[0; 8]))], protocol_violation()),
        case("goes away in four bytes", [say(frame(GOAWAY, 0, 0, &[0; 4]))], protocol_violation()),
    ]
}

/// `RST_STREAM` with every code, and invalid ones.
fn resets() -> Vec<Case> {
    let code = |code: usize| frame(RST_STREAM, 0, 1, &(code as u32).to_be_bytes());
    let mut cases: Vec<Case> = CODES
        .iter()
        .enumerate()
        .map(|(number, name)| {
            let expected = match *name {
                "REFUSED_STREAM" => expected(Outcome::Unprocessed, "RST_STREAM, REFUSED_STREAM"),
                _ => reset("the server reset the stream (RST_STREAM, "),
            };
            case(format!("resets with {name}"), [say(code(number)), Stall], expected)
        })
        .collect();
    cases.extend([
        case(
            "resets after the head",
            [all([headers(STATUS_200), code(2)]), Stall],
            reset("RST_STREAM, INTERNAL_ERROR"),
        ),
        case(
            "refuses after the head",
            [all([headers(STATUS_200), code(7)]), Stall],
            reset("RST_STREAM, REFUSED_STREAM"),
        ),
        case("resets after the answer", [all([headers_only(STATUS_200), code(8)]), Stall], ok(200)),
        case("resets stream 0", [say(frame(RST_STREAM, 0, 0, &[0; 4])), Stall], protocol_violation()),
        case("resets a stream that is not open", [say(frame(RST_STREAM, 0, 3, &[0; 4])), Stall], protocol_violation()),
        case("resets in three bytes", [say(frame(RST_STREAM, 0, 1, &[0; 3])), Stall], protocol_violation()),
    ]);
    cases
}

/// Frames about the connection: settings, windows, pings.
fn control() -> Vec<Case> {
    let update = |stream, by: u32| frame(WINDOW_UPDATE, 0, stream, &by.to_be_bytes());
    let answer = headers_only(STATUS_200);
    let then_answers = |frame: Vec<u8>| [all([frame, headers_only(STATUS_200)]), Stall];
    vec![
        case("a setting that is unknown", then_answers(setting(0x99, 7)), ok(200)),
        case("a table of 4 GB for heads", then_answers(setting(HEADER_TABLE_SIZE, u32::MAX)), ok(200)),
        case("no streams any more", then_answers(setting(MAX_CONCURRENT_STREAMS, 0)), ok(200)),
        case(
            "an unexpected acknowledgement",
            then_answers(frame(SETTINGS, ACK, 0, &[])),
            protocol_violation().or(ok(200)),
        ),
        case("settings on a stream", then_answers(frame(SETTINGS, 0, 1, &[])), protocol_violation()),
        case("settings of five bytes", then_answers(frame(SETTINGS, 0, 0, &[0; 5])), protocol_violation()),
        case("an acknowledgement with settings", then_answers(frame(SETTINGS, ACK, 0, &[0; 6])), protocol_violation()),
        case("pushing set to 2", then_answers(setting(ENABLE_PUSH, 2)), protocol_violation()),
        case("a window of 2^31", then_answers(setting(INITIAL_WINDOW_SIZE, 1 << 31)), protocol_violation()),
        case("frames of a byte", then_answers(setting(MAX_FRAME_SIZE, 1)), protocol_violation()),
        case("a ping", then_answers(frame(PING, 0, 0, &[0; 8])), ok(200)),
        case("a ping on a stream", then_answers(frame(PING, 0, 1, &[0; 8])), protocol_violation()),
        case("a ping of seven bytes", then_answers(frame(PING, 0, 0, &[0; 7])), protocol_violation()),
        case("a pong without a ping", then_answers(frame(PING, ACK, 0, &[9; 8])), ok(200)),
        case("a window larger by nothing", then_answers(update(1, 0)), protocol_violation()),
        case("all windows larger by nothing", then_answers(update(0, 0)), protocol_violation()),
        // Nothing more is sent on that stream.
        case("a window above 2^31", then_answers(update(1, i32::MAX as u32)), ok(200)),
        case("all windows above 2^31", then_answers(update(0, i32::MAX as u32)), protocol_violation()),
        case("a window of three bytes", then_answers(frame(WINDOW_UPDATE, 0, 1, &[0; 3])), protocol_violation()),
        case("a window that is not open", then_answers(update(3, 1)), protocol_violation()),
        case("a priority", then_answers(frame(PRIORITY, 0, 1, &[0, 0, 0, 3, 9])), ok(200)),
        case("a stream before itself", then_answers(frame(PRIORITY, 0, 1, &[0, 0, 0, 1, 9])), protocol_violation()),
        case("a priority of four bytes", then_answers(frame(PRIORITY, 0, 1, &[0; 4])), protocol_violation()),
        case("a frame that is unknown", then_answers(frame(0xbe, 0xff, 1, b"?")), ok(200)),
        case("a bit that is reserved", then_answers(frame(0xbe, 0, 0x8000_0001, b"?")), ok(200)),
        case(
            "a promise that was not requested",
            then_answers(frame(PUSH_PROMISE, END_HEADERS, 1, &[0, 0, 0, 2, 0x82])),
            protocol_violation(),
        ),
        case("settings without end", [flood(setting(0x99, 7))], timeout()),
        case("pings without end", [flood(frame(PING, 0, 0, &[0; 8]))], timeout()),
        case("pongs without a ping without end", [flood(frame(PING, ACK, 0, &[0; 8]))], timeout()),
        case("unknown frames without end", [flood(frame(0xbe, 0, 0, &[0; 6]))], timeout()),
        case("priorities without end", [flood(frame(PRIORITY, 0, 1, &[0, 0, 0, 3, 9]))], timeout()),
        case("resets without end", [say(&answer), flood(frame(RST_STREAM, 0, 1, &[0; 4]))], ok(200)),
    ]
}

/// Frames on the wrong stream, too long, or out of order.
fn streams() -> Vec<Case> {
    let beyond = claims((1 << 14) + 1, DATA, 0, 1);
    vec![
        case("data on stream 0", [say(frame(DATA, 0, 0, b"x")), Stall], protocol_violation()),
        case("a head on stream 0", [say(frame(HEADERS, END_HEADERS, 0, STATUS_200)), Stall], protocol_violation()),
        case("data on a stream that is not open", [say(frame(DATA, 0, 3, b"x")), Stall], protocol_violation()),
        case(
            "a head on a stream that is not open",
            [say(frame(HEADERS, END_HEADERS, 3, STATUS_200)), Stall],
            protocol_violation(),
        ),
        case(
            "a stream of the server's own",
            [say(frame(HEADERS, END_HEADERS, 2, STATUS_200)), Stall],
            protocol_violation(),
        ),
        case("data before the head", [say(data(0, "x")), Stall], protocol_violation()),
        case(
            "a frame longer than agreed",
            [all([headers(STATUS_200), beyond, vec![0; (1 << 14) + 1]]), Stall],
            protocol_violation(),
        ),
        case(
            "a frame of 16 MB",
            [all([headers(STATUS_200), claims(0x00ff_ffff, DATA, 0, 1)]), Stall],
            protocol_violation(),
        ),
        case(
            "padding longer than its frame",
            [all([headers(STATUS_200), data(PADDED, [9, b'x'])]), Stall],
            protocol_violation(),
        ),
        case(
            "padding longer than its head",
            [say(frame(HEADERS, END_HEADERS | PADDED, 1, &[9, 0x88])), Stall],
            protocol_violation(),
        ),
        case(
            "padding",
            [all([headers(STATUS_200), data(PADDED | END_STREAM, b"\x02ok\0\0")]), Stall],
            ok(200).bytes(2),
        ),
        case(
            "a head that continues in data",
            [all([frame(HEADERS, 0, 1, STATUS_200), data(0, "x")]), Stall],
            protocol_violation(),
        ),
        case(
            "a head that continues on another stream",
            [all([frame(HEADERS, 0, 1, STATUS_200), frame(CONTINUATION, 4, 3, &[])]), Stall],
            protocol_violation(),
        ),
        case(
            "a head in two frames",
            [all([frame(HEADERS, 1, 1, &[]), frame(CONTINUATION, 4, 1, STATUS_200)]), Stall],
            ok(200),
        ),
        case(
            "the rest of no head",
            [say(frame(CONTINUATION, END_HEADERS, 1, STATUS_200)), Stall],
            protocol_violation(),
        ),
        case("a head that stalls", [say(frame(HEADERS, 0, 1, STATUS_200)), Stall], timeout()),
    ]
}

/// Heads and bodies without end.
fn endless() -> Vec<Case> {
    vec![
        case(
            "a head without end",
            [say(frame(HEADERS, 0, 1, STATUS_200)), flood(frame(CONTINUATION, 0, 1, &header("x", &"a".repeat(100))))],
            malformed("the server violated HTTP/2"),
        ),
        case(
            "a head of empty frames without end",
            [say(frame(HEADERS, 0, 1, STATUS_200)), flood(frame(CONTINUATION, 0, 1, &[]))],
            malformed("the server violated HTTP/2"),
        ),
        case(
            "empty data without end",
            [say(headers(STATUS_200)), flood(data(0, ""))],
            malformed("the server violated HTTP/2 (ENHANCE_YOUR_CALM)"),
        ),
        // The peer ignores the window, which it may overrun before it is enlarged.
        case(
            "a body without end",
            [say(headers(STATUS_200)), flood(data(0, "x".repeat(1000)))],
            timeout().or(protocol_violation()),
        ),
        case("interim responses without end", [flood(headers(b"\x08\x03100"))], malformed("").or(timeout())),
    ]
}

/// Headers: compression, and the requirements of HTTP.
fn heads() -> Vec<Case> {
    let bomb = [&[0x40, 1, b'x', 0x7f, 0x81, 0x1e][..], &[b'a'; 4000], &vec![0xbe; 1000], STATUS_200].concat();
    let length = |said: &str| headers(with("content-length", said));
    vec![
        case("an entry 0 of the table", [say(headers_only([0x80])), Stall], protocol_violation()),
        case("an entry that is not there", [say(headers_only([0xff, 0x80, 0x80, 0x01])), Stall], protocol_violation()),
        case(
            "a number without end",
            [say(headers_only([[0xff].as_slice(), &[0x80; 20]].concat())), Stall],
            protocol_violation(),
        ),
        case("a text longer than its head", [say(headers_only([0x00, 0x05, b'x'])), Stall], protocol_violation()),
        case(
            "a wrong code of Huffman's",
            [say(headers_only(b"\x88\0\x01x\x84\xff\xff\xff\xff")), Stall],
            protocol_violation(),
        ),
        case(
            "a table larger than agreed",
            [say(headers_only([0x3f, 0xe1, 0xff, 0x03, 0x88])), Stall],
            protocol_violation(),
        ),
        case("a head that unpacks to 4 MB", [say(headers_only(bomb)), Stall], malformed("the server violated HTTP/2")),
        case("no status", [say(headers_only(header("x", "1"))), Stall], protocol_violation()),
        case("two statuses", [say(headers_only([STATUS_200, STATUS_200].concat())), Stall], protocol_violation()),
        case("status abc", [say(headers_only(header(":status", "abc"))), Stall], protocol_violation()),
        case("status 099", [say(headers_only(header(":status", "099"))), Stall], protocol_violation()),
        case("status 1000", [say(headers_only(header(":status", "1000"))), Stall], protocol_violation()),
        case("status 101", [say(headers_only(header(":status", "101"))), Stall], protocol_violation()),
        case("status 500", [say(headers_only(header(":status", "500"))), Stall], http_error(500)),
        case("status 999", [say(headers_only(header(":status", "999"))), Stall], http_error(999)),
        case("an interim response first", [all([headers(b"\x08\x03103"), headers_only(STATUS_200)]), Stall], ok(200)),
        case("an interim response at the end", [say(headers_only(b"\x08\x03100")), Stall], protocol_violation()),
        case(
            "a status after the headers",
            [say(headers_only([&header("x", "1"), STATUS_200].concat())), Stall],
            protocol_violation(),
        ),
        // `h2` accepts this, as well as a status in the trailers.
        case("a header of requests", [say(headers_only(with(":path", "/"))), Stall], ok(200)),
        case(
            "a header that is unknown, with a colon",
            [say(headers_only(with(":x", "/"))), Stall],
            protocol_violation(),
        ),
        case("a name in capitals", [say(headers_only(with("X-A", "1"))), Stall], protocol_violation()),
        case("no name", [say(headers_only(with("", "1"))), Stall], protocol_violation()),
        case("a name with a blank", [say(headers_only(with("x a", "1"))), Stall], protocol_violation()),
        case("a line break in a value", [say(headers_only(with("x", "1\r\ny: 2"))), Stall], protocol_violation()),
        case("a NUL in a value", [say(headers_only(with("x", "1\0"))), Stall], protocol_violation()),
        case("a header of connections", [say(headers_only(with("connection", "close"))), Stall], protocol_violation()),
        case(
            "a coding of HTTP/1",
            [say(headers_only(with("transfer-encoding", "chunked"))), Stall],
            protocol_violation(),
        ),
        case("a length that is invalid", [say(length("x")), Stall], protocol_violation()),
        case("less than its length", [all([length("9"), data(END_STREAM, "hello")]), Stall], protocol_violation()),
        case("more than its length", [all([length("2"), data(END_STREAM, "hello")]), Stall], protocol_violation()),
        case(
            "two lengths",
            [
                say(headers([STATUS_200, &header("content-length", "1"), &header("content-length", "2")].concat())),
                Stall,
            ],
            protocol_violation().or(timeout()),
        ),
        case(
            "trailers",
            [all([headers(STATUS_200), data(0, "ok"), headers_only(header("x", "1"))]), Stall],
            ok(200).bytes(2),
        ),
        case("trailers with a status", [all([headers(STATUS_200), headers_only(STATUS_200)]), Stall], ok(200)),
        case(
            "trailers that are not the end",
            [all([headers(STATUS_200), headers(header("x", "1"))]), Stall],
            protocol_violation(),
        ),
        case("204 with a body", [all([headers(header(":status", "204")), data(END_STREAM, "ok")]), Stall], ok(204)),
    ]
}

/// Further keys of the target.
pub(super) const OWN: &str = "protocol = \"h2\"\nreuse = \"per-session\"\nresend = false\nresponse_timeout = \"3s\"";

fn well() -> Peer {
    Arc::new(|stream| drop(http2::Peer::greet(stream, &[]).and_then(http2::Peer::well)))
}

fn each_fault_is_one_event() {
    let cases = [connections(), resets(), control(), streams(), endless(), heads()].into_iter().flatten().collect();
    run_cases("http", OWN, "get = \"/\"", (well(), ok(200)), cases);
}

/// A server may keep the window closed, or never read.
fn a_request_that_is_not_read_is_one_event() {
    let request = format!("post = \"/\"\nbody = \"{}\"", "x".repeat(1 << 20));
    let hears =
        |name: &str, settings: &'static [(u16, u32)], then: fn(http2::Peer) -> std::io::Result<()>, expected| {
            Case::new(name, move |stream| drop(http2::Peer::greet(stream, settings).and_then(then)), expected)
        };
    let stalls: fn(http2::Peer) -> std::io::Result<()> = |mut peer| {
        read_to_end(&mut peer.0);
        Ok(())
    };
    let early: fn(http2::Peer) -> std::io::Result<()> = |mut peer| {
        let stream = peer.next()?.stream;
        peer.answer(stream)?;
        peer.send(RST_STREAM, 0, stream, &[0; 4])?;
        read_to_end(&mut peer.0);
        Ok(())
    };
    let grows: fn(http2::Peer) -> std::io::Result<()> = |mut peer| {
        let stream = peer.request()?;
        peer.answer(stream)?;
        read_to_end(&mut peer.0);
        Ok(())
    };
    let cases = vec![
        hears("opens no window", &[(INITIAL_WINDOW_SIZE, 0)], stalls, timeout()),
        hears("opens a window of a byte", &[(INITIAL_WINDOW_SIZE, 1)], stalls, timeout()),
        hears("responds before the body, and wants none", &[(INITIAL_WINDOW_SIZE, 0)], early, ok(200)),
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
    run_cases("http", OWN, &request, (well, ok(200)), cases);
}
