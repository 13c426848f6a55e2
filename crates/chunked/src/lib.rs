//! Chunked bodies (RFC 9112, section 7.1): bytes in any pieces in, data out. The load generator reads answers with it, the
//! reference server requests.
//!
//! It is strict: every line ends with CR LF, a size is at most sixteen hexadecimal digits, a trailer is made of fields. Readers that
//! forgive more disagree with each other about where a body ends, and a size such as `1\r2` is then 1 to one and 18 to another.
//! What is neither data nor a size is bounded over the whole body, so that no peer can keep its reader busy with nothing.
//!
//! ```
//! use offered_chunked::{Chunks, Piece};
//!
//! let mut chunks = Chunks::new(1024);
//! let mut input = &b"5\r\nhello\r\n0\r\n\r\nthe next answer"[..];
//! assert_eq!(chunks.next(&mut input), Ok(Piece::Data(b"hello")));
//! assert_eq!(chunks.next(&mut input), Ok(Piece::End));
//! assert_eq!(input, b"the next answer");
//! ```

/// The most digits of a size: more cannot be needed, and zeros without end would be none the less.
const MOST_DIGITS: u8 = 16;

/// A chunked body being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunks {
    place: Place,
    /// Bytes of data that the chunk still owes, or its size so far.
    left: u64,
    /// Bytes of extensions and trailers that may still come.
    room: u32,
}

/// Where the next byte stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In a size, behind so many digits.
    Size(u8),
    /// Behind a size: blanks and extensions, which say nothing to us.
    Extension,
    /// Behind the CR of a size's line.
    SizeEnd,
    Data,
    /// Behind data, where CR is due, and then LF.
    DataEnd,
    DataEndLf,
    /// At the start of a line behind the last chunk; in a field's name; in its value; behind the CR of its line.
    Trailer,
    Name,
    Value,
    ValueEnd,
    /// Behind the CR of the empty line that ends it all.
    LastLf,
    End,
}

/// What was found at the front of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Data of the body, never empty.
    Data(&'a [u8]),
    /// Nothing more: the rest has still to come.
    More,
    /// The body is complete; what is left of the bytes is not its.
    End,
}

/// Why bytes are not a chunked body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.words())]
pub enum Wrong {
    /// A line that should begin with a size does not.
    NoSize,
    /// A size with something in it that is no hexadecimal digit.
    NotNumber,
    /// A size of more than sixteen digits, or of 2^63 and more.
    TooLarge,
    /// Something other than CR LF behind the data.
    TooLong,
    /// A line that does not end with CR LF, or has a control character in it.
    Line,
    /// A line behind the last chunk that is no field.
    Trailer,
    /// More bytes of extensions and trailers than there is room for.
    NoRoom,
}

impl Wrong {
    /// The same in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::NoSize => "a chunk without a size",
            Self::NotNumber => "a chunk size that is not a number",
            Self::TooLarge => "a chunk size beyond all bounds",
            Self::TooLong => "a chunk longer than its size",
            Self::Line => "a line of a chunked body that does not end with CR LF",
            Self::Trailer => "a trailer that is no header",
            Self::NoRoom => "too many chunk extensions or trailers",
        }
    }
}

impl Chunks {
    /// At the start of a body; its extensions and trailers may have `room` bytes together.
    pub const fn new(room: u32) -> Self {
        Self { place: Place::Size(0), left: 0, room }
    }

    /// The next piece of data at the front of `input`, which moves on behind it.
    ///
    /// # Errors
    /// The bytes are no chunked body; the reader must not be asked again.
    #[inline]
    pub fn next<'a>(&mut self, input: &mut &'a [u8]) -> Result<Piece<'a>, Wrong> {
        loop {
            match (self.place, input.first()) {
                (Place::End, _) => return Ok(Piece::End),
                (_, None) => return Ok(Piece::More),
                (Place::Data, _) => {
                    let taken = input.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
                    let (data, rest) = input.split_at(taken);
                    *input = rest;
                    self.left -= taken as u64;
                    if self.left == 0 {
                        self.place = Place::DataEnd;
                    }
                    return Ok(Piece::Data(data));
                }
                (_, Some(&byte)) => {
                    *input = &input[1..];
                    self.place = self.step(byte)?;
                }
            }
        }
    }

    /// Takes one byte that is not data; where the next one stands.
    fn step(&mut self, byte: u8) -> Result<Place, Wrong> {
        Ok(match (self.place, byte) {
            (Place::Size(digits), b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                if digits == MOST_DIGITS || self.left > (i64::MAX >> 4) as u64 {
                    return Err(Wrong::TooLarge);
                }
                self.left = self.left << 4 | u64::from(char::from(byte).to_digit(16).unwrap_or(0));
                Place::Size(digits + 1)
            }
            (Place::Size(0), b'\r' | b'\n' | b';') => return Err(Wrong::NoSize),
            (Place::Size(1..) | Place::Extension, b'\r') => Place::SizeEnd,
            (Place::Size(1..), b'\n') => return Err(Wrong::Line),
            (Place::Size(1..), b';' | b' ' | b'\t') => self.spend(Place::Extension)?,
            (Place::Size(_), _) => return Err(Wrong::NotNumber),
            (Place::SizeEnd, b'\n') if self.left == 0 => Place::Trailer,
            (Place::SizeEnd, b'\n') => Place::Data,
            (Place::DataEnd, b'\r') => Place::DataEndLf,
            (Place::DataEndLf, b'\n') => Place::Size(0),
            (Place::DataEnd | Place::DataEndLf, _) => return Err(Wrong::TooLong),
            (Place::Trailer, b'\r') => Place::LastLf,
            (Place::LastLf, b'\n') => Place::End,
            (Place::Name, b':') => self.spend(Place::Value)?,
            (Place::Trailer | Place::Name, byte) if is_token(byte) => self.spend(Place::Name)?,
            (Place::Trailer | Place::Name, _) => return Err(Wrong::Trailer),
            (Place::Value, b'\r') => self.spend(Place::ValueEnd)?,
            (Place::ValueEnd, b'\n') => self.spend(Place::Trailer)?,
            (Place::SizeEnd | Place::ValueEnd | Place::LastLf, _) => return Err(Wrong::Line),
            (Place::Extension | Place::Value, byte) if byte.is_ascii_control() && byte != b'\t' => {
                return Err(Wrong::Line);
            }
            (place @ (Place::Extension | Place::Value), _) => self.spend(place)?,
            (Place::Data | Place::End, _) => unreachable!("taken in whole pieces"),
        })
    }

    /// Goes on to `place`, a byte of extensions and trailers later.
    fn spend(&mut self, place: Place) -> Result<Place, Wrong> {
        self.room = self.room.checked_sub(1).ok_or(Wrong::NoRoom)?;
        Ok(place)
    }
}

/// The data of a body of which all `bytes` are here, read in pieces of `size` of them; with how many bytes are left behind its end, if it
/// has come to one.
///
/// # Errors
/// It is not a chunked body, or has more than `room` bytes of extensions and trailers.
///
/// # Panics
/// If `size` is 0.
pub fn put_together(bytes: &[u8], size: usize, room: u32) -> Result<(Vec<u8>, Option<usize>), Wrong> {
    let (mut chunks, mut data, mut given) = (Chunks::new(room), Vec::new(), 0);
    for piece in bytes.chunks(size) {
        let mut input = piece;
        given += piece.len();
        loop {
            match chunks.next(&mut input)? {
                Piece::Data(more) => data.extend_from_slice(more),
                Piece::More => break,
                Piece::End => return Ok((data, Some(bytes.len() - given + input.len()))),
            }
        }
    }
    Ok((data, None))
}

/// What names of fields are made of (RFC 9110, section 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::put_together as read;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_not_strictly_chunked_is_refused_however_it_is_cut() {
        for (bytes, wrong) in [
            ("\r\n", Wrong::NoSize),
            (";x\r\n", Wrong::NoSize),
            ("x\r\n", Wrong::NotNumber),
            ("0x5\r\nhello\r\n0\r\n\r\n", Wrong::NotNumber),
            ("+5\r\nhello\r\n", Wrong::NotNumber),
            ("-1\r\n", Wrong::NotNumber),
            ("1\r2\n", Wrong::Line),
            ("5\nhello\r\n", Wrong::Line),
            ("5;a\nb\r\nhello", Wrong::Line),
            ("5;a\rb\r\nhello", Wrong::Line),
            ("5;a\0\r\nhello", Wrong::Line),
            ("5\r\nhello\n", Wrong::TooLong),
            ("5\r\nhello\r\r\n", Wrong::TooLong),
            ("1\r\nhello\r\n", Wrong::TooLong),
            ("00000000000000005\r\n", Wrong::TooLarge),
            ("8000000000000000\r\n", Wrong::TooLarge),
            ("0\r\nno field\r\n\r\n", Wrong::Trailer),
            ("0\r\n: x\r\n\r\n", Wrong::Trailer),
            ("0\r\n folded: x\r\n\r\n", Wrong::Trailer),
            ("0\r\na: x\n\r\n", Wrong::Line),
            ("0\r\n\r\r", Wrong::Line),
        ] {
            for size in [1, 2, 3, 100] {
                assert_eq!(read(bytes.as_bytes(), size, 1000), Err(wrong), "{bytes:?} by {size}");
            }
        }
        assert_eq!(read(b"7fffffffffffffff\r\n", 1, 0), Ok((vec![], None)));
    }

    #[test]
    fn extensions_and_trailers_have_one_bound_together() {
        let body = b"1;ab\r\nx\r\n1 \r\ny\r\n0\r\nT: 1\r\n\r\nrest";
        assert_eq!(read(body, 5, 10), Ok((b"xy".to_vec(), Some(4))));
        assert_eq!(read(body, 5, 9), Err(Wrong::NoRoom));
        let endless = [b"1;".to_vec(), vec![b'a'; 100_000]].concat();
        assert_eq!(read(&endless, 1000, 16_384), Err(Wrong::NoRoom));
    }

    proptest! {
        #[test]
        fn what_was_cut_into_chunks_is_put_together(
            parts in proptest::collection::vec((proptest::collection::vec(any::<u8>(), 1..300), "(;[a-z]{0,9})?", 0usize..4), 0..12),
            trailers in proptest::collection::vec("[A-Za-z-]{1,9}: [ -~]{0,20}", 0..3),
            cut in 1usize..97,
        ) {
            let (mut bytes, mut data) = (Vec::new(), Vec::new());
            for (part, extension, zeros) in &parts {
                bytes.extend(format!("{}{:X}{extension}\r\n", "0".repeat(*zeros), part.len()).into_bytes());
                bytes.extend(part);
                bytes.extend(b"\r\n");
                data.extend(part);
            }
            bytes.extend(b"0\r\n");
            for line in &trailers {
                bytes.extend(format!("{line}\r\n").into_bytes());
            }
            bytes.extend(b"\r\nNEXT");
            prop_assert_eq!(read(&bytes, cut, 1000), Ok((data, Some(4))));
        }

        #[test]
        fn cuts_change_nothing(bytes in "[0-9a-f\r\n;: x]{0,60}", cut in 1usize..9) {
            let whole = read(bytes.as_bytes(), bytes.len().max(1), 20);
            prop_assert_eq!(read(bytes.as_bytes(), cut, 20), whole);
        }
    }
}
