//! The entry: what one line of a log says, borrowed from the line.

/// One request as a log recorded it. Bytes are as logged: any of them may come from an attacker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Nanoseconds since the Unix epoch, as stamped: most servers stamp the arrival, nginx and Squid the completion.
    pub time: i64,
    /// The client's address or name.
    pub client: &'a [u8],
    /// The user agent, empty when not logged.
    pub agent: &'a [u8],
    /// The value of the field asked for with `--user field NAME`, else empty.
    pub user: &'a [u8],
    /// `GET`, ...
    pub method: &'a [u8],
    /// Path and query.
    pub target: &'a [u8],
    /// 0 when not logged.
    pub status: u16,
    /// Bytes of the answer.
    pub bytes: Option<u64>,
    /// Nanoseconds the answer took; of a job, those it ran.
    pub duration: Option<u64>,
}

/// `method target [protocol]` taken apart; the target may hold spaces, and absolute URLs lose scheme and host.
#[inline]
pub(crate) fn request(line: &[u8]) -> Result<(&[u8], &[u8]), &'static str> {
    let space = memchr::memchr(b' ', line).ok_or("the request has no path")?;
    let method = &line[..space];
    if !method.iter().all(|b| b.is_ascii_alphabetic() || *b == b'-' || *b == b'_') || method == b"-" || space == 0 {
        return Err("the request has no method");
    }
    let mut target = &line[space + 1..];
    if let Some(last) = memchr::memrchr(b' ', target)
        && target[last + 1..].starts_with(b"HTTP")
    {
        target = &target[..last];
    }
    target = target.trim_ascii();
    if target.is_empty() || target.starts_with(b"HTTP/") {
        return Err("the request has no path");
    }
    Ok((method, path(target)))
}

/// The path and query of a URL that may be absolute.
#[inline]
pub(crate) fn path(target: &[u8]) -> &[u8] {
    if target[0] == b'/' {
        return target;
    }
    let Some(scheme) = memchr::memmem::find(target, b"://").filter(|at| *at < 8) else { return target };
    let rest = &target[scheme + 3..];
    rest.iter().position(|b| *b == b'/').map_or(b"/", |at| &rest[at..])
}

/// `ddd` as a status; `-` and `000` are none.
#[inline]
pub(crate) fn status(text: &[u8]) -> Option<u16> {
    match text {
        b"-" => Some(0),
        [a @ b'0'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'] => {
            Some(u16::from(a - b'0') * 100 + u16::from(b - b'0') * 10 + u16::from(c - b'0'))
        }
        _ => None,
    }
}

/// The place of the first quote at or after `from` that no backslash escapes.
#[inline]
pub(crate) fn quote(line: &[u8], mut from: usize) -> Option<usize> {
    loop {
        let at = from + memchr::memchr(b'"', line.get(from..)?)?;
        let slashes = line[..at].iter().rev().take_while(|b| **b == b'\\').count();
        if slashes % 2 == 0 {
            return Some(at);
        }
        from = at + 1;
    }
}
