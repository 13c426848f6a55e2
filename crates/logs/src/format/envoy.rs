//! Envoy's default format, and Istio's, which has the same beginning:
//! `[time] "request" status flags [Istio: details ...] received sent duration upstream "forwarded for" "agent" ...`.
//!
//! The client is the first address of X-Forwarded-For.
//! (<https://www.envoyproxy.io/docs/envoy/latest/configuration/observability/access_log/usage>)

use crate::entry::{Entry, quote, request, status};
use crate::time::{iso, number};

/// Parses a line.
pub(crate) fn parse(line: &[u8]) -> Result<Entry<'_>, &'static str> {
    let close = memchr::memchr(b']', line)
        .filter(|_| line.first() == Some(&b'['))
        .ok_or("no [time] at the start of the line")?;
    let time = iso(&line[1..close]).ok_or("no time like 2026-11-20T17:58:05.123Z")?;
    let rest = line.get(close + 3..).filter(|_| line[close..].starts_with(b"] \"")).ok_or("no quoted request")?;
    let end = quote(rest, 0).ok_or("the request is not closed by a quote")?;
    let (method, target) = request(&rest[..end])?;
    let rest = &rest[end + 1..];
    let code = match fields(rest).next() {
        // The client disconnected before the response.
        Some(b"0") => 0,
        code => code.and_then(status).ok_or("the status is not three digits")?,
    };
    // Istio writes a quoted transport failure reason before the counts.
    let mut from = 0;
    let (bytes, duration, open) = loop {
        let open = quote(rest, from).ok_or("no counts of bytes and milliseconds before the client")?;
        if let Some((bytes, ms)) = counts(&rest[from..open]) {
            break (bytes, ms.checked_mul(1_000_000), open);
        }
        from = quote(rest, open + 1).ok_or("a quote is not closed")? + 1;
    };
    let end = quote(rest, open + 1).ok_or("the client is not closed by a quote")?;
    let client = rest[open + 1..end].split(|b| *b == b',').next().unwrap_or_default();
    let agent = match rest.get(end + 1..end + 3) {
        Some(b" \"") => &rest[end + 3..quote(rest, end + 3).unwrap_or(rest.len())],
        _ => b"",
    };
    Ok(Entry { time, client, agent, user: b"", method, target, status: code, bytes: Some(bytes), duration })
}

fn fields(text: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    text.split(|b| *b == b' ').filter(|field| !field.is_empty())
}

/// Bytes sent and duration in milliseconds, if `text` ends with `received sent milliseconds upstream`.
fn counts(text: &[u8]) -> Option<(u64, u64)> {
    let mut last = fields(text).rev().skip(1);
    let (ms, sent) = (number(last.next()?)?, number(last.next()?)?);
    number(last.next()?).map(|_| (sent, ms))
}
