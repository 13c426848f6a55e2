//! Text tables and paragraphs of at most 80 columns.

use std::fmt;

use offered_base::visible;

/// The width of the terminal that every command is written for, in characters.
pub(crate) const WIDTH: usize = 80;

/// The first column is shortened down to this width before a table is split.
const LEAST_FIRST: usize = 14;

/// A table whose columns are as wide as their widest cell, the first left-aligned, the others right-aligned.
///
/// `Display` keeps it within [`WIDTH`]: it shortens the first column, then continues further columns below, where the first column is
/// repeated.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
    /// Whether the first column is never shortened, because its texts differ only at their ends.
    whole_names: bool,
}

impl Table {
    /// A table with these headings.
    pub(crate) fn new<const N: usize>(heads: [&str; N]) -> Self {
        Self::with_columns(heads.map(str::to_owned).to_vec())
    }

    /// A table with any number of columns.
    pub(crate) fn with_columns(heads: Vec<String>) -> Self {
        Self { rows: vec![heads], whole_names: false }
    }

    /// The table with a first column that is never shortened: names that differ at their ends.
    pub(crate) fn with_whole_names(self) -> Self {
        Self { whole_names: true, ..self }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: impl Into<Vec<String>>) {
        let cells = cells.into();
        assert_eq!(cells.len(), self.rows[0].len(), "a cell for every column");
        self.rows.push(cells);
    }

    /// The width of the first column and of the others.
    fn widths(&self) -> (usize, Vec<usize>) {
        let width = |column: usize| self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let others: Vec<usize> = (1..self.rows[0].len()).map(width).collect();
        let wide: usize = others.iter().map(|width| 2 + width).sum();
        let first = width(0);
        // If the rest needs several parts in any case, a shorter first column saves none.
        let fits = wide + LEAST_FIRST <= WIDTH && !self.whole_names;
        (if fits { first.min(WIDTH - wide) } else { first }, others)
    }

    /// The columns of each part of the table. The first column is in all parts and is not listed.
    fn parts(first: usize, widths: &[usize]) -> Vec<std::ops::Range<usize>> {
        let (mut parts, mut start, mut used) = (Vec::new(), 0, first);
        for (column, width) in widths.iter().enumerate() {
            if used + 2 + width > WIDTH && column > start {
                parts.push(start..column);
                (start, used) = (column, first);
            }
            used += 2 + width;
        }
        parts.push(start..widths.len());
        parts
    }
}

/// A cell with this number of decimal places; `-` without a value.
pub(crate) fn maybe(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
}

/// Rounds a number up to this number of significant digits, at least one.
pub(crate) fn rounded_up(number: u64, digits: u32) -> u64 {
    let unit = 10_u64.pow((number.max(1).ilog10() + 1).saturating_sub(digits));
    number.div_ceil(unit).saturating_mul(unit)
}

/// Writes an indented line with a name, wrapped.
pub(crate) fn named(f: &mut fmt::Formatter<'_>, name: &str, text: &str) -> fmt::Result {
    wrapped(f, &format!("  {name:<14}"), text)
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, widths) = self.widths();
        for (number, part) in Self::parts(first, &widths).into_iter().enumerate() {
            if number > 0 {
                writeln!(f)?;
            }
            for row in &self.rows {
                let mut line = format!("{:first$}", shortened(&row[0], first));
                for column in part.clone() {
                    line += &format!("  {:>1$}", row[column + 1], widths[column]);
                }
                writeln!(f, "{}", line.trim_end())?;
            }
        }
        Ok(())
    }
}

/// A paragraph after `head`, wrapped at [`WIDTH`]; further lines are indented by the length of `head`. A word is never split.
pub(crate) fn paragraph(head: &str, text: &str) -> Vec<String> {
    hanging(head, head.chars().count(), text)
}

/// The same with further lines indented by `indent`.
pub(crate) fn hanging(head: &str, indent: usize, text: &str) -> Vec<String> {
    let (mut lines, mut line, mut is_empty) = (Vec::new(), head.to_owned(), true);
    for word in text.split_whitespace() {
        let length = line.chars().count();
        if !is_empty && length + word.chars().count() > WIDTH {
            lines.push(line.trim_end().to_owned());
            line = " ".repeat(indent);
        }
        line.extend([word, " "]);
        is_empty = false;
    }
    lines.push(line.trim_end().to_owned());
    lines
}

/// Writes a [`paragraph`].
pub(crate) fn wrapped(f: &mut fmt::Formatter<'_>, head: &str, text: &str) -> fmt::Result {
    paragraph(head, text).iter().try_for_each(|line| writeln!(f, "{line}"))
}

/// A label of at most 24 characters, all of them readable.
pub(crate) fn clipped(label: &str) -> String {
    shortened(&visible(label), 24)
}

/// The text; if it is longer than `most` characters, its beginning and `...`.
fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(3)).chain("...".chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table with a first column of `first` characters and `columns` columns of ten.
    fn table<const N: usize>(first: usize) -> String {
        let mut table = Table::new([""; N]);
        let mut cells: [String; N] = std::array::from_fn(|column| format!("{column:010}"));
        cells[0] = "x".repeat(first);
        table.row(cells);
        table.to_string()
    }

    #[test]
    fn tables_fit_into_the_terminal() {
        assert_eq!(table::<3>(5).lines().nth(1).unwrap(), "xxxxx  0000000001  0000000002");
        // Six columns of ten need 60 characters beside the first.
        let shortened = table::<6>(30);
        assert_eq!(shortened.lines().count(), 2);
        assert!(shortened.contains(&format!("{}...  0000000001", "x".repeat(17))), "{shortened}");
        let split = table::<9>(30);
        assert_eq!(split.matches(&"x".repeat(30)).count(), 2, "{split}");
        for text in [shortened, split] {
            assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        }
    }

    #[test]
    fn paragraphs_are_wrapped_between_words() {
        let lines = paragraph("fix:  ", &"word ".repeat(40));
        assert!(lines.len() == 3 && lines.iter().all(|line| line.chars().count() <= WIDTH), "{lines:?}");
        assert!(lines[1].starts_with("      word"), "{lines:?}");
        let long = "x".repeat(100);
        assert_eq!(paragraph("a ", &long), [format!("a {long}")]);
    }
}
