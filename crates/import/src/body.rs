//! Request bodies in the form that workloads use.

use offered_workload::script::{Body, Content, Part};

use crate::address;
use crate::text::Text;

/// Placeholder for the content of body files, which the import does not read.
const NOT_READ: &str = "the import does not read the files that a plan names";

/// A text body. Values of variables are inserted without escaping, as in the original tools.
pub(crate) fn text(text: &Text) -> Body {
    Body::Text(text.body_template())
}

/// A body that is the unchanged content of a file.
pub(crate) fn file(name: impl Into<String>) -> Body {
    Body::File { file: name.into(), raw: true, content: Err(NOT_READ.to_owned()) }
}

/// A form body. A form table in a workload needs unique names, so a form with repeated names becomes an encoded text
/// body.
pub(crate) fn form(pairs: &[(String, Text)], headers: &mut Vec<(String, Text)>) -> Body {
    let twice = pairs.iter().enumerate().any(|(at, (name, _))| pairs[..at].iter().any(|(other, _)| other == name));
    if !twice {
        return Body::Form(pairs.iter().map(|(name, value)| (name.clone(), value.template())).collect());
    }
    set_default_type(headers, "application/x-www-form-urlencoded");
    let mut body = Text::default();
    for (at, (name, value)) in pairs.iter().enumerate() {
        body.push_str(if at == 0 { "" } else { "&" });
        body.push_str(&address::form_encode(name));
        body.push_str("=");
        body.push(&value.map_literals(address::form_encode));
    }
    Body::Text(body.template())
}

/// Sets Content-Type to `media_type`, unless the headers have one.
pub(crate) fn set_default_type(headers: &mut Vec<(String, Text)>, media_type: &str) {
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
        headers.push(("Content-Type".to_owned(), Text::from(media_type)));
    }
}

/// The media type of a file by the end of its name; `known`: ends in small letters with their types.
pub(crate) fn media_type_of(file: &str, known: &[(&str, &'static str)]) -> Option<&'static str> {
    let lower = file.to_ascii_lowercase();
    known.iter().find(|(end, _)| lower.ends_with(end)).map(|(_, media_type)| *media_type)
}

/// A multipart field with a text value.
pub(crate) fn field(name: &str, value: &Text, kind: Option<&str>) -> Part {
    Part {
        name: fit(name),
        file: None,
        raw: false,
        media_type: kind.map(fit),
        content: Ok(Content::Text(value.template())),
    }
}

/// A multipart field with a file.
pub(crate) fn upload(name: &str, file: &str, kind: Option<&str>) -> Part {
    Part {
        name: fit(name),
        file: Some(fit(file)),
        raw: true,
        media_type: kind.map(fit),
        content: Err(NOT_READ.to_owned()),
    }
}

/// Replaces characters that are not allowed in a quoted parameter of a part's header.
fn fit(text: &str) -> String {
    text.replace(|c: char| c.is_control() || c == '"', "_")
}
