//! Squid's native log: `time elapsed client code/status bytes method URL user hierarchy/host type`.

use crate::entry::{Entry, path, status};
use crate::time::{number, seconds};

/// Parses a line.
pub(crate) fn parse(line: &[u8]) -> Result<Entry<'_>, &'static str> {
    let mut fields = line.split(|b| *b == b' ').filter(|field| !field.is_empty());
    let mut next = || fields.next().ok_or("fewer than seven fields");
    let time = next().and_then(|text| seconds(text).ok_or("the first field is not a time in seconds"))?;
    let elapsed = number(next()?).ok_or("the second field is not a number of milliseconds")?;
    let client = next()?;
    let code = next()?.rsplit(|b| *b == b'/').next().and_then(status).ok_or("no code/status in the fourth field")?;
    let bytes = number(next()?);
    let (method, target) = (next()?, path(next()?));
    let user = fields.next().unwrap_or(b"");
    let duration = elapsed.checked_mul(1_000_000);
    Ok(Entry { time, client, agent: b"", user, method, target, status: code, bytes, duration })
}
