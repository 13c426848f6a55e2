//! The one door: a path in, a recording out, whatever kind of file stands behind it.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use bytes::Bytes;
use offered_model::Recording;

use crate::error::Error;
use crate::rundir;

/// What the reader cannot find out by itself.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {}

/// Reads a run: our directory, one of its parts, or a foreign file, `-` for stdin; gzip and zstd are undone on the way.
///
/// # Errors
/// The file is absent, unreadable, of no known kind, of a kind that has no launch times, or more than half of its rows cannot
/// be read.
pub fn read(path: &Path, _options: &ReadOptions) -> Result<Recording, Error> {
    if path.is_dir() {
        return rundir::read(path);
    }
    let name = path.display().to_string();
    let raw: Box<dyn Read> = if name == "-" {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(path).map_err(Error::io("open", path))?)
    };
    let mut content = plain(BufReader::with_capacity(BUFFER, raw)).map_err(Error::io("read", path))?;
    let head = content.fill_buf().map_err(Error::io("read", path))?;
    if head.starts_with(b"PAR1") {
        let mut whole = Vec::new();
        content.read_to_end(&mut whole).map_err(Error::io("read", path))?;
        return rundir::read_part(&name, Bytes::from(whole));
    }
    Err(Error::content(name, "is of no kind that is known here; give a run directory or a result file"))
}

const BUFFER: usize = 1 << 18;

/// The content without the compression around it, which is told by the first bytes, not by the name.
fn plain<R: BufRead + 'static>(mut raw: R) -> io::Result<Box<dyn BufRead>> {
    let head = raw.fill_buf()?;
    if head.starts_with(&[0x1f, 0x8b]) {
        Ok(Box::new(BufReader::with_capacity(BUFFER, flate2::bufread::MultiGzDecoder::new(raw))))
    } else if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        Ok(Box::new(BufReader::with_capacity(BUFFER, zstd::stream::read::Decoder::with_buffer(raw)?)))
    } else {
        Ok(Box::new(raw))
    }
}
