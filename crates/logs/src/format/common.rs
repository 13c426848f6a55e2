//! Common, Combined and vhost-combined logs (NCSA httpd, Apache, nginx's default); a hand-written parser for speed.
//!
//! `client ident user [date] "request" status bytes "referer" "agent"`: the last two are optional, further fields are
//! ignored, and a virtual host may come first. The EPA and SDSC logs, without ident and user, are also supported.

use crate::entry::{Entry, quote, request, status};
use crate::time::{Stamps, number};

/// Parser state.
#[derive(Clone, Debug, Default)]
pub struct Common {
    /// Whether lines start with a virtual host.
    pub(crate) vhost: bool,
    /// Field that identifies users, if not the client.
    pub(crate) user: Option<Field>,
    pub(super) stamps: Stamps,
}

/// Fields that can identify users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    /// Virtual host.
    Host,
    /// Identity (RFC 1413).
    Ident,
    /// Authenticated user name.
    User,
    /// Referer.
    Referer,
    /// User agent.
    Agent,
}

impl Field {
    /// The field with a name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "host" => Self::Host,
            "ident" => Self::Ident,
            "user" => Self::User,
            "referer" => Self::Referer,
            "agent" => Self::Agent,
            _ => return None,
        })
    }
}

impl Common {
    /// Parses a line.
    #[inline]
    pub(crate) fn parse<'a>(&mut self, line: &'a [u8]) -> Result<Entry<'a>, &'static str> {
        let (open, time) = self.date(line)?;
        let close = open + 1 + memchr::memchr(b']', &line[open + 1..]).ok_or("no ] after the date")?;
        let start = close + 3;
        if line.get(close + 1..start) != Some(b" \"") {
            return Err("no quoted request after the date");
        }
        let (end, code) = closing(line, start)?;
        let (method, target) = request(&line[start..end])?;
        let mut rest = end + 2 + code.len();
        let code = status(code).ok_or("the status is not a number of three digits")?;
        let size = token(line, rest + 1);
        rest += 1 + size.len();
        let mut entry = Entry { time, method, target, status: code, bytes: number(size), ..Entry::default() };
        entry.client = self.client(line, open)?;
        let mut referer: &[u8] = b"";
        if line.get(rest..rest + 2) == Some(b" \"")
            && let Some(end) = quote(line, rest + 2)
        {
            referer = &line[rest + 2..end];
            if line.get(end + 1..end + 3) == Some(b" \"") {
                entry.agent = &line[end + 3..quote(line, end + 3).unwrap_or(line.len())];
            }
        }
        if let Some(field) = self.user {
            entry.user = match field {
                Field::Referer => referer,
                Field::Agent => entry.agent,
                Field::Host | Field::Ident | Field::User => self.before(line, open, field),
            };
        }
        Ok(entry)
    }

    /// Position of the `[` of the date, and the date. Names before it may contain brackets.
    #[inline]
    fn date(&mut self, line: &[u8]) -> Result<(usize, i64), &'static str> {
        let mut from = 0;
        while let Some(at) = memchr::memchr(b'[', &line[from..]) {
            let open = from + at;
            let end = memchr::memchr(b']', &line[open..]).map_or(line.len(), |end| open + end);
            if open > 0
                && line[open - 1] == b' '
                && let Some(time) = self.stamps.common(&line[open + 1..end])
            {
                return Ok((open, time));
            }
            from = open + 1;
        }
        Err("no date like [01/Aug/1995:02:00:00 -0400]")
    }

    #[inline]
    fn client<'a>(&self, line: &'a [u8], open: usize) -> Result<&'a [u8], &'static str> {
        let first = token(line, 0);
        let client = if self.vhost { token(line, first.len() + 1) } else { first };
        if client.is_empty() || client.len() > open { Err("no client before the date") } else { Ok(client) }
    }

    fn before<'a>(&self, line: &'a [u8], open: usize, field: Field) -> &'a [u8] {
        let mut names = line[..open - 1].splitn(3 + usize::from(self.vhost), |b| *b == b' ');
        let host = if self.vhost { names.next() } else { None };
        let (ident, user) = (names.nth(1), names.next());
        match field {
            Field::Host => host,
            Field::Ident => ident,
            _ => user,
        }
        .unwrap_or(b"")
    }
}

/// Bytes from `from` to the next space or the end.
#[inline]
fn token(line: &[u8], from: usize) -> &[u8] {
    let rest = line.get(from..).unwrap_or(b"");
    &rest[..memchr::memchr(b' ', rest).unwrap_or(rest.len())]
}

/// End of the request that starts at `start`, and the status after it. The request ends at the first quote followed by
/// a status, so quotes inside the request (escaped or, on old servers, not) do not end it.
#[inline]
fn closing(line: &[u8], start: usize) -> Result<(usize, &[u8]), &'static str> {
    let mut from = start;
    while let Some(at) = memchr::memchr(b'"', line.get(from..).unwrap_or(b"")) {
        let end = from + at;
        if line.get(end + 1) == Some(&b' ') {
            let code = token(line, end + 2);
            if status(code).is_some() {
                return Ok((end, code));
            }
        }
        from = end + 1;
    }
    Err("no status after the quoted request")
}

/// Whether `line` starts with a virtual host: four names before the date, the last two are ident and user. A user name
/// with a blank looks the same, so the host must contain a dot or colon.
pub(super) fn has_vhost(line: &[u8]) -> bool {
    let open = memchr::memmem::find(line, b" [").unwrap_or(0);
    let names: Vec<&[u8]> = line[..open].split(|b| *b == b' ').collect();
    names.len() >= 4
        && names[0].iter().any(|b| matches!(b, b'.' | b':'))
        && names[1].iter().any(|b| matches!(b, b'.' | b':'))
}
