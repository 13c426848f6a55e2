//! uWSGI's default log: `[pid: 5|app: 0|req: 24/72] client (user) {50 vars in 1043 bytes} [Wed Jan 14 11:44:29 2015]
//! GET /a => generated 2 bytes in 149 msecs (HTTP/1.1 200) ...`, with an optional prefix.
//!
//! The time is the arrival without a zone (UTC is assumed), the bytes are those of the body. With `log-micros` the
//! duration is in microseconds, as the line states. (`uwsgi_logit_simple` in uWSGI's core/logging.c.)

use memchr::memmem::find;

use crate::entry::{Entry, path, status};
use crate::time::{ctime, number};

/// Parses a line.
pub(crate) fn parse(line: &[u8]) -> Result<Entry<'_>, &'static str> {
    let rest = after(line, b"[pid: ").and_then(|rest| after(rest, b"] ")).ok_or("no [pid: 5|app: 0|req: 1/1]")?;
    let client = rest.split(|b| *b == b' ').next().unwrap_or_default();
    let rest = after(rest, b"bytes} [").ok_or("no {50 vars in 1043 bytes}")?;
    let close = memchr::memchr(b']', rest).ok_or("no time after the vars")?;
    let time = ctime(&rest[..close]).ok_or("no time like Wed Jan 14 11:44:29 2015")?;
    let rest = rest.get(close + 2..).ok_or("no request after the time")?;
    // A path may contain ` => generated ` itself, so the last one counts.
    let arrow = memchr::memmem::rfind(rest, b" => generated ").ok_or("no => generated after the request")?;
    let (asked, answered) = (&rest[..arrow], &rest[arrow + b" => generated ".len()..]);
    let space = memchr::memchr(b' ', asked).ok_or("the request has no path")?;
    let (method, target) = (&asked[..space], &asked[space + 1..]);
    if target.is_empty() {
        return Err("the request has no path");
    }
    let mut words = answered.split(|b| *b == b' ');
    let bytes = words.next().and_then(number);
    // `bytes in N msecs (HTTP/1.1 200)`
    let mut words = words.skip(2);
    let (count, unit) = (words.next().and_then(number), words.next());
    let unit = if unit == Some(b"micros") { 1000 } else { 1_000_000 };
    let duration = count.and_then(|count| count.checked_mul(unit));
    let code = words.nth(1).and_then(|word| status(word.strip_suffix(b")")?)).ok_or("no (HTTP/1.1 200)")?;
    Ok(Entry { time, client, agent: b"", user: b"", method, target: path(target), status: code, bytes, duration })
}

/// The text after the first `mark`.
fn after<'a>(text: &'a [u8], mark: &[u8]) -> Option<&'a [u8]> {
    find(text, mark).map(|at| &text[at + mark.len()..])
}
