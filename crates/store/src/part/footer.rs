//! Checks the footer of a Parquet file before the `parquet` crate reads it.
//!
//! That crate skips unknown lists element by element, and boolean elements take no bytes. So seven bytes can claim two
//! thousand million elements (version 60, found by fuzzing). No list in a Parquet footer holds booleans, and every
//! other element takes at least one byte. So this check takes at most as many steps as there are bytes.
//!
//! Source: the Thrift compact protocol, <https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md>.

use parquet::errors::{ParquetError, Result};
use parquet::file::reader::ChunkReader;

/// Maximum nesting depth of structs and lists; a schema needs six.
const DEPTH: u8 = 20;
const TAIL: u64 = 8;

/// Checks that the footer of `part` is well-formed Thrift.
///
/// # Errors
/// The footer is damaged, or the file is unreadable.
pub(crate) fn check<R: ChunkReader>(part: &R) -> Result<()> {
    let damaged = || ParquetError::General("the footer is damaged; restore the file from a copy".to_owned());
    let tail_at = part.len().checked_sub(TAIL).ok_or_else(damaged)?;
    let tail = part.get_bytes(tail_at, TAIL as usize)?;
    let length = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
    let footer = part.get_bytes(tail_at.checked_sub(length).ok_or_else(damaged)?, length as usize)?;
    Walk(&footer).structure(DEPTH).ok_or_else(damaged)
}

/// The remaining bytes.
pub(super) struct Walk<'a>(&'a [u8]);

impl<'a> Walk<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Number of remaining bytes.
    pub(super) fn left(&self) -> usize {
        self.0.len()
    }

    /// Skips a structure, and returns its integers (of 16 to 64 bits) with these field numbers. `None` if one is missing or negative.
    pub(super) fn integers<const N: usize>(&mut self, fields: [u64; N]) -> Option<[u64; N]> {
        let (mut found, mut field) = ([None; N], 0);
        loop {
            let head = self.byte()?;
            let kind = head & 0xf;
            if kind == 0 {
                break;
            }
            field = if head >> 4 == 0 { self.integer()? } else { field + u64::from(head >> 4) };
            match (fields.iter().position(|wanted| *wanted == field), kind) {
                (Some(index), 4..=6) => found[index] = Some(self.integer()?),
                (_, 1 | 2) => {}
                _ => self.value(kind, DEPTH)?,
            }
        }
        let found: Vec<u64> = found.into_iter().flatten().collect();
        found.try_into().ok()
    }

    /// A zigzag-encoded number that is not negative.
    fn integer(&mut self) -> Option<u64> {
        self.number().filter(|number| number & 1 == 0).map(|number| number >> 1)
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn bytes(&mut self, n: u64) -> Option<()> {
        self.0 = self.0.get(usize::try_from(n).ok()?..)?;
        Some(())
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn structure(&mut self, depth: u8) -> Option<()> {
        loop {
            let head = self.byte()?;
            match head & 0xf {
                0 => return Some(()),
                // A boolean field has its value in its header.
                kind => {
                    if head >> 4 == 0 {
                        self.number()?;
                    }
                    if kind > 2 {
                        self.value(kind, depth)?;
                    }
                }
            }
        }
    }

    /// Skips a value of this type, which is not boolean.
    fn value(&mut self, kind: u8, depth: u8) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match kind {
            3 => self.byte().map(drop),
            4..=6 => self.number().map(drop),
            7 => self.bytes(8),
            8 => {
                let length = self.number()?;
                self.bytes(length)
            }
            9 | 10 => {
                let head = self.byte()?;
                let size = if head >> 4 == 15 { self.number()? } else { u64::from(head >> 4) };
                (0..size).try_for_each(|_| self.value(head & 0xf, depth))
            }
            11 => match self.number()? {
                0 => Some(()),
                size => {
                    let kinds = self.byte()?;
                    (0..size)
                        .try_for_each(|_| self.value(kinds >> 4, depth).and_then(|()| self.value(kinds & 0xf, depth)))
                }
            },
            12 => self.structure(depth),
            13 => self.bytes(16),
            _ => None,
        }
    }
}
