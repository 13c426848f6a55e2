//! A stream of bytes to the target: a non-blocking socket, through the tunnel of a proxy and with TLS if needed.
//! Without proxy and TLS it costs one branch per read and write.

use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use offered_base::{Instant, Nanos};
use offered_events::{Outcome, Reason};
use offered_io::{Clock, Poller, connect_time, unix_now};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, getpeername, recv, send};

use super::Failure;
use super::addresses::{Addresses, Candidates};
use super::attempts::{Attempts, connect_error};
use super::route::Route;
use super::socket::{
    Endpoint, Read, Socket, SocketReads, dial, dial_failure, is_connected, limit_attempt, reset_failure,
};
use super::tls::TlsStream;
use super::tunnel::Tunnel;

/// A stream, from the attempt to connect.
pub(crate) struct Stream {
    socket: OwnedFd,
    stage: Stage,
    tls: Option<Box<TlsStream>>,
    /// Duration of the TLS handshake, once it is complete, without the time after which this thread read its messages.
    pub(crate) handshake: Option<Nanos>,
    /// Time that the network took to connect, without the delay until this thread noticed; `None`: not measured.
    connect_time: Option<Nanos>,
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
    Handshake(Handshake),
    Open,
}

/// A TLS handshake in progress.
struct Handshake {
    since: Instant,
    /// The latest read.
    read: Instant,
    /// Time between the arrival of messages and their reading by this thread.
    held: Nanos,
}

impl Handshake {
    fn new(now: Instant) -> Self {
        Self { since: now, read: now, held: Nanos::ZERO }
    }

    /// A message that was read at `now` had been there for `held`. What one read leaves is read by the next, so no time counts twice.
    fn read(&mut self, now: Instant, held: Nanos) {
        self.held += held.min(self.read.until(now));
        self.read = now;
    }

    /// Its duration if it is complete at `now`.
    fn duration(&self, now: Instant) -> Nanos {
        self.since.until(now).saturating_sub(self.held)
    }
}

/// The reads of a handshake.
struct HandshakeReads<'a> {
    socket: BorrowedFd<'a>,
    reads: &'a mut SocketReads,
    handshake: &'a mut Handshake,
    clock: &'a Clock,
}

impl io::Read for HandshakeReads<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.reads.is_stamped = true;
        let received = self.reads.receive(self.socket, buffer);
        self.reads.is_stamped = false;
        let bytes = received?;
        let held = self.reads.arrival.map_or(Nanos::ZERO, |arrival| unix_now().saturating_sub(arrival));
        self.handshake.read(self.clock.now(), held);
        Ok(bytes)
    }
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
            connect_time: None,
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
        let mut stream = Self {
            socket,
            stage: Stage::Connecting,
            tls: None,
            handshake: None,
            connect_time: None,
            attempts: None,
            reads,
        };
        // Within the machine the connection is usually there when the call returns, and without TLS it is open. Waiting for the poller
        // would delay its request until all other ready sockets are handled.
        if connected || route.is_plain() && endpoint.is_local() && is_connected(&stream.socket) {
            stream.measure_connecting(route);
            stream.connected(route, clock)?;
            stream.advance(route, clock)?;
        }
        Ok(stream)
    }

    /// Measures how long the network took to connect the socket.
    fn measure_connecting(&mut self, route: &Route) {
        // A tunnel takes more of the network's time than that.
        self.connect_time = if route.tunnel.is_none() { connect_time(&self.socket) } else { None };
    }

    /// How long the network took to open the stream; `None` if that was not measured.
    pub(crate) fn opening_time(&self) -> Option<Nanos> {
        Some(self.connect_time? + self.handshake.unwrap_or_default())
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
                // Only Linux reports a socket once in a turn: this may be about a socket that had the token before.
                if cfg!(not(target_os = "linux")) && !is_connected(&self.socket) {
                    return Ok(false);
                }
                self.measure_connecting(route);
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
                poller.remove_closing(&self.socket);
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
            poller.remove_closing(&self.socket);
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
        Ok(Stage::Handshake(Handshake::new(clock.now())))
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
                (Stage::Handshake(handshake), Some(tls)) => {
                    let (socket, reads) = (self.socket.as_fd(), &mut self.reads);
                    if !tls.handshake(socket, &mut HandshakeReads { socket, reads, handshake, clock })? {
                        return Ok(false);
                    }
                    self.handshake = Some(handshake.duration(clock.now()));
                    Stage::Open
                }
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

    /// Whether the socket has data to read, or has ended: neither is expected of a connection that carries no request.
    pub(crate) fn is_readable(&self) -> bool {
        !matches!(recv(&self.socket, &mut [0; 1], RecvFlags::PEEK), Err(Errno::AGAIN | Errno::INTR))
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
        Ok(_) => Err((
            Outcome::Tls,
            Reason::words("the server is not PostgreSQL: its response to the request for TLS is invalid"),
        )),
        Err(error) => wait_or_fail(error),
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::sync::Arc;

    use offered_io::ReceiveTimestamps;
    use offered_workload::Target;
    use rustls::pki_types::PrivateKeyDer;
    use rustls::{ServerConfig, ServerConnection};

    use super::*;

    #[test]
    fn what_is_read_late_is_no_part_of_a_handshake() {
        let ms = Instant::from_millis;
        let mut handshake = Handshake::new(ms(10));
        handshake.read(ms(30), Nanos::from_millis(5));
        // The rest of the same data, and a clock that was set.
        handshake.read(ms(31), Nanos::from_millis(6));
        handshake.read(ms(33), Nanos::from_secs(1000));
        assert_eq!(handshake.duration(ms(40)), Nanos::from_millis(30 - 5 - 1 - 2));
    }

    /// Performs a handshake.
    fn shake_hands(stream: &mut TcpStream, config: &Arc<ServerConfig>) {
        let mut server = ServerConnection::new(config.clone()).unwrap();
        while server.is_handshaking() && server.complete_io(stream).is_ok() {}
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_connection_within_the_machine_is_open_at_once_and_measured() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
        let (route, clock) = (Route::new(&Target::new(url)).unwrap(), Clock::start());
        let stream = Stream::dial(&route, &clock).unwrap();
        let took = Instant::ZERO.until(clock.now());
        assert!(stream.is_open());
        // The kernel counts whole microseconds, and rounds up.
        assert!(stream.opening_time().is_some_and(|opening| opening <= took + Nanos::from_micros(1)));
        // Nothing listens any more.
        drop(listener);
        assert!(Stream::dial(&route, &clock).is_ok_and(|stream| !stream.is_open()));
    }

    #[test]
    fn the_wait_for_the_thread_is_no_part_of_a_handshake() {
        let _enabled = ReceiveTimestamps::keep_enabled();
        let own = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let key = PrivateKeyDer::try_from(own.signing_key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = builder.with_no_client_auth().with_single_cert(vec![own.cert.der().clone()], key).unwrap();
        let (listener, config) = (TcpListener::bind("127.0.0.1:0").unwrap(), Arc::new(config));
        let url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                shake_hands(&mut stream, &config);
            }
        });
        let route = Route::new(&Target::new(url)).unwrap().with_tls().unwrap();
        let (clock, wait) = (Clock::start(), Nanos::from_millis(20));
        let has_waited = || {
            let mut poller = Poller::new().unwrap();
            let mut stream = Stream::dial(&route, &clock).unwrap();
            poller.add(&stream, 0).unwrap();
            let (began, mut waited, mut ready) = (clock.now(), Nanos::ZERO, Vec::new());
            loop {
                poller.wait(Some(Nanos::from_secs(10)), &mut ready).unwrap();
                if ready.first().is_some_and(|ready| ready.readable) {
                    clock.sleep_until(clock.now() + wait);
                    waited += wait;
                }
                if stream.continue_connecting(&route, true, &clock, (&poller, 0)).unwrap() {
                    break;
                }
            }
            stream.handshake.unwrap() + Nanos(waited.0 / 2) < began.until(clock.now())
        };
        // The kernel begins a moment after the first socket asks for timestamps.
        assert!((0..100).any(|_| has_waited()));
    }
}
