//! The listening address and socket.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::str::FromStr;

use offered_base::InvalidValue;

/// An address to listen on: `127.0.0.1:8080` (port 0: any free one), `[::1]:8080` or `unix:/path/to.sock`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A TCP address.
    Tcp(SocketAddr),
    /// A Unix socket; the file must not exist yet.
    Unix(PathBuf),
}

impl FromStr for Address {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        match text.strip_prefix("unix:") {
            Some("") => Err(InvalidValue::new("`unix:` needs a path; write for example unix:/tmp/offered.sock")),
            Some(path) => Ok(Self::Unix(path.into())),
            None => text.parse().map(Self::Tcp).map_err(|_| {
                InvalidValue::new(format!(
                    "`{text}` is not an address to listen on; write for example 127.0.0.1:8080, [::1]:8080 or \
                     unix:/tmp/offered.sock"
                ))
            }),
        }
    }
}

/// As a URL: `http://127.0.0.1:8080` or `unix:/tmp/offered.sock`.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "http://{address}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// A bound socket. Dropping a Unix socket removes its file.
#[derive(Debug)]
pub(crate) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener, PathBuf),
}

impl Listener {
    /// Binds to `address` (TCP with `SO_REUSEADDR`), non-blocking, with the longest accept queue that the system
    /// permits: a burst must wait here and not in the client's retransmission timer.
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
        // Calling listen again only changes the queue length; the system limits it (SOMAXCONN).
        rustix::net::listen(&listener, 65_535)?;
        Ok(listener)
    }

    /// The actual address, including the port that the system chose.
    pub(crate) fn address(&self) -> io::Result<Address> {
        Ok(match self {
            Self::Tcp(listener) => Address::Tcp(listener.local_addr()?),
            Self::Unix(_, path) => Address::Unix(path.clone()),
        })
    }

    /// Accepts the next connection, non-blocking and with Nagle's algorithm disabled.
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
            // An error means that the file does not exist any more.
            let _ = std::fs::remove_file(path);
        }
    }
}
