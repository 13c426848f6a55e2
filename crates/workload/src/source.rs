//! TOML values with their positions, so that every mistake is reported as `file:line: message`.

use std::ops::Range;
use std::str::FromStr;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::shape::Shape;
use offered_base::{InvalidValue, nearest, sentence};

/// A mistake in a workload file, displayed as `file:line: message`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {}", self.without_position())]
pub struct Mistake {
    /// The name of the file, as given.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The key that is wrong, by its path: `arrivals.open.rate`, `request[0].get`; empty if the mistake concerns the
    /// whole file.
    pub field: String,
    /// The mistake, the expected value, and what to write instead.
    pub what: String,
}

impl Mistake {
    /// The key and the mistake, for a workload that is not a file.
    pub fn without_position(&self) -> String {
        let Self { field, what, .. } = self;
        if field.is_empty() { what.clone() } else { sentence(field, what) }
    }
}

/// The text and its name.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
}

impl<'a> Source<'a> {
    pub(super) fn mistake(self, span: &Range<usize>, field: &str, what: impl Into<String>) -> Mistake {
        let before = &self.text.as_bytes()[..span.start.min(self.text.len())];
        let line = before.split(|b| *b == b'\n').count();
        Mistake { file: self.file.to_owned(), line, field: field.to_owned(), what: what.into() }
    }

    /// Parses the text as TOML.
    pub(super) fn parse(self) -> Result<Spanned<DeTable<'a>>, Mistake> {
        DeTable::parse(self.text).map_err(|error| {
            self.mistake(&error.span().unwrap_or(0..0), "", error.message().lines().collect::<Vec<_>>().join(": "))
        })
    }
}

/// A value of the file with its key.
#[derive(Clone)]
pub(super) struct Value<'a> {
    source: Source<'a>,
    name: String,
    span: Range<usize>,
    content: &'a DeValue<'a>,
}

/// A table of the file; its keys have been checked.
pub(super) struct Table<'a> {
    source: Source<'a>,
    name: String,
    span: Range<usize>,
    entries: &'a DeTable<'a>,
    shape: &'static Shape,
}

impl<'a> Table<'a> {
    /// Checks that `shape` has all keys of a table; the first unknown key is a mistake.
    pub(super) fn new(
        source: Source<'a>,
        name: &str,
        span: Range<usize>,
        entries: &'a DeTable<'a>,
        shape: &'static Shape,
    ) -> Result<Self, Mistake> {
        let unknown = entries.keys().filter(|key| !shape.has(key.get_ref()));
        if let Some(key) = unknown.min_by_key(|key| key.span().start) {
            let known = &shape.names()[..];
            let place = if name.is_empty() { String::new() } else { format!(" in {name}") };
            let hint = nearest(key.get_ref(), known);
            let what = format!("unknown key `{}`{place}{hint}; known keys: {}", key.get_ref(), known.join(", "));
            return Err(source.mistake(&key.span(), "", what));
        }
        Ok(Self { source, name: name.to_owned(), span, entries, shape })
    }

    /// The value of `key`, where it is given.
    pub(super) fn get(&self, key: &str) -> Option<Value<'a>> {
        assert!(self.shape.has(key), "{key} is not a key of {}", self.name);
        let (_, value) = self.entries.iter().find(|(k, _)| k.get_ref() == key)?;
        let name = if self.name.is_empty() { key.to_owned() } else { format!("{}.{key}", self.name) };
        Some(Value { source: self.source, name, span: value.span(), content: value.get_ref() })
    }

    /// The value of `key`, which must be given; `example` is how.
    pub(super) fn need(&self, key: &str, example: &str) -> Result<Value<'a>, Mistake> {
        self.get(key).ok_or_else(|| self.mistake(format!("`{key}` is missing; write for example {key} = {example}")))
    }

    /// The key of `names` that the table has, with its value. None or several are a mistake; its message contains `example`.
    pub(super) fn one_of(&self, names: &[&'static str], example: &str) -> Result<(&'static str, Value<'a>), Mistake> {
        let mut given = names.iter().filter_map(|name| Some((*name, self.get(name)?)));
        let first = given.next().ok_or_else(|| {
            self.mistake(format!("one of {} is needed; write for example {example}", names.join(", ")))
        })?;
        if let Some((second, value)) = given.next() {
            return Err(value.mistake(format!(
                "`{second}` cannot be combined with `{}`; exactly one of {} is allowed",
                first.0,
                names.join(", ")
            )));
        }
        Ok(first)
    }

    /// The key of a group of keys that exclude each other, with its value. None or several are a mistake; its message contains `example`.
    pub(super) fn the_one(&self, example: &str) -> Result<(&'static str, Value<'a>), Mistake> {
        self.one_of(self.shape.one_of, example)
    }

    /// The result, with its error as a mistake at this table.
    pub(super) fn checked<T>(&self, result: Result<T, InvalidValue>) -> Result<T, Mistake> {
        result.map_err(|wrong| self.mistake(wrong))
    }

    /// The text of `key`, parsed, where it is given.
    pub(super) fn parsed<T: FromStr<Err = InvalidValue>>(&self, key: &str) -> Result<Option<T>, Mistake> {
        self.get(key).map(|value| value.parsed()).transpose()
    }

    /// The parsed value of `key`; `None`: the table does not have it.
    pub(super) fn named<T: FromStr<Err = InvalidValue>>(&self, key: &str) -> Result<Option<T>, Mistake> {
        self.get(key).map(|value| value.named()).transpose()
    }

    pub(super) fn mistake(&self, what: impl std::fmt::Display) -> Mistake {
        self.source.mistake(&self.span, &self.name, what.to_string())
    }
}

impl<'a> Value<'a> {
    pub(super) fn mistake(&self, what: impl std::fmt::Display) -> Mistake {
        self.source.mistake(&self.span, &self.name, what.to_string())
    }

    fn expected(&self, what: &str) -> Mistake {
        self.mistake(format!("expected {what}, found {}", self.content.type_str()))
    }

    /// The result, with its error as a mistake at this value.
    pub(super) fn checked<T>(&self, result: Result<T, InvalidValue>) -> Result<T, Mistake> {
        result.map_err(|wrong| self.mistake(wrong))
    }

    pub(super) fn is_text(&self) -> bool {
        self.content.is_str()
    }

    pub(super) fn is_list(&self) -> bool {
        self.content.is_array()
    }

    pub(super) fn truth(&self) -> Result<bool, Mistake> {
        self.content.as_bool().ok_or_else(|| self.expected("true or false"))
    }

    /// A text, number or truth as a text; of lists their items.
    pub(super) fn shown(&self) -> String {
        match self.content {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(number) => number.as_str().to_owned(),
            DeValue::Float(number) => number.as_str().to_owned(),
            DeValue::Boolean(truth) => truth.to_string(),
            DeValue::Datetime(instant) => instant.to_string(),
            DeValue::Array(items) => {
                let items: Vec<String> =
                    items.iter().map(|item| Self { content: item.get_ref(), ..self.clone() }.shown()).collect();
                items.join(", ")
            }
            DeValue::Table(_) => String::new(),
        }
    }

    pub(super) fn is_table(&self) -> bool {
        self.content.is_table()
    }

    pub(super) fn text(&self) -> Result<&'a str, Mistake> {
        self.content.as_str().ok_or_else(|| self.expected("a text in quotes"))
    }

    /// The text, parsed.
    pub(super) fn parsed<T: FromStr<Err = InvalidValue>>(&self) -> Result<T, Mistake> {
        let text = self
            .content
            .as_str()
            .ok_or_else(|| self.expected("a text with its unit in quotes, such as \"10s\" or \"100/s\""))?;
        self.checked(text.parse())
    }

    /// The parsed text of this value.
    pub(super) fn named<T: FromStr<Err = InvalidValue>>(&self) -> Result<T, Mistake> {
        self.checked(self.text()?.parse())
    }

    /// A duration in seconds.
    pub(super) fn seconds(&self) -> Result<f64, Mistake> {
        let text =
            self.content.as_str().ok_or_else(|| self.expected("a text with its unit in quotes, such as \"10s\""))?;
        self.checked(offered_base::time::seconds(text))
    }

    pub(super) fn number(&self) -> Result<f64, Mistake> {
        let text = match self.content {
            DeValue::Integer(number) if number.radix() == 10 => number.as_str(),
            DeValue::Float(number) => number.as_str(),
            _ => return Err(self.expected("a number")),
        };
        text.parse().map_err(|_| self.expected("a number"))
    }

    /// A whole number from 0.
    pub(super) fn whole(&self) -> Result<u64, Mistake> {
        match self.content {
            DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix())
                .map_err(|_| self.mistake(format!("{} is not a whole number from 0 to 2^64-1", number.as_str()))),
            _ => Err(self.expected("a whole number")),
        }
    }

    /// A whole number from 1.
    pub(super) fn count(&self) -> Result<u64, Mistake> {
        match self.whole()? {
            0 => Err(self.mistake("must be at least 1")),
            n => Ok(n),
        }
    }

    pub(super) fn table(&self, shape: &'static Shape) -> Result<Table<'a>, Mistake> {
        match self.content {
            DeValue::Table(entries) => Table::new(self.source, &self.name, self.span.clone(), entries, shape),
            _ => Err(self.expected(&format!("a table with the keys {}", shape.names().join(", ")))),
        }
    }

    pub(super) fn list(&self) -> Result<Vec<Value<'a>>, Mistake> {
        let DeValue::Array(items) = self.content else { return Err(self.expected("a list in [ ]")) };
        let item = |(i, item): (usize, &'a Spanned<DeValue<'a>>)| Value {
            source: self.source,
            name: format!("{}[{i}]", self.name),
            span: item.span(),
            content: item.get_ref(),
        };
        Ok(items.iter().enumerate().map(item).collect())
    }

    /// A list of exactly two values.
    pub(super) fn pair(&self, what: &str) -> Result<[Value<'a>; 2], Mistake> {
        self.list()?.try_into().map_err(|_| self.mistake(format!("expected {what}")))
    }

    /// A weight: a number from zero.
    pub(super) fn weight(&self) -> Result<f64, Mistake> {
        match self.number()? {
            weight if weight >= 0.0 && weight.is_finite() => Ok(weight),
            weight => Err(self.mistake(format!("a weight must be zero or more, not {weight}"))),
        }
    }

    /// The entries of a table with arbitrary keys, in the order of the file; `what` names them in messages.
    pub(super) fn entries(&self, what: &str) -> Result<Vec<(&'a str, Self)>, Mistake> {
        let DeValue::Table(entries) = self.content else { return Err(self.expected(&format!("a table of {what}"))) };
        let mut ordered: Vec<_> = entries.iter().collect();
        ordered.sort_by_key(|(key, _)| key.span().start);
        let entry = |(key, value): (&'a Spanned<std::borrow::Cow<'_, str>>, &'a Spanned<DeValue<'a>>)| {
            let name = format!("{}.{}", self.name, key.get_ref());
            (key.get_ref().as_ref(), Self { source: self.source, name, span: value.span(), content: value.get_ref() })
        };
        Ok(ordered.into_iter().map(entry).collect())
    }

    /// The value of `key` in a table.
    pub(super) fn entry(&self, key: &str) -> Option<Self> {
        self.entries("").ok()?.into_iter().find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    /// The entries of a table of texts, in the order of the file.
    pub(super) fn texts(&self) -> Result<Vec<(String, String)>, Mistake> {
        let entries = self.entries("texts")?;
        entries.into_iter().map(|(key, value)| Ok((key.to_owned(), value.text()?.to_owned()))).collect()
    }
}
