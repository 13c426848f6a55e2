//! Locating texts in a response.

#[cfg(feature = "html")]
mod html;
#[cfg(not(feature = "html"))]
#[path = "locator/no_html.rs"]
mod html;

use std::borrow::Cow;
use std::cell::OnceCell;

use offered_workload::script;
use regex::bytes::Regex;
use serde_json::Value;
use serde_json_path::JsonPath;

use self::html::{CssQuery, HtmlDocument};
use super::decode::decoded;
use crate::message::Response;

const OUT_OF_TIME: &str = "the response took too long to evaluate (more than 250 ms)";

/// A part of a response.
#[derive(Debug)]
pub(super) enum Locator {
    Body,
    Header(String),
    Json(JsonPath),
    Regex(Regex, usize),
    Css(CssQuery),
}

/// A response, parsed on demand and within a time limit.
pub(super) struct ParsedResponse<'a> {
    pub(super) status: u16,
    pub(super) reply: &'a Response,
    /// Returns true once the time limit is over.
    out_of_time: &'a dyn Fn() -> bool,
    body: OnceCell<Result<Cow<'a, [u8]>, String>>,
    json: OnceCell<Option<Value>>,
    html: HtmlDocument,
    /// The first reason why the response was not examined completely.
    incomplete: OnceCell<&'static str>,
}

impl<'a> ParsedResponse<'a> {
    pub(super) fn new(status: u16, reply: &'a Response, out_of_time: &'a dyn Fn() -> bool) -> Self {
        let (body, json, html) = (OnceCell::new(), OnceCell::new(), HtmlDocument::default());
        Self { status, reply, out_of_time, body, json, html, incomplete: OnceCell::new() }
    }

    /// Why the response was not examined completely; `None` if it was.
    pub(super) fn incomplete(&self) -> Option<&'static str> {
        self.incomplete.get().copied()
    }

    /// Whether time is left. If not, nothing further is examined.
    fn has_time(&self) -> bool {
        let has_time = self.incomplete.get().is_none() && !(self.out_of_time)();
        if !has_time {
            let _ = self.incomplete.set(OUT_OF_TIME);
        }
        has_time
    }

    /// The values of a header. Names are compared without regard to case.
    pub(super) fn headers<'s>(&'s self, name: &'s str) -> impl Iterator<Item = Cow<'s, str>> {
        let ours = move |(given, _): &&(String, Vec<u8>)| given.eq_ignore_ascii_case(name);
        self.reply.headers.iter().filter(ours).map(|(_, value)| String::from_utf8_lossy(value))
    }

    /// The decoded body.
    ///
    /// # Errors
    /// The body was too large to keep, or is not encoded as its headers say.
    pub(super) fn body(&self) -> Result<&[u8], &str> {
        let body = self.body.get_or_init(|| {
            if !self.reply.is_complete() {
                return Err("the response is too large to be evaluated (at most 16 MB, and 256 MB for all in flight)"
                    .to_owned());
            }
            let codings: Vec<_> = self.headers("content-encoding").collect();
            decoded(&self.reply.body, &codings.join(","))
        });
        body.as_deref().map_err(String::as_str)
    }

    fn json(&self) -> Option<&Value> {
        self.json.get_or_init(|| serde_json::from_slice(self.body().ok()?).ok()).as_ref()
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
            script::Find::Json(path) => Self::Json(JsonPath::parse(path).map_err(|reason| {
                format!(
                    "`{path}` is not a valid JSONPath ({}); an example is $.items[0].id",
                    one_line(&reason.to_string())
                )
            })?),
            script::Find::Column(name) => {
                let name = name.replace('\\', "\\\\").replace('\'', "\\'");
                let path = format!("$[?@['{name}'] != null]['{name}']");
                Self::Json(JsonPath::parse(&path).map_err(|_| format!("`{name}` is not a valid column name"))?)
            }
            script::Find::Regex { pattern, group } => {
                let (expression, group) = (regex(pattern)?, *group as usize);
                if group >= expression.captures_len() {
                    let groups = expression.captures_len() - 1;
                    return Err(format!("`{pattern}` has {groups} groups, so there is no group {group}"));
                }
                Self::Regex(expression, group)
            }
            script::Find::Css { selector, attribute } => Self::Css(CssQuery::new(selector, attribute.as_deref())?),
        })
    }

    /// Whether it reads the body.
    pub(super) fn reads_body(&self) -> bool {
        !matches!(self, Self::Header(_))
    }

    /// The texts found in this response, in order.
    pub(super) fn texts<'h>(&'h self, response: &'h ParsedResponse<'_>) -> Box<dyn Iterator<Item = Cow<'h, str>> + 'h> {
        match self {
            Self::Body => Box::new(response.body().ok().map(String::from_utf8_lossy).into_iter()),
            Self::Header(name) => Box::new(response.headers(name)),
            Self::Json(path) => {
                let found = response.json().map(|json| path.query(json).all()).unwrap_or_default();
                Box::new(found.into_iter().map(|value| match value {
                    Value::String(text) => Cow::Borrowed(text.as_str()),
                    other => Cow::Owned(other.to_string()),
                }))
            }
            Self::Regex(expression, group) => {
                let found = expression.captures_iter(response.body().unwrap_or_default());
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
