//! A stream as `h2` wants it: reads and writes that say "not yet" where a socket would block.

use std::cell::RefCell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use offered_clock::Ready;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::transport::Failure;
use crate::transport::socket::Read;
use crate::transport::stream::Stream;

/// How often a connection is read in a turn. (There may be thousands of frames in one read.)
const TURN: usize = 2;

/// A stream and what is known of it, for the connection that reads and writes it and the poller that watches it.
pub(super) struct Link {
    pub(super) stream: Stream,
    /// Whether there may be something to read. Else the system is not asked: the poller will tell.
    readable: bool,
    /// How many more times it is read in this turn, and how many bytes that has brought.
    turn: usize,
    pub(super) taken: usize,
    /// Whether it has been noted that there is more than a turn takes.
    is_noted: bool,
    /// The other side may have closed: the end will not be told again.
    to_the_end: bool,
    /// What went wrong with it, before `h2` made a text of it.
    pub(super) failure: Option<Failure>,
    /// Read and not yet taken, and how much of it has been.
    read: (Vec<u8>, usize),
    /// What one read fills, one for all connections of a thread.
    buffer: Rc<RefCell<Box<[u8]>>>,
}

/// One of the two ends of a link: the other is the transport's.
pub(super) struct Io(pub(super) Rc<RefCell<Link>>);

impl Link {
    pub(super) fn new(stream: Stream, buffer: Rc<RefCell<Box<[u8]>>>) -> Self {
        Self {
            stream,
            readable: true,
            turn: 0,
            taken: 0,
            is_noted: false,
            to_the_end: false,
            failure: None,
            read: (Vec::new(), 0),
            buffer,
        }
    }

    /// Its turn has come, because its socket is `ready`.
    pub(super) fn begin_turn(&mut self, ready: Ready) {
        self.readable |= ready.readable;
        self.to_the_end |= ready.closed;
        (self.turn, self.taken, self.is_noted) = (TURN, 0, false);
    }

    /// Whether its turn is over and there is more to read; said once a turn.
    pub(super) fn has_more(&mut self) -> bool {
        let more = self.readable && self.turn == 0 && !self.is_noted;
        self.is_noted |= more;
        more
    }

    /// Reads once from the socket; whether there is something, or the end.
    fn fill(&mut self) -> io::Result<bool> {
        while self.turn > 0 {
            self.turn -= 1;
            let mut buffer = self.buffer.borrow_mut();
            match self.stream.read(&mut buffer) {
                Ok(Read::Some { bytes, drained }) => {
                    self.readable = !drained || self.to_the_end;
                    self.taken += bytes;
                    self.read.0.clear();
                    self.read.0.extend_from_slice(&buffer[..bytes]);
                    self.read.1 = 0;
                    return Ok(true);
                }
                Ok(Read::Nothing { drained }) => {
                    self.readable = !drained;
                    if drained {
                        return Ok(false);
                    }
                }
                Ok(Read::End) => {
                    self.read = (Vec::new(), 0);
                    return Ok(true);
                }
                Err((outcome, why)) => {
                    let error = io::Error::other(why.to_string());
                    self.failure = Some((outcome, why));
                    return Err(error);
                }
            }
        }
        Ok(false)
    }
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

impl AsyncRead for Io {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let link = &mut *self.0.borrow_mut();
        if link.read.1 == link.read.0.len() && (!link.readable || !link.fill()?) {
            return Poll::Pending;
        }
        let (bytes, taken) = &mut link.read;
        let more = out.remaining().min(bytes.len() - *taken);
        out.put_slice(&bytes[*taken..*taken + more]);
        *taken += more;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Io {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            return match self.0.borrow_mut().stream.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Poll::Pending,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                written => Poll::Ready(written),
            };
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // What TLS holds back goes out when the socket is writable again.
        Poll::Ready(self.0.borrow_mut().stream.flush())
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(())) // dropping it closes it
    }
}
