//! Responses on the wire: regular ones, and faulty ones that test a client.

use std::io::{self, Write};

use crate::completion::Completion;
use crate::open_file::OpenFile;

/// A response.
#[derive(Debug, PartialEq)]
pub(crate) enum Response {
    /// 200 and three bytes: a completed job.
    Ok,
    /// A response with this status, and the name of the status as the body if a body is allowed.
    Status(u16),
    /// 200 and this many bytes, with Content-Length.
    Bytes(u64),
    /// 200 and this many bytes, chunked.
    Chunked(u64),
    /// 200 and this many bytes, ended by closing the connection.
    NoLength(u64),
    /// 200 and a file; the discipline determines how much of it may be sent.
    File(OpenFile),
    /// 200 and the tokens of a language model: streamed, or in one document.
    Completion(Box<Completion>),
    /// 200 and this JSON document.
    Json(String),
    /// 200 and the request as received: its head and the data of its body.
    Echo(Vec<u8>),
    /// 100, 103, then 200.
    Continue,
    /// 400 with this line as the body.
    BadRequest(String),
    /// 431, then the connection is closed.
    TooLargeHead,
    /// 413: an echo longer than [`MAX_ECHO`], or a request for a completion of more than 16 MiB.
    TooLargeBody,
    /// Content-Length 1000 and 500 bytes, then the connection is closed.
    Early,
    /// Bytes that are not HTTP, then the connection is closed.
    Garbage,
    /// The connection is closed without a response.
    Close,
    /// The connection is reset without a response.
    Reset,
    /// No response, and the connection stays open.
    Stall,
}

/// Longest request that is echoed, in bytes.
pub(crate) const MAX_ECHO: usize = 1 << 20;

/// How the response must be framed, according to the request's head.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResponseFraming {
    /// Send the head only, with the length of the body (HEAD).
    pub(crate) head_only: bool,
    /// The client speaks HTTP/1.0.
    pub(crate) is_old: bool,
    pub(crate) keep_alive: bool,
}

/// What to do with the connection after the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionAction {
    KeepAlive,
    /// Shut down writing and wait for the client to close: closing with unread bytes would reset the connection and
    /// lose the response.
    ShutDownWrite,
    /// Writing is shut down; wait for the client to close.
    AwaitClose,
    Close,
    Reset,
    Stall,
}

/// The unwritten rest of a body.
#[derive(Debug)]
pub(crate) struct Body {
    left: u64,
    is_chunked: bool,
    /// The file, and the number of its remaining bytes; without a file the body is filler text.
    file: Option<OpenFile>,
    /// The tokens to stream, `left` of which are not written.
    tokens: Option<Box<Completion>>,
}

/// Maximum number of tokens of a piece of a body.
const MAX_TOKENS: u32 = 64;

const CHUNK: u64 = 16 * 1024;
static FILLER: [u8; CHUNK as usize] = filler();

/// Lines of 64 characters, readable in a terminal.
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
        Self { left: bytes, is_chunked: false, file: None, tokens: None }
    }

    pub(crate) fn is_written(&self) -> bool {
        self.left == 0 && !self.is_chunked
    }

    /// Writes the next tokens, up to `allowed` in total, and the end after the last one. Returns whether it has written
    /// any.
    fn write_tokens(&mut self, allowed: u64, out: &mut Vec<u8>) -> bool {
        let Some(completion) = &self.tokens else { return false };
        let all = completion.output();
        let from = all - self.left as u32;
        let until = u32::try_from(allowed).unwrap_or(all).min(all).min(from + MAX_TOKENS);
        (from..until).for_each(|token| completion.write_token(token, self.is_chunked, out));
        self.left = u64::from(all - until.max(from));
        if self.left == 0 {
            completion.write_end(self.is_chunked, out);
            if std::mem::take(&mut self.is_chunked) {
                out.extend_from_slice(b"0\r\n\r\n");
            }
        }
        until > from
    }

    /// Writes the next piece, at most [`CHUNK`] bytes of data; of a file, at most its first `allowed` bytes in total; of
    /// tokens, at most the first `allowed`. Returns whether there was a piece.
    ///
    /// # Errors
    /// The file cannot be read to the length that was announced.
    pub(crate) fn write(&mut self, allowed: u64, out: &mut Vec<u8>) -> io::Result<bool> {
        if self.tokens.is_some() {
            return Ok(self.write_tokens(allowed, out));
        }
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
        // A chunk of length zero ends the body.
        self.is_chunked = size > 0;
        Ok(true)
    }
}

fn put(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a vector takes all bytes");
}

impl Response {
    /// Writes the head and short bodies. Returns the rest of the body, and what to do with the connection after it.
    pub(crate) fn write(self, framing: ResponseFraming, out: &mut Vec<u8>) -> (Body, ConnectionAction) {
        let ResponseFraming { head_only, is_old, keep_alive } = framing;
        let after = if keep_alive { ConnectionAction::KeepAlive } else { ConnectionAction::ShutDownWrite };
        let short = |status: u16, text: &str, out: &mut Vec<u8>| {
            head(status, Some(text.len() as u64), framing, out);
            if !head_only {
                out.extend_from_slice(text.as_bytes());
            }
            (Body::EMPTY, after)
        };
        match self {
            Self::Ok if keep_alive && !head_only && !is_old => {
                out.extend_from_slice(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n");
                (Body::EMPTY, after)
            }
            Self::Ok => short(200, "ok\n", out),
            Self::Status(code @ (204 | 304)) => {
                head(code, None, framing, out);
                (Body::EMPTY, after)
            }
            Self::Status(code) => short(code, &format!("{code} {}\n", reason(code)), out),
            Self::BadRequest(line) => short(400, &format!("{line}\n"), out),
            Self::TooLargeHead => {
                short(431, "the head of a request may have at most 16384 bytes and 100 fields\n", out)
            }
            Self::TooLargeBody => {
                short(413, "the body is too large: /echo accepts up to 1 MiB, a completion 16 MiB\n", out)
            }
            Self::Continue => {
                if !is_old {
                    out.extend_from_slice(
                        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\n",
                    );
                }
                short(200, "ok\n", out)
            }
            Self::Echo(text) => {
                head(200, Some(text.len() as u64), framing, out);
                if !head_only {
                    out.extend_from_slice(&text);
                }
                (Body::EMPTY, after)
            }
            Self::Completion(completion) if completion.is_streamed => stream(completion, framing, out),
            Self::Completion(completion) => (document(&completion.whole(), framing, out), after),
            Self::Json(text) => (document(&text, framing, out), after),
            Self::Bytes(bytes) => {
                head(200, Some(bytes), framing, out);
                (Body::of(if head_only { 0 } else { bytes }), after)
            }
            Self::File(file) => {
                head(200, Some(file.length), framing, out);
                let body = Body { left: file.length, file: Some(file), ..Body::EMPTY };
                (if head_only { Body::EMPTY } else { body }, after)
            }
            Self::Chunked(bytes) if !is_old => {
                out.extend_from_slice(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n");
                end_head(framing, out);
                (if head_only { Body::EMPTY } else { Body { is_chunked: true, ..Body::of(bytes) } }, after)
            }
            Self::Chunked(bytes) | Self::NoLength(bytes) => {
                head(200, None, ResponseFraming { keep_alive: false, ..framing }, out);
                (Body::of(if head_only { 0 } else { bytes }), ConnectionAction::ShutDownWrite)
            }
            Self::Early => {
                head(200, Some(1000), framing, out);
                (Body::of(if head_only { 0 } else { 500 }), ConnectionAction::ShutDownWrite)
            }
            Self::Garbage => {
                out.extend_from_slice(b"\x00\xffthis is not HTTP\r\n\r\n");
                (Body::EMPTY, ConnectionAction::ShutDownWrite)
            }
            Self::Close => (Body::EMPTY, ConnectionAction::Close),
            Self::Reset => (Body::EMPTY, ConnectionAction::Reset),
            Self::Stall => (Body::EMPTY, ConnectionAction::Stall),
        }
    }
}

/// Writes the head of a stream of tokens. Returns its body, and what to do with the connection after it.
fn stream(completion: Box<Completion>, framing: ResponseFraming, out: &mut Vec<u8>) -> (Body, ConnectionAction) {
    let is_chunked = !framing.is_old;
    let keep_alive = framing.keep_alive && is_chunked;
    out.extend_from_slice(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n");
    if is_chunked {
        out.extend_from_slice(b"Transfer-Encoding: chunked\r\n");
    }
    end_head(ResponseFraming { keep_alive, ..framing }, out);
    let body = Body { left: completion.output().into(), is_chunked, file: None, tokens: Some(completion) };
    (body, if keep_alive { ConnectionAction::KeepAlive } else { ConnectionAction::ShutDownWrite })
}

/// Writes a JSON document with its head.
fn document(text: &str, framing: ResponseFraming, out: &mut Vec<u8>) -> Body {
    let length = text.len();
    put(out, format_args!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n"));
    end_head(framing, out);
    if !framing.head_only {
        out.extend_from_slice(text.as_bytes());
    }
    Body::EMPTY
}

/// Writes a head with this status and length of the body (`None`: no Content-Length).
fn head(status: u16, length: Option<u64>, framing: ResponseFraming, out: &mut Vec<u8>) {
    put(out, format_args!("HTTP/1.1 {status} {}\r\n", reason(status)));
    if let Some(length) = length {
        put(out, format_args!("Content-Length: {length}\r\n"));
    }
    end_head(framing, out);
}

fn end_head(framing: ResponseFraming, out: &mut Vec<u8>) {
    out.extend_from_slice(match framing {
        ResponseFraming { keep_alive: false, .. } => b"Connection: close\r\n\r\n".as_slice(),
        ResponseFraming { is_old: true, .. } => b"Connection: keep-alive\r\n\r\n",
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
        400 => "RequestError Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        413 => "Content Too Large",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        502 => "RequestError Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "On Demand",
    }
}
