//! Incremental parser of HTTP/1 responses: takes bytes and returns whether the response is complete (RFC 9112). It does
//! no I/O.
//!
//! Bodies are counted, not stored. Only the fields that determine the end of a response are examined: status,
//! `Content-Length`, `Transfer-Encoding`, `Connection`. The total size of the heads is limited as in curl
//! (`MAX_HTTP_RESP_HEADER_SIZE` and `MAX_HTTP_RESP_HEADER_COUNT` in its `lib/http.h`), so that an endless head fails.

use std::borrow::Cow;
use std::mem::MaybeUninit;

use httparse::{Header, ParserConfig, Status};
use offered_base::Nanos;
use offered_events::Reason;
use offered_io::chunked::{ChunkError, Decoder, Piece};

use crate::event_stream::StreamReader;
use crate::message::{OutgoingRequest, Response};

/// Maximum number of bytes of all heads of a response, including interim responses, chunk extensions and trailers.
const MAX_HEAD_BYTES: u32 = 300 * 1024;
/// Number of headers that fit on the stack, and the maximum number in one head.
const STACK_HEADERS: usize = 128;
const MAX_HEADERS: usize = 5000;

/// Number of bytes kept of something that is not HTTP, for the message.
const SNIPPET_BYTES: usize = 64;

/// A response being parsed.
#[derive(Debug)]
pub(crate) struct ResponseReader {
    state: State,
    /// Whether the request was HEAD: then there is no body, whatever the headers say.
    head_only: bool,
    /// The start of an incomplete head, and the length at which it was last parsed.
    partial: Vec<u8>,
    parsed: usize,
    /// Number of bytes that further heads may have.
    room: u32,
    status: u16,
    keep: bool,
    /// Whether `100 Continue` was received.
    saw_continue: bool,
    /// The response, if it is kept.
    response: Option<Box<Response>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Head,
    /// Number of bytes of the body still to come.
    Length(u64),
    Chunked(Decoder),
    /// The body ends with the connection.
    ToTheEnd,
    Done,
}

/// The progress of a response.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// More bytes are expected.
    More,
    /// The response is complete.
    Done {
        /// Whether the connection can carry another request.
        keep: bool,
    },
}

/// Parses a response that arrives in these pieces, after which the connection ends, and returns its status. `head_only`
/// is for responses to HEAD. It is the parser of the load generator, made public for fuzzing.
///
/// # Errors
/// The reason why the bytes are not a complete response.
pub fn read_response<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, head_only: bool) -> Result<u16, Reason> {
    let mut response = ResponseReader::new(head_only);
    let mut progress = Progress::More;
    for piece in pieces {
        progress = response.read::<false>(piece).map_err(|malformed| response.reason(malformed))?;
    }
    if progress == Progress::More {
        response.end()?;
    }
    Ok(response.status())
}

/// Why bytes are not a response.
pub(crate) type Malformed = &'static str;

const HEAD_TOO_LARGE: Malformed = "more than 300 KB of headers";
const NOT_HTTP: Malformed = "not an HTTP/1 response";
const TOO_MANY_HEADERS: Malformed = "more than 5000 headers";

impl ResponseReader {
    /// A parser for the response to one request; `head_only` if the request was HEAD.
    pub(crate) fn new(head_only: bool) -> Self {
        Self {
            state: State::Head,
            head_only,
            partial: Vec::new(),
            parsed: 0,
            room: MAX_HEAD_BYTES,
            status: 0,
            keep: false,
            saw_continue: false,
            response: None,
        }
    }

    /// The same for the response to `outgoing`, but keeps the headers, as much of the body as it wants, and the record of a stream. Read it
    /// with `KEEP`.
    pub(crate) fn keeping(outgoing: &OutgoingRequest) -> Self {
        let response = Some(Box::new(Response::to(outgoing, outgoing.body_limit)));
        Self { response, ..Self::new(outgoing.method == "HEAD") }
    }

    /// The stream in the response, if one is expected.
    pub(crate) fn stream(&mut self) -> Option<&mut StreamReader> {
        self.response.as_mut()?.stream.as_deref_mut()
    }

    /// Whether a stream is expected.
    pub(crate) fn has_stream(&self) -> bool {
        self.response.as_ref().is_some_and(|response| response.stream.is_some())
    }

    /// How long a stream is read at most; `None`: to its end.
    #[inline]
    pub(crate) fn listen(&self) -> Option<Nanos> {
        self.response.as_ref()?.stream.as_ref()?.listen()
    }

    /// The response, if it was kept.
    pub(crate) fn into_response(self) -> Option<Box<Response>> {
        self.response
    }

    /// Whether `100 Continue` was received. Known only if read with `KEEP`.
    pub(crate) fn saw_continue(&self) -> bool {
        self.saw_continue
    }

    /// The status; 0 until the head is complete.
    pub(crate) fn status(&self) -> u16 {
        self.status
    }

    /// Takes the next bytes. `KEEP` is a compile-time parameter, so that responses that are not kept cost nothing.
    ///
    /// # Errors
    /// The bytes are not HTTP, contradict each other, or continue after the end of the response.
    pub(crate) fn read<const KEEP: bool>(&mut self, input: &[u8]) -> Result<Progress, Malformed> {
        let progress = self.read_framed::<KEEP>(input)?;
        // The client ends some streams before the response ends.
        let is_over = KEEP && progress == Progress::More && self.stream().is_some_and(|stream| stream.is_over());
        Ok(if is_over { Progress::Done { keep: false } } else { progress })
    }

    fn read_framed<const KEEP: bool>(&mut self, mut input: &[u8]) -> Result<Progress, Malformed> {
        loop {
            match self.state {
                State::Head => match self.head::<KEEP>(input)? {
                    Some(used) => input = &input[used..],
                    None => return Ok(Progress::More),
                },
                State::Length(left) => {
                    let used = left.min(input.len() as u64);
                    self.keep_body::<KEEP>(&input[..used as usize]);
                    input = &input[used as usize..];
                    self.state = if used == left { State::Done } else { State::Length(left - used) };
                    if used < left {
                        return Ok(Progress::More);
                    }
                }
                State::Chunked(mut chunks) => {
                    let piece = chunks.next(&mut input).map_err(ChunkError::message)?;
                    self.state = if piece == Piece::End { State::Done } else { State::Chunked(chunks) };
                    match piece {
                        Piece::Data(data) => self.keep_body::<KEEP>(data),
                        Piece::More => return Ok(Progress::More),
                        Piece::End => {}
                    }
                }
                State::ToTheEnd => {
                    self.keep_body::<KEEP>(input);
                    return Ok(Progress::More);
                }
                State::Done if input.is_empty() => return Ok(Progress::Done { keep: self.keep }),
                State::Done => return Err("bytes after the end of the response"),
            }
        }
    }

    /// The reason for a malformed response. For something other than HTTP it includes the first bytes.
    pub(crate) fn reason(&self, malformed: Malformed) -> Reason {
        if malformed == NOT_HTTP { Reason::not_http(&self.partial) } else { Reason::words(malformed) }
    }

    /// Takes the end of the connection.
    ///
    /// # Errors
    /// The response was not complete.
    pub(crate) fn end(&self) -> Result<(), Reason> {
        Err(match self.state {
            State::Done | State::ToTheEnd => return Ok(()),
            State::Head if self.partial.is_empty() => Reason::words("closed before a response"),
            State::Head => Reason::words("closed within the response head"),
            State::Length(left) => Reason::TruncatedBody(left),
            State::Chunked(_) => Reason::words("closed within a chunked body"),
        })
    }

    /// Keeps bytes of the body.
    fn keep_body<const KEEP: bool>(&mut self, bytes: &[u8]) {
        if KEEP && let Some(response) = &mut self.response {
            response.add(bytes);
        }
    }

    /// Takes a head from `input`. Returns the number of bytes used, or `None` if the head continues.
    fn head<const KEEP: bool>(&mut self, input: &[u8]) -> Result<Option<usize>, Malformed> {
        if self.partial.is_empty() {
            let used = self.parse::<KEEP>(input)?;
            if used.is_none() {
                self.keep_partial(input)?;
                self.parsed = input.len();
            }
            return Ok(used);
        }
        let before = self.partial.len();
        self.keep_partial(input)?;
        // A head that arrives byte by byte would be parsed for every byte. Parse it only if its end may be there, or if
        // it has doubled.
        let tail = &self.partial[before.saturating_sub(3)..];
        let ends = tail.windows(2).any(|pair| pair == b"\n\n") || tail.windows(3).any(|three| three == b"\n\r\n");
        if !ends && self.partial.len() < 2 * self.parsed {
            return Ok(None);
        }
        self.parsed = self.partial.len();
        let whole = std::mem::take(&mut self.partial);
        let used = self.parse::<KEEP>(&whole)?;
        if used.is_none() {
            self.partial = whole;
        }
        Ok(used.map(|used| used - before))
    }

    /// Stores the beginning of a head until the rest arrives.
    fn keep_partial(&mut self, input: &[u8]) -> Result<(), Malformed> {
        self.partial.extend_from_slice(input);
        if self.partial.len() > self.room as usize { Err(HEAD_TOO_LARGE) } else { Ok(()) }
    }

    /// Parses one head at the start of `bytes` and decides what follows it.
    fn parse<const KEEP: bool>(&mut self, bytes: &[u8]) -> Result<Option<usize>, Malformed> {
        // Uninitialised: writing 128 empty headers would cost more than parsing the usual five.
        match self.parse_into::<KEEP>(bytes, &mut [MaybeUninit::uninit(); STACK_HEADERS]) {
            Err(TOO_MANY_HEADERS) => self.parse_into::<KEEP>(bytes, &mut vec![MaybeUninit::uninit(); MAX_HEADERS]),
            parsed => parsed,
        }
    }

    fn parse_into<'b, const KEEP: bool>(
        &mut self,
        bytes: &'b [u8],
        headers: &mut [MaybeUninit<Header<'b>>],
    ) -> Result<Option<usize>, Malformed> {
        let mut head = httparse::Response::new(&mut []);
        let mut config = ParserConfig::default();
        config.allow_obsolete_multiline_headers_in_responses(true);
        let used = match config.parse_response_with_uninit_headers(&mut head, bytes, headers) {
            Ok(Status::Complete(used)) => used,
            Ok(Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => return Err(TOO_MANY_HEADERS),
            Err(_) => {
                // For `reason`.
                self.partial = bytes[..bytes.len().min(SNIPPET_BYTES)].to_vec();
                return Err(NOT_HTTP);
            }
        };
        self.room = u32::try_from(used).ok().and_then(|used| self.room.checked_sub(used)).ok_or(HEAD_TOO_LARGE)?;
        let status = head.code.unwrap_or(0);
        match status {
            101 => return Err("101 Switching Protocols without a request for it"),
            // An interim response; the final one follows.
            100..=199 => {
                if KEEP {
                    self.saw_continue |= status == 100;
                }
                return Ok(Some(used));
            }
            200..=999 => {}
            _ => return Err("a status below 100"),
        }
        self.status = status;
        if KEEP && let Some(response) = &mut self.response {
            let header = |header: &Header<'_>| (header.name.to_owned(), unfolded(header.value).into_owned());
            response.headers = head.headers.iter().map(header).collect();
            response.begin_stream(status);
        }
        let framing = Framing::of(head.headers)?;
        let http11 = head.version == Some(1);
        self.keep = !framing.close && (http11 || framing.keep_alive);
        self.state = if self.head_only || status == 204 || status == 304 {
            State::Done
        } else if framing.chunked {
            State::Chunked(Decoder::new(self.room))
        } else {
            match framing.length {
                Some(0) => State::Done,
                Some(length) => State::Length(length),
                None => {
                    self.keep = false;
                    State::ToTheEnd
                }
            }
        };
        Ok(Some(used))
    }
}

/// What the headers say about where the body ends.
#[derive(Default)]
struct Framing {
    length: Option<u64>,
    chunked: bool,
    close: bool,
    keep_alive: bool,
}

impl Framing {
    fn of(headers: &[Header<'_>]) -> Result<Self, Malformed> {
        let mut framing = Self::default();
        for header in headers {
            // The lengths of the three names differ from those of nearly all others, so most headers cost one
            // comparison.
            match header.name.len() {
                14 if header.name.eq_ignore_ascii_case("content-length") => {
                    let length = digits(header.value).ok_or("a Content-Length that is not a number")?;
                    if framing.length.replace(length).is_some_and(|earlier| earlier != length) {
                        return Err("two different Content-Lengths");
                    }
                }
                17 if header.name.eq_ignore_ascii_case("transfer-encoding") => {
                    let last = tokens(header.value).last().unwrap_or_default();
                    if !last.eq_ignore_ascii_case(b"chunked") {
                        return Err("a Transfer-Encoding other than chunked");
                    }
                    framing.chunked = true;
                }
                10 if header.name.eq_ignore_ascii_case("connection") => {
                    for token in tokens(header.value) {
                        framing.close |= token.eq_ignore_ascii_case(b"close");
                        framing.keep_alive |= token.eq_ignore_ascii_case(b"keep-alive");
                    }
                }
                _ => {}
            }
        }
        Ok(framing)
    }
}

/// The value with each line fold replaced by a space (RFC 9112, section 5.2).
fn unfolded(value: &[u8]) -> Cow<'_, [u8]> {
    match value.contains(&b'\n') {
        false => Cow::Borrowed(value),
        true => Cow::Owned(value.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).collect::<Vec<_>>().join(&b' ')),
    }
}

fn tokens(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|b| *b == b',').map(<[u8]>::trim_ascii)
}

fn digits(value: &[u8]) -> Option<u64> {
    let value = value.trim_ascii();
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(value).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reads `bytes` in pieces of `size`; returns the last progress.
    fn read(bytes: &[u8], size: usize, head_only: bool) -> Result<(Progress, u16), Malformed> {
        let mut response = ResponseReader::new(head_only);
        let mut progress = Progress::More;
        for piece in bytes.chunks(size) {
            progress = response.read::<false>(piece)?;
        }
        Ok((progress, response.status()))
    }

    const DONE: Progress = Progress::Done { keep: true };
    const LAST: Progress = Progress::Done { keep: false };

    #[test]
    fn every_framing_is_parsed_in_pieces_of_any_size() {
        for (bytes, expected) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", (DONE, 200)),
            ("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", (DONE, 200)),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello", (LAST, 200)),
            ("HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", (LAST, 200)),
            ("HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 5\r\n\r\nhello", (DONE, 200)),
            ("HTTP/1.1 204 No Content\r\n\r\n", (DONE, 204)),
            ("HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n", (DONE, 304)),
            ("HTTP/1.1 503 Busy\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", (DONE, 503)),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0a\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n",
                (DONE, 200),
            ),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n", (DONE, 200)),
            (
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
                (DONE, 200),
            ),
            ("HTTP/1.1 200 OK\r\n\r\nto the end", (Progress::More, 200)),
            ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", (Progress::More, 200)),
            ("HTTP/1.1 200 OK\nContent-Length: 2\n\nok", (DONE, 200)),
        ] {
            for size in [1, 2, 3, 7, 1000] {
                assert_eq!(
                    read(bytes.as_bytes(), size, false),
                    Ok((
                        match &expected.0 {
                            Progress::More => Progress::More,
                            Progress::Done { keep } => Progress::Done { keep: *keep },
                        },
                        expected.1
                    )),
                    "{bytes:?} by {size}"
                );
            }
        }
    }

    #[test]
    fn a_folded_header_is_one_line_with_spaces() {
        let bytes = b"HTTP/1.1 200 OK\r\nX: a \r\n \t b\r\n\tc\r\nConnection: keep-alive,\r\n close\r\nY:\r\n d\r\n\
            Content-Length:\r\n 2\r\n\r\nok";
        for size in [1, 2, 3, 7, 1000] {
            let outgoing = OutgoingRequest { body_limit: 100, ..OutgoingRequest::default() };
            let mut reader = ResponseReader::keeping(&outgoing);
            let last = bytes.chunks(size).map(|piece| reader.read::<true>(piece).unwrap()).last();
            assert_eq!((last, reader.status()), (Some(LAST), 200), "by {size}");
            let headers = reader.into_response().unwrap().headers;
            let value = |name: &str| headers.iter().find(|header| header.0 == name).unwrap().1.as_slice();
            assert_eq!((value("X"), value("Y"), value("Content-Length")), (&b"a b c"[..], &b"d"[..], &b"2"[..]));
        }
        let split = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n 2\r\n\r\nok";
        assert_eq!(read(split.as_bytes(), 9, false), Err("a Content-Length that is not a number"), "it is `1 2`");
    }

    #[test]
    fn a_head_request_has_no_body_whatever_the_headers_say() {
        for framing in ["Content-Length: 1000", "Transfer-Encoding: chunked"] {
            assert_eq!(read(format!("HTTP/1.1 200 OK\r\n{framing}\r\n\r\n").as_bytes(), 9, true), Ok((DONE, 200)));
        }
    }

    #[test]
    fn contradictory_responses_are_malformed() {
        for bytes in [
            "SSH-2.0-OpenSSH_9.2\r\n",
            "HTTP/2 200 OK\r\n\r\n",
            "HTTP/1.1 099 Odd\r\n\r\n",
            "HTTP/1.1 101 Switching Protocols\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
            "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nhello\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        ] {
            assert!(read(bytes.as_bytes(), 4096, false).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn endless_heads_are_rejected() {
        let wide = |size: usize| format!("X: {}\r\n", "a".repeat(size - 5));
        let interim = format!("HTTP/1.1 103 Early Hints\r\n{}\r\n", wide(9972));
        assert_eq!(interim.len(), 10_000);
        let chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        for (first_byte, goes_on) in [
            ("HTTP/1.1 200 OK\r\nX: ", "a"),
            ("HTTP/1.1 200 OK\r\n", "X: 1\r\n"),
            ("", "HTTP/1.1 100 Continue\r\n\r\n"),
            ("", &interim),
            (&format!("{chunks}5;"), "a"),
            (&format!("{chunks}0\r\n"), "X: 1\r\n"),
            (&format!("{chunks}0\r\nX: "), "a"),
        ] {
            for size in [1, 4096, 1 << 20] {
                let endless = format!("{first_byte}{}", goes_on.repeat(400_000 / goes_on.len()));
                assert!(read(endless.as_bytes(), size, false).is_err(), "{first_byte}{goes_on} by {size}");
            }
        }
        // Heads as large as curl accepts are accepted.
        let large = format!("HTTP/1.1 200 OK\r\n{}Content-Length: 0\r\n\r\n", wide(290_000));
        let many = format!("HTTP/1.1 200 OK\r\n{}Content-Length: 0\r\n\r\n", "X: 1\r\n".repeat(4000));
        for bytes in [large, many] {
            for size in [1, 4096, 1 << 20] {
                assert_eq!(read(bytes.as_bytes(), size, false), Ok((DONE, 200)));
            }
        }
    }

    #[test]
    fn an_early_end_of_the_connection_is_explained() {
        let ended = |bytes: &str| {
            let mut response = ResponseReader::new(false);
            response.read::<false>(bytes.as_bytes()).unwrap();
            response.end().err().map(|reason| reason.to_string()).unwrap_or_default()
        };
        assert_eq!(ended(""), "closed before a response");
        assert_eq!(ended("HTTP/1.1 2"), "closed within the response head");
        assert_eq!(
            ended("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello"),
            "closed with 4 bytes of the body missing"
        );
        assert!(ended("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe").contains("chunked"));
        assert_eq!(ended("HTTP/1.1 200 OK\r\n\r\nanything"), "");
    }

    proptest! {
        #[test]
        fn garbage_never_panics(bytes: Vec<u8>, size in 1usize..40) {
            let _ = read(&bytes, size, false);
            let _ = read(&[b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".as_slice(), &bytes].concat(), size, false);
        }

        #[test]
        fn chunks_of_any_size_are_parsed(sizes in proptest::collection::vec(1usize..300, 0..20), cut in 1usize..97) {
            let mut bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
            for size in sizes {
                bytes.extend(format!("{size:X}\r\n").into_bytes());
                bytes.extend(vec![b'\n'; size]);
                bytes.extend(b"\r\n");
            }
            bytes.extend(b"0\r\n\r\n");
            prop_assert_eq!(read(&bytes, cut, false), Ok((DONE, 200)));
        }
    }
}
