//! Opens any input: a run directory, one of its parts, or another tool's result file.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use bytes::Bytes;
use offered_events::Recording;

use crate::error::Error;
use crate::foreign::{self, ReadOptions};
use crate::rundir;

/// Opens a recording: a run directory, one of its parts, or another tool's file. `-` reads standard input. Decompresses gzip and zstd.
///
/// # Errors
/// The file is missing or unreadable, its format is unknown or has no send times, or more than half of its rows are unreadable.
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

/// Reads the content of a file like [`read`]. `name` identifies it in error messages.
///
/// # Errors
/// Same as [`read`].
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

/// Decompresses the input if its first bytes are those of a compressed file; file names are ignored.
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
