//! Plans that are programs: what they do is only known by running them, so they are named, and not translated.

/// What a text has in it that is a program for a tool; all of one row must be there.
const MARKS: [(&str, &[&[&str]]); 4] = [
    ("k6", &[&["from 'k6"], &["from \"k6"], &["require('k6"], &["require(\"k6"]]),
    ("Locust", &[&["from locust import"], &["import locust"], &["from locust."]]),
    ("Gatling", &[&["io.gatling."], &["@gatling.io/"]]),
    ("Artillery", &[&["config:", "scenarios:", "phases:"], &["config:", "scenarios:", "target:"]]),
];

/// What to do with `text`, where it is a program for a tool that is known.
pub(crate) fn hint(text: &str) -> Option<String> {
    let head = text.char_indices().nth(65_536).map_or(text, |(end, _)| &text[..end]);
    let (tool, _) = MARKS
        .iter()
        .find(|(_, alternatives)| alternatives.iter().any(|marks| marks.iter().all(|mark| head.contains(mark))))?;
    Some(format!(
        "is a script for {tool}, a program, and not translated; how to say what it says: book/src/guides/from-scripts.md#{}",
        tool.to_lowercase()
    ))
}
