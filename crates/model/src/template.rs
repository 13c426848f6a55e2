//! Templates: texts with places for values, compiled once.
//!
//! `{name}` and `{name.column}` are places (`{name|raw}`: for a value as it is, wherever it stands), `{session}` and `{sequence}` two that are always there. `{{name}}` is the text
//! `{name}`. Every other brace is a brace, so that a JSON body needs no escaping.

use std::borrow::Cow;
use std::fmt;

/// A text with places for values. Two are the same that are written alike and have the same values put in.
#[derive(Clone)]
pub struct Template {
    /// As it was written, with the values that are the same for all sessions put in.
    source: Box<str>,
    /// As it was written.
    written: Box<str>,
    pieces: Box<[Piece]>,
}

impl PartialEq for Template {
    fn eq(&self, other: &Self) -> bool {
        (&self.written, &self.pieces) == (&other.written, &other.pieces)
    }
}

impl Eq for Template {}

/// A part of a template; neighbouring texts are one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// As it stands.
    Text(Box<str>),
    /// The session's number.
    Session,
    /// The launch's number in the whole run.
    Sequence,
    /// The value of a variable.
    Value(Name),
}

impl Piece {
    /// As it is written in a template.
    fn written(&self) -> String {
        let text = match self {
            Self::Text(text) => text,
            Self::Session => return "{session}".to_owned(),
            Self::Sequence => return "{sequence}".to_owned(),
            Self::Value(name) => return name.to_string(),
        };
        let (mut written, mut rest) = (String::new(), &**text);
        while let Some(at) = rest.find('{') {
            written.push_str(&rest[..at]);
            rest = &rest[at..];
            if let Some((name, after)) = place(rest) {
                written.push_str(&format!("{{{name}}}"));
                rest = after;
            } else {
                written.push('{');
                rest = &rest[1..];
            }
        }
        written + rest
    }
}

/// What a place asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Name {
    /// The variable.
    pub variable: Box<str>,
    /// Of a variable with columns, which.
    pub column: Option<Box<str>>,
    /// Whether its value stands as it is, whatever it is put into.
    pub raw: bool,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let raw = if self.raw { "|raw" } else { "" };
        match &self.column {
            None => write!(f, "{{{}{raw}}}", self.variable),
            Some(column) => write!(f, "{{{}.{column}{raw}}}", self.variable),
        }
    }
}

/// As it was written; parsing that gives the same template.
impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.pieces, f)
    }
}

impl Template {
    /// Compiles `text`. There are no wrong templates, only names nobody defines: see [`names`](Self::names).
    pub fn new(text: &str) -> Self {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            plain.push_str(&rest[..at]);
            rest = &rest[at..];
            if let Some((name, after)) = rest.strip_prefix('{').and_then(place)
                && let Some(after) = after.strip_prefix('}')
            {
                plain.push_str(&name.to_string());
                rest = after;
            } else if let Some((name, after)) = place(rest) {
                push_text(&mut pieces, &mut plain);
                pieces.push(match (&*name.variable, &name.column, name.raw) {
                    ("session", None, false) => Piece::Session,
                    ("sequence", None, false) => Piece::Sequence,
                    _ => Piece::Value(name),
                });
                rest = after;
            } else {
                plain.push('{');
                rest = &rest[1..];
            }
        }
        plain.push_str(rest);
        push_text(&mut pieces, &mut plain);
        Self { source: text.into(), written: text.into(), pieces: pieces.into() }
    }

    /// `text` as it stands, whatever braces it has.
    pub fn literal(text: &str) -> Self {
        let mut pieces = Vec::new();
        push_text(&mut pieces, &mut text.to_owned());
        let written: String = pieces.iter().map(Piece::written).collect();
        Self { source: text.into(), written: written.into(), pieces: pieces.into() }
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// As it stood in the file, before any value was put in.
    pub(crate) fn written(&self) -> &str {
        &self.written
    }

    /// Takes out again what was put in for all sessions.
    pub(crate) fn unfill(&mut self) {
        let whole = Self::new(&self.written);
        if *self != whole {
            *self = whole;
        }
    }

    /// Its parts, in order.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The variables it asks for, each as often as it does.
    pub fn names(&self) -> impl Iterator<Item = &Name> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Value(name) => Some(name),
            _ => None,
        })
    }

    /// Whether it asks for no variable: `{session}` and `{sequence}` at most.
    pub fn is_plain(&self) -> bool {
        self.names().next().is_none()
    }

    /// The text that it is, if it has no places.
    pub fn text(&self) -> Option<&str> {
        match &*self.pieces {
            [] => Some(""),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// How a value is written at each of its pieces, where it is a text of this format.
    pub fn ways(&self, format: Format) -> Vec<Way> {
        let mut in_string = false;
        let way = |piece: &Piece| match (piece, format) {
            (Piece::Text(text), Format::Json) => {
                let mut escaped = false;
                for byte in text.bytes() {
                    in_string ^= byte == b'"' && !escaped;
                    escaped = byte == b'\\' && !escaped;
                }
                Way::Plain
            }
            (Piece::Value(Name { raw: false, .. }), Format::Json) if in_string => Way::Json,
            (Piece::Value(Name { raw: false, .. }), Format::Xml) => Way::Xml,
            (Piece::Value(Name { raw: false, .. }), Format::Form) => Way::Form,
            _ => Way::Plain,
        };
        self.pieces.iter().map(way).collect()
    }

    /// The same with the values that `known` has for all sessions put in, written as `write` says with the number of the piece and the
    /// text before them; those that are to stand as they are do.
    pub(crate) fn filled(
        &self,
        known: impl Fn(&Name) -> Option<String>,
        write: impl Fn(usize, &str, String) -> String,
    ) -> Self {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        for (number, piece) in self.pieces.iter().enumerate() {
            let text = match piece {
                Piece::Text(text) => Some(text.to_string()),
                Piece::Value(name) if name.raw => known(name),
                Piece::Value(name) => known(name).map(|value| write(number, &plain, value)),
                Piece::Session | Piece::Sequence => None,
            };
            match text {
                Some(text) => plain.push_str(&text),
                None => {
                    push_text(&mut pieces, &mut plain);
                    pieces.push(piece.clone());
                }
            }
        }
        push_text(&mut pieces, &mut plain);
        let source: String = pieces.iter().map(Piece::written).collect();
        Self { source: source.into(), written: self.written.clone(), pieces: pieces.into() }
    }
}

/// What kind of text values are put into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Any other.
    Plain,
    /// JSON (RFC 8259): a value between quotes is a part of that string; outside of them it is a value of its own, and stands as it is.
    Json,
    /// XML, or HTML.
    Xml,
    /// Names and values, URL-encoded.
    Form,
}

impl Format {
    /// By the media type that is said of `text`, else by how it begins.
    pub fn of(media_type: Option<&str>, text: &Template) -> Self {
        let begins = || match text.pieces.first() {
            Some(Piece::Text(first)) => first.trim_start_matches('\u{feff}').trim_start().chars().next(),
            _ => None,
        };
        match media_type.map(str::to_ascii_lowercase) {
            Some(kind) if kind.contains("json") => Self::Json,
            Some(kind) if kind.contains("xml") || kind.contains("html") => Self::Xml,
            Some(kind) if kind.contains("x-www-form-urlencoded") => Self::Form,
            Some(_) => Self::Plain,
            None => match begins() {
                Some('{' | '[') => Self::Json,
                Some('<') => Self::Xml,
                _ => Self::Plain,
            },
        }
    }
}

/// How a value is written where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// As it is.
    Plain,
    /// As a part of a JSON string.
    Json,
    /// As a part of a text or of an attribute in XML.
    Xml,
    /// URL-encoded, as forms are.
    Form,
}

impl Way {
    /// `value`, so written.
    pub fn written(self, value: &str) -> Cow<'_, str> {
        match self {
            Self::Plain => Cow::Borrowed(value),
            Self::Json if !value.contains(|c: char| c.is_control() || c == '"' || c == '\\') => Cow::Borrowed(value),
            Self::Json => {
                let quoted = serde_json::Value::from(value).to_string();
                Cow::Owned(quoted[1..quoted.len() - 1].to_owned())
            }
            Self::Xml if !value.contains(['&', '<', '>', '"', '\'']) => Cow::Borrowed(value),
            Self::Xml => {
                let escape = |c: char| match c {
                    '&' => "&amp;".to_owned(),
                    '<' => "&lt;".to_owned(),
                    '>' => "&gt;".to_owned(),
                    '"' => "&quot;".to_owned(),
                    '\'' => "&#39;".to_owned(),
                    other => other.to_string(),
                };
                Cow::Owned(value.chars().map(escape).collect())
            }
            Self::Form => Cow::Owned(in_form(value)),
        }
    }
}

/// A name or value as forms are encoded (the URL Standard's application/x-www-form-urlencoded).
pub fn in_form(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'*' | b'-' | b'.' | b'_' => encoded.push(char::from(byte)),
            b' ' => encoded.push('+'),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// A value as it stands in a URL behind `before`. Behind `=` it is a value of the query, of which nothing but letters, digits and
/// `-._~` may stand as it is; elsewhere it may be a piece of a URL, and only what no URL can hold is encoded.
pub fn in_url(before: &str, value: &str) -> String {
    let whole = before.ends_with('=') && before.contains('?');
    let stays = |b: u8| match b {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => true,
        b'!' | b'$'..=b'/' | b':' | b';' | b'=' | b'?' | b'@' | b'[' | b']' => !whole,
        _ => false,
    };
    let mut written = String::with_capacity(value.len());
    for byte in value.bytes() {
        if stays(byte) {
            written.push(char::from(byte));
        } else {
            written.push_str(&format!("%{byte:02X}"));
        }
    }
    written
}

fn push_text(pieces: &mut Vec<Piece>, plain: &mut String) {
    if !plain.is_empty() {
        pieces.push(Piece::Text(std::mem::take(plain).into()));
    }
}

/// The place at the start of `text`, and what follows it.
fn place(text: &str) -> Option<(Name, &str)> {
    let (inside, after) = text.strip_prefix('{')?.split_once('}')?;
    let (inside, raw) = inside.strip_suffix("|raw").map_or((inside, false), |inside| (inside, true));
    let (variable, column) = match inside.split_once('.') {
        Some((variable, column)) => (variable, Some(column)),
        None => (inside, None),
    };
    let word = |text: &str, more: &[u8]| {
        !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || more.contains(&b))
    };
    let is_place = is_name(variable) && column.is_none_or(|column| word(column, b"-"));
    is_place.then(|| (Name { variable: variable.into(), column: column.map(Into::into), raw }, after))
}

/// Whether `text` can name a variable: letters, digits and `_`, no digit first.
pub(crate) fn is_name(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') && text.starts_with(|c: char| !c.is_ascii_digit())
}

#[cfg(test)]
mod tests;
