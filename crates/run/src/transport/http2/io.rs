//! A stream as `h2` wants it: reads and writes that say "not yet" where a socket would block.

use std::cell::RefCell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::transport::Failure;
use crate::transport::stream::{Read, Stream};

/// A stream and what is known of it, for the connection that reads and writes it and the poller that watches it.
pub(super) struct Link {
    pub(super) stream: Stream,
    /// Whether there may be something to read. Else the system is not asked: the poller will tell.
    pub(super) readable: bool,
    /// How many more times it is read before launches, or other connections, have their turn.
    pub(super) turn: usize,
    /// The other side may have closed: the end will not be told again.
    pub(super) to_the_end: bool,
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
        Self { stream, readable: true, turn: 0, to_the_end: false, failure: None, read: (Vec::new(), 0), buffer }
    }

    /// Reads once from the socket; whether there is something, or the end.
    fn fill(&mut self) -> io::Result<bool> {
        if self.turn == 0 {
            return Ok(false);
        }
        self.turn -= 1;
        let mut buffer = self.buffer.borrow_mut();
        match self.stream.read(&mut buffer) {
            Ok(Read::Some { bytes, drained }) => {
                self.readable = !drained || self.to_the_end;
                self.read.0.clear();
                self.read.0.extend_from_slice(&buffer[..bytes]);
                self.read.1 = 0;
                Ok(true)
            }
            Ok(Read::Nothing) => {
                self.readable = false;
                Ok(false)
            }
            Ok(Read::End) => {
                self.read = (Vec::new(), 0);
                Ok(true)
            }
            Err((outcome, why)) => {
                let error = io::Error::other(why.to_string());
                self.failure = Some((outcome, why));
                Err(error)
            }
        }
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
