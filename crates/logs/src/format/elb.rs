//! Classic and application load balancers of AWS:
//! `[type] time elb client:port target:port t1 t2 t3 status target_status received sent "request" "agent" ...`.

use crate::entry::{Entry, quote, request, status};
use crate::time::{iso, number, seconds};

/// Parses a line.
pub(crate) fn parse(line: &[u8]) -> Result<Entry<'_>, &'static str> {
    let open = memchr::memchr(b'"', line).ok_or("no quoted request")?;
    let mut fields = line[..open].split(|b| *b == b' ').peekable();
    // The first field of application load balancers is the type: http, https, h2, grpcs, ws, wss.
    if fields.peek().is_some_and(|first| first.first().is_some_and(u8::is_ascii_alphabetic)) {
        fields.next();
    }
    let mut next = || fields.next().ok_or("fewer than eleven fields before the request");
    let time = iso(next()?).ok_or("no time like 2026-11-20T17:58:05.123456Z")?;
    next()?;
    let client = next()?;
    let client = &client[..memchr::memrchr(b':', client).unwrap_or(client.len())];
    next()?;
    let mut duration = Some(0);
    for _ in 0..3 {
        // -1 means that the target could not be reached.
        let part = seconds(next()?);
        duration = duration.zip(part).map(|(sum, part)| sum + part as u64);
    }
    let code = status(next()?).ok_or("the status is not three digits")?;
    next()?;
    next()?;
    let bytes = number(next()?);
    let end = quote(line, open + 1).ok_or("the request is not closed by a quote")?;
    let (method, target) = request(&line[open + 1..end])?;
    let agent = match line.get(end + 1..end + 3) {
        Some(b" \"") => &line[end + 3..quote(line, end + 3).unwrap_or(line.len())],
        _ => b"",
    };
    Ok(Entry { time, client, agent, user: b"", method, target, status: code, bytes, duration })
}
