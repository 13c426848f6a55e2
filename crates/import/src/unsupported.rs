//! Detects test scripts of tools whose plans are programs. They are not translated.

/// A tool with strings that identify its scripts (all strings of one list must occur), and how its load is had as data.
struct Tool {
    name: &'static str,
    marks: &'static [&'static [&'static str]],
    way: &'static str,
}

const TOOLS: [Tool; 4] = [
    Tool {
        name: "k6",
        marks: &[&["from 'k6"], &["from \"k6"], &["require('k6"], &["require(\"k6"]],
        way: "`k6 inspect SCRIPT > options.json` prints its load and thresholds, which can be imported",
    },
    Tool {
        name: "Locust",
        marks: &[&["from locust import"], &["import locust"], &["from locust."]],
        way: "record its requests as HAR through a proxy, or its users over time as `..._stats_history.csv`, and import that",
    },
    Tool {
        name: "Gatling",
        marks: &[&["io.gatling."], &["@gatling.io/"]],
        way: "record its requests as HAR through a proxy, and import that",
    },
    Tool {
        name: "Artillery",
        marks: &[&["export const config", "scenarios"], &["module.exports", "scenarios", "phases"]],
        way: "write `config` and `scenarios` as YAML, which can be imported",
    },
];

/// Returns a message if `text`, which is XML, is a configuration of Tsung.
pub(crate) fn tsung_hint(text: &str) -> Option<String> {
    let head = text.char_indices().nth(4_096).map_or(text, |(end, _)| &text[..end]);
    let is_tsung = head.contains("<!DOCTYPE tsung") || head.contains("<tsung ") || head.contains("<tsung>");
    is_tsung.then(|| {
        "is a configuration of Tsung, which is not translated; write its arrival phases as `arrivals.partly_open.rate` in stages and each session as a [[flow]], or record the sessions as HAR through a proxy, and import that"
            .to_owned()
    })
}

/// What begins the header of the first file of a tar archive, and where.
const TAR: (usize, &str) = (257, "ustar");

/// Returns a message with a pointer to the guide if `text` is a script of a known tool.
pub(crate) fn hint(text: &str) -> Option<String> {
    if text.get(TAR.0..).is_some_and(|rest| rest.starts_with(TAR.1)) && text.contains("metadata.json") {
        return Some(
            "is an archive of k6; the options in it can be imported: tar -xOf ARCHIVE metadata.json > options.json"
                .to_owned(),
        );
    }
    let head = text.char_indices().nth(65_536).map_or(text, |(end, _)| &text[..end]);
    let found = |tool: &&Tool| tool.marks.iter().any(|marks| marks.iter().all(|mark| head.contains(mark)));
    let Tool { name, way, .. } = TOOLS.iter().find(found)?;
    Some(format!(
        "is a script for {name}; scripts are programs and cannot be translated; {way}; how to write it as a workload: book/src/guides/from-scripts.md#{}",
        name.to_lowercase()
    ))
}
