//! Why a request failed or was not sent: a kind with its numbers, formatted only when it is shown or written.

use std::borrow::Cow;
use std::fmt;
use std::io;

use crate::SqlState;
use offered_base::Nanos;

/// Why a request failed or was not sent.
///
/// The generator's own reasons are kinds with numbers. The sending thread therefore formats no text, and requests that failed in the same
/// way are counted together even if the numbers differ ([`Reason::kind`]). [`Reason::read`] parses the text that `Display` writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Not sent: it was late by this duration, and the workload skips late requests.
    Late(Nanos),
    /// Not sent: the run ended first.
    RunOver,
    /// Not sent: this number of requests was in flight, which is the limit.
    InFlight(u64),
    /// Not sent: all connections were busy, and their number is the limit.
    Connections(u64),
    /// Not sent: all streams of this number of connections were busy, which is the limit.
    Streams(u64),
    /// No connection within this time.
    ConnectTimeout(Nanos),
    /// No complete response within this time.
    ResponseTimeout(Nanos),
    /// The expected message did not arrive within this duration.
    ExpectTimeout(Nanos),
    /// No connection of its pool was free within this time.
    PoolTimeout(Nanos),
    /// An error of a database: SQLSTATE and message.
    Sql(SqlState, Box<str>),
    /// The user waited this long, and gave up.
    GaveUp(Nanos),
    /// The run was stopped first.
    Stopped,
    /// The run was killed first; whether a response arrived is unknown.
    Killed,
    /// Not sent: the request belongs to the share of a lost worker.
    WorkerLost,
    /// The connection ended when this number of bytes of the body was missing.
    TruncatedBody(u64),
    /// The response is not HTTP/1; holds its printable beginning ([`Reason::not_http`]).
    NotHttp(Box<str>),
    /// An error of the operating system, by its number.
    System(i32),
    /// Any other reason, as text from the operating system, a library or the server.
    Other(Cow<'static, str>),
}

/// The texts before and after the number of a reason.
type Around = (&'static str, &'static str);

const LATE: Around = ("late by ", " (late = \"skip\")");
const OVER: &str = "the run was over before it could be sent";
const IN_FLIGHT: Around = ("", " requests in flight (in_flight limit)");
const CONNECTIONS: Around = ("", " connections busy (connections limit)");
const STREAMS: Around = ("all streams of ", " connections busy (connections limit)");
const NOT_CONNECTED: Around = ("no connection within ", "");
const NOT_ANSWERED: Around = ("no complete response within ", "");
const NOT_AWAITED: Around = ("no expected message within ", "");
const NONE_FREE: Around = ("no connection was free within ", "");
const GAVE_UP: Around = ("the user gave up after ", "");
/// The texts before a SQLSTATE, and between it and the message of the database.
const SQL: Around = ("SQLSTATE ", ": ");
const STOPPED: &str = "the run was stopped";
const KILLED: &str = "the run was killed";
const GONE: &str = "its worker was lost";
const MISSING: Around = ("closed with ", " bytes of the body missing");
const NOT_HTTP: Around = ("not an HTTP/1 response; it begins with `", "`");
/// Number of bytes that are quoted of a response that is not HTTP.
const BEGINNING: usize = 40;
/// The end of the text of an operating system error, as the standard library writes it.
const SYSTEM: Around = (" (os error ", ")");

impl Reason {
    /// A reason with this text.
    pub const fn words(words: &'static str) -> Self {
        Self::Other(Cow::Borrowed(words))
    }

    /// The reason for a response that is not HTTP/1 and begins with `bytes`; the first 40 bytes are quoted.
    pub fn not_http(bytes: &[u8]) -> Self {
        let shown = &bytes[..bytes.len().min(BEGINNING)];
        let cut = if shown.len() < bytes.len() { "..." } else { "" };
        Self::NotHttp(format!("{}{cut}", shown.escape_ascii()).into())
    }

    /// Parses the text that `Display` writes; any other text becomes [`Reason::Other`].
    pub fn read(text: &str) -> Self {
        let (time, count) = (number::<Nanos>, number::<u64>);
        // Accepted only if it prints as it was read: `late by 0.5s` is not a text of `Display`.
        let typed = match text {
            OVER => return Self::RunOver,
            STOPPED => return Self::Stopped,
            KILLED => return Self::Killed,
            GONE => return Self::WorkerLost,
            _ => None
                .or_else(|| time(text, LATE).map(Self::Late))
                .or_else(|| time(text, NOT_CONNECTED).map(Self::ConnectTimeout))
                .or_else(|| time(text, NOT_ANSWERED).map(Self::ResponseTimeout))
                .or_else(|| time(text, NOT_AWAITED).map(Self::ExpectTimeout))
                .or_else(|| time(text, NONE_FREE).map(Self::PoolTimeout))
                .or_else(|| time(text, GAVE_UP).map(Self::GaveUp))
                .or_else(|| {
                    let (code, words) = text.strip_prefix(SQL.0)?.split_once(SQL.1)?;
                    Some(Self::Sql(code.parse().ok()?, words.into()))
                })
                .or_else(|| count(text, STREAMS).map(Self::Streams))
                .or_else(|| count(text, MISSING).map(Self::TruncatedBody))
                .or_else(|| {
                    let begins = text.strip_prefix(NOT_HTTP.0)?.strip_suffix(NOT_HTTP.1)?;
                    Some(Self::NotHttp(begins.into()))
                })
                .or_else(|| count(text, IN_FLIGHT).map(Self::InFlight))
                .or_else(|| count(text, CONNECTIONS).map(Self::Connections))
                .or_else(|| {
                    let at = text.rfind(SYSTEM.0)?;
                    number::<i32>(&text[at..], SYSTEM).map(Self::System)
                }),
        };
        typed.filter(|typed| typed.text() == text).unwrap_or_else(|| Self::Other(Cow::Owned(text.to_owned())))
    }

    /// The reason as text; [`Reason::Other`] is not copied.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Other(words) => Cow::Borrowed(words),
            typed => Cow::Owned(typed.to_string()),
        }
    }

    /// The kind as text, without numbers and values: the same for all requests that failed in the same way.
    pub fn kind(&self) -> Cow<'_, str> {
        match self {
            Self::Late(_) => Cow::Borrowed("later than allowed (late = \"skip\")"),
            // After a number of requests, the text would read like a product.
            Self::InFlight(limit) => Cow::Owned(format!("limit of {limit} requests in flight reached (in_flight)")),
            Self::Connections(limit) => Cow::Owned(format!("limit of {limit} connections reached (connections)")),
            Self::Streams(limit) => {
                Cow::Owned(format!("limit of {limit} connections reached, all streams busy (connections)"))
            }
            Self::GaveUp(_) => Cow::Borrowed("the user gave up"),
            Self::TruncatedBody(_) => Cow::Borrowed("closed in the middle of the body"),
            Self::NotHttp(_) => Cow::Borrowed("not an HTTP/1 response"),
            // The message of the database quotes values of this request, such as a duplicate key.
            Self::Sql(code, _) => {
                let class = code.class().map(|class| format!(" ({class})")).unwrap_or_default();
                Cow::Owned(format!("{}{code}{class}", SQL.0))
            }
            other => other.text(),
        }
    }
}

/// The number between `before` and `after`.
fn number<T: std::str::FromStr>(text: &str, (before, after): Around) -> Option<T> {
    text.strip_prefix(before)?.strip_suffix(after)?.parse().ok()
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut around = |(before, after): Around, number: &dyn fmt::Display| write!(f, "{before}{number}{after}");
        match self {
            Self::Late(by) => around(LATE, by),
            Self::RunOver => f.write_str(OVER),
            Self::InFlight(limit) => around(IN_FLIGHT, limit),
            Self::Connections(limit) => around(CONNECTIONS, limit),
            Self::Streams(limit) => around(STREAMS, limit),
            Self::ConnectTimeout(limit) => around(NOT_CONNECTED, limit),
            Self::ResponseTimeout(limit) => around(NOT_ANSWERED, limit),
            Self::ExpectTimeout(limit) => around(NOT_AWAITED, limit),
            Self::PoolTimeout(limit) => around(NONE_FREE, limit),
            Self::GaveUp(patience) => around(GAVE_UP, patience),
            Self::Sql(code, words) => write!(f, "{}{code}{}{words}", SQL.0, SQL.1),
            Self::Stopped => f.write_str(STOPPED),
            Self::Killed => f.write_str(KILLED),
            Self::WorkerLost => f.write_str(GONE),
            Self::TruncatedBody(bytes) => around(MISSING, bytes),
            Self::NotHttp(begins) => around(NOT_HTTP, begins),
            Self::System(number) => write!(f, "{}", io::Error::from_raw_os_error(*number)),
            Self::Other(words) => f.write_str(words),
        }
    }
}

impl From<&str> for Reason {
    fn from(text: &str) -> Self {
        Self::read(text)
    }
}

impl From<Cow<'_, str>> for Reason {
    fn from(text: Cow<'_, str>) -> Self {
        Self::read(&text)
    }
}

impl From<String> for Reason {
    fn from(text: String) -> Self {
        Self::read(&text)
    }
}

impl From<io::Error> for Reason {
    /// The number of the operating system's error; without one, the text of the error.
    fn from(error: io::Error) -> Self {
        error.raw_os_error().map_or_else(|| Self::Other(Cow::Owned(error.to_string())), Self::System)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn typed() -> impl Strategy<Value = Reason> {
        prop_oneof![
            any::<u64>().prop_map(|n| Reason::Late(Nanos(n))),
            Just(Reason::RunOver),
            any::<u64>().prop_map(Reason::InFlight),
            any::<u64>().prop_map(Reason::Connections),
            any::<u64>().prop_map(Reason::Streams),
            any::<u64>().prop_map(|n| Reason::ConnectTimeout(Nanos(n))),
            any::<u64>().prop_map(|n| Reason::ResponseTimeout(Nanos(n))),
            any::<u64>().prop_map(|n| Reason::ExpectTimeout(Nanos(n))),
            any::<u64>().prop_map(|n| Reason::PoolTimeout(Nanos(n))),
            ("[0-9A-Z]{5}", ".*").prop_map(|(code, words)| Reason::Sql(code.parse().unwrap(), words.into())),
            any::<u64>().prop_map(|n| Reason::GaveUp(Nanos(n))),
            Just(Reason::Stopped),
            Just(Reason::Killed),
            any::<u64>().prop_map(Reason::TruncatedBody),
            any::<Vec<u8>>().prop_map(|bytes| Reason::not_http(&bytes)),
            any::<i32>().prop_map(Reason::System),
        ]
    }

    proptest! {
        #[test]
        fn a_written_value_is_read_back(reason in typed(), words: String) {
            prop_assert_eq!(Reason::read(&reason.to_string()), reason);
            prop_assert_eq!(Reason::read(&words).to_string(), words);
        }
    }

    #[test]
    fn other_texts_are_unchanged() {
        for text in [
            "late by 0.5s (late = \"skip\")",
            "no complete response within 3 seconds",
            "HTTP/2 stream 17 was not closed",
            "went wrong (os error 104)",
            "Connection reset by peer (os error 4294967296)",
            "007 requests in flight (in_flight limit)",
        ] {
            assert_eq!(Reason::read(text), Reason::Other(Cow::Owned(text.to_owned())));
            assert_eq!(Reason::read(text).kind(), text);
        }
        assert_eq!(Reason::read("no connection within 3s"), Reason::ConnectTimeout(Nanos::from_secs(3)));
        let reset = Reason::from(io::Error::from_raw_os_error(104));
        assert_eq!((reset.clone(), Reason::read(&reset.text())), (Reason::System(104), Reason::System(104)));
    }

    #[test]
    fn values_of_one_request_do_not_change_the_kind() {
        let late = |by| Reason::Late(Nanos::from_millis(by));
        assert_eq!(late(3).kind(), late(4000).kind());
        assert_ne!(late(3).text(), late(4000).text());
        assert_eq!(Reason::TruncatedBody(1).kind(), Reason::TruncatedBody(2).kind());
        assert_eq!(Reason::InFlight(50).kind(), "limit of 50 requests in flight reached (in_flight)");
        let tls = Reason::not_http(b"\x15\x03\x01\0\x02");
        assert_eq!(tls.text(), "not an HTTP/1 response; it begins with `\\x15\\x03\\x01\\x00\\x02`");
        assert_eq!(tls.kind(), Reason::not_http(b"SSH-2.0-OpenSSH").kind());
        assert!(Reason::not_http(&[b'x'; 1000]).text().ends_with("xxx...`"));
        assert!(Reason::not_http(&[0; 1000]).text().len() < 250);
        let taken = |key: &str| Reason::read(&format!("SQLSTATE 23505: duplicate key value {key}"));
        assert_eq!(taken("1").kind(), "SQLSTATE 23505 (integrity constraint violation)");
        assert_eq!(taken("1").kind(), taken("2").kind());
        assert_eq!(Reason::ResponseTimeout(Nanos::from_secs(2)).kind(), "no complete response within 2s");
    }
}
