//! What a protocol does: it carries exchanges, one request and its answer each. [`Scripted`](super::Scripted) makes sessions of
//! them, which remember, listen and fetch; a protocol knows nothing of that.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use offered_model::{Event, Instant, Nanos};

/// The most of an answer's body that is kept for who wants to look into it, and of all together, over all threads.
pub(crate) const MOST_KEPT: usize = 16 * 1024 * 1024;
const MOST_KEPT_TOGETHER: usize = 256 * 1024 * 1024;

/// How many bytes of bodies are kept now, over all threads.
static KEPT: AtomicUsize = AtomicUsize::new(0);

/// Carries the exchanges of one thread.
pub(crate) trait Wire {
    /// The time since the run's start.
    fn now(&self) -> Instant;

    /// Begins the exchange of `event`, in which nothing has happened yet, without waiting; the time when that was done.
    ///
    /// Exactly one [`Heard::Ended`] follows for each call: in `heard` at once if nothing could be sent, else from a later
    /// [`wait`](Self::wait) or [`abandon`](Self::abandon). It brings the same event with what happened filled in. Exchanges
    /// are told apart by session, step and object; of those under way no two have all three in common.
    fn begin(&mut self, ask: &Arc<Ask>, event: Event, heard: &mut Vec<Heard>) -> Instant;

    /// Waits until something is heard, or until `deadline`; adds it to `heard`.
    fn wait(&mut self, deadline: Instant, heard: &mut Vec<Heard>);

    /// A session has left: what was its own (connections) is closed.
    fn leave(&mut self, session: u64);

    /// Gives up what is under way; its events say `cut`.
    fn abandon(&mut self, heard: &mut Vec<Heard>);

    /// How long it has waited so far with nothing to do.
    fn idle(&self) -> Nanos;

    /// How `ask` was said, in the exchange that ended with `event`.
    fn wording(&self, ask: &Ask, event: &Event) -> Wording;
}

/// A request, as every protocol of the web can say it. What belongs to the protocol itself (`Host` or `:authority`, lengths,
/// `Connection`) is added by it, unless it stands in `headers`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ask {
    /// `GET`, `POST`, ...
    pub(crate) method: String,
    /// Path and query, fit for the wire.
    pub(crate) path: String,
    /// Names and values, in order, fit for the wire.
    pub(crate) headers: Vec<(String, String)>,
    /// The body; `None`: no word of one.
    pub(crate) body: Option<Vec<u8>>,
    /// Which of its session's connections it takes, from 0, where sessions have their own.
    pub(crate) lane: u8,
    /// So many bytes of the answer's body are wanted; its head always is.
    pub(crate) wanted: usize,
    /// Of a request in SQL, the parameters of all its statements; `None` is null. Its label says the statements.
    pub(crate) parameters: Vec<Option<String>>,
}

/// What was written for a request, for people.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Wording {
    /// The lines of its head, of a session's later messages none.
    pub(crate) head: Vec<String>,
    /// Its body; that of a call is the JSON it was made of.
    pub(crate) body: Vec<u8>,
}

impl Wording {
    /// Of the bytes of an HTTP/1 request.
    pub(crate) fn of_http1(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(bytes.len());
        let head = String::from_utf8_lossy(&bytes[..end]).split("\r\n").map(str::to_owned).collect();
        Self { head, body: bytes.get(end + 4..).unwrap_or_default().to_vec() }
    }

    /// Of a request that cannot be written.
    pub(crate) fn none(why: String) -> Self {
        Self { head: vec![why], body: Vec::new() }
    }
}

/// Something that happened to an exchange.
#[derive(Debug)]
pub(crate) enum Heard {
    /// The first byte of its answer has come. Told at most once, and only before the end.
    FirstByte {
        /// Whose.
        session: u64,
        /// Of which of its request's objects; 0: the request itself.
        object: u16,
    },
    /// It is over: what became of it and, if an answer came whole, what that said.
    Ended(Event, Option<Box<Reply>>),
}

/// What an answer said besides its status.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    /// Names and values, in order; names in the case they came in.
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    /// The body as it came (compressed, if it was), as far as it was kept, if it was wanted.
    pub(crate) body: Body,
    /// How many bytes the body had, kept or not.
    pub(crate) size: u64,
    /// How many bytes of the body are wanted.
    pub(crate) wanted: usize,
    /// How many rows a database says it returned or changed.
    pub(crate) rows: u64,
}

/// The bytes of a body that are kept, counted with all others.
#[derive(Debug, Default)]
pub(crate) struct Body(Vec<u8>);

impl Body {
    /// Keeps as many of these bytes as there is room for, up to `wanted` in all.
    fn keep(&mut self, bytes: &[u8], wanted: usize) {
        let bytes = &bytes[..bytes.len().min(wanted.min(MOST_KEPT).saturating_sub(self.0.len()))];
        if has_room(&KEPT, bytes.len()) {
            self.0.extend_from_slice(bytes);
        }
    }
}

/// Whether there is room for so many more bytes beside those that are `kept`, which they then are.
fn has_room(kept: &AtomicUsize, bytes: usize) -> bool {
    let fits = kept.fetch_add(bytes, Relaxed) + bytes <= MOST_KEPT_TOGETHER;
    if !fits {
        kept.fetch_sub(bytes, Relaxed);
    }
    fits
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        KEPT.fetch_add(bytes.len(), Relaxed);
        Self(bytes)
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        KEPT.fetch_sub(self.0.len(), Relaxed);
    }
}

impl Deref for Body {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl Reply {
    /// Takes the next bytes of the body.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.size += bytes.len() as u64;
        self.body.keep(bytes, self.wanted);
    }

    /// Whether all of the body that came was kept.
    pub(crate) fn is_whole(&self) -> bool {
        self.size == self.body.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_kept_within_bounds_each_and_together() {
        let mut reply = Reply { wanted: usize::MAX, ..Reply::default() };
        let piece = vec![0; 1 << 20];
        for _ in 0..17 {
            reply.add(&piece);
        }
        assert_eq!((reply.body.len(), reply.size, reply.is_whole()), (MOST_KEPT, 17 << 20, false));
        let kept = AtomicUsize::new(0);
        assert_eq!((0..20).filter(|_| has_room(&kept, MOST_KEPT)).count(), MOST_KEPT_TOGETHER / MOST_KEPT);
        assert!(!has_room(&kept, 1) && has_room(&kept, 0));
        kept.fetch_sub(1, Relaxed);
        assert!(has_room(&kept, 1));
    }
}
