//! The one door: a path in, a recording out, whatever kind of file stands behind it.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use bytes::Bytes;
use offered_model::{Nanos, Recording};

use crate::error::Error;
use crate::foreign::{self, Format};
use crate::rundir;

/// What the reader cannot find out by itself, or should not.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The kind of file, instead of looking at its content.
    pub format: Option<Format>,
    /// What JMeter's stamps mean, instead of deciding by the overlaps.
    pub stamps: Option<Stamps>,
    /// The column of a table of no known tool that holds the launch times.
    pub start_column: Option<String>,
    /// The column that holds the ends.
    pub end_column: Option<String>,
    /// The column that holds the names of the requests.
    pub label_column: Option<String>,
    /// How long one unit of its numbers is, instead of telling by their size.
    pub unit: Option<Nanos>,
    /// How long a tick of the clock is that made its stamps, instead of telling by the grid on which they stand.
    pub tick: Option<Nanos>,
}

offered_model::named! {
    /// What the stamp of a sample is.
    pub enum Stamps {
        /// When it was launched.
        Start = "start",
        /// When it was over.
        End = "end",
    }
}

/// Reads a run: our directory, one of its parts, or a foreign file, `-` for stdin; gzip and zstd are undone on the way.
///
/// # Errors
/// The file is absent, unreadable, of no known kind, of a kind that has no launch times, or more than half of its rows cannot
/// be read.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Recording, Error> {
    if path.is_dir() {
        return rundir::read(path);
    }
    let name = path.display().to_string();
    if name == "-" {
        return read_from(&name, io::stdin().lock(), options);
    }
    read_from(&name, File::open(path).map_err(Error::io("open", path))?, options)
}

/// Reads the content of a file, as [`read`] does; `name` is what errors call it.
///
/// # Errors
/// Those of [`read`].
pub fn read_from(name: &str, raw: impl Read, options: &ReadOptions) -> Result<Recording, Error> {
    let mut raw = BufReader::with_capacity(BUFFER, raw);
    let mut content = plain(&mut raw).map_err(Error::io("read", name.as_ref()))?;
    let head = content.fill_buf().map_err(Error::io("read", name.as_ref()))?;
    if head.starts_with(b"PAR1") {
        let mut whole = Vec::new();
        content.read_to_end(&mut whole).map_err(Error::io("read", name.as_ref()))?;
        return rundir::read_part(name, Bytes::from(whole));
    }
    foreign::read(name, &mut *content, options)
}

const BUFFER: usize = 1 << 18;

/// The content without the compression around it, which is told by the first bytes, not by the name.
fn plain<'a>(raw: &'a mut impl BufRead) -> io::Result<Box<dyn BufRead + 'a>> {
    let head = raw.fill_buf()?;
    if head.starts_with(&[0x1f, 0x8b]) {
        Ok(Box::new(BufReader::with_capacity(BUFFER, flate2::bufread::MultiGzDecoder::new(raw))))
    } else if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        Ok(Box::new(BufReader::with_capacity(BUFFER, zstd::stream::read::Decoder::with_buffer(raw)?)))
    } else {
        Ok(Box::new(raw))
    }
}
