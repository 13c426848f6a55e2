//! Rows of a text file, split into fields in place, for all tabular formats. Fast enough for gigabytes.
//!
//! A field that starts with a quote runs to the closing quote and may contain delimiters and newlines (RFC 4180). Elsewhere a quote is an
//! ordinary character. An unclosed quote must not swallow the rest of the file: after [`QUOTED`] bytes the row
//! ends at its first newline and its quotes are ordinary characters.

use std::borrow::Cow;
use std::io;

use memchr::{memchr, memchr2};

use super::Content;

/// Maximum length of a quoted row.
const QUOTED: usize = 1 << 20;
/// Maximum length of a row; only binary files without newlines exceed it.
const LONGEST: usize = 1 << 26;
const STEP: usize = 1 << 20;

/// One row. `line` counts from 1; `ended` is false for a last row without newline.
pub(super) struct Row<'a> {
    bytes: &'a [u8],
    fields: &'a [Field],
    pub(super) line: u64,
    pub(super) ended: bool,
}

#[derive(Clone, Copy)]
struct Field {
    start: usize,
    end: usize,
    /// Contains doubled quotes.
    doubled: bool,
}

impl Row<'_> {
    pub(super) fn len(&self) -> usize {
        self.fields.len()
    }

    pub(super) fn is_blank(&self) -> bool {
        self.bytes.trim_ascii().is_empty()
    }

    /// Field `index` as in the file, without surrounding quotes; empty if the row is too short.
    #[inline]
    pub(super) fn get(&self, index: usize) -> &[u8] {
        self.fields.get(index).map_or(&[], |field| &self.bytes[field.start..field.end])
    }

    /// The column with this name in a header, ignoring case.
    pub(super) fn column(&self, name: &str) -> Option<usize> {
        (0..self.len()).find(|&index| self.get(index).trim_ascii().eq_ignore_ascii_case(name.as_bytes()))
    }

    /// Field `index`; empty if there is no such column.
    #[inline]
    pub(super) fn maybe(&self, index: Option<usize>) -> &[u8] {
        index.map_or(&[], |index| self.get(index))
    }

    /// [`Row::text`]; empty if there is no such column.
    pub(super) fn maybe_text(&self, index: Option<usize>) -> Cow<'_, [u8]> {
        index.map_or(Cow::Borrowed(&[]), |index| self.text(index))
    }

    /// Field `index` with doubled quotes replaced by single ones; for names, not numbers.
    pub(super) fn text(&self, index: usize) -> Cow<'_, [u8]> {
        let raw = self.get(index);
        if !self.fields.get(index).is_some_and(|field| field.doubled) {
            return Cow::Borrowed(raw);
        }
        let mut out = Vec::with_capacity(raw.len());
        let mut bytes = raw.iter();
        while let Some(&byte) = bytes.next() {
            out.push(byte);
            if byte == b'"' {
                bytes.next();
            }
        }
        Cow::Owned(out)
    }
}

/// The rows of a file.
pub(super) struct Rows<'a> {
    content: Content<'a>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    at_end: bool,
    pub(super) cut: bool,
    line: u64,
    delimiter: Option<u8>,
    quotes: bool,
    fields: Vec<Field>,
}

impl<'a> Rows<'a> {
    /// Rows with fields separated by `delimiter`, which may be quoted.
    pub(super) fn of_fields(content: Content<'a>, delimiter: u8) -> Self {
        Self::new(content, Some(delimiter), true)
    }

    /// Rows with fields separated by `delimiter`, in which quotes are ordinary characters.
    pub(super) fn of_plain_fields(content: Content<'a>, delimiter: u8) -> Self {
        Self::new(content, Some(delimiter), false)
    }

    /// Rows with one field: lines.
    pub(super) fn of_lines(content: Content<'a>) -> Self {
        Self::new(content, None, false)
    }

    fn new(content: Content<'a>, delimiter: Option<u8>, quotes: bool) -> Self {
        let fields = Vec::new();
        Self {
            content,
            buffer: vec![0; STEP],
            start: 0,
            end: 0,
            at_end: false,
            cut: false,
            line: 1,
            delimiter,
            quotes,
            fields,
        }
    }

    /// The next row; `None` at the end of the file.
    pub(super) fn next(&mut self) -> io::Result<Option<Row<'_>>> {
        let mut quotes = self.quotes;
        let size = loop {
            let bytes = &self.buffer[self.start..self.end];
            match split(bytes, self.delimiter, quotes, self.at_end, &mut self.fields) {
                Split::Row(size) => break size,
                Split::Unclosed if self.at_end || bytes.len() > QUOTED => quotes = false,
                Split::Open | Split::Unclosed if !self.at_end => self.fill()?,
                Split::Open | Split::Unclosed => return Ok(None),
            }
        };
        let bytes = &self.buffer[self.start..self.start + size];
        let (line, ended) = (self.line, bytes.ends_with(b"\n"));
        self.start += size;
        self.line += memchr::memchr_iter(b'\n', bytes).count() as u64;
        Ok(Some(Row { bytes, fields: &self.fields, line, ended }))
    }

    fn fill(&mut self) -> io::Result<()> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            if self.end >= LONGEST {
                return Err(io::Error::other(format!("line {} is longer than 64 MiB: this is not a table", self.line)));
            }
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        match self.content.read(&mut self.buffer[self.end..]) {
            Ok(0) => self.at_end = true,
            Ok(read) => self.end += read,
            // The compressed stream is truncated: use the decompressed part.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => (self.at_end, self.cut) = (true, true),
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

enum Split {
    /// A row of this many bytes, including its newline.
    Row(usize),
    /// The row is incomplete.
    Open,
    /// The row is incomplete, inside quotes.
    Unclosed,
}

/// Splits off the first row of `bytes`; if `last` is true, their end ends the row.
fn split(bytes: &[u8], delimiter: Option<u8>, quotes: bool, last: bool, fields: &mut Vec<Field>) -> Split {
    fields.clear();
    if bytes.is_empty() {
        return Split::Open;
    }
    let mut at = 0;
    loop {
        let mut field = Field { start: at, end: at, doubled: false };
        let mut look = at;
        if quotes && bytes.get(at) == Some(&b'"') {
            let Some(close) = closing_quote(bytes, at + 1, &mut field.doubled) else { return Split::Unclosed };
            (field.start, field.end, look) = (at + 1, close, close + 1);
        }
        let stop = match delimiter {
            Some(delimiter) => memchr2(delimiter, b'\n', &bytes[look..]),
            None => memchr(b'\n', &bytes[look..]),
        };
        let stop = match stop {
            Some(stop) => look + stop,
            None if last => bytes.len(),
            None => return Split::Open,
        };
        let row_ends = stop == bytes.len() || bytes[stop] == b'\n';
        // Only a carriage return may be between a closing quote and the end of its field; otherwise it is not a closing quote.
        if look == at || !bytes[look..stop].trim_ascii().is_empty() {
            let end = if row_ends && stop > at && bytes[stop - 1] == b'\r' { stop - 1 } else { stop };
            field = Field { start: at, end, doubled: false };
        }
        fields.push(field);
        if row_ends {
            return Split::Row((stop + 1).min(bytes.len()));
        }
        at = stop + 1;
    }
}

fn closing_quote(bytes: &[u8], from: usize, doubled: &mut bool) -> Option<usize> {
    let mut at = from;
    loop {
        let quote = at + memchr(b'"', &bytes[at..])?;
        if bytes.get(quote + 1) != Some(&b'"') {
            return Some(quote);
        }
        *doubled = true;
        at = quote + 2;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use proptest::prelude::*;

    fn rows(text: &[u8], delimiter: u8) -> Vec<Vec<String>> {
        // One byte at a time is the hardest way to be fed.
        struct Drops<'a>(&'a [u8]);
        impl Read for Drops<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let n = self.0.len().min(1);
                buffer[..n].copy_from_slice(&self.0[..n]);
                self.0 = &self.0[n..];
                Ok(n)
            }
        }
        let mut content = io::BufReader::with_capacity(1, Drops(text));
        let mut rows = Rows::of_fields(&mut content, delimiter);
        let mut out = Vec::new();
        while let Some(row) = rows.next().unwrap() {
            out.push((0..row.len()).map(|i| String::from_utf8_lossy(&row.text(i)).into_owned()).collect());
        }
        out
    }

    #[test]
    fn fields_follow_rfc_4180() {
        assert_eq!(
            rows(b"a,b\r\n1,\"x,\ny \"\"z\"\"\"\n,\n\nlast", b','),
            [vec!["a", "b"], vec!["1", "x,\ny \"z\""], vec!["", ""], vec![""], vec!["last"],]
        );
        assert_eq!(rows(b"5\" disk\t\"a\"b\tc\n", b'\t'), [["5\" disk", "\"a\"b", "c"]]);
    }

    #[test]
    fn a_quote_that_is_never_closed_costs_one_row() {
        assert_eq!(rows(b"a,\"b\nc,d\n", b','), [["a", "\"b"], ["c", "d"]]);
    }

    #[test]
    fn lines_are_counted_through_quoted_newlines() {
        let mut text: &[u8] = b"a,\"1\n2\"\nb,3\n";
        let mut rows = Rows::of_fields(&mut text, b',');
        assert_eq!(rows.next().unwrap().unwrap().line, 1);
        assert_eq!(rows.next().unwrap().unwrap().line, 3);
    }

    proptest! {
        #[test]
        fn no_text_is_lost_or_panics(text in "[a\",\n\r]{0,40}") {
            // Every letter of the file is in some field: nothing between the delimiters vanishes.
            let letters: usize = rows(text.as_bytes(), b',').iter().flatten().map(|f| f.matches('a').count()).sum();
            prop_assert_eq!(letters, text.matches('a').count());
        }
    }
}
