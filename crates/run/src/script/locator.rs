//! Places in an answer, and the texts that stand there.

#[cfg(feature = "html")]
mod html;
#[cfg(not(feature = "html"))]
#[path = "locator/no_html.rs"]
mod html;

use std::borrow::Cow;
use std::cell::OnceCell;

use offered_model::workload::script;
use regex::bytes::Regex;
use serde_json::Value;
use serde_json_path::JsonPath;

use self::html::{CssQuery, HtmlDocument};
use super::decode::decoded;
use crate::message::Response;

const OUT_OF_TIME: &str = "there was no time to look at the whole answer";

/// A place in an answer.
#[derive(Debug)]
pub(super) enum Locator {
    Body,
    Header(String),
    Json(JsonPath),
    Regex(Regex, usize),
    Css(CssQuery),
}

/// An answer, taken apart as far as somebody looks, and as long as there is time for it.
pub(super) struct ParsedResponse<'a> {
    pub(super) status: u16,
    pub(super) reply: &'a Response,
    /// Whether the time for it is over.
    out_of_time: &'a dyn Fn() -> bool,
    body: OnceCell<Result<Cow<'a, [u8]>, String>>,
    json: OnceCell<Option<Value>>,
    html: HtmlDocument,
    /// Why not everything was looked at that should have been: the first reason.
    incomplete: OnceCell<&'static str>,
}

impl<'a> ParsedResponse<'a> {
    pub(super) fn new(status: u16, reply: &'a Response, out_of_time: &'a dyn Fn() -> bool) -> Self {
        let (body, json, html) = (OnceCell::new(), OnceCell::new(), HtmlDocument::default());
        Self { status, reply, out_of_time, body, json, html, incomplete: OnceCell::new() }
    }

    /// Why not everything was looked at that should have been, if so.
    pub(super) fn incomplete(&self) -> Option<&'static str> {
        self.incomplete.get().copied()
    }

    /// Whether there is still time; without it nothing more is looked at.
    fn has_time(&self) -> bool {
        let has_time = self.incomplete.get().is_none() && !(self.out_of_time)();
        if !has_time {
            let _ = self.incomplete.set(OUT_OF_TIME);
        }
        has_time
    }

    /// The values of a header, in any case.
    pub(super) fn headers<'s>(&'s self, name: &'s str) -> impl Iterator<Item = Cow<'s, str>> {
        let ours = move |(given, _): &&(String, Vec<u8>)| given.eq_ignore_ascii_case(name);
        self.reply.headers.iter().filter(ours).map(|(_, value)| String::from_utf8_lossy(value))
    }

    /// The body, decoded.
    ///
    /// # Errors
    /// It was too large to keep, or is not what it says.
    pub(super) fn body(&self) -> Result<&[u8], &str> {
        let body = self.body.get_or_init(|| {
            if !self.reply.is_complete() {
                return Err("the answer is too large to be kept and looked into (16 MB, and 256 MB of all under way)"
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
    /// The place the workload names.
    ///
    /// # Errors
    /// An expression, path or selector that is none; a group that the expression has not.
    pub(super) fn new(find: &script::Find) -> Result<Self, String> {
        Ok(match find {
            script::Find::Body => Self::Body,
            script::Find::Header(name) => Self::Header(name.clone()),
            script::Find::Json(path) => Self::Json(JsonPath::parse(path).map_err(|reason| {
                format!(
                    "`{path}` is not a JSONPath ({}); write for example $.items[0].id",
                    one_line(&reason.to_string())
                )
            })?),
            script::Find::Column(name) => {
                let name = name.replace('\\', "\\\\").replace('\'', "\\'");
                let path = format!("$[?@['{name}'] != null]['{name}']");
                Self::Json(JsonPath::parse(&path).map_err(|_| format!("`{name}` is no column's name"))?)
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

    /// Whether it is in the body.
    pub(super) fn reads_body(&self) -> bool {
        !matches!(self, Self::Header(_))
    }

    /// The texts that stand there in this answer, in order.
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

/// The expression.
///
/// # Errors
/// It is none.
pub(super) fn regex(pattern: &str) -> Result<Regex, String> {
    Regex::new(pattern).map_err(|reason| {
        let reason = reason.to_string();
        let last = reason.lines().last().unwrap_or_default().trim_start_matches("error: ");
        format!("`{pattern}` is not a regular expression ({last})")
    })
}

fn one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|one_line| !one_line.is_empty()).collect::<Vec<_>>().join(", ")
}
