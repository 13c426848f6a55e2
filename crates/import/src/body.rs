//! Bodies of requests, as a workload has them.

use offered_model::workload::script::{Body, Content, Part};

use crate::address;
use crate::text::Text;

/// Why nothing is in a file: it stands where the workload will.
const NOT_READ: &str = "a plan is imported without the files it names";

/// A text. The tools that are read put values into it as they are, so that a quote in one breaks a JSON document there and here.
pub(crate) fn text(text: &Text) -> Body {
    Body::Text(text.body_template())
}

/// What stands in a file, as it stands.
pub(crate) fn file(name: impl Into<String>) -> Body {
    Body::File { file: name.into(), raw: true, content: Err(NOT_READ.to_owned()) }
}

/// Pairs as a form; where a name is there twice, which a workload's table cannot say, as the text of one.
pub(crate) fn form(pairs: &[(String, Text)], headers: &mut Vec<(String, Text)>) -> Body {
    let twice = pairs.iter().enumerate().any(|(at, (name, _))| pairs[..at].iter().any(|(other, _)| other == name));
    if !twice {
        return Body::Form(pairs.iter().map(|(name, value)| (name.clone(), value.template())).collect());
    }
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
        headers.push(("Content-Type".to_owned(), Text::from("application/x-www-form-urlencoded")));
    }
    let mut body = Text::default();
    for (at, (name, value)) in pairs.iter().enumerate() {
        body.push_str(if at == 0 { "" } else { "&" });
        body.push_str(&address::form_encode(name));
        body.push_str("=");
        body.push(&value.map_literals(address::form_encode));
    }
    Body::Text(body.template())
}

/// A part that is a value.
pub(crate) fn field(name: &str, value: &Text, kind: Option<&str>) -> Part {
    Part {
        name: fit(name),
        file: None,
        raw: false,
        media_type: kind.map(fit),
        content: Ok(Content::Text(value.template())),
    }
}

/// A part that is a file.
pub(crate) fn upload(name: &str, file: &str, kind: Option<&str>) -> Part {
    Part {
        name: fit(name),
        file: Some(fit(file)),
        raw: true,
        media_type: kind.map(fit),
        content: Err(NOT_READ.to_owned()),
    }
}

/// Without what cannot stand between quotes in the head of a part.
fn fit(text: &str) -> String {
    text.replace(|c: char| c.is_control() || c == '"', "_")
}
