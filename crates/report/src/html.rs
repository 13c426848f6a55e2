//! The report as one self-contained HTML file.
//!
//! A template escapes all texts. Chart data are JSON in script elements that are not executed; they cannot contain the end of a
//! script. A content security policy forbids all connections.

use askama::Template;

use crate::chart::Chart;
use crate::csv::csv;
use crate::document::{Block, Card, Cell, Document, Section, Status, Table};
use crate::figure::{figure, library};
use offered_verify::Warning;

/// The style sheet: light, dark and print.
pub const STYLE: &str = include_str!("../templates/page.css");
/// The script that draws figures: `offered.draw(element, figure)`.
pub const SCRIPT: &str = include_str!("../templates/page.js");
/// Base URL of the book.
const BOOK: &str = "https://github.com/offered/offered/blob/main/book/src/";

#[derive(Template)]
#[template(path = "page.html")]
struct Page<'a> {
    document: &'a Document,
    groups: Vec<Group<'a>>,
    style: &'static str,
    script: &'static str,
    library: String,
    version: &'static str,
}

/// A section and those below it.
struct Group<'a> {
    head: SectionView<'a>,
    children: Vec<SectionView<'a>>,
}

/// A section for the template.
struct SectionView<'a> {
    section: &'a Section,
    book: Option<String>,
    parts: Vec<Part<'a>>,
}

enum Part<'a> {
    Card(&'a Card),
    Paragraph(&'a str),
    Warnings(&'a [Warning]),
    Table(&'a Table),
    /// Consecutive charts, side by side.
    Charts(Vec<ChartView<'a>>),
}

/// A chart for the template.
struct ChartView<'a> {
    chart: &'a Chart,
    /// Unique identifier within the page.
    id: String,
    json: String,
    csv: String,
}

/// The document as an HTML page.
///
/// # Errors
/// None in practice: the template is compiled and writes to memory.
pub fn html(document: &Document) -> Result<String, askama::Error> {
    let mut groups: Vec<Group> = Vec::new();
    for section in &document.sections {
        let view = SectionView::of(section);
        match groups.last_mut().filter(|_| section.level > 2) {
            Some(group) => group.children.push(view),
            None => groups.push(Group { head: view, children: Vec::new() }),
        }
    }
    let page =
        Page { document, groups, style: STYLE, script: SCRIPT, library: library(), version: env!("CARGO_PKG_VERSION") };
    page.render()
}

impl<'a> SectionView<'a> {
    fn of(section: &'a Section) -> Self {
        let mut parts: Vec<Part> = Vec::new();
        for block in &section.blocks {
            let part = match block {
                Block::Card(card) => Part::Card(card),
                Block::Paragraph(text) => Part::Paragraph(text),
                Block::Warnings(warnings) => Part::Warnings(warnings),
                Block::Table(table) => Part::Table(table),
                Block::Chart(chart) => {
                    let drawn = ChartView::of(chart, section);
                    if let Some(Part::Charts(charts)) = parts.last_mut() {
                        charts.push(drawn);
                        continue;
                    }
                    Part::Charts(vec![drawn])
                }
            };
            parts.push(part);
        }
        Self { section, book: section.book_page.map(|page| format!("{BOOK}{page}")), parts }
    }
}

impl<'a> ChartView<'a> {
    fn of(chart: &'a Chart, section: &Section) -> Self {
        let json = in_script(&figure(chart).to_string());
        Self { chart, id: section.name_of(chart), json, csv: data_uri(&csv(chart)) }
    }
}

/// Escapes JSON for a script element: it cannot end the script or a line.
pub fn in_script(json: &str) -> String {
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

/// A CSV file as a data URI.
fn data_uri(csv: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.,~".contains(&byte);
    let byte = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    format!("data:text/csv;charset=utf-8,{}", csv.bytes().map(byte).collect::<String>())
}

/// CSS class of a status, in addition to its sign and its text.
#[allow(clippy::trivially_copy_pass_by_ref)] // templates hand references
fn class(status: &Status) -> &'static str {
    match status {
        Status::Passed => "passed",
        Status::Failed => "failed",
        Status::Warning | Status::NotChecked => "not-checked",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_a_script_early() {
        let hostile = serde_json::json!("</script><script>alert(1)</script>\u{2028}&lt;!--").to_string();
        let safe = in_script(&hostile);
        assert!(!safe.contains(['<', '>', '&', '\u{2028}']), "{safe}");
        assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), serde_json::from_str::<String>(&hostile).unwrap());
    }

    #[test]
    fn the_library_is_included_and_contains_no_script_end() {
        let library = library();
        assert!(library.contains("plotly.js (basic - minified) v") && library.contains("Plotly"));
        assert!(!library.contains("</script"));
        assert!(library.len() < 1_200_000, "a page of a small run stays under 1.5 MB");
    }

    #[test]
    fn csv_is_percent_encoded() {
        assert_eq!(data_uri("a,b\n1,\"#%\""), "data:text/csv;charset=utf-8,a,b%0A1,%22%23%25%22");
    }
}
