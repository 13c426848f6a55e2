//! JSON and YAML as a tree that keeps the order of the file and is bounded: in the number of its values, aliases that stand for
//! others counted each time, and in its depth.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use crate::Error;

/// Values at most; a recording of ten thousand requests has fewer.
const MAX_VALUES: usize = 2_000_000;
/// Keys of one map at most: they are searched one by one.
const MAX_KEYS: usize = 20_000;
/// Values within one another at most; `serde_json` draws the line there, too.
const MAX_DEPTH: usize = 120;
/// Bytes that YAML is read of at most: it costs some twenty times as much as JSON, and nobody records in it.
const MAX_YAML_BYTES: usize = 16 << 20;

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Data {
    Null,
    Bool(bool),
    /// As it is written.
    Number(String),
    Text(String),
    List(Vec<Data>),
    Map(Vec<(String, Data)>),
}

/// What a place without a value is.
pub(crate) static NOTHING: Data = Data::Null;

impl Data {
    /// The value of `key`; [`NOTHING`] where there is none.
    pub(crate) fn get(&self, key: &str) -> &Self {
        match self {
            Self::Map(entries) => entries.iter().find(|(name, _)| name == key).map_or(&NOTHING, |(_, value)| value),
            _ => &NOTHING,
        }
    }

    /// The value at the end of these keys.
    pub(crate) fn at(&self, keys: &[&str]) -> &Self {
        keys.iter().fold(self, |data, key| data.get(key))
    }

    /// The values of a list.
    pub(crate) fn list(&self) -> &[Self] {
        if let Self::List(values) = self { values } else { &[] }
    }

    /// The entries of a map.
    pub(crate) fn entries(&self) -> &[(String, Self)] {
        if let Self::Map(entries) = self { entries } else { &[] }
    }

    /// A text, or nothing.
    pub(crate) fn text(&self) -> &str {
        if let Self::Text(text) = self { text } else { "" }
    }

    /// Whether it is there and no null.
    pub(crate) fn is(&self) -> bool {
        *self != Self::Null
    }

    /// Whether it is `true`.
    pub(crate) fn yes(&self) -> bool {
        *self == Self::Bool(true)
    }

    /// A number.
    pub(crate) fn number(&self) -> Option<f64> {
        if let Self::Number(number) = self { number.parse().ok().filter(|n: &f64| n.is_finite()) } else { None }
    }

    /// A scalar as a path, a form or a header sends it; lists and maps as JSON.
    pub(crate) fn plain(&self) -> String {
        match self {
            Self::Null => String::new(),
            Self::Text(text) => text.clone(),
            other => other.json(),
        }
    }

    /// As JSON.
    pub(crate) fn json(&self) -> String {
        let mut json = String::new();
        self.write(&mut json);
        json
    }

    fn write(&self, json: &mut String) {
        let separated = |json: &mut String, at: usize| {
            if at > 0 {
                json.push_str(", ");
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
                    value.write(json);
                }
                json.push(']');
            }
            Self::Map(entries) => {
                json.push('{');
                for (at, (name, value)) in entries.iter().enumerate() {
                    separated(json, at);
                    json.push_str(&quoted(name));
                    json.push_str(": ");
                    value.write(json);
                }
                json.push('}');
            }
        }
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The JSON of `text`, the content of `file`.
pub(crate) fn json(text: &str, file: &str) -> Result<Data, Error> {
    let wrong = |error: serde_json::Error| {
        let what = if error.is_eof() {
            "the file ends within its JSON; it is cut off".to_owned()
        } else {
            let said = error.to_string();
            let said = said.split(" at line ").next().unwrap_or_default();
            format!("not well-formed JSON: {said}")
        };
        Error::Line { file: file.to_owned(), line: error.line().max(1), message: what }
    };
    let left = Cell::new(MAX_VALUES);
    let mut reader = serde_json::Deserializer::from_str(text);
    let data = Seed { left: &left, depth: 0 }.deserialize(&mut reader).map_err(wrong)?;
    reader.end().map_err(wrong)?;
    Ok(data)
}

/// The YAML of `text`, the content of `file`.
pub(crate) fn yaml(text: &str, file: &str) -> Result<Data, Error> {
    if text.len() > MAX_YAML_BYTES {
        let what = format!("YAML of more than {} MiB; no description is, or write it as JSON", MAX_YAML_BYTES >> 20);
        return Err(Error::File { file: file.to_owned(), message: what });
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
        let said = error.to_string();
        let what = format!("not well-formed YAML: {}", said.lines().next().unwrap_or_default());
        Error::Line { file: file.to_owned(), line: line.max(1), message: what }
    })
}

/// Reads one value, and counts it.
#[derive(Clone, Copy)]
struct Seed<'l> {
    left: &'l Cell<usize>,
    depth: usize,
}

impl Seed<'_> {
    fn inner<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.depth == MAX_DEPTH {
            return Err(E::custom(format!("more than {MAX_DEPTH} values within one another; no plan has")));
        }
        Ok(Self { depth: self.depth + 1, ..self })
    }

    fn count<E: serde::de::Error>(self) -> Result<(), E> {
        match self.left.get().checked_sub(1) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => Err(E::custom(format!("more than {MAX_VALUES} values; no plan has"))),
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
                Data::List(_) | Data::Map(_) => return Err(A::Error::custom("a key that is no text")),
                key => key.plain(),
            };
            if map.len() == MAX_KEYS {
                return Err(A::Error::custom(format!("more than {MAX_KEYS} keys in one map; no plan has")));
            }
            map.push((key, entries.next_value_seed(inner)?));
        }
        Ok(Data::Map(map))
    }
}
