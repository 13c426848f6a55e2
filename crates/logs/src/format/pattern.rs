//! A pattern of fields and literals, compiled from nginx's `log_format` or Apache's `LogFormat`.

use crate::entry::{self, Entry, quote, request};
use crate::time::{self, Stamps, number};

/// A compiled format string.
#[derive(Clone, Debug, Default)]
pub struct Pattern {
    pieces: Vec<Piece>,
    stamps: Stamps,
}

/// A field and the literal after it (empty at the end of the line).
#[derive(Clone, Debug)]
struct Piece {
    field: Field,
    /// Whether this field identifies users.
    user: bool,
    until: Vec<u8>,
}

/// Meaning of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Time,
    Client,
    Agent,
    Request,
    Method,
    Target,
    Status,
    Bytes,
    /// A decimal number in units of this number of nanoseconds.
    Duration(u64),
    Ignored,
}

impl Pattern {
    /// Adds a literal; a literal before the first field follows an empty ignored field.
    pub(super) fn literal(&mut self, text: &[u8]) {
        if self.pieces.is_empty() {
            self.field(Field::Ignored, false);
        }
        self.pieces.last_mut().expect("just made").until.extend_from_slice(text);
    }

    /// Adds a field.
    pub(super) fn field(&mut self, field: Field, user: bool) {
        self.pieces.push(Piece { field, user, until: Vec::new() });
    }

    /// Checks that the pattern has the required fields and that fields are separated.
    pub(super) fn checked(self, user: Option<&str>) -> Result<Self, String> {
        let has = |fields: &[Field]| self.pieces.iter().any(|piece| fields.contains(&piece.field));
        for (fields, what) in [
            (&[Field::Time][..], "the time"),
            (&[Field::Client], "the client"),
            (&[Field::Request, Field::Target], "the request"),
        ] {
            if !has(fields) {
                return Err(format!("the format has no field for {what}"));
            }
        }
        if let Some(name) = user.filter(|_| !self.pieces.iter().any(|piece| piece.user)) {
            return Err(format!("the format has no field `{name}` to identify users"));
        }
        let last = self.pieces.len() - 1;
        if self.pieces[..last].iter().any(|piece| piece.until.is_empty()) {
            return Err(
                "two fields of the format are not separated; add a space or another literal between them".to_owned()
            );
        }
        Ok(self)
    }

    /// Parses a line.
    pub(crate) fn parse<'a>(&mut self, line: &'a [u8]) -> Result<Entry<'a>, &'static str> {
        let mut entry = Entry::default();
        let mut rest = line;
        for piece in &self.pieces {
            let end = end(rest, &piece.until).ok_or("the line does not match the format")?;
            let text = &rest[..end];
            rest = &rest[end + piece.until.len()..];
            if piece.user {
                entry.user = text;
            }
            match piece.field {
                Field::Ignored => {}
                Field::Time => {
                    entry.time = time::any(text, &mut self.stamps).ok_or("unknown time format")?;
                }
                // The first forwarded address is the client.
                Field::Client => entry.client = text.split(|b| *b == b',').next().unwrap_or(b""),
                Field::Agent => entry.agent = text,
                Field::Request => (entry.method, entry.target) = request(text)?,
                Field::Method => entry.method = text,
                Field::Target if text.is_empty() => return Err("the request has no path"),
                Field::Target => entry.target = entry::path(text),
                Field::Status => entry.status = entry::status(text).ok_or("the status is not three digits")?,
                Field::Bytes => entry.bytes = number(text),
                Field::Duration(unit) => {
                    entry.duration = time::seconds(text).map(|n| (n as u128 * u128::from(unit) / 1_000_000_000) as u64);
                }
            }
        }
        Ok(entry)
    }
}

/// End of the field at the start of `rest`; a literal that starts with a quote is not matched after a backslash.
fn end(rest: &[u8], until: &[u8]) -> Option<usize> {
    match until {
        [] => Some(rest.len()),
        [b'"', ..] => {
            let mut from = 0;
            loop {
                let at = quote(rest, from)?;
                if rest[at..].starts_with(until) {
                    return Some(at);
                }
                from = at + 1;
            }
        }
        _ => memchr::memmem::find(rest, until),
    }
}
