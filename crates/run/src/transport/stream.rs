//! A stream of bytes to the target: a non-blocking socket, through a proxy's tunnel where one is needed, with TLS where it is
//! spoken. Without either it costs one branch a read and a write.

use std::io::{self, Read as _, Write as _};
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use offered_clock::{Clock, Poller};
use offered_model::{Instant, Nanos, Outcome, Reason};
use rustix::net::{SendFlags, send, sockopt};

use super::Failure;
use super::route::Route;
use super::socket::{Endpoint, Read, Socket, connect_failure, dial, dial_failure, read, reset_failure};
use super::tls::TlsStream;
use super::tunnel::Tunnel;

/// A stream, from the attempt to connect on.
pub(crate) struct Stream {
    socket: OwnedFd,
    stage: Stage,
    tls: Option<Box<TlsStream>>,
    /// How long the TLS handshake took, once it is done.
    pub(crate) handshake: Option<Nanos>,
}

/// How far an attempt to connect is.
enum Stage {
    Connecting,
    Tunnel(Box<Tunnel>),
    /// Asking a database whether it speaks TLS; so much of the question is said.
    TlsRequest(usize),
    /// In the TLS handshake, since then.
    Handshake(Instant),
    Open,
}

impl Stream {
    /// Begins to connect; the stream may be open already.
    ///
    /// # Errors
    /// It cannot even begin.
    pub(crate) fn dial(route: &Route, clock: &Clock) -> Result<Self, Failure> {
        let (endpoint, source) = route.addresses.next().map_err(|reason| (Outcome::Dns, reason.into()))?;
        Self::dial_at(&endpoint, source, route, clock)
    }

    /// The same, to this place, from `source` where one is given.
    ///
    /// # Errors
    /// It cannot even begin.
    pub(super) fn dial_at(
        endpoint: &Endpoint,
        source: Option<IpAddr>,
        route: &Route,
        clock: &Clock,
    ) -> Result<Self, Failure> {
        let (socket, connected) = dial(endpoint, source).map_err(dial_failure)?;
        let mut stream = Self { socket, stage: Stage::Connecting, tls: None, handshake: None };
        if connected {
            stream.connected(route, clock)?;
            stream.advance(route, clock)?;
        }
        Ok(stream)
    }

    /// Whether requests can be written.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.stage, Stage::Open)
    }

    /// Goes on connecting when its socket has become ready; whether it is open now.
    ///
    /// # Errors
    /// Nobody listens, the proxy makes no tunnel, or the TLS handshake failed.
    pub(crate) fn continue_connecting(
        &mut self,
        route: &Route,
        writable: bool,
        clock: &Clock,
    ) -> Result<bool, Failure> {
        if matches!(self.stage, Stage::Connecting) {
            if !writable {
                return Ok(false);
            }
            let attempt = sockopt::socket_error(&self.socket).map_err(|error| connect_failure(error.into()))?;
            attempt.map_err(|error| connect_failure(error.into()))?;
            self.connected(route, clock)?;
        }
        self.advance(route, clock)
    }

    /// The socket is connected: what comes next begins.
    fn connected(&mut self, route: &Route, clock: &Clock) -> Result<(), Failure> {
        self.stage = match &route.tunnel {
            Some(request) => Stage::Tunnel(Box::new(Tunnel::new(request.clone()))),
            None if route.postgres_tls_request => Stage::TlsRequest(0),
            None => self.start_tls(route, clock)?,
        };
        Ok(())
    }

    /// The stage after the way is clear.
    fn start_tls(&mut self, route: &Route, clock: &Clock) -> Result<Stage, Failure> {
        let Some(client) = &route.tls else { return Ok(Stage::Open) };
        self.tls = Some(client.begin()?);
        Ok(Stage::Handshake(clock.now()))
    }

    fn advance(&mut self, route: &Route, clock: &Clock) -> Result<bool, Failure> {
        loop {
            self.stage = match (&mut self.stage, &mut self.tls) {
                (Stage::Connecting, _) => return Ok(false),
                (Stage::Tunnel(tunnel), _) => match tunnel.advance(self.socket.as_fd())? {
                    true => self.start_tls(route, clock)?,
                    false => return Ok(false),
                },
                (Stage::TlsRequest(written), _) => match request_tls(written, self.socket.as_fd())? {
                    true => self.start_tls(route, clock)?,
                    false => return Ok(false),
                },
                (Stage::Handshake(since), Some(tls)) => match tls.handshake(self.socket.as_fd())? {
                    true => {
                        self.handshake = Some(since.until(clock.now()));
                        Stage::Open
                    }
                    false => return Ok(false),
                },
                (Stage::Open | Stage::Handshake(_), _) => return Ok(true),
            };
        }
    }

    /// Reads what has come, as much as `buffer` holds.
    ///
    /// # Errors
    /// The connection broke.
    #[inline]
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Result<Read, Failure> {
        match &mut self.tls {
            None => read(&self.socket, buffer),
            Some(tls) => tls.read(self.socket.as_fd(), buffer),
        }
    }

    /// Writes what the socket takes; how much of `bytes` that is.
    ///
    /// # Errors
    /// `WouldBlock`: nothing can be written now; else the connection broke.
    #[inline]
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.tls {
            // A broken connection is an error here: the standard library has SIGPIPE ignored from the start.
            None => Ok(send(&self.socket, bytes, SendFlags::empty())?),
            Some(tls) => tls.write(self.socket.as_fd(), bytes),
        }
    }

    /// Whether something that was taken has still to be written.
    #[inline]
    pub(crate) fn is_unwritten(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.is_unwritten())
    }

    /// Writes what was taken and has still to be written.
    ///
    /// # Errors
    /// The connection broke.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.tls.as_mut().map_or(Ok(()), |tls| tls.flush(self.socket.as_fd()))
    }

    /// Connects and waits until the stream is open, at most for `timeout`.
    ///
    /// # Errors
    /// It does not open.
    pub(crate) fn open(route: &Route, timeout: Nanos) -> Result<Self, Failure> {
        let system = |error: io::Error| (Outcome::Unsent, Reason::from(error));
        let (clock, mut poller) = (Clock::start(), Poller::new().map_err(system)?);
        let mut stream = Self::dial(route, &clock)?;
        poller.add(&stream, 0).map_err(system)?;
        let mut ready = Vec::new();
        while !stream.is_open() {
            let left = clock.now().until(Instant::ZERO + timeout);
            if left == Nanos::ZERO {
                return Err((Outcome::Timeout, Reason::NotConnected(timeout)));
            }
            poller.wait(Some(left), &mut ready).map_err(system)?;
            for ready in &ready {
                stream.continue_connecting(route, ready.writable || ready.closed, &clock)?;
            }
        }
        poller.remove(&stream).map_err(system)?;
        Ok(stream)
    }

    /// Whether both sides have agreed, in the TLS handshake, to speak HTTP/2.
    pub(crate) fn agreed_on_http2(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.protocol() == Some(b"h2"))
    }

    /// Why the server's certificate does not hold, if its handshake failed for that.
    pub(crate) fn certificate_error(&mut self) -> Option<String> {
        self.tls.as_mut()?.certificate_error()
    }

    /// Whether its handshake failed because the server speaks none of the protocols offered.
    pub(crate) fn no_common_protocol(&mut self) -> bool {
        self.tls.as_mut().is_some_and(|tls| tls.no_common_protocol())
    }

    /// Whether the other side has said anything in TLS.
    pub(crate) fn received_tls(&mut self) -> bool {
        self.tls.as_mut().is_some_and(|tls| tls.received_tls())
    }
}

/// Asks a database whether it speaks TLS, and hears its answer: one byte, and not one more, for what follows is encrypted.
fn request_tls(written: &mut usize, socket: BorrowedFd<'_>) -> Result<bool, Failure> {
    /// The length of the message, and the number that stands for a version there (chapter 55.2.10 of PostgreSQL's manual).
    const QUESTION: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];
    let mut socket = Socket(socket);
    let wait_or_fail = |error: io::Error| match error.kind() {
        io::ErrorKind::WouldBlock => Ok(false),
        _ => Err(reset_failure(error)),
    };
    while *written < QUESTION.len() {
        match socket.write(&QUESTION[*written..]) {
            Ok(bytes) => *written += bytes,
            Err(error) => return wait_or_fail(error),
        }
    }
    let mut answer = [0];
    match socket.read(&mut answer) {
        Ok(0) => Err((Outcome::Tls, Reason::words("the server closed when it was asked for TLS"))),
        Ok(_) if answer == *b"S" => Ok(true),
        Ok(_) if answer == *b"N" => {
            Err((Outcome::Tls, Reason::words("the server does not speak TLS; write sslmode=disable")))
        }
        Ok(_) => Err((Outcome::Tls, Reason::words("not PostgreSQL: it does not know what TLS is"))),
        Err(error) => wait_or_fail(error),
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
