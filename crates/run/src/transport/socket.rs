//! Non-blocking sockets, and what becomes of them: the ground that streams stand on.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::OnceLock;

use offered_model::{Outcome, Reason};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketType, bind, connect, ipproto, recv, send, socket,
    sockopt,
};

use rustix::process::{Resource, getrlimit};

use super::Failure;

/// Where one connection goes.
#[derive(Clone, Debug)]
pub(crate) enum Endpoint {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{address}"),
            Self::Unix(path) => write!(f, "{}", path.display()),
        }
    }
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
    Nothing {
        /// The socket had no more. (Else there was only what TLS keeps to itself.)
        drained: bool,
    },
    /// The other side has closed.
    End,
}

/// A socket as the standard library's traits want it.
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
        // A record is one piece; what is written together (a handshake's last words and a request) is put together here.
        match pieces {
            [one] => self.write(one),
            several => self.write(&several.iter().flat_map(|piece| piece.iter().copied()).collect::<Vec<u8>>()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Begins to connect to `place`, from `source` where one is given; whether it is connected already.
pub(super) fn dial(endpoint: &Endpoint, source: Option<IpAddr>) -> io::Result<(OwnedFd, bool)> {
    let (family, protocol) = match endpoint {
        Endpoint::Tcp(address) if address.is_ipv4() => (AddressFamily::INET, Some(ipproto::TCP)),
        Endpoint::Tcp(_) => (AddressFamily::INET6, Some(ipproto::TCP)),
        Endpoint::Unix(_) => (AddressFamily::UNIX, None),
    };
    let socket = socket(family, SocketType::STREAM, protocol)?;
    // Descriptors are given out from the lowest on: who has one of the last has nearly all.
    if socket.as_raw_fd() >= first_reserved_fd() {
        return Err(Errno::MFILE.into());
    }
    rustix::io::ioctl_fionbio(&socket, true)?;
    rustix::io::ioctl_fioclex(&socket)?;
    let connected = match endpoint {
        Endpoint::Tcp(address) => {
            sockopt::set_tcp_nodelay(&socket, true)?;
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

/// So many descriptors are left to what is no connection: the next part of a recording, its folder, the live page.
const RESERVED: u64 = 16;

/// The first descriptor that no connection may have.
fn first_reserved_fd() -> i32 {
    static FIRST: OnceLock<i32> = OnceLock::new();
    *FIRST.get_or_init(|| {
        let most = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        i32::try_from(most.saturating_sub(RESERVED)).unwrap_or(i32::MAX)
    })
}

/// Lets the system choose the local port when it knows both ends. In `bind` it would look for one that no other connection of
/// the machine has, and from some 14,000 connections of one address on that search takes longer than all the rest together.
#[cfg(target_os = "linux")]
fn defer_port_choice(socket: &OwnedFd) {
    // Where it is refused (IPv6) it only takes longer.
    let _ = nix::sys::socket::setsockopt(socket, nix::sys::socket::sockopt::IpBindAddressNoPort, &true);
}

#[cfg(not(target_os = "linux"))]
fn defer_port_choice(_: &OwnedFd) {}

/// Reads what has come, as much as `buffer` holds.
#[inline]
pub(super) fn read(socket: &OwnedFd, buffer: &mut [u8]) -> Result<Read, Failure> {
    loop {
        // `recv` and `send`, not `read` and `write`: the system need not find out that this is no file.
        return match recv(socket, &mut *buffer, RecvFlags::empty()) {
            Ok((0, _)) => Ok(Read::End),
            Ok((bytes, _)) => Ok(Read::Some { bytes, drained: bytes < buffer.len() }),
            Err(Errno::AGAIN) => Ok(Read::Nothing { drained: true }),
            Err(Errno::INTR) => continue,
            Err(error) => Err(reset_failure(error.into())),
        };
    }
}

/// An attempt to connect that ended before it began: for want of something of ours nothing was sent.
pub(super) fn dial_failure(error: io::Error) -> Failure {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::MFILE | Errno::NFILE) => {
            (Outcome::Unsent, Reason::words("no file descriptor is left (raise `ulimit -n`)"))
        }
        Some(Errno::ADDRNOTAVAIL) => (Outcome::Unsent, Reason::words("no local port is left (reuse connections)")),
        Some(Errno::NOBUFS | Errno::NOMEM | Errno::NOSPC) => (Outcome::Unsent, error.into()),
        // What a Unix socket says whose server does not accept.
        Some(Errno::AGAIN) => (Outcome::Refused, Reason::words("the server's backlog is full")),
        _ => connect_failure(error),
    }
}

/// A connection attempt that failed.
pub(super) fn connect_failure(error: io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::TimedOut => (Outcome::Timeout, error.into()),
        _ => (Outcome::Refused, error.into()),
    }
}

/// A connection that broke under an exchange.
pub(super) fn reset_failure(error: io::Error) -> Failure {
    (Outcome::Reset, error.into())
}
