//! Non-blocking sockets, and the failures of connections.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::OnceLock;

use offered_base::Nanos;
use offered_events::{Outcome, Reason};
use offered_io::ReceiveTimestamps;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketAddrUnix, SocketType, bind, connect, getpeername, ipproto,
    recv, send, sockopt,
};
use rustix::process::{Resource, getrlimit};

use super::Failure;

/// The endpoint of a connection.
#[derive(Clone, Debug)]
pub(crate) enum Endpoint {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl Endpoint {
    /// Whether it is on this machine, as far as its address says.
    pub(super) fn is_local(&self) -> bool {
        match self {
            Self::Tcp(address) => address.ip().is_loopback(),
            Self::Unix(_) => true,
        }
    }

    /// Whether both have the same IP version.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        matches!((self, other), (Self::Tcp(a), Self::Tcp(b)) if a.is_ipv4() == b.is_ipv4())
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{address}"),
            Self::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

/// The result of one read.
pub(crate) enum Read {
    /// Data was read.
    Some {
        bytes: usize,
        /// The socket has no more data. The poller reports new data; it may already have reported the end.
        drained: bool,
    },
    /// No data.
    Nothing {
        /// The socket has no more data. If false, only TLS-internal data was read.
        drained: bool,
    },
    /// The peer has closed.
    End,
}

/// A socket with the traits of the standard library.
pub(super) struct Socket<'a>(pub(super) BorrowedFd<'a>);

impl io::Read for Socket<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::retry_on_intr(|| recv(self.0, &mut *buffer, RecvFlags::empty()).map(|(read, _)| read))?)
    }
}

impl io::Write for Socket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::retry_on_intr(|| send(self.0, bytes, SendFlags::empty()))?)
    }

    fn write_vectored(&mut self, pieces: &[io::IoSlice<'_>]) -> io::Result<usize> {
        // A record is one piece. Several pieces, such as the end of a handshake and a request, are joined.
        match pieces {
            [one] => self.write(one),
            several => self.write(&several.iter().flat_map(|piece| piece.iter().copied()).collect::<Vec<u8>>()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Starts to connect to `endpoint`, from `source` if one is given. Returns the socket and whether it is connected
/// already.
pub(super) fn dial(endpoint: &Endpoint, source: Option<IpAddr>) -> io::Result<(OwnedFd, bool)> {
    let (family, protocol) = match endpoint {
        Endpoint::Tcp(address) if address.is_ipv4() => (AddressFamily::INET, Some(ipproto::TCP)),
        Endpoint::Tcp(_) => (AddressFamily::INET6, Some(ipproto::TCP)),
        Endpoint::Unix(_) => (AddressFamily::UNIX, None),
    };
    let socket = open(family, protocol)?;
    // Descriptors are assigned from the lowest number, so a high number means that nearly all are in use.
    if socket.as_raw_fd() >= first_reserved_fd() {
        return Err(Errno::MFILE.into());
    }
    let connected = match endpoint {
        Endpoint::Tcp(address) => {
            sockopt::set_tcp_nodelay(&socket, true)?;
            ReceiveTimestamps::enable(&socket);
            if let Some(source) = source {
                defer_port_choice(&socket);
                bind(&socket, &SocketAddr::new(source, 0))?;
            }
            connect(&socket, address)
        }
        Endpoint::Unix(path) => connect(&socket, &SocketAddrUnix::new(path)?),
    };
    match connected {
        Ok(()) => Ok((socket, true)),
        Err(Errno::INPROGRESS) => Ok((socket, false)),
        Err(error) => Err(error.into()),
    }
}

/// Whether an attempt to connect has succeeded.
pub(super) fn is_connected(socket: &OwnedFd) -> bool {
    getpeername(socket).is_ok()
}

/// A socket that does not block and that commands of a workload do not inherit.
#[cfg(not(target_vendor = "apple"))]
fn open(family: AddressFamily, protocol: Option<Protocol>) -> Result<OwnedFd, Errno> {
    use rustix::net::{SocketFlags, socket_with};

    socket_with(family, SocketType::STREAM, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC, protocol)
}

#[cfg(target_vendor = "apple")]
fn open(family: AddressFamily, protocol: Option<Protocol>) -> Result<OwnedFd, Errno> {
    let socket = rustix::net::socket(family, SocketType::STREAM, protocol)?;
    rustix::io::ioctl_fionbio(&socket, true)?;
    rustix::io::ioctl_fioclex(&socket)?;
    Ok(socket)
}

/// Limits the time of an attempt to connect, or with zero no longer. The system checks it when it repeats the attempt: after one second at
/// the earliest.
#[cfg(target_os = "linux")]
pub(super) fn limit_attempt(socket: &OwnedFd, time: Nanos) {
    // If it is refused, the connect timeout ends the attempt.
    let _ = sockopt::set_tcp_user_timeout(socket, u32::try_from(time.0 / 1_000_000).unwrap_or(u32::MAX));
}

#[cfg(not(target_os = "linux"))]
pub(super) fn limit_attempt(_: &OwnedFd, _: Nanos) {}

/// Number of descriptors reserved for other uses: the next part of a recording, its directory, the live page.
const RESERVED: u64 = 16;

/// The first descriptor that no connection may use.
fn first_reserved_fd() -> i32 {
    static FIRST: OnceLock<i32> = OnceLock::new();
    *FIRST.get_or_init(|| {
        let most = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        i32::try_from(most.saturating_sub(RESERVED)).unwrap_or(i32::MAX)
    })
}

/// Lets the system choose the local port once both ends are known. Otherwise `bind` searches a port that no other
/// connection of the machine uses. With more than about 14,000 connections of one address, this search dominates the
/// time to connect.
#[cfg(target_os = "linux")]
fn defer_port_choice(socket: &OwnedFd) {
    // If it is refused (IPv6), connecting only takes longer.
    let _ = nix::sys::socket::setsockopt(socket, nix::sys::socket::sockopt::IpBindAddressNoPort, &true);
}

#[cfg(not(target_os = "linux"))]
fn defer_port_choice(_: &OwnedFd) {}

/// Reads from a socket, with or without receive timestamps.
#[derive(Default)]
pub(super) struct SocketReads {
    timestamps: ReceiveTimestamps,
    /// Whether timestamps are read.
    pub(super) is_stamped: bool,
    /// When the last bytes of the latest read arrived, since the Unix epoch; `None` if that is unknown.
    pub(super) arrival: Option<Nanos>,
}

impl SocketReads {
    /// Receives up to `buffer.len()` bytes.
    #[inline]
    pub(super) fn receive(&mut self, socket: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<usize, Errno> {
        loop {
            let received = if self.is_stamped {
                self.timestamps.read(socket, buffer)
            } else {
                // `recv` and `send` save the system the check whether the descriptor is a file, unlike `read` and `write`.
                recv(socket, &mut *buffer, RecvFlags::empty()).map(|(bytes, _)| (bytes, None))
            };
            return match received {
                Ok((bytes, arrival)) => {
                    self.arrival = arrival;
                    Ok(bytes)
                }
                Err(Errno::INTR) => continue,
                Err(error) => Err(error),
            };
        }
    }

    /// Reads up to `buffer.len()` bytes.
    #[inline]
    pub(super) fn read(&mut self, socket: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<Read, Failure> {
        match self.receive(socket, buffer) {
            Ok(0) => Ok(Read::End),
            Ok(bytes) => Ok(Read::Some { bytes, drained: bytes < buffer.len() }),
            Err(Errno::AGAIN) => Ok(Read::Nothing { drained: true }),
            Err(error) => Err(reset_failure(error.into())),
        }
    }
}

/// A failure before the attempt to connect, for lack of local resources: nothing was sent.
pub(super) fn dial_failure(error: io::Error) -> Failure {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::MFILE | Errno::NFILE) => {
            (Outcome::Unsent, Reason::words("no file descriptors left (raise `ulimit -n`)"))
        }
        Some(Errno::ADDRNOTAVAIL) => (Outcome::Unsent, Reason::words("no local ports left (reuse connections)")),
        Some(Errno::NOBUFS | Errno::NOMEM | Errno::NOSPC) => (Outcome::Unsent, error.into()),
        // The error of a Unix socket whose server does not accept.
        Some(Errno::AGAIN) => (Outcome::Refused, Reason::words("the backlog of the server is full")),
        _ => connect_failure(error),
    }
}

/// A failed attempt to connect.
pub(super) fn connect_failure(error: io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::TimedOut => (Outcome::Timeout, error.into()),
        _ => (Outcome::Refused, error.into()),
    }
}

/// A connection that broke during an exchange.
pub(super) fn reset_failure(error: io::Error) -> Failure {
    (Outcome::Reset, error.into())
}
