//! Splits a stream of bytes into messages. Bodies are kept if they are short and needed.

use std::mem;

use bytes::{BufMut, BytesMut};
use fallible_iterator::FallibleIterator;
use offered_events::{Outcome, Reason};
use postgres_protocol::message::backend::{ErrorFields, Message};

use crate::transport::Failure;

/// Maximum size of a body. The longer body of a row or notice is skipped; a longer body of any other message is an error.
const MAX_MESSAGE: usize = 1 << 20;
/// Size of a message head: a tag, and a length that includes itself.
const HEAD: usize = 5;
/// Maximum capacity of a buffer that is kept for the next message.
const MAX_BUFFER: usize = 16 * 1024;
/// The tags of the messages of PostgreSQL 3.0 and 3.2.
const TAGS: &[u8] = b"123ACDEGHIKNRSTVWZcdnstv";

/// Splits a stream into messages.
#[derive(Debug, Default)]
pub(super) struct MessageReader {
    head: [u8; HEAD],
    /// Number of bytes of the head received.
    head_bytes: usize,
    /// Size of the body, and the number of its bytes still to come.
    size: usize,
    left: usize,
    /// Whether the body is kept.
    keeps_body: bool,
    /// The body so far, if it arrives in pieces, and the last complete body that arrived in pieces.
    pieces: Vec<u8>,
    whole: Vec<u8>,
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RawMessage<'a> {
    pub(super) tag: u8,
    /// The body; empty if it was not kept.
    pub(super) body: &'a [u8],
    /// Size of the body in bytes.
    pub(super) size: usize,
}

impl RawMessage<'_> {
    /// Size of the whole message in bytes.
    pub(super) fn bytes(&self) -> u64 {
        (HEAD + self.size) as u64
    }

    /// The decoded message. For rare messages only, because it copies the body.
    pub(super) fn message(&self) -> Result<Message, Failure> {
        let mut bytes = BytesMut::with_capacity(HEAD + self.body.len());
        bytes.put_u8(self.tag);
        bytes.put_u32(self.body.len() as u32 + 4);
        bytes.put_slice(self.body);
        match Message::parse(&mut bytes) {
            Ok(Some(message)) => Ok(message),
            Ok(None) => Err(malformed("a message is truncated")),
            Err(reason) => Err(malformed(&format!("a message `{}`: {reason}", char::from(self.tag)))),
        }
    }

    /// The reason in an error message.
    pub(super) fn error(&self) -> Result<Reason, Failure> {
        match self.message()? {
            Message::ErrorResponse(error) => Ok(reason(error.fields())),
            _ => Err(malformed("an invalid error message")),
        }
    }
}

/// The reason from the fields of an error (chapter 55.8 of the PostgreSQL manual).
fn reason(mut fields: ErrorFields<'_>) -> Reason {
    let (mut code, mut words) = (None, String::new());
    while let Ok(Some(field)) = fields.next() {
        let value = || String::from_utf8_lossy(field.value_bytes());
        match field.type_() {
            b'C' => code = value().parse().ok(),
            b'M' => words = value().into_owned(),
            _ => {}
        }
    }
    code.map_or_else(|| Reason::read(&words), |code| Reason::Sql(code, words.as_str().into()))
}

/// A failure for a peer that violates the protocol.
pub(super) fn malformed(reason: &str) -> Failure {
    (Outcome::Malformed, Reason::read(&format!("not PostgreSQL: {reason}")))
}

impl MessageReader {
    /// Takes the next message out of `bytes` and advances it; `None` if the message is incomplete. Rows are kept only
    /// if they are `wanted`.
    pub(super) fn next<'a, 'b: 'a>(
        &'a mut self,
        bytes: &mut &'b [u8],
        wanted: bool,
    ) -> Result<Option<RawMessage<'a>>, Failure> {
        if self.head_bytes < HEAD {
            let (piece, rest) = bytes.split_at(bytes.len().min(HEAD - self.head_bytes));
            self.head[self.head_bytes..][..piece.len()].copy_from_slice(piece);
            self.head_bytes += piece.len();
            *bytes = rest;
            if self.head_bytes < HEAD {
                return Ok(None);
            }
            self.begin(wanted)?;
        }
        let (piece, rest) = bytes.split_at(bytes.len().min(self.left));
        *bytes = rest;
        self.left -= piece.len();
        if self.left > 0 {
            if self.keeps_body {
                self.pieces.extend_from_slice(piece);
            }
            return Ok(None);
        }
        self.head_bytes = 0;
        let body = match (self.keeps_body, self.pieces.is_empty()) {
            (false, _) => &[],
            (true, true) => piece,
            (true, false) => {
                self.pieces.extend_from_slice(piece);
                mem::swap(&mut self.pieces, &mut self.whole);
                self.pieces.clear();
                self.pieces.shrink_to(MAX_BUFFER);
                &self.whole[..]
            }
        };
        Ok(Some(RawMessage { tag: self.head[0], body, size: self.size }))
    }

    /// Parses the head of a message.
    fn begin(&mut self, wanted: bool) -> Result<(), Failure> {
        let [tag, length @ ..] = self.head;
        let length = u32::from_be_bytes(length) as usize;
        if !TAGS.contains(&tag) || length < 4 {
            let tag = char::from(tag).escape_default();
            return Err(malformed(&format!("a message `{tag}` with a length of {length} bytes")));
        }
        self.size = length - 4;
        self.left = self.size;
        self.keeps_body = self.size <= MAX_MESSAGE && (tag != b'D' || wanted);
        // A notice may have any length, because it is ignored.
        if self.size > MAX_MESSAGE && tag != b'D' && tag != b'N' {
            return Err(malformed(&format!("a message `{}` with a length of {length} bytes", char::from(tag))));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(messages: &[(u8, Vec<u8>)]) -> Vec<u8> {
        let message =
            |(tag, body): &(u8, Vec<u8>)| [&[*tag][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat();
        messages.iter().flat_map(message).collect()
    }

    fn read(reader: &mut MessageReader, mut bytes: &[u8], wanted: bool) -> Result<Vec<(u8, Vec<u8>, usize)>, Failure> {
        let mut read = Vec::new();
        while let Some(raw) = reader.next(&mut bytes, wanted)? {
            read.push((raw.tag, raw.body.to_vec(), raw.size));
        }
        assert!(bytes.is_empty());
        Ok(read)
    }

    proptest! {
        #[test]
        fn messages_are_the_same_in_pieces_of_any_size(
            messages in prop::collection::vec((prop::sample::select(TAGS.to_vec()), prop::collection::vec(any::<u8>(), 0..40)), 1..12),
            cut in 1_usize..50,
        ) {
            let mut reader = MessageReader::default();
            let mut all = Vec::new();
            for piece in encoded(&messages).chunks(cut) {
                all.extend(read(&mut reader, piece, true).unwrap());
            }
            let expected: Vec<_> = messages.into_iter().map(|(tag, body)| (tag, body.clone(), body.len())).collect();
            prop_assert_eq!(all, expected);
        }
    }

    #[test]
    fn unwanted_and_oversized_rows_are_counted() {
        let mut reader = MessageReader::default();
        let (short, long) = (vec![1; 100], vec![2; MAX_MESSAGE + 1]);
        let bytes = encoded(&[(b'D', short.clone()), (b'D', long.clone()), (b'N', long), (b'Z', vec![b'I'])]);
        let expected = |kept: Vec<u8>| {
            vec![
                (b'D', kept, 100),
                (b'D', vec![], MAX_MESSAGE + 1),
                (b'N', vec![], MAX_MESSAGE + 1),
                (b'Z', vec![b'I'], 1),
            ]
        };
        for (wanted, kept) in [(true, short), (false, vec![])] {
            let read: Vec<_> = bytes.chunks(9000).flat_map(|b| read(&mut reader, b, wanted).unwrap()).collect();
            assert_eq!(read, expected(kept));
            assert!(reader.pieces.capacity() + reader.whole.capacity() <= 2 * MAX_BUFFER);
        }
    }

    #[test]
    fn other_protocols_are_detected_by_the_first_message_head() {
        for (bytes_in, reason) in [
            (&b"HTTP/1.1 400 Bad Request\r\n"[..], "not PostgreSQL: a message `H` with a length of 1414811695 bytes"),
            (b"\x16\x03\x01\x02\x00", "not PostgreSQL: a message `\\u{16}` with a length of 50397696 bytes"),
            (b"Z\0\0\0\x03", "not PostgreSQL: a message `Z` with a length of 3 bytes"),
            (b"E\0\x20\0\0", "not PostgreSQL: a message `E` with a length of 2097152 bytes"),
        ] {
            let (outcome, reason_text) = read(&mut MessageReader::default(), bytes_in, true).unwrap_err();
            assert_eq!((outcome, reason_text.text()), (Outcome::Malformed, reason.into()));
        }
    }

    #[test]
    fn an_error_has_a_code_and_a_message() {
        let body = b"SERROR\0VERROR\0C23505\0Mduplicate key\0Dit is 7\0\0";
        let raw = RawMessage { tag: b'E', body, size: body.len() };
        assert_eq!(raw.error().unwrap().text(), "SQLSTATE 23505: duplicate key");
        let raw = RawMessage { tag: b'E', body: b"Mno code\0\0", size: 10 };
        assert_eq!(raw.error().unwrap().text(), "no code");
    }
}
