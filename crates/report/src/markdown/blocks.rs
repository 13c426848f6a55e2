//! Blocks of a document as Markdown. Texts from outside are escaped.

use std::fmt::Write as _;

use offered_base::visible;

use crate::document::{Block, Table};

/// Appends a block and a blank line; nothing for a card and a chart.
pub(super) fn write(text: &mut String, block: &Block) {
    let _ = match block {
        Block::Paragraph(words) => writeln!(text, "{}\n", plain(words)),
        Block::Warnings(warnings) => {
            for warning in warnings {
                let _ = writeln!(text, "* {} *Fix:* {}", plain(&warning.message), plain(&warning.fix));
            }
            writeln!(text)
        }
        Block::Table(table) => {
            let _ = writeln!(text, "{}:\n", plain(&table.caption));
            rows(table).into_iter().try_for_each(|row| writeln!(text, "{row}")).and_then(|()| writeln!(text))
        }
        Block::Card(_) | Block::Chart(_) => Ok(()),
    };
}

/// The lines of a table: two for the heading, then one per row.
pub(super) fn rows(table: &Table) -> Vec<String> {
    let headings: Vec<String> = table.columns().map(|(head, _)| plain(head)).collect();
    let rules: Vec<&str> = table.columns().map(|(_, numeric)| if numeric { "--:" } else { "---" }).collect();
    let row = |cells: &[String]| format!("| {} |", cells.join(" | "));
    let mut lines = vec![row(&headings), format!("| {} |", rules.join(" | "))];
    lines.extend(table.rows.iter().map(|cells| {
        let cells: Vec<String> = cells.iter().map(|cell| plain(&cell.text())).collect();
        row(&cells)
    }));
    lines
}

/// Escapes Markdown and HTML; one line, with unreadable characters as escapes.
pub(super) fn plain(text: &str) -> String {
    let mut plain = String::new();
    for c in visible(&text.replace(['\n', '\t'], " ")).chars() {
        match c {
            '&' => plain.push_str("&amp;"),
            '<' => plain.push_str("&lt;"),
            '>' => plain.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '@' => plain.extend(['\\', c]),
            c => plain.push(c),
        }
    }
    plain
}

/// The text in a code span, in which Markdown and HTML mean nothing.
pub(super) fn code(text: &str) -> String {
    format!("`{}`", visible(text).replace('`', "'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn external_text_is_escaped() {
        assert_eq!(plain("<b>|[x](y)\n@all &amp;"), "&lt;b&gt;\\|\\[x\\](y) \\@all &amp;amp;");
        assert_eq!(plain("a\u{202e}b"), "a\\\\u{202e}b");
        assert_eq!(code("http://h/`<b>`"), "`http://h/'<b>'`");
    }
}
