//! Putting requests into words.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use offered_model::Instant;
use offered_model::template::in_url;

use super::cookies::OF_AN_ANSWER;
use super::value::{Lack, Text};
use super::{Memory, Moment, Path, Script, Who};
use crate::ask::{Ask, MOST_KEPT, Reply};

impl Script {
    /// Request `label` for this moment of a session.
    ///
    /// # Errors
    /// A value that is not there, or cannot stand where it is asked for.
    pub(crate) fn ask(&self, label: u16, moment: Moment, memory: Option<&Memory>, now: Instant) -> Result<Ask, Lack> {
        let request = &self.requests[usize::from(label)];
        let body = request.body.bytes(&self.values, moment, memory)?;
        let expected = ["POST", "PUT", "PATCH"].contains(&request.method.as_str());
        let mut ask = Ask {
            method: request.method.clone(),
            path: match &request.path {
                Path::Text(path) => self.path(path, moment, memory)?,
                Path::OneOf(one_of) => self.values.path(one_of, moment).to_owned(),
            },
            headers: self.headers(label, moment, memory)?,
            body: body.or_else(|| expected.then(Vec::new)),
            lane: 0,
            wanted: if request.wants_body { MOST_KEPT } else { 0 },
            awaited: match &request.awaited {
                Some(pattern) => {
                    // A value is what it is, and no expression.
                    let put = |pattern: &mut String, value: &str| pattern.push_str(&regex::escape(value));
                    Some(self.values.render(pattern, moment, memory, put)?)
                }
                None => None,
            },
            parameters: self.parameters(&request.parameters, moment, memory)?,
        };
        if let Some(kind) = request.body.media_type()
            && !has(&ask.headers, "content-type")
        {
            ask.headers.push(("Content-Type".to_owned(), kind));
        }
        self.remind(&mut ask, memory, now);
        Ok(ask)
    }

    /// Object `object` (from 1) of request `label`, over this lane.
    ///
    /// # Errors
    /// A value that is not there, or a path of another host.
    pub(crate) fn object(
        &self,
        (label, object): (u16, u16),
        lane: u8,
        moment: Moment,
        memory: Option<&Memory>,
        now: Instant,
    ) -> Result<Ask, Lack> {
        let path = &self.requests[usize::from(label)].paths[usize::from(object) - 1];
        let mut ask = Ask {
            method: "GET".to_owned(),
            path: self.path(path, moment, memory)?,
            headers: self.headers(label, moment, memory)?,
            lane,
            ..Ask::default()
        };
        // They say what the page's body is.
        ask.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
        self.remind(&mut ask, memory, now);
        Ok(ask)
    }

    /// Where an answer to `ask` sends its session next, as a browser goes; `None`: it is no redirect.
    ///
    /// # Errors
    /// A place that is not of this target.
    pub(crate) fn redirected(
        &self,
        ask: &Ask,
        status: u16,
        reply: &Reply,
        memory: Option<&Memory>,
        now: Instant,
    ) -> Result<Option<Ask>, String> {
        if !matches!(status, 301 | 302 | 303 | 307 | 308) {
            return Ok(None);
        }
        let place = reply.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("location"));
        let Some((_, place)) = place else { return Ok(None) };
        let place = in_url("", &String::from_utf8_lossy(place)).replace("%23", "#");
        let place = place.split('#').next().unwrap_or_default();
        let mut next = Ask { path: self.resolved(&ask.path, place)?, ..ask.clone() };
        let drops = status == 303 && ask.method != "HEAD" || matches!(status, 301 | 302) && ask.method == "POST";
        if drops {
            "GET".clone_into(&mut next.method);
            next.body = None;
            next.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
        }
        if self.cookies {
            next.headers.retain(|(name, _)| name != COOKIE);
        }
        self.remind(&mut next, memory, now);
        Ok(Some(next))
    }

    /// Stores the cookies of an answer to a request for `path`.
    pub(crate) fn store_cookies(&self, path: &str, reply: &Reply, memory: &mut Memory, now: Instant) {
        let cookies = reply.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie"));
        cookies.take(OF_AN_ANSWER).for_each(|(_, line)| {
            memory.jar.set(line, &self.host, self.scheme == "https", path, now, offered_clock::unix_now);
        });
    }

    /// Adds the session's cookies.
    fn remind(&self, ask: &mut Ask, memory: Option<&Memory>, now: Instant) {
        let kept = memory.filter(|_| self.cookies).and_then(|memory| memory.jar.header(&ask.path, now));
        if let Some(kept) = kept {
            ask.headers.push((COOKIE.to_owned(), kept));
        }
    }

    fn parameters(
        &self,
        given: &[Option<Text>],
        moment: Moment,
        memory: Option<&Memory>,
    ) -> Result<Vec<Option<String>>, Lack> {
        let value = |text: &Option<Text>| text.as_ref().map(|text| self.values.plain(text, moment, memory)).transpose();
        given.iter().map(value).collect()
    }

    fn path(&self, text: &Text, moment: Moment, memory: Option<&Memory>) -> Result<String, Lack> {
        let put = |path: &mut String, value: &str| {
            let value = in_url(path, value);
            path.push_str(&value);
        };
        let path = self.values.render(text, moment, memory, put)?;
        // Only what a value brings may be a whole URL.
        if text.begins_with('/') { Ok(path) } else { self.resolved("/", &path).map_err(Lack::Value) }
    }

    /// The path that `place` means, seen from `base`: a path, a piece of one, or a whole URL of this target.
    fn resolved(&self, base: &str, place: &str) -> Result<String, String> {
        let of_other = || format!("{place} is not of {}://{}", self.scheme, self.authority);
        if let Some(scheme) = place.find("://").filter(|at| place[..*at].bytes().all(|b| b.is_ascii_alphanumeric())) {
            let rest = &place[scheme + 3..];
            let end = rest.find(['/', '?']).unwrap_or(rest.len());
            let usual = if self.scheme == "https" { ":443" } else { ":80" };
            let short = |authority: &str| authority.strip_suffix(usual).unwrap_or(authority).to_ascii_lowercase();
            let ours =
                place[..scheme].eq_ignore_ascii_case(self.scheme) && short(&rest[..end]) == short(&self.authority);
            return if ours { Ok(rooted(&rest[end..])) } else { Err(of_other()) };
        }
        if has_scheme(place) {
            return Err(of_other());
        }
        if let Some(rest) = place.strip_prefix("//") {
            return self.resolved(base, &format!("{}://{rest}", self.scheme));
        }
        let path = base.split('?').next().unwrap_or(base);
        Ok(match place.as_bytes().first() {
            None => base.to_owned(),
            Some(b'/') => place.to_owned(),
            Some(b'?') => format!("{path}{place}"),
            Some(_) => dotless(&format!("{}{place}", &path[..=path.rfind('/').unwrap_or(0)])),
        })
    }

    fn headers(&self, label: u16, moment: Moment, memory: Option<&Memory>) -> Result<Vec<(String, String)>, Lack> {
        let request = &self.requests[usize::from(label)];
        let mut headers = Vec::with_capacity(request.headers.len() + 4);
        for (name, value) in &request.headers {
            headers.push((name.clone(), self.values.plain(value, moment, memory)?));
        }
        let auth = match &request.auth {
            Some(Who::Basic(pair)) => {
                Some(format!("Basic {}", STANDARD.encode(self.values.plain(pair, moment, memory)?)))
            }
            Some(Who::Bearer(token)) => Some(format!("Bearer {}", self.values.plain(token, moment, memory)?)),
            None => None,
        };
        headers.extend(auth.map(|auth| ("Authorization".to_owned(), auth)));
        if let Some((name, _)) =
            headers.iter().find(|(_, value)| value.bytes().any(|b| b.is_ascii_control() && b != b'\t'))
        {
            return Err(Lack::Value(format!("the value for the header {name} has a control character")));
        }
        for (name, value) in [("User-Agent", concat!("offered/", env!("CARGO_PKG_VERSION"))), ("Accept", "*/*")] {
            if !has(&headers, name) {
                headers.push((name.to_owned(), value.to_owned()));
            }
        }
        Ok(headers)
    }
}

/// How our own cookies are written; one that the workload sets is written as it writes it.
const COOKIE: &str = "Cookie";

fn has(headers: &[(String, String)], name: &str) -> bool {
    headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name))
}

/// Whether a URL begins with a scheme (RFC 3986, section 3.1): what is before its first colon, where no `/` or `?` comes first.
fn has_scheme(place: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    place.split_once(':').is_some_and(|(scheme, _)| {
        scheme.as_bytes().first().is_some_and(u8::is_ascii_alphabetic) && scheme.bytes().all(fits)
    })
}

/// A path behind a host: `/` where there is none.
fn rooted(path: &str) -> String {
    if path.starts_with('/') { path.to_owned() } else { format!("/{path}") }
}

/// A path without `.` and `..` (RFC 3986, 5.2.4), its query as it is.
fn dotless(path: &str) -> String {
    let (path, query) = path.split_at(path.find('?').unwrap_or(path.len()));
    let mut kept: Vec<&str> = Vec::new();
    let mut pieces = path.split('/').skip(1).peekable();
    while let Some(piece) = pieces.next() {
        let last = pieces.peek().is_none();
        match piece {
            "." | ".." => {
                if piece == ".." {
                    kept.pop();
                }
                if last {
                    kept.push("");
                }
            }
            piece => kept.push(piece),
        }
    }
    format!("/{}{query}", kept.join("/"))
}
