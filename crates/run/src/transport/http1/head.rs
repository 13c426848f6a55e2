//! The one place where heads of requests of HTTP/1 are put together. What would end a line before its time is refused here, wherever
//! it comes from: a constant, the environment, a file, an answer. (RFC 9112, section 11.1: a line break in a value ends the head, and
//! what follows is another request.)

use offered_model::template::{self, Template};

/// The bytes of a request, with places for what is known only at its launch.
#[derive(Debug)]
pub(super) struct Head(Vec<Piece>);

/// A part of a request.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece {
    Text(Vec<u8>),
    Session,
    Sequence,
    /// The path of a file of the catalogue.
    File,
}

impl Head {
    /// The request line; `origin` stands before the path.
    ///
    /// # Errors
    /// A method that is no word, or a path with a blank or a control character.
    pub(super) fn new(method: &str, origin: &str, path: impl IntoIterator<Item = Piece>) -> Result<Self, String> {
        if method.is_empty() || !method.bytes().all(is_token) {
            return Err(format!("`{}` is no method of HTTP", method.escape_debug()));
        }
        let mut head = Self(Vec::new());
        for text in [method, " ", origin] {
            head.text(text);
        }
        let fits = |byte: u8| byte > b' ' && byte != 0x7f;
        head.pieces(path, fits).map_err(|found| format!("the path has {found}; write it as %XX"))?;
        head.text(" HTTP/1.1\r\n");
        Ok(head)
    }

    /// Another header.
    ///
    /// # Errors
    /// A name that is none, or a value with a control character.
    pub(super) fn field(&mut self, name: &str, value: impl IntoIterator<Item = Piece>) -> Result<(), String> {
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(format!("`{}` is no name of a header", name.escape_debug()));
        }
        for text in [name, ": "] {
            self.text(text);
        }
        let fits = |byte: u8| byte == b'\t' || byte >= b' ' && byte != 0x7f;
        self.pieces(value, fits).map_err(|found| format!("the value of the header {name} has {found}"))?;
        self.text("\r\n");
        Ok(())
    }

    /// Another header, with a value that is one text.
    ///
    /// # Errors
    /// As [`Self::field`].
    pub(super) fn plain(&mut self, name: &str, value: &str) -> Result<(), String> {
        self.field(name, [Piece::text(value)])
    }

    /// The empty line, and `body` behind it.
    pub(super) fn end(mut self, body: &[u8]) -> Vec<Piece> {
        self.text("\r\n");
        self.append(body);
        self.0
    }

    /// All headers so far, to be ended later.
    pub(super) fn unended(self) -> Vec<Piece> {
        self.0
    }

    fn pieces(&mut self, pieces: impl IntoIterator<Item = Piece>, fits: impl Fn(u8) -> bool) -> Result<(), String> {
        for piece in pieces {
            match piece {
                Piece::Text(text) => {
                    if let Some(byte) = text.iter().find(|byte| !fits(**byte)) {
                        return Err(format!("the character {:?} in it", char::from(*byte)));
                    }
                    self.append(&text);
                }
                other => self.0.push(other),
            }
        }
        Ok(())
    }

    fn text(&mut self, text: &str) {
        self.append(text.as_bytes());
    }

    fn append(&mut self, bytes: &[u8]) {
        match self.0.last_mut() {
            Some(Piece::Text(before)) => before.extend_from_slice(bytes),
            _ => self.0.push(Piece::Text(bytes.to_vec())),
        }
    }
}

impl Piece {
    /// The parts of a template that asks for no variable: one that does is not sent this way.
    pub(super) fn all(template: &Template) -> impl Iterator<Item = Self> + '_ {
        template.pieces().iter().map(|piece| match piece {
            template::Piece::Text(text) => Self::text(text.as_bytes()),
            template::Piece::Session => Self::Session,
            template::Piece::Sequence => Self::Sequence,
            other => Self::text(other.written()),
        })
    }

    pub(super) fn text(text: impl Into<Vec<u8>>) -> Self {
        Self::Text(text.into())
    }

    /// Its bytes, where they are known before the launch.
    pub(super) fn known(&self) -> Option<&[u8]> {
        match self {
            Self::Text(text) => Some(text),
            Self::Session | Self::Sequence | Self::File => None,
        }
    }

    /// The same bytes, taken.
    pub(super) fn into_known(self) -> Option<Vec<u8>> {
        match self {
            Self::Text(text) => Some(text),
            Self::Session | Self::Sequence | Self::File => None,
        }
    }
}

/// What methods and names of headers are made of (RFC 9110, section 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_a_line_before_its_time() {
        let path = |path: &str| Head::new("GET", "", [Piece::text(path)]).map(drop);
        assert_eq!(path("/a?b=%20"), Ok(()));
        for reset_failure in ["/a b", "/a\r\nX: 1", "/a\n", "/\0", "/\x7f"] {
            assert!(path(reset_failure).unwrap_err().contains("the path has the character"), "{reset_failure:?}");
        }
        assert!(Head::new("GET /\r\nX", "", []).is_err() && Head::new("", "", []).is_err());
        for (name, value, fits) in [
            ("X-A", "1\t2 \u{e9}", true),
            ("X-A", "Bearer secret\n", false),
            ("X-A", "a\r\nX-B: b", false),
            ("X-A", "\0", false),
            ("X-A", "a\x1b[2J", false),
            ("X A", "1", false),
            ("X:\r\nA", "1", false),
            ("", "1", false),
        ] {
            let mut head = Head::new("GET", "", [Piece::text("/")]).unwrap();
            assert_eq!(head.plain(name, value).is_ok(), fits, "{name:?}: {value:?}");
        }
    }
}
