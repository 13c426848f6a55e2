//! Requests and responses in the form that sessions and protocol clients share.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use bytes::Bytes;
use offered_base::Nanos;
use offered_events::Event;

use crate::event_stream::{ExpectedStream, StreamReader};

/// Maximum number of stored bytes of one response body, and of all bodies of all threads together.
pub(crate) const MAX_BODY_BYTES: usize = 16 * 1024 * 1024;
const MAX_TOTAL_BODY_BYTES: usize = 256 * 1024 * 1024;

/// The headers that the generator adds to HTTP requests without them, with their values.
pub(crate) const OWN_HEADERS: [(&str, &str); 2] =
    [("User-Agent", concat!("offered/", env!("CARGO_PKG_VERSION"))), ("Accept", "*/*")];

/// Number of currently stored bytes of bodies, of all threads together.
static BODY_BYTES: AtomicUsize = AtomicUsize::new(0);

/// A request in a form independent of the protocol. The protocol client adds what belongs to the protocol (`Host` or
/// `:authority`, lengths, `Connection`), unless `headers` sets it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct OutgoingRequest {
    /// `GET`, `POST`, ...
    pub(crate) method: String,
    /// Path and query, percent-encoded.
    pub(crate) path: String,
    /// The index of its target, and of the protocol client that carries it.
    pub(crate) target: u16,
    pub(crate) client: u16,
    /// Whether a response has led away from the target that the workload chose, so that its credentials are not sent.
    pub(crate) left_target: bool,
    /// Names and values, in order.
    pub(crate) headers: Vec<(String, String)>,
    /// The body; `None` sends no body and no length. Requests with the same constant body share its bytes.
    pub(crate) body: Option<Bytes>,
    /// The number of the connection of the session that carries the request, from 0. Only for clients with connections per
    /// session.
    pub(crate) lane: u8,
    /// Maximum number of bytes of the response body to store. The head is always stored.
    pub(crate) body_limit: usize,
    /// For a WebSocket message: the regular expression that its response must match, where it depends on the request.
    pub(crate) awaited: Option<String>,
    /// For SQL: the parameters of all statements, `None` for null. The statements follow from the label of the request.
    pub(crate) parameters: Vec<Option<String>>,
    /// The intended number of tokens of the prompt, if the workload draws it.
    pub(crate) prompt_tokens: Option<u64>,
    /// The stream in the response; `None`: the response is read as a whole.
    pub(crate) stream: Option<Arc<ExpectedStream>>,
}

impl OutgoingRequest {
    /// Whether the request may be sent again after the server may have processed it: see [`is_idempotent`]. A completion of a language model
    /// changes nothing on the server.
    pub(crate) fn is_repeatable(&self) -> bool {
        let is_completion = self.stream.as_ref().is_some_and(|stream| stream.is_openai());
        is_completion || is_idempotent(&self.method, self.headers.iter().map(|(name, _)| name.as_str()))
    }

    /// Whether the body is sent only after a 100 response (`Expect: 100-continue`, RFC 9110, section 10.1.1).
    pub(crate) fn expects_continue(&self) -> bool {
        let expects = |(name, value): &(String, String)| {
            name.eq_ignore_ascii_case("expect") && value.trim().eq_ignore_ascii_case("100-continue")
        };
        self.headers.iter().any(expects)
    }

    /// The value of the header `grpc-timeout`; `None` without that header.
    ///
    /// # Errors
    /// The value is not a valid gRPC timeout.
    pub(crate) fn grpc_timeout(&self) -> Result<Option<Nanos>, String> {
        let said = self.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(GRPC_TIMEOUT));
        said.map(|(_, value)| grpc_timeout(value)).transpose()
    }
}

/// Whether a request with this method and these headers has the same effect once and twice: by its method (RFC 9110, section 9.2.2), or because
/// it has the header `Idempotency-Key`, by which the server recognises a repetition (as in Go's `net/http`, `isReplayable`).
pub(crate) fn is_idempotent<'a>(method: &str, mut headers: impl Iterator<Item = &'a str>) -> bool {
    ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"].contains(&method)
        || headers.any(|name| ["idempotency-key", "x-idempotency-key"].iter().any(|key| name.eq_ignore_ascii_case(key)))
}

/// The header with the deadline of a gRPC call.
pub(crate) const GRPC_TIMEOUT: &str = "grpc-timeout";

/// Parses a gRPC timeout: up to eight digits and a unit (gRPC over HTTP2, *Timeout*).
///
/// # Errors
/// The text is not a valid timeout, or is zero.
pub(crate) fn grpc_timeout(text: &str) -> Result<Nanos, String> {
    const UNITS: [(&str, u64); 6] = [
        ("H", 3_600_000_000_000),
        ("M", 60_000_000_000),
        ("S", 1_000_000_000),
        ("m", 1_000_000),
        ("u", 1000),
        ("n", 1),
    ];
    let of_unit = |(unit, nanos): &(&str, u64)| {
        let digits = text.strip_suffix(unit).filter(|digits| digits.len() <= 8)?;
        let number = digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse::<u64>().ok())??;
        Some(Nanos(number * nanos))
    };
    let found = UNITS.iter().find_map(of_unit).filter(|time| *time > Nanos::ZERO);
    found.ok_or_else(|| {
        format!("`{text}` is not a valid {GRPC_TIMEOUT}; write up to eight digits and a unit (H M S m u n), for example 500m for half a second")
    })
}

/// A response, without its status.
#[derive(Debug, Default)]
pub(crate) struct Response {
    /// Names and values, in order. Names are in their original case.
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    /// The body as received (possibly compressed), up to `body_limit`.
    pub(crate) body: Body,
    /// Number of bytes of the body, stored or not.
    pub(crate) size: u64,
    /// Maximum number of bytes of the body to keep.
    pub(crate) body_limit: usize,
    /// Number of rows that a database returned or changed.
    pub(crate) rows: u64,
    /// Reads the stream in the body, if one is expected.
    pub(crate) stream: Option<Box<StreamReader>>,
    /// The text of the stream, as between quotes in JSON, if it is needed.
    pub(crate) text: Option<String>,
}

/// The stored bytes of a body. They count toward the total of all bodies.
#[derive(Debug, Default)]
pub(crate) struct Body(Vec<u8>);

impl Body {
    /// Appends as many of these bytes as the limits allow, up to `body_limit` in total.
    fn append(&mut self, bytes: &[u8], body_limit: usize) {
        let bytes = &bytes[..bytes.len().min(body_limit.min(MAX_BODY_BYTES).saturating_sub(self.0.len()))];
        if reserve(&BODY_BYTES, bytes.len()) {
            self.0.extend_from_slice(bytes);
        }
    }
}

/// Adds `bytes` to `used`, unless the total would exceed its maximum.
fn reserve(used: &AtomicUsize, bytes: usize) -> bool {
    let fits = used.fetch_add(bytes, Relaxed) + bytes <= MAX_TOTAL_BODY_BYTES;
    if !fits {
        used.fetch_sub(bytes, Relaxed);
    }
    fits
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        BODY_BYTES.fetch_add(bytes.len(), Relaxed);
        Self(bytes)
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        BODY_BYTES.fetch_sub(self.0.len(), Relaxed);
    }
}

impl Deref for Body {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl Response {
    /// A response to `outgoing` that has not begun. It stores up to `body_limit` bytes of the body.
    pub(crate) fn to(outgoing: &OutgoingRequest, body_limit: usize) -> Self {
        let stream =
            outgoing.stream.clone().map(|expected| Box::new(StreamReader::new(expected, outgoing.prompt_tokens)));
        Self { body_limit, stream, ..Self::default() }
    }

    /// The head is complete: `headers` are there. A response with an error `status` or a redirect has no stream.
    pub(crate) fn begin_stream(&mut self, status: u16) {
        if let Some(stream) = &mut self.stream {
            match status {
                200..=299 => stream.begin(self.headers.iter().map(|(name, value)| (name.as_str(), value.as_slice()))),
                _ => self.stream = None,
            }
        }
    }

    /// The response is over: puts the record of its stream into the event, and the outcome of a failed one.
    pub(crate) fn conclude_stream(&mut self, event: &mut Event) {
        if let Some(stream) = self.stream.take() {
            self.text = stream.conclude(event);
        }
    }

    /// Takes the next bytes of the body.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        if let Some(stream) = &mut self.stream {
            stream.add(bytes);
        }
        self.size += bytes.len() as u64;
        self.body.append(bytes, self.body_limit);
    }

    /// Whether the whole body was stored.
    pub(crate) fn is_complete(&self) -> bool {
        self.size == self.body.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grpc_timeouts_are_parsed() {
        for (text, nanos) in [
            ("1H", 3_600_000_000_000),
            ("2M", 120_000_000_000),
            ("99999999S", 99_999_999_000_000_000),
            ("500m", 500_000_000),
            ("7u", 7000),
            ("1n", 1),
        ] {
            assert_eq!(grpc_timeout(text), Ok(Nanos(nanos)), "{text}");
        }
        for text in ["", "5", "m", "500ms", "5s", "-1S", "0m", "1.5S", "123456789n", " 5S", "+5S"] {
            assert!(grpc_timeout(text).unwrap_err().contains("is not a valid grpc-timeout; write"), "{text}");
        }
        let outgoing = OutgoingRequest {
            headers: vec![("Grpc-Timeout".to_owned(), "2S".to_owned())],
            ..OutgoingRequest::default()
        };
        assert_eq!(
            (outgoing.grpc_timeout(), OutgoingRequest::default().grpc_timeout()),
            (Ok(Some(Nanos::from_secs(2))), Ok(None))
        );
    }

    #[test]
    fn body_sizes_are_limited_each_and_in_total() {
        let mut reply = Response { body_limit: usize::MAX, ..Response::default() };
        let piece = vec![0; 1 << 20];
        for _ in 0..17 {
            reply.add(&piece);
        }
        assert_eq!((reply.body.len(), reply.size, reply.is_complete()), (MAX_BODY_BYTES, 17 << 20, false));
        let used = AtomicUsize::new(0);
        assert_eq!((0..20).filter(|_| reserve(&used, MAX_BODY_BYTES)).count(), MAX_TOTAL_BODY_BYTES / MAX_BODY_BYTES);
        assert!(!reserve(&used, 1) && reserve(&used, 0));
        used.fetch_sub(1, Relaxed);
        assert!(reserve(&used, 1));
    }
}
