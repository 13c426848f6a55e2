//! One connection. Responses are sent in the order of the requests, each when it is ready.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::time::Duration;

use offered_base::Instant;
use rustix::io::Errno;
use rustix::net::{Shutdown, shutdown, sockopt};

use crate::accounting::Accounting;
use crate::codec::{Part, RequestDecoder, RequestError};
use crate::demand::Demand;
use crate::files::Files;
use crate::request::{Request, Stage};
use crate::response::{Body, ConnectionAction, Response, ResponseFraming};
use crate::routes::Routes;

/// Maximum number of pipelined requests; at the maximum, reading stops until half are completed.
const MAX_PIPELINED: usize = 1024;
/// Maximum bytes written before other connections get a turn.
const MAX_WRITE_PER_TURN: usize = 256 * 1024;
/// Bytes of responses collected before they are written.
const WRITE_BUFFER: usize = 32 * 1024;
/// A larger buffer is freed when it is empty: ten thousand idle connections must not hold memory.
const MAX_IDLE_BUFFER: usize = 4 * 1024;

/// How incoming bytes are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Incoming {
    /// They are decoded as requests.
    Open,
    /// They are discarded.
    Ignored,
    /// No more requests can arrive, because the client has closed the connection or its writing side.
    Closed,
}

/// The next step of a connection after a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteOutcome {
    /// Wait for the next event.
    Wait,
    /// The connection needs another turn soon, without an event.
    Again,
    /// Close the connection.
    Close,
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) socket: OwnedFd,
    /// Serial number, which distinguishes it from earlier connections in the same slot.
    pub(crate) serial: u64,
    decoder: RequestDecoder,
    requests: VecDeque<Request>,
    /// Number of the first of `requests` on this connection.
    first: u64,
    /// Number of `requests` with responses that are in `out` or written.
    rendered: usize,
    out: Vec<u8>,
    /// Number of bytes of `out` that are written.
    sent: usize,
    /// Number of bytes written since the connection was accepted.
    written: u64,
    /// Rest of the body of the last rendered response.
    body: Body,
    after: ConnectionAction,
    incoming: Incoming,
    /// The client may have closed: read to the end.
    pub(crate) is_ending: bool,
    /// Reading is paused until some requests are completed.
    is_full: bool,
}

impl Connection {
    pub(crate) fn new(socket: OwnedFd, serial: u64) -> Self {
        Self {
            socket,
            serial,
            decoder: RequestDecoder::new(),
            requests: VecDeque::new(),
            first: 0,
            rendered: 0,
            out: Vec::new(),
            sent: 0,
            written: 0,
            body: Body::EMPTY,
            after: ConnectionAction::KeepAlive,
            incoming: Incoming::Open,
            is_ending: false,
            is_full: false,
        }
    }

    /// Whether the next bytes may be read now. If not, [`write`](Self::write) says when.
    pub(crate) fn may_read(&mut self) -> bool {
        self.is_full = self.accepts_requests() && self.requests.len() >= MAX_PIPELINED;
        !self.is_full
    }

    /// Whether incoming bytes are decoded as requests.
    pub(crate) fn accepts_requests(&self) -> bool {
        self.incoming == Incoming::Open
    }

    /// Whether no request is in progress.
    pub(crate) fn is_idle(&self) -> bool {
        self.requests.is_empty() && self.decoder.is_between()
    }

    /// Request number `number`, if it is not completed.
    pub(crate) fn request(&mut self, number: u64) -> Option<&mut Request> {
        self.requests.get_mut(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    /// Decodes `input` up to the end of the next request and returns its number; `None` when its end has not been
    /// received.
    pub(crate) fn next_request(
        &mut self,
        input: &mut &[u8],
        lookup: (&Routes, Option<&Files>),
        is_recorded: bool,
    ) -> Result<Option<u64>, RequestError> {
        while let Some(part) = self.decoder.next(input)? {
            match part {
                Part::Head(head) => self.requests.push_back(Request::of(&head, lookup, is_recorded)),
                Part::Body(data) => {
                    if let Some(request) = self.requests.back_mut() {
                        request.body(data);
                    }
                }
                Part::End => {
                    if self.requests.back().is_some_and(|request| !request.framing.keep_alive) {
                        self.incoming = Incoming::Ignored;
                    }
                    return Ok(Some(self.first + self.requests.len() as u64 - 1));
                }
            }
        }
        Ok(None)
    }

    /// The received requests without a complete response.
    pub(crate) fn incomplete(self) -> impl Iterator<Item = Request> {
        self.requests.into_iter().filter(|request| request.stage != Stage::Receiving)
    }

    /// The client sends no more: a partial request will never arrive.
    pub(crate) fn end(&mut self) {
        self.incoming = Incoming::Closed;
        self.drop_unfinished();
    }

    fn drop_unfinished(&mut self) {
        if self.requests.back().is_some_and(|request| request.stage == Stage::Receiving) {
            self.requests.pop_back();
        }
    }

    /// Responds to malformed bytes after the earlier requests, and ignores all further input.
    pub(crate) fn refuse_malformed(&mut self, bad: RequestError, now: Instant) {
        self.incoming = Incoming::Ignored;
        self.drop_unfinished();
        let response = match bad {
            RequestError::Malformed => Response::BadRequest("this is not an HTTP/1.1 request".to_owned()),
            RequestError::TooLarge => Response::TooLargeHead,
        };
        let demand = Demand { class: 0, work: None, pause: None, response };
        let mut request = Request::new(demand, ResponseFraming { head_only: false, is_old: false, keep_alive: false });
        request.ready(now);
        self.requests.push_back(request);
    }

    /// Writes as much as is ready and as the socket accepts. Counts complete responses in `accounting`.
    pub(crate) fn write(&mut self, accounting: &mut Accounting) -> WriteOutcome {
        let mut turn = MAX_WRITE_PER_TURN;
        loop {
            if self.render().is_err() {
                // The announced length does not match the file; only closing the connection can signal that.
                return WriteOutcome::Close;
            }
            let waiting = &self.out[self.sent..];
            if waiting.is_empty() {
                return self.after_write();
            }
            if turn == 0 {
                return WriteOutcome::Again;
            }
            match rustix::io::write(&self.socket, waiting) {
                Ok(count) => {
                    let is_short = count < waiting.len();
                    self.sent += count;
                    self.written += count as u64;
                    turn = turn.saturating_sub(count);
                    self.complete_written(accounting);
                    if is_short {
                        return WriteOutcome::Wait;
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return WriteOutcome::Wait,
                Err(_) => return WriteOutcome::Close,
            }
        }
    }

    /// Renders the next responses into the buffer.
    ///
    /// # Errors
    /// A file has changed.
    fn render(&mut self) -> std::io::Result<()> {
        if self.sent == self.out.len() {
            self.out.clear();
            self.sent = 0;
        }
        while self.out.len() < WRITE_BUFFER {
            if !self.body.is_written() {
                let allowed = self.requests.get(self.rendered - 1).map_or(0, |request| request.allowed);
                if !self.body.write(allowed, &mut self.out)? {
                    return Ok(());
                }
            } else if self.after == ConnectionAction::KeepAlive
                && let Some(request) = self.requests.get_mut(self.rendered)
            {
                if request.expects && request.stage == Stage::Receiving {
                    request.expects = false;
                    self.out.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
                }
                if request.stage != Stage::Ready && request.allowed == 0 {
                    return Ok(());
                }
                let response = std::mem::replace(&mut request.response, Response::Ok);
                (self.body, self.after) = response.write(request.framing, &mut self.out);
                self.rendered += 1;
            } else {
                return Ok(());
            }
            let is_answer = matches!(self.after, ConnectionAction::KeepAlive | ConnectionAction::ShutDownWrite);
            if self.body.is_written() && is_answer {
                self.requests[self.rendered - 1].ends_at = self.written + (self.out.len() - self.sent) as u64;
            }
        }
        Ok(())
    }

    /// Removes the requests with completely written responses.
    fn complete_written(&mut self, accounting: &mut Accounting) {
        let now = accounting.clock.now();
        while self.requests.front().is_some_and(|request| request.ends_at <= self.written)
            && let Some(request) = self.requests.pop_front()
        {
            self.first += 1;
            self.rendered -= 1;
            accounting.completed(request, now);
        }
    }

    /// Determines the next state of the connection when nothing can be written now.
    fn after_write(&mut self) -> WriteOutcome {
        if self.out.capacity() > MAX_IDLE_BUFFER {
            self.out = Vec::new();
        }
        if !self.body.is_written() {
            return WriteOutcome::Wait; // more of it may go out later
        }
        let is_ended = self.incoming == Incoming::Closed;
        match self.after {
            ConnectionAction::KeepAlive if is_ended && self.requests.is_empty() => WriteOutcome::Close,
            ConnectionAction::KeepAlive if self.is_full && self.requests.len() < MAX_PIPELINED / 2 => {
                WriteOutcome::Again
            }
            ConnectionAction::ShutDownWrite | ConnectionAction::AwaitClose | ConnectionAction::Stall if is_ended => {
                WriteOutcome::Close
            }
            ConnectionAction::KeepAlive | ConnectionAction::AwaitClose => WriteOutcome::Wait,
            ConnectionAction::ShutDownWrite => {
                self.incoming = Incoming::Ignored;
                self.after = ConnectionAction::AwaitClose;
                // If the shutdown fails, the connection is closed already.
                shutdown(&self.socket, Shutdown::Write).map_or(WriteOutcome::Close, |()| WriteOutcome::Wait)
            }
            ConnectionAction::Stall => {
                self.incoming = Incoming::Ignored;
                WriteOutcome::Wait
            }
            ConnectionAction::Close => WriteOutcome::Close,
            ConnectionAction::Reset => {
                // Closing with a linger time of zero sends RST. On a Unix socket it only closes.
                let _ = sockopt::set_socket_linger(&self.socket, Some(Duration::ZERO));
                WriteOutcome::Close
            }
        }
    }
}
