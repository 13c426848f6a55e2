//! Decoder of chunked bodies (RFC 9112, section 7.1). The load generator reads responses with it, and the reference server
//! reads requests.
//!
//! The decoder is strict: every line must end with CR LF, a size has at most sixteen hexadecimal digits, and trailers are
//! fields. Lenient decoders disagree about where a body ends: a size such as `1\r2` is 1 to one and 18 to another. The
//! total size of extensions and trailers is limited, so that a peer cannot keep the decoder busy with them.
//!
//! ```
//! use offered_io::chunked::{Decoder, Piece};
//!
//! let mut decoder = Decoder::new(1024);
//! let mut input = &b"5\r\nhello\r\n0\r\n\r\nthe next response"[..];
//! assert_eq!(decoder.next(&mut input), Ok(Piece::Data(b"hello")));
//! assert_eq!(decoder.next(&mut input), Ok(Piece::End));
//! assert_eq!(input, b"the next response");
//! ```

/// Maximum number of digits of a size. No valid size needs more, and leading zeros must not continue forever.
const MAX_DIGITS: u8 = 16;

/// Decodes one chunked body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoder {
    state: State,
    /// Number of remaining data bytes of the chunk; while a size is read, its value so far.
    left: u64,
    /// Number of bytes that extensions and trailers may still have.
    room: u32,
}

/// The position of the next byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// In a size, after this many digits.
    Size(u8),
    /// After a size: spaces and extensions, which are ignored.
    Extension,
    /// After the CR of the size line.
    SizeEnd,
    Data,
    /// After the data: before the CR, and before the LF.
    DataEnd,
    DataEndLf,
    /// After the last chunk: at the start of a line, in a field name, in its value, after the CR of its line.
    Trailer,
    Name,
    Value,
    ValueEnd,
    /// After the CR of the empty line that ends the body.
    LastLf,
    End,
}

/// The piece that the decoder found at the front of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Data of the body, never empty.
    Data(&'a [u8]),
    /// The input ends here; more input is needed.
    More,
    /// The body is complete. The remaining input is not part of it.
    End,
}

/// Why bytes are not a chunked body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.message())]
pub enum ChunkError {
    /// A line that should begin with a size does not.
    NoSize,
    /// A size with a character that is not a hexadecimal digit.
    NotNumber,
    /// A size of more than sixteen digits, or of 2^63 and more.
    TooLarge,
    /// Something other than CR LF after the data of a chunk.
    TooLong,
    /// A line that does not end with CR LF, or contains a control character.
    Line,
    /// A line after the last chunk that is not a field.
    Trailer,
    /// Extensions and trailers exceed their limit.
    NoRoom,
}

impl ChunkError {
    /// The error as a message.
    pub const fn message(self) -> &'static str {
        match self {
            Self::NoSize => "a chunk without a size",
            Self::NotNumber => "a chunk size that is not a number",
            Self::TooLarge => "a chunk size that is too large",
            Self::TooLong => "a chunk longer than its size",
            Self::Line => "a line of a chunked body that does not end with CR LF",
            Self::Trailer => "an invalid trailer",
            Self::NoRoom => "too many chunk extensions or trailers",
        }
    }
}

impl Decoder {
    /// A decoder at the start of a body. Its extensions and trailers may have `room` bytes in total.
    pub const fn new(room: u32) -> Self {
        Self { state: State::Size(0), left: 0, room }
    }

    /// Takes the next piece of data from the front of `input` and advances it.
    ///
    /// # Errors
    /// The bytes are not a chunked body. The decoder must not be used again.
    #[inline]
    pub fn next<'a>(&mut self, input: &mut &'a [u8]) -> Result<Piece<'a>, ChunkError> {
        loop {
            match (self.state, input.first()) {
                (State::End, _) => return Ok(Piece::End),
                (_, None) => return Ok(Piece::More),
                (State::Data, _) => {
                    let taken = input.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
                    let (data, rest) = input.split_at(taken);
                    *input = rest;
                    self.left -= taken as u64;
                    if self.left == 0 {
                        self.state = State::DataEnd;
                    }
                    return Ok(Piece::Data(data));
                }
                (_, Some(&byte)) => {
                    *input = &input[1..];
                    self.state = self.step(byte)?;
                }
            }
        }
    }

    /// Takes one byte that is not data; returns the next state.
    fn step(&mut self, byte: u8) -> Result<State, ChunkError> {
        Ok(match (self.state, byte) {
            (State::Size(digits), b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                if digits == MAX_DIGITS || self.left > (i64::MAX >> 4) as u64 {
                    return Err(ChunkError::TooLarge);
                }
                self.left = self.left << 4 | u64::from(char::from(byte).to_digit(16).unwrap_or(0));
                State::Size(digits + 1)
            }
            (State::Size(0), b'\r' | b'\n' | b';') => return Err(ChunkError::NoSize),
            (State::Size(1..) | State::Extension, b'\r') => State::SizeEnd,
            (State::Size(1..), b'\n') => return Err(ChunkError::Line),
            (State::Size(1..), b';' | b' ' | b'\t') => self.spend(State::Extension)?,
            (State::Size(_), _) => return Err(ChunkError::NotNumber),
            (State::SizeEnd, b'\n') if self.left == 0 => State::Trailer,
            (State::SizeEnd, b'\n') => State::Data,
            (State::DataEnd, b'\r') => State::DataEndLf,
            (State::DataEndLf, b'\n') => State::Size(0),
            (State::DataEnd | State::DataEndLf, _) => return Err(ChunkError::TooLong),
            (State::Trailer, b'\r') => State::LastLf,
            (State::LastLf, b'\n') => State::End,
            (State::Name, b':') => self.spend(State::Value)?,
            (State::Trailer | State::Name, byte) if is_token(byte) => self.spend(State::Name)?,
            (State::Trailer | State::Name, _) => return Err(ChunkError::Trailer),
            (State::Value, b'\r') => self.spend(State::ValueEnd)?,
            (State::ValueEnd, b'\n') => self.spend(State::Trailer)?,
            (State::SizeEnd | State::ValueEnd | State::LastLf, _) => return Err(ChunkError::Line),
            (State::Extension | State::Value, byte) if byte.is_ascii_control() && byte != b'\t' => {
                return Err(ChunkError::Line);
            }
            (state @ (State::Extension | State::Value), _) => self.spend(state)?,
            (State::Data | State::End, _) => unreachable!("taken in whole pieces"),
        })
    }

    /// Counts one byte of extensions and trailers, and goes to `state`.
    fn spend(&mut self, state: State) -> Result<State, ChunkError> {
        self.room = self.room.checked_sub(1).ok_or(ChunkError::NoRoom)?;
        Ok(state)
    }
}

/// Decodes `bytes` in pieces of `size` bytes, for tests. Returns the data and, if the body is complete, the number of
/// bytes after its end.
///
/// # Errors
/// The bytes are not a chunked body, or have more than `room` bytes of extensions and trailers.
///
/// # Panics
/// If `size` is 0.
pub fn decode_in_pieces(bytes: &[u8], size: usize, room: u32) -> Result<(Vec<u8>, Option<usize>), ChunkError> {
    let (mut decoder, mut data, mut given) = (Decoder::new(room), Vec::new(), 0);
    for piece in bytes.chunks(size) {
        let mut input = piece;
        given += piece.len();
        loop {
            match decoder.next(&mut input)? {
                Piece::Data(more) => data.extend_from_slice(more),
                Piece::More => break,
                Piece::End => return Ok((data, Some(bytes.len() - given + input.len()))),
            }
        }
    }
    Ok((data, None))
}

/// The characters of field names (RFC 9110, section 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::decode_in_pieces as read;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn invalid_bodies_are_rejected_in_pieces_of_any_size() {
        for (bytes, wrong) in [
            ("\r\n", ChunkError::NoSize),
            (";x\r\n", ChunkError::NoSize),
            ("x\r\n", ChunkError::NotNumber),
            ("0x5\r\nhello\r\n0\r\n\r\n", ChunkError::NotNumber),
            ("+5\r\nhello\r\n", ChunkError::NotNumber),
            ("-1\r\n", ChunkError::NotNumber),
            ("1\r2\n", ChunkError::Line),
            ("5\nhello\r\n", ChunkError::Line),
            ("5;a\nb\r\nhello", ChunkError::Line),
            ("5;a\rb\r\nhello", ChunkError::Line),
            ("5;a\0\r\nhello", ChunkError::Line),
            ("5\r\nhello\n", ChunkError::TooLong),
            ("5\r\nhello\r\r\n", ChunkError::TooLong),
            ("1\r\nhello\r\n", ChunkError::TooLong),
            ("00000000000000005\r\n", ChunkError::TooLarge),
            ("8000000000000000\r\n", ChunkError::TooLarge),
            ("0\r\nno field\r\n\r\n", ChunkError::Trailer),
            ("0\r\n: x\r\n\r\n", ChunkError::Trailer),
            ("0\r\n folded: x\r\n\r\n", ChunkError::Trailer),
            ("0\r\na: x\n\r\n", ChunkError::Line),
            ("0\r\n\r\r", ChunkError::Line),
        ] {
            for size in [1, 2, 3, 100] {
                assert_eq!(read(bytes.as_bytes(), size, 1000), Err(wrong), "{bytes:?} by {size}");
            }
        }
        assert_eq!(read(b"7fffffffffffffff\r\n", 1, 0), Ok((vec![], None)));
    }

    #[test]
    fn extensions_and_trailers_share_a_limit() {
        let body = b"1;ab\r\nx\r\n1 \r\ny\r\n0\r\nT: 1\r\n\r\nrest";
        assert_eq!(read(body, 5, 10), Ok((b"xy".to_vec(), Some(4))));
        assert_eq!(read(body, 5, 9), Err(ChunkError::NoRoom));
        let endless = [b"1;".to_vec(), vec![b'a'; 100_000]].concat();
        assert_eq!(read(&endless, 1000, 16_384), Err(ChunkError::NoRoom));
    }

    proptest! {
        #[test]
        fn encoded_bodies_are_decoded(
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
        fn the_size_of_pieces_does_not_matter(bytes in "[0-9a-f\r\n;: x]{0,60}", cut in 1usize..9) {
            let whole = read(bytes.as_bytes(), bytes.len().max(1), 20);
            prop_assert_eq!(read(bytes.as_bytes(), cut, 20), whole);
        }
    }
}
