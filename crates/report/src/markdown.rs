//! A document as Markdown: a short summary for a pull request, without charts.

use std::fmt::Write;

use crate::document::{Block, Document, Table, sign};

/// The text and tables of `document`.
pub fn markdown(document: &Document) -> String {
    let mut text = String::new();
    for section in &document.sections {
        let _ = writeln!(text, "{} {}\n", "#".repeat(usize::from(section.level)), plain(&section.title));
        for block in &section.blocks {
            write_block(&mut text, block);
        }
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

fn write_block(text: &mut String, block: &Block) {
    let _ = match block {
        Block::Banner(banner) => {
            let (sign, headline) = (sign(&banner.status), plain(&banner.headline));
            writeln!(text, "**{sign} {headline}**\n{}\n", plain(&banner.reason))
        }
        Block::Paragraph(words) => writeln!(text, "{}\n", plain(words)),
        Block::Warnings(warnings) => {
            for warning in warnings {
                let _ = writeln!(text, "* {} *Fix:* {}", plain(&warning.message), plain(&warning.fix));
            }
            writeln!(text)
        }
        Block::Table(table) => write_table(text, table),
        Block::Chart(_) => Ok(()),
    };
}

fn write_table(text: &mut String, table: &Table) -> std::fmt::Result {
    let headings: Vec<String> = table.columns().map(|(head, _)| plain(head)).collect();
    let rules = table.columns().map(|(_, numeric)| if numeric { "--:" } else { "---" });
    writeln!(text, "{}:\n", plain(&table.caption))?;
    writeln!(text, "| {} |", headings.join(" | "))?;
    writeln!(text, "| {} |", rules.collect::<Vec<_>>().join(" | "))?;
    for row in &table.rows {
        let cells: Vec<String> = row.iter().map(|cell| plain(&cell.text())).collect();
        writeln!(text, "| {} |", cells.join(" | "))?;
    }
    writeln!(text)
}

/// Escapes Markdown and HTML; one line.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    for c in text.chars() {
        match c {
            '&' => plain.push_str("&amp;"),
            '<' => plain.push_str("&lt;"),
            '>' => plain.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '@' => plain.extend(['\\', c]),
            c if c.is_control() => plain.push(' '),
            c => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn external_text_is_escaped() {
        assert_eq!(plain("<b>|[x](y)\n@all &amp;"), "&lt;b&gt;\\|\\[x\\](y) \\@all &amp;amp;");
    }
}
