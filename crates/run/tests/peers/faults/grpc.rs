//! gRPC over HTTP/2: responses to a call that are invalid or contradictory.
//!
//! The peer receives a call on stream 1 and responds with these frames.

use std::sync::Arc;

use offered_events::Outcome;

use super::Step::{self, Stall};
use super::http2::{OWN, case, frame, header};
use super::{Case, Expected, Peer, check_failed, expected, malformed, ok, reset, run_cases, say, timeout};
use crate::grpc::{TEA, descriptors, serve};
use crate::http2::{DATA, END_HEADERS, END_STREAM, HEADERS, RST_STREAM, STATUS_200};

tests![each_fault_of_a_call_is_one_event];

type Headers<'a> = &'a [(&'a str, &'a str)];

/// The header of every response to a call.
const GRPC: Headers<'static> = &[("content-type", "application/grpc")];
const FINE: Headers<'static> = &[("grpc-status", "0")];

fn block(status: &[u8], headers: Headers<'_>) -> Vec<u8> {
    [status.to_vec()].into_iter().chain(headers.iter().map(|(name, value)| header(name, value))).flatten().collect()
}

/// Headers, a body, and trailers.
fn answer(headers: Headers<'_>, body: &[u8], trailers: Headers<'_>) -> Step {
    let frames = [
        frame(HEADERS, END_HEADERS, 1, &block(STATUS_200, headers)),
        frame(DATA, 0, 1, body),
        frame(HEADERS, END_STREAM | END_HEADERS, 1, &block(&[], trailers)),
    ];
    Step::Send(frames.concat())
}

/// Headers only.
fn only(status: &[u8], headers: Headers<'_>) -> Step {
    say(frame(HEADERS, END_STREAM | END_HEADERS, 1, &block(status, headers)))
}

/// A call that ended with a gRPC status other than OK.
fn failed(why: &'static str) -> Expected {
    Expected::new(Outcome::GrpcError, 200, why)
}

fn statuses() -> Vec<Case> {
    let no_status = || malformed("the response has no grpc-status");
    let statused =
        |name: &str, trailers: Headers<'_>, expected| case(name, [answer(GRPC, &[], trailers), Stall], expected);
    vec![
        case("well", [answer(GRPC, TEA, FINE), Stall], ok(200)),
        statused("no status", &[], no_status()),
        statused("an empty status", &[("grpc-status", "")], no_status()),
        statused("status abc", &[("grpc-status", "abc")], no_status()),
        statused("status -1", &[("grpc-status", "-1")], no_status()),
        statused("a status that is too large", &[("grpc-status", "99999999999999999999")], no_status()),
        statused("a status that has no name", &[("grpc-status", "99")], failed("status 99")),
        statused(
            "a status with words",
            &[("grpc-status", "5"), ("grpc-message", "no%20tea")],
            failed("NOT_FOUND: no tea"),
        ),
        statused(
            "a message that is not UTF-8",
            &[("grpc-status", "13"), ("grpc-message", "%ff%fe%")],
            failed("INTERNAL: "),
        ),
        statused("two statuses", &[("grpc-status", "0"), ("grpc-status", "13")], malformed("no message")),
        case(
            "a status in the head alone",
            [only(STATUS_200, &[GRPC[0], ("grpc-status", "14")]), Stall],
            failed("UNAVAILABLE"),
        ),
        case(
            "fine in the head, bad after",
            [answer(&[GRPC[0], FINE[0]], &[], &[("grpc-status", "13")]), Stall],
            failed("INTERNAL"),
        ),
    ]
}

/// Incomplete responses, invalid messages, and responses of a proxy.
fn messages() -> Vec<Case> {
    let no_status = || malformed("the response has no grpc-status");
    let no_item = || malformed("the response is not a shop.Item");
    let headers = || frame(HEADERS, END_HEADERS, 1, &block(STATUS_200, GRPC));
    let bodied = |name: &str, body: &[u8], expected| case(name, [answer(GRPC, body, FINE), Stall], expected);
    vec![
        case("a head and no end", [say(headers()), Stall], timeout()),
        case(
            "a message and no trailers",
            [say([headers(), frame(DATA, END_STREAM, 1, TEA)].concat()), Stall],
            no_status(),
        ),
        case(
            "a message and a reset",
            [say([headers(), frame(DATA, 0, 1, TEA), frame(RST_STREAM, 0, 1, &[0, 0, 0, 8])].concat()), Stall],
            reset("RST_STREAM, CANCEL"),
        ),
        case("closes after its message", [say([headers(), frame(DATA, 0, 1, TEA)].concat())], reset("closed before")),
        bodied("half a prefix", &TEA[..3], no_item()),
        bodied("half a message", &TEA[..8], no_item()),
        bodied("a message that says it is compressed", &[1, 0, 0, 0, 0], no_item()),
        bodied("a flag that is unknown", &[2, 0, 0, 0, 0], no_item()),
        bodied("a length that is too large", &[0, 255, 255, 255, 255], no_item()),
        bodied("a message that is no message", &[0, 0, 0, 0, 2, 0xff, 0xff], no_item()),
        bodied("a text that is no UTF-8", &[0, 0, 0, 0, 4, 0x0a, 2, 0xff, 0xfe], no_item()),
        bodied("two messages to one call", &[TEA, TEA].concat(), malformed("the response has more than one message")),
        bodied("no message", &[], malformed("the response is OK but has no message")),
        case(
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
        case("another type, and a status", [answer(&[("content-type", "text/html")], TEA, FINE), Stall], ok(200)),
        case("503 of a proxy", [only(&header(":status", "503"), &[]), Stall], check_failed(503, "json")),
        case(
            "404 of a proxy",
            [only(&header(":status", "404"), &[("content-type", "text/html")]), Stall],
            check_failed(404, "json"),
        ),
        case(
            "refused",
            [say(frame(RST_STREAM, 0, 1, &[0, 0, 0, 7])), Stall],
            expected(Outcome::Unprocessed, "REFUSED_STREAM"),
        ),
    ]
}

fn each_fault_of_a_call_is_one_event() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.binpb");
    std::fs::write(&file, descriptors()).unwrap();
    let target = format!("{OWN}\ndescriptors = {:?}", file.to_str().unwrap());
    let well: Peer = Arc::new(|stream| drop(serve(stream, (TEA, FINE))));
    let request = "grpc = \"shop.Desk/Order\"\nbody = '{\"name\": \"tea\"}'\ncheck = [{ json = \"$.name\" }]";
    run_cases("http", &target, request, (well, ok(200)), statuses().into_iter().chain(messages()).collect());
}
