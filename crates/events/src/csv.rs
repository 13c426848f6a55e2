//! Tables as CSV (RFC 4180): the one writer of every room.
//!
//! A text that a spreadsheet would take for a formula (it begins with `=`, `+`, `-`, `@`, a tab or a carriage return) is
//! written with an apostrophe before it, which spreadsheets do not show; [`unguarded`] takes it off again. Numbers are numbers.
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

/// What makes a spreadsheet calculate.
const FORMULA: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

/// A table being written, cell by cell; every row must have as many cells as the first.
pub struct Table<W: Write> {
    rows: ::csv::Writer<W>,
    number: String,
}

impl<W: Write> Table<W> {
    /// An empty one. What is written reaches `out` with [`Table::flush`] at the latest.
    pub fn new(out: W) -> Self {
        Self { rows: ::csv::Writer::from_writer(out), number: String::new() }
    }

    /// The next cell, a text.
    ///
    /// # Errors
    /// Those of the writer beneath.
    pub fn text(&mut self, text: &str) -> io::Result<&mut Self> {
        self.rows.write_field(guarded(text).as_bytes())?;
        Ok(self)
    }

    /// The next cell, a number as it prints; empty where it is not known.
    ///
    /// # Errors
    /// Those of the writer beneath.
    pub fn number(&mut self, number: Option<impl Display>) -> io::Result<&mut Self> {
        self.number.clear();
        if let Some(number) = number {
            let _ = write!(self.number, "{number}");
        }
        self.rows.write_field(&self.number)?;
        Ok(self)
    }

    /// Ends the row.
    ///
    /// # Errors
    /// Those of the writer beneath; a row longer or shorter than the first.
    pub fn end(&mut self) -> io::Result<()> {
        Ok(self.rows.write_record(None::<&[u8]>)?)
    }

    /// A whole row of texts.
    ///
    /// # Errors
    /// Those of [`Table::end`].
    pub fn row<'a>(&mut self, texts: impl IntoIterator<Item = &'a str>) -> io::Result<()> {
        for text in texts {
            self.text(text)?;
        }
        self.end()
    }

    /// Hands on what has been written so far.
    ///
    /// # Errors
    /// Those of the writer beneath.
    pub fn flush(&mut self) -> io::Result<()> {
        self.rows.flush()
    }

    /// What was written to, with all of it.
    ///
    /// # Errors
    /// Those of the writer beneath.
    pub fn finish(self) -> io::Result<W> {
        self.rows.into_inner().map_err(|failed| io::Error::new(failed.error().kind(), failed.error().to_string()))
    }
}

fn guarded(text: &str) -> Cow<'_, str> {
    if text.starts_with(FORMULA) { format!("'{text}").into() } else { text.into() }
}

/// A text as it was before it was written to a table of ours.
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
        /// Whatever the texts hold, line ends of every kind among it, a reader finds them again, and none is a formula.
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
                    // An apostrophe of the text's own before such a letter is the one thing that does not come back.
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
