//! Reads a column of names: a dictionary, and its index for each row.
//!
//! The crate's own reader returns a reference-counted name for every row, which took two fifths of the time of a scan. Here each
//! dictionary entry is decoded once per row group. This module reads the dictionary encoding of the format: pages of indices, either
//! run-length encoded or bit-packed
//! (Apache Parquet, Encodings.md, "Dictionary Encoding" and "Run Length Encoding / Bit-Packing Hybrid").

use bytes::Bytes;
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageReader};
use parquet::errors::{ParquetError, Result};

/// A required column of names. Rows are returned in order, as the indices that `code` assigns to names.
pub(super) struct Names {
    pages: Box<dyn PageReader>,
    /// The number of each dictionary entry.
    codes: Vec<u16>,
    page: Rows,
}

/// The remaining rows of a page.
enum Rows {
    /// Each row is a dictionary index.
    Indices { left: u32, indices: Indices },
    /// Each row is a name: used when there are too many names for a dictionary.
    Plain { left: u32, names: Bytes },
}

impl Names {
    pub(super) fn new(pages: Box<dyn PageReader>) -> Self {
        Self { pages, codes: Vec::new(), page: Rows::Plain { left: 0, names: Bytes::new() } }
    }

    /// The number of the name in the next row.
    #[inline]
    pub(super) fn next(&mut self, code: &mut impl FnMut(&[u8]) -> Result<u16>) -> Result<u16> {
        loop {
            match &mut self.page {
                Rows::Indices { left: left @ 1.., indices } => {
                    *left -= 1;
                    let number = indices.next()? as usize;
                    return self.codes.get(number).copied().ok_or_else(damaged);
                }
                Rows::Plain { left: left @ 1.., names } => {
                    *left -= 1;
                    return code(&take_name(names)?);
                }
                _ => self.next_page(code)?,
            }
        }
    }

    /// Reads the next page.
    fn next_page(&mut self, code: &mut impl FnMut(&[u8]) -> Result<u16>) -> Result<()> {
        match self.pages.get_next_page()?.ok_or_else(damaged)? {
            Page::DictionaryPage { mut buf, num_values, .. } => {
                self.codes.clear();
                for _ in 0..num_values {
                    self.codes.push(code(&take_name(&mut buf)?)?);
                }
            }
            Page::DataPage { buf, num_values: left, encoding, .. } => {
                self.page = match encoding {
                    Encoding::PLAIN => Rows::Plain { left, names: buf },
                    Encoding::RLE_DICTIONARY => Rows::Indices { left, indices: Indices::of(buf)? },
                    _ => return Err(damaged()),
                }
            }
            Page::DataPageV2 { .. } => return Err(damaged()),
        }
        Ok(())
    }
}

/// Takes the first name off `names`; each name follows its length.
fn take_name(names: &mut Bytes) -> Result<Bytes> {
    let length = names.first_chunk().map(|length| u32::from_le_bytes(*length) as usize).ok_or_else(damaged)?;
    let rest = names.len() - 4;
    if length > rest {
        return Err(damaged());
    }
    let _ = names.split_to(4);
    Ok(names.split_to(length))
}

/// Run-length encoded or bit-packed integers of a fixed width.
struct Indices {
    data: Bytes,
    width: u32,
    /// Byte offset of the next run.
    at: usize,
    /// Remaining repetitions of `same`.
    repeated: u64,
    same: u32,
    /// Remaining bit-packed integers; the next one starts at bit `bit`.
    packed: u64,
    bit: usize,
}

impl Indices {
    /// Decodes a page; its first byte is the width in bits.
    fn of(data: Bytes) -> Result<Self> {
        let width = data.first().copied().filter(|&width| width <= 32).ok_or_else(damaged)?.into();
        Ok(Self { data, width, at: 1, repeated: 0, same: 0, packed: 0, bit: 0 })
    }

    #[inline]
    fn next(&mut self) -> Result<u32> {
        while self.repeated == 0 {
            if self.packed > 0 {
                self.packed -= 1;
                let number = self.bits(self.bit / 8, self.bit % 8);
                self.bit += self.width as usize;
                return Ok(number);
            }
            self.run()?;
        }
        self.repeated -= 1;
        Ok(self.same)
    }

    /// The integer at this bit of this byte. Bits past the end are 0.
    #[inline]
    fn bits(&self, byte: usize, bit: usize) -> u32 {
        let from = &self.data[byte.min(self.data.len())..];
        let eight = from.first_chunk().copied().unwrap_or_else(|| {
            let mut eight = [0; 8];
            eight[..from.len()].copy_from_slice(from);
            eight
        });
        ((u64::from_le_bytes(eight) >> bit) & ((1 << self.width) - 1)) as u32
    }

    /// Reads the header of the next run.
    fn run(&mut self) -> Result<()> {
        let mut header = 0_u64;
        for shift in (0..35).step_by(7) {
            let byte = *self.data.get(self.at).ok_or_else(damaged)?;
            self.at += 1;
            header |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        let runs = header >> 1;
        let bytes = if header & 1 == 0 {
            (self.repeated, self.same) = (runs, self.bits(self.at, 0));
            self.width.div_ceil(8) as usize
        } else {
            (self.packed, self.bit) = (8 * runs, 8 * self.at);
            runs as usize * self.width as usize
        };
        self.at += bytes;
        Ok(())
    }
}

fn damaged() -> ParquetError {
    ParquetError::General("the column of names is damaged; restore the file from a copy".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn indices(width: u8, runs: &[u8], count: usize) -> Result<Vec<u32>> {
        let mut indices = Indices::of(Bytes::from([&[width], runs].concat()))?;
        (0..count).map(|_| indices.next()).collect()
    }

    #[test]
    fn runs_are_decoded_as_specified() {
        // The example of Encodings.md: 0 to 7 in three bits each.
        assert_eq!(indices(3, &[3, 0x88, 0xc6, 0xfa], 8).unwrap(), [0, 1, 2, 3, 4, 5, 6, 7]);
        // Five times 300 in two bytes, then eight one-bit integers.
        assert_eq!(indices(9, &[10, 44, 1], 5).unwrap(), [300; 5]);
        assert_eq!(indices(1, &[4, 1, 3, 0b0110_0101], 10).unwrap(), [1, 1, 1, 0, 1, 0, 0, 1, 1, 0]);
        // A single name needs no bits.
        assert_eq!(indices(0, &[200, 1], 100).unwrap(), [0; 100]);
    }

    #[test]
    fn truncated_and_endless_runs_are_errors() {
        assert!(indices(33, &[2, 1], 1).is_err());
        assert!(Indices::of(Bytes::new()).is_err());
        assert!(indices(1, &[], 1).is_err());
        assert!(indices(1, &[2, 1], 2).is_err());
        // Empty runs end with the page.
        assert!(indices(1, &[0, 1, 0, 1, 1], 1).is_err());
        assert!(take_name(&mut Bytes::from_static(&[9, 0, 0, 0, b'a'])).is_err());
        assert!(take_name(&mut Bytes::from_static(&[9, 0])).is_err());
    }
}
