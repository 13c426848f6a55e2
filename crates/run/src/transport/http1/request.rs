//! Requests compiled to bytes before the run. Only `{{session}}` and `{{sequence}}` are filled in when a request is
//! sent.

use std::io::Write;

use base64::Engine as _;
use bytes::Bytes;
use offered_base::Seed;
use offered_workload::catalogue::OneOf;
use offered_workload::script::{Auth, Body, Content};
use offered_workload::{Request, Reuse, Target};

use super::head::{Head, Piece};
use crate::Error;
use crate::message::{OWN_HEADERS, OutgoingRequest, is_idempotent};
use crate::transport::route::proxy_authorization;

/// A request of the workload, compiled to bytes.
#[derive(Clone, Debug)]
pub(crate) struct Compiled {
    head: Vec<Piece>,
    body: Vec<Piece>,
    /// A large constant body, shared by all requests, that follows `head`; otherwise empty.
    large: Bytes,
    /// The files of a catalogue, one of which is drawn for each request.
    one_of: Option<(Seed, OneOf)>,
    /// Whether the method is HEAD, so that the response has no body.
    pub(crate) head_only: bool,
    /// Whether the request may be sent again after the server may have processed it.
    pub(crate) is_repeatable: bool,
}

/// A body of this size is not copied behind its head, in bytes. A smaller one is sent in the same write.
const LARGE: usize = 64 << 10;

/// How requests name the target.
#[derive(Debug)]
pub(in crate::transport) struct Host {
    /// The value of the `Host` header.
    name: String,
    /// The text before the path, because a proxy needs the whole URL. (Empty for a tunnel.)
    origin: String,
    /// The `Proxy-Authorization` header.
    authorization: Option<String>,
}

impl Host {
    pub(in crate::transport) fn new(target: &Target) -> Self {
        let name = target.url().host();
        let proxy = target.proxy().filter(|_| !target.url().secure);
        let origin = proxy.map(|_| format!("http://{name}")).unwrap_or_default();
        Self { authorization: proxy.and_then(proxy_authorization), origin, name }
    }
}

impl Compiled {
    /// Compiles `request` to `target`.
    ///
    /// # Errors
    /// A body whose file cannot be read, or an invalid header or path.
    pub(crate) fn new(request: &Request, target: &Target, seed: Seed) -> Result<Self, Error> {
        Self::compile(request, target, seed)
            .map_err(|reason| Error::Request { name: request.name().to_owned(), reason })
    }

    fn compile(request: &Request, target: &Target, seed: Seed) -> Result<Self, String> {
        let Host { name, origin, authorization } = Host::new(target);
        let one_of = request.one_of().map(|one_of| (seed, one_of.clone()));
        let mut head = match &one_of {
            Some(_) => Head::new(request.method(), &origin, [Piece::File])?,
            None => Head::new(request.method(), &origin, Piece::all(request.path()))?,
        };
        let given = |name: &str| request.headers_to(target).any(|(given, _)| given.eq_ignore_ascii_case(name));
        if !given("host") {
            head.plain("Host", &name)?;
        }
        if let Some(authorization) = &authorization {
            head.plain("Proxy-Authorization", authorization)?;
        }
        for (name, usual) in OWN_HEADERS {
            if !given(name) && !target.omits_header(name) {
                head.plain(name, usual)?;
            }
        }
        if target.reuse() == Reuse::Fresh {
            head.plain("Connection", "close")?;
        }
        match request.auth_to(target) {
            Some(Auth::Basic(pair)) => {
                let pair = base64::engine::general_purpose::STANDARD.encode(pair.text().unwrap_or_default());
                head.plain("Authorization", &format!("Basic {pair}"))?;
            }
            Some(Auth::Bearer(token)) => {
                head.plain("Authorization", &format!("Bearer {}", token.text().unwrap_or_default()))?;
            }
            // Others need a script.
            Some(Auth::Digest(_) | Auth::Aws(_) | Auth::OAuth2(_) | Auth::None) | None => {}
        }
        for (name, value) in request.headers_to(target) {
            head.field(name, Piece::all(value))?;
        }
        let (mut body, mut large) = (Vec::new(), Bytes::new());
        match request.body() {
            Body::File { file, content: Err(reason), .. } => return Err(format!("cannot read {file}: {reason}")),
            Body::File { content: Ok(Content::Raw(bytes)), .. } if bytes.len() >= LARGE => {
                large = Bytes::from_owner(bytes.clone());
            }
            Body::File { content: Ok(Content::Raw(bytes)), .. } => body.push(Piece::text(bytes.to_vec())),
            text => body.extend(text.text().into_iter().flat_map(Piece::all)),
        }
        let has_length = *request.body() != Body::None || ["POST", "PUT", "PATCH"].contains(&request.method());
        let head_only = request.method() == "HEAD";
        let is_repeatable = is_idempotent(request.method(), request.headers_to(target).map(|(name, _)| name.as_str()));
        let known: Option<Vec<&[u8]>> = body.iter().map(Piece::known).collect();
        match known.map(|body| body.concat()) {
            Some(mut body) => {
                if has_length {
                    head.plain("Content-Length", &(body.len() + large.len()).to_string())?;
                }
                if body.len() >= LARGE {
                    large = std::mem::take(&mut body).into();
                }
                Ok(Self { head: head.end(&body), body: Vec::new(), large, one_of, head_only, is_repeatable })
            }
            None => Ok(Self { head: head.unended(), body, large, one_of, head_only, is_repeatable }),
        }
    }

    /// The large body that follows [`Compiled::bytes`]; else empty.
    #[inline]
    pub(crate) fn large(&self) -> &Bytes {
        &self.large
    }

    /// The bytes of one request without a large body: precompiled, or built in `scratch`.
    #[inline]
    pub(crate) fn bytes<'a>(
        &'a self,
        (session, step): (u64, u32),
        sequence: u64,
        scratch: &'a mut Vec<u8>,
    ) -> &'a [u8] {
        if let ([Piece::Text(whole)], []) = (self.head.as_slice(), self.body.as_slice()) {
            return whole;
        }
        scratch.clear();
        let file = match &self.one_of {
            Some((seed, one_of)) => one_of.drawn(*seed, session, step).path,
            None => "",
        };
        fill(&self.head, file, session, sequence, scratch);
        if !self.body.is_empty() {
            let mut body = Vec::new();
            fill(&self.body, file, session, sequence, &mut body);
            write!(scratch, "Content-Length: {}\r\n\r\n", body.len()).expect("writing to memory");
            scratch.extend(body);
        }
        scratch
    }
}

fn fill(pieces: &[Piece], file: &str, session: u64, sequence: u64, out: &mut Vec<u8>) {
    for piece in pieces {
        match piece {
            Piece::Text(text) => out.extend_from_slice(text),
            Piece::File => out.extend_from_slice(file.as_bytes()),
            Piece::Session => write!(out, "{session}").expect("writing to memory"),
            Piece::Sequence => write!(out, "{sequence}").expect("writing to memory"),
        }
    }
}

/// The bytes of a request to `host`, and of a body that is large or held back until the server asks for it. With `close`, it asks the server
/// to close the connection.
///
/// # Errors
/// An invalid header or path.
pub(crate) fn bytes(outgoing: &OutgoingRequest, host: &Host, close: bool) -> Result<(Vec<u8>, Bytes), String> {
    let mut head = Head::new(&outgoing.method, &host.origin, [Piece::text(outgoing.path.as_str())])?;
    if !outgoing.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        head.plain("Host", &host.name)?;
    }
    if let Some(authorization) = &host.authorization {
        head.plain("Proxy-Authorization", authorization)?;
    }
    if close {
        head.plain("Connection", "close")?;
    }
    for (name, value) in &outgoing.headers {
        head.plain(name, value)?;
    }
    if let Some(body) = &outgoing.body {
        head.plain("Content-Length", &body.len().to_string())?;
    }
    let body = outgoing.body.clone().unwrap_or_default();
    let is_separate = body.len() >= LARGE || outgoing.expects_continue();
    let (small, separate) = if is_separate { (Bytes::new(), body) } else { (body, Bytes::new()) };
    // Without placeholders the result is a single piece.
    let whole = head.end(&small).into_iter().next();
    Ok((whole.and_then(Piece::into_known).unwrap_or_default(), separate))
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_workload::Workload;

    fn compiled(request: &str, target: &str) -> Vec<Result<Compiled, Error>> {
        let text = format!(
            "duration = \"1s\"\narrivals.open.rate = \"1/s\"\n[target]\nurl = \"http://h:8080/start\"\n{target}\n{request}"
        );
        let workload = Workload::parse(&text, "w.toml", &|_| Err(String::new())).unwrap();
        workload
            .requests()
            .iter()
            .map(|request| Compiled::new(request, workload.target().unwrap(), workload.seed()))
            .collect()
    }

    fn bytes(request: &str, target: &str) -> String {
        let compiled = compiled(request, target).remove(0).unwrap();
        String::from_utf8(compiled.bytes((17, 0), 3, &mut Vec::new()).to_vec()).unwrap()
    }

    const AGENT: &str = concat!("User-Agent: offered/", env!("CARGO_PKG_VERSION"), "\r\nAccept: */*\r\n");

    #[test]
    fn a_get_without_placeholders_is_compiled_completely() {
        assert_eq!(bytes("", ""), format!("GET /start HTTP/1.1\r\nHost: h:8080\r\n{AGENT}\r\n"));
        assert_eq!(
            bytes("", "reuse = \"fresh\""),
            format!("GET /start HTTP/1.1\r\nHost: h:8080\r\n{AGENT}Connection: close\r\n\r\n")
        );
    }

    #[test]
    fn placeholders_are_filled_and_the_length_is_right() {
        let request = "[[request]]\npost = \"/u/{{session}}?n={{sequence}}\"\nbody = '{\"user\": {{session}}, \"deep\": {\"a\": {}}}'";
        let body = "{\"user\": 17, \"deep\": {\"a\": {}}}";
        let expected =
            format!("POST /u/17?n=3 HTTP/1.1\r\nHost: h:8080\r\n{AGENT}Content-Length: {}\r\n\r\n{body}", body.len());
        assert_eq!(bytes(request, ""), expected);
    }

    #[test]
    fn a_large_constant_body_is_shared_by_all_requests() {
        let text = "duration = \"1s\"\narrivals.open.rate = \"1/s\"\ntarget.url = \"http://h/\"\n\
                    [[request]]\npost = \"/\"\nbody_file = \"a\"\nraw = true\n";
        let workload = Workload::parse(text, "w.toml", &|_| Ok(vec![b'x'; LARGE])).unwrap();
        let request = &workload.requests()[0];
        let Body::File { content: Ok(Content::Raw(file)), .. } = request.body() else { panic!("a file") };
        let compiled = Compiled::new(request, workload.target().unwrap(), workload.seed()).unwrap();
        assert_eq!(compiled.large().as_ptr(), file.as_ptr());
        let mut scratch = Vec::new();
        let head = String::from_utf8_lossy(compiled.bytes((0, 0), 0, &mut scratch)).into_owned();
        assert!(head.ends_with("Content-Length: 65536\r\n\r\n"), "{head}");
        // Also a text without placeholders, though not in the memory of its file.
        let workload =
            Workload::parse(&text.replace("raw = true\n", ""), "w.toml", &|_| Ok(vec![b'x'; LARGE])).unwrap();
        let compiled = Compiled::new(&workload.requests()[0], workload.target().unwrap(), workload.seed()).unwrap();
        assert_eq!(compiled.large().len(), LARGE);
        assert!(compiled.bytes((0, 0), 0, &mut scratch).ends_with(b"Content-Length: 65536\r\n\r\n"));
        // With a script, too.
        let body = Some(Bytes::from_owner(file.clone()));
        let outgoing = OutgoingRequest { method: "PUT".to_owned(), path: "/".to_owned(), body, ..Default::default() };
        let (head, body) = super::bytes(&outgoing, &Host::new(workload.target().unwrap()), false).unwrap();
        assert!(head.ends_with(b"Content-Length: 65536\r\n\r\n"));
        assert_eq!(body.as_ptr(), file.as_ptr());
    }

    #[test]
    fn a_proxy_gets_the_whole_url_and_credentials() {
        let whole = bytes("", "proxy = \"http://me:secret@127.0.0.1:3128\"");
        let next_due =
            "GET http://h:8080/start HTTP/1.1\r\nHost: h:8080\r\nProxy-Authorization: Basic bWU6c2VjcmV0\r\n";
        assert_eq!(whole, format!("{next_due}{AGENT}\r\n"));
    }

    #[test]
    fn headers_of_a_request_override_those_of_the_target() {
        let request = "[[request]]\nget = \"/\"\nheaders = { accept = \"a/b\", Host = \"other\" }";
        let text = bytes(request, "headers = { Accept = \"text/html\", X-A = \"1\" }");
        assert!(
            text.contains("accept: a/b\r\n") && text.contains("X-A: 1\r\n") && text.contains("Host: other\r\n"),
            "{text}"
        );
        assert!(!text.contains("text/html") && !text.contains("h:8080"), "{text}");
    }

    #[test]
    fn a_post_without_a_body_has_length_zero() {
        assert!(bytes("[[request]]\npost = \"/\"", "").ends_with("Content-Length: 0\r\n\r\n"));
    }

    #[test]
    fn credentials_are_one_header() {
        for (auth, header) in [
            ("{ basic = \"me:pass\" }", "Authorization: Basic bWU6cGFzcw==\r\n"),
            ("{ bearer = \"t0ken\" }", "Authorization: Bearer t0ken\r\n"),
        ] {
            let text = bytes("", &format!("auth = {auth}"));
            assert!(text.contains(header), "{text}");
        }
        let nobody = bytes("[[request]]\nget = \"/\"\nauth = false", "auth = { bearer = \"t\" }");
        assert!(!nobody.contains("Authorization"), "{nobody}");
        let request = "[[request]]\nget = \"/\"\nheaders = { Authorization = \"Odd {{session}}\" }";
        let own = bytes(request, "auth = { bearer = \"t\" }");
        assert!(own.contains("Authorization: Odd 17\r\n") && !own.contains("Bearer"), "{own}");
    }
}
