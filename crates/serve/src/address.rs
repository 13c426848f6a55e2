//! Where the server listens, and the connections it accepts there.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::str::FromStr;

use offered_model::Wrong;

/// An address to listen on: `127.0.0.1:8080` (port 0: any free one), `[::1]:8080` or `unix:/path/to.sock`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// TCP.
    Tcp(SocketAddr),
    /// A Unix socket, a file that must not exist yet.
    Unix(PathBuf),
}

impl FromStr for Address {
    type Err = Wrong;

    fn from_str(text: &str) -> Result<Self, Wrong> {
        match text.strip_prefix("unix:") {
            Some("") => Err(Wrong::new("`unix:` names no file; write for example unix:/tmp/offered.sock")),
            Some(path) => Ok(Self::Unix(path.into())),
            None => text.parse().map(Self::Tcp).map_err(|_| {
                Wrong::new(format!(
                    "`{text}` is not an address to listen on; write for example 127.0.0.1:8080, [::1]:8080 or \
                     unix:/tmp/offered.sock"
                ))
            }),
        }
    }
}

/// As a URL where there is one: `http://127.0.0.1:8080`, `unix:/tmp/offered.sock`.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "http://{address}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// A bound socket; a Unix one takes its file away when it is dropped.
#[derive(Debug)]
pub(crate) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener, PathBuf),
}

impl Listener {
    /// Bound to `address` (TCP with `SO_REUSEADDR`), not blocking, with as long an accept queue as the system gives: a burst
    /// must wait here and not in the client's retransmission timer.
    pub(crate) fn bind(address: &Address) -> io::Result<Self> {
        let listener = match address {
            Address::Tcp(address) => {
                let listener = TcpListener::bind(address)?;
                listener.set_nonblocking(true)?;
                Self::Tcp(listener)
            }
            Address::Unix(path) => {
                let listener = UnixListener::bind(path)?;
                listener.set_nonblocking(true)?;
                Self::Unix(listener, path.clone())
            }
        };
        // Listening again only changes the length of the queue; the system cuts it to its own limit (SOMAXCONN).
        rustix::net::listen(&listener, 65_535)?;
        Ok(listener)
    }

    /// Where it came to listen, the port the system chose included.
    pub(crate) fn address(&self) -> io::Result<Address> {
        Ok(match self {
            Self::Tcp(listener) => Address::Tcp(listener.local_addr()?),
            Self::Unix(_, path) => Address::Unix(path.clone()),
        })
    }

    /// The next waiting connection, not blocking, without Nagle's delay.
    pub(crate) fn accept(&self) -> io::Result<OwnedFd> {
        match self {
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(true)?;
                stream.set_nodelay(true)?;
                Ok(stream.into())
            }
            Self::Unix(listener, _) => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(true)?;
                Ok(stream.into())
            }
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(listener) => listener.as_fd(),
            Self::Unix(listener, _) => listener.as_fd(),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Self::Unix(_, path) = self {
            // If it is already gone, so much the better.
            let _ = std::fs::remove_file(path);
        }
    }
}
