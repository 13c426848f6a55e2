//! gRPC over HTTP/2: what a server may say of a call that is none, or two things.
//!
//! Read like this: the peer hears a call on stream 1 and answers with these frames.

use std::sync::Arc;

use offered_model::Outcome;

use super::Do::{self, Stall};
use super::http2::{OWN, frame, header, mode};
use super::{Ends, Mode, Peer, check_failed, ends, malformed, meet, ok, reset, say, timeout};
use crate::grpc::{TEA, descriptors, serve};
use crate::http2::{DATA, END_HEADERS, END_STREAM, HEADERS, RST_STREAM, STATUS_200};

type Headers<'a> = &'a [(&'a str, &'a str)];

/// What every answer to a call says of itself.
const GRPC: Headers<'static> = &[("content-type", "application/grpc")];
const FINE: Headers<'static> = &[("grpc-status", "0")];

fn block(status: &[u8], headers: Headers<'_>) -> Vec<u8> {
    [status.to_vec()].into_iter().chain(headers.iter().map(|(name, value)| header(name, value))).flatten().collect()
}

/// A head, a body, and trailers.
fn answer(head: Headers<'_>, body: &[u8], trailers: Headers<'_>) -> Do {
    let frames = [
        frame(HEADERS, END_HEADERS, 1, &block(STATUS_200, head)),
        frame(DATA, 0, 1, body),
        frame(HEADERS, END_STREAM | END_HEADERS, 1, &block(&[], trailers)),
    ];
    Do::Say(frames.concat())
}

/// A head and nothing else.
fn only(status: &[u8], head: Headers<'_>) -> Do {
    say(frame(HEADERS, END_STREAM | END_HEADERS, 1, &block(status, head)))
}

/// A call that ended with a status of gRPC's.
fn failed(why: &'static str) -> Ends {
    Ends::new(Outcome::GrpcError, 200, why)
}

fn modes() -> Vec<Mode> {
    let no_status = || malformed("the response has no grpc-status");
    let no_item = || malformed("the response is not a shop.Item");
    let head = || frame(HEADERS, END_HEADERS, 1, &block(STATUS_200, GRPC));
    let statused = |name: &str, trailers: Headers<'_>, ends| mode(name, [answer(GRPC, &[], trailers), Stall], ends);
    let bodied = |name: &str, body: &[u8], ends| mode(name, [answer(GRPC, body, FINE), Stall], ends);
    vec![
        mode("well", [answer(GRPC, TEA, FINE), Stall], ok(200)),
        statused("no status", &[], no_status()),
        statused("an empty status", &[("grpc-status", "")], no_status()),
        statused("status abc", &[("grpc-status", "abc")], no_status()),
        statused("status -1", &[("grpc-status", "-1")], no_status()),
        statused("a status beyond all", &[("grpc-status", "99999999999999999999")], no_status()),
        statused("a status that has no name", &[("grpc-status", "99")], failed("status 99")),
        statused(
            "a status with words",
            &[("grpc-status", "5"), ("grpc-message", "no%20tea")],
            failed("NOT_FOUND: no tea"),
        ),
        statused(
            "words that are no UTF-8",
            &[("grpc-status", "13"), ("grpc-message", "%ff%fe%")],
            failed("INTERNAL: "),
        ),
        statused("two statuses", &[("grpc-status", "0"), ("grpc-status", "13")], malformed("no message")),
        mode(
            "a status in the head alone",
            [only(STATUS_200, &[GRPC[0], ("grpc-status", "14")]), Stall],
            failed("UNAVAILABLE"),
        ),
        mode(
            "fine in the head, bad behind",
            [answer(&[GRPC[0], FINE[0]], &[], &[("grpc-status", "13")]), Stall],
            failed("INTERNAL"),
        ),
        mode("a head and no end", [say(head()), Stall], timeout()),
        mode(
            "a message and no trailers",
            [say([head(), frame(DATA, END_STREAM, 1, TEA)].concat()), Stall],
            no_status(),
        ),
        mode(
            "a message and a reset",
            [say([head(), frame(DATA, 0, 1, TEA), frame(RST_STREAM, 0, 1, &[0, 0, 0, 8])].concat()), Stall],
            reset("RST_STREAM, CANCEL"),
        ),
        mode("hangs up behind its message", [say([head(), frame(DATA, 0, 1, TEA)].concat())], reset("closed before")),
        bodied("half a prefix", &TEA[..3], no_item()),
        bodied("half a message", &TEA[..8], no_item()),
        bodied("a message that says it is compressed", &[1, 0, 0, 0, 0], no_item()),
        bodied("a flag nobody knows", &[2, 0, 0, 0, 0], no_item()),
        bodied("a length beyond all bounds", &[0, 255, 255, 255, 255], no_item()),
        bodied("a message that is no message", &[0, 0, 0, 0, 2, 0xff, 0xff], no_item()),
        bodied("a text that is no UTF-8", &[0, 0, 0, 0, 4, 0x0a, 2, 0xff, 0xfe], no_item()),
        bodied("two messages to one call", &[TEA, TEA].concat(), malformed("the response has more than one message")),
        bodied("no message", &[], malformed("the response is OK and has no message")),
        mode(
            "HTML instead",
            [
                say([
                    frame(HEADERS, END_HEADERS, 1, &block(STATUS_200, &[("content-type", "text/html")])),
                    frame(DATA, END_STREAM, 1, b"<p>hello"),
                ]
                .concat()),
                Stall,
            ],
            malformed(""),
        ),
        mode("another type, and a status", [answer(&[("content-type", "text/html")], TEA, FINE), Stall], ok(200)),
        mode("503 of a proxy", [only(&header(":status", "503"), &[]), Stall], check_failed(503, "json")),
        mode(
            "404 of a proxy",
            [only(&header(":status", "404"), &[("content-type", "text/html")]), Stall],
            check_failed(404, "json"),
        ),
        mode(
            "refused",
            [say(frame(RST_STREAM, 0, 1, &[0, 0, 0, 7])), Stall],
            ends(Outcome::Unprocessed, "REFUSED_STREAM"),
        ),
    ]
}

#[test]
fn each_fault_of_a_call_is_one_event() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.binpb");
    std::fs::write(&file, descriptors()).unwrap();
    let target = format!("{OWN}\ndescriptors = {:?}", file.to_str().unwrap());
    let well: Peer = Arc::new(|stream| drop(serve(stream, (TEA, FINE))));
    let request = "grpc = \"shop.Desk/Order\"\nbody = '{\"name\": \"tea\"}'\ncheck = [{ json = \"$.name\" }]";
    meet("http", &target, request, (well, ok(200)), modes());
}
