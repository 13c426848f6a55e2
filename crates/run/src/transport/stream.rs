//! A stream of bytes to the target: a non-blocking socket, through the tunnel of a proxy and with TLS if needed.
//! Without either it costs one branch per read and write.

use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use offered_base::{Instant, Nanos};
use offered_events::{Outcome, Reason};
use offered_io::{Clock, Poller};
use rustix::net::{SendFlags, getpeername, send};

use super::Failure;
use super::addresses::{Addresses, Candidates};
use super::attempts::{Attempts, connect_error, is_connected};
use super::route::Route;
use super::socket::{Endpoint, Read, Socket, SocketReads, dial, dial_failure, limit_attempt, reset_failure};
use super::tls::TlsStream;
use super::tunnel::Tunnel;

/// A stream, from the attempt to connect.
pub(crate) struct Stream {
    socket: OwnedFd,
    stage: Stage,
    tls: Option<Box<TlsStream>>,
    /// Duration of the TLS handshake, once it is complete.
    pub(crate) handshake: Option<Nanos>,
    /// The attempts at other addresses, until one is connected.
    attempts: Option<Box<Attempts>>,
    reads: SocketReads,
}

/// The stage of connecting.
enum Stage {
    Connecting,
    Tunnel(Box<Tunnel>),
    /// Sending PostgreSQL's `SSLRequest`, of which this many bytes are written.
    TlsRequest(usize),
    /// In the TLS handshake, since this instant.
    Handshake(Instant),
    Open,
}

impl Stream {
    /// Starts to connect; the stream may be open already.
    ///
    /// # Errors
    /// The attempt cannot be started.
    pub(crate) fn dial(route: &Route, clock: &Clock) -> Result<Self, Failure> {
        let candidates = route.addresses.next().map_err(|reason| (Outcome::Dns, reason.into()))?;
        Self::dial_any(candidates, route, clock)
    }

    /// Starts to connect to the first of `candidates`; the others follow if that fails.
    ///
    /// # Errors
    /// No attempt can be started.
    pub(super) fn dial_any(candidates: Candidates, route: &Route, clock: &Clock) -> Result<Self, Failure> {
        if candidates.rest.is_empty() {
            return Self::dial_at(&candidates.first, candidates.source, route, clock);
        }
        let mut attempts = Attempts::new(candidates);
        let (socket, connected) = attempts.start(&route.addresses)?;
        let attempts = Some(Box::new(attempts));
        let mut stream = Self {
            socket,
            stage: Stage::Connecting,
            tls: None,
            handshake: None,
            attempts,
            reads: SocketReads::default(),
        };
        if connected {
            stream.chosen(route);
            stream.connected(route, clock)?;
            stream.advance(route, clock)?;
        }
        Ok(stream)
    }

    /// Starts to connect to `endpoint`, from `source` if one is given.
    ///
    /// # Errors
    /// The attempt cannot be started.
    pub(super) fn dial_at(
        endpoint: &Endpoint,
        source: Option<IpAddr>,
        route: &Route,
        clock: &Clock,
    ) -> Result<Self, Failure> {
        let (socket, connected) = dial(endpoint, source).map_err(dial_failure)?;
        let reads = SocketReads::default();
        let mut stream = Self { socket, stage: Stage::Connecting, tls: None, handshake: None, attempts: None, reads };
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

    /// Continues to connect when the socket has become ready. Returns whether the stream is open. Its socket is registered with `poller`
    /// under `token`; another one takes its place if it cannot be connected and the target has other addresses.
    ///
    /// # Errors
    /// The server does not accept at any address, the proxy refuses a tunnel, or the TLS handshake failed.
    pub(crate) fn continue_connecting(
        &mut self,
        route: &Route,
        writable: bool,
        clock: &Clock,
        (poller, token): (&Poller, usize),
    ) -> Result<bool, Failure> {
        if matches!(self.stage, Stage::Connecting) {
            if !writable {
                return Ok(false);
            }
            if self.attempts.is_none() {
                connect_error(&self.socket).map_or(Ok(()), Err)?;
            } else if !self.is_any_connected(route, (poller, token))? {
                return Ok(false);
            }
            self.connected(route, clock)?;
        }
        self.advance(route, clock)
    }

    /// Whether one of several attempts is connected; then it is the socket of the stream. Starts further attempts after failed ones.
    fn is_any_connected(&mut self, route: &Route, (poller, token): (&Poller, usize)) -> Result<bool, Failure> {
        let Some(attempts) = &mut self.attempts else { return Ok(true) };
        // The one that races becomes the socket if it is connected, or if the socket fails.
        if let Some((other, endpoint)) = attempts.racing.take() {
            let failure = connect_error(&self.socket);
            if failure.is_some() || is_connected(&other) && !is_connected(&self.socket) {
                let _ = poller.remove(&self.socket);
                self.socket = other;
                let before = std::mem::replace(&mut attempts.current, endpoint);
                if let Some(failure) = failure {
                    attempts.failed(before, failure, &route.addresses);
                }
            } else {
                attempts.racing = Some((other, endpoint));
            }
        }
        loop {
            match connect_error(&self.socket) {
                None if is_connected(&self.socket) => break,
                None => return Ok(false),
                Some(failure) => {
                    let current = attempts.current.clone();
                    attempts.failed(current, failure, &route.addresses);
                }
            }
            let (socket, connected) = attempts.start(&route.addresses)?;
            let _ = poller.remove(&self.socket);
            self.socket = socket;
            poller.add(&self.socket, token).map_err(dial_failure)?;
            if !connected {
                return Ok(false);
            }
        }
        self.chosen(route);
        Ok(true)
    }

    /// The endpoint that it is connected to; `None` if it is not connected.
    pub(super) fn endpoint(&self, route: &Route) -> Option<Endpoint> {
        let peer = getpeername(&self.socket).ok()?;
        let tcp = peer.and_then(|peer| SocketAddr::try_from(peer).ok()).map(Endpoint::Tcp);
        tcp.or_else(|| route.addresses.next().ok().map(|candidates| candidates.first))
    }

    /// Starts the second attempt of a race, whose socket has the same `token`.
    pub(crate) fn start_race(&mut self, poller: &Poller, token: usize, addresses: &Addresses) {
        if let Some(attempts) = &mut self.attempts {
            attempts.race(poller, token, addresses);
        }
    }

    /// The socket is connected to one of several addresses.
    fn chosen(&mut self, route: &Route) {
        if let Some(attempts) = self.attempts.take() {
            limit_attempt(&self.socket, Nanos::ZERO);
            route.addresses.count(&attempts.current, None);
        }
    }

    /// The socket is connected: begins the next stage.
    fn connected(&mut self, route: &Route, clock: &Clock) -> Result<(), Failure> {
        self.stage = match &route.tunnel {
            Some(request) => Stage::Tunnel(Box::new(Tunnel::new(request.clone()))),
            None if route.postgres_tls_request => Stage::TlsRequest(0),
            None => self.start_tls(route, clock)?,
        };
        Ok(())
    }

    /// The stage after the route is open: TLS, or none.
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

    /// Sets whether the following reads determine [`Self::arrival`].
    #[inline]
    pub(crate) fn stamp_reads(&mut self, are_stamped: bool) {
        self.reads.is_stamped = are_stamped;
    }

    /// When the operating system received the last bytes of the latest read, since the Unix epoch; `None` if that read
    /// is not stamped, or if the system gives no timestamps.
    #[inline]
    pub(crate) fn arrival(&self) -> Option<Nanos> {
        self.reads.arrival
    }

    /// Reads up to `buffer.len()` bytes.
    ///
    /// # Errors
    /// The connection broke.
    #[inline]
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Result<Read, Failure> {
        match &mut self.tls {
            None => self.reads.read(self.socket.as_fd(), buffer),
            Some(tls) => tls.read(self.socket.as_fd(), buffer, &mut self.reads),
        }
    }

    /// Writes what the socket takes; returns the number of bytes taken.
    ///
    /// # Errors
    /// `WouldBlock` if nothing can be written now, else the connection broke.
    #[inline]
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.tls {
            // A broken connection is an error here, not a signal: the standard library ignores SIGPIPE.
            None => Ok(send(&self.socket, bytes, SendFlags::empty())?),
            Some(tls) => tls.write(self.socket.as_fd(), bytes),
        }
    }

    /// Whether bytes that were taken are still to be written.
    #[inline]
    pub(crate) fn is_unwritten(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.is_unwritten())
    }

    /// Writes bytes that were taken and not yet written.
    ///
    /// # Errors
    /// The connection broke.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.tls.as_mut().map_or(Ok(()), |tls| tls.flush(self.socket.as_fd()))
    }

    /// Connects and waits until the stream is open, at most for `timeout`.
    ///
    /// # Errors
    /// The stream cannot be opened.
    pub(crate) fn open(route: &Route, timeout: Nanos) -> Result<Self, Failure> {
        let system = |error: io::Error| (Outcome::Unsent, Reason::from(error));
        let (clock, mut poller) = (Clock::start(), Poller::new().map_err(system)?);
        let mut stream = Self::dial(route, &clock)?;
        poller.add(&stream, 0).map_err(system)?;
        stream.start_race(&poller, 0, &route.addresses);
        let mut ready = Vec::new();
        while !stream.is_open() {
            let left = clock.now().until(Instant::ZERO + timeout);
            if left == Nanos::ZERO {
                return Err((Outcome::Timeout, Reason::ConnectTimeout(timeout)));
            }
            poller.wait(Some(left), &mut ready).map_err(system)?;
            for ready in &ready {
                stream.continue_connecting(route, ready.writable || ready.closed, &clock, (&poller, 0))?;
            }
        }
        poller.remove(&stream).map_err(system)?;
        Ok(stream)
    }

    /// Whether HTTP/2 was agreed on in the TLS handshake.
    pub(crate) fn agreed_on_http2(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.protocol() == Some(b"h2"))
    }

    /// Why the certificate of the server was rejected, if the handshake failed for that reason.
    pub(crate) fn certificate_error(&mut self) -> Option<String> {
        self.tls.as_mut()?.certificate_error()
    }

    /// Whether the handshake failed because the server speaks none of the offered protocols.
    pub(crate) fn no_common_protocol(&mut self) -> bool {
        self.tls.as_mut().is_some_and(|tls| tls.no_common_protocol())
    }

    /// Whether the peer has sent any TLS.
    pub(crate) fn received_tls(&mut self) -> bool {
        self.tls.as_mut().is_some_and(|tls| tls.received_tls())
    }
}

/// Sends PostgreSQL's `SSLRequest` and reads the one-byte response. It must not read more, because what follows is
/// encrypted.
fn request_tls(written: &mut usize, socket: BorrowedFd<'_>) -> Result<bool, Failure> {
    /// The length of the message, and the code in place of a protocol version (chapter 55.2.10 of the PostgreSQL
    /// manual).
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
        Ok(0) => Err((Outcome::Tls, Reason::words("the server closed the connection when TLS was requested"))),
        Ok(_) if answer == *b"S" => Ok(true),
        Ok(_) if answer == *b"N" => {
            Err((Outcome::Tls, Reason::words("the server does not support TLS; add sslmode=disable to the URL")))
        }
        Ok(_) => Err((Outcome::Tls, Reason::words("not PostgreSQL: an invalid response to the request for TLS"))),
        Err(error) => wait_or_fail(error),
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
