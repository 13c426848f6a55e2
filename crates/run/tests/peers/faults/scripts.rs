//! Answers of HTTP/1 that are complete, and attack whoever looks into them: sessions with checks, cookies and redirects.
//!
//! Read like this: the peer hears a request, says this, and hangs up; where it goes on, it says the same to every request.

use std::io::Write;
use std::sync::Arc;

use super::Do::Pour;
use super::http1::mode;
use super::{Ends, Mode, check_failed, meet, ok, play, say};

use crate::http1::answers;

const OWN: &str = "reuse = \"per-session\"\nresponse_timeout = \"10s\"\ncookies = true\nredirects = 5";

/// A whole answer: its head has these lines behind the first.
fn answer(lines: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n{lines}\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// A redirect to this place.
fn redirect(place: impl AsRef<[u8]>) -> Vec<u8> {
    [b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: ", place.as_ref(), b"\r\n\r\n"].concat()
}

/// A peer that gives this answer once.
fn once(name: &str, bytes: Vec<u8>, ends: Ends) -> Mode {
    mode(name, [say(bytes)], ends)
}

/// A peer that gives this answer to every request.
fn always(name: &str, bytes: Vec<u8>, ends: Ends) -> Mode {
    Mode::new(name, move |stream| answers(stream, &bytes), ends)
}

/// A peer that gives these answers, one after the other.
fn then(name: &str, first: Vec<u8>, second: Vec<u8>, ends: Ends) -> Mode {
    mode(name, [say(first), super::Do::Hear, say(second)], ends)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn codings() -> Vec<Mode> {
    let coded = |name: &str, coding: &str, body: &[u8], ends| {
        once(name, answer(&format!("Content-Encoding: {coding}\r\n"), body), ends)
    };
    let bomb = gzip(&vec![b'x'; 64 << 20]);
    let whole = gzip(b"ok");
    vec![
        coded("gzip", "gzip", &whole, ok(200)),
        coded("a bomb: 64 MB in 64 KB", "gzip", &bomb, check_failed(200, "unpacks to more than 16 MB")),
        coded("a bomb within a bomb", "gzip, gzip", &gzip(&bomb), check_failed(200, "unpacks to more than 16 MB")),
        coded("gzip that is none", "gzip", b"ok", check_failed(200, "says it is gzip and is not")),
        coded("gzip that is cut", "gzip", &whole[..12], check_failed(200, "says it is gzip and is not")),
        coded(
            "gzip with a wrong sum",
            "gzip",
            &[&whole[..whole.len() - 8], &[0; 8]].concat(),
            check_failed(200, "and is not"),
        ),
        coded("deflate that is none", "deflate", b"ok", check_failed(200, "says it is deflate and is not")),
        coded("br that is none", "br", b"ok", check_failed(200, "says it is br and is not")),
        coded("zstd that is none", "zstd", b"ok", check_failed(200, "and is not")),
        coded("a coding nobody knows", "lzma", b"ok", check_failed(200, "coded as `lzma`")),
        coded("a thousand codings", &["gzip"; 1000].join(", "), &whole, check_failed(200, "and is not")),
        once("no UTF-8, and what is wanted", answer("", b"\xff\xfe ok \xed\xa0\x80"), ok(200)),
        once("not what is wanted", answer("", b"ko"), check_failed(200, "")),
        mode(
            "64 MB that should be looked at",
            [say(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", 64 << 20)), Pour(64 << 20)],
            check_failed(200, "16 MB"),
        ),
    ]
}

fn cookies() -> Vec<Mode> {
    let many: String = (0..4000).map(|n| format!("Set-Cookie: c{n}={n}; Path=/\r\n")).collect();
    let large = format!("Set-Cookie: c={}\r\n", "x".repeat(100_000));
    vec![
        once("4000 cookies", answer(&many, b"ok"), ok(200)),
        once("a cookie of 100 KB", answer(&large, b"ok"), ok(200)),
        once("a cookie that is none", answer("Set-Cookie: ;;;=\r\n", b"ok"), ok(200)),
        once(
            "a cookie of a date beyond all",
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

fn redirects() -> Vec<Mode> {
    let other = || check_failed(302, "is not of http://");
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

/// What a peer does that behaves.
fn well() -> (super::Peer, Ends) {
    (Arc::new(|stream| play(&mut { stream }, &[super::Do::Hear, say(answer("", b"ok"))])), ok(200))
}

#[test]
fn each_answer_that_attacks_who_looks_into_it_is_one_event() {
    let modes = [codings(), cookies(), redirects()].into_iter().flatten().collect();
    meet("http", OWN, "get = \"/\"\ncheck = [{ body = true, contains = \"ok\" }]", well(), modes);
}

/// Trees that are deep, wide or endless.
#[test]
fn each_tree_is_one_event() {
    let deep = |open: &str, close: &str, n: usize| answer("", (open.repeat(n) + "ok" + &close.repeat(n)).as_bytes());
    let html = "get = \"/\"\ncheck = [{ css = \"p\", contains = \"ok\" }]";
    let paragraph: super::Peer =
        Arc::new(|stream| play(&mut { stream }, &[super::Do::Hear, say(answer("", b"<p>ok</p>"))]));
    let modes = vec![
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
    meet("http", OWN, html, (paragraph, ok(200)), modes);
    let json = "get = \"/\"\ncheck = [{ json = \"$..name\", is = \"ok\" }]";
    let object: super::Peer =
        Arc::new(|stream| play(&mut { stream }, &[super::Do::Hear, say(answer("", b"{\"name\": \"ok\"}"))]));
    let modes = vec![
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
    meet("http", OWN, json, (object, ok(200)), modes);
}
