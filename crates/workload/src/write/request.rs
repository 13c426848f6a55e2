//! Writes `[[request]]`, with its extractions and checks.

use std::fmt;

use super::pairs::{Pair, Pairs, inline, lines, list, one, template, templates};
use super::target::credentials;
use crate::catalogue::OneOf;
use crate::defaults::{beginning, has_group, searched, statuses, usual_name};
use crate::script::{
    Body, Check, Content, Extraction, Find, IfMissing, Objects, OnFailure, Part, Sizes, Test, TextCondition, When,
    Which,
};
use crate::template::Template;
use crate::toml_text::{toml_key, toml_text};
use crate::{Call, EventStream, Field, Request, Sql, Statement, Submit};
use offered_base::time::written_number;

/// The keys of a `[[request]]`.
pub(super) fn of_request(request: &Request) -> Vec<Pair> {
    let keys = Pairs::default().text("name", &request.name);
    let path = || template(&request.path);
    let files = |keys: Pairs, one_of: &OneOf| {
        let keys = keys.text("catalogue", one_of.catalogue().file());
        keys.maybe(one_of.class(), |keys, class| keys.text("class", class))
    };
    let keys = match (&request.call, request.method.as_str()) {
        (_, "GET") if request.one_of.is_some() => keys.maybe(request.one_of.as_ref(), files),
        (_, method) if request.one_of.is_some() => keys.maybe(request.one_of.as_ref(), files).text("method", method),
        _ if request.submit.is_some() => {
            keys.maybe(request.submit.as_ref(), |keys, form| keys.raw("submit", submit(form)))
        }
        (Call::Sql(sql), _) => in_sql(keys, sql),
        (Call::Grpc, _) => keys.text("grpc", request.path.as_str().trim_start_matches('/')),
        (_, short @ ("GET" | "POST" | "PUT" | "DELETE" | "HEAD" | "PATCH" | "OPTIONS")) => {
            keys.raw(&short.to_lowercase(), path())
        }
        (_, method) => keys.text("method", method).raw("path", path()),
    };
    let (keys, body) = match (&request.call, &request.body) {
        (Call::WebSocket(chat), body) => {
            let send = if let Body::Text(text) = body { Some(text) } else { None };
            let key = if chat.binary { "send_hex" } else { "send" };
            let message = Pairs::default().maybe(send, |message, text| message.raw(key, template(text)));
            let message =
                message.maybe(chat.awaited.as_ref(), |message, pattern| message.raw("await", template(pattern)));
            let message = message.maybe(chat.count, |message, count| message.raw("count", count));
            let message = message.maybe(chat.listen, |message, time| message.text("listen", time));
            (keys.raw("websocket", message.table()), if send.is_some() { &Body::None } else { body })
        }
        (_, body) => (keys, body),
    };
    let keys = keys.when(request.weight != 1.0, |keys| keys.raw("weight", written_number(request.weight)));
    let keys = keys.when(!request.headers.is_empty(), |keys| keys.raw("headers", templates(&request.headers)));
    let keys = match body {
        Body::None => keys,
        Body::Text(text) => keys.raw("body", template(text)),
        Body::File { file, raw, .. } => keys.text("body_file", file).when(*raw, |keys| keys.raw("raw", true)),
        Body::Form(fields) => keys.raw("form", templates(fields)),
        Body::Multipart(parts) => keys.raw("multipart", lines(parts, part)),
    };
    let keys = keys.maybe(request.auth.as_ref(), |keys, who| keys.raw("auth", credentials(who)));
    let (metrics, extracted): (Vec<_>, Vec<_>) =
        request.extract.iter().partition(|extraction| extraction.if_missing == IfMissing::NotMeasured);
    let of = |extraction_: &&Extraction| extraction(extraction_);
    let keys = keys.when(!extracted.is_empty(), |keys| keys.raw("extract", lines(&extracted, of)));
    let keys = keys.when(!metrics.is_empty(), |keys| keys.raw("metric", lines(&metrics, of)));
    let keys = keys.when(!request.checks.is_empty(), |keys| keys.raw("check", lines(&request.checks, check)));
    let failed = request.on_failure;
    let keys = keys.when(failed != OnFailure::default(), |keys| keys.text("on_failure", failed));
    let keys = super::retry::attempts(keys, &request.attempts);
    let keys = keys.maybe(request.objects.as_ref(), |keys, objects| {
        let usual = objects.connections == Objects::CONNECTIONS;
        let keys = keys.raw("objects", list(&objects.paths, template));
        let keys = keys.when(!usual, |keys| keys.raw("connections", objects.connections));
        let keys = keys.when(objects.when != When::After, |keys| keys.text("objects_when", objects.when));
        keys.when(objects.may_fail, |keys| keys.raw("objects_may_fail", true))
    });
    let keys = keys.maybe(request.stream.as_ref(), event_stream);
    let own = request.service.as_ref();
    let own = own.filter(|_| !request.one_of.as_ref().is_some_and(|one_of| one_of.catalogue().has_work()));
    keys.maybe(own, |keys, distribution| keys.raw("service", distribution)).0
}

fn in_sql(keys: Pairs, sql: &Sql) -> Pairs {
    let parameters = |keys: Pairs, statement: &Statement| {
        let written = |value: &Option<Template>| value.as_ref().map_or_else(|| one("null", true), template);
        let given = &statement.parameters;
        keys.when(!given.is_empty(), |keys| keys.raw("parameters", list(given, written)))
    };
    let statement = |statement: &Statement| match statement.parameters.is_empty() {
        true => toml_text(&statement.text),
        false => parameters(Pairs::default().text("sql", &statement.text), statement).table(),
    };
    let keys = match &sql.statements[..] {
        [one] if !sql.is_transaction => parameters(keys.text("sql", &one.text), one),
        many => keys.raw("transaction", lines(many, statement)),
    };
    keys.maybe(sql.class.as_ref(), |keys, class| keys.text("class", class))
}

fn submit(Submit { selector, page, fields, added }: &Submit) -> String {
    if page.is_none() && fields.is_empty() && added.is_empty() {
        return toml_text(selector);
    }
    let table = |fields: &[(String, Field)]| {
        inline(&fields.iter().map(|(name, value)| (toml_key(name), field(value))).collect::<Vec<_>>())
    };
    let keys = Pairs::default().text("form", selector).maybe(page.as_ref(), |keys, page| keys.text("page", page));
    let keys = keys.when(!fields.is_empty(), |keys| keys.raw("fields", table(fields)));
    keys.when(!added.is_empty(), |keys| keys.raw("add", table(added))).table()
}

fn field(field: &Field) -> String {
    match field {
        Field::Texts(texts) if texts.len() == 1 => template(&texts[0]),
        Field::Texts(texts) => list(texts, template),
        Field::Included(included) => included.to_string(),
        Field::File(part) => {
            let keys = Pairs::default().maybe(part.file.as_ref(), |keys, file| keys.text("file", file));
            let keys = keys.when(!part.raw, |keys| keys.raw("raw", false));
            keys.maybe(part.media_type.as_ref(), |keys, kind| keys.text("type", kind)).table()
        }
    }
}

fn event_stream(keys: Pairs, stream: &EventStream) -> Pairs {
    if *stream == EventStream::new(stream.format) {
        return keys.text("stream", stream.format);
    }
    let own = Pairs::default().text("format", stream.format);
    let own = own.maybe(stream.end.as_ref(), |own, end| own.text("end", end));
    let own = own.maybe(stream.awaited.as_ref(), |own, pattern| own.text("await", pattern));
    let own = own.maybe(stream.count, |own, count| own.raw("count", count));
    let own = own.maybe(stream.listen, |own, time| own.text("listen", time));
    let own = own.maybe(stream.min_tokens, |own, tokens| own.raw("min_tokens", tokens));
    keys.raw("stream", own.table())
}

fn part(part: &Part) -> String {
    let keys = Pairs::default().text("name", &part.name);
    let keys = match (&part.file, &part.content) {
        (Some(file), _) => keys.text("file", file).when(!part.raw, |keys| keys.raw("raw", false)),
        (None, Ok(Content::Text(text))) => keys.raw("value", template(text)),
        (None, _) => keys,
    };
    keys.maybe(part.media_type.as_ref(), |keys, kind| keys.text("type", kind)).table()
}

/// Adds the part of the response to `keys`.
fn find(keys: Pairs, find: &Find) -> Pairs {
    match find {
        Find::Body => keys.raw("body", true),
        Find::Column(name) => keys.text("column", name),
        Find::Header(name) => keys.text("header", name),
        Find::Cookie(name) => keys.text("cookie", name),
        Find::Url => keys.raw("url", true),
        Find::Matched { of, pattern, group } => regex(self::find(keys, of), pattern, *group),
        Find::Json(path) => keys.text("json", path),
        Find::Regex { pattern, group } => regex(keys, pattern, *group),
        Find::Css { selector, attribute } => {
            keys.text("css", selector).maybe(attribute.as_ref(), |keys, name| keys.text("attribute", name))
        }
    }
}

fn regex(keys: Pairs, pattern: &str, group: u32) -> Pairs {
    let usual = u32::from(has_group(pattern)) == group;
    keys.text("regex", pattern).when(!usual, |keys| keys.raw("group", group))
}

fn extraction(extraction: &Extraction) -> String {
    let keys = find(Pairs::default().text("name", &extraction.name), &extraction.find);
    let keys = match &extraction.which {
        Which::Nth(1) => keys,
        Which::Nth(nth) => keys.raw("nth", nth),
        Which::Last => keys.text("nth", "last"),
        Which::Random => keys.text("nth", "random"),
        Which::All(separator) => keys.text("join", separator),
        Which::Count => keys.raw("count", true),
    };
    match &extraction.if_missing {
        IfMissing::Fail | IfMissing::NotMeasured => keys,
        IfMissing::Default(text) => keys.text("default", text),
        IfMissing::KeepPrevious => keys.raw("keep", true),
    }
    .table()
}

impl Check {
    /// A check with this condition and its default name.
    pub fn of(test: Test) -> Self {
        let (kind, description, _) = tested(&test);
        Self { name: usual_name(kind, &description, false), test, negated: false }
    }

    /// A check with this condition and its default name; if `negated`, it passes if the condition is false.
    #[must_use]
    pub fn negated(self, negated: bool) -> Self {
        let (kind, description, _) = tested(&self.test);
        Self { name: usual_name(kind, &description, negated), negated, ..self }
    }
}

fn check(check: &Check) -> String {
    let (kind, description, test) = tested(&check.test);
    let has_own_name = usual_name(kind, &description, check.negated) != check.name;
    let name = Pairs::default().when(has_own_name, |keys| keys.text("name", &check.name));
    let test = test.when(check.negated, |keys| keys.raw("not", true));
    inline(&[name.0, test.0].concat())
}

/// The kind of a check, its default name, and its keys.
fn tested(test: &Test) -> (&'static str, String, Pairs) {
    let pairs = Pairs::default();
    match test {
        Test::Status(ranges) => {
            let all: Vec<String> = ranges.iter().map(|range| statuses(*range)).collect();
            let value = |text: &String| if text.parse::<u16>().is_ok() { text.clone() } else { toml_text(text) };
            let keys = match &all[..] {
                [one] => pairs.raw("status", value(one)),
                many => pairs.raw("status", list(many, value)),
            };
            ("status", all.join(", "), keys)
        }
        Test::Size(sizes) => ("size", sizes.to_string(), pairs.text("size", sizes)),
        Test::Rows(rows) => ("rows", rows.to_string(), pairs.text("rows", rows)),
        Test::Sha256(digest) => ("sha256", beginning(digest), pairs.text("sha256", digest)),
        Test::Time(bound) => ("time", bound.to_string(), pairs.text("time", bound)),
        Test::Text(place, condition) => {
            let kind = kind(place);
            let found = find(pairs, place);
            let description = match condition {
                TextCondition::There => String::new(),
                TextCondition::Is(text) => format!("= {}", text.written()),
                TextCondition::Contains(text) => format!("contains {}", text.written()),
                TextCondition::Matches(pattern) => format!("matches {pattern}"),
                TextCondition::Count(number) => format!("count {number}"),
            };
            let pairs = text_condition(found, condition);
            (kind, format!("{} {description}", searched(place)).trim().to_owned(), pairs)
        }
    }
}

/// Adds the condition for a text.
pub(super) fn text_condition(keys: Pairs, condition: &TextCondition) -> Pairs {
    match condition {
        TextCondition::There => keys,
        TextCondition::Is(text) => keys.raw("is", template(text)),
        TextCondition::Contains(text) => keys.raw("contains", template(text)),
        TextCondition::Matches(pattern) => keys.text("matches", pattern),
        TextCondition::Count(range) => keys.text("count", range),
    }
}

/// The key of a part of a response.
fn kind(find: &Find) -> &'static str {
    match find {
        Find::Body => "body",
        Find::Column(_) => "column",
        Find::Header(_) => "header",
        Find::Cookie(_) => "cookie",
        Find::Url => "url",
        Find::Json(_) => "json",
        Find::Regex { .. } => "regex",
        Find::Css { .. } => "css",
        Find::Matched { of, .. } => kind(of),
    }
}

/// The form in a workload file: `512`, `< 1000`, `>= 1` or `100..2000`.
impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self { least, most } if least == most => write!(f, "{least}"),
            Self { least, most: u64::MAX } => write!(f, ">= {least}"),
            Self { least: 0, most } => write!(f, "< {}", most + 1),
            Self { least, most } => write!(f, "{least}..{most}"),
        }
    }
}
