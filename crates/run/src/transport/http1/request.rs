//! Requests as bytes, made once before the run; only `{session}` and `{sequence}` are filled in per launch.

use std::io::Write;

use base64::Engine as _;
use offered_model::template::{self, Template};
use offered_model::workload::script::{Auth, Body, Content};
use offered_model::workload::{Request, Reuse, Target};

use super::super::wire::Ask;
use crate::Error;
use crate::transport::route::authorization;

/// One request of the workload, ready to be written.
#[derive(Clone, Debug)]
pub(crate) struct Compiled {
    head: Vec<Piece>,
    body: Vec<Piece>,
    /// Whether the answer has no body whatever its headers say.
    pub(crate) head_only: bool,
}

/// How a request names the one it is for.
#[derive(Debug)]
pub(crate) struct Host {
    /// What the `Host` header says.
    name: String,
    /// What stands before the path: a proxy is told the whole URL. (Through its tunnel the target is spoken to as ever.)
    origin: String,
    /// What tells a proxy who asks: a header, with its line's end.
    greeting: String,
}

impl Host {
    pub(crate) fn new(target: &Target) -> Self {
        let name = target.url().host();
        let proxy = target.proxy().filter(|_| !target.url().secure);
        let origin = proxy.map(|_| format!("http://{name}")).unwrap_or_default();
        Self { greeting: proxy.and_then(authorization).unwrap_or_default(), origin, name }
    }
}

/// A part of a request.
#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Text(Vec<u8>),
    Session,
    Sequence,
}

impl Piece {
    /// The parts of a template that asks for no variable: one that does is not sent this way.
    fn all(template: &Template) -> impl Iterator<Item = Self> + '_ {
        template.pieces().iter().map(|piece| match piece {
            template::Piece::Text(text) => Self::Text(text.as_bytes().to_vec()),
            template::Piece::Session => Self::Session,
            template::Piece::Sequence => Self::Sequence,
            template::Piece::Value(name) => Self::Text(name.to_string().into_bytes()),
        })
    }

    fn text(text: impl Into<Vec<u8>>) -> Self {
        Self::Text(text.into())
    }
}

impl Compiled {
    /// The bytes of `request` to `target`.
    ///
    /// # Errors
    /// A body whose file cannot be read, or a value that is not there.
    pub(crate) fn new(request: &Request, target: &Target) -> Result<Self, Error> {
        let wrong = |why: String| Error::Request { name: request.name().to_owned(), why };
        let Host { name, origin, greeting } = Host::new(target);
        let mut head = vec![Piece::text(format!("{} {origin}", request.method()))];
        head.extend(Piece::all(request.path()));
        let given = |name: &str| request.headers_to(target).any(|(given, _)| given.eq_ignore_ascii_case(name));
        let mut text = " HTTP/1.1\r\n".to_owned();
        if !given("host") {
            text += &format!("Host: {name}\r\n");
        }
        text += &greeting;
        if !given("user-agent") {
            text += concat!("User-Agent: offered/", env!("CARGO_PKG_VERSION"), "\r\n");
        }
        if !given("accept") {
            text += "Accept: */*\r\n";
        }
        if target.reuse() == Reuse::Fresh {
            text += "Connection: close\r\n";
        }
        head.push(Piece::text(text));
        match request.auth_to(target) {
            Some(Auth::Basic(pair)) => {
                let pair = base64::engine::general_purpose::STANDARD.encode(pair.text().unwrap_or_default());
                head.push(Piece::text(format!("Authorization: Basic {pair}\r\n")));
            }
            Some(Auth::Bearer(token)) => {
                let token = token.text().unwrap_or_default();
                head.push(Piece::text(format!("Authorization: Bearer {token}\r\n")));
            }
            Some(Auth::Nobody) | None => {}
        }
        for (name, value) in request.headers_to(target) {
            head.push(Piece::text(format!("{name}: ")));
            head.extend(Piece::all(value));
            head.push(Piece::text("\r\n"));
        }
        let body = match request.body() {
            Body::File { file, content: Err(why) } => return Err(wrong(format!("cannot read {file}: {why}"))),
            Body::File { content: Ok(Content::Raw(bytes)), .. } => vec![Piece::text(bytes.to_vec())],
            body => body.text().into_iter().flat_map(Piece::all).collect(),
        };
        let mut compiled = Self { head, body, head_only: request.method() == "HEAD" };
        compiled.finish(*request.body() != Body::None || ["POST", "PUT", "PATCH"].contains(&request.method()));
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

/// The bytes of `ask` to `host`.
pub(crate) fn bytes(ask: &Ask, host: &Host, close: bool) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(256 + ask.body.as_ref().map_or(0, Vec::len));
    let mut put = |text: &str| bytes.extend_from_slice(text.as_bytes());
    [&ask.method, " ", &host.origin, &ask.path, " HTTP/1.1\r\n"].into_iter().for_each(&mut put);
    if !ask.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        ["Host: ", &host.name, "\r\n"].into_iter().for_each(&mut put);
    }
    put(&host.greeting);
    if close {
        put("Connection: close\r\n");
    }
    for (name, value) in &ask.headers {
        [name, ": ", value, "\r\n"].into_iter().for_each(&mut put);
    }
    if let Some(body) = &ask.body {
        put(&format!("Content-Length: {}\r\n", body.len()));
    }
    put("\r\n");
    bytes.extend(ask.body.iter().flatten());
    bytes
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
        workload.requests().iter().map(|request| Compiled::new(request, workload.target().unwrap())).collect()
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
    fn a_proxy_is_told_the_whole_url_and_who_asks() {
        let whole = bytes("", "proxy = \"http://me:secret@127.0.0.1:3128\"");
        let first = "GET http://h:8080/start HTTP/1.1\r\nHost: h:8080\r\nProxy-Authorization: Basic bWU6c2VjcmV0\r\n";
        assert_eq!(whole, format!("{first}{AGENT}\r\n"));
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
    fn who_asks_is_told_in_one_header() {
        for (auth, header) in [
            ("{ basic = \"me:pass\" }", "Authorization: Basic bWU6cGFzcw==\r\n"),
            ("{ bearer = \"t0ken\" }", "Authorization: Bearer t0ken\r\n"),
        ] {
            let text = bytes("", &format!("auth = {auth}"));
            assert!(text.contains(header), "{text}");
        }
        let nobody = bytes("[[request]]\nget = \"/\"\nauth = false", "auth = { bearer = \"t\" }");
        assert!(!nobody.contains("Authorization"), "{nobody}");
        let request = "[[request]]\nget = \"/\"\nheaders = { Authorization = \"Odd {session}\" }";
        let own = bytes(request, "auth = { bearer = \"t\" }");
        assert!(own.contains("Authorization: Odd 17\r\n") && !own.contains("Bearer"), "{own}");
    }
}
