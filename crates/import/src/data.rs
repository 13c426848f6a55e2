//! JSON and YAML as a tree that keeps the order of the file. The number of values (YAML aliases count each time) and
//! the depth are limited.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use crate::Error;

/// Maximum number of values; a recording of ten thousand requests has fewer.
const MAX_VALUES: usize = 2_000_000;
/// Maximum number of keys in one map, because lookups are linear.
const MAX_KEYS: usize = 20_000;
/// Maximum nesting depth; `serde_json` has a similar limit.
const MAX_DEPTH: usize = 120;
/// Maximum size of a YAML text in bytes; parsing costs about twenty times as much as JSON.
const MAX_YAML_BYTES: usize = 16 << 20;

/// A JSON or YAML value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Data {
    Null,
    Bool(bool),
    /// The number as written in the file.
    Number(String),
    Text(String),
    List(Vec<Data>),
    Map(Vec<(String, Data)>),
}

/// Value returned for missing keys.
pub(crate) static NOTHING: Data = Data::Null;

impl Data {
    /// Value of `key`; [`NOTHING`] if missing.
    pub(crate) fn get(&self, key: &str) -> &Self {
        match self {
            Self::Map(entries) => entries.iter().find(|(name, _)| name == key).map_or(&NOTHING, |(_, value)| value),
            _ => &NOTHING,
        }
    }

    /// Value at a path of keys; [`NOTHING`] if missing.
    pub(crate) fn at(&self, keys: &[&str]) -> &Self {
        keys.iter().fold(self, |data, key| data.get(key))
    }

    /// Elements of a list; empty for other values.
    pub(crate) fn list(&self) -> &[Self] {
        if let Self::List(values) = self { values } else { &[] }
    }

    /// Entries of a map; empty for other values.
    pub(crate) fn entries(&self) -> &[(String, Self)] {
        if let Self::Map(entries) = self { entries } else { &[] }
    }

    /// The string; empty for other values.
    pub(crate) fn text(&self) -> &str {
        if let Self::Text(text) = self { text } else { "" }
    }

    /// Whether the value is not null.
    pub(crate) fn is(&self) -> bool {
        *self != Self::Null
    }

    /// Whether the value is `true`.
    pub(crate) fn yes(&self) -> bool {
        *self == Self::Bool(true)
    }

    /// The number, if it is finite.
    pub(crate) fn number(&self) -> Option<f64> {
        if let Self::Number(number) = self { number.parse().ok().filter(|n: &f64| n.is_finite()) } else { None }
    }

    /// The value as text for a path, form or header; lists and maps as JSON.
    pub(crate) fn plain(&self) -> String {
        match self {
            Self::Null => String::new(),
            Self::Text(text) => text.clone(),
            other => other.json(),
        }
    }

    /// The value as JSON text with a blank after each comma and colon.
    pub(crate) fn json(&self) -> String {
        let mut json = String::new();
        self.write(" ", &mut json);
        json
    }

    /// The value as JSON text as `JSON.stringify` of JavaScript writes it.
    pub(crate) fn compact_json(&self) -> String {
        let mut json = String::new();
        self.write("", &mut json);
        json
    }

    fn write(&self, blank: &str, json: &mut String) {
        let separated = |json: &mut String, at: usize| {
            if at > 0 {
                json.push(',');
                json.push_str(blank);
            }
        };
        match self {
            Self::Null => json.push_str("null"),
            Self::Bool(yes) => json.push_str(if *yes { "true" } else { "false" }),
            Self::Number(number) => json.push_str(number),
            Self::Text(text) => json.push_str(&quoted(text)),
            Self::List(values) => {
                json.push('[');
                for (at, value) in values.iter().enumerate() {
                    separated(json, at);
                    value.write(blank, json);
                }
                json.push(']');
            }
            Self::Map(entries) => {
                json.push('{');
                for (at, (name, value)) in entries.iter().enumerate() {
                    separated(json, at);
                    json.push_str(&quoted(name));
                    json.push(':');
                    json.push_str(blank);
                    value.write(blank, json);
                }
                json.push('}');
            }
        }
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Parses `text`, the content of `file`, as JSON.
pub(crate) fn json(text: &str, file: &str) -> Result<Data, Error> {
    let wrong = |error: serde_json::Error| {
        let message = if error.is_eof() {
            "the file ends inside its JSON; it is truncated; copy it again".to_owned()
        } else {
            let text = error.to_string();
            let text = text.split(" at line ").next().unwrap_or_default();
            format!("not well-formed JSON: {text}")
        };
        Error::Line { file: file.to_owned(), line: error.line().max(1), message }
    };
    let left = Cell::new(MAX_VALUES);
    let mut reader = serde_json::Deserializer::from_str(text);
    let data = Seed { left: &left, depth: 0 }.deserialize(&mut reader).map_err(wrong)?;
    reader.end().map_err(wrong)?;
    Ok(data)
}

/// Parses `text`, the content of `file`, as YAML.
pub(crate) fn yaml(text: &str, file: &str) -> Result<Data, Error> {
    if text.len() > MAX_YAML_BYTES {
        let message = format!("YAML larger than {} MiB; convert the file to JSON", MAX_YAML_BYTES >> 20);
        return Err(Error::File { file: file.to_owned(), message });
    }
    let left = Cell::new(MAX_VALUES);
    let budget = serde_saphyr::budget! {
        max_depth: MAX_DEPTH,
        max_nodes: MAX_VALUES,
        max_events: 2 * MAX_VALUES,
        max_total_scalar_bytes: MAX_YAML_BYTES,
    };
    let options = serde_saphyr::options! {
        budget: budget,
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::FirstWins,
        strict_booleans: true,
        with_snippet: false,
    };
    serde_saphyr::with_deserializer_from_str_with_options(text, options, |reader| {
        Seed { left: &left, depth: 0 }.deserialize(reader)
    })
    .map_err(|error| {
        let line = error.location().map_or(1, |location| location.line() as usize);
        let text = error.to_string();
        let message = format!("not well-formed YAML: {}", text.lines().next().unwrap_or_default());
        Error::Line { file: file.to_owned(), line: line.max(1), message }
    })
}

/// Deserializes a value and counts it against the limits.
#[derive(Clone, Copy)]
struct Seed<'l> {
    left: &'l Cell<usize>,
    depth: usize,
}

impl Seed<'_> {
    fn inner<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.depth == MAX_DEPTH {
            return Err(E::custom(format!("values are nested deeper than {MAX_DEPTH} levels")));
        }
        Ok(Self { depth: self.depth + 1, ..self })
    }

    fn count<E: serde::de::Error>(self) -> Result<(), E> {
        match self.left.get().checked_sub(1) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => Err(E::custom(format!("more than {MAX_VALUES} values"))),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Data;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Data, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Data;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E: serde::de::Error>(self, yes: bool) -> Result<Data, E> {
        self.count()?;
        Ok(Data::Bool(yes))
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Data, E> {
        self.count()?;
        Ok(Data::Number(number.to_string()))
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Data, E> {
        self.count()?;
        Ok(Data::Number(number.to_string()))
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Data, E> {
        self.count()?;
        Ok(Data::Number(serde_json::Value::from(number).to_string()))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Data, E> {
        self.count()?;
        Ok(Data::Text(text.to_owned()))
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Data, E> {
        self.count()?;
        Ok(Data::Null)
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<Data, E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, reader: D) -> Result<Data, D::Error> {
        reader.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Data, A::Error> {
        self.count()?;
        let inner = self.inner()?;
        let mut list = Vec::new();
        while let Some(value) = values.next_element_seed(inner)? {
            list.push(value);
        }
        Ok(Data::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Data, A::Error> {
        self.count()?;
        let inner = self.inner()?;
        let mut map = Vec::new();
        while let Some(key) = entries.next_key_seed(inner)? {
            let key = match key {
                Data::List(_) | Data::Map(_) => return Err(A::Error::custom("a map key is not a string")),
                key => key.plain(),
            };
            if map.len() == MAX_KEYS {
                return Err(A::Error::custom(format!("more than {MAX_KEYS} keys in one map")));
            }
            map.push((key, entries.next_value_seed(inner)?));
        }
        Ok(Data::Map(map))
    }
}
