//! Reads headers, body, authentication, extractions and checks of a request.

use super::{Reader, choice, small};
use crate::EventStream;
use crate::check::{check_auth, check_extraction, check_objects, check_part, check_test};
use crate::request::check_path;
use crate::script::{
    Auth, Body, Check, Content, Extraction, Find, IfMissing, Objects, OnFailure, Part, Sizes, Test, TextCondition,
    When, Which,
};
use crate::shape;
use crate::source::{Mistake, Table, Value};
use crate::template::Template;

/// The methods that a `[[request]]` has keys for.
pub(super) const METHODS: [&str; 7] = ["get", "post", "put", "delete", "head", "patch", "options"];

/// The keys of a `[[request]]` that are read here.
pub(super) const KEYS: [&str; 14] = [
    "body",
    "body_file",
    "raw",
    "form",
    "multipart",
    "auth",
    "extract",
    "check",
    "on_failure",
    "stream",
    "objects",
    "connections",
    "objects_when",
    "objects_may_fail",
];

/// `{ basic = "user:password" }`, `{ bearer = "{{token}}" }`, or `false`.
pub(super) fn auth(value: &Value<'_>) -> Result<Auth, Mistake> {
    if let Ok(wanted) = value.truth() {
        return match wanted {
            false => Ok(Auth::None),
            true => Err(value.mistake("write { basic = \"user:password\" } or { bearer = \"token\" }")),
        };
    }
    let (kind, content) = value.table(&shape::AUTH)?.the_one("{ basic = \"user:password\" }")?;
    let text = Template::new(content.text()?);
    let auth = if kind == "basic" { Auth::Basic(text) } else { Auth::Bearer(text) };
    content.checked(check_auth(&auth))?;
    Ok(auth)
}

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
            return Err(raw.mistake("goes with body_file: the file is sent as it is"));
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

    fn content(&self, file: &str, raw: bool) -> Result<Content, String> {
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

pub(super) fn extractions(table: &Table<'_>) -> Result<Vec<Extraction>, Mistake> {
    let Some(value) = table.get("extract") else { return Ok(Vec::new()) };
    let mut all: Vec<Extraction> = Vec::new();
    for item in value.list()? {
        let table = item.table(&shape::EXTRACT)?;
        let (_, place) = table.the_one("json = \"$.token\"")?;
        let extraction = Extraction {
            name: table.need("name", "\"token\"")?.text()?.to_owned(),
            find: find(&table)?.ok_or_else(|| place.mistake("is no place"))?,
            which: match table.get("nth") {
                None => Which::Nth(1),
                Some(nth) if nth.is_text() => match nth.text()? {
                    "random" => Which::Random,
                    other => return Err(choice(&nth, other, &shape::ANY_FOUND)),
                },
                Some(nth) => Which::Nth(small(&nth, nth.whole()?)?),
            },
            if_missing: match (table.get("default"), table.get("keep")) {
                (Some(_), Some(keep)) => return Err(keep.mistake("cannot be combined with default; remove one")),
                (Some(text), None) => IfMissing::Default(text.text()?.to_owned()),
                (None, Some(keep)) if keep.truth()? => IfMissing::KeepPrevious,
                (None, _) => IfMissing::Fail,
            },
        };
        item.checked(check_extraction(&extraction))?;
        if all.iter().any(|earlier| earlier.name == extraction.name) {
            return Err(item.mistake(format!("a second `{}`; give each its own name", extraction.name)));
        }
        all.push(extraction);
    }
    Ok(all)
}

/// Reads the part of the response that a table names.
fn find(table: &Table<'_>) -> Result<Option<Find>, Mistake> {
    let text = |key: &str| table.get(key).map(|value| value.text().map(str::to_owned)).transpose();
    let lone = |key: &str, with: &str| match table.get(key) {
        Some(value) if table.get(with).is_none() => Err(value.mistake(format!("goes with {with}"))),
        _ => Ok(()),
    };
    lone("group", "regex")?;
    lone("attribute", "css")?;
    Ok(if let Some(path) = text("json")? {
        Some(Find::Json(path))
    } else if let Some(pattern) = text("regex")? {
        // The default is the first group, or the whole match of an expression without groups.
        let groups = u32::from(has_group(&pattern));
        Some(Find::Regex {
            pattern,
            group: table.get("group").map_or(Ok(groups), |group| small(&group, group.whole()?))?,
        })
    } else if let Some(header) = text("header")? {
        Some(Find::Header(header))
    } else if let Some(selector) = text("css")? {
        Some(Find::Css { selector, attribute: text("attribute")? })
    } else {
        text("column")?.map(Find::Column)
    })
}

/// Whether a regular expression has a capturing group.
pub(crate) fn has_group(pattern: &str) -> bool {
    let (mut escaped, mut class) = (false, false);
    pattern.char_indices().any(|(at, c)| {
        let capturing = || {
            let rest = &pattern[at + 1..];
            !rest.starts_with('?')
                || rest.starts_with("?P<")
                || (rest.starts_with("?<") && !rest.starts_with("?<=") && !rest.starts_with("?<!"))
        };
        let found = !escaped && !class && c == '(' && capturing();
        match c {
            '[' if !escaped => class = true,
            ']' if !escaped => class = false,
            _ => {}
        }
        escaped = c == '\\' && !escaped;
        found
    })
}

pub(super) fn checks(table: &Table<'_>) -> Result<Vec<Check>, Mistake> {
    let Some(value) = table.get("check") else { return Ok(Vec::new()) };
    value.list()?.iter().map(check).collect()
}

fn check(item: &Value<'_>) -> Result<Check, Mistake> {
    let table = item.table(&shape::CHECK)?;
    let (kind, value) = table.the_one("status = 200")?;
    let wanted = wanted(&table)?;
    if let (Some((key, _)), "status" | "size" | "rows" | "sha256") = (&wanted, kind) {
        return Err(item.mistake(format!("`{key}` cannot be combined with {kind}")));
    }
    let (said, test) = match kind {
        "status" => {
            let ranges = if value.is_list() { value.list()? } else { vec![value.clone()] };
            (value.shown(), Test::Status(ranges.iter().map(statuses).collect::<Result<_, _>>()?))
        }
        "size" => {
            let sizes: Sizes = value.checked(value.shown().parse())?;
            (value.shown(), Test::Size(sizes))
        }
        "rows" => (value.shown(), Test::Rows(value.checked(value.shown().parse())?)),
        "sha256" => {
            let digest = value.text()?.to_ascii_lowercase();
            (beginning(&digest), Test::Sha256(digest))
        }
        "body" => {
            if !value.truth()? {
                return Err(value.mistake("write body = true, and one of is, contains or matches"));
            }
            let (said, wanted) = wanted.unwrap_or((String::new(), TextCondition::There));
            (said, Test::Text(Find::Body, wanted))
        }
        _ => {
            let place = find(&table)?.ok_or_else(|| value.mistake("is no place"))?;
            let (said, wanted) = wanted.unwrap_or((String::new(), TextCondition::There));
            (format!("{} {said}", value.text()?).trim_end().to_owned(), Test::Text(place, wanted))
        }
    };
    value.checked(check_test(&test))?;
    let name = match table.get("name") {
        Some(name) => name.text()?.to_owned(),
        None => usual_name(kind, &said),
    };
    Ok(Check { name, test })
}

/// The first digits of a digest, for the default name of its check.
pub(crate) fn beginning(digest: &str) -> String {
    digest.chars().take(8).collect::<String>() + "..."
}

/// The default name of a check of this kind with this value.
pub(crate) fn usual_name(kind: &str, said: &str) -> String {
    let is = ["status", "size", "rows", "sha256"].contains(&kind) && !said.starts_with(['<', '>', '=']);
    format!("{kind}{}{said}", if is { " = " } else { " " })
}

/// Reads the condition for a text, and its description.
fn wanted(table: &Table<'_>) -> Result<Option<(String, TextCondition)>, Mistake> {
    const KINDS: [&str; 3] = ["is", "contains", "matches"];
    if KINDS.iter().all(|kind| table.get(kind).is_none()) {
        return Ok(None);
    }
    let (kind, value) = table.one_of(&KINDS, "contains = \"Welcome\"")?;
    let text = value.text()?;
    let (sign, wanted) = match kind {
        "is" => ("=", TextCondition::Is(Template::new(text))),
        "contains" => ("contains", TextCondition::Contains(Template::new(text))),
        _ => ("matches", TextCondition::Matches(text.to_owned())),
    };
    Ok(Some((format!("{sign} {text}"), wanted)))
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
        return lone.map_or(Ok(None), |value| Err(value.mistake("goes with objects = [\"/a.css\", ...]")));
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
