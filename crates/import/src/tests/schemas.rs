//! Bodies that are generated from schemas of OpenAPI descriptions.

use super::semantics::has;
use super::*;

/// The plan of a description with one operation, whose body has `schema`, and `schemas` as components, both in JSON.
fn described(schema: &str, schemas: &str) -> Plan {
    let text = format!(
        "{{\"openapi\": \"3.1.0\", \"servers\": [{{\"url\": \"http://h\"}}], \"paths\": {{\"/a\": {{\"post\": {{\"requestBody\": \
         {{\"content\": {{\"application/json\": {{\"schema\": {schema}}}}}}}}}}}}}, \"components\": {{\"schemas\": {{{schemas}}}}}}}"
    );
    read(&text, "f", None).unwrap().remove(0)
}

/// The body of the operation.
fn made(schema: &str, schemas: &str) -> String {
    match &described(schema, schemas).requests[0].body {
        Body::Text(text) => text.to_string(),
        other => panic!("{other:?}"),
    }
}

const PETS: &str = r##""Pet": {"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string"}},
    "discriminator": {"propertyName": "kind", "mapping": {"cat": "#/components/schemas/Cat", "dog": "Dog"}}},
    "Cat": {"allOf": [{"$ref": "#/components/schemas/Pet"}, {"type": "object", "required": ["lives"], "properties": {"lives": {"type": "integer", "maximum": 0}}}]},
    "Dog": {"allOf": [{"$ref": "#/components/schemas/Pet"}], "properties": {"tricks": {"type": "array", "items": {"type": "string"}}}},
    "Any": {"oneOf": [{"$ref": "#/components/schemas/Dog"}, {"$ref": "#/components/schemas/Cat"}],
            "discriminator": {"propertyName": "kind", "mapping": {"dog": "#/components/schemas/Dog"}}}"##;

#[test]
fn discriminators_name_the_chosen_alternative() {
    let of = |name: &str| made(&format!("{{\"$ref\": \"#/components/schemas/{name}\"}}"), PETS);
    assert_eq!(of("Any"), "{\"kind\": \"dog\", \"tricks\": [\"text\"]}");
    assert_eq!(of("Cat"), "{\"kind\": \"cat\", \"lives\": 0}");
    assert_eq!(of("Pet"), "{\"kind\": \"cat\", \"lives\": 0}", "a base stands for its first mapped schema");
}

#[test]
fn values_are_valid_against_their_schema() {
    let object = |properties: &str| format!("{{\"type\": \"object\", \"properties\": {{{properties}}}}}");
    for (schema, body) in [
        // The first alternative that is valid; `null` is none.
        (r#"{"anyOf": [{"type": "null"}, {"type": "integer", "minimum": 3}]}"#, "3"),
        (r#"{"oneOf": [{"type": "number"}, {"type": "integer"}, {"type": "boolean"}]}"#, "true"),
        (
            r#"{"properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "additionalProperties": false, "oneOf": [{"required": ["c"]}, {"required": ["b"]}]}"#,
            r#"{"a": "text", "b": "text"}"#,
        ),
        // Several schemas of one property, and a base that allows no other properties.
        (
            r#"{"allOf": [{"properties": {"a": {"type": "integer"}}}, {"properties": {"a": {"minimum": 5}, "b": {"type": "boolean"}}}]}"#,
            r#"{"a": 5, "b": true}"#,
        ),
        (
            r#"{"allOf": [{"properties": {"a": {"type": "integer"}}, "additionalProperties": false}, {"properties": {"b": {"type": "boolean"}}}]}"#,
            r#"{"a": 1}"#,
        ),
        // Limits.
        (
            &object(r#""a": {"type": "string", "maxLength": 3}, "b": {"type": "string", "minLength": 5}"#),
            r#"{"a": "tex", "b": "texttext"}"#,
        ),
        (
            &object(
                r#""a": {"type": "string", "pattern": "^[A-Z]{3}-\\d+$"}, "b": {"pattern": "^x*$", "minLength": 2}"#,
            ),
            r#"{"a": "AAA-1", "b": "xx"}"#,
        ),
        (
            &object(
                r#""a": {"type": "integer", "multipleOf": 4, "minimum": 5}, "b": {"type": "number", "minimum": 0, "exclusiveMinimum": true, "maximum": 0.5}"#,
            ),
            r#"{"a": 8, "b": 0.5}"#,
        ),
        (
            r#"{"type": "array", "minItems": 3, "uniqueItems": true, "items": {"enum": ["a", "b", "c"]}}"#,
            r#"["a", "b", "c"]"#,
        ),
        (
            r#"{"type": "array", "minItems": 2, "uniqueItems": true, "items": {"type": "string"}}"#,
            r#"["text", "text1"]"#,
        ),
        (
            r#"{"type": "object", "minProperties": 2, "additionalProperties": {"type": "integer"}}"#,
            r#"{"property1": 1, "property2": 1}"#,
        ),
        (
            r#"{"type": "object", "required": ["id", "x"], "properties": {"id": {"type": "integer", "readOnly": true}}}"#,
            r#"{"x": "text"}"#,
        ),
        (
            r#"{"type": "object", "maxProperties": 1, "required": ["b"], "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}"#,
            r#"{"b": 1}"#,
        ),
        (r#"{"type": "string", "pattern": "^[0-9a-f]+$", "minLength": 3, "maxLength": 3}"#, "\"aaa\""),
        (r#"{"type": "string", "pattern": "^(?=.*[a-z])(?=.*[0-9]).{8,}$", "maxLength": 9}"#, "\"a1aaaaaa\""),
        // Examples count where they are valid.
        (
            r#"{"type": "object", "required": ["a", "b"], "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "example": {"a": "Ann"}}"#,
            r#"{"a": "Ann", "b": 1}"#,
        ),
        (r#"{"type": "string", "enum": ["open", "done"], "example": "Choose..."}"#, "\"open\""),
        (r#"{"type": "object", "properties": {"a": {"type": "integer"}}, "example": "{\"a\": 9}"}"#, r#"{"a": 9}"#),
        ("{}", "{}"),
    ] {
        assert_eq!(made(schema, ""), body, "{schema}");
        assert!(!has(&described(schema, ""), "no valid body"), "{schema}");
    }
}

#[test]
fn recursive_schemas_end() {
    let node = r##""Node": {"type": "object", "required": ["children"], "properties": {"name": {"type": "string"},
        "children": {"type": "array", "items": {"$ref": "#/components/schemas/Node"}}, "next": {"$ref": "#/components/schemas/Node"}}}"##;
    assert_eq!(made(r##"{"$ref": "#/components/schemas/Node"}"##, node), "{\"name\": \"text\", \"children\": []}");
    let lists = r##""List": {"type": "array", "items": {"$ref": "#/components/schemas/List"}}"##;
    assert_eq!(made(r##"{"$ref": "#/components/schemas/List"}"##, lists), "[]");
    let endless = r##""A": {"allOf": [{"$ref": "#/components/schemas/B"}]}, "B": {"anyOf": [{"$ref": "#/components/schemas/A"}]}"##;
    assert_eq!(made(r##"{"$ref": "#/components/schemas/A"}"##, endless), "{}");
}

#[test]
fn what_cannot_be_valid_or_is_not_examined_is_noted() {
    let impossible = r#"{"type": "string", "enum": ["client_credentials"], "pattern": "^.{3}$"}"#;
    assert!(has(&described(impossible, ""), "no valid value: the body does not satisfy `pattern`; edit the body"));
    assert_eq!(made(impossible, ""), "\"client_credentials\"", "the description's own value is better than none");
    let replaced = described(r#"{"type": "integer", "example": "seven"}"#, "");
    assert!(has(&replaced, "the example of the body does not fit its schema; a valid body was generated"));
    let unsupported = described(r#"{"type": "string", "pattern": "^\\p{Nonsense}+$"}"#, "");
    assert!(has(&unsupported, "a value may not match the pattern `^\\p{Nonsense}+$`"), "{:?}", unsupported.notes());
    for (schema, fault) in [
        (
            r#"{"type": "object", "required": ["a/b"], "properties": {"a/b": {"type": "array", "minItems": 1, "items": {"type": "string", "enum": [7]}}}}"#,
            "`/a~1b/0` does not satisfy `type`",
        ),
        (
            r#"{"oneOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"b": {"type": "string"}}}]}"#,
            "the body fits several alternatives of `oneOf`",
        ),
        (
            r#"{"type": "object", "required": ["x"], "properties": {"a": {"type": "integer"}}, "additionalProperties": false}"#,
            "`/x` is missing",
        ),
        (r#"{"type": "integer", "minimum": 3, "maximum": 2}"#, "the body does not satisfy `maximum`"),
        (r#"{"oneOf": []}"#, "the body does not satisfy `oneOf`"),
    ] {
        let plan = described(schema, "");
        assert!(has(&plan, fault), "{schema}: {:?}", plan.notes());
    }
}

#[test]
fn optional_properties_without_a_valid_value_are_left_out() {
    let either = r#"{"type": "object", "properties": {"a": {"type": "string"}, "id": {"type": "integer"}, "slug": {"type": "string"}}, "oneOf": [{"required": ["id"]}, {"required": ["slug"]}]}"#;
    assert_eq!(made(either, ""), r#"{"a": "text", "id": 1}"#);
    assert!(has(&described(either, ""), "which are left out: `slug`"));
    let kinds = r#"{"allOf": [{"type": "string"}, {"type": "integer"}]}"#;
    let schema = format!(
        r#"{{"type": "object", "required": ["id", "list"], "properties": {{"id": {{"type": "integer"}}, "both": {kinds}, "inner": {{"properties": {{
           "b": {{"type": "boolean"}}, "deep": {{"type": "object", "required": ["x"], "properties": {{"x": {kinds}}}}}}}}}, "list": {{"type": "array", "items": {kinds}}}}}}}"#
    );
    assert_eq!(made(&schema, ""), r#"{"id": 1, "inner": {"b": true}, "list": []}"#);
    let plan = described(&schema, "");
    assert!(has(&plan, "these optional properties, which are left out: `both`, `deep`"), "{:?}", plan.notes());
}
