//! Templates: texts with placeholders, compiled once.
//!
//! `{{name}}` and `{{name.column}}` are placeholders; `{{name|raw}}` inserts the value without escaping. `{{session}}`, `{{sequence}}`,
//! `{{run}}` and `{{now}}` are always defined. `{{base64(name)}}` and `{{n + 1}}` are expressions. `{{'text'}}` is that text, so `{{'{{'}}` is two braces. All other braces are literal: JSON,
//! GraphQL, CSS and URLs have no two adjacent opening braces, so they need no escaping.

mod expression;

use std::borrow::Cow;
use std::fmt;

pub use self::expression::{Expression, Function, Operator};

/// A text with placeholders. Two templates are equal if their texts and their filled-in values are equal.
#[derive(Clone)]
pub struct Template {
    /// The text as written, in which the values that are the same for all sessions are filled in.
    source: Box<str>,
    /// The text as written.
    written: Box<str>,
    pieces: Box<[Piece]>,
}

impl PartialEq for Template {
    fn eq(&self, other: &Self) -> bool {
        (&self.written, &self.pieces) == (&other.written, &other.pieces)
    }
}

impl Eq for Template {}

/// A part of a template; adjacent texts are one part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A literal text.
    Text(Box<str>),
    /// The session's number.
    Session,
    /// The number of the request in the whole run.
    Sequence,
    /// The run id.
    Run,
    /// The wall-clock time at which the text is made.
    Now(Stamp),
    /// The value of a variable.
    Value(Name),
    /// The result of functions and arithmetic, and whether it is inserted without escaping.
    Expression(Box<Expression>, bool),
}

/// A time format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stamp {
    /// RFC 3339 in UTC, with milliseconds: `2026-11-23T15:26:10.123Z`.
    Iso,
    /// Whole seconds since the Unix epoch.
    Unix,
    /// Milliseconds since the Unix epoch.
    UnixMs,
    /// A strftime format, in UTC.
    Format(Box<str>),
}

impl Stamp {
    /// The conversions of strftime that a format may have.
    pub const CONVERSIONS: &str = "aAbBCdDeFfgGhHIjklmMnpPRsStTuUVwWyYz";

    /// Parses the format after `now|`.
    fn read(format: &str) -> Option<Self> {
        match format {
            "iso" => Some(Self::Iso),
            "unix" => Some(Self::Unix),
            "unix_ms" => Some(Self::UnixMs),
            format => {
                let mut conversions = format.split('%').skip(1).peekable();
                let mut any = false;
                while let Some(conversion) = conversions.next() {
                    any = true;
                    // Flags and width precede the letter of a conversion.
                    let letter = conversion.trim_start_matches(['-', '_', '.', '^', '#']);
                    match letter.trim_start_matches(|c: char| c.is_ascii_digit()).chars().next() {
                        Some(letter) if Self::CONVERSIONS.contains(letter) => {}
                        // `%%`
                        None if conversion.is_empty() && conversions.peek().is_some() => drop(conversions.next()),
                        _ => return None,
                    }
                }
                any.then(|| Self::Format(format.into()))
            }
        }
    }
}

impl Piece {
    /// The placeholder, as written in a template.
    pub fn written(&self) -> String {
        let text = match self {
            Self::Text(text) => text,
            Self::Session => return "{{session}}".to_owned(),
            Self::Sequence => return "{{sequence}}".to_owned(),
            Self::Run => return "{{run}}".to_owned(),
            Self::Now(Stamp::Iso) => return "{{now}}".to_owned(),
            Self::Now(Stamp::Unix) => return "{{now|unix}}".to_owned(),
            Self::Now(Stamp::UnixMs) => return "{{now|unix_ms}}".to_owned(),
            Self::Now(Stamp::Format(format)) => return format!("{{{{now|{format}}}}}"),
            Self::Value(name) => return name.to_string(),
            Self::Expression(expression, raw) => {
                return format!("{{{{{expression}{}}}}}", if *raw { "|raw" } else { "" });
            }
        };
        let (mut written, mut rest) = (String::with_capacity(text.len()), &**text);
        while let Some(at) = rest.find('{') {
            written.push_str(&rest[..at]);
            rest = &rest[at..];
            let braces = if rest.starts_with("{{") { "{{" } else { "{" };
            // Braces that would be a placeholder, now or in earlier versions.
            let said = braces == "{{" || single(rest).is_some();
            written.push_str(&if said { format!("{{{{'{braces}'}}}}") } else { braces.to_owned() });
            rest = &rest[braces.len()..];
        }
        written + rest
    }
}

/// The name in a placeholder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Name {
    /// The variable; if the text between the braces is not a name, the whole text.
    pub variable: Box<str>,
    /// The column, for a variable with columns.
    pub column: Option<Box<str>>,
    /// Whether the value is inserted without escaping.
    pub raw: bool,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let raw = if self.raw { "|raw" } else { "" };
        match &self.column {
            None => write!(f, "{{{{{}{raw}}}}}", self.variable),
            Some(column) => write!(f, "{{{{{}.{column}{raw}}}}}", self.variable),
        }
    }
}

/// The text as written; parsing it gives the same template.
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
    /// Compiles `text`. Every text is a valid template; undefined names are checked separately, see [`names`](Self::names).
    pub fn new(text: &str) -> Self {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some((before, marked, after)) = marked(rest) {
            plain.push_str(before);
            match marked {
                Marked::Said(said) => plain.push_str(said),
                Marked::Place(inside) => {
                    push_text(&mut pieces, &mut plain);
                    pieces.push(place(inside));
                }
            }
            rest = after;
        }
        plain.push_str(rest);
        push_text(&mut pieces, &mut plain);
        Self { source: text.into(), written: text.into(), pieces: pieces.into() }
    }

    /// A template of the literal `text`; its braces are not placeholders.
    pub fn literal(text: &str) -> Self {
        let mut pieces = Vec::new();
        push_text(&mut pieces, &mut text.to_owned());
        let written: String = pieces.iter().map(Piece::written).collect();
        Self { source: text.into(), written: written.into(), pieces: pieces.into() }
    }

    /// The text as written.
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// The text in the workload file, before values were filled in.
    pub fn written(&self) -> &str {
        &self.written
    }

    /// Reverses [`Template::filled`].
    pub(crate) fn unfill(&mut self) {
        let whole = Self::new(&self.written);
        if *self != whole {
            *self = whole;
        }
    }

    /// The parts, in order.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Words in single braces, `{name}`, which are a part of the text; once they were places.
    pub(crate) fn singles(&self) -> Vec<&str> {
        let (mut all, mut rest) = (Vec::new(), &*self.written);
        loop {
            let (before, after) = marked(rest).map_or((rest, None), |(before, _, after)| (before, Some(after)));
            all.extend(before.match_indices('{').filter_map(|(at, _)| single(&before[at..])));
            let Some(after) = after else { return all };
            rest = after;
        }
    }

    /// The names of the placeholders of the template, with repetitions.
    pub fn names(&self) -> impl Iterator<Item = &Name> {
        self.pieces.iter().flat_map(Piece::names)
    }

    /// Whether the template has no placeholders other than `{{session}}` and `{{sequence}}`.
    pub fn is_plain(&self) -> bool {
        self.pieces.iter().all(|piece| matches!(piece, Piece::Text(_) | Piece::Session | Piece::Sequence))
    }

    /// The text, if there are no placeholders.
    pub fn text(&self) -> Option<&str> {
        match &*self.pieces {
            [] => Some(""),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The escaping of values at each piece, for a text of this format.
    pub fn escapings(&self, format: Format) -> Vec<Escaping> {
        let mut in_string = false;
        let escaping = |piece: &Piece| match (piece, format) {
            (Piece::Text(text), Format::Json) => {
                let mut escaped = false;
                for byte in text.bytes() {
                    in_string ^= byte == b'"' && !escaped;
                    escaped = byte == b'\\' && !escaped;
                }
                Escaping::Plain
            }
            (Piece::Value(Name { raw: true, .. }) | Piece::Expression(_, true), _) => Escaping::Plain,
            (Piece::Value(_) | Piece::Now(_) | Piece::Expression(..), Format::Json) if in_string => Escaping::Json,
            (Piece::Value(_) | Piece::Now(_) | Piece::Expression(..), Format::Xml) => Escaping::Xml,
            (Piece::Value(_) | Piece::Now(_) | Piece::Expression(..), Format::Form) => Escaping::Form,
            _ => Escaping::Plain,
        };
        self.pieces.iter().map(escaping).collect()
    }

    /// The template with the values of `known` filled in. `write` escapes a value, given the number of the piece and the text before it; raw
    /// placeholders are not escaped.
    pub(crate) fn filled(
        &self,
        known: impl Fn(&Name) -> Option<String>,
        write: impl Fn(usize, &str, String) -> String,
    ) -> Self {
        if self.names().all(|name| known(name).is_none()) {
            return self.clone();
        }
        let mut pieces = Vec::new();
        let mut plain = String::new();
        for (number, piece) in self.pieces.iter().enumerate() {
            let text = match piece {
                Piece::Text(text) => Some(text.to_string()),
                Piece::Value(name) if name.raw => known(name),
                Piece::Value(name) => known(name).map(|value| write(number, &plain, value)),
                Piece::Session | Piece::Sequence | Piece::Run | Piece::Now(_) | Piece::Expression(..) => None,
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

/// The format of a text with placeholders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Any other format.
    Plain,
    /// JSON (RFC 8259): values between quotes are escaped as part of the string; other values are inserted unchanged.
    Json,
    /// XML, or HTML.
    Xml,
    /// Names and values, URL-encoded.
    Form,
}

impl Format {
    /// The format of `text`: by its media type, otherwise by its first character.
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

/// How a value is escaped in a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escaping {
    /// Unchanged.
    Plain,
    /// As part of a JSON string.
    Json,
    /// As part of a text or an attribute in XML.
    Xml,
    /// As `application/x-www-form-urlencoded`.
    Form,
}

impl Escaping {
    /// `value`, escaped.
    pub fn apply(self, value: &str) -> Cow<'_, str> {
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
pub fn in_form(text: impl AsRef<[u8]>) -> String {
    let text = text.as_ref();
    let mut encoded = String::with_capacity(text.len());
    for &byte in text {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'*' | b'-' | b'.' | b'_' => encoded.push(char::from(byte)),
            b' ' => encoded.push('+'),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// `value` encoded for a URL, after the text `before`. After `=` in a query, all characters except letters, digits and
/// `-._~` are encoded. Elsewhere the value may be a part of a URL, and only characters that no URL can contain are encoded.
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

/// The content of a pair of double braces.
enum Marked<'a> {
    /// A text in quotes.
    Said(&'a str),
    /// Anything else without a brace.
    Place(&'a str),
}

/// The first placeholder or quoted text in `text`, with the text before and after it.
fn marked(text: &str) -> Option<(&str, Marked<'_>, &str)> {
    let mut from = 0;
    while let Some(at) = text[from..].find("{{") {
        let at = from + at;
        let inside = text[at + 2..].trim_start_matches(' ');
        for quote in ['\'', '"'] {
            let Some(said) = inside.strip_prefix(quote) else { continue };
            let ends = said.match_indices(quote).find_map(|(end, _)| {
                let after = said[end + 1..].trim_start_matches(' ').strip_prefix("}}")?;
                Some((&said[..end], after))
            });
            if let Some((said, after)) = ends {
                return Some((&text[..at], Marked::Said(said), after));
            }
        }
        let end = inside.find(['{', '}', '\n']).unwrap_or(inside.len());
        if let (inside, Some(after)) = (inside[..end].trim_end_matches(' '), inside[end..].strip_prefix("}}"))
            && !inside.is_empty()
        {
            return Some((&text[..at], Marked::Place(inside), after));
        }
        from = at + 1;
    }
    None
}

/// The placeholder with this text between its braces.
fn place(inside: &str) -> Piece {
    let stamp = match inside.split_once('|') {
        None => (inside == "now").then_some(Stamp::Iso),
        Some((name, format)) => {
            Stamp::read(format.trim_start_matches(' ')).filter(|_| name.trim_end_matches(' ') == "now")
        }
    };
    if let Some(stamp) = stamp {
        return Piece::Now(stamp);
    }
    let given = inside.split_once('|').map(|(inner, modifier)| (inner, modifier.trim()));
    let (inner, raw) = if let Some((inner, "raw")) = given { (inner, true) } else { (inside, false) };
    match Expression::parse(inner) {
        Some(expression) => Piece::Expression(Box::new(expression), raw),
        None => named(inside),
    }
}

/// The value of this name.
fn named(inside: &str) -> Piece {
    let name = name(inside);
    match (&*name.variable, &name.column) {
        ("session", None) => Piece::Session,
        ("sequence", None) => Piece::Sequence,
        ("run", None) => Piece::Run,
        _ => Piece::Value(name),
    }
}

/// Names that are always defined.
pub(crate) const ALWAYS: [&str; 4] = ["session", "sequence", "run", "now"];

/// Parses the text between the braces of a placeholder.
fn name(inside: &str) -> Name {
    let given =
        inside.split_once('|').map(|(name, modifier)| (name.trim_end_matches(' '), modifier.trim_start_matches(' ')));
    let (name, raw) = if let Some((name, "raw")) = given { (name, true) } else { (inside, false) };
    match word(name) {
        Some((variable, column)) => Name { variable: variable.into(), column: column.map(Into::into), raw },
        None => Name { variable: inside.into(), column: None, raw: false },
    }
}

/// A variable, or a variable and its column, separated by a point.
fn word(text: &str) -> Option<(&str, Option<&str>)> {
    let (variable, column) = match text.split_once('.') {
        Some((variable, column)) => (variable, Some(column)),
        None => (text, None),
    };
    let fits = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    let fit = column.is_none_or(|column| !column.is_empty() && column.bytes().all(fits));
    (is_name(variable) && fit).then_some((variable, column))
}

/// The name in single braces at the start of `text`; in earlier versions this was a placeholder.
fn single(text: &str) -> Option<&str> {
    let (inside, _) = text.strip_prefix('{')?.split_once('}')?;
    word(inside.strip_suffix("|raw").unwrap_or(inside)).map(|_| inside)
}

/// Whether `text` can name a variable: letters, digits and `_`, no digit first.
pub(crate) fn is_name(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') && text.starts_with(|c: char| !c.is_ascii_digit())
}

#[cfg(test)]
mod tests;
