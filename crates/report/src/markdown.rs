//! A report as Markdown, for a comment on a pull request: the conclusion in a few lines, everything else folded.

mod blocks;
mod parts;

use std::fmt::Write as _;

use crate::document::Block;
use crate::report::Report;

/// Maximum number of lines of a part that are not folded, blank lines and the line that unfolds the rest among them.
const LINES: usize = 15;

/// The report as Markdown. It has a part for its runs (one run, or all side by side), for each sweep, for each
/// comparison and for each site. At most 15 lines of each part are shown; the rest is in a `<details>` element.
pub fn markdown(report: &Report) -> String {
    let runs = match &report.runs[..] {
        [] => None,
        [run] => Some(parts::run(run, report.title.as_deref())),
        _ => Some(parts::comparison(report)),
    };
    let sweeps = report.sweeps.iter().map(parts::sweep);
    let comparisons = report.comparisons.iter().map(parts::two);
    let sites = report.sites.iter().map(parts::site);
    let texts: Vec<String> =
        runs.into_iter().chain(sweeps).chain(comparisons).chain(sites).map(|part| part.text()).collect();
    texts.join("\n")
}

/// A part of the text: a heading, paragraphs and tables that are shown, and blocks that are folded.
struct Part {
    heading: String,
    /// Groups of lines, with a blank line between groups.
    shown: Vec<Vec<String>>,
    /// A description of the folded content, in a few words.
    summary: String,
    folded: Vec<Block>,
}

impl Part {
    /// Number of lines that are left for more rows of a table.
    fn lines_left(&self) -> usize {
        // The heading and the summary, and the blank line before each group and before the summary.
        let used = 3 + self.shown.iter().map(|lines| lines.len() + 1).sum::<usize>();
        LINES.saturating_sub(used)
    }

    fn text(&self) -> String {
        let mut text = format!("### {}\n", self.heading);
        for lines in self.shown.iter().filter(|lines| !lines.is_empty()) {
            let _ = writeln!(text, "\n{}", lines.join("\n"));
        }
        if self.folded.is_empty() {
            return text;
        }
        let _ = writeln!(text, "\n<details><summary>{}</summary>\n", self.summary);
        for block in &self.folded {
            blocks::write(&mut text, block);
        }
        text.push_str("</details>\n");
        text
    }
}

#[cfg(test)]
mod tests;
