//! JSON lines, as written by Caddy, Traefik, nginx (`escape=json`), Istio, Cloudflare (Logpush data set
//! `http_requests`), Google Cloud load balancers (`HttpRequest` in a `LogEntry`) and many others.

use serde_json::Value;

use crate::entry::{Entry, path, request};
use crate::time::{self, SECOND, Stamps, number};

/// Parser with the possible keys of each field.
#[derive(Clone, Debug)]
pub struct Json {
    keys: [Vec<String>; NAMES.len()],
    user: Option<String>,
    stamps: Stamps,
    line: Value,
    number: Vec<u8>,
}

/// Fields that a mapping may set.
pub(crate) const NAMES: [&str; 9] =
    ["time", "client", "agent", "request", "method", "target", "status", "bytes", "duration"];
const TIME: usize = 0;
const CLIENT: usize = 1;
const AGENT: usize = 2;
const REQUEST: usize = 3;
const METHOD: usize = 4;
const TARGET: usize = 5;
const STATUS: usize = 6;
const BYTES: usize = 7;
const DURATION: usize = 8;

/// Keys used by servers. A dot separates nested keys; of a list the first element is used.
const KEYS: [&[&str]; NAMES.len()] = [
    &[
        "ts",
        "StartUTC",
        "EdgeStartTimestamp",
        "start_time",
        "time",
        "@timestamp",
        "timestamp",
        "time_iso8601",
        "msec",
        "time_local",
        "date",
    ],
    &[
        "request.client_ip",
        "request.remote_ip",
        "httpRequest.remoteIp",
        "ClientHost",
        "ClientIP",
        "remote_addr",
        "client_ip",
        "remote_ip",
        "clientip",
        "ip",
        "x_forwarded_for",
        "downstream_remote_address",
    ],
    &[
        "request.headers.User-Agent",
        "request_User-Agent",
        "httpRequest.userAgent",
        "ClientRequestUserAgent",
        "http_user_agent",
        "user_agent",
        "agent",
    ],
    &["request"],
    &[
        "request.method",
        "httpRequest.requestMethod",
        "RequestMethod",
        "ClientRequestMethod",
        "request_method",
        "method",
    ],
    &[
        "request.uri",
        "httpRequest.requestUrl",
        "RequestPath",
        "ClientRequestURI",
        "ClientRequestPath",
        "request_uri",
        "uri",
        "path",
        "url",
    ],
    &["status", "httpRequest.status", "DownstreamStatus", "OriginStatus", "EdgeResponseStatus", "response_code"],
    &[
        "size",
        "httpRequest.responseSize",
        "DownstreamContentSize",
        "EdgeResponseBytes",
        "body_bytes_sent",
        "bytes_sent",
        "bytes",
    ],
    &["duration", "httpRequest.latency", "Duration", "request_time"],
];

impl Json {
    /// Creates a parser with the keys of `mapping` (`client=addr,time=t`) and the key `user` that identifies users.
    ///
    /// # Errors
    /// The mapping is malformed or contains an unknown field.
    pub(crate) fn new(mapping: &str, user: Option<&str>) -> Result<Self, String> {
        let mut keys = KEYS.map(|known| known.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>());
        for pair in mapping.split(',').filter(|pair| !pair.trim().is_empty()) {
            let known = pair.split_once('=').and_then(|(name, key)| {
                let field = NAMES.iter().position(|known| *known == name.trim())?;
                Some((field, key.trim().to_owned()))
            });
            let (field, key) = known.ok_or_else(|| {
                format!(
                    "invalid mapping `{pair}`; expected for example client=addr, with one of the fields {}",
                    NAMES.join(", ")
                )
            })?;
            keys[field] = vec![key];
        }
        let user = user.map(str::to_owned);
        Ok(Self { keys, user, stamps: Stamps::default(), line: Value::Null, number: Vec::new() })
    }

    /// Parses a line.
    pub(crate) fn parse<'a>(&'a mut self, line: &[u8]) -> Result<Entry<'a>, &'static str> {
        // Logs may contain invalid UTF-8.
        self.line =
            serde_json::from_str(&String::from_utf8_lossy(line)).map_err(|_| "the line is not a JSON object")?;
        let Self { keys, user, stamps, line, number: digits } = self;
        let line = &*line;
        let istio = line.get("upstream_cluster").is_some();
        let field = |field: usize| keys[field].iter().find_map(|key| find(line, key).filter(|value| !value.is_null()));
        let text = |at: usize| field(at).and_then(Value::as_str).unwrap_or("").as_bytes();
        let mut entry = Entry {
            time: instant(field(TIME).ok_or("no time")?, stamps).ok_or("unknown time format")?,
            client: text(CLIENT),
            agent: text(AGENT),
            method: text(METHOD),
            target: text(TARGET),
            status: field(STATUS).and_then(whole).and_then(|n| u16::try_from(n).ok()).unwrap_or(0),
            bytes: field(BYTES).and_then(whole),
            duration: field(DURATION).and_then(|value| duration(value, istio)),
            user: b"",
        };
        if entry.target.is_empty() {
            (entry.method, entry.target) = request(text(REQUEST))?;
        }
        entry.target = path(entry.target);
        // The first forwarded address is the client.
        entry.client = entry.client.split(|b| *b == b',').next().unwrap_or_default();
        if istio && keys[CLIENT].len() > 1 && find(line, "x_forwarded_for").is_none_or(Value::is_null) {
            // The peer address, with the port.
            entry.client = &entry.client[..memchr::memrchr(b':', entry.client).unwrap_or(entry.client.len())];
        }
        if entry.client.is_empty() {
            return Err("no client");
        }
        if let Some(name) = user {
            entry.user = match find(line, name).ok_or("the field that identifies users is missing")? {
                Value::String(text) => text.as_bytes(),
                other => {
                    *digits = other.to_string().into_bytes();
                    digits
                }
            };
        }
        Ok(entry)
    }
}

/// Value of `key`: first of the whole text as one key, then as a path of keys. Of a list, the first element is taken.
fn find<'v>(line: &'v Value, key: &str) -> Option<&'v Value> {
    let found = line.get(key).or_else(|| {
        let (first, rest) = key.split_once('.')?;
        find(line.get(first)?, rest)
    })?;
    found.as_array().map_or(Some(found), |list| list.first())
}

fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| number(value.as_str()?.as_bytes()))
}

/// Parses a time: a string in a known format, or a number since the epoch (with decimals: seconds).
fn instant(value: &Value, stamps: &mut Stamps) -> Option<i64> {
    match value {
        Value::String(text) => time::any(text.as_bytes(), stamps),
        Value::Number(number) if number.is_u64() => time::any(number.to_string().as_bytes(), stamps),
        // A float of seconds since 1970 has microsecond resolution.
        Value::Number(number) => time::instant((number.as_f64()? * 1e6).round() as i64, 1000),
        _ => None,
    }
}

/// Parses a duration: decimals are seconds (Caddy, nginx), also with unit (`0.25s`, Google); integers are nanoseconds
/// (Traefik), or milliseconds for `Istio`.
fn duration(value: &Value, istio: bool) -> Option<u64> {
    match value {
        Value::Number(number) if number.is_u64() => number.as_u64()?.checked_mul(if istio { 1_000_000 } else { 1 }),
        Value::Number(number) => Some((number.as_f64()? * SECOND as f64) as u64),
        Value::String(text) => time::seconds(text.trim_end_matches('s').as_bytes()).map(|n| n as u64),
        _ => None,
    }
}
