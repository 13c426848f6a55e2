//! Adapts a stream to the asynchronous traits that `h2` uses: where a socket would block, the result is pending.

use std::cell::RefCell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use offered_io::Ready;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::transport::Failure;
use crate::transport::socket::Read;
use crate::transport::stream::Stream;

/// Maximum number of reads of a connection per loop iteration. One read may contain thousands of frames.
const READS_PER_TURN: usize = 2;

/// A stream shared by the `h2` connection, which reads and writes it, and the client, which registers it with the
/// poller.
pub(super) struct SharedStream {
    pub(super) stream: Stream,
    /// Whether data may be waiting. If false, no system call is made, because the poller will report new data.
    readable: bool,
    /// Number of reads left in this iteration, and number of bytes read in it.
    reads_left: usize,
    pub(super) bytes_read: usize,
    /// Whether unfinished work has been reported in this iteration.
    has_reported_more: bool,
    /// The peer may have closed; the poller will not report the end again.
    read_to_end: bool,
    /// The failure of the stream, before `h2` turned it into a text.
    pub(super) failure: Option<Failure>,
    /// Bytes read from the socket, and the number of them that `h2` has taken.
    read: (Vec<u8>, usize),
    /// The read buffer, shared by all connections of a thread.
    buffer: Rc<RefCell<Box<[u8]>>>,
}

/// The end of a shared stream that `h2` uses.
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

    /// Begins an iteration, because the socket is `ready`. Its reads are timestamped if `are_stamped`.
    pub(super) fn begin_turn(&mut self, ready: Ready, are_stamped: bool) {
        self.stream.stamp_reads(are_stamped);
        self.readable |= ready.readable;
        self.read_to_end |= ready.closed;
        (self.reads_left, self.bytes_read, self.has_reported_more) = (READS_PER_TURN, 0, false);
    }

    /// Whether the reads of this iteration are used up and more remains. True at most once per iteration.
    pub(super) fn has_more(&mut self) -> bool {
        let more = self.readable && self.reads_left == 0 && !self.has_reported_more;
        self.has_reported_more |= more;
        more
    }

    /// Reads from the socket. Returns whether there is data, or the end.
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
        // The rest of TLS is written when the socket is writable again.
        Poll::Ready(self.0.borrow_mut().stream.flush())
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(())) // dropping it closes it
    }
}
