//! Chunked bodies (RFC 9112, section 7.1), read byte by byte where it matters and in slices where it counts.

use super::{Bad, MAX_HEAD};

/// Where in a chunked body the next byte stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In the digits of a chunk's size.
    Size,
    /// In the rest of the size line, which says nothing to us.
    Extension,
    /// In the data.
    Data,
    /// Behind the data, where CR LF is due.
    DataEnd,
    /// In the lines after the last chunk, up to an empty one.
    Trailer,
    End,
}

/// The state of a chunked body.
#[derive(Debug)]
pub(super) struct Chunks {
    place: Place,
    /// Bytes of data that the chunk still owes, or its size so far.
    left: u64,
    /// Bytes of the line so far, its end not counted.
    line: usize,
    /// Bytes that were not data, over the whole body: a bound on endless extensions and trailers.
    overhead: usize,
}

/// What [`Chunks::next`] found.
pub(super) enum Piece<'a> {
    Data(&'a [u8]),
    More,
    End,
}

impl Default for Chunks {
    fn default() -> Self {
        Self { place: Place::Size, left: 0, line: 0, overhead: 0 }
    }
}

impl Chunks {
    /// The next piece of data at the front of `input`, which moves on behind it.
    pub(super) fn next<'a>(&mut self, input: &mut &'a [u8]) -> Result<Piece<'a>, Bad> {
        loop {
            if self.place == Place::End {
                return Ok(Piece::End);
            }
            if input.is_empty() {
                return Ok(Piece::More);
            }
            if self.place == Place::Data {
                let taken = input.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
                self.left -= taken as u64;
                if self.left == 0 {
                    (self.place, self.line, self.overhead) = (Place::DataEnd, 0, 0);
                }
                return Ok(Piece::Data(input.split_off(..taken).unwrap_or_default()));
            }
            let byte = input[0];
            *input = &input[1..];
            self.overhead += 1;
            if self.overhead > MAX_HEAD {
                return Err(Bad::TooLarge);
            }
            self.step(byte)?;
        }
    }

    /// Takes one byte that is not data.
    fn step(&mut self, byte: u8) -> Result<(), Bad> {
        match (self.place, byte) {
            (Place::Size, digit) if digit.is_ascii_hexdigit() => {
                if self.left > u64::MAX >> 8 {
                    return Err(Bad::Malformed);
                }
                self.left = self.left << 4 | u64::from(char::from(digit).to_digit(16).unwrap_or(0));
                self.line += 1;
            }
            (Place::Size | Place::Extension, b'\n') if self.line > 0 => {
                self.place = if self.left == 0 { Place::Trailer } else { Place::Data };
                self.line = 0;
            }
            (Place::Size, b';' | b'\r' | b' ' | b'\t') if self.line > 0 => self.place = Place::Extension,
            (Place::Extension, _) | (Place::DataEnd | Place::Trailer, b'\r') => {}
            (Place::DataEnd, b'\n') => self.place = Place::Size,
            (Place::Trailer, b'\n') if self.line == 0 => self.place = Place::End,
            (Place::Trailer, b'\n') => self.line = 0,
            (Place::Trailer, _) => self.line += 1,
            _ => return Err(Bad::Malformed),
        }
        Ok(())
    }
}
