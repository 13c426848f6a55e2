//! Complete HTTP/1 responses that attack their evaluation: checks, cookies and redirects.
//!
//! The peer receives a request, sends this response, and closes; or it sends the same response to every request.

use std::io::Write;
use std::sync::Arc;

use super::Step::SendMany;
use super::http1::case;
use super::{Case, Expected, check_failed, ok, perform, run_cases, say};

use crate::http1::answers;

tests![each_response_that_attacks_its_evaluation_is_one_event, each_tree_is_one_event];

const OWN: &str = "reuse = \"per-session\"\nresponse_timeout = \"10s\"\ncookies = true\nredirects = 5";

/// A complete response with these headers.
fn answer(lines: &str, body: &[u8]) -> Vec<u8> {
    let headers = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n{lines}\r\n", body.len());
    [headers.as_bytes(), body].concat()
}

/// A redirect to this location.
fn redirect(place: impl AsRef<[u8]>) -> Vec<u8> {
    [b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: ", place.as_ref(), b"\r\n\r\n"].concat()
}

/// A peer that sends this response once.
fn once(name: &str, bytes: Vec<u8>, expected: Expected) -> Case {
    case(name, [say(bytes)], expected)
}

/// A peer that sends this response to every request.
fn always(name: &str, bytes: Vec<u8>, expected: Expected) -> Case {
    Case::new(name, move |stream| answers(stream, &bytes), expected)
}

/// A peer that sends these responses, one after the other.
fn then(name: &str, first: Vec<u8>, second: Vec<u8>, expected: Expected) -> Case {
    case(name, [say(first), super::Step::Receive, say(second)], expected)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn codings() -> Vec<Case> {
    let coded = |name: &str, coding: &str, body: &[u8], expected| {
        once(name, answer(&format!("Content-Encoding: {coding}\r\n"), body), expected)
    };
    let bomb = gzip(&vec![b'x'; 64 << 20]);
    let headers_only = gzip(b"ok");
    vec![
        coded("gzip", "gzip", &headers_only, ok(200)),
        coded("a bomb: 64 MB in 64 KB", "gzip", &bomb, check_failed(200, "decompresses to more than 16 MB")),
        coded("a bomb within a bomb", "gzip, gzip", &gzip(&bomb), check_failed(200, "decompresses to more than 16 MB")),
        coded("gzip that is invalid", "gzip", b"ok", check_failed(200, "is not valid gzip")),
        coded("gzip that is cut", "gzip", &headers_only[..12], check_failed(200, "is not valid gzip")),
        coded(
            "gzip with a wrong sum",
            "gzip",
            &[&headers_only[..headers_only.len() - 8], &[0; 8]].concat(),
            check_failed(200, "is not valid"),
        ),
        coded("deflate that is invalid", "deflate", b"ok", check_failed(200, "is not valid deflate")),
        coded("br that is invalid", "br", b"ok", check_failed(200, "is not valid br")),
        coded("zstd that is invalid", "zstd", b"ok", check_failed(200, "is not valid")),
        coded("a coding that is unknown", "lzma", b"ok", check_failed(200, "content coding `lzma`")),
        coded(
            "a thousand codings",
            &["gzip"; 1000].join(", "),
            &headers_only,
            check_failed(200, "1000 content codings"),
        ),
        once("no UTF-8, and what is wanted", answer("", b"\xff\xfe ok \xed\xa0\x80"), ok(200)),
        once("not what is wanted", answer("", b"ko"), check_failed(200, "")),
        case(
            "64 MB that must be evaluated",
            [say(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", 64 << 20)), SendMany(64 << 20)],
            check_failed(200, "16 MB"),
        ),
    ]
}

fn cookies() -> Vec<Case> {
    let many: String = (0..4000).map(|n| format!("Set-Cookie: c{n}={n}; Path=/\r\n")).collect();
    let large = format!("Set-Cookie: c={}\r\n", "x".repeat(100_000));
    vec![
        once("4000 cookies", answer(&many, b"ok"), ok(200)),
        once("a cookie of 100 KB", answer(&large, b"ok"), ok(200)),
        once("a cookie that is invalid", answer("Set-Cookie: ;;;=\r\n", b"ok"), ok(200)),
        once(
            "a cookie with an age that is too large",
            answer("Set-Cookie: a=b; Max-Age=99999999999999999999\r\n", b"ok"),
            ok(200),
        ),
        once(
            "a cookie of no date",
            answer("Set-Cookie: a=b; Expires=Foo, 99 Bar 99999 99:99:99 GMT\r\n", b"ok"),
            ok(200),
        ),
        then(
            "cookies that fill the next request",
            [redirect("/b").strip_suffix(b"\r\n").unwrap(), many.as_bytes(), b"\r\n"].concat(),
            answer("", b"ok"),
            ok(200),
        ),
    ]
}

fn redirects() -> Vec<Case> {
    let other = || check_failed(302, "is on another server than http://");
    vec![
        then("one", redirect("/b"), answer("", b"ok"), ok(200)),
        always("without end", redirect("/b"), check_failed(302, "more than 5 redirects")),
        always("to itself", redirect(""), check_failed(302, "more than 5 redirects")),
        once("to another host", redirect("http://elsewhere.test/"), other()),
        once("to another port", redirect("http://127.0.0.1:1/"), other()),
        once("to another host, without a scheme", redirect("//elsewhere.test/"), other()),
        once("to a host that looks like ours", redirect("http://127.0.0.1@elsewhere.test/"), other()),
        once("to TLS", redirect("https://127.0.0.1/"), other()),
        once("to a file", redirect("file:///etc/passwd"), other()),
        once("to a script", redirect("javascript:alert(1)"), other()),
        once("to a mailbox", redirect("mailto:a@b.test"), other()),
        once("to data", redirect("data:text/html,ok"), other()),
        once("without a place", b"HTTP/1.1 302 Found\r\nContent-Length: 2\r\n\r\nok".to_vec(), ok(302)),
        then("to no UTF-8", redirect(b"/\xff\xfe"), answer("", b"ok"), ok(200)),
        then("to a place with blanks", redirect("/a b c"), answer("", b"ok"), ok(200)),
        then("up and up", redirect("/../../../../etc/passwd"), answer("", b"ok"), ok(200)),
        then("to 100 KB", redirect("/".to_owned() + &"a".repeat(100_000)), answer("", b"ok"), ok(200)),
    ]
}

/// The well-behaved peer.
fn well() -> (super::Peer, Expected) {
    (Arc::new(|stream| perform(&mut { stream }, &[super::Step::Receive, say(answer("", b"ok"))])), ok(200))
}

fn each_response_that_attacks_its_evaluation_is_one_event() {
    let cases = [codings(), cookies(), redirects()].into_iter().flatten().collect();
    run_cases("http", OWN, "get = \"/\"\ncheck = [{ body = true, contains = \"ok\" }]", well(), cases);
}

/// Trees that are deep, wide or endless.
fn each_tree_is_one_event() {
    let deep = |open: &str, close: &str, n: usize| answer("", (open.repeat(n) + "ok" + &close.repeat(n)).as_bytes());
    let html = "get = \"/\"\ncheck = [{ css = \"p\", contains = \"ok\" }]";
    let paragraph: super::Peer =
        Arc::new(|stream| perform(&mut { stream }, &[super::Step::Receive, say(answer("", b"<p>ok</p>"))]));
    let cases = vec![
        once("500 deep", answer("", ("<div>".repeat(500) + "<p>ok").as_bytes()), ok(200)),
        once("100,000 deep", deep("<div>", "</div>", 100_000), check_failed(200, "")),
        once(
            "100,000 wide",
            answer("", ("<b>x</b>".repeat(100_000) + "<p>ok").as_bytes()),
            ok(200).or(check_failed(200, "")),
        ),
        once(
            "100,000 attributes",
            answer("", format!("<p {}>ok", (0..100_000).map(|n| format!("a{n}=1 ")).collect::<String>()).as_bytes()),
            check_failed(200, "").or(ok(200)),
        ),
        once(
            "a tag without end",
            answer("", ("<p ".to_owned() + &"a".repeat(1 << 20)).as_bytes()),
            check_failed(200, ""),
        ),
    ];
    run_cases("http", OWN, html, (paragraph, ok(200)), cases);
    let json = "get = \"/\"\ncheck = [{ json = \"$..name\", is = \"ok\" }]";
    let object: super::Peer =
        Arc::new(|stream| perform(&mut { stream }, &[super::Step::Receive, say(answer("", b"{\"name\": \"ok\"}"))]));
    let cases = vec![
        once("no JSON", answer("", b"ok"), check_failed(200, "")),
        once("100 deep", deep("[", "]", 100), check_failed(200, "")),
        once("100,000 arrays deep", deep("[", "]", 100_000), check_failed(200, "")),
        once("100,000 objects deep", deep("{\"a\":", "}", 100_000), check_failed(200, "")),
        once(
            "a number of 100,000 digits",
            answer("", format!("{{\"name\": {}}}", "9".repeat(100_000)).as_bytes()),
            check_failed(200, ""),
        ),
        once("a text without end", answer("", b"{\"name\": \"ok"), check_failed(200, "")),
        once("the same name twice", answer("", b"{\"name\": \"ko\", \"name\": \"ok\"}"), ok(200)),
    ];
    run_cases("http", OWN, json, (object, ok(200)), cases);
}
