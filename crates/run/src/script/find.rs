//! Places in an answer, and the texts that stand there.

#[cfg(feature = "html")]
mod html;
#[cfg(not(feature = "html"))]
#[path = "find/no_html.rs"]
mod html;

use std::borrow::Cow;
use std::cell::OnceCell;

use offered_model::workload::script;
use regex::bytes::Regex;
use serde_json::Value;
use serde_json_path::JsonPath;

use self::html::{Choice, Page};
use super::decode::decoded;
use crate::ask::Reply;

const LATE: &str = "there was no time to look at the whole answer";

/// A place in an answer.
#[derive(Debug)]
pub(super) enum Find {
    Body,
    Header(String),
    Json(JsonPath),
    Regex(Regex, usize),
    Css(Choice),
}

/// An answer, taken apart as far as somebody looks, and as long as there is time for it.
pub(super) struct Heard<'a> {
    pub(super) status: u16,
    pub(super) reply: &'a Reply,
    /// Whether the time for it is over.
    is_over: &'a dyn Fn() -> bool,
    body: OnceCell<Result<Cow<'a, [u8]>, String>>,
    json: OnceCell<Option<Value>>,
    page: Page,
    /// Why not everything was looked at that should have been: the first reason.
    gave_up: OnceCell<&'static str>,
}

impl<'a> Heard<'a> {
    pub(super) fn new(status: u16, reply: &'a Reply, is_over: &'a dyn Fn() -> bool) -> Self {
        let (body, json, page) = (OnceCell::new(), OnceCell::new(), Page::default());
        Self { status, reply, is_over, body, json, page, gave_up: OnceCell::new() }
    }

    /// Why not everything was looked at that should have been, if so.
    pub(super) fn gave_up(&self) -> Option<&'static str> {
        self.gave_up.get().copied()
    }

    /// Whether there is still time; without it nothing more is looked at.
    fn has_time(&self) -> bool {
        let has_time = self.gave_up.get().is_none() && !(self.is_over)();
        if !has_time {
            let _ = self.gave_up.set(LATE);
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
            if !self.reply.is_whole() {
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

impl Find {
    /// The place the workload names.
    ///
    /// # Errors
    /// An expression, path or selector that is none; a group that the expression has not.
    pub(super) fn new(find: &script::Find) -> Result<Self, String> {
        Ok(match find {
            script::Find::Body => Self::Body,
            script::Find::Header(name) => Self::Header(name.clone()),
            script::Find::Json(path) => Self::Json(JsonPath::parse(path).map_err(|why| {
                format!("`{path}` is not a JSONPath ({}); write for example $.items[0].id", line(&why.to_string()))
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
            script::Find::Css { selector, attribute } => Self::Css(Choice::new(selector, attribute.as_deref())?),
        })
    }

    /// Whether it is in the body.
    pub(super) fn in_body(&self) -> bool {
        !matches!(self, Self::Header(_))
    }

    /// The texts that stand there in this answer, in order.
    pub(super) fn texts<'h>(&'h self, heard: &'h Heard<'_>) -> Box<dyn Iterator<Item = Cow<'h, str>> + 'h> {
        match self {
            Self::Body => Box::new(heard.body().ok().map(String::from_utf8_lossy).into_iter()),
            Self::Header(name) => Box::new(heard.headers(name)),
            Self::Json(path) => {
                let found = heard.json().map(|json| path.query(json).all()).unwrap_or_default();
                Box::new(found.into_iter().map(|value| match value {
                    Value::String(text) => Cow::Borrowed(text.as_str()),
                    other => Cow::Owned(other.to_string()),
                }))
            }
            Self::Regex(expression, group) => {
                let found = expression.captures_iter(heard.body().unwrap_or_default());
                Box::new(
                    found
                        .take_while(|_| heard.has_time())
                        .filter_map(|captures| Some(String::from_utf8_lossy(captures.get(*group)?.as_bytes()))),
                )
            }
            Self::Css(choice) => choice.texts(&heard.page, heard),
        }
    }
}

/// The expression.
///
/// # Errors
/// It is none.
pub(super) fn regex(pattern: &str) -> Result<Regex, String> {
    Regex::new(pattern).map_err(|why| {
        let why = why.to_string();
        let last = why.lines().last().unwrap_or_default().trim_start_matches("error: ");
        format!("`{pattern}` is not a regular expression ({last})")
    })
}

fn line(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(", ")
}
