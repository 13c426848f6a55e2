//! S3's server access log: `owner bucket [time] client requester id operation key "request" status error bytes size
//! total turnaround "referer" "agent" version ...`.
//!
//! The time is the arrival in UTC, `total` the milliseconds until the last byte of the response. Operations of S3
//! itself (lifecycle rules, batch parts) have no request and are rejected. (User guide, "Amazon S3 server access log
//! format".)

use crate::entry::{Entry, quote, request, status};
use crate::time::{Stamps, number};

/// Parses a line.
pub(crate) fn parse<'a>(line: &'a [u8], stamps: &mut Stamps) -> Result<Entry<'a>, &'static str> {
    const NO_TIME: &str = "no [06/Feb/2019:00:00:38 +0000] after owner and bucket";
    let mut before = line.splitn(3, |b| *b == b' ');
    let rest = before.nth(2).filter(|rest| rest.first() == Some(&b'[')).ok_or(NO_TIME)?;
    let close = memchr::memchr(b']', rest).ok_or(NO_TIME)?;
    let time = stamps.common(&rest[1..close]).ok_or(NO_TIME)?;
    let open = quote(rest, close).ok_or("no quoted request")?;
    let mut fields = fields(&rest[close + 1..open]);
    let client = fields.next().ok_or("no client after the time")?;
    // Requester, ID, operation and key; S3 encodes blanks in keys.
    if fields.count() != 4 {
        return Err("no four fields between client and request");
    }
    let end = quote(rest, open + 1).ok_or("the request is not closed by a quote")?;
    let (method, target) = request(&rest[open + 1..end])?;
    let behind = &rest[end + 1..];
    let mut figures = self::fields(&behind[..quote(behind, 0).unwrap_or(behind.len())]);
    let code = figures.next().and_then(status).ok_or("the status is not three digits")?;
    let bytes = figures.nth(1).and_then(number);
    let duration = figures.nth(1).and_then(number).and_then(|ms| ms.checked_mul(1_000_000));
    let agent = quoted(behind, 1).unwrap_or_default();
    Ok(Entry { time, client, agent, user: b"", method, target, status: code, bytes, duration })
}

fn fields(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|b| *b == b' ').filter(|field| !field.is_empty())
}

/// The quoted text number `n`, starting at 0.
fn quoted(text: &[u8], n: usize) -> Option<&[u8]> {
    let mut from = 0;
    for _ in 0..n {
        from = quote(text, quote(text, from)? + 1)? + 1;
    }
    let open = quote(text, from)? + 1;
    Some(&text[open..quote(text, open)?])
}
