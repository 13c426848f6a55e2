//! The checksum of a part: a CRC-32 of its pages, written into the footer and checked before any page is read.
//!
//! Without it, a flipped bit in a Parquet file of the `parquet` crate (version 60) is not detected, because the crate
//! writes no page checksums. CRC-32, which the format itself specifies for pages, protects against accidents of disks
//! and copies, not against manipulation.

use std::io::{self, Write};
use std::sync::Arc;

use flate2::Crc;
use parquet::errors::Result;
use parquet::file::reader::{ChunkReader, Length};

use super::damage::damaged;

/// The footer key of the checksum.
pub(super) const SEAL: &str = "offered.pages_crc32";

/// A writer that computes the checksum of all bytes.
pub(super) struct ChecksumWriter<W> {
    out: W,
    bytes: u64,
    crc: Crc,
}

impl<W> ChecksumWriter<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, bytes: 0, crc: Crc::new() }
    }

    /// The number of bytes written and their checksum.
    pub(super) fn seal(&self) -> String {
        text(self.bytes, &self.crc)
    }
}

impl<W: Write> Write for ChecksumWriter<W> {
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

/// Checks the pages of `part` against the checksum `seal`.
///
/// # Errors
/// They differ, or are unreadable.
pub(super) fn check<R: ChunkReader>(part: &R, seal: &str) -> Result<()> {
    let broken = || damaged("the checksum of the file does not match its content");
    let length =
        seal.split(' ').next().and_then(|bytes| bytes.parse::<u64>().ok()).filter(|bytes| *bytes <= part.len());
    let pages = part.get_bytes(0, length.ok_or_else(broken)? as usize)?;
    let mut crc = Crc::new();
    crc.update(&pages);
    if text(pages.len() as u64, &crc) == seal { Ok(()) } else { Err(broken()) }
}

/// Shares a part between the crate's reader and ours.
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
