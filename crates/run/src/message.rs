//! What is asked and what is answered, in words that sessions and protocols share.

use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use offered_model::Nanos;

/// The most of an answer's body that is kept for who wants to look into it, and of all together, over all threads.
pub(crate) const MAX_BODY_BYTES: usize = 16 * 1024 * 1024;
const MAX_TOTAL_BODY_BYTES: usize = 256 * 1024 * 1024;

/// How many bytes of bodies are kept now, over all threads.
static BODY_BYTES: AtomicUsize = AtomicUsize::new(0);

/// A request, as every protocol of the web can say it. What belongs to the protocol itself (`Host` or `:authority`, lengths,
/// `Connection`) is added by it, unless it stands in `headers`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct OutgoingRequest {
    /// `GET`, `POST`, ...
    pub(crate) method: String,
    /// Path and query, fit for the wire.
    pub(crate) path: String,
    /// Names and values, in order, fit for the wire.
    pub(crate) headers: Vec<(String, String)>,
    /// The body; `None`: no word of one.
    pub(crate) body: Option<Vec<u8>>,
    /// Which of its session's connections it takes, from 0, where sessions have their own.
    pub(crate) lane: u8,
    /// So many bytes of the answer's body are wanted; its head always is.
    pub(crate) body_limit: usize,
    /// Of a message of WebSocket, the regular expression that its answer matches, where each launch has its own.
    pub(crate) awaited: Option<String>,
    /// Of a request in SQL, the parameters of all its statements; `None` is null. Its label says the statements.
    pub(crate) parameters: Vec<Option<String>>,
}

impl OutgoingRequest {
    /// Whether its body is to be held back until the server wants it (RFC 9110, section 10.1.1).
    pub(crate) fn expects_continue(&self) -> bool {
        let expects = |(name, value): &(String, String)| {
            name.eq_ignore_ascii_case("expect") && value.trim().eq_ignore_ascii_case("100-continue")
        };
        self.headers.iter().any(expects)
    }

    /// How long a call waits for its answer, where its headers say so.
    ///
    /// # Errors
    /// What they say is no time of gRPC's.
    pub(crate) fn grpc_timeout(&self) -> Result<Option<Nanos>, String> {
        let said = self.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(GRPC_TIMEOUT));
        said.map(|(_, value)| grpc_timeout(value)).transpose()
    }
}

/// The header by which a call says how long it waits.
pub(crate) const GRPC_TIMEOUT: &str = "grpc-timeout";

/// A time as gRPC writes it: up to eight digits and a unit (gRPC over HTTP2, *Timeout*).
///
/// # Errors
/// It is none.
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
        format!("`{text}` is no {GRPC_TIMEOUT}; write up to eight digits and a unit (H M S m u n), such as 500m for half a second")
    })
}

/// What an answer said besides its status.
#[derive(Debug, Default)]
pub(crate) struct Response {
    /// Names and values, in order; names in the case they came in.
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    /// The body as it came (compressed, if it was), as far as it was kept, if it was wanted.
    pub(crate) body: Body,
    /// How many bytes the body had, kept or not.
    pub(crate) size: u64,
    /// How many bytes of the body are wanted.
    pub(crate) body_limit: usize,
    /// How many rows a database says it returned or changed.
    pub(crate) rows: u64,
}

/// The bytes of a body that are kept, counted with all others.
#[derive(Debug, Default)]
pub(crate) struct Body(Vec<u8>);

impl Body {
    /// Keeps as many of these bytes as there is room for, up to `wanted` in all.
    fn append(&mut self, bytes: &[u8], body_limit: usize) {
        let bytes = &bytes[..bytes.len().min(body_limit.min(MAX_BODY_BYTES).saturating_sub(self.0.len()))];
        if reserve(&BODY_BYTES, bytes.len()) {
            self.0.extend_from_slice(bytes);
        }
    }
}

/// Whether there is room for so many more bytes beside those that are `kept`, which they then are.
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
    /// Takes the next bytes of the body.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.size += bytes.len() as u64;
        self.body.append(bytes, self.body_limit);
    }

    /// Whether all of the body that came was kept.
    pub(crate) fn is_complete(&self) -> bool {
        self.size == self.body.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_says_how_long_it_waits_in_grpcs_units() {
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
            assert!(grpc_timeout(text).unwrap_err().contains("is no grpc-timeout; write"), "{text}");
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
    fn bodies_are_kept_within_bounds_each_and_together() {
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
