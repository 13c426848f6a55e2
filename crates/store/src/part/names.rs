//! A column of names: few different ones, said row by row by their number in a dictionary.
//!
//! The crate's own reader hands out the name itself for every row, a counted reference to be made, compared and dropped again, which took two
//! fifths of the time in which a part was gone through. Here a name is looked at once in a row group. What is read is the format's
//! dictionary encoding: pages of numbers, in runs of one that is repeated or of eight at a time in so many bits each
//! (Apache Parquet, Encodings.md, "Dictionary Encoding" and "Run Length Encoding / Bit-Packing Hybrid").

use bytes::Bytes;
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageReader};
use parquet::errors::{ParquetError, Result};

/// A required column of names, whose rows are read one after another as what `code` made of their names.
pub(super) struct Names {
    pages: Box<dyn PageReader>,
    /// What the names of the dictionary stand for.
    codes: Vec<u16>,
    page: Rows,
}

/// The rows that are left of a page.
enum Rows {
    /// Each the number of a name.
    Numbered { left: u32, numbers: Numbers },
    /// Each a name: where there are so many that a dictionary does not pay.
    Spelt { left: u32, names: Bytes },
}

impl Names {
    pub(super) fn new(pages: Box<dyn PageReader>) -> Self {
        Self { pages, codes: Vec::new(), page: Rows::Spelt { left: 0, names: Bytes::new() } }
    }

    /// What the name of the next row stands for.
    #[inline]
    pub(super) fn next(&mut self, code: &mut impl FnMut(&[u8]) -> Result<u16>) -> Result<u16> {
        loop {
            match &mut self.page {
                Rows::Numbered { left: left @ 1.., numbers } => {
                    *left -= 1;
                    let number = numbers.next()? as usize;
                    return self.codes.get(number).copied().ok_or_else(damaged);
                }
                Rows::Spelt { left: left @ 1.., names } => {
                    *left -= 1;
                    return code(&spelt(names)?);
                }
                _ => self.turn(code)?,
            }
        }
    }

    /// Goes on to the next page.
    fn turn(&mut self, code: &mut impl FnMut(&[u8]) -> Result<u16>) -> Result<()> {
        match self.pages.get_next_page()?.ok_or_else(damaged)? {
            Page::DictionaryPage { mut buf, num_values, .. } => {
                self.codes.clear();
                for _ in 0..num_values {
                    self.codes.push(code(&spelt(&mut buf)?)?);
                }
            }
            Page::DataPage { buf, num_values: left, encoding, .. } => {
                self.page = match encoding {
                    Encoding::PLAIN => Rows::Spelt { left, names: buf },
                    Encoding::RLE_DICTIONARY => Rows::Numbered { left, numbers: Numbers::of(buf)? },
                    _ => return Err(damaged()),
                }
            }
            Page::DataPageV2 { .. } => return Err(damaged()),
        }
        Ok(())
    }
}

/// The first of these names, each behind its length; they lose it.
fn spelt(names: &mut Bytes) -> Result<Bytes> {
    let length = names.first_chunk().map(|length| u32::from_le_bytes(*length) as usize).ok_or_else(damaged)?;
    let rest = names.len() - 4;
    if length > rest {
        return Err(damaged());
    }
    let _ = names.split_to(4);
    Ok(names.split_to(length))
}

/// Numbers of so many bits, in runs.
struct Numbers {
    data: Bytes,
    width: u32,
    /// Where the next run begins, in bytes.
    at: usize,
    /// So many times more the same.
    repeated: u64,
    same: u32,
    /// So many more packed ones, the next at this bit.
    packed: u64,
    bit: usize,
}

impl Numbers {
    /// Those of a page, whose first byte says of how many bits they are.
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

    /// The number that begins at this bit of this byte; what is behind the end is 0.
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

    /// Reads how the next run begins.
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
    ParquetError::General("its names are not as offered writes them; restore it from a copy".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(width: u8, runs: &[u8], count: usize) -> Result<Vec<u32>> {
        let mut numbers = Numbers::of(Bytes::from([&[width], runs].concat()))?;
        (0..count).map(|_| numbers.next()).collect()
    }

    #[test]
    fn runs_are_read_as_the_format_says() {
        // The example of Encodings.md: 0 to 7 in three bits each.
        assert_eq!(numbers(3, &[3, 0x88, 0xc6, 0xfa], 8).unwrap(), [0, 1, 2, 3, 4, 5, 6, 7]);
        // Five times 300 in two bytes, then eight of one bit.
        assert_eq!(numbers(9, &[10, 44, 1], 5).unwrap(), [300; 5]);
        assert_eq!(numbers(1, &[4, 1, 3, 0b0110_0101], 10).unwrap(), [1, 1, 1, 0, 1, 0, 0, 1, 1, 0]);
        // One name alone needs no bits.
        assert_eq!(numbers(0, &[200, 1], 100).unwrap(), [0; 100]);
    }

    #[test]
    fn what_is_cut_or_endless_is_an_error() {
        assert!(numbers(33, &[2, 1], 1).is_err());
        assert!(Numbers::of(Bytes::new()).is_err());
        assert!(numbers(1, &[], 1).is_err());
        assert!(numbers(1, &[2, 1], 2).is_err());
        // Runs of nothing come to an end with the page.
        assert!(numbers(1, &[0, 1, 0, 1, 1], 1).is_err());
        assert!(spelt(&mut Bytes::from_static(&[9, 0, 0, 0, b'a'])).is_err());
        assert!(spelt(&mut Bytes::from_static(&[9, 0])).is_err());
    }
}
