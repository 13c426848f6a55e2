//! Templates: texts with places for values, compiled once.
//!
//! `{name}` and `{name.column}` are places, `{session}` and `{sequence}` two that are always there. `{{name}}` is the text
//! `{name}`. Every other brace is a brace, so that a JSON body needs no escaping.

use std::fmt;

/// A text with places for values.
#[derive(Clone, PartialEq, Eq)]
pub struct Template {
    /// As it was written, with the values that are the same for all sessions put in.
    source: Box<str>,
    /// As it was written.
    written: Box<str>,
    pieces: Box<[Piece]>,
}

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
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.column {
            None => write!(f, "{{{}}}", self.variable),
            Some(column) => write!(f, "{{{}.{column}}}", self.variable),
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
                pieces.push(match (&*name.variable, &name.column) {
                    ("session", None) => Piece::Session,
                    ("sequence", None) => Piece::Sequence,
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

    /// The same with the values that `known` has for all sessions put in, written as `write` says with the text before them.
    pub(crate) fn filled(
        &self,
        known: impl Fn(&Name) -> Option<String>,
        write: impl Fn(&str, String) -> String,
    ) -> Self {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        for piece in &self.pieces {
            let text = match piece {
                Piece::Text(text) => Some(text.to_string()),
                Piece::Value(name) => known(name).map(|value| write(&plain, value)),
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
    let (variable, column) = match inside.split_once('.') {
        Some((variable, column)) => (variable, Some(column)),
        None => (inside, None),
    };
    let word = |text: &str, more: &[u8]| {
        !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || more.contains(&b))
    };
    let is_place = is_name(variable) && column.is_none_or(|column| word(column, b"-"));
    is_place.then(|| (Name { variable: variable.into(), column: column.map(Into::into) }, after))
}

/// Whether `text` can name a variable: letters, digits and `_`, no digit first.
pub(crate) fn is_name(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') && text.starts_with(|c: char| !c.is_ascii_digit())
}

#[cfg(test)]
mod tests;
