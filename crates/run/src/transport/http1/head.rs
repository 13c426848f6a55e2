//! Building request heads of HTTP/1, in one place. Values that would end a line early are rejected here, whether they
//! are constants or come from the environment, a file or a response. (RFC 9112, section 11.1: a line break in a value
//! ends the head, and the rest becomes another request.)

use offered_workload::template::{self, Template};

/// The bytes of a request, with placeholders for parts known only when it is sent.
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
    /// Begins a head with the request line. `origin` is put before the path.
    ///
    /// # Errors
    /// An invalid method, or a path with a space or a control character.
    pub(super) fn new(method: &str, origin: &str, path: impl IntoIterator<Item = Piece>) -> Result<Self, String> {
        if method.is_empty() || !method.bytes().all(is_token) {
            return Err(format!("`{}` is not a valid HTTP method", method.escape_debug()));
        }
        let mut head = Self(Vec::new());
        for text in [method, " ", origin] {
            head.text(text);
        }
        let fits = |byte: u8| byte > b' ' && byte != 0x7f;
        head.pieces(path, fits).map_err(|found| format!("the path has {found}; encode it as %XX"))?;
        head.text(" HTTP/1.1\r\n");
        Ok(head)
    }

    /// Adds a header.
    ///
    /// # Errors
    /// An invalid name, or a value with a control character.
    pub(super) fn field(&mut self, name: &str, value: impl IntoIterator<Item = Piece>) -> Result<(), String> {
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(format!("`{}` is not a valid header name", name.escape_debug()));
        }
        for text in [name, ": "] {
            self.text(text);
        }
        let fits = |byte: u8| byte == b'\t' || byte >= b' ' && byte != 0x7f;
        self.pieces(value, fits).map_err(|found| format!("the value of the header {name} has {found}"))?;
        self.text("\r\n");
        Ok(())
    }

    /// Adds a header with a constant value.
    ///
    /// # Errors
    /// As [`Self::field`].
    pub(super) fn plain(&mut self, name: &str, value: &str) -> Result<(), String> {
        self.field(name, [Piece::text(value)])
    }

    /// Ends the head and appends `body`.
    pub(super) fn end(mut self, body: &[u8]) -> Vec<Piece> {
        self.text("\r\n");
        self.append(body);
        self.0
    }

    /// The headers so far, without the empty line.
    pub(super) fn unended(self) -> Vec<Piece> {
        self.0
    }

    fn pieces(&mut self, pieces: impl IntoIterator<Item = Piece>, fits: impl Fn(u8) -> bool) -> Result<(), String> {
        for piece in pieces {
            match piece {
                Piece::Text(text) => {
                    if let Some(byte) = text.iter().find(|byte| !fits(**byte)) {
                        return Err(format!("the character {:?}", char::from(*byte)));
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
    /// The parts of a template without variables; templates with variables are rendered by the script.
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

    /// The bytes, if they are known before the run.
    pub(super) fn known(&self) -> Option<&[u8]> {
        match self {
            Self::Text(text) => Some(text),
            Self::Session | Self::Sequence | Self::File => None,
        }
    }

    /// The same, by value.
    pub(super) fn into_known(self) -> Option<Vec<u8>> {
        match self {
            Self::Text(text) => Some(text),
            Self::Session | Self::Sequence | Self::File => None,
        }
    }
}

/// The characters of methods and header names (RFC 9110, section 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_breaks_and_control_characters_are_rejected() {
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
