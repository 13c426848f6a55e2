//! A request with its response, from its head to the last written byte.

use offered_base::{Instant, Nanos};
use offered_workload::engine::{Engine, TokenCounts};

use crate::codec::Head;
use crate::completion::{MAX_BODY, PrefixCache};
use crate::demand::{Demand, Work};
use crate::files::{Files, SEGMENT};
use crate::response::{MAX_ECHO, Response, ResponseFraming};
use crate::routes::Routes;

/// The progress of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The last byte has not been received.
    Receiving,
    /// The job or its pause is in progress.
    InService,
    /// The response can be sent after the responses to earlier requests.
    Ready,
}

/// A request and its response.
#[derive(Debug)]
pub(crate) struct Request {
    /// When its last byte was read.
    pub(crate) arrival: Instant,
    /// When the system received its last byte; `None` without a timestamp.
    pub(crate) received: Option<Instant>,
    /// Work of its job; `None` before it arrives and for requests without a job.
    pub(crate) work: Option<Nanos>,
    /// When its response was due according to the discipline.
    pub(crate) due: Option<Instant>,
    /// The target; empty without a record.
    pub(crate) path: String,
    /// Class of its job.
    pub(crate) class: u16,
    /// The work that the request or its path determines; `None`: sampled, or no job.
    pub(crate) demand: Option<Work>,
    /// Pause before the response, without queueing.
    pub(crate) pause: Option<Nanos>,
    pub(crate) framing: ResponseFraming,
    pub(crate) response: Response,
    pub(crate) stage: Stage,
    /// Number of bytes of its file that may be sent, or of tokens.
    pub(crate) allowed: u64,
    /// Whether its tokens are sent as they are made.
    pub(crate) is_streamed: bool,
    /// A hash of each word of prompt and response, for the cache of an engine.
    pub(crate) words: Vec<u64>,
    /// Whether the client waits for `100 Continue`.
    pub(crate) expects: bool,
    /// Number of bytes written on this connection when the response is complete.
    pub(crate) ends_at: u64,
}

impl Request {
    /// A request with this demand, before it arrives.
    pub(crate) fn new(demand: Demand, framing: ResponseFraming) -> Self {
        Self {
            arrival: Instant::ZERO,
            received: None,
            work: None,
            due: None,
            path: String::new(),
            class: demand.class,
            demand: demand.work,
            pause: demand.pause,
            framing,
            response: demand.response,
            stage: Stage::Receiving,
            allowed: 0,
            is_streamed: false,
            words: Vec::new(),
            expects: false,
            ends_at: u64::MAX,
        }
    }

    /// A request after its head was read; it arrives when its body is complete.
    pub(crate) fn of(head: &Head<'_>, (routes, files): (&Routes, Option<&Files>), is_recorded: bool) -> Self {
        let mut demand = files.map_or_else(|| Demand::of(head, routes), |files| files.demand(head, routes));
        if let Response::Echo(text) = &mut demand.response {
            text.extend_from_slice(head.text);
        }
        let framing = ResponseFraming { head_only: head.bodiless, is_old: head.is_old, keep_alive: head.keep_alive };
        let mut request = Self::new(demand, framing);
        request.expects = head.expects;
        if is_recorded {
            head.target.clone_into(&mut request.path);
        }
        request
    }

    /// Marks the request as arrived: its last byte was read at `now`.
    pub(crate) fn arrive(&mut self, now: Instant, received: Option<Instant>) {
        self.arrival = now;
        self.received = received;
        self.stage = Stage::InService;
    }

    /// Marks the response as ready: job and pause ended at `due`.
    pub(crate) fn ready(&mut self, due: Instant) {
        self.due = Some(due);
        self.stage = Stage::Ready;
        self.allowed = u64::MAX;
    }

    /// Permits `bytes` bytes of its file to be sent; the last ones only when it is [`ready`](Self::ready). Returns
    /// whether the additional bytes are worth a packet.
    pub(crate) fn allow(&mut self, bytes: u64) -> bool {
        let is_worth = bytes >= self.allowed.saturating_add(SEGMENT);
        if is_worth {
            self.allowed = bytes;
        }
        is_worth
    }

    /// Permits the first `tokens` tokens to be sent. Returns whether there are new ones.
    pub(crate) fn allow_tokens(&mut self, tokens: u32) -> bool {
        let is_new = self.is_streamed && u64::from(tokens) > self.allowed;
        if is_new {
            self.allowed = tokens.into();
        }
        is_new
    }

    /// The tokens of a request to an engine, as request number `number`. Its response becomes an error if they cannot be read.
    pub(crate) fn tokens(&mut self, number: u64, engine: Engine, cache: &PrefixCache) -> Option<TokenCounts> {
        let Response::Completion(completion) = &mut self.response else { return None };
        match completion.read(number, engine, cache) {
            Ok(counts) => {
                self.is_streamed = completion.is_streamed;
                self.words = std::mem::take(&mut completion.words);
                Some(counts)
            }
            Err(line) => {
                self.response = Response::BadRequest(line);
                None
            }
        }
    }

    /// Responds with 503, since the system was full.
    pub(crate) fn reject(&mut self, now: Instant) {
        self.response = Response::Status(503);
        self.ready(now);
    }

    /// Stores a piece of the body if it will be echoed or read.
    pub(crate) fn body(&mut self, data: &[u8]) {
        if let Response::Completion(completion) = &mut self.response {
            completion.body.extend_from_slice(data);
            if completion.body.len() > MAX_BODY {
                self.response = Response::TooLargeBody;
            }
        }
        if let Response::Echo(text) = &mut self.response {
            text.extend_from_slice(data);
            if text.len() > MAX_ECHO {
                self.response = Response::TooLargeBody;
            }
        }
    }
}
