//! Requests as bytes, made once before the run; only `{session}` and `{sequence}` are filled in per launch.

use std::io::Write;

use offered_model::workload::{Request, Reuse, Target};

use crate::Error;

/// One request of the workload, ready to be written.
#[derive(Clone, Debug)]
pub(crate) struct Compiled {
    head: Vec<Piece>,
    body: Vec<Piece>,
    /// Whether the answer has no body whatever its headers say.
    pub(crate) head_only: bool,
}

/// A part of a request.
#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Text(Vec<u8>),
    Session,
    Sequence,
}

impl Compiled {
    /// The bytes of `request` to `target`.
    ///
    /// # Errors
    /// A placeholder that does not exist.
    pub(crate) fn new(request: &Request, target: &Target) -> Result<Self, Error> {
        let wrong = |why: String| Error::Request { name: request.name.clone(), why };
        let mut head = vec![Piece::Text(format!("{} ", request.method).into_bytes())];
        head.extend(pieces(&request.path).map_err(wrong)?);
        let headers = || target.headers.iter().chain(&request.headers);
        let given = |name: &str| headers().any(|(given, _)| given.eq_ignore_ascii_case(name));
        let mut text = " HTTP/1.1\r\n".to_owned();
        if !given("host") {
            text += &format!("Host: {}\r\n", target.url.host());
        }
        if !given("user-agent") {
            text += concat!("User-Agent: offered/", env!("CARGO_PKG_VERSION"), "\r\n");
        }
        if !given("accept") {
            text += "Accept: */*\r\n";
        }
        if target.reuse == Reuse::Fresh {
            text += "Connection: close\r\n";
        }
        for (name, value) in &target.headers {
            // A request's own header stands in for the target's of the same name.
            if !request.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name)) {
                text += &format!("{name}: {value}\r\n");
            }
        }
        for (name, value) in &request.headers {
            text += &format!("{name}: {value}\r\n");
        }
        head.push(Piece::Text(text.into_bytes()));
        let body = request.body.as_deref().map_or(Ok(Vec::new()), pieces).map_err(wrong)?;
        let mut compiled = Self { head, body, head_only: request.method == "HEAD" };
        compiled.finish(request.body.is_some() || ["POST", "PUT", "PATCH"].contains(&request.method.as_str()));
        Ok(compiled)
    }

    /// Joins neighbouring texts; a request without placeholders becomes one.
    fn finish(&mut self, has_length: bool) {
        if self.body.iter().all(|piece| matches!(piece, Piece::Text(_))) {
            let body: Vec<u8> = self
                .body
                .drain(..)
                .flat_map(|piece| match piece {
                    Piece::Text(text) => text,
                    _ => unreachable!("only texts here"),
                })
                .collect();
            let length = if has_length { format!("Content-Length: {}\r\n", body.len()) } else { String::new() };
            self.head.push(Piece::Text([length.as_bytes(), b"\r\n", &body].concat()));
        }
        let mut joined: Vec<Piece> = Vec::new();
        for piece in self.head.drain(..) {
            match (joined.last_mut(), piece) {
                (Some(Piece::Text(before)), Piece::Text(text)) => before.extend(text),
                (_, piece) => joined.push(piece),
            }
        }
        self.head = joined;
    }

    /// The bytes for one launch: the prepared ones, or made in `scratch`.
    #[inline]
    pub(crate) fn bytes<'a>(&'a self, session: u64, sequence: u64, scratch: &'a mut Vec<u8>) -> &'a [u8] {
        if let ([Piece::Text(whole)], []) = (self.head.as_slice(), self.body.as_slice()) {
            return whole;
        }
        scratch.clear();
        fill(&self.head, session, sequence, scratch);
        if !self.body.is_empty() {
            let mut body = Vec::new();
            fill(&self.body, session, sequence, &mut body);
            write!(scratch, "Content-Length: {}\r\n\r\n", body.len()).expect("memory takes bytes");
            scratch.extend(body);
        }
        scratch
    }
}

fn fill(pieces: &[Piece], session: u64, sequence: u64, out: &mut Vec<u8>) {
    for piece in pieces {
        match piece {
            Piece::Text(text) => out.extend_from_slice(text),
            Piece::Session => write!(out, "{session}").expect("memory takes bytes"),
            Piece::Sequence => write!(out, "{sequence}").expect("memory takes bytes"),
        }
    }
}

/// Cuts a text at its placeholders. Other braces stay as they are, so that a JSON body needs no escaping, but a lone word in
/// braces is taken for a misspelled placeholder.
fn pieces(text: &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut rest = text;
    let mut plain = String::new();
    while let Some(at) = rest.find('{') {
        plain.push_str(&rest[..at]);
        let inside = &rest[at + 1..];
        let word = inside.split_once('}').map(|(word, _)| word);
        let piece = match word {
            Some("session") => Some(Piece::Session),
            Some("sequence") => Some(Piece::Sequence),
            Some(word) if !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_') => {
                return Err(format!("unknown placeholder {{{word}}}; known are {{session}} and {{sequence}}"));
            }
            _ => None,
        };
        if let Some(piece) = piece {
            pieces.push(Piece::Text(std::mem::take(&mut plain).into_bytes()));
            pieces.push(piece);
            rest = &inside[word.map_or(0, str::len) + 1..];
        } else {
            plain.push('{');
            rest = inside;
        }
    }
    plain.push_str(rest);
    pieces.push(Piece::Text(plain.into_bytes()));
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_model::Workload;

    fn compiled(request: &str, target: &str) -> Vec<Result<Compiled, Error>> {
        let text = format!(
            "duration = \"1s\"\narrivals.open.rate = \"1/s\"\n[target]\nurl = \"http://h:8080/start\"\n{target}\n{request}"
        );
        let workload = Workload::parse(&text, "w.toml", &|_| Err(String::new())).unwrap();
        workload.requests.iter().map(|request| Compiled::new(request, workload.target.as_ref().unwrap())).collect()
    }

    fn bytes(request: &str, target: &str) -> String {
        let compiled = compiled(request, target).remove(0).unwrap();
        String::from_utf8(compiled.bytes(17, 3, &mut Vec::new()).to_vec()).unwrap()
    }

    const AGENT: &str = concat!("User-Agent: offered/", env!("CARGO_PKG_VERSION"), "\r\nAccept: */*\r\n");

    #[test]
    fn a_plain_get_is_prepared_whole() {
        assert_eq!(bytes("", ""), format!("GET /start HTTP/1.1\r\nHost: h:8080\r\n{AGENT}\r\n"));
        assert_eq!(
            bytes("", "reuse = \"fresh\""),
            format!("GET /start HTTP/1.1\r\nHost: h:8080\r\n{AGENT}Connection: close\r\n\r\n")
        );
    }

    #[test]
    fn placeholders_are_filled_and_the_length_fits() {
        let request =
            "[[request]]\npost = \"/u/{session}?n={sequence}\"\nbody = '{\"user\": {session}, \"deep\": {\"a\": {}}}'";
        let body = "{\"user\": 17, \"deep\": {\"a\": {}}}";
        let expected =
            format!("POST /u/17?n=3 HTTP/1.1\r\nHost: h:8080\r\n{AGENT}Content-Length: {}\r\n\r\n{body}", body.len());
        assert_eq!(bytes(request, ""), expected);
    }

    #[test]
    fn a_requests_own_headers_stand_in_for_the_targets() {
        let request = "[[request]]\nget = \"/\"\nheaders = { accept = \"a/b\", Host = \"other\" }";
        let text = bytes(request, "headers = { Accept = \"text/html\", X-A = \"1\" }");
        assert!(
            text.contains("accept: a/b\r\n") && text.contains("X-A: 1\r\n") && text.contains("Host: other\r\n"),
            "{text}"
        );
        assert!(!text.contains("text/html") && !text.contains("h:8080"), "{text}");
    }

    #[test]
    fn a_post_without_a_body_says_so() {
        assert!(bytes("[[request]]\npost = \"/\"", "").ends_with("Content-Length: 0\r\n\r\n"));
    }

    #[test]
    fn a_misspelled_placeholder_is_an_error_before_launch() {
        let error = compiled("[[request]]\nget = \"/{sesion}\"", "").remove(0).unwrap_err().to_string();
        assert!(error.contains("{sesion}") && error.contains("{session} and {sequence}"), "{error}");
    }
}
