//! Building requests.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use offered_base::Instant;
use offered_workload::template::in_url;

use super::cookies::MAX_COOKIES_PER_RESPONSE;
use super::value::{MissingValue, Text};
use super::{Credentials, Path, RequestContext, Script, SessionState};
use crate::message::{MAX_BODY_BYTES, OutgoingRequest, Response};

impl Script {
    /// Builds request `label`.
    ///
    /// # Errors
    /// A value is missing, or is not valid at its position.
    pub(crate) fn request(
        &self,
        label: u16,
        context: RequestContext,
        state: Option<&SessionState>,
        now: Instant,
    ) -> Result<OutgoingRequest, MissingValue> {
        let request = &self.requests[usize::from(label)];
        let body = request.body.bytes(&self.values, context, state)?;
        let expected = ["POST", "PUT", "PATCH"].contains(&request.method.as_str());
        let mut outgoing = OutgoingRequest {
            method: request.method.clone(),
            path: match &request.path {
                Path::Text(path) => self.path(path, context, state)?,
                Path::OneOf(one_of) => self.values.path(one_of, context).to_owned(),
            },
            headers: self.headers(label, context, state)?,
            body: body.or_else(|| expected.then(Bytes::new)),
            lane: 0,
            body_limit: if request.reads_body { MAX_BODY_BYTES } else { 0 },
            awaited: match &request.awaited {
                Some(pattern) => {
                    // A value is matched literally.
                    let put = |pattern: &mut String, value: &str| pattern.push_str(&regex::escape(value));
                    Some(self.values.render(pattern, context, state, put)?)
                }
                None => None,
            },
            parameters: self.parameters(&request.parameters, context, state)?,
            prompt_tokens: request.stream.as_ref().and_then(|_| request.body.prompt_tokens(&self.values, context)),
            stream: request.stream.clone(),
        };
        if let Some(kind) = request.body.media_type()
            && !has(&outgoing.headers, "content-type")
        {
            outgoing.headers.push(("Content-Type".to_owned(), kind));
        }
        self.add_cookies(&mut outgoing, state, now);
        Ok(outgoing)
    }

    /// Builds the request for object `object` (from 1) of request `label`, over connection `lane`.
    ///
    /// # Errors
    /// A value is missing, or the path is on another host.
    pub(crate) fn object(
        &self,
        (label, object): (u16, u16),
        lane: u8,
        context: RequestContext,
        state: Option<&SessionState>,
        now: Instant,
    ) -> Result<OutgoingRequest, MissingValue> {
        let path = &self.requests[usize::from(label)].paths[usize::from(object) - 1];
        let mut outgoing = OutgoingRequest {
            method: "GET".to_owned(),
            path: self.path(path, context, state)?,
            headers: self.headers(label, context, state)?,
            lane,
            ..OutgoingRequest::default()
        };
        // The content type describes the body of the page.
        outgoing.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
        self.add_cookies(&mut outgoing, state, now);
        Ok(outgoing)
    }

    /// The request that follows from a redirect, as a browser sends it; `None` if the response is not a redirect.
    ///
    /// # Errors
    /// The location is on another host.
    pub(crate) fn redirect(
        &self,
        outgoing: &OutgoingRequest,
        status: u16,
        reply: &Response,
        state: Option<&SessionState>,
        now: Instant,
    ) -> Result<Option<OutgoingRequest>, String> {
        if !matches!(status, 301 | 302 | 303 | 307 | 308) {
            return Ok(None);
        }
        let location = reply.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("location"));
        let Some((_, location)) = location else { return Ok(None) };
        let location = in_url("", without_fragment(&String::from_utf8_lossy(location)));
        let mut next = OutgoingRequest { path: self.resolve(&outgoing.path, &location)?, ..outgoing.clone() };
        let drops =
            status == 303 && outgoing.method != "HEAD" || matches!(status, 301 | 302) && outgoing.method == "POST";
        if drops {
            "GET".clone_into(&mut next.method);
            next.body = None;
            next.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
        }
        if self.cookies {
            next.headers.retain(|(name, _)| name != COOKIE);
        }
        self.add_cookies(&mut next, state, now);
        Ok(Some(next))
    }

    /// Stores the cookies of a response to a request for `path`.
    pub(crate) fn store_cookies(&self, path: &str, reply: &Response, state: &mut SessionState, now: Instant) {
        let cookies = reply.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie"));
        cookies.take(MAX_COOKIES_PER_RESPONSE).for_each(|(_, line)| {
            state.jar.set(line, &self.host, self.scheme == "https", path, now, offered_io::unix_now);
        });
    }

    /// Adds the cookies of the session.
    fn add_cookies(&self, outgoing: &mut OutgoingRequest, state: Option<&SessionState>, now: Instant) {
        let cookies = state.filter(|_| self.cookies).and_then(|state| state.jar.header(&outgoing.path, now));
        if let Some(cookies) = cookies {
            outgoing.headers.push((COOKIE.to_owned(), cookies));
        }
    }

    fn parameters(
        &self,
        given: &[Option<Text>],
        context: RequestContext,
        state: Option<&SessionState>,
    ) -> Result<Vec<Option<String>>, MissingValue> {
        let value = |text: &Option<Text>| text.as_ref().map(|text| self.values.plain(text, context, state)).transpose();
        given.iter().map(value).collect()
    }

    fn path(&self, text: &Text, context: RequestContext, state: Option<&SessionState>) -> Result<String, MissingValue> {
        let put = |path: &mut String, value: &str| {
            // A value that begins the path is a URL.
            let value = in_url(path, if path.is_empty() { without_fragment(value) } else { value });
            path.push_str(&value);
        };
        let path = self.values.render(text, context, state, put)?;
        if text.begins_with('/') {
            return Ok(path);
        }
        // Only a value can make the path a URL, which is relative to the response that the value is from.
        let base = text.first_slot().zip(state).and_then(|(slot, state)| state.bases.get(&slot));
        self.resolve(base.map_or("/", |base| base), &path).map_err(MissingValue::Value)
    }

    /// Resolves `location` relative to `base`: an absolute or relative path, or a whole URL of this target.
    fn resolve(&self, base: &str, location: &str) -> Result<String, String> {
        let of_other = || format!("{location} is not on {}://{}", self.scheme, self.authority);
        if let Some(scheme) =
            location.find("://").filter(|at| location[..*at].bytes().all(|b| b.is_ascii_alphanumeric()))
        {
            let rest = &location[scheme + 3..];
            let end = rest.find(['/', '?']).unwrap_or(rest.len());
            let usual = if self.scheme == "https" { ":443" } else { ":80" };
            let short = |authority: &str| authority.strip_suffix(usual).unwrap_or(authority).to_ascii_lowercase();
            let ours =
                location[..scheme].eq_ignore_ascii_case(self.scheme) && short(&rest[..end]) == short(&self.authority);
            return if ours { Ok(with_leading_slash(&rest[end..])) } else { Err(of_other()) };
        }
        if has_scheme(location) {
            return Err(of_other());
        }
        if let Some(rest) = location.strip_prefix("//") {
            return self.resolve(base, &format!("{}://{rest}", self.scheme));
        }
        let path = base.split('?').next().unwrap_or(base);
        Ok(match location.as_bytes().first() {
            None => base.to_owned(),
            Some(b'/') => location.to_owned(),
            Some(b'?') => format!("{path}{location}"),
            Some(_) => remove_dot_segments(&format!("{}{location}", &path[..=path.rfind('/').unwrap_or(0)])),
        })
    }

    fn headers(
        &self,
        label: u16,
        context: RequestContext,
        state: Option<&SessionState>,
    ) -> Result<Vec<(String, String)>, MissingValue> {
        let request = &self.requests[usize::from(label)];
        let mut headers = Vec::with_capacity(request.headers.len() + 4);
        for (name, value) in &request.headers {
            headers.push((name.clone(), self.values.plain(value, context, state)?));
        }
        let auth = match &request.auth {
            Some(Credentials::Basic(pair)) => {
                Some(format!("Basic {}", STANDARD.encode(self.values.plain(pair, context, state)?)))
            }
            Some(Credentials::Bearer(token)) => Some(format!("Bearer {}", self.values.plain(token, context, state)?)),
            None => None,
        };
        headers.extend(auth.map(|auth| ("Authorization".to_owned(), auth)));
        if let Some((name, _)) =
            headers.iter().find(|(_, value)| value.bytes().any(|b| b.is_ascii_control() && b != b'\t'))
        {
            return Err(MissingValue::Value(format!("the value for the header {name} has a control character")));
        }
        for (name, value) in [("User-Agent", concat!("offered/", env!("CARGO_PKG_VERSION"))), ("Accept", "*/*")] {
            if !has(&headers, name) {
                headers.push((name.to_owned(), value.to_owned()));
            }
        }
        Ok(headers)
    }
}

/// The spelling of the generator's own cookie header; a header of the workload keeps its spelling.
const COOKIE: &str = "Cookie";

fn has(headers: &[(String, String)], name: &str) -> bool {
    headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name))
}

/// A URL without its fragment, which is not sent (RFC 9110, section 4.2.5).
fn without_fragment(url: &str) -> &str {
    url.split('#').next().unwrap_or_default()
}

/// Whether a URL begins with a scheme (RFC 3986, section 3.1): valid characters before the first colon.
fn has_scheme(location: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    location.split_once(':').is_some_and(|(scheme, _)| {
        scheme.as_bytes().first().is_some_and(u8::is_ascii_alphabetic) && scheme.bytes().all(fits)
    })
}

/// A path that begins with `/`.
fn with_leading_slash(path: &str) -> String {
    if path.starts_with('/') { path.to_owned() } else { format!("/{path}") }
}

/// A path without `.` and `..` segments (RFC 3986, section 5.2.4); the query is unchanged.
fn remove_dot_segments(path: &str) -> String {
    let (path, query) = path.split_at(path.find('?').unwrap_or(path.len()));
    let mut segments: Vec<&str> = Vec::new();
    let mut pieces = path.split('/').skip(1).peekable();
    while let Some(piece) = pieces.next() {
        let last = pieces.peek().is_none();
        match piece {
            "." | ".." => {
                if piece == ".." {
                    segments.pop();
                }
                if last {
                    segments.push("");
                }
            }
            piece => segments.push(piece),
        }
    }
    format!("/{}{query}", segments.join("/"))
}
