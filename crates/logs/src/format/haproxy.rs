//! `HAProxy`'s `option httplog`, with or without a syslog prefix: `client:port [accept date] frontend backend/server
//! TR/Tw/Tc/Tr/Ta status bytes - - ---- 1/1/1/1/0 0/0 {..} {..} "request"`.
//!
//! The date has milliseconds and no zone; UTC is assumed. (Section "HTTP log format" of the configuration manual.)

use crate::entry::{Entry, quote, request, status};
use crate::time::{Stamps, number};

/// Parses a line.
pub(crate) fn parse<'a>(line: &'a [u8], stamps: &mut Stamps) -> Result<Entry<'a>, &'static str> {
    const NO_DATE: &str = "no [06/Feb/2009:12:14:14.655] after the client";
    // The process ID is in brackets too: `haproxy[14389]: 10.0.1.2:33317 [`.
    let open = memchr::memmem::find_iter(line, b" [").find(|at| line.get(at + 4) == Some(&b'/')).ok_or(NO_DATE)?;
    let client = line[..open].rsplit(|b| *b == b' ').next().unwrap_or_default();
    let client = &client[..memchr::memrchr(b':', client).ok_or("no port after the client")?];
    let date = line.get(open + 2..open + 26).filter(|date| date[20] == b'.').ok_or(NO_DATE)?;
    let second = stamps.common(&[&date[..20], b" +0000"].concat()).ok_or(NO_DATE)?;
    let time = second + number(&date[21..24]).ok_or(NO_DATE)? as i64 * 1_000_000;
    let rest = line.get(open + 27..).filter(|_| line[open + 26] == b']').ok_or(NO_DATE)?;
    let quoted = memchr::memchr(b'"', rest).ok_or("no quoted request")?;
    let mut fields = rest[..quoted].split(|b| *b == b' ').filter(|field| !field.is_empty()).skip(2);
    let mut next = || fields.next().ok_or("fewer than five fields after the date");
    // The last timer is the total; a plus sign marks a line written before the end.
    let duration = next()?.rsplit(|b| *b == b'/').next().and_then(number);
    // -1 means that there was no response.
    let code = next()?;
    let code = if code == b"-1" { 0 } else { status(code).ok_or("the status is not three digits")? };
    let bytes = number(next()?);
    let end = quote(rest, quoted + 1).ok_or("the request is not closed by a quote")?;
    let (method, target) = request(&rest[quoted + 1..end])?;
    let duration = duration.and_then(|ms| ms.checked_mul(1_000_000));
    Ok(Entry { time, client, agent: b"", user: b"", method, target, status: code, bytes, duration })
}
