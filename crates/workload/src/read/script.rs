//! Reads headers, body, extractions and checks of a request.

use super::{Reader, choice, small};
use crate::EventStream;
use crate::check::parts::{check_extraction, check_objects, check_part, check_test};
use crate::defaults::{beginning, has_group, searched, usual_name};
use crate::request::check_path;
use crate::script::{
    Body, Check, Content, Extraction, Find, IfMissing, Objects, OnFailure, Part, Sizes, Test, TextCondition, When,
    Which,
};
use crate::shape;
use crate::source::{Mistake, Table, Value};
use crate::template::Template;
use crate::threshold::Bound;

/// The methods that a `[[request]]` has keys for.
pub(super) const METHODS: [&str; 7] = ["get", "post", "put", "delete", "head", "patch", "options"];

/// The keys of a `[[request]]` that are read here.
pub(super) const KEYS: [&str; 15] = [
    "body",
    "body_file",
    "raw",
    "form",
    "multipart",
    "auth",
    "extract",
    "metric",
    "check",
    "on_failure",
    "stream",
    "objects",
    "connections",
    "objects_when",
    "objects_may_fail",
];

/// Reads a path, which begins with `/` or a placeholder.
pub(super) fn path(value: &Value<'_>) -> Result<Template, Mistake> {
    let path = Template::new(value.text()?);
    value.checked(check_path(&path))?;
    Ok(path)
}

impl Reader<'_> {
    pub(super) fn body(&self, table: &Table<'_>) -> Result<Body, Mistake> {
        const KINDS: [&str; 4] = ["body", "body_file", "form", "multipart"];
        if table.get("body_file").is_none()
            && let Some(raw) = table.get("raw")
        {
            return Err(raw.mistake("needs body_file, which it sends unchanged"));
        }
        if KINDS.iter().all(|kind| table.get(kind).is_none()) {
            return Ok(Body::None);
        }
        let (kind, value) = table.one_of(&KINDS, "body = \"text\"")?;
        match kind {
            "body" => Ok(Body::Text(Template::new(value.text()?))),
            "form" => Ok(Body::Form(templates(&value)?)),
            "multipart" => {
                value.list()?.iter().map(|part| self.part(part)).collect::<Result<_, _>>().map(Body::Multipart)
            }
            _ => {
                let file = value.text()?.to_owned();
                let raw = table.get("raw").map_or(Ok(false), |raw| raw.truth())?;
                Ok(Body::File { content: self.content(&file, raw), file, raw })
            }
        }
    }

    fn part(&self, value: &Value<'_>) -> Result<Part, Mistake> {
        let table = value.table(&shape::PART)?;
        let name = table.need("name", "\"picture\"")?;
        let (kind, given) = table.the_one("value = \"text\"")?;
        // Most uploaded files are images and archives: a file is a template only with raw = false.
        let raw = table.get("raw").map_or(Ok(true), |raw| raw.truth())?;
        let content = match kind {
            "value" => Ok(Content::Text(Template::new(given.text()?))),
            _ => self.content(given.text()?, raw),
        };
        let part = Part {
            name: name.text()?.to_owned(),
            file: if kind == "file" { Some(given.text()?.to_owned()) } else { None },
            raw: kind == "file" && raw,
            media_type: table.get("type").map(|kind| kind.text().map(str::to_owned)).transpose()?,
            content,
        };
        value.checked(check_part(&part))?;
        Ok(part)
    }

    pub(super) fn content(&self, file: &str, raw: bool) -> Result<Content, String> {
        if raw {
            return Ok(Content::Raw(self.files.read(file)?.into()));
        }
        Ok(Content::Text(Template::new(&self.text(file)?)))
    }
}

/// A table of texts with places for values.
pub(super) fn templates(value: &Value<'_>) -> Result<Vec<(String, Template)>, Mistake> {
    Ok(value.texts()?.into_iter().map(|(name, text)| (name, Template::new(&text))).collect())
}

/// `extract` and `metric`.
pub(super) fn extractions(table: &Table<'_>) -> Result<Vec<Extraction>, Mistake> {
    let mut all: Vec<Extraction> = Vec::new();
    let extracted = table.get("extract").map_or(Ok(Vec::new()), |value| value.list())?;
    let measured = match table.get("metric") {
        None => Vec::new(),
        Some(value) if value.is_list() => value.list()?,
        Some(value) => vec![value],
    };
    let measured = measured.iter().map(|item| (item, true));
    for (item, is_metric) in extracted.iter().map(|item| (item, false)).chain(measured) {
        let table = item.table(if is_metric { &shape::METRIC } else { &shape::EXTRACT })?;
        let (kind, place) = part(&table, &shape::EXTRACTED, "json = \"$.token\"")?;
        let extraction = Extraction {
            name: table.need("name", "\"token\"")?.text()?.to_owned(),
            find: find(&table, kind, &place)?,
            which: which(&table, if is_metric { &["nth", "count"] } else { &["nth", "join", "count"] })?,
            if_missing: if is_metric { IfMissing::NotMeasured } else { if_missing(&table)? },
        };
        item.checked(check_extraction(&extraction))?;
        if all.iter().any(|earlier| earlier.name == extraction.name) {
            return Err(item.mistake(format!("a second `{}`; give each its own name", extraction.name)));
        }
        all.push(extraction);
    }
    Ok(all)
}

/// `default` or `keep`.
fn if_missing(table: &Table<'_>) -> Result<IfMissing, Mistake> {
    Ok(match (table.get("default"), table.get("keep")) {
        (Some(_), Some(keep)) => return Err(keep.mistake("cannot be combined with default; remove one")),
        (Some(text), None) => IfMissing::Default(text.text()?.to_owned()),
        (None, Some(keep)) if keep.truth()? => IfMissing::KeepPrevious,
        (None, _) => IfMissing::Fail,
    })
}

/// `nth = 2`, `nth = "last"`, `join = ","` or `count = true`, as far as they are among `kinds`.
fn which(table: &Table<'_>, kinds: &[&'static str]) -> Result<Which, Mistake> {
    if kinds.iter().all(|kind| table.get(kind).is_none()) {
        return Ok(Which::Nth(1));
    }
    let (kind, value) = table.one_of(kinds, "nth = 2")?;
    match kind {
        "join" => Ok(Which::All(value.text()?.to_owned())),
        "count" if value.truth()? => Ok(Which::Count),
        "count" => Err(value.mistake("write count = true")),
        _ if value.is_text() => match value.text()? {
            "last" => Ok(Which::Last),
            "random" => Ok(Which::Random),
            other => Err(choice(&value, other, &shape::ANY_FOUND)),
        },
        _ => Ok(Which::Nth(small(&value, value.whole()?)?)),
    }
}

/// The key of a table that names the examined part of the response: one of `kinds`. `regex` beside another part searches in its text.
fn part<'a>(table: &Table<'a>, kinds: &[&'static str], example: &str) -> Result<(&'static str, Value<'a>), Mistake> {
    let is_searched = shape::SEARCHED.iter().any(|key| table.get(key).is_some());
    let kinds: Vec<&'static str> = kinds.iter().copied().filter(|kind| !(is_searched && *kind == "regex")).collect();
    table.one_of(&kinds, example)
}

/// Reads the part of the response that the key `kind` names.
fn find(table: &Table<'_>, kind: &str, value: &Value<'_>) -> Result<Find, Mistake> {
    let lone = |key: &str, with: &str| match table.get(key) {
        Some(value) if table.get(with).is_none() => Err(value.mistake(format!("needs {with}"))),
        _ => Ok(()),
    };
    lone("group", "regex")?;
    lone("attribute", "css")?;
    let regex = |value: Value<'_>| {
        let pattern = value.text()?.to_owned();
        // The default is the first group, or the whole match of an expression without groups.
        let groups = u32::from(has_group(&pattern));
        let group = table.get("group").map_or(Ok(groups), |group| small(&group, group.whole()?))?;
        Ok::<_, Mistake>((pattern, group))
    };
    let of = match kind {
        "json" => Find::Json(value.text()?.to_owned()),
        "column" => Find::Column(value.text()?.to_owned()),
        "css" => {
            let attribute = table.get("attribute").map(|name| name.text().map(str::to_owned)).transpose()?;
            Find::Css { selector: value.text()?.to_owned(), attribute }
        }
        "regex" => {
            let (pattern, group) = regex(value.clone())?;
            return Ok(Find::Regex { pattern, group });
        }
        "header" => Find::Header(value.text()?.to_owned()),
        "cookie" => Find::Cookie(value.text()?.to_owned()),
        _ if value.truth()? => {
            if kind == "url" {
                Find::Url
            } else {
                Find::Body
            }
        }
        _ => return Err(value.mistake(format!("write {kind} = true"))),
    };
    match table.get("regex").map(regex).transpose()? {
        Some((pattern, group)) => Ok(Find::Matched { of: Box::new(of), pattern, group }),
        None => Ok(of),
    }
}

pub(super) fn checks(table: &Table<'_>) -> Result<Vec<Check>, Mistake> {
    let Some(value) = table.get("check") else { return Ok(Vec::new()) };
    value.list()?.iter().map(check).collect()
}

fn check(item: &Value<'_>) -> Result<Check, Mistake> {
    let table = item.table(&shape::CHECK)?;
    let (kind, value) = part(&table, &shape::CHECKED, "status = 200")?;
    let condition = text_condition(&table, &["is", "contains", "matches", "count"])?;
    if let (Some((key, _)), "status" | "size" | "rows" | "time" | "sha256") = (&condition, kind) {
        return Err(item.mistake(format!("`{key}` cannot be combined with {kind}")));
    }
    let (said, test) = match kind {
        "status" => (value.shown(), Test::Status(status_ranges(&value)?)),
        "size" => {
            let sizes: Sizes = value.checked(value.shown().parse())?;
            (value.shown(), Test::Size(sizes))
        }
        "rows" => (value.shown(), Test::Rows(value.checked(value.shown().parse())?)),
        "time" => (value.text()?.to_owned(), Test::Time(value.checked(Bound::of_time(value.text()?))?)),
        "sha256" => {
            let digest = value.text()?.to_ascii_lowercase();
            (beginning(&digest), Test::Sha256(digest))
        }
        _ => {
            let place = find(&table, kind, &value)?;
            let (said, condition) = condition.unwrap_or((String::new(), TextCondition::There));
            (format!("{} {said}", searched(&place)).trim().to_owned(), Test::Text(place, condition))
        }
    };
    value.checked(check_test(&test))?;
    let negated = table.get("not").map_or(Ok(false), |value| value.truth())?;
    let name = match table.get("name") {
        Some(name) => name.text()?.to_owned(),
        None => usual_name(kind, &said, negated),
    };
    Ok(Check { name, test, negated })
}

/// Reads the condition for a text, and its description. `kinds` are the keys of such a condition that the table may have.
pub(super) fn text_condition(
    table: &Table<'_>,
    kinds: &[&'static str],
) -> Result<Option<(String, TextCondition)>, Mistake> {
    if kinds.iter().all(|kind| table.get(kind).is_none()) {
        return Ok(None);
    }
    let (kind, value) = table.one_of(kinds, "contains = \"Welcome\"")?;
    let text = if kind == "count" { value.shown() } else { value.text()?.to_owned() };
    let (sign, condition) = match kind {
        "is" => ("=", TextCondition::Is(Template::new(&text))),
        "contains" => ("contains", TextCondition::Contains(Template::new(&text))),
        "count" => ("count", TextCondition::Count(value.checked(text.parse())?)),
        _ => ("matches", TextCondition::Matches(text.clone())),
    };
    Ok(Some((format!("{sign} {text}"), condition)))
}

/// One status or range, or a list of them.
pub(super) fn status_ranges(value: &Value<'_>) -> Result<Vec<(u16, u16)>, Mistake> {
    let ranges = if value.is_list() { value.list()? } else { vec![value.clone()] };
    ranges.iter().map(statuses).collect()
}

/// `200`, `"2xx"` or `"200..299"`.
pub(super) fn statuses(value: &Value<'_>) -> Result<(u16, u16), Mistake> {
    let text = value.shown();
    let wrong = || value.mistake(format!("`{text}` is not a status; write for example 200, \"2xx\" or [200, 302]"));
    match text.strip_suffix("xx") {
        Some(hundreds) => {
            let hundreds: u8 = hundreds.parse().map_err(|_| wrong())?;
            let low = u16::from(hundreds) * 100;
            Ok((low, low + 99))
        }
        None => {
            let (low, high) = text.split_once("..").unwrap_or((&text, &text));
            Ok((low.parse().map_err(|_| wrong())?, high.parse().map_err(|_| wrong())?))
        }
    }
}

pub(super) fn on_failure(table: &Table<'_>) -> Result<OnFailure, Mistake> {
    Ok(table.named("on_failure")?.unwrap_or_default())
}

/// `"openai"`, or a table with the end of the stream.
pub(super) fn stream(table: &Table<'_>) -> Result<Option<EventStream>, Mistake> {
    let Some(value) = table.get("stream") else { return Ok(None) };
    if !value.is_table() {
        return Ok(Some(EventStream::new(value.named()?)));
    }
    let own = value.table(&shape::STREAM)?;
    let text = |key| own.get(key).map(|value| value.text().map(str::to_owned)).transpose();
    let number = |key| own.get(key).map(|value| small(&value, value.whole()?)).transpose();
    Ok(Some(EventStream {
        format: own.need("format", "\"sse\"")?.named()?,
        end: text("end")?,
        awaited: text("await")?,
        count: number("count")?,
        listen: own.parsed("listen")?,
        min_tokens: number("min_tokens")?,
    }))
}

pub(super) fn objects(table: &Table<'_>) -> Result<Option<Objects>, Mistake> {
    let Some(value) = table.get("objects") else {
        let lone = ["connections", "objects_when", "objects_may_fail"].into_iter().find_map(|key| table.get(key));
        return lone.map_or(Ok(None), |value| Err(value.mistake("needs objects = [\"/a.css\", ...]")));
    };
    let mut paths = Vec::new();
    for item in value.list()? {
        paths.push(path(&item)?);
    }
    // A number that does not fit is rejected by the check, which has a smaller maximum.
    let connections = |value: Value<'_>| Ok(u8::try_from(value.whole()?).unwrap_or(u8::MAX));
    let connections = table.get("connections").map_or(Ok(Objects::CONNECTIONS), connections)?;
    let when = table.named("objects_when")?.unwrap_or(When::After);
    let may_fail = table.get("objects_may_fail").map_or(Ok(false), |value| value.truth())?;
    let objects = Objects { paths, connections, when, may_fail };
    value.checked(check_objects(&objects))?;
    Ok(Some(objects))
}
