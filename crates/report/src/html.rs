//! The page: one HTML file with everything in it, which opens from a disk without a network.
//!
//! Words come through a template that escapes them; data for charts stand as JSON in scripts that are never run, in which
//! nothing can end the script. A content policy forbids the page every connection.

use askama::Template;

use crate::chart::Chart;
use crate::csv::csv;
use crate::document::{Banner, Block, Cell, Document, Section, Table};
use crate::figure::{LIBRARY, figure};
use offered_verify::{Judgement, Warning};

/// How the page looks, light and dark and printed.
pub const STYLE: &str = include_str!("../templates/page.css");
/// What draws the figures: `offered.draw(element, figure)`.
pub const SCRIPT: &str = include_str!("../templates/page.js");
/// Where the pages of the book are.
const BOOK: &str = "https://github.com/offered/offered/blob/main/book/src/";

#[derive(Template)]
#[template(path = "page.html")]
struct Page<'a> {
    title: &'a str,
    subtitle: &'a str,
    sections: Vec<View<'a>>,
    source: &'static str,
    style: &'static str,
    script: &'static str,
    library: &'static str,
    version: &'static str,
}

/// A section as the template sees it.
struct View<'a> {
    section: &'a Section,
    book: Option<String>,
    parts: Vec<Part<'a>>,
}

enum Part<'a> {
    Verdict(&'a Banner),
    Words(&'a str),
    Doubts(&'a [Warning]),
    Table(&'a Table),
    /// Neighbouring charts stand beside each other.
    Charts(Vec<Drawn<'a>>),
}

/// A chart with what the page needs of it.
struct Drawn<'a> {
    chart: &'a Chart,
    /// A name of its own within the page.
    id: String,
    json: String,
    csv: String,
}

/// The document as a page. `subtitle` is a line below its title.
///
/// # Errors
/// None that a document can cause: the template is compiled, and its sink is a string.
pub fn html(document: &Document, subtitle: &str) -> Result<String, askama::Error> {
    let page = Page {
        title: &document.title,
        subtitle,
        sections: document.sections.iter().map(View::of).collect(),
        source: document.source,
        style: STYLE,
        script: SCRIPT,
        library: LIBRARY,
        version: env!("CARGO_PKG_VERSION"),
    };
    page.render()
}

impl<'a> View<'a> {
    fn of(section: &'a Section) -> Self {
        let mut parts: Vec<Part> = Vec::new();
        for block in &section.blocks {
            let part = match block {
                Block::Verdict(banner) => Part::Verdict(banner),
                Block::Words(words) => Part::Words(words),
                Block::Doubts(doubts) => Part::Doubts(doubts),
                Block::Table(table) => Part::Table(table),
                Block::Chart(chart) => {
                    let drawn = Drawn::of(chart, section);
                    if let Some(Part::Charts(charts)) = parts.last_mut() {
                        charts.push(drawn);
                        continue;
                    }
                    Part::Charts(vec![drawn])
                }
            };
            parts.push(part);
        }
        Self { section, book: section.page.map(|page| format!("{BOOK}{page}")), parts }
    }
}

impl<'a> Drawn<'a> {
    fn of(chart: &'a Chart, section: &Section) -> Self {
        let json = in_script(&figure(chart).to_string());
        Self { chart, id: section.name_of(chart), json, csv: data_uri(&csv(chart)) }
    }
}

/// JSON that may stand within a script: nothing in it ends the script or a line of it.
pub fn in_script(json: &str) -> String {
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

/// A CSV file as the address of a link.
fn data_uri(csv: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.,~".contains(&byte);
    let byte = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    format!("data:text/csv;charset=utf-8,{}", csv.bytes().map(byte).collect::<String>())
}

/// How a judgement is coloured; the sign and the word say the same.
#[allow(clippy::trivially_copy_pass_by_ref)] // templates hand references
fn class(judgement: &Judgement) -> &'static str {
    match judgement {
        Judgement::Holds => "holds",
        Judgement::Fails => "fails",
        Judgement::HoldsWithDoubt | Judgement::NotChecked => "open",
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
    fn the_library_is_there_and_ends_no_script() {
        assert!(LIBRARY.contains("plotly.js (basic - minified) v") && LIBRARY.contains("Plotly"));
        assert!(!LIBRARY.contains("</script"));
        assert!(LIBRARY.len() < 1_200_000, "a page of a small run stays under 1.5 MB");
    }

    #[test]
    fn a_link_holds_its_csv() {
        assert_eq!(data_uri("a,b\n1,\"#%\""), "data:text/csv;charset=utf-8,a,b%0A1,%22%23%25%22");
    }
}
