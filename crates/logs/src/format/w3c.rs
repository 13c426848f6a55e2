//! W3C extended logs (IIS, `CloudFront` and others): `#Fields:` directives define the fields and may occur anywhere.
//!
//! If a log starts without a directive, lines with the number of fields of IIS's default are parsed as such.

use crate::entry::{Entry, path, status};
use crate::time::{iso, number, seconds};

/// Parser state.
#[derive(Clone, Debug, Default)]
pub struct W3c {
    fields: Vec<Field>,
    /// Field that identifies users.
    user: Option<String>,
    /// Whether durations are in seconds (`CloudFront`) instead of milliseconds (IIS).
    in_seconds: bool,
    date: Vec<u8>,
    target: Vec<u8>,
}

/// Default fields of IIS since 8.5, and before.
const IIS: [&str; 2] = [
    "date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs(Referer) sc-status \
     sc-substatus sc-win32-status time-taken",
    "date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) sc-status sc-substatus \
     sc-win32-status time-taken",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Date,
    Time,
    Client,
    Agent,
    Method,
    Stem,
    Query,
    Status,
    Bytes,
    Duration,
    User,
    Ignored,
}

impl W3c {
    /// Creates a parser; `user` is the field that identifies users.
    pub(crate) fn new(user: Option<&str>) -> Self {
        Self { user: user.map(str::to_owned), ..Self::default() }
    }

    /// Parses a line; `None` for directives.
    pub(crate) fn parse<'a>(&'a mut self, line: &'a [u8]) -> Result<Option<Entry<'a>>, &'static str> {
        if line[0] == b'#' {
            if let Some(names) = line.strip_prefix(b"#Fields:") {
                self.directive(names);
            } else if let Some(date) = line.strip_prefix(b"#Date:") {
                self.date = date.trim_ascii().iter().copied().take(10).collect();
            }
            return Ok(None);
        }
        if self.fields.is_empty() {
            let fields = line.split(|b| *b == b' ').count();
            let names = IIS.iter().find(|names| names.split(' ').count() == fields);
            self.directive(names.ok_or("no #Fields directive before this line")?.as_bytes());
        }
        let mut entry = Entry::default();
        let (mut time, mut stem, mut query): (&[u8], &[u8], &[u8]) = (b"", b"", b"");
        let mut rest = Some(line);
        for field in &self.fields {
            let text = rest.ok_or("fewer fields than the #Fields directive names")?;
            let end = memchr::memchr2(b'\t', b' ', text);
            rest = end.map(|at| &text[at + 1..]);
            let text = &text[..end.unwrap_or(text.len())];
            match field {
                Field::Ignored => {}
                Field::Date => {
                    self.date.clear();
                    self.date.extend_from_slice(text);
                }
                Field::Time => time = text,
                Field::Client => entry.client = text,
                Field::Agent => entry.agent = text,
                Field::Method => entry.method = text,
                Field::Stem => stem = text,
                Field::Query => query = text,
                Field::Status => entry.status = status(text).ok_or("the status is not three digits")?,
                Field::Bytes => entry.bytes = number(text),
                Field::Duration if self.in_seconds => entry.duration = seconds(text).map(|n| n as u64),
                Field::Duration => entry.duration = number(text).and_then(|ms| ms.checked_mul(1_000_000)),
                Field::User => entry.user = text,
            }
        }
        entry.time = self.instant(time)?;
        if entry.client.is_empty() || stem.is_empty() {
            return Err("the client or the path is empty");
        }
        self.target.clear();
        self.target.extend_from_slice(path(stem));
        if !matches!(query, b"" | b"-") {
            self.target.push(b'?');
            self.target.extend_from_slice(query);
        }
        entry.target = &self.target;
        Ok(Some(entry))
    }

    fn instant(&self, time: &[u8]) -> Result<i64, &'static str> {
        let mut text = [b' '; 40];
        let length = self.date.len() + 1 + time.len();
        let room = text.get_mut(..length).ok_or("the time is too long")?;
        room[..self.date.len()].copy_from_slice(&self.date);
        room[self.date.len() + 1..].copy_from_slice(time);
        iso(room).ok_or("date and time are not like 2026-11-20 17:58:05")
    }

    fn directive(&mut self, names: &[u8]) {
        let names = String::from_utf8_lossy(names);
        self.in_seconds = names.contains("x-edge-");
        self.fields = names
            .split_ascii_whitespace()
            .map(|name| match name {
                name if Some(name) == self.user.as_deref() => Field::User,
                "date" => Field::Date,
                "time" => Field::Time,
                "c-ip" => Field::Client,
                "cs(User-Agent)" => Field::Agent,
                "cs-method" => Field::Method,
                "cs-uri-stem" | "cs-uri" => Field::Stem,
                "cs-uri-query" => Field::Query,
                "sc-status" => Field::Status,
                "sc-bytes" => Field::Bytes,
                "time-taken" => Field::Duration,
                _ => Field::Ignored,
            })
            .collect();
    }
}
