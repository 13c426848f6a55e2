//! Text tables: columns as wide as their widest cell, the first left-aligned, the others right-aligned.

use std::fmt;

use offered_base::visible;

/// The width of the terminal that every command is written for, in characters.
const WIDTH: usize = 80;

/// A table; `Display` aligns the columns.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these headings.
    pub(crate) fn new<const N: usize>(heads: [&str; N]) -> Self {
        Self { rows: vec![heads.map(str::to_owned).to_vec()] }
    }

    /// Adds a row.
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        debug_assert_eq!(N, self.rows[0].len(), "a cell for every column");
        self.rows.push(cells.to_vec());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |column: usize| self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.rows[0].len()).map(width).collect();
        for row in &self.rows {
            let mut line = String::new();
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let pad = " ".repeat(width - cell.chars().count());
                match column {
                    0 => line.extend([cell.as_str(), &pad]),
                    _ => line.extend(["  ", &pad, cell]),
                }
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// Writes a paragraph after `head`, wrapped at [`WIDTH`]; further lines are indented by the length of `head`.
pub(crate) fn wrapped(f: &mut fmt::Formatter<'_>, head: &str, text: &str) -> fmt::Result {
    let mut line = head.to_owned();
    let indent = head.chars().count();
    for word in text.split_whitespace() {
        let length = line.chars().count();
        if length > indent && length + word.chars().count() > WIDTH {
            writeln!(f, "{}", line.trim_end())?;
            line = " ".repeat(indent);
        }
        line.extend([word, " "]);
    }
    writeln!(f, "{}", line.trim_end())
}

/// A label of at most 24 characters, all of them readable.
pub(crate) fn clipped(label: &str) -> String {
    let label = visible(label);
    if label.chars().count() <= 24 { label.into_owned() } else { label.chars().take(21).chain("...".chars()).collect() }
}
