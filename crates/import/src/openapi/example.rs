//! Generates values that are valid against a schema, from its examples, defaults and enumerations where there are any.

use std::collections::HashSet;

use super::combination::Combination;
use super::pattern::candidates;
use super::references::References;
use super::validation::{Fault, Validator};
use crate::data::{self, Data};

/// Maximum depth of generated examples.
const MAX_DEPTH: usize = 8;
/// Maximum number of values in one generated example; a further choice of alternatives counts as a value.
const MAX_VALUES: usize = 2_000;
/// Maximum number of values in all generated examples.
const MAX_ALL_VALUES: usize = 200_000;
/// Maximum number of combinations of alternatives that are tried for a value.
const MAX_CHOICES: usize = 16;
/// Maximum number of elements of a list or properties of an object that a schema requires.
const MAX_ELEMENTS: usize = 100;
/// Maximum number of properties of an object that are considered.
const MAX_PROPERTIES: usize = 2_000;
/// Maximum number of properties of an invalid object of which each is left out for a trial.
const MAX_TRIALS: usize = 32;
/// Text of which texts without other rules consist.
const TEXT: &str = "text";

/// Generates examples of schemas.
pub(super) struct Examples<'d> {
    pub(super) references: References<'d>,
    validator: Validator,
    /// Number of values that may still be generated.
    values_left: usize,
    /// Schemas whose examples are being generated, to detect recursion.
    open: Vec<&'d Data>,
    /// Names of the optional properties that the last example lacks because no valid value was found with them.
    pub(super) left_out: Vec<String>,
}

/// Schemas of a property or element.
type Schemas<'d> = [&'d Data];

impl<'d> Examples<'d> {
    /// Examples of the schemas of `api`.
    pub(super) fn new(api: &'d Data) -> Self {
        Self {
            references: References::new(api),
            validator: Validator::default(),
            values_left: MAX_ALL_VALUES,
            open: Vec::new(),
            left_out: Vec::new(),
        }
    }

    /// Checks `value` against all of `schemas`.
    ///
    /// # Errors
    /// The first fault.
    pub(super) fn check(&self, value: &Data, schemas: &Schemas<'d>) -> Result<(), Fault> {
        self.validator.check(&self.references, value, schemas)
    }

    fn is_valid(&self, value: &Data, schemas: &Schemas<'d>) -> bool {
        self.check(value, schemas).is_ok()
    }

    /// A pattern that was not examined because it is not supported; then `None` until there is another one.
    pub(super) fn take_unsupported_pattern(&self) -> Option<String> {
        self.validator.unsupported_pattern.take()
    }

    /// A value for `schema`, which is valid if one is found; `Null` if the schema describes nothing.
    pub(super) fn of(&mut self, schema: &'d Data) -> Data {
        let all = self.values_left;
        let most = all.min(MAX_VALUES);
        self.values_left = most;
        self.left_out.clear();
        let value = self.example(&[schema], MAX_DEPTH);
        self.values_left += all - most;
        value.unwrap_or_else(|invalid| invalid.unwrap_or(Data::Null))
    }

    /// A valid value for all of `schemas`.
    ///
    /// # Errors
    /// No valid value is found. The error is an invalid one; `None` if the schemas describe nothing, or recursion or a limit ends
    /// the search.
    fn example(&mut self, schemas: &Schemas<'d>, depth: usize) -> Result<Data, Option<Data>> {
        let first = self.references.follow(schemas.first().ok_or(None)?);
        if depth == 0 || self.values_left == 0 || self.open.iter().any(|outer| std::ptr::eq(*outer, first)) {
            return Err(None);
        }
        self.open.push(first);
        let left_out = self.left_out.len();
        let (mut found, mut invalid) = (None, None);
        for choice in 0..MAX_CHOICES {
            let combination = Combination::new(&self.references, schemas, choice);
            if choice > 0 && (choice >= combination.choices || self.values_left == 0) {
                break;
            }
            self.values_left = self.values_left.saturating_sub(1);
            match self.choice(&combination, schemas, depth) {
                Ok(valid) => {
                    found = Some(valid);
                    break;
                }
                Err(value) => {
                    invalid = invalid.or(value);
                    self.left_out.truncate(left_out);
                }
            }
        }
        self.open.pop();
        found.ok_or(invalid)
    }

    /// A valid value for a choice of alternatives: one that the description gives, or else a generated one.
    ///
    /// # Errors
    /// No valid value is found. The error is an invalid one; `None` if there is no value at all.
    fn choice(
        &mut self,
        combination: &Combination<'d>,
        schemas: &Schemas<'d>,
        depth: usize,
    ) -> Result<Data, Option<Data>> {
        let parts = &combination.parts;
        let kind = kind(parts);
        let whole = schemas.iter().map(|schema| self.references.follow(schema));
        let given: Vec<Data> =
            whole.chain(parts.iter().copied()).flat_map(|schema| given_values(schema, kind)).collect();
        if let Some(valid) = given.iter().find(|value| self.is_valid(value, schemas)) {
            return Ok(valid.clone());
        }
        let generated = match kind {
            "object" => Some(self.object(combination, &given, depth)),
            "array" => Some(self.list(parts, depth)),
            "string" => Some(self.text(parts)),
            "integer" | "number" => Some(self.number(parts)),
            "boolean" => Some(Data::Bool(true)),
            _ => None,
        };
        match generated {
            Some(value) if self.is_valid(&value, schemas) => Ok(value),
            // A generated object contains the valid values of the description.
            Some(object) if kind == "object" => self.with_fewer_properties(object, parts, schemas).map_err(Some),
            // A value of the description is better than an invalid one that was generated.
            generated => Err(given.into_iter().next().or(generated)),
        }
    }

    /// An object with the properties that a request can have. `given` are the examples of the description.
    fn object(&mut self, combination: &Combination<'d>, given: &[Data], depth: usize) -> Data {
        let parts = &combination.parts;
        let required = required(parts);
        let described = parts.iter().flat_map(|part| part.get("properties").entries()).map(|(name, _)| name.as_str());
        let mut names: Vec<&'d str> = Vec::new();
        let selecting = combination.discriminators.iter().map(|(property, _)| *property);
        let mut seen = HashSet::new();
        for name in described.chain(required.iter().copied()).chain(selecting) {
            if names.len() < MAX_PROPERTIES && seen.insert(name) {
                names.push(name);
            }
        }
        let mut entries: Vec<(String, Data)> = Vec::new();
        for name in names {
            let schemas: Vec<&'d Data> = parts.iter().copied().filter_map(|part| property(part, name)).collect();
            let is_required = required.contains(&name);
            let is_sent = !schemas.iter().any(|schema| self.references.follow(schema).get("readOnly").yes());
            if !is_sent || !parts.iter().all(|part| allows(part, name)) || self.values_left == 0 && !is_required {
                continue;
            }
            let named = combination.discriminators.iter().find(|(property, _)| *property == name);
            let named = named.map(|(_, value)| text(value));
            let examples = given.iter().map(|example| example.get(name)).filter(|value| value.is()).cloned();
            let known = named.into_iter().chain(examples).find(|value| self.is_valid(value, &schemas));
            let value = match known.map_or_else(|| self.example(&schemas, depth - 1), Ok) {
                Ok(value) => value,
                Err(Some(invalid)) if is_required => invalid,
                Err(None) if is_required && self.is_valid(&text(TEXT), &schemas) => text(TEXT),
                Err(invalid) => {
                    self.left_out.extend(invalid.map(|_| name.to_owned()));
                    continue;
                }
            };
            if value.is() {
                entries.push((name.to_owned(), value));
            }
        }
        let most = bound(parts, "maxProperties", f64::min).map_or(usize::MAX, |most| most.max(0.0) as usize);
        while entries.len() > most
            && let Some(optional) = entries.iter().rposition(|(name, _)| !required.contains(&name.as_str()))
        {
            entries.remove(optional);
        }
        let least = bound(parts, "minProperties", f64::max).unwrap_or(0.0).min(MAX_ELEMENTS as f64) as usize;
        let others = parts.iter().map(|part| part.get("additionalProperties"));
        let others: Vec<&'d Data> = others.filter(|schema| !schema.entries().is_empty()).collect();
        for number in 1.. {
            let name = format!("property{number}");
            if entries.len() >= least || !parts.iter().all(|part| allows(part, &name)) {
                break;
            }
            if entries.iter().any(|(other, _)| *other == name) {
                continue;
            }
            entries.push((name, self.example_or_text(&others, depth)));
        }
        Data::Map(entries)
    }

    /// `object` without one of its optional properties, or without all of them.
    ///
    /// # Errors
    /// None of these is valid. The error is `object`.
    fn with_fewer_properties(
        &mut self,
        object: Data,
        parts: &Schemas<'d>,
        schemas: &Schemas<'d>,
    ) -> Result<Data, Data> {
        let required = required(parts);
        let optional = object.entries().iter().map(|(name, _)| name.clone());
        let optional: Vec<String> = optional.filter(|name| !required.contains(&name.as_str())).collect();
        let each = optional.iter().rev().take(MAX_TRIALS).map(|name| vec![name.clone()]);
        for left_out in each.chain([optional.clone()]) {
            let kept = object.entries().iter().filter(|(name, _)| !left_out.contains(name));
            let fewer = Data::Map(kept.cloned().collect());
            if self.is_valid(&fewer, schemas) {
                self.left_out.extend(left_out);
                return Ok(fewer);
            }
        }
        Err(object)
    }

    /// A value that is needed, even if it is not valid.
    fn example_or_text(&mut self, schemas: &Schemas<'d>, depth: usize) -> Data {
        self.example(schemas, depth - 1).unwrap_or_else(|invalid| invalid.unwrap_or_else(|| text(TEXT)))
    }

    fn list(&mut self, parts: &Schemas<'d>, depth: usize) -> Data {
        let least = bound(parts, "minItems", f64::max).unwrap_or(0.0);
        let most = bound(parts, "maxItems", f64::min).unwrap_or(f64::INFINITY);
        let wanted = least.max(1.0).min(most).clamp(0.0, MAX_ELEMENTS as f64) as usize;
        let items: Vec<&'d Data> = parts.iter().map(|part| part.get("items")).filter(|items| items.is()).collect();
        let first = parts.iter().flat_map(|part| part.get("prefixItems").list());
        let mut values: Vec<Data> = Vec::new();
        for schema in first {
            values.push(self.example_or_text(&[schema], depth));
        }
        let is_needed = (values.len() as f64) < least;
        if values.len() < wanted
            && let Some(value) = match self.example(&items, depth - 1) {
                Ok(value) => Some(value),
                Err(invalid) if is_needed => Some(invalid.unwrap_or_else(|| text(TEXT))),
                Err(_) => None,
            }
        {
            let is_unique = parts.iter().any(|part| part.get("uniqueItems").yes());
            let choices = items.iter().find_map(|items| self.references.follow(items).get("enum").list().split_first());
            for number in values.len()..wanted {
                let other = choices.and_then(|(_, others)| others.get(number.checked_sub(1)?)).filter(|_| is_unique);
                values.push(match other {
                    Some(other) => other.clone(),
                    None if is_unique => varied(&value, number),
                    None => value.clone(),
                });
            }
        }
        Data::List(values)
    }

    fn text(&self, parts: &Schemas<'d>) -> Data {
        let least = bound(parts, "minLength", f64::max).unwrap_or(0.0).clamp(0.0, 10_000.0) as usize;
        let most = bound(parts, "maxLength", f64::min).unwrap_or(f64::INFINITY);
        let formats = parts.iter().filter_map(|part| of_format(part.get("format").text()));
        let mut plain = TEXT.repeat(least.div_ceil(TEXT.len()).max(1));
        plain.truncate(most.max(0.0) as usize);
        let patterns = parts.iter().map(|part| part.get("pattern").text()).filter(|pattern| !pattern.is_empty());
        let numbers = [0, 1, (least as u32).saturating_sub(1), least as u32];
        let matching = patterns.flat_map(|pattern| numbers.into_iter().flat_map(move |more| candidates(pattern, more)));
        let mut all = formats.map(str::to_owned).chain([plain]).chain(matching).map(Data::Text);
        let first = all.next().unwrap_or(Data::Null);
        if self.is_valid(&first, parts) {
            return first;
        }
        all.find(|value| self.is_valid(value, parts)).unwrap_or(first)
    }

    fn number(&self, parts: &Schemas<'d>) -> Data {
        let both = |inclusive: &str, exclusive: &str, join: fn(f64, f64) -> f64| {
            [bound(parts, inclusive, join), bound(parts, exclusive, join)].into_iter().flatten().reduce(join)
        };
        let least = both("minimum", "exclusiveMinimum", f64::max);
        let most = both("maximum", "exclusiveMaximum", f64::min);
        let step = bound(parts, "multipleOf", f64::max).filter(|step| *step > 0.0);
        let mut numbers: Vec<f64> = match least {
            Some(least) => vec![least, least + 1.0, least.ceil()],
            None => vec![1.0],
        };
        numbers.extend(most.iter().flat_map(|most| [*most, most - 1.0]));
        numbers.extend(least.zip(most).map(|(least, most)| least.midpoint(most)));
        if let Some(step) = step {
            let first = (least.unwrap_or(step) / step).ceil() * step;
            numbers.extend([first, first + step]);
        }
        let mut all = numbers.iter().map(|number| Data::Number(number.to_string()));
        let valid = all.clone().find(|value| self.is_valid(value, parts));
        valid.or_else(|| all.next()).unwrap_or(Data::Null)
    }
}

fn text(text: &str) -> Data {
    Data::Text(text.to_owned())
}

/// The values that a schema gives: its examples, its default, its constant and its enumeration. Some descriptions give an object as
/// the text of its JSON.
fn given_values(schema: &Data, kind: &str) -> Vec<Data> {
    let own = [schema.get("example"), schema.get("default"), schema.get("const")];
    let lists = [schema.get("examples").list(), schema.get("enum").list()];
    let all = own.into_iter().chain(lists.into_iter().flatten()).filter(|value| value.is());
    let parsed = |value: &Data| match value {
        Data::Text(text) if kind != "string" => data::json(text, "").unwrap_or_else(|_| value.clone()),
        value => value.clone(),
    };
    all.map(parsed).collect()
}

/// The type of the values, derived from other keywords if the schemas name none; empty if they describe nothing.
fn kind(parts: &[&Data]) -> &'static str {
    const KINDS: [(&str, &[&str]); 6] = [
        ("object", &["properties", "required", "additionalProperties", "minProperties"]),
        ("array", &["items", "prefixItems", "minItems"]),
        ("string", &["pattern", "minLength", "maxLength", "format"]),
        ("integer", &[]),
        ("number", &["minimum", "maximum", "multipleOf", "exclusiveMinimum", "exclusiveMaximum"]),
        ("boolean", &[]),
    ];
    let has_kind = |part: &&&Data, kind: &str| match part.get("type") {
        Data::List(kinds) => kinds.iter().find(|kind| kind.text() != "null").is_some_and(|first| first.text() == kind),
        of_part => of_part.text() == kind,
    };
    let named = |kind: &str| parts.iter().any(|part| has_kind(&part, kind));
    let derived = |keys: &[&str]| parts.iter().any(|part| keys.iter().any(|key| part.get(key).is()));
    let found = KINDS.iter().find(|(kind, _)| named(kind)).or_else(|| KINDS.iter().find(|(_, keys)| derived(keys)));
    found.map_or("", |(kind, _)| kind)
}

/// The names of the required properties.
fn required<'d>(parts: &[&'d Data]) -> Vec<&'d str> {
    parts.iter().flat_map(|part| part.get("required").list()).map(Data::text).collect()
}

/// The schema of the property `name`.
fn property<'d>(part: &'d Data, name: &str) -> Option<&'d Data> {
    Some(part.get("properties").get(name)).filter(|schema| schema.is())
}

/// Whether an object can have the property `name`.
fn allows(part: &Data, name: &str) -> bool {
    part.get("additionalProperties") != &Data::Bool(false)
        || property(part, name).is_some()
        || !part.get("patternProperties").entries().is_empty()
}

/// The strictest of the limits `key`; `None` if there is none.
fn bound(parts: &[&Data], key: &str, strictest: fn(f64, f64) -> f64) -> Option<f64> {
    parts.iter().filter_map(|part| part.get(key).number()).reduce(strictest)
}

/// A value that differs from `value` for each `number`.
fn varied(value: &Data, number: usize) -> Data {
    match value {
        Data::Text(text) if number > 0 => Data::Text(format!("{text}{number}")),
        Data::Number(_) => Data::Number((value.number().unwrap_or(0.0) + number as f64).to_string()),
        other => other.clone(),
    }
}

/// A text of a format of JSON Schema or `OpenAPI`.
fn of_format(format: &str) -> Option<&'static str> {
    Some(match format {
        "date" => "2026-01-01",
        "date-time" => "2026-01-01T00:00:00Z",
        "time" => "00:00:00Z",
        "duration" => "P1D",
        "uuid" => "00000000-0000-4000-8000-000000000000",
        "email" => "user@example.com",
        "hostname" => "example.com",
        "uri" | "url" => "http://example.com/",
        "ipv4" => "192.0.2.1",
        "ipv6" => "2001:db8::1",
        "byte" => "dGV4dA==",
        _ => return None,
    })
}
