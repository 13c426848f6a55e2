//! The cookies of a session (RFC 6265), each for its host or domain. Their number and size are limited as in curl
//! (`lib/cookie.h`), so that a server that keeps setting new ones cannot fill memory and requests.

use std::net::IpAddr;

use cookie::Cookie;
use offered_base::{Instant, Nanos};
use offered_public_suffix::is_public_suffix;

/// Maximum number of cookies taken from one response (`MAX_SET_COOKIE_AMOUNT`).
pub(super) const MAX_COOKIES_PER_RESPONSE: usize = 50;
/// Maximum number of stored cookies, the latest ones (`MAX_COOKIE_SEND_AMOUNT`).
const MAX_COOKIES: usize = 150;
/// Longer `Set-Cookie` values are ignored (`MAX_COOKIE_LINE`).
const MAX_LINE: usize = 5000;
/// Maximum length of the `Cookie` header (`MAX_COOKIE_HEADER_LEN`).
const MAX_HEADER: usize = 8190;

/// The cookies of one session, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct CookieJar(Vec<StoredCookie>);

#[derive(Debug)]
struct StoredCookie {
    name: String,
    value: String,
    /// The host that set the cookie, or the domain that it set the cookie for, in lower case.
    domain: String,
    /// Whether it is sent to `domain` alone; otherwise also to hosts below it.
    host_only: bool,
    path: String,
    /// Whether it is sent over TLS only.
    secure: bool,
    /// Expiry, since the start of the run; `None`: with the session.
    until: Option<Instant>,
}

impl CookieJar {
    /// Takes a `Set-Cookie` value from a response of `host` to a request for `path`; `secure` if over TLS. `unix_now`
    /// is called only for an absolute expiry date.
    pub(crate) fn set(
        &mut self,
        line: &[u8],
        host: &str,
        secure: bool,
        path: &str,
        now: Instant,
        unix_now: impl Fn() -> Nanos,
    ) {
        if line.len() > MAX_LINE {
            return;
        }
        let line = String::from_utf8_lossy(line);
        let Ok(cookie) = Cookie::parse(&*line) else { return };
        // Like a browser, reject a cookie for another domain or for a public suffix, and a Secure one over plain HTTP.
        let host = host.to_ascii_lowercase();
        let domain = cookie.domain().map(|domain| domain.trim_start_matches('.').to_ascii_lowercase());
        let domain = domain.filter(|domain| !domain.is_empty());
        let is_public = |domain: &String| is_public_suffix(domain);
        let is_refused = domain.as_ref().is_some_and(|d| *d != host && (!is_below(&host, d) || is_public(d)));
        let needs_tls = cookie.secure() == Some(true);
        if is_refused || needs_tls && !secure {
            return;
        }
        let host_only = domain.as_ref().is_none_or(is_public);
        let domain = domain.unwrap_or(host);
        let path = match cookie.path() {
            Some(path) if path.starts_with('/') => path.to_owned(),
            _ => default_path(path).to_owned(),
        };
        let seconds = match (cookie.max_age(), cookie.expires_datetime()) {
            (Some(age), _) => Some(age.whole_seconds()),
            (None, Some(date)) => Some(date.unix_timestamp() - (unix_now().0 / 1_000_000_000) as i64),
            (None, None) => None,
        };
        self.0.retain(|stored| stored.name != cookie.name() || stored.path != path || stored.domain != domain);
        if seconds.is_some_and(|seconds| seconds <= 0) {
            return;
        }
        let until =
            seconds.map(|seconds| now + Nanos(u64::try_from(seconds).unwrap_or(0).saturating_mul(1_000_000_000)));
        if self.0.len() == MAX_COOKIES {
            self.0.remove(0);
        }
        let (name, value) = (cookie.name().to_owned(), cookie.value().to_owned());
        self.0.push(StoredCookie { name, value, domain, host_only, path, secure: needs_tls, until });
    }

    /// The `Cookie` header for a request to `host` for `path`, as `a=1; b=2`: the longest path first, as many as fit. `None` if
    /// no cookie applies. `secure`: over TLS.
    pub(crate) fn header(&self, host: &str, secure: bool, path: &str, now: Instant) -> Option<String> {
        let host = host.to_ascii_lowercase();
        let path = path.split(['?', '#']).next().unwrap_or(path);
        let applies = |cookie: &&StoredCookie| {
            let under = path.strip_prefix(&*cookie.path);
            under.is_some_and(|rest| rest.is_empty() || cookie.path.ends_with('/') || rest.starts_with('/'))
                && (host == cookie.domain || !cookie.host_only && is_below(&host, &cookie.domain))
                && (secure || !cookie.secure)
                && cookie.until.is_none_or(|until| now < until)
        };
        let mut sent: Vec<&StoredCookie> = self.0.iter().filter(applies).collect();
        sent.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        let mut header = String::new();
        for StoredCookie { name, value, .. } in sent {
            let between = if header.is_empty() { "" } else { "; " };
            if header.len() + between.len() + name.len() + 1 + value.len() > MAX_HEADER {
                break;
            }
            for text in [between, name, "=", value] {
                header.push_str(text);
            }
        }
        (!header.is_empty()).then_some(header)
    }
}

/// Whether `host` is below `domain`, as `www.shop.test` is below `shop.test`. False if `host` is an IP address.
fn is_below(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain).is_some_and(|before| before.ends_with('.')) && host.parse::<IpAddr>().is_err()
}

/// The path of a cookie that sets none: the path of the request up to, but excluding, the last `/`.
fn default_path(path: &str) -> &str {
    let path = path.split(['?', '#']).next().unwrap_or(path);
    match path.rfind('/') {
        None | Some(0) => "/",
        Some(at) => &path[..at],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_are_stored_replaced_and_expired() {
        let mut jar = CookieJar::default();
        let now = Instant::from_secs(10);
        let mut set = |line: &str, now| {
            jar.set(line.as_bytes(), "shop.test", false, "/cart/add?x=1", now, || Nanos::from_secs(2_000_000_000));
        };
        for line in [
            "sid=1; Path=/; HttpOnly",
            "sid=2; Path=/",
            "here=x",
            "short=y; Path=/; Max-Age=5",
            "old=z; Path=/; Expires=Wed, 21 Oct 2015 07:28:00 GMT",
            "gone=z; Path=/; Max-Age=0",
            "theirs=z; Domain=evil.test; Path=/",
            "ours=o; Domain=.shop.test; Path=/cart",
            "safe=z; Secure; Path=/",
            "no cookie",
        ] {
            set(line, now);
        }
        assert_eq!(jar.header("shop.test", false, "/", now).as_deref(), Some("sid=2; short=y"));
        assert_eq!(jar.header("shop.test", false, "/cart/pay", now).as_deref(), Some("here=x; ours=o; sid=2; short=y"));
        assert_eq!(jar.header("shop.test", false, "/cartoon", now).as_deref(), Some("sid=2; short=y"));
        assert_eq!(jar.header("shop.test", false, "/", now + Nanos::from_secs(5)).as_deref(), Some("sid=2"));
        jar.set(b"sid=; Path=/; Max-Age=-1", "shop.test", true, "/", now, || Nanos::ZERO);
        assert_eq!(jar.header("shop.test", false, "/", now + Nanos::from_secs(9)), None);
    }

    #[test]
    fn the_number_and_size_of_cookies_are_limited() {
        let mut jar = CookieJar::default();
        let mut set = |line: &str| jar.set(line.as_bytes(), "shop.test", false, "/", Instant::ZERO, || Nanos::ZERO);
        set(&format!("long={}", "x".repeat(MAX_LINE)));
        for n in 0..1000 {
            set(&format!("c{n}={n}"));
        }
        assert_eq!(jar.0.len(), MAX_COOKIES);
        let sent = jar.header("shop.test", false, "/", Instant::ZERO).unwrap();
        assert!(sent.starts_with("c850=850; ") && sent.ends_with("; c999=999"), "{sent}");
        let mut set = |line: &str| jar.set(line.as_bytes(), "shop.test", false, "/", Instant::ZERO, || Nanos::ZERO);
        for n in 0..100 {
            set(&format!("l{n}={}", "x".repeat(1000)));
        }
        assert!((7000..=MAX_HEADER).contains(&jar.header("shop.test", false, "/", Instant::ZERO).unwrap().len()));
    }

    #[test]
    fn each_host_gets_its_own_cookies() {
        let mut jar = CookieJar::default();
        let now = Instant::ZERO;
        let mut set = |line: &str, host: &str| jar.set(line.as_bytes(), host, true, "/", now, || Nanos::ZERO);
        set("own=1", "www.shop.co.uk");
        set("all=2; Domain=shop.co.uk", "www.shop.co.uk");
        set("public=3; Domain=co.uk", "www.shop.co.uk");
        set("below=4; Domain=api.shop.co.uk", "www.shop.co.uk");
        set("tls=5; Secure", "api.shop.co.uk");
        set("itself=6; Domain=API.shop.co.uk", "api.shop.co.uk");
        set("ip=7; Domain=0.0.1", "127.0.0.1");
        set("suffix=8; Domain=co.uk", "co.uk");
        for (host, secure, sent) in [
            ("www.shop.co.uk", true, Some("own=1; all=2")),
            ("shop.co.uk", true, Some("all=2")),
            ("API.shop.co.uk", true, Some("all=2; tls=5; itself=6")),
            ("api.shop.co.uk", false, Some("all=2; itself=6")),
            ("v1.api.shop.co.uk", true, Some("all=2; itself=6")),
            ("other.co.uk", true, None),
            ("notshop.co.uk", true, None),
            ("127.0.0.1", true, None),
        ] {
            assert_eq!(jar.header(host, secure, "/", now).as_deref(), sent, "{host}");
        }
    }
}
