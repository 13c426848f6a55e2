//! One connection: a non-blocking socket and the exchange it carries.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;

use offered_model::{Event, Nanos};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketType, bind, connect, ipproto, recv, send, socket,
    sockopt,
};

use super::addresses::Place;
use super::answer::Answer;

/// A connection and what it is doing.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) socket: OwnedFd,
    /// Its serial number within the worker, from 0.
    pub(super) number: u32,
    /// Whether it is open; until then it is connecting.
    pub(super) open: bool,
    /// How many requests it has carried.
    pub(super) carried: u64,
    /// What it carries now.
    pub(super) exchange: Option<Exchange>,
    /// Bytes still to be written, and how many of them have been.
    pub(super) unwritten: (Vec<u8>, usize),
}

/// A request under way.
#[derive(Debug)]
pub(super) struct Exchange {
    /// What is known of its event so far.
    pub(super) event: Event,
    pub(super) answer: Answer,
    /// Tells it from the connection's earlier and later exchanges.
    pub(super) serial: u64,
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

impl Connection {
    /// Why the attempt to connect failed, once it has ended; `Ok` when it is open.
    pub(super) fn connected(&self) -> io::Result<()> {
        Ok(sockopt::socket_error(&self.socket)??)
    }

    /// Writes `bytes`, or as much as the socket takes; the rest is kept for [`Self::write_on`].
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        // A broken connection is an error here: the standard library has SIGPIPE ignored from the start.
        let written = match send(&self.socket, bytes, SendFlags::empty()) {
            Ok(written) if written == bytes.len() => return Ok(()),
            Ok(written) => written,
            Err(Errno::AGAIN | Errno::INTR) => 0,
            Err(error) => {
                self.unwritten = (bytes.to_vec(), 0);
                return Err(error.into());
            }
        };
        self.unwritten = (bytes[written..].to_vec(), 0);
        self.write_on()
    }

    /// Writes more of what is left, until the socket takes no more.
    pub(super) fn write_on(&mut self) -> io::Result<()> {
        while self.unwritten.1 < self.unwritten.0.len() {
            match send(&self.socket, &self.unwritten.0[self.unwritten.1..], SendFlags::empty()) {
                Ok(written) => self.unwritten.1 += written,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        self.unwritten = (Vec::new(), 0);
        Ok(())
    }

    /// Reads what has come, as much as `buffer` holds; 0: the other side has closed.
    pub(super) fn read(&self, buffer: &mut [u8]) -> Result<usize, Errno> {
        // `recv` and `send`, not `read` and `write`: the system need not find out that this is no file.
        recv(&self.socket, buffer, RecvFlags::empty()).map(|(read, _)| read)
    }

    /// What it carries, with the bytes that were never written taken off its event.
    pub(super) fn into_exchange(self) -> Option<Exchange> {
        let unwritten = (self.unwritten.0.len() - self.unwritten.1) as u64;
        let mut exchange = self.exchange?;
        exchange.event.bytes_out -= unwritten;
        Some(exchange)
    }

    /// Whether the exchange under way was begun at `serial`.
    pub(super) fn is_at(&self, serial: u64) -> bool {
        self.exchange.as_ref().is_some_and(|exchange| exchange.serial == serial)
    }
}

impl Exchange {
    /// Bytes read at `now`.
    pub(super) fn received(&mut self, bytes: usize, now: Nanos) {
        self.event.first_byte.get_or_insert(now);
        self.event.bytes_in += bytes as u64;
    }
}
