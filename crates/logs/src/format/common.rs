//! Common, Combined and vhost-combined logs (NCSA httpd, Apache, nginx's default), by hand: the format that must be fast.
//!
//! `client ident user [date] "request" status bytes "referer" "agent"`, the last two where they are there, more ignored; with
//! a virtual host in front when the sniffer found one. The EPA and SDSC logs, which have neither ident nor user, read too.

use crate::entry::{Entry, quote, request, status};
use crate::time::{Stamps, number};

/// The reader of one such log.
#[derive(Clone, Debug, Default)]
pub struct Common {
    /// Whether a virtual host stands first.
    pub(crate) vhost: bool,
    /// Which other field tells the users apart.
    pub(crate) user: Option<Field>,
    pub(super) stamps: Stamps,
}

/// The fields that can tell users apart besides client and agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    /// The virtual host.
    Host,
    /// The identity by RFC 1413.
    Ident,
    /// The authenticated name.
    User,
    /// The referer.
    Referer,
    /// The user agent.
    Agent,
}

impl Field {
    /// The field of that name.
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
    /// What `line` says.
    #[inline]
    pub(crate) fn parse<'a>(&mut self, line: &'a [u8]) -> Result<Entry<'a>, &'static str> {
        let (open, time) = self.date(line)?;
        let close = open + 1 + memchr::memchr(b']', &line[open + 1..]).ok_or("no ] behind the date")?;
        let start = close + 3;
        if line.get(close + 1..start) != Some(b" \"") {
            return Err("no quoted request behind the date");
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

    /// The place of the `[` of the date, and the date; a name in front of it may itself hold brackets.
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

/// The bytes from `from` up to the next space or the end.
#[inline]
fn token(line: &[u8], from: usize) -> &[u8] {
    let rest = line.get(from..).unwrap_or(b"");
    &rest[..memchr::memchr(b' ', rest).unwrap_or(rest.len())]
}

/// Where the request that starts at `start` ends, and the status behind it: the first quote followed by something like a
/// status, so that a quote inside the request, escaped or (old servers) not, does not end it.
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
    Err("no status behind a closed request")
}

/// Whether `line` begins with a virtual host: four names before the date, of which the last two are ident and user. A user
/// name with a blank looks the same, so the host must look like one.
pub(super) fn has_vhost(line: &[u8]) -> bool {
    let open = memchr::memmem::find(line, b" [").unwrap_or(0);
    let names: Vec<&[u8]> = line[..open].split(|b| *b == b' ').collect();
    names.len() >= 4
        && names[0].iter().any(|b| matches!(b, b'.' | b':'))
        && names[1].iter().any(|b| matches!(b, b'.' | b':'))
}
