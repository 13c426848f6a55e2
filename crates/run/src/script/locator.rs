//! Locating texts in a response.

#[cfg(feature = "html")]
mod html;
#[cfg(not(feature = "html"))]
#[path = "locator/no_html.rs"]
mod html;
mod json;

use std::borrow::Cow;
use std::cell::OnceCell;

use encoding_rs::Encoding;
use offered_base::Nanos;
use offered_workload::script;
use regex::bytes::Regex;

pub(super) use self::html::FormQuery;
use self::html::{CssQuery, HtmlDocument};
use self::json::{JsonDocument, JsonQuery};
use super::charset;
use super::decode::decoded;
use super::received::Received;

/// Texts up to this size are searched without a trial. Larger ones are tried in pieces of this size.
const MAX_UNTRIED_BYTES: usize = 128 * 1024;
const TRIED_PIECE_BYTES: usize = 16 * 1024;

const OUT_OF_TIME: &str = "the response took too long to evaluate (at most 250 ms)";

/// A part of a response.
#[derive(Debug)]
pub(super) enum Locator {
    Body,
    Header(String),
    Cookie(String),
    Url,
    /// A group of a regular expression, matched against the texts of another part.
    Matched(Box<Self>, Regex, usize),
    Json(JsonQuery),
    Regex(Regex, usize),
    Css(CssQuery),
}

/// A response, parsed on demand and within a time limit.
pub(super) struct ParsedResponse<'a> {
    pub(super) received: Received<'a>,
    /// The scheme and authority of the server.
    origin: &'a str,
    /// Returns the time left for the evaluation.
    time_left: &'a dyn Fn() -> Nanos,
    body: OnceCell<Result<Cow<'a, [u8]>, String>>,
    /// The body in UTF-8, if it is in another encoding.
    converted: OnceCell<Option<String>>,
    json: JsonDocument,
    html: HtmlDocument,
    /// The first reason why the response was not examined completely.
    incomplete: OnceCell<&'static str>,
}

impl<'a> ParsedResponse<'a> {
    /// A response from the server `origin`, such as `https://shop.test`.
    pub(super) fn new(received: Received<'a>, origin: &'a str, time_left: &'a dyn Fn() -> Nanos) -> Self {
        let (body, json, html) = (OnceCell::new(), JsonDocument::default(), HtmlDocument::default());
        let (converted, incomplete) = (OnceCell::new(), OnceCell::new());
        Self { received, origin, time_left, body, converted, json, html, incomplete }
    }

    /// Examines nothing further, for this reason.
    pub(super) fn give_up(&self, reason: &'static str) {
        let _ = self.incomplete.set(reason);
    }

    /// Why the response was not examined completely; `None` if it was.
    pub(super) fn incomplete(&self) -> Option<&'static str> {
        self.incomplete.get().copied()
    }

    /// Whether the time limit is the reason why the response was not examined completely.
    pub(super) fn is_out_of_time(&self) -> bool {
        self.incomplete() == Some(OUT_OF_TIME)
    }

    /// Whether time is left. If not, nothing further is examined.
    fn has_time(&self) -> bool {
        self.has_more_than(Nanos::ZERO)
    }

    /// Whether more time than `needed` is left. If not, nothing further is examined.
    fn has_more_than(&self, needed: Nanos) -> bool {
        let has_time = self.incomplete.get().is_none() && (self.time_left)() > needed;
        if !has_time {
            let _ = self.incomplete.set(OUT_OF_TIME);
        }
        has_time
    }

    /// Whether there is time to search `text` for `expression`. A search cannot be interrupted, and some expressions
    /// need a microsecond for each byte of some texts. So a large text is searched in pieces first, to see what that
    /// costs.
    pub(super) fn has_time_to_search(&self, expression: &Regex, text: &[u8]) -> bool {
        let start = (self.time_left)();
        self.has_time()
            && (text.len() <= MAX_UNTRIED_BYTES
                || text.chunks(TRIED_PIECE_BYTES).all(|piece| {
                    let _ = expression.is_match(piece);
                    self.has_more_than(Nanos(start.0 / 2))
                }))
    }

    /// The values of a header. Names are compared without regard to case.
    pub(super) fn headers<'s>(&'s self, name: &'s str) -> impl Iterator<Item = Cow<'s, str>> {
        let ours = move |(given, _): &&(String, Vec<u8>)| given.eq_ignore_ascii_case(name);
        self.received.reply.headers.iter().filter(ours).map(|(_, value)| String::from_utf8_lossy(value))
    }

    /// The values of the cookies of this name that the response sets.
    fn cookies<'s>(&'s self, name: &'s str) -> impl Iterator<Item = Cow<'s, str>> {
        self.headers("set-cookie").filter_map(move |line| {
            let (given, value) = line.split(';').next()?.split_once('=')?;
            (given.trim() == name).then(|| Cow::Owned(value.trim().to_owned()))
        })
    }

    /// The decoded body.
    ///
    /// # Errors
    /// The body was too large to store, or does not have the content coding of its headers.
    pub(super) fn body(&self) -> Result<&[u8], &str> {
        let body = self.body.get_or_init(|| {
            if !self.received.reply.is_complete() {
                return Err("the response is too large to be evaluated (at most 16 MB, and 256 MB for all in flight)"
                    .to_owned());
            }
            let codings: Vec<_> = self.headers("content-encoding").collect();
            decoded(&self.received.reply.body, &codings.join(","), &|| self.has_time())
        });
        body.as_deref().map_err(String::as_str)
    }

    /// The encoding of the body; `None` for UTF-8 and where nothing states another one.
    pub(super) fn encoding(&self) -> Option<&'static Encoding> {
        let content_type = self.headers("content-type").next().unwrap_or_default();
        charset::encoding(&content_type, self.body().ok()?)
    }

    /// The decoded body as text in UTF-8, whatever encoding the response states. Where nothing states one, the bytes as they are.
    ///
    /// # Errors
    /// As [`body`](Self::body).
    pub(super) fn text(&self) -> Result<&[u8], &str> {
        let body = self.body()?;
        let converted = self.converted.get_or_init(|| {
            let encoding = self.encoding()?;
            self.has_time().then(|| encoding.decode(body).0.into_owned())
        });
        Ok(converted.as_ref().map_or(body, String::as_bytes))
    }
}

impl Locator {
    /// Compiles a part that the workload names.
    ///
    /// # Errors
    /// An invalid regular expression, JSON path or CSS selector, or a group that the expression does not have.
    pub(super) fn new(find: &script::Find) -> Result<Self, String> {
        Ok(match find {
            script::Find::Body => Self::Body,
            script::Find::Header(name) => Self::Header(name.clone()),
            script::Find::Cookie(name) => Self::Cookie(name.clone()),
            script::Find::Url => Self::Url,
            script::Find::Matched { of, pattern, group } => {
                let (expression, group) = with_group(pattern, *group)?;
                Self::Matched(Box::new(Self::new(of)?), expression, group)
            }
            script::Find::Json(path) => Self::Json(JsonQuery::new(path)?),
            script::Find::Column(name) => Self::Json(JsonQuery::column(name)),
            script::Find::Regex { pattern, group } => {
                let (expression, group) = with_group(pattern, *group)?;
                Self::Regex(expression, group)
            }
            script::Find::Css { selector, attribute } => Self::Css(CssQuery::new(selector, attribute.as_deref())?),
        })
    }

    /// The same part, with this text for each JSON `null`.
    pub(super) fn with_null(self, null: &str) -> Self {
        match self {
            Self::Json(query) => Self::Json(query.with_null(null.to_owned())),
            other => other,
        }
    }

    /// Whether it reads the body.
    pub(super) fn reads_body(&self) -> bool {
        match self {
            Self::Matched(of, ..) => of.reads_body(),
            Self::Header(_) | Self::Cookie(_) | Self::Url => false,
            Self::Body | Self::Json(_) | Self::Regex(..) | Self::Css(_) => true,
        }
    }

    /// The texts found in this response, in order.
    pub(super) fn texts<'h>(&'h self, response: &'h ParsedResponse<'_>) -> Box<dyn Iterator<Item = Cow<'h, str>> + 'h> {
        if self.reads_body() && !response.has_time() {
            return Box::new(std::iter::empty());
        }
        match self {
            Self::Body => Box::new(response.text().ok().map(String::from_utf8_lossy).into_iter()),
            Self::Header(name) => Box::new(response.headers(name)),
            Self::Cookie(name) => Box::new(response.cookies(name)),
            Self::Url => Box::new(std::iter::once(Cow::Owned(response.origin.to_owned() + response.received.path))),
            Self::Matched(of, expression, group) => Box::new(of.texts(response).flat_map(move |text| {
                if of.reads_body() && !response.has_time_to_search(expression, text.as_bytes()) {
                    return Vec::new().into_iter().map(Cow::Owned);
                }
                let found = expression.captures_iter(text.as_bytes()).filter_map(|captures| captures.get(*group));
                let found = found.map(|found| String::from_utf8_lossy(found.as_bytes()).into_owned());
                found.collect::<Vec<_>>().into_iter().map(Cow::Owned)
            })),
            Self::Json(query) => query.texts(response),
            Self::Regex(expression, group) => {
                let body = response.text().ok().filter(|body| response.has_time_to_search(expression, body));
                let found = expression.captures_iter(body.unwrap_or_default());
                Box::new(
                    found
                        .take_while(|_| response.has_time())
                        .filter_map(|captures| Some(String::from_utf8_lossy(captures.get(*group)?.as_bytes()))),
                )
            }
            Self::Css(query) => query.texts(&response.html, response),
        }
    }
}

/// Compiles a regular expression that has this group.
///
/// # Errors
/// The pattern is invalid, or has no such group.
fn with_group(pattern: &str, group: u32) -> Result<(Regex, usize), String> {
    let (expression, group) = (regex(pattern)?, group as usize);
    if group >= expression.captures_len() {
        let groups = expression.captures_len() - 1;
        return Err(format!("`{pattern}` has {groups} groups, so there is no group {group}"));
    }
    Ok((expression, group))
}

/// Compiles a regular expression.
///
/// # Errors
/// The pattern is invalid.
pub(super) fn regex(pattern: &str) -> Result<Regex, String> {
    Regex::new(pattern).map_err(|reason| {
        let reason = reason.to_string();
        let last = reason.lines().last().unwrap_or_default().trim_start_matches("error: ");
        format!("`{pattern}` is not a valid regular expression ({last})")
    })
}

fn one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|one_line| !one_line.is_empty()).collect::<Vec<_>>().join(", ")
}
