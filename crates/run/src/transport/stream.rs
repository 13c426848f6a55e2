//! A stream of bytes to the target: a non-blocking socket, through a proxy's tunnel where one is needed, with TLS where it is
//! spoken. Without either it costs one branch a read and a write.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use offered_clock::{Clock, Poller};
use offered_model::{Nanos, Outcome, Reason};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketType, bind, connect, ipproto, recv, send, socket,
    sockopt,
};

use super::Failure;
use super::addresses::Place;
use super::route::Route;
use super::tls::Tls;
use super::tunnel::Tunnel;

/// A stream, from the attempt to connect on.
pub(crate) struct Stream {
    socket: OwnedFd,
    stage: Stage,
    tls: Option<Box<Tls>>,
    /// How long the TLS handshake took, once it is done.
    pub(crate) handshake: Option<Nanos>,
}

/// How far an attempt to connect is.
enum Stage {
    Connecting,
    Tunnel(Box<Tunnel>),
    /// In the TLS handshake, since then.
    Handshake(Nanos),
    Open,
}

/// What one read brought.
pub(crate) enum Read {
    /// So many bytes.
    Some {
        bytes: usize,
        /// The socket had no more: what comes next will be announced. (The end of the stream may have been already.)
        drained: bool,
    },
    /// Nothing yet.
    Nothing,
    /// The other side has closed.
    End,
}

impl Stream {
    /// Begins to connect; the stream may be open already.
    ///
    /// # Errors
    /// It cannot even begin.
    pub(crate) fn dial(route: &Route, clock: &Clock) -> Result<Self, Failure> {
        let (place, source) = route.addresses.next().map_err(|why| (Outcome::Dns, why.into()))?;
        let (socket, connected) = dial(&place, source).map_err(undialed)?;
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
    pub(crate) fn go_on(&mut self, route: &Route, writable: bool, clock: &Clock) -> Result<bool, Failure> {
        if matches!(self.stage, Stage::Connecting) {
            if !writable {
                return Ok(false);
            }
            let attempt = sockopt::socket_error(&self.socket).map_err(|error| refused(error.into()))?;
            attempt.map_err(|error| refused(error.into()))?;
            self.connected(route, clock)?;
        }
        self.advance(route, clock)
    }

    /// The socket is connected: what comes next begins.
    fn connected(&mut self, route: &Route, clock: &Clock) -> Result<(), Failure> {
        self.stage = match &route.tunnel {
            Some(request) => Stage::Tunnel(Box::new(Tunnel::new(request.clone()))),
            None => self.greet(route, clock)?,
        };
        Ok(())
    }

    /// The stage after the way is clear.
    fn greet(&mut self, route: &Route, clock: &Clock) -> Result<Stage, Failure> {
        let Some(client) = &route.tls else { return Ok(Stage::Open) };
        self.tls = Some(client.begin()?);
        Ok(Stage::Handshake(clock.now()))
    }

    fn advance(&mut self, route: &Route, clock: &Clock) -> Result<bool, Failure> {
        loop {
            self.stage = match (&mut self.stage, &mut self.tls) {
                (Stage::Connecting, _) => return Ok(false),
                (Stage::Tunnel(tunnel), _) => match tunnel.advance(self.socket.as_fd())? {
                    true => self.greet(route, clock)?,
                    false => return Ok(false),
                },
                (Stage::Handshake(since), Some(tls)) => match tls.handshake(self.socket.as_fd())? {
                    true => {
                        self.handshake = Some(clock.now().since(*since));
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
            let left = timeout.since(clock.now());
            if left == Nanos::ZERO {
                return Err((Outcome::Timeout, Reason::NotConnected(timeout)));
            }
            poller.wait(Some(left), &mut ready).map_err(system)?;
            for ready in &ready {
                stream.go_on(route, ready.writable || ready.closed, &clock)?;
            }
        }
        poller.remove(&stream).map_err(system)?;
        Ok(stream)
    }

    /// Whether both sides have agreed, in the TLS handshake, to speak HTTP/2.
    pub(crate) fn agreed_on_http2(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.protocol() == Some(b"h2"))
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Begins to connect to `place`, from `source` where one is given; whether it is connected already.
pub(super) fn dial(place: &Place, source: Option<IpAddr>) -> io::Result<(OwnedFd, bool)> {
    let (family, protocol) = match place {
        Place::Tcp(address) if address.is_ipv4() => (AddressFamily::INET, Some(ipproto::TCP)),
        Place::Tcp(_) => (AddressFamily::INET6, Some(ipproto::TCP)),
        Place::Unix(_) => (AddressFamily::UNIX, None),
    };
    let socket = socket(family, SocketType::STREAM, protocol)?;
    rustix::io::ioctl_fionbio(&socket, true)?;
    rustix::io::ioctl_fioclex(&socket)?;
    let connected = match place {
        Place::Tcp(address) => {
            sockopt::set_tcp_nodelay(&socket, true)?;
            if let Some(source) = source {
                choose_port_late(&socket);
                bind(&socket, &SocketAddr::new(source, 0))?;
            }
            connect(&socket, address)
        }
        Place::Unix(path) => connect(&socket, &SocketAddrUnix::new(path)?),
    };
    match connected {
        Ok(()) => Ok((socket, true)),
        Err(Errno::INPROGRESS) => Ok((socket, false)),
        Err(error) => Err(error.into()),
    }
}

/// Lets the system choose the local port when it knows both ends. In `bind` it would look for one that no other connection of
/// the machine has, and from some 14,000 connections of one address on that search takes longer than all the rest together.
#[cfg(target_os = "linux")]
fn choose_port_late(socket: &OwnedFd) {
    // Where it is refused (IPv6) it only takes longer.
    let _ = nix::sys::socket::setsockopt(socket, nix::sys::socket::sockopt::IpBindAddressNoPort, &true);
}

#[cfg(not(target_os = "linux"))]
fn choose_port_late(_: &OwnedFd) {}

#[inline]
fn read(socket: &OwnedFd, buffer: &mut [u8]) -> Result<Read, Failure> {
    loop {
        // `recv` and `send`, not `read` and `write`: the system need not find out that this is no file.
        return match recv(socket, &mut *buffer, RecvFlags::empty()) {
            Ok((0, _)) => Ok(Read::End),
            Ok((bytes, _)) => Ok(Read::Some { bytes, drained: bytes < buffer.len() }),
            Err(Errno::AGAIN) => Ok(Read::Nothing),
            Err(Errno::INTR) => continue,
            Err(error) => Err(broken(error.into())),
        };
    }
}

/// An attempt to connect that ended before it began: for want of something of ours nothing was sent.
pub(super) fn undialed(error: io::Error) -> Failure {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::MFILE | Errno::NFILE) => {
            (Outcome::Unsent, Reason::words("no file descriptor is left (raise `ulimit -n`)"))
        }
        Some(Errno::ADDRNOTAVAIL) => (Outcome::Unsent, Reason::words("no local port is left (reuse connections)")),
        Some(Errno::NOBUFS | Errno::NOMEM | Errno::NOSPC) => (Outcome::Unsent, error.into()),
        // What a Unix socket says whose server does not accept.
        Some(Errno::AGAIN) => (Outcome::Refused, Reason::words("the server's backlog is full")),
        _ => refused(error),
    }
}

/// A connection attempt that failed.
fn refused(error: io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::TimedOut => (Outcome::Timeout, error.into()),
        _ => (Outcome::Refused, error.into()),
    }
}

/// A connection that broke under an exchange.
pub(super) fn broken(error: io::Error) -> Failure {
    (Outcome::Reset, error.into())
}
