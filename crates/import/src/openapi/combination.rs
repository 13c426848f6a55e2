//! The schemas that apply to one value: those of `allOf`, and one alternative of each `oneOf` and `anyOf`.
//!
//! Source: the `OpenAPI` Specification 3.1, "Composition and Inheritance (Polymorphism)" and "Discriminator Object".

use super::references::{References, schema_name};
use crate::data::Data;

/// Maximum number of schemas that apply to one value.
const MAX_PARTS: usize = 100;

/// Schemas that all apply to one value.
pub(super) struct Combination<'d> {
    /// The schemas, references resolved; those of `allOf` before the one that lists them.
    pub(super) parts: Vec<&'d Data>,
    /// Properties that name the chosen alternative, with its name.
    pub(super) discriminators: Vec<(&'d str, &'d str)>,
    /// Number of ways to choose the alternatives.
    pub(super) choices: usize,
}

/// A schema by its name.
#[derive(Clone, Copy)]
struct Named<'d> {
    reference: &'d str,
    schema: &'d Data,
}

impl<'d> Combination<'d> {
    /// The combination of `schemas` with the alternatives of `choice`, a number below [`choices`](Self::choices). Choice 0 takes
    /// the first alternatives.
    pub(super) fn new(references: &References<'d>, schemas: &[&'d Data], choice: usize) -> Self {
        let mut combination = Self { parts: Vec::new(), discriminators: Vec::new(), choices: 1 };
        for schema in schemas {
            combination.add(references, schema, None, choice);
        }
        combination
    }

    /// Adds a schema and those it consists of. `outer` is the named schema that includes it, if there is one.
    fn add(&mut self, references: &References<'d>, schema: &'d Data, outer: Option<Named<'d>>, choice: usize) {
        let reference = schema.get("$ref").text();
        let schema = references.follow(schema);
        if self.parts.len() == MAX_PARTS || self.parts.iter().any(|part| std::ptr::eq(*part, schema)) {
            return;
        }
        let own = (!reference.is_empty()).then_some(Named { reference, schema });
        let outer = outer.or(own);
        let at = self.parts.len();
        self.parts.push(schema);
        for part in schema.get("allOf").list() {
            self.add(references, part, outer, choice);
        }
        // The properties of a base come first.
        self.parts[at..].rotate_left(1);
        let mut property = discriminator(schema);
        for key in ["oneOf", "anyOf"] {
            let Some(alternative) = self.alternative(references, schema.get(key).list(), choice) else { continue };
            let reference = alternative.get("$ref").text();
            if !reference.is_empty() && !property.is_empty() {
                self.discriminators.push((property, mapped_name(schema, reference)));
            }
            property = "";
            self.add(references, alternative, None, choice);
        }
        let (false, Some(outer)) = (property.is_empty(), outer) else { return };
        // The base of other schemas: the property has the name of the schema that includes the base.
        match schema.at(&["discriminator", "mapping"]).entries().first() {
            Some((name, target)) if std::ptr::eq(outer.schema, schema) => {
                self.discriminators.push((property, name.as_str()));
                self.add(references, references.mapped(target.text()), Some(outer), choice);
            }
            _ => self.discriminators.push((property, mapped_name(schema, outer.reference))),
        }
    }

    /// The alternative of `choice`; `null` is none if there are others.
    fn alternative(&mut self, references: &References<'d>, all: &'d [Data], choice: usize) -> Option<&'d Data> {
        let is_null = |schema: &&'d Data| references.follow(schema).get("type").text() == "null";
        let mut values: Vec<&'d Data> = all.iter().filter(|schema| !is_null(schema)).collect();
        values.extend(all.first().filter(|_| values.is_empty()));
        let number = values.len();
        let chosen = *values.get(choice / self.choices % number.max(1))?;
        self.choices = self.choices.saturating_mul(number);
        Some(chosen)
    }
}

/// The property that names the alternative; empty if there is none. In Swagger 2.0 it is a text.
pub(super) fn discriminator(schema: &Data) -> &str {
    match schema.get("discriminator") {
        Data::Text(property) => property,
        discriminator => discriminator.get("propertyName").text(),
    }
}

/// The name by which the discriminator of `schema` calls the schema of `reference`.
pub(super) fn mapped_name<'d>(schema: &'d Data, reference: &'d str) -> &'d str {
    let name = schema_name(reference);
    let is_same = |(_, target): &&(String, Data)| [reference, name].contains(&target.text());
    schema.at(&["discriminator", "mapping"]).entries().iter().find(is_same).map_or(name, |(name, _)| name)
}
