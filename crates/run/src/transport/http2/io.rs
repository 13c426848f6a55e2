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
const READS_PER_TURN: usize = 2;

/// A stream and what is known of it, for the connection that reads and writes it and the poller that watches it.
pub(super) struct SharedStream {
    pub(super) stream: Stream,
    /// Whether there may be something to read. Else the system is not asked: the poller will tell.
    readable: bool,
    /// How many more times it is read in this turn, and how many bytes that has brought.
    reads_left: usize,
    pub(super) bytes_read: usize,
    /// Whether it has been noted that there is more than a turn takes.
    has_reported_more: bool,
    /// The other side may have closed: the end will not be told again.
    read_to_end: bool,
    /// What went wrong with it, before `h2` made a text of it.
    pub(super) failure: Option<Failure>,
    /// Read and not yet taken, and how much of it has been.
    read: (Vec<u8>, usize),
    /// What one read fills, one for all connections of a thread.
    buffer: Rc<RefCell<Box<[u8]>>>,
}

/// One of the two ends of a link: the other is the transport's.
pub(super) struct Io(pub(super) Rc<RefCell<SharedStream>>);

impl SharedStream {
    pub(super) fn new(stream: Stream, buffer: Rc<RefCell<Box<[u8]>>>) -> Self {
        Self {
            stream,
            readable: true,
            reads_left: 0,
            bytes_read: 0,
            has_reported_more: false,
            read_to_end: false,
            failure: None,
            read: (Vec::new(), 0),
            buffer,
        }
    }

    /// Its turn has come, because its socket is `ready`.
    pub(super) fn begin_turn(&mut self, ready: Ready) {
        self.readable |= ready.readable;
        self.read_to_end |= ready.closed;
        (self.reads_left, self.bytes_read, self.has_reported_more) = (READS_PER_TURN, 0, false);
    }

    /// Whether its turn is over and there is more to read; said once a turn.
    pub(super) fn has_more(&mut self) -> bool {
        let more = self.readable && self.reads_left == 0 && !self.has_reported_more;
        self.has_reported_more |= more;
        more
    }

    /// Reads once from the socket; whether there is something, or the end.
    fn fill(&mut self) -> io::Result<bool> {
        while self.reads_left > 0 {
            self.reads_left -= 1;
            let mut buffer = self.buffer.borrow_mut();
            match self.stream.read(&mut buffer) {
                Ok(Read::Some { bytes, drained }) => {
                    self.readable = !drained || self.read_to_end;
                    self.bytes_read += bytes;
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
                Err((outcome, reason)) => {
                    let error = io::Error::other(reason.to_string());
                    self.failure = Some((outcome, reason));
                    return Err(error);
                }
            }
        }
        Ok(false)
    }
}

impl AsFd for SharedStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

impl AsyncRead for Io {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let stream_ref = &mut *self.0.borrow_mut();
        if stream_ref.read.1 == stream_ref.read.0.len() && (!stream_ref.readable || !stream_ref.fill()?) {
            return Poll::Pending;
        }
        let (bytes, bytes_read) = &mut stream_ref.read;
        let more = out.remaining().min(bytes.len() - *bytes_read);
        out.put_slice(&bytes[*bytes_read..*bytes_read + more]);
        *bytes_read += more;
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
