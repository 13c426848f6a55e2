//! Keys and values in TOML.

use std::fmt::{self, Write};

use crate::template::Template;
use crate::toml_text::{toml_key, toml_text};

/// A key and a value in TOML.
pub(super) type Pair = (String, String);

/// A list of keys and values, built key by key.
#[derive(Default)]
pub(super) struct Pairs(pub(super) Vec<Pair>);

impl Pairs {
    /// Adds a value in TOML.
    pub(super) fn raw(mut self, key: &str, value: impl fmt::Display) -> Self {
        self.0.push((key.to_owned(), value.to_string()));
        self
    }

    /// Adds a text.
    pub(super) fn text(self, key: &str, text: impl fmt::Display) -> Self {
        let text = toml_text(text.to_string());
        self.raw(key, text)
    }

    /// Applies `with` to the value, if it is given.
    pub(super) fn maybe<T>(self, value: Option<T>, with: impl FnOnce(Self, T) -> Self) -> Self {
        match value {
            Some(value) => with(self, value),
            None => self,
        }
    }

    /// Applies `with` if `condition` is true.
    pub(super) fn when(self, condition: bool, with: impl FnOnce(Self) -> Self) -> Self {
        if condition { with(self) } else { self }
    }

    /// The keys and values as an inline table.
    pub(super) fn table(self) -> String {
        inline(&self.0)
    }
}

/// Appends one line per key.
pub(super) fn pairs(text: &mut String, pairs: &[Pair]) {
    for (key, value) in pairs {
        let _ = writeln!(text, "{key} = {value}");
    }
}

/// Appends a table with this header.
pub(super) fn section(text: &mut String, head: &str, content: &[Pair]) {
    let _ = write!(text, "\n{head}\n");
    pairs(text, content);
}

/// An inline table.
pub(super) fn inline(pairs: &[Pair]) -> String {
    let pairs: Vec<String> = pairs.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    if pairs.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", pairs.join(", ")) }
}

/// An inline table with one key.
pub(super) fn one(key: &str, value: impl fmt::Display) -> String {
    format!("{{ {key} = {value} }}")
}

/// An array.
pub(super) fn list<T>(items: impl IntoIterator<Item = T>, written: impl FnMut(T) -> String) -> String {
    format!("[{}]", items.into_iter().map(written).collect::<Vec<_>>().join(", "))
}

/// A list of tables; several tables are written on separate lines.
pub(super) fn lines<T>(items: &[T], written: impl Fn(&T) -> String) -> String {
    match items {
        [one] => format!("[{}]", written(one)),
        many => format!("[\n{}]", many.iter().map(|item| format!("  {},\n", written(item))).collect::<String>()),
    }
}

/// A template as a TOML text.
pub(super) fn template(text: &Template) -> String {
    toml_text(text.written())
}

/// Named templates as an inline table.
pub(super) fn templates(texts: &[(String, Template)]) -> String {
    inline(&texts.iter().map(|(name, text)| (toml_key(name), template(text))).collect::<Vec<_>>())
}
