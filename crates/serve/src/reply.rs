//! Answers, as they go onto the wire: well-behaved ones, and those that try a client's patience.

use std::io::{self, Write};

use crate::files::Opened;

/// What is answered.
#[derive(Debug, PartialEq)]
pub(crate) enum Reply {
    /// 200 and three bytes: a job done.
    Done,
    /// This status, and a body that names it where a body is allowed.
    Status(u16),
    /// 200 and this many bytes, announced by their number.
    Bytes(u64),
    /// 200 and this many bytes in chunks.
    Chunked(u64),
    /// 200 and this many bytes, ended by the end of the connection.
    NoLength(u64),
    /// 200 and a file, as far as it may go out.
    File(Opened),
    /// 200 and the request as it came: its head and the data of its body.
    Echo(Vec<u8>),
    /// 100, 103, then 200.
    Continue,
    /// 400, or the status of what was too large, and this line.
    Wrong(String),
    /// 431, and the connection ends.
    TooLargeHead,
    /// 413: an echo longer than [`MAX_ECHO`].
    TooLargeBody,
    /// 1000 bytes announced, 500 sent, and the connection ends.
    Early,
    /// Bytes that are not HTTP, and the connection ends.
    Garbage,
    /// The connection ends without an answer.
    Close,
    /// The connection is reset without an answer.
    Reset,
    /// Nothing, ever.
    Stall,
}

/// The longest request that is echoed, in bytes.
pub(crate) const MAX_ECHO: usize = 1 << 20;

/// What a request's head demands of any answer to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    /// No body, though its length is told.
    pub(crate) head_only: bool,
    /// HTTP/1.0.
    pub(crate) is_old: bool,
    pub(crate) keep_alive: bool,
}

/// What becomes of the connection when the answer is out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    KeepOn,
    /// End our side, and wait for the other to end its own: closing with unread bytes would reset the connection and take the
    /// answer with it.
    Finish,
    /// Our side has ended.
    Finished,
    Close,
    Reset,
    Stall,
}

/// The part of a body that is not written yet.
#[derive(Debug)]
pub(crate) struct Body {
    left: u64,
    is_chunked: bool,
    /// Whose last bytes are left; of no file, something to look at.
    file: Option<Opened>,
}

const CHUNK: u64 = 16 * 1024;
static FILLER: [u8; CHUNK as usize] = filler();

/// Lines of 64 characters, so that a body looks like something in a terminal.
const fn filler() -> [u8; CHUNK as usize] {
    let mut bytes = [b'.'; CHUNK as usize];
    let mut i = 63;
    while i < bytes.len() {
        bytes[i] = b'\n';
        i += 64;
    }
    bytes
}

impl Body {
    pub(crate) const EMPTY: Self = Self::of(0);

    const fn of(bytes: u64) -> Self {
        Self { left: bytes, is_chunked: false, file: None }
    }

    pub(crate) fn is_written(&self) -> bool {
        self.left == 0 && !self.is_chunked
    }

    /// Writes the next piece, at most [`CHUNK`] bytes of data, and of a file no more than its first `allowed` bytes in all; whether there
    /// was one.
    ///
    /// # Errors
    /// The file cannot be read to the length that was announced.
    pub(crate) fn write(&mut self, allowed: u64, out: &mut Vec<u8>) -> io::Result<bool> {
        if let Some(file) = &self.file {
            let from = file.length - self.left;
            let size = allowed.min(file.length).saturating_sub(from).min(CHUNK);
            file.read(from, size as usize, out)?;
            self.left -= size;
            return Ok(size > 0);
        }
        let size = self.left.min(CHUNK);
        let data = &FILLER[..size as usize];
        self.left -= size;
        if !self.is_chunked {
            out.extend_from_slice(data);
            return Ok(true);
        }
        put(out, format_args!("{size:x}\r\n"));
        out.extend_from_slice(data);
        out.extend_from_slice(b"\r\n");
        // The chunk of no bytes ends the body.
        self.is_chunked = size > 0;
        Ok(true)
    }
}

fn put(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a vector takes all bytes");
}

impl Reply {
    /// Writes the head and whatever is short; returns the rest of the body, and what becomes of the connection after it.
    pub(crate) fn write(self, manner: Manner, out: &mut Vec<u8>) -> (Body, After) {
        let Manner { head_only, is_old, keep_alive } = manner;
        let after = if keep_alive { After::KeepOn } else { After::Finish };
        let short = |status: u16, text: &str, out: &mut Vec<u8>| {
            head(status, Some(text.len() as u64), manner, out);
            if !head_only {
                out.extend_from_slice(text.as_bytes());
            }
            (Body::EMPTY, after)
        };
        match self {
            Self::Done if keep_alive && !head_only && !is_old => {
                out.extend_from_slice(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n");
                (Body::EMPTY, after)
            }
            Self::Done => short(200, "ok\n", out),
            Self::Status(code @ (204 | 304)) => {
                head(code, None, manner, out);
                (Body::EMPTY, after)
            }
            Self::Status(code) => short(code, &format!("{code} {}\n", reason(code)), out),
            Self::Wrong(line) => short(400, &format!("{line}\n"), out),
            Self::TooLargeHead => short(431, "the head of a request may have 16384 bytes and 100 fields\n", out),
            Self::TooLargeBody => short(413, "only requests up to 1 MiB are echoed\n", out),
            Self::Continue => {
                if !is_old {
                    out.extend_from_slice(
                        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\n",
                    );
                }
                short(200, "ok\n", out)
            }
            Self::Echo(text) => {
                head(200, Some(text.len() as u64), manner, out);
                if !head_only {
                    out.extend_from_slice(&text);
                }
                (Body::EMPTY, after)
            }
            Self::Bytes(bytes) => {
                head(200, Some(bytes), manner, out);
                (Body::of(if head_only { 0 } else { bytes }), after)
            }
            Self::File(file) => {
                head(200, Some(file.length), manner, out);
                let body = Body { left: file.length, is_chunked: false, file: Some(file) };
                (if head_only { Body::EMPTY } else { body }, after)
            }
            Self::Chunked(bytes) if !is_old => {
                out.extend_from_slice(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n");
                end_head(manner, out);
                (if head_only { Body::EMPTY } else { Body { is_chunked: true, ..Body::of(bytes) } }, after)
            }
            Self::Chunked(bytes) | Self::NoLength(bytes) => {
                head(200, None, Manner { keep_alive: false, ..manner }, out);
                (Body::of(if head_only { 0 } else { bytes }), After::Finish)
            }
            Self::Early => {
                head(200, Some(1000), manner, out);
                (Body::of(if head_only { 0 } else { 500 }), After::Finish)
            }
            Self::Garbage => {
                out.extend_from_slice(b"\x00\xffthis is not HTTP\r\n\r\n");
                (Body::EMPTY, After::Finish)
            }
            Self::Close => (Body::EMPTY, After::Close),
            Self::Reset => (Body::EMPTY, After::Reset),
            Self::Stall => (Body::EMPTY, After::Stall),
        }
    }
}

/// Writes a head with this status and length of body (`None`: not told).
fn head(status: u16, length: Option<u64>, manner: Manner, out: &mut Vec<u8>) {
    put(out, format_args!("HTTP/1.1 {status} {}\r\n", reason(status)));
    if let Some(length) = length {
        put(out, format_args!("Content-Length: {length}\r\n"));
    }
    end_head(manner, out);
}

fn end_head(manner: Manner, out: &mut Vec<u8>) {
    out.extend_from_slice(match manner {
        Manner { keep_alive: false, .. } => b"Connection: close\r\n\r\n".as_slice(),
        Manner { is_old: true, .. } => b"Connection: keep-alive\r\n\r\n",
        _ => b"\r\n",
    });
}

const fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        304 => "Not Modified",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        413 => "Content Too Large",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "On Demand",
    }
}
