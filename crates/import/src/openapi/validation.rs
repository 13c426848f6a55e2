//! Whether a value is valid against a schema, and why not.
//!
//! Source: JSON Schema, draft 5 (for `OpenAPI` 3.0) and 2020-12 (for 3.1), "Validation". Formats and conditional keywords are not
//! examined, nor patterns that the crate `fancy-regex` does not support. Properties that are `readOnly` are not required in
//! requests.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;

use super::combination::{discriminator, mapped_name};
use super::pattern::Pattern;
use super::references::References;
use crate::data::Data;

/// Maximum number of comparisons of values with schemas and with each other; later ones count as valid.
const MAX_STEPS: usize = 2_000_000;
/// Number of comparisons of names that count as one step.
const NAMES_PER_STEP: usize = 32;
/// Maximum depth of schemas.
const MAX_DEPTH: usize = 100;
/// Maximum number of compiled patterns in memory.
const MAX_PATTERNS: usize = 64;

/// Why a value is not valid against a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// Names of properties and numbers of elements that lead to the part of the value, the innermost first.
    path: Vec<String>,
    reason: Reason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    /// The part breaks the rule of this keyword.
    Keyword(&'static str),
    /// The part is a required property, and there is none.
    Missing,
    /// The part is valid against more than one alternative of `oneOf`.
    SeveralAlternatives,
}

impl From<Reason> for Fault {
    fn from(reason: Reason) -> Self {
        Self { path: Vec::new(), reason }
    }
}

impl Fault {
    /// The fault of the value that has the faulty one as its property or element `name`.
    fn within(mut self, name: String) -> Self {
        self.path.push(name);
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        // A JSON pointer (RFC 6901).
        let steps = self.path.iter().rev().map(|name| format!("/{}", name.replace('~', "~0").replace('/', "~1")));
        match steps.collect::<String>().as_str() {
            "" => write!(f, "the body")?,
            pointer => write!(f, "`{pointer}`")?,
        }
        match self.reason {
            Reason::Keyword(keyword) => write!(f, " does not satisfy `{keyword}`"),
            Reason::Missing => write!(f, " is missing"),
            Reason::SeveralAlternatives => write!(f, " fits several alternatives of `oneOf`"),
        }
    }
}

/// Compares values with schemas.
pub(super) struct Validator {
    steps_left: Cell<usize>,
    /// Compiled patterns by their text; `None` for those that are not supported.
    patterns: RefCell<HashMap<String, Option<Pattern>>>,
    /// The last pattern that is not supported or whose comparison took too long; the text counted as valid.
    pub(super) unsupported_pattern: Cell<Option<String>>,
}

impl Default for Validator {
    fn default() -> Self {
        Self { steps_left: Cell::new(MAX_STEPS), patterns: RefCell::default(), unsupported_pattern: Cell::default() }
    }
}

impl Validator {
    /// Checks `value` against all of `schemas`.
    ///
    /// # Errors
    /// The first fault.
    pub(super) fn check<'d>(
        &self,
        references: &References<'d>,
        value: &Data,
        schemas: &[&'d Data],
    ) -> Result<(), Fault> {
        let at = At { references, validator: self, depth: 0 };
        schemas.iter().try_for_each(|schema| at.check(value, schema))
    }

    /// Uses up steps; `false` if fewer are left.
    fn spend(&self, steps: usize) -> bool {
        let Some(left) = self.steps_left.get().checked_sub(steps) else { return false };
        self.steps_left.set(left);
        true
    }

    /// Whether `text` matches `pattern`; `true` if the pattern is not supported or the comparison takes too long.
    fn matches(&self, pattern: &str, text: &str) -> bool {
        let mut patterns = self.patterns.borrow_mut();
        if !patterns.contains_key(pattern) {
            if patterns.len() == MAX_PATTERNS {
                patterns.clear();
            }
            patterns.insert(pattern.to_owned(), Pattern::new(pattern));
        }
        patterns[pattern].as_ref().and_then(|compiled| compiled.matches(text)).unwrap_or_else(|| {
            self.unsupported_pattern.set(Some(pattern.to_owned()));
            true
        })
    }
}

#[derive(Clone, Copy)]
struct At<'v, 'd> {
    references: &'v References<'d>,
    validator: &'v Validator,
    depth: usize,
}

impl<'d> At<'_, 'd> {
    fn check(self, value: &Data, schema: &'d Data) -> Result<(), Fault> {
        let schema = self.references.follow(schema);
        if !matches!(schema, Data::Map(_)) || !self.validator.spend(1) {
            return satisfies(*schema != Data::Bool(false), "false");
        }
        if self.depth == MAX_DEPTH || *value == Data::Null && schema.get("nullable").yes() {
            return Ok(());
        }
        let inner = Self { depth: self.depth + 1, ..self };
        let (choices, constant) = (schema.get("enum").list(), schema.get("const"));
        satisfies(has_type(value, schema), "type")?;
        satisfies(choices.is_empty() || choices.iter().any(|choice| is_equal(value, choice)), "enum")?;
        satisfies(!constant.is() || is_equal(value, constant), "const")?;
        match value {
            Data::Text(text) => self.check_text(text, schema)?,
            Data::Number(_) => value.number().map_or(Ok(()), |number| check_number(number, schema))?,
            Data::List(values) => inner.check_list(values, schema)?,
            Data::Map(entries) => inner.check_map(entries, schema)?,
            Data::Null | Data::Bool(_) => {}
        }
        inner.check_combination(value, schema)
    }

    fn check_combination(self, value: &Data, schema: &'d Data) -> Result<(), Fault> {
        let fits = |schema: &&'d Data| self.check(value, schema).is_ok();
        let (any, one, not) = (schema.get("anyOf").list(), schema.get("oneOf").list(), schema.get("not"));
        let property = discriminator(schema);
        let named = |alternative: &&'d Data| {
            let reference = alternative.get("$ref").text();
            !reference.is_empty() && value.get(property).text() == mapped_name(schema, reference)
        };
        for part in schema.get("allOf").list() {
            self.check(value, part)?;
        }
        satisfies(!schema.get("anyOf").is() || any.iter().any(|alternative| fits(&alternative)), "anyOf")?;
        match one.iter().find(named).filter(|_| !property.is_empty()) {
            Some(alternative) => self.check(value, alternative)?,
            None => match one.iter().filter(fits).take(2).count() {
                0 => satisfies(!schema.get("oneOf").is(), "oneOf")?,
                1 => {}
                _ => return Err(Reason::SeveralAlternatives.into()),
            },
        }
        satisfies(!not.is() || self.check(value, not).is_err(), "not")
    }

    fn check_text(self, text: &str, schema: &Data) -> Result<(), Fault> {
        let pattern = schema.get("pattern").text();
        check_count(text.chars().count(), schema, ["minLength", "maxLength"])?;
        satisfies(pattern.is_empty() || self.validator.matches(pattern, text), "pattern")
    }

    fn check_list(self, values: &[Data], schema: &'d Data) -> Result<(), Fault> {
        let first = schema.get("prefixItems").list();
        let others = std::iter::repeat(schema.get("items"));
        check_count(values.len(), schema, ["minItems", "maxItems"])?;
        for (at, (value, schema)) in values.iter().zip(first.iter().chain(others)).enumerate() {
            self.check(value, schema).map_err(|fault| fault.within(at.to_string()))?;
        }
        let is_unique = !schema.get("uniqueItems").yes()
            || !self.validator.spend(values.len() * values.len() / 2)
            || (1..values.len()).all(|at| !values[..at].contains(&values[at]));
        satisfies(is_unique, "uniqueItems")
    }

    fn check_map(self, entries: &[(String, Data)], schema: &'d Data) -> Result<(), Fault> {
        let (properties, others) = (schema.get("properties"), schema.get("additionalProperties"));
        let has_patterns = !schema.get("patternProperties").entries().is_empty();
        let required = schema.get("required").list();
        check_count(entries.len(), schema, ["minProperties", "maxProperties"])?;
        // Each required name is searched in both, and each name of the value in the properties.
        let [named, described] = [entries.len(), properties.entries().len()];
        let names = required.len() * (named + described) + named * described;
        if !self.validator.spend(names / NAMES_PER_STEP) {
            return Ok(());
        }
        for name in required.iter().map(Data::text) {
            let has = entries.iter().any(|(other, _)| other == name);
            if !has && !self.references.follow(properties.get(name)).get("readOnly").yes() {
                return Err(Fault::from(Reason::Missing).within(name.to_owned()));
            }
        }
        for (name, value) in entries {
            match properties.get(name) {
                Data::Null if has_patterns => Ok(()),
                Data::Null if *others == Data::Bool(false) => Err(Reason::Keyword("additionalProperties").into()),
                Data::Null => self.check(value, others),
                property => self.check(value, property),
            }
            .map_err(|fault: Fault| fault.within(name.clone()))?;
        }
        Ok(())
    }
}

fn satisfies(satisfied: bool, keyword: &'static str) -> Result<(), Fault> {
    if satisfied { Ok(()) } else { Err(Reason::Keyword(keyword).into()) }
}

fn has_type(value: &Data, schema: &Data) -> bool {
    let is = |kind: &str| match value {
        Data::Null => kind == "null",
        Data::Bool(_) => kind == "boolean",
        Data::Number(_) => kind == "number" || kind == "integer" && value.number().is_some_and(|n| n.fract() == 0.0),
        Data::Text(_) => kind == "string",
        Data::List(_) => kind == "array",
        Data::Map(_) => kind == "object",
    };
    match schema.get("type") {
        Data::Text(kind) => is(kind),
        Data::List(kinds) => kinds.iter().any(|kind| is(kind.text())),
        _ => true,
    }
}

/// Whether two values are equal; numbers by value.
fn is_equal(value: &Data, other: &Data) -> bool {
    value == other || value.number().is_some_and(|number| other.number() == Some(number))
}

/// Checks a number of characters, elements or properties against the two limits.
fn check_count(count: usize, schema: &Data, [least, most]: [&'static str; 2]) -> Result<(), Fault> {
    satisfies(schema.get(least).number().is_none_or(|least| count as f64 >= least), least)?;
    satisfies(schema.get(most).number().is_none_or(|most| count as f64 <= most), most)
}

fn check_number(number: f64, schema: &Data) -> Result<(), Fault> {
    let (least, most) = (schema.get("minimum").number(), schema.get("maximum").number());
    let (over, under) = (schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum"));
    let is_multiple = |step: f64| step <= 0.0 || ((number / step).round() * step - number).abs() <= 1e-9 * number.abs();
    // In OpenAPI 3.0 the exclusive bounds are flags.
    satisfies(least.is_none_or(|least| if over.yes() { number > least } else { number >= least }), "minimum")?;
    satisfies(most.is_none_or(|most| if under.yes() { number < most } else { number <= most }), "maximum")?;
    satisfies(over.number().is_none_or(|least| number > least), "exclusiveMinimum")?;
    satisfies(under.number().is_none_or(|most| number < most), "exclusiveMaximum")?;
    satisfies(schema.get("multipleOf").number().is_none_or(is_multiple), "multipleOf")
}
