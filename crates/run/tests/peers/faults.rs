//! The table of faults: each way in which a peer can misbehave, and the one event that it must become.
//!
//! A protocol's table is one run. Every second of its launches meets the next mode of the table, each on a connection of its own; the
//! ones between meet a peer that behaves. So all faults happen at once, side by side with launches that must all go well. A mode holds
//! when its event has the outcome, the status, the reason and the bytes of its row. A run that does not end, or needs more memory than
//! a few bodies that may be kept, fails its table.

mod grpc;
mod http1;
mod http2;
mod patience;
mod scripts;
mod tls;
mod websocket;

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use offered_model::{Event, Outcome};

use crate::{launches, listen};

/// The most memory that this process, peers and other tests of it included, may ever have had.
const MOST_MEMORY: u64 = 256 << 20;
/// So many launches at the start are all served well: a run whose first answers are none looks whether there is TLS, on a connection more.
const WELL: usize = 10;
/// How long a peer waits between two things it says one after the other.
const PAUSE: Duration = Duration::from_millis(20);

/// One step of what a peer does.
#[derive(Clone)]
pub(crate) enum Do {
    /// Says these bytes.
    Say(Vec<u8>),
    /// Says these bytes again and again, as long as anybody listens.
    Flood(Vec<u8>),
    /// Says so many bytes `x`.
    Pour(usize),
    /// Says these bytes one by one, with a pause behind each.
    Drip(Vec<u8>),
    /// Waits for some bytes of the other side.
    Hear,
    /// Waits a little.
    Pause,
    /// Does nothing more, and keeps the connection.
    Stall,
    /// Breaks the connection (RST).
    Reset,
}

/// Says these bytes.
pub(crate) fn say(bytes: impl AsRef<[u8]>) -> Do {
    Do::Say(bytes.as_ref().to_vec())
}

/// Says these bytes again and again.
pub(crate) fn flood(bytes: impl AsRef<[u8]>) -> Do {
    Do::Flood(bytes.as_ref().to_vec())
}

/// Says these bytes one by one.
pub(crate) fn drip(bytes: impl AsRef<[u8]>) -> Do {
    Do::Drip(bytes.as_ref().to_vec())
}

/// Does one step after the other, and hangs up in good order behind the last.
pub(crate) fn play(stream: &mut TcpStream, steps: &[Do]) {
    for step in steps {
        let said = match step {
            Do::Say(bytes) => stream.write_all(bytes),
            Do::Flood(bytes) => {
                let many = bytes.repeat(8192 / bytes.len().min(8192));
                while stream.write_all(&many).is_ok() {}
                return;
            }
            Do::Pour(bytes) => {
                let piece = vec![b'x'; 1 << 16];
                let mut left = *bytes;
                while left > 0 && stream.write_all(&piece[..left.min(piece.len())]).is_ok() {
                    left -= left.min(piece.len());
                }
                Ok(())
            }
            Do::Drip(bytes) => bytes.chunks(1).try_for_each(|byte| {
                thread::park_timeout(PAUSE);
                stream.write_all(byte)
            }),
            Do::Hear => stream.read(&mut [0; 4096]).map(drop),
            Do::Pause => {
                thread::park_timeout(PAUSE);
                Ok(())
            }
            Do::Stall => return until_gone(stream),
            Do::Reset => {
                // What is closed without lingering is broken.
                let _ = rustix::net::sockopt::set_socket_linger(&*stream, Some(Duration::ZERO));
                return;
            }
        };
        if said.is_err() {
            return;
        }
    }
    // With bytes unread it would be a reset.
    let _ = stream.shutdown(Shutdown::Write);
    until_gone(stream);
}

/// Reads until the other side is gone.
pub(crate) fn until_gone(stream: &mut impl Read) {
    while stream.read(&mut [0; 4096]).is_ok_and(|read| read > 0) {}
}

/// A row of a table.
pub(crate) struct Mode {
    /// What the peer does, in words.
    name: String,
    peer: Peer,
    ends: Ends,
}

/// What is done with a connection.
pub(crate) type Peer = Arc<dyn Fn(TcpStream) + Send + Sync>;

/// What the event must be.
#[derive(Clone, Debug)]
pub(crate) struct Ends {
    outcome: Outcome,
    status: u16,
    /// What its reason has in it.
    why: &'static str,
    bytes: RangeInclusive<u64>,
    /// Or this, where neither side has it in its hand what comes first.
    or: Option<Box<Ends>>,
}

impl Mode {
    pub(crate) fn new(name: impl Into<String>, peer: impl Fn(TcpStream) + Send + Sync + 'static, ends: Ends) -> Self {
        Self { name: name.into(), peer: Arc::new(peer), ends }
    }
}

impl Ends {
    fn new(outcome: Outcome, status: u16, why: &'static str) -> Self {
        Self { outcome, status, why, bytes: 0..=u64::MAX, or: None }
    }

    /// With so many bytes read.
    pub(crate) fn bytes(self, bytes: u64) -> Self {
        Self { bytes: bytes..=bytes, ..self }
    }

    /// With at least so many bytes read.
    pub(crate) fn at_least(self, bytes: u64) -> Self {
        Self { bytes: bytes..=u64::MAX, ..self }
    }

    /// With no more bytes read than this.
    pub(crate) fn at_most(self, bytes: u64) -> Self {
        Self { bytes: *self.bytes.start()..=bytes.min(*self.bytes.end()), ..self }
    }

    /// Or like this.
    pub(crate) fn or(self, or: Self) -> Self {
        Self { or: Some(Box::new(or)), ..self }
    }

    fn are_those_of(&self, event: &Event) -> bool {
        let Self { outcome, status, why, bytes, or } = self;
        event.outcome == *outcome
            && event.status == *status
            && event.why().contains(why)
            && bytes.contains(&event.bytes_in)
            || or.as_ref().is_some_and(|or| or.are_those_of(event))
    }

    /// What of `event` is another; `None`: nothing.
    fn differs(&self, event: &Event) -> Option<String> {
        let in_order = event.intended <= event.sent.unwrap_or_default()
            && event.sent <= event.done
            && event.first_byte.is_none_or(|first| Some(first) >= event.sent && Some(first) <= event.done);
        let Event { outcome, status, bytes_in, .. } = event;
        (!self.are_those_of(event) || !in_order).then(|| {
            let why = event.why();
            format!("is {outcome:?}, status {status}, {bytes_in} B, `{why}`, in order: {in_order}; and not {self:?}")
        })
    }
}

/// A complete answer below 400.
pub(crate) fn ok(status: u16) -> Ends {
    Ends::new(Outcome::Ok, status, "")
}

/// A complete answer from 400 on.
pub(crate) fn http_error(status: u16) -> Ends {
    Ends::new(Outcome::HttpError, status, "")
}

/// The connection broke first.
pub(crate) fn reset(why: &'static str) -> Ends {
    Ends::new(Outcome::Reset, 0, why)
}

/// What came breaks the protocol.
pub(crate) fn malformed(why: &'static str) -> Ends {
    Ends::new(Outcome::Malformed, 0, why)
}

/// The answer was not there in time.
pub(crate) fn timeout() -> Ends {
    Ends::new(Outcome::Timeout, 0, " within 3s")
}

/// A complete answer that is not what it has to be.
pub(crate) fn check_failed(status: u16, why: &'static str) -> Ends {
    Ends::new(Outcome::CheckFailed, status, why)
}

/// Another end.
pub(crate) fn ends(outcome: Outcome, why: &'static str) -> Ends {
    Ends::new(outcome, 0, why)
}

/// One run in which each of these modes is met once, between launches that are served `well` and end like `that`. `target` says what
/// the workload's target has beside its address (of which `scheme` is a part), and how long an answer may take.
pub(crate) fn meet(scheme: &str, target: &str, request: &str, (well, that): (Peer, Ends), modes: Vec<Mode>) {
    let peers: Arc<[Peer]> = modes.iter().map(|mode| mode.peer.clone()).collect();
    let connections = Arc::new(AtomicUsize::new(0));
    let connected = connections.clone();
    let address = listen(move |nth, stream| {
        connected.fetch_max(nth + 1, Relaxed);
        match met(nth).map(|mode| peers.get(mode)) {
            None => well(stream),
            Some(peer) => peer.map_or((), |peer| peer(stream)),
        }
    });
    let launched = WELL + 2 * modes.len();
    let events = launches(launched, &format!("url = \"{scheme}://{address}\"\n{target}"), request, None);
    assert_eq!(events.len(), launched, "one event for each launch");
    let mut wrong = Vec::new();
    for (nth, event) in events.iter().enumerate() {
        let (name, ends) = match met(nth) {
            None => ("a peer that behaves", &that),
            Some(mode) => (&*modes[mode].name, &modes[mode].ends),
        };
        wrong.extend(ends.differs(event).map(|how| format!("{nth}: {name}: {how}")));
    }
    let connections = connections.load(Relaxed);
    assert!(wrong.is_empty(), "{} of {launched}, over {connections} connections:\n{}", wrong.len(), wrong.join("\n"));
    if let Some(peak) = peak() {
        assert!(peak < MOST_MEMORY, "{} MB", peak >> 20);
    }
}

/// Which of the modes the connection of this number meets; `None`: none.
fn met(nth: usize) -> Option<usize> {
    let nth = nth.checked_sub(WELL)?;
    (nth % 2 == 0).then_some(nth / 2)
}

/// The most memory this process has had, where the system says it.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()? << 10)
}
