//! Tables of faults: each way in which a peer can misbehave, and the one event that must result.
//!
//! The table of a protocol is one run. Every second request meets the next case of the table, each on a connection of
//! its own; the requests between meet a well-behaved peer. So all faults happen at once, next to requests that must all
//! succeed. A case passes if its event has the outcome, the status, the reason and the bytes of its row. The table also
//! fails if the run does not end, or needs more memory than a few bodies may use.

pub(crate) mod grpc;
pub(crate) mod http1;
pub(crate) mod http2;
pub(crate) mod scripts;
pub(crate) mod tls;
pub(crate) mod waiting;
pub(crate) mod websocket;

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use offered_events::{Event, Outcome};

use crate::{listen, run_requests};

/// Maximum memory that this process, including peers and other tests, may ever have used.
const MAX_MEMORY: u64 = 256 << 20;
/// Number of requests at the start that meet a well-behaved peer: if the first responses of a run fail, it tests for TLS over
/// a separate connection.
const WELL_BEHAVED_FIRST: usize = 10;
/// Pause of a peer between two things that it sends.
const PAUSE: Duration = Duration::from_millis(20);

/// One step of a peer.
#[derive(Clone)]
pub(crate) enum Step {
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Sends these bytes repeatedly, until the connection closes.
    Flood(Vec<u8>),
    /// Sends this number of bytes `x`.
    SendMany(usize),
    /// Sends these bytes one by one, with a pause after each.
    Drip(Vec<u8>),
    /// Waits for some bytes from the client.
    Receive,
    /// Waits briefly.
    Pause,
    /// Does nothing, and keeps the connection open.
    Stall,
    /// Resets the connection (RST).
    Reset,
}

/// Sends these bytes.
pub(crate) fn say(bytes: impl AsRef<[u8]>) -> Step {
    Step::Send(bytes.as_ref().to_vec())
}

/// Sends these bytes repeatedly.
pub(crate) fn flood(bytes: impl AsRef<[u8]>) -> Step {
    Step::Flood(bytes.as_ref().to_vec())
}

/// Sends these bytes one by one.
pub(crate) fn drip(bytes: impl AsRef<[u8]>) -> Step {
    Step::Drip(bytes.as_ref().to_vec())
}

/// Performs the steps in order, and closes in an orderly way after the last.
pub(crate) fn perform(stream: &mut TcpStream, steps: &[Step]) {
    for step in steps {
        let result = match step {
            Step::Send(bytes) => stream.write_all(bytes),
            Step::Flood(bytes) => {
                let many = bytes.repeat(8192 / bytes.len().min(8192));
                while stream.write_all(&many).is_ok() {}
                return;
            }
            Step::SendMany(bytes) => {
                let piece = vec![b'x'; 1 << 16];
                let mut left = *bytes;
                while left > 0 && stream.write_all(&piece[..left.min(piece.len())]).is_ok() {
                    left -= left.min(piece.len());
                }
                Ok(())
            }
            Step::Drip(bytes) => bytes.chunks(1).try_for_each(|byte| {
                thread::park_timeout(PAUSE);
                stream.write_all(byte)
            }),
            Step::Receive => stream.read(&mut [0; 4096]).map(drop),
            Step::Pause => {
                thread::park_timeout(PAUSE);
                Ok(())
            }
            Step::Stall => return read_to_end(stream),
            Step::Reset => {
                // Closing without lingering resets the connection.
                let _ = rustix::net::sockopt::set_socket_linger(&*stream, Some(Duration::ZERO));
                return;
            }
        };
        if result.is_err() {
            return;
        }
    }
    // Closing with unread bytes would reset the connection.
    let _ = stream.shutdown(Shutdown::Write);
    read_to_end(stream);
}

/// Reads until the client closes.
pub(crate) fn read_to_end(stream: &mut impl Read) {
    while stream.read(&mut [0; 4096]).is_ok_and(|read| read > 0) {}
}

/// A row of a table.
pub(crate) struct Case {
    /// A description of the peer.
    name: String,
    peer: Peer,
    expected: Expected,
}

/// Handles a connection.
pub(crate) type Peer = Arc<dyn Fn(TcpStream) + Send + Sync>;

/// The expected event.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    outcome: Outcome,
    status: u16,
    /// A part of its reason.
    why: &'static str,
    bytes: RangeInclusive<u64>,
    /// An alternative, if the order of events is not determined.
    or: Option<Box<Expected>>,
}

impl Case {
    pub(crate) fn new(
        name: impl Into<String>,
        peer: impl Fn(TcpStream) + Send + Sync + 'static,
        expected: Expected,
    ) -> Self {
        Self { name: name.into(), peer: Arc::new(peer), expected }
    }
}

impl Expected {
    fn new(outcome: Outcome, status: u16, why: &'static str) -> Self {
        Self { outcome, status, why, bytes: 0..=u64::MAX, or: None }
    }

    /// With exactly this number of bytes read.
    pub(crate) fn bytes(self, bytes: u64) -> Self {
        Self { bytes: bytes..=bytes, ..self }
    }

    /// With at least this number of bytes read.
    pub(crate) fn at_least(self, bytes: u64) -> Self {
        Self { bytes: bytes..=u64::MAX, ..self }
    }

    /// With at most this number of bytes read.
    pub(crate) fn at_most(self, bytes: u64) -> Self {
        Self { bytes: *self.bytes.start()..=bytes.min(*self.bytes.end()), ..self }
    }

    /// Or this.
    pub(crate) fn or(self, or: Self) -> Self {
        Self { or: Some(Box::new(or)), ..self }
    }

    fn matches(&self, event: &Event) -> bool {
        let Self { outcome, status, why, bytes, or } = self;
        event.outcome == *outcome
            && event.status == *status
            && event.why().contains(why)
            && bytes.contains(&event.bytes_in)
            || or.as_ref().is_some_and(|or| or.matches(event))
    }

    /// How `event` differs; `None` if it does not.
    fn difference(&self, event: &Event) -> Option<String> {
        let in_order = event.intended <= event.sent.unwrap_or_default()
            && event.sent <= event.done
            && event.first_byte.is_none_or(|first| Some(first) >= event.sent && Some(first) <= event.done);
        let Event { outcome, status, bytes_in, .. } = event;
        (!self.matches(event) || !in_order).then(|| {
            let why = event.why();
            format!("is {outcome:?}, status {status}, {bytes_in} B, `{why}`, in order: {in_order}; and not {self:?}")
        })
    }
}

/// A complete response with a status below 400.
pub(crate) fn ok(status: u16) -> Expected {
    Expected::new(Outcome::Ok, status, "")
}

/// A complete response with a status of 400 or above.
pub(crate) fn http_error(status: u16) -> Expected {
    Expected::new(Outcome::HttpError, status, "")
}

/// The connection broke first.
pub(crate) fn reset(why: &'static str) -> Expected {
    Expected::new(Outcome::Reset, 0, why)
}

/// The response violates the protocol.
pub(crate) fn malformed(why: &'static str) -> Expected {
    Expected::new(Outcome::Malformed, 0, why)
}

/// The response was not complete in time.
pub(crate) fn timeout() -> Expected {
    Expected::new(Outcome::Timeout, 0, " within 3s")
}

/// A complete response that fails a check.
pub(crate) fn check_failed(status: u16, why: &'static str) -> Expected {
    Expected::new(Outcome::CheckFailed, status, why)
}

/// Another outcome.
pub(crate) fn expected(outcome: Outcome, why: &'static str) -> Expected {
    Expected::new(outcome, 0, why)
}

/// Performs a run in which each of the cases is met once, between requests that the well-behaved peer serves. `target`
/// has further keys of the target, including the response timeout.
pub(crate) fn run_cases(
    scheme: &str,
    target: &str,
    request: &str,
    (well, expected_of_well): (Peer, Expected),
    cases: Vec<Case>,
) {
    let peers: Arc<[Peer]> = cases.iter().map(|case| case.peer.clone()).collect();
    let connections = Arc::new(AtomicUsize::new(0));
    let connected = connections.clone();
    let address = listen(move |nth, stream| {
        connected.fetch_max(nth + 1, Relaxed);
        match case_of_connection(nth).map(|case| peers.get(case)) {
            None => well(stream),
            Some(peer) => peer.map_or((), |peer| peer(stream)),
        }
    });
    let requests = WELL_BEHAVED_FIRST + 2 * cases.len();
    let events = run_requests(requests, &format!("url = \"{scheme}://{address}\"\n{target}"), request, None);
    assert_eq!(events.len(), requests, "one event for each launch");
    let mut failures = Vec::new();
    for (nth, event) in events.iter().enumerate() {
        let (name, expected) = match case_of_connection(nth) {
            None => ("a well-behaved peer", &expected_of_well),
            Some(case) => (&*cases[case].name, &cases[case].expected),
        };
        failures.extend(expected.difference(event).map(|how| format!("{nth}: {name}: {how}")));
    }
    let connections = connections.load(Relaxed);
    assert!(
        failures.is_empty(),
        "{} of {requests}, over {connections} connections:\n{}",
        failures.len(),
        failures.join("\n")
    );
    if let Some(peak_memory) = peak_memory() {
        assert!(peak_memory < MAX_MEMORY, "{} MB", peak_memory >> 20);
    }
}

/// The case that this connection meets; `None`: the well-behaved peer.
fn case_of_connection(nth: usize) -> Option<usize> {
    let nth = nth.checked_sub(WELL_BEHAVED_FIRST)?;
    (nth % 2 == 0).then_some(nth / 2)
}

/// The peak memory of this process, where the system reports it.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()? << 10)
}
