//! The seal of a part: a checksum of its pages, written into its footer and looked at before any page is believed.
//!
//! Nothing else in a Parquet file as the `parquet` crate writes it (60) tells a flipped bit from a value: it knows no checksums
//! of pages when writing. CRC-32, which the format itself would use for them, is for accidents of disks and copies, not for
//! those who mean to deceive.

use std::io::{self, Write};
use std::sync::Arc;

use flate2::Crc;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

/// Under this name the seal stands in the footer.
pub(super) const SEAL: &str = "offered.pages_crc32";

/// Passes bytes on and remembers their checksum.
pub(super) struct Sealing<W> {
    out: W,
    bytes: u64,
    crc: Crc,
}

impl<W> Sealing<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, bytes: 0, crc: Crc::new() }
    }

    /// Of all bytes so far: how many, and their checksum.
    pub(super) fn seal(&self) -> String {
        text(self.bytes, &self.crc)
    }
}

impl<W: Write> Write for Sealing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.crc.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn text(bytes: u64, crc: &Crc) -> String {
    format!("{bytes} {:08x}", crc.sum())
}

/// Whether the pages of `part` are those that were sealed.
///
/// # Errors
/// They are not, or cannot be read.
pub(super) fn check<R: ChunkReader>(part: &R, seal: &str) -> Result<()> {
    let broken =
        || ParquetError::General("its checksum is not that of what is in it; restore it from a copy".to_owned());
    let sealed =
        seal.split(' ').next().and_then(|bytes| bytes.parse::<u64>().ok()).filter(|bytes| *bytes <= part.len());
    let pages = part.get_bytes(0, sealed.ok_or_else(broken)? as usize)?;
    let mut crc = Crc::new();
    crc.update(&pages);
    if text(pages.len() as u64, &crc) == seal { Ok(()) } else { Err(broken()) }
}

/// A part that is read by the crate and looked at by us.
pub(super) struct Shared<R>(pub(super) Arc<R>);

impl<R: Length> Length for Shared<R> {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl<R: ChunkReader> ChunkReader for Shared<R> {
    type T = R::T;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        self.0.get_read(start)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<bytes::Bytes> {
        self.0.get_bytes(start, length)
    }
}
