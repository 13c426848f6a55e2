//! Where requests go: the parts of a URL, and the one server of a workload.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use offered_model::workload::{Address, Protocol, Target, Tls, Url};

use crate::note::Note;
use crate::text::Text;
use crate::{Error, ParameterKind};

/// Written where a plan names no server.
const DEFAULT_URL: &str = "http://127.0.0.1:8080/";

/// A server, as far as a plan tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Server {
    /// None is named.
    #[default]
    Unspecified,
    /// `http://host:port/`.
    Known(String),
    /// One whose name has something in it that has no value.
    Unresolved(MissingValue),
    /// One whose name is only known while it runs.
    Runtime,
}

/// Something in a server's name that has no value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MissingValue {
    /// Whether it is a property; else a variable.
    pub(crate) is_property: bool,
    pub(crate) name: String,
}

impl Server {
    /// The server of a scheme, a host and a port (or nothing).
    pub(crate) fn from_parts(scheme: &str, host: &str, port: &str) -> Self {
        let (scheme, usual) = if scheme.eq_ignore_ascii_case("https") { ("https", "443") } else { ("http", "80") };
        let host = if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host.to_owned() };
        let port = if port == usual || port.is_empty() { String::new() } else { format!(":{port}") };
        let url = format!("{scheme}://{host}{port}/");
        let valid = !url.contains(['{', '}', '$']) && url.parse::<Url>().is_ok();
        if valid { Self::Known(url) } else { Self::Unspecified }
    }

    /// Its URL, or nothing where that is not known.
    pub(crate) fn url(&self) -> &str {
        if let Self::Known(url) = self { url } else { "" }
    }

    /// The server of a whole URL, and the path and query asked of it; `None`: it is no URL of a web server.
    pub(crate) fn parse(url: &str) -> Option<(Self, String)> {
        let (scheme, rest) = url.split_once("://")?;
        if !["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
            return None;
        }
        let rest = rest.split_once('#').map_or(rest, |(before, _)| before);
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        let at = authority.rfind(']').map_or(0, |end| end + 1);
        let (host, port) = match authority[at..].find(':') {
            Some(colon) => (&authority[..at + colon], &authority[at + colon + 1..]),
            None => (authority, ""),
        };
        Some((Self::from_parts(scheme, host, port), path.to_owned()))
    }

    /// The same of a URL with variables in it: where they stand in its server, `missing` says which of those names has no value
    /// at all. Where it has no scheme, it is `http`.
    pub(crate) fn parse_text(url: &Text, missing: impl Fn(&str) -> Option<MissingValue>) -> Option<(Self, Text)> {
        let leading = url.leading_literal();
        let whole = match leading.find("://") {
            Some(_) => url.clone(),
            None => {
                let mut whole = Text::from("http://");
                whole.push(url);
                whole
            }
        };
        let leading = whole.leading_literal();
        let host = leading.find("://").map_or(0, |at| at + 3);
        let known = leading[host..].find(['/', '?']).map(|at| host + at);
        if let Some(end) = known.or_else(|| whole.as_literal().map(str::len)) {
            let (server, _) = Self::parse(&leading[..end])?;
            return Some((server, whole.skip_bytes(end)));
        }
        let behind = whole.skip_bytes(host);
        let (authority, path) = match behind.split_once('/') {
            Some((authority, path)) => (authority, path),
            None => (behind, Text::default()),
        };
        Some((authority.variable_names().find_map(missing).map_or(Self::Runtime, Self::Unresolved), path))
    }
}

/// A request's server and its place in the file.
pub(crate) struct Candidate<'c> {
    pub(crate) server: &'c Server,
    pub(crate) line: usize,
    pub(crate) element: &'c str,
    /// How counts it is asked.
    pub(crate) times: usize,
}

/// Where requests go.
pub(crate) struct TargetChoice {
    /// The one target.
    pub(crate) url: Url,
    /// Which requests go to it.
    pub(crate) included: Vec<bool>,
    /// What is to be said of the others.
    pub(crate) notes: Vec<Note>,
}

/// The target of requests to these servers: that which is `preferred`, or else is asked most, of equals the first. A request goes where
/// its preferred URL says or default_target; only where no URL names a server at all, this machine stands for it.
///
/// # Errors
/// The first that goes to a server whose name is not known, the content of `file`; one that no workload can ask.
pub(crate) fn choose_target<'c>(
    candidates: impl Iterator<Item = Candidate<'c>> + Clone,
    preferred: Option<&Server>,
    file: &str,
) -> Result<TargetChoice, Error> {
    let mut counts: BTreeMap<&Server, (usize, Reverse<usize>)> = BTreeMap::new();
    for (at, candidate) in candidates.clone().enumerate() {
        match candidate.server {
            Server::Known(_) => counts.entry(candidate.server).or_insert((0, Reverse(at))).0 += candidate.times,
            Server::Unresolved(MissingValue { is_property, name }) => {
                let line = if candidate.line == 0 { String::new() } else { format!("line {}: ", candidate.line) };
                return Err(Error::UnresolvedHost {
                    file: file.to_owned(),
                    element: format!("{line}{}", candidate.element),
                    kind: if *is_property { ParameterKind::Property } else { ParameterKind::Variable },
                    name: name.clone(),
                });
            }
            Server::Unspecified | Server::Runtime => {}
        }
    }
    let most = counts.iter().max_by_key(|(_, counts)| **counts).map(|(server, _)| *server);
    let chosen = preferred.filter(|preferred| counts.contains_key(preferred)).or(most).cloned().unwrap_or_default();
    let mut notes = Vec::new();
    let included = candidates.map(|candidate| {
        let (included, what) = match candidate.server {
            Server::Unspecified if chosen == Server::Unspecified => {
                (true, format!("names no server; the target {DEFAULT_URL} stands for it"))
            }
            server if *server == chosen => return true,
            Server::Known(url) => (
                false,
                format!(
                    "goes to another server, {url}; a workload has one target, so it is left out, but for its wait"
                ),
            ),
            Server::Runtime => {
                (false, "goes to a server that is only known while it runs; left out, but for its wait".to_owned())
            }
            _ => (false, "names no server; left out, but for its wait".to_owned()),
        };
        notes.push(Note { line: candidate.line, element: candidate.element.to_owned(), message: what });
        included
    });
    let included = included.collect();
    let url = if let Server::Known(url) = &chosen { url } else { DEFAULT_URL };
    let url = url.parse().map_err(|wrong| Error::File { file: file.to_owned(), message: format!("{url}: {wrong}") })?;
    Ok(TargetChoice { url, included, notes })
}

/// A target of which nothing is known yet: on this machine.
pub(crate) fn default_target() -> Target {
    Target::new(DEFAULT_URL.parse().expect("is a URL"))
}

/// Without what does not go with its address.
pub(crate) fn drop_conflicting_options(mut target: Target) -> Target {
    let plain = !target.url().secure;
    if plain {
        let protocol = match target.protocol() {
            Protocol::Http2 if target.proxy().is_none() => Protocol::Http2,
            _ => Protocol::Http1,
        };
        target = target.with_tls(Tls::default()).with_protocol(protocol);
    }
    if matches!(target.url().address, Address::Unix(_)) {
        target = target.with_proxy(None);
    }
    if target.tls().insecure {
        let tls = Tls { roots: None, ..target.tls().clone() };
        target = target.with_tls(tls);
    }
    target
}

/// A path as it can be sent: from `/` on, without blanks and what is not ASCII. One that begins with a variable begins with what
/// that brings.
pub(crate) fn encode_path(path: &Text) -> Text {
    let brings = !path.is_empty() && path.leading_literal().is_empty();
    let mut encoded = Text::from(if brings || path.leading_literal().starts_with('/') { "" } else { "/" });
    encoded.push(&path.map_literals(percent_encode));
    encoded
}

/// What is said without blanks and what is not ASCII.
pub(crate) fn percent_encode(said: &str) -> String {
    let mut encoded = String::with_capacity(said.len());
    for byte in said.bytes() {
        match byte {
            0x21..=0x7e => encoded.push(char::from(byte)),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// What is said as a form_encode or a query sends it.
pub(crate) fn form_encode(said: &str) -> String {
    let mut encoded = String::with_capacity(said.len());
    for c in said.chars() {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '*' | '-' | '.' | '_' => encoded.push(c),
            ' ' => encoded.push('+'),
            c => c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| encoded.push_str(&format!("%{byte:02X}"))),
        }
    }
    encoded
}

/// Whether this can be a header: its name a token, nothing in its value that ends a line.
pub(crate) fn is_valid_header(name: &str, value: &Text) -> bool {
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !name.is_empty() && name.bytes().all(token) && !value.literal_contains(|c| c.is_ascii_control())
}

/// Headers that are offered's preferred affair.
pub(crate) fn is_reserved_header(name: &str) -> bool {
    ["content-length", "transfer-encoding", "connection"].iter().any(|preferred| name.eq_ignore_ascii_case(preferred))
}
