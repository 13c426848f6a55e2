//! One connection: requests in the order they came, answers in the same order, whenever each is ready.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::time::Duration;

use offered_model::{Instant, Nanos};
use rustix::io::Errno;
use rustix::net::{Shutdown, shutdown, sockopt};

use crate::codec::{Bad, Decoder, Head, Part};
use crate::demand::{Demand, Work};
use crate::files::{Files, SEGMENT};
use crate::ledger::Ledger;
use crate::reply::{After, Body, MAX_ECHO, Manner, Reply};
use crate::routes::Routes;

/// So many unanswered requests on one connection, and it is not read until half of them are answered.
const MAX_PIPELINED: usize = 1024;
/// Bytes written in one go while others may be waiting.
const TURN: usize = 256 * 1024;
/// Bytes of answers put together before they are written.
const PIECE: usize = 32 * 1024;
/// A larger buffer is given back when it has run empty: ten thousand idle connections must not hold on to it.
const KEPT: usize = 4 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Its last byte has not come.
    Arriving,
    /// Its job or its pause is under way.
    Served,
    /// It may be answered as soon as those before it are.
    Ready,
}

/// A request and the answer it will get.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) arrival: Instant,
    /// When the system received its last byte, if it says so.
    pub(crate) received: Option<Instant>,
    /// The work of its job, once it has arrived and has one.
    pub(crate) work: Option<Nanos>,
    /// When its answer was due, on paper.
    pub(crate) due: Option<Instant>,
    /// Its target; empty when nobody records it.
    pub(crate) path: String,
    /// Of its job.
    pub(crate) class: u16,
    pub(crate) asked: Option<Work>,
    pub(crate) pause: Option<Nanos>,
    manner: Manner,
    reply: Reply,
    stage: Stage,
    /// How many bytes of its file may go out.
    allowed: u64,
    /// The client waits for `100 Continue`.
    expects: bool,
    /// How many bytes this connection has written when the answer is out.
    ends_at: u64,
}

/// What becomes of the bytes that come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Incoming {
    /// They are requests.
    Heard,
    /// They are thrown away.
    Ignored,
    /// No more can come: the other side has closed, for writing at least.
    Ended,
}

/// What a connection needs after a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// An event, some time.
    Stays,
    /// Another turn soon; no event will ask for it.
    Again,
    /// Its end.
    Gone,
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) socket: OwnedFd,
    /// Tells it from others that had its place before.
    pub(crate) serial: u64,
    decoder: Decoder,
    requests: VecDeque<Request>,
    /// The number of the first of `requests` on this connection.
    first: u64,
    /// How many of `requests` have their answers in `out`, or written.
    rendered: usize,
    out: Vec<u8>,
    /// Bytes of `out` that are written.
    gone: usize,
    /// Bytes written since the beginning.
    written: u64,
    /// What the last rendered answer still has to write.
    body: Body,
    after: After,
    incoming: Incoming,
    /// The other side may have closed: read to the very end.
    pub(crate) is_ending: bool,
    /// Not read until some of the requests are answered.
    is_full: bool,
}

impl Connection {
    pub(crate) fn new(socket: OwnedFd, serial: u64) -> Self {
        Self {
            socket,
            serial,
            decoder: Decoder::new(),
            requests: VecDeque::new(),
            first: 0,
            rendered: 0,
            out: Vec::new(),
            gone: 0,
            written: 0,
            body: Body::EMPTY,
            after: After::KeepOn,
            incoming: Incoming::Heard,
            is_ending: false,
            is_full: false,
        }
    }

    /// Whether the next bytes may be read now; if not, [`write`](Self::write) tells when.
    pub(crate) fn may_read(&mut self) -> bool {
        self.is_full = self.is_heard() && self.requests.len() >= MAX_PIPELINED;
        !self.is_full
    }

    /// Whether the bytes that come are still requests.
    pub(crate) fn is_heard(&self) -> bool {
        self.incoming == Incoming::Heard
    }

    /// Nothing is owed and nothing has begun.
    pub(crate) fn is_idle(&self) -> bool {
        self.requests.is_empty() && self.decoder.is_between()
    }

    /// Request number `number`, if it is not answered yet.
    pub(crate) fn request(&mut self, number: u64) -> Option<&mut Request> {
        self.requests.get_mut(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    /// Takes bytes off `input` up to the end of the next request, and tells its number; `None` when its end has not come.
    pub(crate) fn take(
        &mut self,
        input: &mut &[u8],
        shop: (&Routes, Option<&Files>),
        is_recorded: bool,
    ) -> Result<Option<u64>, Bad> {
        while let Some(part) = self.decoder.next(input)? {
            match part {
                Part::Head(head) => self.requests.push_back(Request::of(&head, shop, is_recorded)),
                Part::Body(data) => {
                    if let Some(request) = self.requests.back_mut() {
                        request.body(data);
                    }
                }
                Part::End => {
                    if self.requests.back().is_some_and(|request| !request.manner.keep_alive) {
                        self.incoming = Incoming::Ignored;
                    }
                    return Ok(Some(self.first + self.requests.len() as u64 - 1));
                }
            }
        }
        Ok(None)
    }

    /// The requests that had arrived and were not answered.
    pub(crate) fn unanswered(self) -> impl Iterator<Item = Request> {
        self.requests.into_iter().filter(|request| request.stage != Stage::Arriving)
    }

    /// The other side sends no more: a request it left unfinished will never arrive.
    pub(crate) fn end(&mut self) {
        self.incoming = Incoming::Ended;
        self.drop_unfinished();
    }

    fn drop_unfinished(&mut self) {
        if self.requests.back().is_some_and(|request| request.stage == Stage::Arriving) {
            self.requests.pop_back();
        }
    }

    /// The bytes are no request: this is answered in its turn, and nothing more is read.
    pub(crate) fn refuse(&mut self, bad: Bad, now: Instant) {
        self.incoming = Incoming::Ignored;
        self.drop_unfinished();
        let reply = match bad {
            Bad::Malformed => Reply::Wrong("this is not a request of HTTP/1.1".to_owned()),
            Bad::TooLarge => Reply::TooLargeHead,
        };
        let demand = Demand { class: 0, work: None, pause: None, reply };
        let mut request = Request::new(demand, Manner { head_only: false, is_old: false, keep_alive: false });
        request.ready(now);
        self.requests.push_back(request);
    }

    /// Writes as much as is ready and as the socket takes; what is answered in full goes to `ledger`.
    pub(crate) fn write(&mut self, ledger: &mut Ledger) -> Fate {
        let mut turn = TURN;
        loop {
            if self.render().is_err() {
                // Another length was announced than there is: only an end tells.
                return Fate::Gone;
            }
            let waiting = &self.out[self.gone..];
            if waiting.is_empty() {
                return self.rest();
            }
            if turn == 0 {
                return Fate::Again;
            }
            match rustix::io::write(&self.socket, waiting) {
                Ok(count) => {
                    let is_short = count < waiting.len();
                    self.gone += count;
                    self.written += count as u64;
                    turn = turn.saturating_sub(count);
                    self.settle(ledger);
                    if is_short {
                        return Fate::Stays;
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Fate::Stays,
                Err(_) => return Fate::Gone,
            }
        }
    }

    /// Puts together what may be written next.
    ///
    /// # Errors
    /// A file is not what it was.
    fn render(&mut self) -> std::io::Result<()> {
        if self.gone == self.out.len() {
            self.out.clear();
            self.gone = 0;
        }
        while self.out.len() < PIECE {
            if !self.body.is_written() {
                let allowed = self.requests.get(self.rendered - 1).map_or(0, |request| request.allowed);
                if !self.body.write(allowed, &mut self.out)? {
                    return Ok(());
                }
            } else if self.after == After::KeepOn
                && let Some(request) = self.requests.get_mut(self.rendered)
            {
                if request.expects && request.stage == Stage::Arriving {
                    request.expects = false;
                    self.out.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
                }
                if request.stage != Stage::Ready && request.allowed == 0 {
                    return Ok(());
                }
                let reply = std::mem::replace(&mut request.reply, Reply::Done);
                (self.body, self.after) = reply.write(request.manner, &mut self.out);
                self.rendered += 1;
            } else {
                return Ok(());
            }
            let is_answer = matches!(self.after, After::KeepOn | After::Finish);
            if self.body.is_written() && is_answer {
                self.requests[self.rendered - 1].ends_at = self.written + (self.out.len() - self.gone) as u64;
            }
        }
        Ok(())
    }

    /// Takes out the requests whose answers are written to their last byte.
    fn settle(&mut self, ledger: &mut Ledger) {
        let now = ledger.clock.now();
        while self.requests.front().is_some_and(|request| request.ends_at <= self.written)
            && let Some(request) = self.requests.pop_front()
        {
            self.first += 1;
            self.rendered -= 1;
            ledger.answered(request, now);
        }
    }

    /// Nothing can be written now: what becomes of the connection.
    fn rest(&mut self) -> Fate {
        if self.out.capacity() > KEPT {
            self.out = Vec::new();
        }
        if !self.body.is_written() {
            return Fate::Stays; // more of it may go out later
        }
        let is_ended = self.incoming == Incoming::Ended;
        match self.after {
            After::KeepOn if is_ended && self.requests.is_empty() => Fate::Gone,
            After::KeepOn if self.is_full && self.requests.len() < MAX_PIPELINED / 2 => Fate::Again,
            After::Finish | After::Finished | After::Stall if is_ended => Fate::Gone,
            After::KeepOn | After::Finished => Fate::Stays,
            After::Finish => {
                self.incoming = Incoming::Ignored;
                self.after = After::Finished;
                // What cannot be shut down is gone already.
                shutdown(&self.socket, Shutdown::Write).map_or(Fate::Gone, |()| Fate::Stays)
            }
            After::Stall => {
                self.incoming = Incoming::Ignored;
                Fate::Stays
            }
            After::Close => Fate::Gone,
            After::Reset => {
                // Closing with a linger of zero sends RST. A Unix socket has no such thing, and only closes.
                let _ = sockopt::set_socket_linger(&self.socket, Some(Duration::ZERO));
                Fate::Gone
            }
        }
    }
}

impl Request {
    fn new(demand: Demand, manner: Manner) -> Self {
        Self {
            arrival: Instant::ZERO,
            received: None,
            work: None,
            due: None,
            path: String::new(),
            class: demand.class,
            asked: demand.work,
            pause: demand.pause,
            manner,
            reply: demand.reply,
            stage: Stage::Arriving,
            allowed: 0,
            expects: false,
            ends_at: u64::MAX,
        }
    }

    /// Of a head that has been read; it arrives when its body has come too.
    fn of(head: &Head<'_>, (routes, files): (&Routes, Option<&Files>), is_recorded: bool) -> Self {
        let mut demand = files.map_or_else(|| Demand::of(head, routes), |files| files.demand(head, routes));
        if let Reply::Echo(text) = &mut demand.reply {
            text.extend_from_slice(head.text);
        }
        let manner = Manner { head_only: head.bodiless, is_old: head.is_old, keep_alive: head.keep_alive };
        let mut request = Self::new(demand, manner);
        request.expects = head.expects;
        if is_recorded {
            head.target.clone_into(&mut request.path);
        }
        request
    }

    /// Its last byte was read.
    pub(crate) fn arrive(&mut self, now: Instant, received: Option<Instant>) {
        self.arrival = now;
        self.received = received;
        self.stage = Stage::Served;
    }

    /// Its job and its pause were over at `due`.
    pub(crate) fn ready(&mut self, due: Instant) {
        self.due = Some(due);
        self.stage = Stage::Ready;
        self.allowed = u64::MAX;
    }

    /// So many bytes of its file may go out, its last ones not before it is [`ready`](Self::ready); whether that is worth a packet.
    pub(crate) fn allow(&mut self, bytes: u64) -> bool {
        let is_worth = bytes >= self.allowed.saturating_add(SEGMENT);
        if is_worth {
            self.allowed = bytes;
        }
        is_worth
    }

    /// There was no room for its job.
    pub(crate) fn turn_away(&mut self, now: Instant) {
        self.reply = Reply::Status(503);
        self.ready(now);
    }

    /// Keeps a piece of the body if it will be echoed.
    fn body(&mut self, data: &[u8]) {
        if let Reply::Echo(text) = &mut self.reply {
            text.extend_from_slice(data);
            if text.len() > MAX_ECHO {
                self.reply = Reply::TooLargeBody;
            }
        }
    }
}
