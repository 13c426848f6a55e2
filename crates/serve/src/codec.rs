//! The request codec: bytes in, requests out, no socket anywhere.
//!
//! Bytes may come in any pieces; the same bytes give the same requests, and the same refusal at the same place. A head that
//! arrives whole, which is nearly always, is parsed where it lies; only a cut one is copied.

use std::mem::MaybeUninit;

use offered_chunked::{Chunks, Piece, Wrong};

/// The largest head, in bytes, request line and all.
pub(crate) const MAX_HEAD: usize = 16 * 1024;
/// The most header fields of one head.
const MAX_FIELDS: usize = 100;

/// Why a connection cannot go on: its bytes are not requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bad {
    /// 400: not HTTP, or HTTP that means two things at once.
    Malformed,
    /// 431: the head is longer than [`MAX_HEAD`] or has too many fields.
    TooLarge,
}

impl From<Wrong> for Bad {
    fn from(wrong: Wrong) -> Self {
        match wrong {
            Wrong::NoRoom => Self::TooLarge,
            _ => Self::Malformed,
        }
    }
}

/// One step through a request: its head, pieces of its body if it has one, its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part<'a> {
    Head(Head<'a>),
    Body(&'a [u8]),
    End,
}

/// What the request line and the fields said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // four independent facts of a head
pub(crate) struct Head<'a> {
    /// The head as it came, empty line included.
    pub(crate) text: &'a [u8],
    pub(crate) method: &'a str,
    pub(crate) target: &'a str,
    /// Answer with a head only.
    pub(crate) bodiless: bool,
    /// HTTP/1.0, which knows neither chunks nor 1xx.
    pub(crate) is_old: bool,
    pub(crate) keep_alive: bool,
    /// The client waits for `100 Continue` before it sends the body.
    pub(crate) expects: bool,
    /// What `Work-Ms` says.
    pub(crate) work: Option<&'a [u8]>,
    framing: Framing,
}

#[cfg(test)]
impl<'a> Head<'a> {
    /// `GET` of this target, with `Work-Ms` where it is said.
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
    Chunked(Chunks),
}

/// The state of one connection's incoming bytes.
#[derive(Debug)]
pub(crate) struct Decoder {
    state: State,
    /// The beginning of a cut head.
    kept: Vec<u8>,
}

impl Decoder {
    pub(crate) fn new() -> Self {
        Self { state: State::Head, kept: Vec::new() }
    }

    /// No request has begun that has not ended.
    pub(crate) fn is_between(&self) -> bool {
        matches!(self.state, State::Head) && self.kept.is_empty()
    }

    /// The next part found at the front of `input`, which moves on behind it; `None` when more bytes are needed.
    ///
    /// # Errors
    /// The bytes cannot become a request any more; the decoder must not be asked again.
    pub(crate) fn next<'a, 'i: 'a>(&'a mut self, input: &mut &'i [u8]) -> Result<Option<Part<'a>>, Bad> {
        if matches!(self.state, State::Head) {
            return self.head(input);
        }
        // A cut head was handed out; its bytes have served.
        self.kept.clear();
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

    fn head<'a, 'i: 'a>(&'a mut self, input: &mut &'i [u8]) -> Result<Option<Part<'a>>, Bad> {
        let before = self.kept.len();
        let room = MAX_HEAD - before;
        let fresh = &input[..input.len().min(room)];
        let is_full = input.len() >= room;
        let found = if before == 0 {
            let found = parse(fresh)?;
            if found.is_none() {
                self.kept.extend_from_slice(fresh);
            }
            found
        } else {
            self.kept.extend_from_slice(fresh);
            // Without the end of a line nothing can have changed; asking at every byte would cost the square of the head.
            if fresh.contains(&b'\n') { parse(&self.kept)? } else { None }
        };
        let Some(head) = found else {
            *input = &[];
            return if is_full { Err(Bad::TooLarge) } else { Ok(None) };
        };
        *input = &input[head.text.len() - before..];
        self.state = match head.framing {
            Framing::Length(bytes) => State::Length(bytes),
            Framing::Chunked => State::Chunked(Chunks::new(MAX_HEAD as u32)),
        };
        Ok(Some(Part::Head(head)))
    }
}

/// The head at the front of `bytes`, if it is there to its end.
///
/// Only whole lines are looked at, so that a fault is found at the same byte however the lines were cut.
fn parse(bytes: &[u8]) -> Result<Option<Head<'_>>, Bad> {
    let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let mut fields = [const { MaybeUninit::<httparse::Header<'_>>::uninit() }; MAX_FIELDS];
    let mut request = httparse::Request::new(&mut []);
    let length = match request.parse_with_uninit_headers(&bytes[..whole], &mut fields) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Bad::TooLarge),
        Err(_) => return Err(Bad::Malformed),
    };
    let (Some(method), Some(target), Some(version)) = (request.method, request.path, request.version) else {
        return Err(Bad::Malformed);
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
        // The shortest field of interest first by its length: most fields are skipped without looking at their letters.
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
                let said = decimal(field.value).ok_or(Bad::Malformed)?;
                if length.is_some_and(|before| before != said) {
                    return Err(Bad::Malformed);
                }
                length = Some(said);
            }
            17 if field.name.eq_ignore_ascii_case("transfer-encoding") => {
                if is_old || !field.value.eq_ignore_ascii_case(b"chunked") || head.framing == Framing::Chunked {
                    return Err(Bad::Malformed);
                }
                head.framing = Framing::Chunked;
            }
            _ => {}
        }
    }
    match length {
        // Two lengths for one body is how requests are smuggled past proxies (RFC 9112, section 6.1).
        Some(_) if head.framing == Framing::Chunked => return Err(Bad::Malformed),
        Some(length) => head.framing = Framing::Length(length),
        None => {}
    }
    Ok(Some(head))
}

/// Whether the comma-separated list `value` names `word`.
fn names(value: &[u8], word: &[u8]) -> bool {
    value.split(|&byte| byte == b',').any(|item| item.trim_ascii().eq_ignore_ascii_case(word))
}

/// Digits only: no sign, no blanks, nothing above 2^63.
fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    digits.iter().try_fold(0, |sum: u64, byte| byte.is_ascii_digit().then(|| sum * 10 + u64::from(byte - b'0')))
}

#[cfg(test)]
mod tests;
