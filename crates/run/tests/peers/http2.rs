//! HTTP/2, frame by frame: requests that the server does not process, and flow control.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, mpsc};

use offered_events::{Event, Outcome};

use crate::{HANG, assert_first_events, listen, run};

tests![
    unprocessed_requests_are_sent_again_with_their_scheduled_time,
    a_connection_that_goes_away_does_not_count_against_the_limit,
    resending_is_limited_and_counted,
    only_bytes_allowed_by_flow_control_count_as_sent
];

/// Types of frames (RFC 9113, section 6).
pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const PRIORITY: u8 = 2;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PUSH_PROMISE: u8 = 5;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;
/// Flags.
pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;
pub(crate) const ACK: u8 = 1;
/// An error code.
const REFUSED_STREAM: u32 = 7;
/// `:status: 200` in HPACK: an entry of the static table.
pub(crate) const STATUS_200: &[u8] = &[0x88];

/// The server's end of a connection.
pub(crate) struct Peer(pub(crate) TcpStream);

/// A received frame.
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

impl Peer {
    /// Reads the client's preface and sends these settings.
    pub(crate) fn greet(mut stream: TcpStream, settings: &[(u16, u32)]) -> io::Result<Self> {
        stream.read_exact(&mut [0; 24])?;
        let mut peer = Self(stream);
        let payload: Vec<u8> =
            settings.iter().flat_map(|(id, value)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat()).collect();
        peer.send(SETTINGS, 0, 0, &payload)?;
        Ok(peer)
    }

    pub(crate) fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> io::Result<()> {
        let length = (payload.len() as u32).to_be_bytes();
        let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
        self.0.write_all(&[&head, payload].concat())
    }

    fn reset(&mut self, stream: u32, code: u32) -> io::Result<()> {
        self.send(RST_STREAM, 0, stream, &code.to_be_bytes())
    }

    fn go_away(&mut self, last: u32, code: u32) -> io::Result<()> {
        self.send(GOAWAY, 0, 0, &[last.to_be_bytes(), code.to_be_bytes()].concat())
    }

    /// The next frame that is not about the connection itself.
    pub(crate) fn next(&mut self) -> io::Result<Frame> {
        loop {
            let mut head = [0; 9];
            self.0.read_exact(&mut head)?;
            let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
            self.0.read_exact(&mut payload)?;
            let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
            match (head[3], head[4] & ACK) {
                (SETTINGS, 0) => self.send(SETTINGS, ACK, 0, &[])?,
                (PING, 0) => self.send(PING, ACK, 0, &payload)?,
                (HEADERS | DATA, _) => return Ok(Frame { kind: head[3], flags: head[4], stream, payload }),
                _ => {}
            }
        }
    }

    /// Reads to the end of a request; returns its stream.
    pub(crate) fn request(&mut self) -> io::Result<u32> {
        loop {
            let frame = self.next()?;
            if frame.flags & END_STREAM != 0 {
                return Ok(frame.stream);
            }
        }
    }

    pub(crate) fn answer(&mut self, stream: u32) -> io::Result<()> {
        self.send(HEADERS, END_STREAM | END_HEADERS, stream, STATUS_200)
    }

    /// Responds to everything.
    pub(crate) fn well(mut self) -> io::Result<()> {
        loop {
            let stream = self.request()?;
            self.answer(stream)?;
        }
    }
}

/// Handles one connection.
type Act = fn(Peer) -> io::Result<()>;

/// A server that handles connections with these numbers by `act`, and is well-behaved on all others.
fn server(odd: std::ops::RangeTo<usize>, act: Act) -> SocketAddr {
    listen(move |nth, stream| {
        let Ok(peer) = Peer::greet(stream, &[]) else { return };
        // These end when the client closes.
        let _ = if odd.contains(&nth) { act(peer) } else { peer.well() };
    })
}

fn get_events(address: SocketAddr, rest: &str) -> Vec<Event> {
    run(&format!("url = \"http://{address}\"\nprotocol = \"h2\"\n{rest}"), "get = \"/\"")
}

/// Responds to two requests, and sends GOAWAY for the third, which it has not processed.
fn go_away(mut peer: Peer) -> io::Result<()> {
    let (assert_first_events, second) = (peer.request()?, peer.request()?);
    peer.answer(assert_first_events)?;
    peer.answer(second)?;
    peer.request()?;
    peer.go_away(second, 0)?;
    peer.request().map(drop)
}

fn refuse_first(mut peer: Peer) -> io::Result<()> {
    let stream = peer.request()?;
    peer.reset(stream, REFUSED_STREAM)?;
    peer.well()
}

fn unprocessed_requests_are_sent_again_with_their_scheduled_time() {
    for (mode, act) in [("GOAWAY", go_away as Act), ("REFUSED_STREAM", refuse_first)] {
        let again = get_events(server(..1, act), "response_timeout = \"20s\"");
        assert_first_events(&again, 0, Outcome::Ok, mode);
        assert!(again.iter().any(|event| event.connection == 1), "{mode}: on another connection");
        assert!(again.iter().all(|event| event.intended <= event.sent.unwrap()), "{mode}");
        let strict = get_events(server(..1, act), "response_timeout = \"20s\"\nresend = false");
        let not: Vec<_> = strict.iter().filter(|event| event.outcome == Outcome::Unprocessed).collect();
        assert!(!not.is_empty() && not.iter().all(|event| event.connection == 0), "{mode}: {strict:?}");
        let others = strict.iter().filter(|event| event.outcome != Outcome::Unprocessed);
        assert!(others.clone().count() > 20 && others.clone().all(|event| event.outcome == Outcome::Ok), "{mode}");
    }
}

/// The first connection finishes its second stream only after the next one has a request.
fn a_connection_that_goes_away_does_not_count_against_the_limit() {
    let (begun, has_begun) = mpsc::channel();
    let has_begun = Arc::new(Mutex::new(has_begun));
    let address = listen(move |nth, stream| {
        let act = |mut peer: Peer| {
            if nth > 0 {
                let stream = peer.request()?;
                let _ = begun.send(());
                peer.answer(stream)?;
                return peer.well();
            }
            let (first, second) = (peer.request()?, peer.request()?);
            peer.answer(first)?;
            peer.go_away(second, 0)?;
            let _ = has_begun.lock().unwrap().recv_timeout(HANG);
            peer.answer(second)?;
            peer.request().map(drop)
        };
        let _ = Peer::greet(stream, &[]).and_then(act);
    });
    assert_first_events(&get_events(address, "connections = 1"), 0, Outcome::Ok, "GOAWAY");
}

fn resending_is_limited_and_counted() {
    /// The HEADERS frames that the server has received.
    static RECEIVED: AtomicUsize = AtomicUsize::new(0);
    let address = server(..usize::MAX, |mut peer| {
        loop {
            let stream = peer.request()?;
            RECEIVED.fetch_add(1, Relaxed);
            peer.reset(stream, REFUSED_STREAM)?;
        }
    });
    let events = get_events(address, "response_timeout = \"20s\"");
    assert_first_events(&events, 30, Outcome::Unprocessed, "always");
    let sent: usize = events.iter().map(|event| 1 + usize::from(event.resends)).sum();
    assert_eq!(sent, RECEIVED.load(Relaxed), "requests and resends are all that the server has received");
    assert!(events.iter().any(|event| event.resends == 3), "three resends at most: {:?}", events[0]);
    assert!(events.iter().all(|event| event.why().contains("REFUSED_STREAM")), "{:?}", events[0]);
}

fn only_bytes_allowed_by_flow_control_count_as_sent() {
    /// `SETTINGS_INITIAL_WINDOW_SIZE`.
    const INITIAL_WINDOW: u16 = 4;
    let request = format!("post = \"/\"\nbody = \"{}\"", "x".repeat(1000));
    let ask = |timeout: &str, reuse: &str, act: Act| {
        let address = listen(move |_, stream| {
            let _ = Peer::greet(stream, &[(INITIAL_WINDOW, 0)]).and_then(act);
        });
        let target = format!("url = \"http://{address}\"\nprotocol = \"h2\"\nreuse = \"{reuse}\"");
        run(&format!("{target}\nresponse_timeout = \"{timeout}\""), &request)
    };
    let closed = ask("1s", "pool", |mut peer| {
        loop {
            peer.next()?;
        }
    });
    // Before a client knows better it may use the default window; the last one knows.
    let last = closed.last().unwrap();
    assert_eq!((last.outcome, last.bytes_out), (Outcome::Timeout, 0), "{closed:?}");
    let open = ask("20s", "per-session", |mut peer| {
        // The headers; the body or its end is still to come.
        let stream = peer.next()?.stream;
        peer.send(WINDOW_UPDATE, 0, stream, &4000_u32.to_be_bytes())?;
        let stream = peer.request()?;
        peer.answer(stream)?;
        peer.request().map(drop)
    });
    assert_first_events(&open, 0, Outcome::Ok, "opened");
    assert!(open.iter().all(|event| event.bytes_out == 1000), "{open:?}");
}
