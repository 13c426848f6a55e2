//! A log entry, borrowed from its line.

/// A request as recorded in a log. All fields are raw bytes and untrusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Timestamp in nanoseconds since the Unix epoch: the arrival on most servers, the completion with nginx and Squid.
    pub time: i64,
    /// Address or name of the client.
    pub client: &'a [u8],
    /// User agent; empty if not logged.
    pub agent: &'a [u8],
    /// Value of the field selected by `--user 'field NAME'`; otherwise empty.
    pub user: &'a [u8],
    /// Request method.
    pub method: &'a [u8],
    /// Path and query.
    pub target: &'a [u8],
    /// Status; 0 if not logged.
    pub status: u16,
    /// Size of the response in bytes.
    pub bytes: Option<u64>,
    /// Duration in nanoseconds; for jobs the run time.
    pub duration: Option<u64>,
}

/// Splits `method target [protocol]`. The target may contain spaces; scheme and host of absolute URLs are removed.
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

/// Path and query of a URL, which may be absolute.
#[inline]
pub(crate) fn path(target: &[u8]) -> &[u8] {
    if target[0] == b'/' {
        return target;
    }
    let Some(scheme) = memchr::memmem::find(target, b"://").filter(|at| *at < 8) else { return target };
    let rest = &target[scheme + 3..];
    rest.iter().position(|b| *b == b'/').map_or(b"/", |at| &rest[at..])
}

/// Parses a status of three digits; `-` gives 0.
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

/// Position of the first unescaped quote at or after `from`.
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
