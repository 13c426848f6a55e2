//! Detects test scripts of tools whose plans are programs. They are not translated.

/// Strings that identify a script of a tool; all strings of one list must occur.
const MARKS: [(&str, &[&[&str]]); 4] = [
    ("k6", &[&["from 'k6"], &["from \"k6"], &["require('k6"], &["require(\"k6"]]),
    ("Locust", &[&["from locust import"], &["import locust"], &["from locust."]]),
    ("Gatling", &[&["io.gatling."], &["@gatling.io/"]]),
    ("Artillery", &[&["config:", "scenarios:", "phases:"], &["config:", "scenarios:", "target:"]]),
];

/// Returns a message with a pointer to the guide if `text` is a script of a known tool.
pub(crate) fn hint(text: &str) -> Option<String> {
    let head = text.char_indices().nth(65_536).map_or(text, |(end, _)| &text[..end]);
    let (tool, _) = MARKS
        .iter()
        .find(|(_, alternatives)| alternatives.iter().any(|marks| marks.iter().all(|mark| head.contains(mark))))?;
    Some(format!(
        "is a script for {tool}; scripts are programs and cannot be translated; how to write it as a workload: book/src/guides/from-scripts.md#{}",
        tool.to_lowercase()
    ))
}
