//! Reading lateness: responses over every protocol are measured, and waits are part of the service time.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::mpsc;
use std::time::Duration;

use offered_events::{Event, Outcome};

use crate::http2::Peer;
use crate::{http1, listen, postgres, run, tls};

tests![responses_over_every_protocol_are_measured, the_last_byte_is_measured_by_itself];

/// The events of a run against `address` over TCP, most of which must be measured, on systems that measure.
fn measured_events(case: &str, target: &str, request: &str) -> Vec<Event> {
    let events = run(target, request);
    assert!(events.iter().all(|event| event.outcome == Outcome::Ok), "{case}: {events:?}");
    for event in &events {
        let service = event.service().map_or(0, |service| service.0 as u64);
        for late in [event.reading_lateness, event.done_lateness].into_iter().flatten() {
            assert!(late.0 <= service, "{case}: {event:?}");
        }
    }
    // The kernel begins a moment after the first socket asks for timestamps.
    let measured = events.iter().filter(|event| event.reading_lateness.is_some() && event.done_lateness.is_some());
    let enough = if cfg!(target_os = "linux") { events.len() / 2 } else { 0 };
    assert!(measured.count() >= enough, "{case}: {events:?}");
    events
}

fn responses_over_every_protocol_are_measured() {
    let plain = listen(|_, stream| http1::well(stream));
    measured_events("HTTP/1.1", &format!("url = \"http://{plain}\""), "get = \"/\"");
    measured_events("a new connection each", &format!("url = \"http://{plain}\"\nreuse = \"fresh\""), "get = \"/\"");
    let config = tls::config();
    let secure = listen(move |_, stream| tls::well(stream, config.clone()));
    measured_events("TLS", &format!("url = \"https://{secure}\"\ntls = {{ insecure = true }}"), "get = \"/\"");
    let frames = listen(|_, stream| drop(Peer::greet(stream, &[]).and_then(Peer::well)));
    measured_events("HTTP/2", &format!("url = \"http://{frames}\"\nprotocol = \"h2\""), "get = \"/\"");
    let database = postgres::well_behaved();
    measured_events("PostgreSQL", &postgres::target(database, 2, "20s"), postgres::REQUEST);
}

/// Sends the head of each response, and its body 3 ms later.
fn in_two_pieces() -> SocketAddr {
    listen(|_, mut stream| {
        let (mut buffer, (_never, pause)) = ([0; 4096], mpsc::channel::<()>());
        while stream.read(&mut buffer).is_ok_and(|read| read > 0)
            && stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n").is_ok()
        {
            let _ = pause.recv_timeout(Duration::from_millis(3));
            if stream.write_all(b"ok").is_err() {
                return;
            }
        }
    })
}

fn the_last_byte_is_measured_by_itself() {
    let target = format!("url = \"http://{}\"", in_two_pieces());
    let events = measured_events("two pieces", &target, "get = \"/\"");
    let differ = events.iter().filter(|event| event.reading_lateness != event.done_lateness);
    assert!(differ.count() > 0 || cfg!(not(target_os = "linux")), "{events:?}");
}
