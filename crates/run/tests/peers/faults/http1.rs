//! HTTP/1.1 (RFC 9110, RFC 9112): responses that end too early, too late or never, that are invalid, or that contradict
//! themselves.
//!
//! The peer receives a request, performs its steps, and closes in an orderly way after the last.

use std::sync::Arc;

use offered_events::Outcome;

use super::Step::{Pause, Receive, Reset, SendMany, Stall};
use super::{
    Case, Expected, Step, drip, expected, flood, http_error, malformed, ok, perform, reset, run_cases, say, timeout,
};
use crate::http1::well;

tests![
    each_fault_is_one_event,
    each_fault_is_the_same_event_with_a_script,
    a_response_to_head_has_no_body,
    a_large_request_may_get_an_early_response_or_a_reset
];

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

/// A peer that receives a request and then performs these steps.
pub(super) fn case(name: &str, steps: impl IntoIterator<Item = Step>, expected: Expected) -> Case {
    unprompted(name, [Receive].into_iter().chain(steps), expected)
}

/// A peer that performs these steps without waiting for a request. No more bytes are read than it sends; of a complete
/// response all are.
fn unprompted(name: &str, steps: impl IntoIterator<Item = Step>, expected: Expected) -> Case {
    let steps: Vec<Step> = steps.into_iter().collect();
    let said: Option<usize> = steps
        .iter()
        .map(|step| match step {
            Step::Send(bytes) | Step::Drip(bytes) => Some(bytes.len()),
            Step::Flood(_) => None,
            Step::SendMany(bytes) => Some(*bytes),
            _ => Some(0),
        })
        .sum();
    let expected = said.map_or(expected.clone(), |said| expected.at_most(said as u64));
    Case::new(name, move |mut stream| perform(&mut stream, &steps), expected)
}

/// A response with these headers and this body.
fn answer(lines: &str, body: &str) -> Step {
    say(format!("HTTP/1.1 200 OK\r\n{lines}\r\n{body}"))
}

/// A chunked response with this body.
fn chunked(body: &str) -> Step {
    say(format!("{CHUNKED}{body}"))
}

/// Responses that end before they are complete, or do not end.
fn ends_of_connections() -> Vec<Case> {
    vec![
        case("closes before a response", [], reset("closed before a response")),
        case("resets before a response", [Reset], reset("reset")),
        unprompted("resets before the request", [Reset], reset("reset").or(expected(Outcome::Refused, "reset"))),
        case("half a status line", [say("HTTP/1.1 2")], reset("closed within the response head")),
        case("half a head", [say("HTTP/1.1 200 OK\r\nContent-Le")], reset("closed within the response head")),
        case("resets in the head", [say("HTTP/1.1 200 OK\r\nContent-Le"), Pause, Reset], reset("reset")),
        case(
            "an interim response and no other",
            [say("HTTP/1.1 100 Continue\r\n\r\n")],
            reset("closed before a response"),
        ),
        case(
            "a body shorter than its length",
            [answer("Content-Length: 9\r\n", "hello")],
            reset("closed with 4 bytes"),
        ),
        case("resets in the body", [answer("Content-Length: 9\r\n", "hello"), Pause, Reset], reset("reset")),
        case(
            "an error cut in its body",
            [say("HTTP/1.1 404 No\r\nContent-Length: 9\r\n\r\nno")],
            reset("closed with 7"),
        ),
        case("half a chunk", [chunked("5\r\nhe")], reset("closed within a chunked body")),
        case("no last chunk", [chunked("5\r\nhello\r\n")], reset("closed within a chunked body")),
        case("no end after the last chunk", [chunked("0\r\n")], reset("closed within a chunked body")),
        case("a chunk that never fills", [chunked("7fffffffffffffff\r\nhello")], reset("closed within a chunk")),
        case(
            "a length that never fills",
            [answer("Content-Length: 9223372036854775807\r\n", "x")],
            reset("closed with 92"),
        ),
        case("a body to the end", [answer("", "hello")], ok(200).bytes(24)),
        case("a body to an end that resets", [answer("", "hello"), Pause, Reset], reset("reset")),
        case("closes though it keeps", [answer("Connection: keep-alive\r\nContent-Length: 2\r\n", "ok")], ok(200)),
        case("stays though it closes", [answer("Connection: close\r\nContent-Length: 2\r\n", "ok"), Stall], ok(200)),
        case("resets after its response", [say(OK), Pause, Reset], ok(200)),
        case("sends nothing", [Stall], timeout().bytes(0)),
        case("stalls in the status line", [say("HTTP/1.1 20"), Stall], timeout().bytes(11)),
        case("stalls in the head", [say("HTTP/1.1 200 OK\r\nX"), Stall], timeout()),
        case("stalls in the body", [answer("Content-Length: 9\r\n", "hello"), Stall], timeout()),
        case("stalls in a chunk", [chunked("5\r\nhe"), Stall], timeout()),
        case("stalls in a body to the end", [answer("", "hello"), Stall], timeout()),
        case("byte by byte, in time", [drip(OK)], ok(200).bytes(OK.len() as u64)),
        case("byte by byte, too slowly", [drip(format!("HTTP/1.1 200 OK\r\nX: {}", "a".repeat(1000)))], timeout()),
        unprompted("responds before the request", [say(OK)], ok(200)),
    ]
}

/// Invalid or nearly invalid status lines.
fn status_lines() -> Vec<Case> {
    let not_http = || malformed("not an HTTP/1 response; it begins with `");
    vec![
        case("HTTP/0.9", [say("<html>hello</html>\n")], not_http()),
        case("HTTP/2", [say(b"\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x64")], not_http()),
        case("SSH", [say("SSH-2.0-OpenSSH_9.2\r\n")], not_http()),
        case("SMTP", [say("220 mail.test ESMTP\r\n")], not_http()),
        case("zeros", [say([0; 64])], not_http()),
        case("a request", [say("GET / HTTP/1.1\r\nHost: a\r\n\r\n")], not_http()),
        case("small letters", [say("http/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")], not_http()),
        case("version 2", [say("HTTP/2 200 OK\r\n\r\n")], not_http()),
        case("version 1.9", [say("HTTP/1.9 200 OK\r\n\r\n")], not_http()),
        case("version 1.10", [say("HTTP/1.10 200 OK\r\n\r\n")], not_http()),
        case("no status", [say("HTTP/1.1\r\n\r\n")], not_http()),
        case("an empty status", [say("HTTP/1.1  OK\r\n\r\n")], not_http()),
        case("status abc", [say("HTTP/1.1 abc OK\r\n\r\n")], not_http()),
        case("status -200", [say("HTTP/1.1 -200 OK\r\n\r\n")], not_http()),
        case("status 20", [say("HTTP/1.1 20 OK\r\n\r\n")], not_http()),
        case("status 1000", [say("HTTP/1.1 1000 OK\r\n\r\n")], not_http()),
        case("status 000", [say("HTTP/1.1 000 OK\r\n\r\n")], malformed("a status below 100")),
        case("status 099", [say("HTTP/1.1 099 OK\r\n\r\n")], malformed("a status below 100")),
        case(
            "status 101, unexpected",
            [say("HTTP/1.1 101 Switching Protocols\r\n\r\n")],
            malformed("without a request for it"),
        ),
        case("status 999", [say("HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n")], http_error(999)),
        case("status 500", [say("HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\nno")], http_error(500)),
        case("no reason", [say("HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n")], ok(200)),
        case("an empty reason", [say("HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n")], ok(200)),
        case("a reason in Latin-1", [say(b"HTTP/1.1 200 Schoen \xe4\r\nContent-Length: 0\r\n\r\n")], ok(200)),
        case("an empty line first", [say(format!("\r\n{OK}"))], ok(200)),
    ]
}

/// Heads with invalid lines, or too many.
fn heads() -> Vec<Case> {
    let not_http = || malformed("not an HTTP/1 response; it begins with `HTTP/1.1 200");
    let large = || malformed("more than 300 KB of headers");
    let wide = format!("X: {}\r\nContent-Length: 0\r\n", "a".repeat(300 << 10));
    let many = format!("{}Content-Length: 0\r\n", "X: 1\r\n".repeat(6000));
    let interim = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
    vec![
        case("bare LF", [say("HTTP/1.1 200 OK\nContent-Length: 2\n\nok")], ok(200)),
        case("bare CR", [answer("X: a\rb\r\nContent-Length: 0\r\n", "")], not_http()),
        case("NUL in a value", [answer("X: a\0b\r\nContent-Length: 0\r\n", "")], not_http()),
        case("NUL in a name", [answer("X\0: a\r\nContent-Length: 0\r\n", "")], not_http()),
        case("an escape in a value", [answer("X: \x1b[2J\r\nContent-Length: 0\r\n", "")], not_http()),
        case("a line without a colon", [answer("hello\r\nContent-Length: 0\r\n", "")], not_http()),
        case("no name", [answer(": a\r\nContent-Length: 0\r\n", "")], not_http()),
        case("a blank before the colon", [answer("Content-Length : 2\r\n", "ok")], not_http()),
        case("a folded line", [answer("X: a\r\n b\r\nContent-Length: 0\r\n", "")], ok(200)),
        case("a folded length", [answer("Content-Length:\r\n 2\r\n", "ok")], ok(200)),
        case("a blank before the first line", [answer(" X: a\r\nContent-Length: 0\r\n", "")], not_http()),
        case("a name in UTF-8", [answer("Gr\u{f6}\u{df}e: 1\r\nContent-Length: 0\r\n", "")], not_http()),
        case("a value in UTF-8", [answer("X: gr\u{f6}\u{df}er\r\nContent-Length: 0\r\n", "")], ok(200)),
        case("bytes that are no UTF-8", [say(b"HTTP/1.1 200 OK\r\nX: \xff\xfe\r\nContent-Length: 0\r\n\r\n")], ok(200)),
        case("an empty value", [answer("X:\r\nContent-Length: 0\r\n", "")], ok(200)),
        case("interim responses first", [say(format!("HTTP/1.1 100 Continue\r\n\r\n{interim}{interim}{OK}"))], ok(200)),
        case("a line of 300 KB", [answer(&wide, "")], large()),
        case("6000 lines", [answer(&many, "")], malformed("more than 5000 headers")),
        case("a status line without end", [say("HTTP/1.1 200 "), flood("O")], large()),
        case("a line without end", [say("HTTP/1.1 200 OK\r\nX: "), flood("a")], large()),
        case("lines without end", [say("HTTP/1.1 200 OK\r\n"), flood("X-Another: header\r\n")], malformed("")),
        case("interim responses without end", [flood("HTTP/1.1 100 Continue\r\n\r\n")], large()),
        case("empty lines without end", [flood("\r\n")], large()),
        case("no HTTP, without end", [flood("SSH-2.0-OpenSSH_9.2\r\n")], malformed("not an HTTP/1 response")),
    ]
}

/// Heads that determine the end of the body.
fn lengths() -> Vec<Case> {
    let number = || malformed("a Content-Length that is not a number");
    let coding = || malformed("a Transfer-Encoding other than chunked");
    let behind = || malformed("bytes after the end of the response");
    let length = |value: &str| answer(&format!("Content-Length: {value}\r\n"), "ok");
    vec![
        case("the same length twice", [answer("Content-Length: 2\r\nContent-Length: 2\r\n", "ok")], ok(200)),
        case("two lengths", [answer("Content-Length: 2\r\nContent-Length: 3\r\n", "ok")], malformed("two different")),
        case("a list of lengths", [length("2, 2")], number()),
        case("a negative length", [length("-1")], number()),
        case("a length with a sign", [length("+2")], number()),
        case("a length in hexadecimal", [length("0x2")], number()),
        case("a length with a point", [length("2.0")], number()),
        case("an empty length", [length("")], number()),
        case("a length of 2^64", [length("18446744073709551616")], number()),
        case(
            "a length and chunks",
            [answer("Content-Length: 99\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n")],
            ok(200),
        ),
        case("gzip for a coding", [answer("Transfer-Encoding: gzip\r\n", "x")], coding()),
        case("chunks within gzip", [answer("Transfer-Encoding: chunked, gzip\r\n", "x")], coding()),
        case("no coding by name", [answer("Transfer-Encoding: identity\r\n", "x")], coding()),
        case("nearly chunked", [answer("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n")], coding()),
        case("a body longer than its length", [answer("Content-Length: 2\r\n", "okay")], behind()),
        case("two responses to one request", [say(OK.repeat(2))], behind()),
        case("a second response later", [say(OK), Pause, say(OK)], ok(200).bytes(OK.len() as u64)),
        case("204 with a body", [say("HTTP/1.1 204 None\r\nContent-Length: 2\r\n\r\nok")], behind()),
        case("304 with a length, and no body", [say("HTTP/1.1 304 Same\r\nContent-Length: 2\r\n\r\n")], ok(304)),
        case("205 with a body", [say("HTTP/1.1 205 Reset\r\nContent-Length: 2\r\n\r\nok")], ok(205)),
    ]
}

/// Chunks (RFC 9112, section 7.1).
fn chunks() -> Vec<Case> {
    let line = || malformed("does not end with CR LF");
    let many = || malformed("too many chunk extensions or trailers");
    vec![
        case("extensions and trailers", [chunked("5;a=\"b\"\r\nhello\r\n0\r\nX: 1\r\n\r\n")], ok(200)),
        case("100,000 chunks of a byte", [chunked(&("1\r\nx\r\n".repeat(100_000) + "0\r\n\r\n"))], ok(200)),
        case("no size", [chunked("\r\nhello\r\n")], malformed("a chunk without a size")),
        case(
            "a size that is no number",
            [chunked("five\r\nhello\r\n")],
            malformed("a chunk size that is not a number"),
        ),
        case("a negative size", [chunked("-5\r\nhello\r\n")], malformed("a chunk size that is not a number")),
        case("a size with 0x", [chunked("0x5\r\nhello\r\n0\r\n\r\n")], malformed("a chunk size that is not a number")),
        case("a size of 2^63", [chunked("8000000000000000\r\n")], malformed("a chunk size that is too large")),
        case(
            "a size of 2^64 and 5",
            [chunked("10000000000000005\r\nhello\r\n")],
            malformed("a chunk size that is too large"),
        ),
        case("CR inside a size", [chunked("1\r2\r\nhello\r\n")], line()),
        case("LF after a size", [chunked("5\nhello\r\n0\r\n\r\n")], line()),
        case("a chunk longer than its size", [chunked("1\r\nhello\r\n")], malformed("a chunk longer than its size")),
        case("nothing after a chunk", [chunked("5\r\nhello0\r\n\r\n")], malformed("a chunk longer than its size")),
        case("a trailer that is invalid", [chunked("0\r\nno header\r\n\r\n")], malformed("an invalid trailer")),
        case(
            "bytes after the last chunk",
            [chunked("0\r\n\r\nokay")],
            malformed("bytes after the end of the response"),
        ),
        case("an extension without end", [chunked("1;"), flood("x")], many()),
        case("trailers without end", [chunked("0\r\n"), flood("X-Another: trailer\r\n")], many()),
        case("a size without end", [chunked(""), flood("0")], malformed("a chunk size that is too large")),
    ]
}

/// Large valid bodies.
fn bodies() -> Vec<Case> {
    const MANY: usize = 64 << 20;
    let headers = format!("Content-Length: {MANY}\r\n");
    vec![
        case("64 MB", [answer(&headers, ""), SendMany(MANY)], ok(200).bytes((MANY + 19 + headers.len()) as u64)),
        case("a body without end", [answer("", ""), flood("x")], timeout().at_least(1 << 20)),
        case("chunks without end", [chunked(""), flood("400\r\n".to_owned() + &"x".repeat(1024) + "\r\n")], timeout()),
    ]
}

/// All cases of these tables.
fn all() -> Vec<Case> {
    [ends_of_connections(), status_lines(), heads(), lengths(), chunks(), bodies()].into_iter().flatten().collect()
}

/// Every connection carries one exchange, and could be reused.
const OWN: &str = "reuse = \"per-session\"\nresponse_timeout = \"3s\"";

fn each_fault_is_one_event() {
    run_cases("http", OWN, "get = \"/\"", (Arc::new(well), ok(200)), all());
}

/// With a script, which evaluates responses, the events are the same.
fn each_fault_is_the_same_event_with_a_script() {
    run_cases("http", &format!("{OWN}\ncookies = true"), "get = \"/\"", (Arc::new(well), ok(200)), all());
}

fn a_response_to_head_has_no_body() {
    let well = |stream| perform(&mut { stream }, &[Receive, say("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n")]);
    let behind = || malformed("bytes after the end of the response");
    let cases = vec![
        case("a chunked answer", [say(CHUNKED)], ok(200)),
        case("a body", [say(OK)], behind()),
        case("a chunked body", [chunked("0\r\n\r\n")], behind()),
        case("an error", [say("HTTP/1.1 500 No\r\nContent-Length: 9\r\n\r\n")], http_error(500)),
    ];
    run_cases("http", OWN, "method = \"HEAD\"\npath = \"/\"", (Arc::new(well), ok(200)), cases);
}

fn a_large_request_may_get_an_early_response_or_a_reset() {
    let request = format!("post = \"/\"\nbody = \"{}\"", "x".repeat(1 << 20));
    let early = "HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    let well = |stream| perform(&mut { stream }, &[Receive, say(OK)]);
    let cases = vec![
        case("responds early and reads on", [say(early)], http_error(413)),
        case("responds early and reads nothing more", [say(early), Pause, Reset], http_error(413)),
        case("resets in the middle", [Pause, Reset], reset("")),
        unprompted("resets at once", [Reset], reset("").or(expected(Outcome::Refused, "reset"))),
    ];
    run_cases("http", OWN, &request, (Arc::new(well), ok(200)), cases);
}
