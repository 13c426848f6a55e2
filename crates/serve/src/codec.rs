//! The request decoder: from bytes to requests, without a socket.
//!
//! Bytes may arrive in any pieces: the same bytes yield the same requests, and the same error at the same place. A head
//! that arrives in one piece, as nearly all heads do, is parsed in place; only a split head is copied.

use std::mem::MaybeUninit;

use offered_io::chunked::{self, ChunkError, Piece};

/// Maximum size of a head, in bytes, including the request line.
pub(crate) const MAX_HEAD: usize = 16 * 1024;
/// Maximum number of header fields of a head.
const MAX_FIELDS: usize = 100;

/// The bytes of a connection are not a valid request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestError {
    /// 400: not HTTP, or ambiguous HTTP.
    Malformed,
    /// 431: the head is longer than [`MAX_HEAD`] or has too many fields.
    TooLarge,
}

impl From<ChunkError> for RequestError {
    fn from(wrong: ChunkError) -> Self {
        match wrong {
            ChunkError::NoRoom => Self::TooLarge,
            _ => Self::Malformed,
        }
    }
}

/// A part of a request: its head, a piece of its body, or its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part<'a> {
    Head(Head<'a>),
    Body(&'a [u8]),
    End,
}

/// The content of the request line and the header fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // four independent facts of a head
pub(crate) struct Head<'a> {
    /// The raw head, including the empty line.
    pub(crate) text: &'a [u8],
    pub(crate) method: &'a str,
    pub(crate) target: &'a str,
    /// The response must have no body (HEAD).
    pub(crate) bodiless: bool,
    /// HTTP/1.0, which has neither chunked bodies nor 1xx responses.
    pub(crate) is_old: bool,
    pub(crate) keep_alive: bool,
    /// The client waits for `100 Continue` before it sends the body.
    pub(crate) expects: bool,
    /// Value of the `Work-Ms` header.
    pub(crate) work: Option<&'a [u8]>,
    framing: Framing,
}

#[cfg(test)]
impl<'a> Head<'a> {
    /// `GET` of this target, with a `Work-Ms` header if given.
    pub(crate) fn get(target: &'a str, work: Option<&'a str>) -> Self {
        Self {
            text: b"",
            method: "GET",
            target,
            bodiless: false,
            is_old: false,
            keep_alive: true,
            expects: false,
            work: work.map(str::as_bytes),
            framing: Framing::Length(0),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    Length(u64),
    Chunked,
}

#[derive(Debug)]
enum State {
    Head,
    Length(u64),
    Chunked(chunked::Decoder),
}

/// Decodes the incoming bytes of one connection.
#[derive(Debug)]
pub(crate) struct RequestDecoder {
    state: State,
    /// The first part of a split head.
    partial_head: Vec<u8>,
}

impl RequestDecoder {
    pub(crate) fn new() -> Self {
        Self { state: State::Head, partial_head: Vec::new() }
    }

    /// Whether no request is in progress.
    pub(crate) fn is_between(&self) -> bool {
        matches!(self.state, State::Head) && self.partial_head.is_empty()
    }

    /// Returns the next part at the front of `input` and advances `input` past it; `None` when more bytes are needed.
    ///
    /// # Errors
    /// The bytes cannot become a request; the decoder must not be used again.
    pub(crate) fn next<'a, 'i: 'a>(&'a mut self, input: &mut &'i [u8]) -> Result<Option<Part<'a>>, RequestError> {
        if matches!(self.state, State::Head) {
            return self.head(input);
        }
        // A split head has been returned; its bytes are not needed any more.
        self.partial_head.clear();
        let piece = match &mut self.state {
            State::Length(0) => None,
            State::Length(_) if input.is_empty() => return Ok(None),
            State::Length(left) => {
                let taken = input.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= taken as u64;
                Some(input.split_off(..taken).unwrap_or_default())
            }
            State::Chunked(chunks) => match chunks.next(input)? {
                Piece::Data(data) => Some(data),
                Piece::More => return Ok(None),
                Piece::End => None,
            },
            State::Head => unreachable!("answered above"),
        };
        Ok(Some(piece.map_or_else(
            || {
                self.state = State::Head;
                Part::End
            },
            Part::Body,
        )))
    }

    fn head<'a, 'i: 'a>(&'a mut self, input: &mut &'i [u8]) -> Result<Option<Part<'a>>, RequestError> {
        let before = self.partial_head.len();
        let available = MAX_HEAD - before;
        let fresh = &input[..input.len().min(available)];
        let is_full = input.len() >= available;
        let found = if before == 0 {
            let found = parse(fresh)?;
            if found.is_none() {
                self.partial_head.extend_from_slice(fresh);
            }
            found
        } else {
            self.partial_head.extend_from_slice(fresh);
            // Only a new line end can complete the head; parsing at every byte would be quadratic.
            if fresh.contains(&b'\n') { parse(&self.partial_head)? } else { None }
        };
        let Some(head) = found else {
            *input = &[];
            return if is_full { Err(RequestError::TooLarge) } else { Ok(None) };
        };
        *input = &input[head.text.len() - before..];
        self.state = match head.framing {
            Framing::Length(bytes) => State::Length(bytes),
            Framing::Chunked => State::Chunked(chunked::Decoder::new(MAX_HEAD as u32)),
        };
        Ok(Some(Part::Head(head)))
    }
}

/// The head at the front of `bytes`, if it is complete.
///
/// Only complete lines are parsed, so that an error is found at the same byte wherever the input was split.
fn parse(bytes: &[u8]) -> Result<Option<Head<'_>>, RequestError> {
    let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let mut fields = [const { MaybeUninit::<httparse::Header<'_>>::uninit() }; MAX_FIELDS];
    let mut request = httparse::Request::new(&mut []);
    let length = match request.parse_with_uninit_headers(&bytes[..whole], &mut fields) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(RequestError::TooLarge),
        Err(_) => return Err(RequestError::Malformed),
    };
    let (Some(method), Some(target), Some(version)) = (request.method, request.path, request.version) else {
        return Err(RequestError::Malformed);
    };
    let is_old = version == 0;
    let mut head = Head {
        text: &bytes[..length],
        method,
        target,
        bodiless: method == "HEAD",
        is_old,
        keep_alive: !is_old,
        expects: false,
        work: None,
        framing: Framing::Length(0),
    };
    let mut length = None;
    for field in request.headers.iter() {
        // Matching by length first skips most fields without comparing letters.
        match field.name.len() {
            6 if field.name.eq_ignore_ascii_case("expect") => {
                head.expects = !is_old && field.value.eq_ignore_ascii_case(b"100-continue");
            }
            7 if field.name.eq_ignore_ascii_case("work-ms") => head.work = Some(field.value),
            10 if field.name.eq_ignore_ascii_case("connection") => {
                if names(field.value, b"close") {
                    head.keep_alive = false;
                } else if is_old && names(field.value, b"keep-alive") {
                    head.keep_alive = true;
                }
            }
            14 if field.name.eq_ignore_ascii_case("content-length") => {
                let value = decimal(field.value).ok_or(RequestError::Malformed)?;
                if length.is_some_and(|before| before != value) {
                    return Err(RequestError::Malformed);
                }
                length = Some(value);
            }
            17 if field.name.eq_ignore_ascii_case("transfer-encoding") => {
                if is_old || !field.value.eq_ignore_ascii_case(b"chunked") || head.framing == Framing::Chunked {
                    return Err(RequestError::Malformed);
                }
                head.framing = Framing::Chunked;
            }
            _ => {}
        }
    }
    match length {
        // Two lengths for one body allow request smuggling (RFC 9112, section 6.1).
        Some(_) if head.framing == Framing::Chunked => return Err(RequestError::Malformed),
        Some(length) => head.framing = Framing::Length(length),
        None => {}
    }
    Ok(Some(head))
}

/// Whether the comma-separated list `value` contains `word`.
fn names(value: &[u8], word: &[u8]) -> bool {
    value.split(|&byte| byte == b',').any(|item| item.trim_ascii().eq_ignore_ascii_case(word))
}

/// Parses digits only: no sign, no blanks, at most 18 digits.
fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    digits.iter().try_fold(0, |sum: u64, byte| byte.is_ascii_digit().then(|| sum * 10 + u64::from(byte - b'0')))
}

#[cfg(test)]
mod tests;
