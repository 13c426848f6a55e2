//! Readers of other tools' result files, one module per format. Formats are detected by content.
//!
//! A format has a name, a test on the first bytes, and a reader that fills an [`Intake`]; [`READERS`] lists all
//! formats. Formats are tried in this order. A strict format therefore precedes any format that would accept its files
//! too.

mod ab;
mod access_log;
mod columns;
mod fortio;
mod gatling_binary;
mod gatling_text;
mod gob;
mod goose;
mod h2load;
mod har;
mod hey;
mod instants;
mod intake;
mod jtl;
mod jtl_csv;
mod jtl_xml;
mod k6;
mod language_models;
mod locust;
mod number;
mod oha;
mod oha_db;
mod options;
mod own_csv;
mod pgbench;
mod phout;
mod refused;
mod rows;
mod siege;
mod sqlite;
mod tsung;
mod vegeta;

pub use options::{ReadOptions, TimestampMeaning};
pub use own_csv::COLUMNS as CSV_COLUMNS;

use std::io::{BufRead, Cursor, ErrorKind, Read};

use offered_events::Recording;

use crate::error::Error;
use intake::Intake;

/// The content of a file, from its first byte.
type Content<'a> = &'a mut dyn BufRead;

struct Reader {
    name: &'static str,
    sniff: fn(&Head) -> bool,
    read: fn(Content, &ReadOptions, &mut Intake) -> Result<(), Error>,
}

impl Reader {
    /// Whether `--start-column` and similar options apply.
    fn has_columns(&self) -> bool {
        matches!(self.name, "csv" | "tsv")
    }
}

static READERS: [&Reader; 32] = [
    &own_csv::READER,
    &gatling_binary::READER,
    &vegeta::GOB,
    &jtl_xml::READER,
    &jtl_csv::READER,
    &gatling_text::READER,
    &language_models::AIPERF,
    &language_models::GUIDELLM,
    &language_models::VLLM,
    &language_models::INFERENCE_PERF,
    &k6::JSON,
    &k6::CSV,
    &vegeta::JSON,
    &vegeta::CSV,
    &fortio::READER,
    &goose::JSON,
    &goose::CSV,
    &hey::READER,
    &oha::READER,
    &oha_db::READER,
    &locust::READER,
    &ab::READER,
    &har::READER,
    &phout::READER,
    &h2load::READER,
    &pgbench::READER,
    &tsung::READER,
    &siege::READER,
    &access_log::READER,
    &instants::READER,
    &columns::CSV,
    &columns::TSV,
];

/// An input format of another tool.
#[derive(Clone, Copy)]
pub struct InputFormat(&'static Reader);

impl InputFormat {
    /// The names of all formats, in the order in which they are tried.
    pub fn names() -> impl Iterator<Item = &'static str> {
        READERS.iter().map(|reader| reader.name)
    }

    /// The format with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        READERS.iter().find(|reader| reader.name == name).map(|reader| Self(reader))
    }

    /// The name of the format, as in [`Recording::format`].
    pub fn name(self) -> &'static str {
        self.0.name
    }
}

impl std::fmt::Debug for InputFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The first bytes of a file, without a byte order mark.
struct Head<'a> {
    bytes: &'a [u8],
}

impl<'a> Head<'a> {
    /// The first line that is not blank, without its end.
    fn line(&self) -> &'a [u8] {
        self.lines().find(|line| !line.is_empty()).unwrap_or_default()
    }

    fn lines(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.bytes.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii)
    }

    fn starts_with(&self, text: &str) -> bool {
        self.bytes.trim_ascii_start().starts_with(text.as_bytes())
    }

    fn contains(&self, text: &str) -> bool {
        memchr::memmem::find(self.bytes, text.as_bytes()).is_some()
    }

    /// Whether the first line is a JSON object with all of these keys.
    fn json_line(&self, keys: &[&str]) -> bool {
        let line = self.line();
        line.starts_with(b"{")
            && keys.iter().all(|key| memchr::memmem::find(line, format!("\"{key}\":").as_bytes()).is_some())
    }

    /// The cells of the first line, if it were a table with `delimiter`.
    fn cells(&self, delimiter: u8) -> Vec<&'a [u8]> {
        self.line().split(|&byte| byte == delimiter).map(|cell| cell.trim_ascii().trim_quotes()).collect()
    }
}

trait TrimQuotes {
    fn trim_quotes(self) -> Self;
}

impl TrimQuotes for &[u8] {
    fn trim_quotes(self) -> Self {
        self.strip_prefix(b"\"").and_then(|inner| inner.strip_suffix(b"\"")).unwrap_or(self)
    }
}

const HEAD: u64 = 1 << 16;

/// Reads `content` in the given or detected format.
pub(crate) fn read(name: &str, content: Content, options: &ReadOptions) -> Result<Recording, Error> {
    let mut head = Vec::new();
    match (&mut *content).take(HEAD).read_to_end(&mut head) {
        // A truncated compressed file: reading the rows reports it.
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => {}
        read => drop(read.map_err(Error::io("read", name.as_ref()))?),
    }
    if head.starts_with(b"\xef\xbb\xbf") {
        head.drain(..3);
    }
    if head.trim_ascii().is_empty() {
        return Err(Error::content(name, "is empty"));
    }
    let format = options.format.map_or_else(|| sniff(name, &Head { bytes: &head }, options), |format| Ok(format.0))?;
    if options.start_column.is_some() && !format.has_columns() {
        return Err(Error::content(
            name,
            format!("has the format {}, whose columns are fixed; remove the names of columns", format.name),
        ));
    }
    if options.stamps.is_some() && !format.name.starts_with("jtl") {
        return Err(Error::content(
            name,
            format!("has the format {}; remove the option `stamps`, which applies only to JMeter files", format.name),
        ));
    }
    let mut intake = Intake::new(name, format.name);
    (format.read)(&mut Cursor::new(head).chain(content), options, &mut intake)?;
    intake.finish(options.tick)
}

fn sniff(name: &str, head: &Head, options: &ReadOptions) -> Result<&'static Reader, Error> {
    if head.bytes.starts_with(b"\xff\xfe") || head.bytes.starts_with(b"\xfe\xff") {
        return Err(Error::content(name, "is UTF-16 text; convert it first: iconv -f UTF-16 -t UTF-8"));
    }
    READERS
        .iter()
        .copied()
        // A named column means that the file is a table, whatever tool it looks like.
        .find(|reader| (options.start_column.is_none() || reader.has_columns()) && (reader.sniff)(head))
        .ok_or_else(|| match refused::why(head) {
            Some(why) => Error::content(name, why),
            None => Error::UnknownFormat { file: name.to_owned(), formats: InputFormat::names().collect() },
        })
}

#[cfg(test)]
mod tests;
