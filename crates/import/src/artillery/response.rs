//! Extraction of values from responses, and checks of responses: `capture`, `match` and the plugin `expect`.

use offered_workload::script::{Check, Extraction, Find, IfMissing, OnFailure, Test, TextCondition, Which};

use super::UNDEFINED;
use super::config::as_list;
use super::values::Values;
use crate::data::Data;
use crate::plan::Request;
use crate::text::{self, Text};
use crate::unique_names::UniqueNames;

/// Adds captures and checks of `source` to `request`. A failed capture or match ends the session (`engine_http.ts`); `strict` is
/// whether this holds for captures that do not say so.
pub(super) fn read(source: &Data, request: &mut Request, element: &str, values: &mut Values, strict: bool) {
    for capture in as_list(source.get("capture")) {
        let name = capture.get("as").plain();
        let Some((find, which)) = find(capture, element, values).filter(|_| !name.is_empty()) else { continue };
        let is_strict = if let Data::Bool(own) = capture.get("strict") { *own } else { strict };
        let if_missing = match find {
            _ if is_strict => IfMissing::Fail,
            Find::Json(_) | Find::Css { .. } => IfMissing::Default(UNDEFINED.to_owned()),
            _ => IfMissing::Default(String::new()),
        };
        request.extract.push(Extraction { name: text::variable_name(&name), find, which, if_missing });
        if is_strict {
            request.on_failure = OnFailure::EndSession;
        }
    }
    for wanted in as_list(source.get("match")) {
        let Some((find, _)) = find(wanted, element, values) else { continue };
        let value = values.resolve(&wanted.get("value").plain(), element);
        request.check.push(Check {
            name: format!("{} = {}", described(&find), value.to_display()),
            test: Test::Text(find, TextCondition::Is(value.template())),
            negated: false,
        });
        if *wanted.get("strict") != Data::Bool(false) {
            request.on_failure = OnFailure::EndSession;
        }
    }
    for expected in as_list(source.get("expect")) {
        for (kind, wanted) in expected.entries() {
            match expectation(kind, wanted, element, values) {
                Some(check) => request.check.push(check),
                None => values.note(element, format!("expects `{kind}`, which is not translated; use `check`")),
            }
        }
    }
    let mut names = UniqueNames::default();
    for check in &mut request.check {
        check.name = names.take(&check.name);
    }
}

/// The part of a response that a capture or match names, and the index if several parts match.
fn find(source: &Data, element: &str, values: &mut Values) -> Option<(Find, Which)> {
    let mut key = |key: &str| {
        let text = source.get(key);
        let text = text.is().then(|| values.resolve(&text.plain(), element))?;
        match text.as_literal() {
            Some(literal) => Some(literal.to_owned()),
            None => {
                values.note(element, format!("its `{key}` is only known at run time; left out"));
                None
            }
        }
    };
    // `extractJSONPath` takes one of several results at random.
    let which = if *source.get("multiple") == Data::Bool(false) { Which::Nth(1) } else { Which::Random };
    if let Some(path) = key("json").map(|path| with_indices(&path)) {
        if serde_json_path::JsonPath::parse(&path).is_ok() {
            return Some((Find::Json(path), which));
        }
        values.note(
            element,
            format!("the JSON path `{path}` is not a path of RFC 9535; write another path under `extract`"),
        );
        return None;
    }
    if let Some(pattern) = key("regexp") {
        let flags = source.get("flags").plain();
        let pattern = if flags.contains('i') { format!("(?i){pattern}") } else { pattern };
        let group = source.get("group");
        let number = if group.is() { group.plain().parse::<u32>().ok() } else { Some(0) };
        let Some(group) = number.filter(|_| regex::Regex::new(&pattern).is_ok()) else {
            values.note(element, format!("the regular expression `{pattern}` has a named group or syntax that only JavaScript has; write another expression under `extract`"));
            return None;
        };
        return Some((Find::Regex { pattern, group }, Which::Nth(1)));
    }
    if let Some(name) = key("header") {
        return Some((Find::Header(name), Which::Nth(1)));
    }
    if let Some(selector) = key("selector") {
        let which = match source.get("index") {
            Data::Text(last) if last == "last" => Which::Last,
            Data::Text(random) if random == "random" => Which::Random,
            index => Which::Nth(index.number().map_or(1, |index| index as u32 + 1)),
        };
        let attribute = Some(source.get("attr").plain()).filter(|name| !name.is_empty());
        return Some((Find::Css { selector, attribute }, which));
    }
    values.note(
        element,
        "captures by XPath or in another way that is not translated; write the capture under `extract`".to_owned(),
    );
    None
}

fn described(find: &Find) -> String {
    match find {
        Find::Json(path) => path.clone(),
        Find::Regex { pattern, .. } => pattern.clone(),
        Find::Header(name) => name.clone(),
        Find::Css { selector, .. } => selector.clone(),
        _ => "value".to_owned(),
    }
}

/// A check of the plugin `expect` (`expectations.ts`).
fn expectation(kind: &str, wanted: &Data, element: &str, values: &mut Values) -> Option<Check> {
    let statuses = || {
        let all: Option<Vec<(u16, u16)>> = as_list(wanted)
            .into_iter()
            .map(|status| status.plain().parse().ok().filter(|status| (100..=999).contains(status)))
            .map(|status| status.map(|status| (status, status)))
            .collect();
        all.filter(|all| !all.is_empty())
    };
    let shown = wanted.plain();
    let check = |name: String, test: Test, negated: bool| Some(Check { name, test, negated });
    match kind {
        "statusCode" => check(format!("status {shown}"), Test::Status(statuses()?), false),
        "notStatusCode" => check(format!("status not {shown}"), Test::Status(statuses()?), true),
        "contentType" => {
            // `json` also accepts a body that is JSON; other types are compared with the beginning of the header.
            let kind = if shown == "json" { "json".to_owned() } else { shown.clone() };
            let contains = TextCondition::Contains(Text::from(kind).template());
            check(format!("content type {shown}"), Test::Text(Find::Header("Content-Type".to_owned()), contains), false)
        }
        "hasProperty" | "notHasProperty" => {
            let plain = |part: &str| part.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-[].".contains(&b));
            if !plain(&shown) || shown.is_empty() {
                return None;
            }
            let find = Find::Json(format!("$.{shown}"));
            serde_json_path::JsonPath::parse(&format!("$.{shown}")).ok()?;
            check(format!("{kind} {shown}"), Test::Text(find, TextCondition::There), kind == "notHasProperty")
        }
        "hasHeader" => check(format!("header {shown}"), Test::Text(Find::Header(shown), TextCondition::There), false),
        "headerEquals" => {
            let [name, value] = wanted.list() else { return None };
            let value = values.resolve(&value.plain(), element);
            let is = TextCondition::Is(value.template());
            check(format!("header {}", name.plain()), Test::Text(Find::Header(name.plain()), is), false)
        }
        "matchesRegexp" => {
            regex::Regex::new(&shown).ok()?;
            check(format!("matches {shown}"), Test::Text(Find::Body, TextCondition::Matches(shown)), false)
        }
        _ => None,
    }
}

/// A JSON path whose members that are numbers, as in `$.a.0.b`, are indices, as in the package `jsonpath-plus`.
fn with_indices(path: &str) -> String {
    let mut parts = path.split('.');
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        let is_index = digits > 0 && matches!(part[digits..].chars().next(), None | Some('['));
        whole += &if is_index { format!("[{}]{}", &part[..digits], &part[digits..]) } else { format!(".{part}") };
    }
    whole
}
