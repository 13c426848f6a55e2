//! Bodies of requests (`postman-runtime`, `lib/requester/core-body-builder.js`).

use offered_workload::script::{Body, Part};

use super::Reader;
use super::url::enabled;
use crate::body;
use crate::data::Data;
use crate::text::Text;

/// Media types of uploads by the end of the file name (the package `mime-types`).
const MEDIA_TYPES: [(&str, &str); 28] = [
    (".json", "application/json"),
    (".pdf", "application/pdf"),
    (".png", "image/png"),
    (".jpg", "image/jpeg"),
    (".jpeg", "image/jpeg"),
    (".gif", "image/gif"),
    (".svg", "image/svg+xml"),
    (".webp", "image/webp"),
    (".ico", "image/vnd.microsoft.icon"),
    (".txt", "text/plain"),
    (".log", "text/plain"),
    (".csv", "text/csv"),
    (".md", "text/markdown"),
    (".yaml", "text/yaml"),
    (".yml", "text/yaml"),
    (".html", "text/html"),
    (".htm", "text/html"),
    (".css", "text/css"),
    (".xml", "application/xml"),
    (".js", "application/javascript"),
    (".zip", "application/zip"),
    (".gz", "application/gzip"),
    (".doc", "application/msword"),
    (".docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    (".xls", "application/vnd.ms-excel"),
    (".xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    (".mp3", "audio/mpeg"),
    (".mp4", "video/mp4"),
];

impl<'d> Reader<'d> {
    /// The body of a request; `None` if it has none. Adds the header Content-Type that goes with it.
    pub(super) fn body(&mut self, source: &'d Data, element: &str, headers: &mut Vec<(String, Text)>) -> Option<Body> {
        if source.get("disabled").yes() {
            return None;
        }
        match source.get("mode").text() {
            "" => None,
            "raw" => {
                let raw = match source.get("raw") {
                    Data::Text(raw) => raw.clone(),
                    Data::Null => String::new(),
                    other => other.compact_json(),
                };
                let media_type = match source.at(&["options", "raw", "language"]).text() {
                    "json" => "application/json",
                    "xml" => "application/xml",
                    "html" => "text/html",
                    "javascript" => "application/javascript",
                    _ => "text/plain",
                };
                let text = Some(self.resolve(&raw, element)).filter(|text| !text.is_empty())?;
                body::set_default_type(headers, media_type);
                Some(body::text(&text))
            }
            "urlencoded" => self.form(source.get("urlencoded"), element, headers),
            "formdata" => self.multipart(source.get("formdata"), element, headers),
            "file" => {
                let file =
                    [source.at(&["file", "src"]), source.get("file")].into_iter().find(|file| !file.text().is_empty());
                if file.is_none() {
                    self.note(element, "sends a file without a name; left out");
                }
                file.map(|file| body::file(file.text()))
            }
            "graphql" => {
                body::set_default_type(headers, "application/json");
                Some(body::text(&self.resolve(&graphql(source.get("graphql")), element)))
            }
            other => {
                self.note(element, format!("the body mode `{other}` is not supported; left out"));
                None
            }
        }
    }

    /// A form. All values of a repeated name are sent together, at the position of the first one.
    fn form(&mut self, fields: &'d Data, element: &str, headers: &mut Vec<(String, Text)>) -> Option<Body> {
        let mut pairs: Vec<(String, Text)> = Vec::new();
        for field in enabled(fields) {
            let name = self.resolve(&field.get("key").plain(), element).to_display();
            let value = self.resolve(&field.get("value").plain(), element);
            let after = pairs.iter().rposition(|(other, _)| *other == name).map_or(pairs.len(), |at| at + 1);
            pairs.insert(after, (name, value));
        }
        if pairs.is_empty() {
            return None;
        }
        headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
        Some(body::form(&pairs, headers))
    }

    fn multipart(&mut self, fields: &'d Data, element: &str, headers: &mut Vec<(String, Text)>) -> Option<Body> {
        let mut parts: Vec<Part> = Vec::new();
        for field in enabled(fields) {
            let name = self.resolve(&field.get("key").plain(), element).to_display();
            let media_type = Some(field.get("contentType").text()).filter(|kind| !kind.is_empty());
            if field.get("type").text() == "file" {
                let src = field.get("src");
                let files: Vec<&Data> = if let Data::List(files) = src { files.iter().collect() } else { vec![src] };
                for file in files.into_iter().filter(|file| file.is()) {
                    let file = file.plain();
                    let media_type = media_type.or_else(|| body::media_type_of(&file, &MEDIA_TYPES));
                    parts.push(body::upload(&name, &file, media_type));
                }
            } else {
                let value = self.resolve(&field.get("value").plain(), element);
                parts.push(body::field(&name, &value, media_type));
            }
        }
        if parts.is_empty() {
            return None;
        }
        headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
        Some(Body::Multipart(parts))
    }
}

/// The JSON text of a GraphQL request.
fn graphql(source: &Data) -> String {
    let mut members: Vec<String> = Vec::new();
    for key in ["query", "operationName"] {
        if let text @ Data::Text(_) = source.get(key) {
            members.push(format!("\"{key}\":{}", text.compact_json()));
        }
    }
    match source.get("variables") {
        Data::Null => {}
        Data::Text(variables) if variables.is_empty() => {}
        Data::Text(variables) => members.push(format!("\"variables\":{variables}")),
        variables => members.push(format!("\"variables\":{}", variables.compact_json())),
    }
    format!("{{{}}}", members.join(","))
}
