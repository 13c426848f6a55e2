//! Tables as CSV (RFC 4180), for all crates.
//!
//! A spreadsheet interprets a text as a formula if it begins with `=`, `+`, `-`, `@`, a tab or a carriage return. Such
//! a text is written after an apostrophe, which spreadsheets do not show; [`unguarded`] removes it. Numbers are written
//! as they are.
//!
//! ```
//! use offered_events::csv::Table;
//! let mut table = Table::new(Vec::new());
//! table.row(["name", "share"])?;
//! table.text("=HYPERLINK(\"http://h/\")")?.number(Some(-0.5))?.end()?;
//! assert_eq!(table.finish()?, b"name,share\n\"'=HYPERLINK(\"\"http://h/\"\")\",-0.5\n");
//! # Ok::<(), std::io::Error>(())
//! ```

use std::borrow::Cow;
use std::fmt::{Display, Write as _};
use std::io::{self, Write};

/// First characters of texts that a spreadsheet takes for formulas.
const FORMULA: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

/// A table being written, cell by cell; every row must have as many cells as the first.
pub struct Table<W: Write> {
    rows: ::csv::Writer<W>,
    number: String,
}

impl<W: Write> Table<W> {
    /// A table without rows. The rows are buffered; [`Table::flush`] and [`Table::finish`] write them to `out`.
    pub fn new(out: W) -> Self {
        Self { rows: ::csv::Writer::from_writer(out), number: String::new() }
    }

    /// Writes the next cell, a text.
    ///
    /// # Errors
    /// Errors of the underlying writer.
    pub fn text(&mut self, text: &str) -> io::Result<&mut Self> {
        self.rows.write_field(guarded(text).as_bytes())?;
        Ok(self)
    }

    /// Writes the next cell, a number in its `Display` form; empty for `None`.
    ///
    /// # Errors
    /// Errors of the underlying writer.
    pub fn number(&mut self, number: Option<impl Display>) -> io::Result<&mut Self> {
        self.number.clear();
        if let Some(number) = number {
            let _ = write!(self.number, "{number}");
        }
        self.rows.write_field(&self.number)?;
        Ok(self)
    }

    /// Ends the current row.
    ///
    /// # Errors
    /// Errors of the underlying writer; a row with more or fewer cells than the first.
    pub fn end(&mut self) -> io::Result<()> {
        Ok(self.rows.write_record(None::<&[u8]>)?)
    }

    /// Writes a whole row of texts.
    ///
    /// # Errors
    /// The errors of [`Table::end`].
    pub fn row<'a>(&mut self, texts: impl IntoIterator<Item = &'a str>) -> io::Result<()> {
        for text in texts {
            self.text(text)?;
        }
        self.end()
    }

    /// Writes the buffered rows to the underlying writer.
    ///
    /// # Errors
    /// Errors of the underlying writer.
    pub fn flush(&mut self) -> io::Result<()> {
        self.rows.flush()
    }

    /// Writes the buffered rows and returns the underlying writer.
    ///
    /// # Errors
    /// Errors of the underlying writer.
    pub fn finish(self) -> io::Result<W> {
        self.rows.into_inner().map_err(|failed| io::Error::new(failed.error().kind(), failed.error().to_string()))
    }
}

fn guarded(text: &str) -> Cow<'_, str> {
    if text.starts_with(FORMULA) { format!("'{text}").into() } else { text.into() }
}

/// Removes the apostrophe that [`Table::text`] writes before a formula.
pub fn unguarded(text: &[u8]) -> &[u8] {
    match text {
        [b'\'', rest @ ..] if rest.first().is_some_and(|&first| FORMULA.contains(&char::from(first))) => rest,
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A reader gets every text back, with all kinds of line ends, and no cell is a formula.
        #[test]
        fn what_is_written_is_read(rows in prop::collection::vec(prop::array::uniform3("[-=+@'\"\r\n\t,;a ]{0,6}"), 1..8)) {
            let mut table = Table::new(Vec::new());
            for row in &rows {
                table.row(row.iter().map(String::as_str)).unwrap();
            }
            let written = table.finish().unwrap();
            let mut reader = ::csv::ReaderBuilder::new().has_headers(false).from_reader(&written[..]);
            let read: Vec<::csv::ByteRecord> = reader.byte_records().map(Result::unwrap).collect();
            prop_assert_eq!(read.len(), rows.len());
            for (read, row) in read.iter().zip(&rows) {
                for (cell, text) in read.iter().zip(row) {
                    prop_assert!(!text.starts_with(FORMULA) || cell[0] == b'\'');
                    // Only a text that itself begins with an apostrophe before such a character is read back differently.
                    if !text.starts_with('\'') {
                        prop_assert_eq!(unguarded(cell), text.as_bytes());
                    }
                }
            }
        }
    }

    #[test]
    fn numbers_below_zero_are_no_formulas() {
        let mut table = Table::new(Vec::new());
        table.number(Some(-1)).unwrap().number(None::<u8>).unwrap().text("-1").unwrap().end().unwrap();
        assert_eq!(table.finish().unwrap(), b"-1,,'-1\n");
    }
}
