//! What a protocol does: it carries exchanges, one request and its answer each. [`Scripted`](super::Scripted) makes sessions of
//! them, which remember, listen and fetch; a protocol knows nothing of that.

use offered_model::{Event, Nanos};

/// The most of an answer's body that is kept for who wants to look into it.
pub(crate) const MOST_KEPT: usize = 16 * 1024 * 1024;

/// Carries the exchanges of one thread.
pub(crate) trait Wire {
    /// The time since the run's start.
    fn now(&self) -> Nanos;

    /// Begins the exchange of `event`, in which nothing has happened yet, without waiting; the time when that was done.
    ///
    /// Exactly one [`Heard::Ended`] follows for each call: in `heard` at once if nothing could be sent, else from a later
    /// [`wait`](Self::wait) or [`abandon`](Self::abandon). It brings the same event with what happened filled in. Exchanges
    /// are told apart by session, step and object; of those under way no two have all three in common.
    fn begin(&mut self, ask: &Ask, event: Event, heard: &mut Vec<Heard>) -> Nanos;

    /// Waits until something is heard, or until `deadline`; adds it to `heard`.
    fn wait(&mut self, deadline: Nanos, heard: &mut Vec<Heard>);

    /// A session has left: what was its own (connections) is closed.
    fn leave(&mut self, session: u64);

    /// Gives up what is under way; its events say `cut`.
    fn abandon(&mut self, heard: &mut Vec<Heard>);

    /// How long it has waited so far with nothing to do.
    fn idle(&self) -> Nanos;
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
    /// Whether the answer's body is wanted; its head always is.
    pub(crate) wants_body: bool,
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
    /// The body as it came (compressed, if it was), as far as [`MOST_KEPT`], if it was wanted.
    pub(crate) body: Vec<u8>,
    /// How many bytes the body had, kept or not.
    pub(crate) size: u64,
    /// Whether the body is wanted.
    pub(crate) wanted: bool,
}

impl Reply {
    /// Takes the next bytes of the body.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.size += bytes.len() as u64;
        if self.wanted {
            let room = MOST_KEPT - self.body.len();
            self.body.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }

    /// Whether all of the body that came was kept.
    pub(crate) fn is_whole(&self) -> bool {
        self.size == self.body.len() as u64
    }
}
