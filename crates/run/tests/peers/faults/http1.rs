//! HTTP/1.1 (RFC 9110, RFC 9112): answers that end too early, too late or never, that are none, or that say two things.
//!
//! Read like this: the peer hears a request, does what its steps say, and hangs up in good order behind the last of them.

use std::sync::Arc;

use offered_model::Outcome;

use super::Do::{Hear, Pause, Pour, Reset, Stall};
use super::{Do, Ends, Mode, drip, ends, flood, http_error, malformed, meet, ok, play, reset, say, timeout};
use crate::http1::well;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

/// A peer that hears a request and then does this.
pub(super) fn mode(name: &str, steps: impl IntoIterator<Item = Do>, ends: Ends) -> Mode {
    unheard(name, [Hear].into_iter().chain(steps), ends)
}

/// A peer that does this, and need not have heard anything for it. No more is read than it says; of what is complete all is.
fn unheard(name: &str, steps: impl IntoIterator<Item = Do>, ends: Ends) -> Mode {
    let steps: Vec<Do> = steps.into_iter().collect();
    let said: Option<usize> = steps
        .iter()
        .map(|step| match step {
            Do::Say(bytes) | Do::Drip(bytes) => Some(bytes.len()),
            Do::Flood(_) => None,
            Do::Pour(bytes) => Some(*bytes),
            _ => Some(0),
        })
        .sum();
    let ends = said.map_or(ends.clone(), |said| ends.at_most(said as u64));
    Mode::new(name, move |mut stream| play(&mut stream, &steps), ends)
}

/// An answer whose head has these lines behind the first, and this body.
fn answer(lines: &str, body: &str) -> Do {
    say(format!("HTTP/1.1 200 OK\r\n{lines}\r\n{body}"))
}

/// A chunked answer with this body.
fn chunked(body: &str) -> Do {
    say(format!("{CHUNKED}{body}"))
}

/// Answers that end before they are complete, or do not.
fn ends_of_connections() -> Vec<Mode> {
    vec![
        mode("hangs up before a word", [], reset("closed before a response")),
        mode("breaks before a word", [Reset], reset("reset")),
        unheard("breaks before it was asked", [Reset], reset("reset").or(ends(Outcome::Refused, "reset"))),
        mode("half a status line", [say("HTTP/1.1 2")], reset("closed within the response head")),
        mode("half a head", [say("HTTP/1.1 200 OK\r\nContent-Le")], reset("closed within the response head")),
        mode("breaks in the head", [say("HTTP/1.1 200 OK\r\nContent-Le"), Pause, Reset], reset("reset")),
        mode(
            "an interim answer and no other",
            [say("HTTP/1.1 100 Continue\r\n\r\n")],
            reset("closed before a response"),
        ),
        mode(
            "a body shorter than its length",
            [answer("Content-Length: 9\r\n", "hello")],
            reset("closed with 4 bytes"),
        ),
        mode("breaks in the body", [answer("Content-Length: 9\r\n", "hello"), Pause, Reset], reset("reset")),
        mode(
            "an error cut in its body",
            [say("HTTP/1.1 404 No\r\nContent-Length: 9\r\n\r\nno")],
            reset("closed with 7"),
        ),
        mode("half a chunk", [chunked("5\r\nhe")], reset("closed within a chunked body")),
        mode("no last chunk", [chunked("5\r\nhello\r\n")], reset("closed within a chunked body")),
        mode("no end behind the last chunk", [chunked("0\r\n")], reset("closed within a chunked body")),
        mode(
            "a chunk that never fills",
            [chunked("7fffffffffffffff\r\nhello")],
            reset("closed in the middle of a chunk"),
        ),
        mode(
            "a length that never fills",
            [answer("Content-Length: 9223372036854775807\r\n", "x")],
            reset("closed with 92"),
        ),
        mode("a body to the end", [answer("", "hello")], ok(200).bytes(24)),
        mode("a body to an end that breaks", [answer("", "hello"), Pause, Reset], reset("reset")),
        mode("hangs up though it keeps", [answer("Connection: keep-alive\r\nContent-Length: 2\r\n", "ok")], ok(200)),
        mode("stays though it closes", [answer("Connection: close\r\nContent-Length: 2\r\n", "ok"), Stall], ok(200)),
        mode("breaks behind its answer", [say(OK), Pause, Reset], ok(200)),
        mode("says nothing", [Stall], timeout().bytes(0)),
        mode("stalls in the status line", [say("HTTP/1.1 20"), Stall], timeout().bytes(11)),
        mode("stalls in the head", [say("HTTP/1.1 200 OK\r\nX"), Stall], timeout()),
        mode("stalls in the body", [answer("Content-Length: 9\r\n", "hello"), Stall], timeout()),
        mode("stalls in a chunk", [chunked("5\r\nhe"), Stall], timeout()),
        mode("stalls in a body to the end", [answer("", "hello"), Stall], timeout()),
        mode("byte by byte, in time", [drip(OK)], ok(200).bytes(OK.len() as u64)),
        mode("byte by byte, too slowly", [drip(format!("HTTP/1.1 200 OK\r\nX: {}", "a".repeat(1000)))], timeout()),
        unheard("answers before it was asked", [say(OK)], ok(200)),
    ]
}

/// Status lines that are none, or nearly.
fn status_lines() -> Vec<Mode> {
    let not_http = || malformed("not an HTTP/1 answer; it begins with `");
    vec![
        mode("HTTP/0.9", [say("<html>hello</html>\n")], not_http()),
        mode("HTTP/2", [say(b"\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x64")], not_http()),
        mode("SSH", [say("SSH-2.0-OpenSSH_9.2\r\n")], not_http()),
        mode("SMTP", [say("220 mail.test ESMTP\r\n")], not_http()),
        mode("zeros", [say([0; 64])], not_http()),
        mode("a request", [say("GET / HTTP/1.1\r\nHost: a\r\n\r\n")], not_http()),
        mode("small letters", [say("http/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")], not_http()),
        mode("version 2", [say("HTTP/2 200 OK\r\n\r\n")], not_http()),
        mode("version 1.9", [say("HTTP/1.9 200 OK\r\n\r\n")], not_http()),
        mode("version 1.10", [say("HTTP/1.10 200 OK\r\n\r\n")], not_http()),
        mode("no status", [say("HTTP/1.1\r\n\r\n")], not_http()),
        mode("an empty status", [say("HTTP/1.1  OK\r\n\r\n")], not_http()),
        mode("status abc", [say("HTTP/1.1 abc OK\r\n\r\n")], not_http()),
        mode("status -200", [say("HTTP/1.1 -200 OK\r\n\r\n")], not_http()),
        mode("status 20", [say("HTTP/1.1 20 OK\r\n\r\n")], not_http()),
        mode("status 1000", [say("HTTP/1.1 1000 OK\r\n\r\n")], not_http()),
        mode("status 000", [say("HTTP/1.1 000 OK\r\n\r\n")], malformed("a status below 100")),
        mode("status 099", [say("HTTP/1.1 099 OK\r\n\r\n")], malformed("a status below 100")),
        mode(
            "status 101, unasked",
            [say("HTTP/1.1 101 Switching Protocols\r\n\r\n")],
            malformed("without a request for it"),
        ),
        mode("status 999", [say("HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n")], http_error(999)),
        mode("status 500", [say("HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\nno")], http_error(500)),
        mode("no reason", [say("HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n")], ok(200)),
        mode("an empty reason", [say("HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n")], ok(200)),
        mode("a reason in Latin-1", [say(b"HTTP/1.1 200 Schoen \xe4\r\nContent-Length: 0\r\n\r\n")], ok(200)),
        mode("an empty line first", [say(format!("\r\n{OK}"))], ok(200)),
    ]
}

/// Heads with lines that are none, or too many.
fn heads() -> Vec<Mode> {
    let not_http = || malformed("not an HTTP/1 answer; it begins with `HTTP/1.1 200");
    let large = || malformed("more than 300 KB of headers");
    let wide = format!("X: {}\r\nContent-Length: 0\r\n", "a".repeat(300 << 10));
    let many = format!("{}Content-Length: 0\r\n", "X: 1\r\n".repeat(6000));
    let interim = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
    vec![
        mode("bare LF", [say("HTTP/1.1 200 OK\nContent-Length: 2\n\nok")], ok(200)),
        mode("bare CR", [answer("X: a\rb\r\nContent-Length: 0\r\n", "")], not_http()),
        mode("NUL in a value", [answer("X: a\0b\r\nContent-Length: 0\r\n", "")], not_http()),
        mode("NUL in a name", [answer("X\0: a\r\nContent-Length: 0\r\n", "")], not_http()),
        mode("an escape in a value", [answer("X: \x1b[2J\r\nContent-Length: 0\r\n", "")], not_http()),
        mode("a line without a colon", [answer("hello\r\nContent-Length: 0\r\n", "")], not_http()),
        mode("no name", [answer(": a\r\nContent-Length: 0\r\n", "")], not_http()),
        mode("a blank before the colon", [answer("Content-Length : 2\r\n", "ok")], not_http()),
        mode("a folded line", [answer("X: a\r\n b\r\nContent-Length: 0\r\n", "")], not_http()),
        mode("a name in UTF-8", [answer("Gr\u{f6}\u{df}e: 1\r\nContent-Length: 0\r\n", "")], not_http()),
        mode("a value in UTF-8", [answer("X: gr\u{f6}\u{df}er\r\nContent-Length: 0\r\n", "")], ok(200)),
        mode("bytes that are no UTF-8", [say(b"HTTP/1.1 200 OK\r\nX: \xff\xfe\r\nContent-Length: 0\r\n\r\n")], ok(200)),
        mode("an empty value", [answer("X:\r\nContent-Length: 0\r\n", "")], ok(200)),
        mode("interim answers first", [say(format!("HTTP/1.1 100 Continue\r\n\r\n{interim}{interim}{OK}"))], ok(200)),
        mode("a line of 300 KB", [answer(&wide, "")], large()),
        mode("6000 lines", [answer(&many, "")], malformed("more than 5000 headers")),
        mode("a status line without end", [say("HTTP/1.1 200 "), flood("O")], large()),
        mode("a line without end", [say("HTTP/1.1 200 OK\r\nX: "), flood("a")], large()),
        mode("lines without end", [say("HTTP/1.1 200 OK\r\n"), flood("X-Another: header\r\n")], malformed("")),
        mode("interim answers without end", [flood("HTTP/1.1 100 Continue\r\n\r\n")], large()),
        mode("empty lines without end", [flood("\r\n")], large()),
        mode("no HTTP, without end", [flood("SSH-2.0-OpenSSH_9.2\r\n")], malformed("not an HTTP/1 answer")),
    ]
}

/// What a head says of where its body ends.
fn lengths() -> Vec<Mode> {
    let number = || malformed("a Content-Length that is not a number");
    let coding = || malformed("a Transfer-Encoding other than chunked");
    let behind = || malformed("bytes after the end of the response");
    let length = |value: &str| answer(&format!("Content-Length: {value}\r\n"), "ok");
    vec![
        mode("the same length twice", [answer("Content-Length: 2\r\nContent-Length: 2\r\n", "ok")], ok(200)),
        mode("two lengths", [answer("Content-Length: 2\r\nContent-Length: 3\r\n", "ok")], malformed("two different")),
        mode("a list of lengths", [length("2, 2")], number()),
        mode("a negative length", [length("-1")], number()),
        mode("a length with a sign", [length("+2")], number()),
        mode("a length in hexadecimal", [length("0x2")], number()),
        mode("a length with a point", [length("2.0")], number()),
        mode("an empty length", [length("")], number()),
        mode("a length of 2^64", [length("18446744073709551616")], number()),
        mode(
            "a length and chunks",
            [answer("Content-Length: 99\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n")],
            ok(200),
        ),
        mode("gzip for a coding", [answer("Transfer-Encoding: gzip\r\n", "x")], coding()),
        mode("chunks within gzip", [answer("Transfer-Encoding: chunked, gzip\r\n", "x")], coding()),
        mode("no coding by name", [answer("Transfer-Encoding: identity\r\n", "x")], coding()),
        mode("nearly chunked", [answer("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n")], coding()),
        mode("a body longer than its length", [answer("Content-Length: 2\r\n", "okay")], behind()),
        mode("two answers to one request", [say(OK.repeat(2))], behind()),
        mode("a second answer later", [say(OK), Pause, say(OK)], ok(200).bytes(OK.len() as u64)),
        mode("204 with a body", [say("HTTP/1.1 204 None\r\nContent-Length: 2\r\n\r\nok")], behind()),
        mode("304 with a length, and no body", [say("HTTP/1.1 304 Same\r\nContent-Length: 2\r\n\r\n")], ok(304)),
        mode("205 with a body", [say("HTTP/1.1 205 Reset\r\nContent-Length: 2\r\n\r\nok")], ok(205)),
    ]
}

/// Chunks (RFC 9112, section 7.1).
fn chunks() -> Vec<Mode> {
    let line = || malformed("does not end with CR LF");
    let many = || malformed("too many chunk extensions or trailers");
    vec![
        mode("extensions and trailers", [chunked("5;a=\"b\"\r\nhello\r\n0\r\nX: 1\r\n\r\n")], ok(200)),
        mode("100,000 chunks of a byte", [chunked(&("1\r\nx\r\n".repeat(100_000) + "0\r\n\r\n"))], ok(200)),
        mode("no size", [chunked("\r\nhello\r\n")], malformed("a chunk without a size")),
        mode(
            "a size that is no number",
            [chunked("five\r\nhello\r\n")],
            malformed("a chunk size that is not a number"),
        ),
        mode("a negative size", [chunked("-5\r\nhello\r\n")], malformed("a chunk size that is not a number")),
        mode("a size with 0x", [chunked("0x5\r\nhello\r\n0\r\n\r\n")], malformed("a chunk size that is not a number")),
        mode("a size of 2^63", [chunked("8000000000000000\r\n")], malformed("a chunk size beyond all bounds")),
        mode(
            "a size of 2^64 and 5",
            [chunked("10000000000000005\r\nhello\r\n")],
            malformed("a chunk size beyond all bounds"),
        ),
        mode("CR inside a size", [chunked("1\r2\r\nhello\r\n")], line()),
        mode("LF behind a size", [chunked("5\nhello\r\n0\r\n\r\n")], line()),
        mode("a chunk longer than its size", [chunked("1\r\nhello\r\n")], malformed("a chunk longer than its size")),
        mode("nothing behind a chunk", [chunked("5\r\nhello0\r\n\r\n")], malformed("a chunk longer than its size")),
        mode("a trailer that is none", [chunked("0\r\nno header\r\n\r\n")], malformed("a trailer that is no header")),
        mode("bytes behind the last chunk", [chunked("0\r\n\r\nokay")], malformed("bytes after the end of the response")),
        mode("an extension without end", [chunked("1;"), flood("x")], many()),
        mode("trailers without end", [chunked("0\r\n"), flood("X-Another: trailer\r\n")], many()),
        mode("a size without end", [chunked(""), flood("0")], malformed("a chunk size beyond all bounds")),
    ]
}

/// Much of what is right.
fn bodies() -> Vec<Mode> {
    const MANY: usize = 64 << 20;
    let head = format!("Content-Length: {MANY}\r\n");
    vec![
        mode("64 MB", [answer(&head, ""), Pour(MANY)], ok(200).bytes((MANY + 19 + head.len()) as u64)),
        mode("a body without end", [answer("", ""), flood("x")], timeout().at_least(1 << 20)),
        mode("chunks without end", [chunked(""), flood("400\r\n".to_owned() + &"x".repeat(1024) + "\r\n")], timeout()),
    ]
}

/// All of these tables, one after the other.
fn all() -> Vec<Mode> {
    [ends_of_connections(), status_lines(), heads(), lengths(), chunks(), bodies()].into_iter().flatten().collect()
}

/// Every connection carries one exchange, and is meant to be kept.
const OWN: &str = "reuse = \"per-session\"\nresponse_timeout = \"3s\"";

#[test]
fn each_fault_is_one_event() {
    meet("http", OWN, "get = \"/\"", (Arc::new(well), ok(200)), all());
}

/// Who looks into answers sees the same ones.
#[test]
fn each_fault_is_the_same_event_for_who_looks_into_answers() {
    meet("http", &format!("{OWN}\ncookies = true"), "get = \"/\"", (Arc::new(well), ok(200)), all());
}

#[test]
fn an_answer_to_head_has_no_body() {
    let well = |stream| play(&mut { stream }, &[Hear, say("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n")]);
    let behind = || malformed("bytes after the end of the response");
    let modes = vec![
        mode("a chunked answer", [say(CHUNKED)], ok(200)),
        mode("a body", [say(OK)], behind()),
        mode("a chunked body", [chunked("0\r\n\r\n")], behind()),
        mode("an error", [say("HTTP/1.1 500 No\r\nContent-Length: 9\r\n\r\n")], http_error(500)),
    ];
    meet("http", OWN, "method = \"HEAD\"\npath = \"/\"", (Arc::new(well), ok(200)), modes);
}

#[test]
fn a_large_request_may_be_answered_before_it_is_read_or_never_be_read() {
    let request = format!("post = \"/\"\nbody = \"{}\"", "x".repeat(1 << 20));
    let early = "HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    let well = |stream| play(&mut { stream }, &[Hear, say(OK)]);
    let modes = vec![
        mode("answers early and reads on", [say(early)], http_error(413)),
        mode("answers early and reads nothing more", [say(early), Pause, Reset], http_error(413)),
        mode("breaks in the middle", [Pause, Reset], reset("")),
        unheard("breaks at once", [Reset], reset("").or(ends(Outcome::Refused, "reset"))),
    ];
    meet("http", OWN, &request, (Arc::new(well), ok(200)), modes);
}
