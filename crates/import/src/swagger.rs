//! Rewrites Swagger 2.0 descriptions in the form of `OpenAPI` 3. Sources: the `OpenAPI` Specification, versions 2.0 and 3.0.

use crate::data::Data;

const METHODS: [&str; 7] = ["get", "put", "post", "delete", "options", "head", "patch"];

/// The description in the form of `OpenAPI` 3. References into `definitions` stay valid, because its keys stay.
pub(crate) fn to_openapi(api: &Data) -> Data {
    let mut converted: Vec<(String, Data)> = Vec::new();
    for (key, value) in api.entries() {
        let value = match key.as_str() {
            "swagger" | "host" | "basePath" | "schemes" | "servers" | "components" => continue,
            "paths" => {
                let items = value.entries().iter().map(|(path, item)| (path.clone(), path_item(api, item)));
                Data::Map(items.collect())
            }
            _ => value.clone(),
        };
        converted.push((key.clone(), value));
    }
    let logins = api.get("securityDefinitions").entries().iter().map(|(name, login)| (name.clone(), scheme(login)));
    converted.push(("servers".to_owned(), Data::List(vec![map([("url", text(server(api)))])])));
    converted.push(("components".to_owned(), map([("securitySchemes", Data::Map(logins.collect()))])));
    Data::Map(converted)
}

fn text(text: impl Into<String>) -> Data {
    Data::Text(text.into())
}

fn map<const N: usize>(entries: [(&str, Data); N]) -> Data {
    Data::Map(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// The URL of the server; without a host only its path.
fn server(api: &Data) -> String {
    let (host, path) = (api.get("host").text(), api.get("basePath").text());
    let schemes = api.get("schemes").list();
    let secure = schemes.first().is_some_and(|first| ["https", "wss"].contains(&first.text()));
    match host {
        "" => path.to_owned(),
        host if secure => format!("https://{host}{path}"),
        host => format!("http://{host}{path}"),
    }
}

fn scheme(login: &Data) -> Data {
    match login.get("type").text() {
        "basic" => map([("type", text("http")), ("scheme", text("basic"))]),
        _ => login.clone(),
    }
}

fn path_item(api: &Data, item: &Data) -> Data {
    let shared = item.get("parameters").list();
    let operations = item.entries().iter().map(|(key, value)| {
        let value = if METHODS.contains(&key.as_str()) { operation(api, shared, value) } else { value.clone() };
        (key.clone(), value)
    });
    Data::Map(operations.filter(|(key, _)| key != "parameters").collect())
}

/// An operation with the parameters of its path; those of the body become `requestBody`.
fn operation(api: &Data, shared: &[Data], operation: &Data) -> Data {
    let resolve = |parameter: &Data| match parameter.get("$ref").text().strip_prefix("#/parameters/") {
        Some(name) => api.at(&["parameters", name]).clone(),
        None => parameter.clone(),
    };
    let mut all: Vec<Data> = Vec::new();
    for parameter in operation.get("parameters").list().iter().chain(shared).map(resolve) {
        let is_same = |other: &Data| ["name", "in"].iter().all(|key| other.get(key) == parameter.get(key));
        if !all.iter().any(is_same) {
            all.push(parameter);
        }
    }
    let (body, parameters): (Vec<&Data>, Vec<&Data>) =
        all.iter().partition(|parameter| ["body", "formData"].contains(&parameter.get("in").text()));
    let kept = operation.entries().iter().filter(|(key, _)| key != "parameters");
    let mut converted: Vec<(String, Data)> = kept.cloned().collect();
    converted.push(("parameters".to_owned(), Data::List(parameters.into_iter().map(new_parameter).collect())));
    let consumes = [operation.get("consumes"), api.get("consumes")].into_iter().find(|list| !list.list().is_empty());
    let consumes: Vec<&str> = consumes.map_or(&[][..], Data::list).iter().map(Data::text).collect();
    if let Some(content) = request_body(&body, &consumes) {
        converted.push(("requestBody".to_owned(), map([("content", content)])));
    }
    Data::Map(converted)
}

/// A parameter with a schema of its own.
fn new_parameter(parameter: &Data) -> Data {
    let mut converted: Vec<(String, Data)> = Vec::new();
    for key in ["name", "in", "required"].into_iter().filter(|key| parameter.get(key).is()) {
        converted.push((key.to_owned(), parameter.get(key).clone()));
    }
    let explodes = parameter.get("collectionFormat").text() == "multi";
    converted.push(("explode".to_owned(), Data::Bool(explodes)));
    let example = [parameter.get("x-example"), parameter.get("example")].into_iter().find(|example| example.is());
    converted.extend(example.map(|example| ("example".to_owned(), example.clone())));
    converted.push(("schema".to_owned(), schema(parameter)));
    Data::Map(converted)
}

/// The properties of the values of a parameter that is not a body.
fn schema(parameter: &Data) -> Data {
    if parameter.get("type").text() == "file" {
        return map([("type", text("string")), ("format", text("binary"))]);
    }
    let other = ["name", "in", "required", "description", "collectionFormat", "allowEmptyValue"];
    Data::Map(parameter.entries().iter().filter(|(key, _)| !other.contains(&key.as_str())).cloned().collect())
}

/// The content of a body: a schema for its media type.
fn request_body(parameters: &[&Data], consumes: &[&str]) -> Option<Data> {
    let first = parameters.first()?;
    if first.get("in").text() == "body" {
        let media_type = consumes.iter().find(|kind| kind.contains("json")).or(consumes.first());
        let mut media = vec![("schema".to_owned(), first.get("schema").clone())];
        let example = Some(first.get("x-example")).filter(|example| example.is());
        media.extend(example.map(|example| ("example".to_owned(), example.clone())));
        return Some(map([(media_type.copied().unwrap_or("application/json"), Data::Map(media))]));
    }
    let has_file = parameters.iter().any(|parameter| parameter.get("type").text() == "file");
    let form = "application/x-www-form-urlencoded";
    let is_multipart = has_file || consumes.contains(&"multipart/form-data") && !consumes.contains(&form);
    let fields = parameters.iter().map(|field| (field.get("name").text().to_owned(), schema(field)));
    let required = parameters.iter().filter(|field| field.get("required").yes()).map(|field| field.get("name").clone());
    let whole = map([
        ("type", text("object")),
        ("properties", Data::Map(fields.collect())),
        ("required", Data::List(required.collect())),
    ]);
    Some(map([(if is_multipart { "multipart/form-data" } else { form }, map([("schema", whole)]))]))
}
