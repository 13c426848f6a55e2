//! URLs of requests, and the choice of the targets of a workload.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use offered_workload::{Address, Protocol, Target, Tls, Url};

use crate::note::Note;
use crate::text::Text;
use crate::unique_names::UniqueNames;
use crate::{Error, ParameterKind};

/// Maximum number of targets.
pub(crate) const MAX_TARGETS: usize = 100;

/// Target of plans that name no server.
const DEFAULT_URL: &str = "http://127.0.0.1:8080/";

/// Server of a request, as far as the plan specifies it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Server {
    /// The plan names no server.
    #[default]
    Unspecified,
    /// URL such as `http://host:port/`.
    Known(String),
    /// The host name contains a parameter without a value.
    Unresolved(MissingValue),
    /// The host name is only known while the test runs.
    Runtime,
}

/// A parameter in a host name that has no value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct MissingValue {
    /// `true` for a property, `false` for a variable.
    pub(crate) is_property: bool,
    pub(crate) name: String,
}

impl Server {
    /// Builds a server from scheme, host and port (may be empty).
    pub(crate) fn from_parts(scheme: &str, host: &str, port: &str) -> Self {
        let (scheme, usual) = if scheme.eq_ignore_ascii_case("https") { ("https", "443") } else { ("http", "80") };
        // Hosts have one spelling: the case does not matter, and the list of public suffixes is in lower case.
        let host = host.to_ascii_lowercase();
        let host = if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host };
        let port = if port == usual || port.is_empty() { String::new() } else { format!(":{port}") };
        let url = format!("{scheme}://{host}{port}/");
        let valid = !url.contains(['{', '}', '$']) && url.parse::<Url>().is_ok();
        if valid { Self::Known(url) } else { Self::Unspecified }
    }

    /// The URL, empty if the server is not known.
    pub(crate) fn url(&self) -> &str {
        if let Self::Known(url) = self { url } else { "" }
    }

    /// The host, and the port unless it is the default; empty if the server is not known.
    pub(crate) fn authority(&self) -> &str {
        self.url().split('/').nth(2).unwrap_or_default()
    }

    /// The host without port; an IPv6 address is in brackets.
    pub(crate) fn host(&self) -> &str {
        let authority = self.authority();
        match authority.rsplit_once(':') {
            Some((host, _)) if !authority.ends_with(']') => host,
            _ => authority,
        }
    }

    /// Splits an absolute URL into the server and the path with query; `None` if it is not an HTTP URL.
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

    /// Splits a URL that may contain variables; the fragment is left out, because no request has it. For variables in the
    /// host name, `missing` returns those that have no value at all. The default scheme is `http`.
    pub(crate) fn parse_text(url: &Text, missing: impl Fn(&str) -> Option<MissingValue>) -> Option<(Self, Text)> {
        let url = url.split_once('#').map_or_else(|| url.clone(), |(before, _)| before);
        let mut whole = Text::from(if url.leading_literal().contains("://") { "" } else { "http://" });
        whole.push(&url);
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

/// A request for the choice of the targets: its server and its position in the file.
pub(crate) struct Candidate<'c> {
    pub(crate) server: &'c Server,
    pub(crate) line: usize,
    pub(crate) element: &'c str,
    /// Number of times that the plan sends the request; 0 if it is in a part that never runs.
    pub(crate) times: usize,
}

/// Result of the choice of the targets.
pub(crate) struct TargetChoice {
    /// URLs of the targets; never empty.
    pub(crate) urls: Vec<Url>,
    /// For each request, the number of its target; `None` if it is left out.
    pub(crate) target_of: Vec<Option<u16>>,
    /// Notes about the requests that are left out or have no server.
    pub(crate) notes: Vec<Note>,
}

/// Chooses at most `most` targets: `preferred` first, then the servers with most requests, the first one on a tie. Requests to
/// other servers are left out. If no request names a server, the target is [`DEFAULT_URL`].
///
/// # Errors
/// The host of a request is unknown, or the URL is not valid in a workload.
pub(crate) fn choose_targets<'c>(
    candidates: impl Iterator<Item = Candidate<'c>> + Clone,
    preferred: Option<&Server>,
    most: usize,
    file: &str,
) -> Result<TargetChoice, Error> {
    let mut counts: BTreeMap<&Server, (usize, Reverse<usize>)> = BTreeMap::new();
    for (at, candidate) in candidates.clone().enumerate().filter(|(_, candidate)| candidate.times > 0) {
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
    let mut chosen: Vec<(&Server, (usize, Reverse<usize>))> = counts.into_iter().collect();
    chosen.sort_by_key(|(server, counts)| Reverse((preferred == Some(*server), *counts)));
    chosen.truncate(most);
    let number_of = |server: &Server| (0u16..).zip(&chosen).find(|(_, (one, _))| *one == server).map(|(at, _)| at);
    let mut notes = Vec::new();
    let target_of = candidates.map(|candidate| {
        let (number, message) = match candidate.server {
            _ if candidate.times == 0 => return None,
            Server::Unspecified if chosen.is_empty() => {
                (Some(0), format!("has no server; the target is set to {DEFAULT_URL}; change `url` in [target]"))
            }
            server @ Server::Known(url) => match number_of(server) {
                Some(number) => return Some(number),
                None => (
                    None,
                    format!(
                        "goes to another server, {url}; left out except for its wait; to send it, add a [[target]]"
                    ),
                ),
            },
            Server::Runtime => {
                (None, "goes to a server that is only known at run time; left out except for its wait".to_owned())
            }
            _ => (None, "has no server; left out except for its wait".to_owned()),
        };
        notes.push(Note { line: candidate.line, element: candidate.element.to_owned(), message });
        number
    });
    let target_of = target_of.collect();
    let mut urls: Vec<&str> = chosen.iter().map(|(server, _)| server.url()).collect();
    if urls.is_empty() {
        urls.push(DEFAULT_URL);
    }
    let wrong = |url: &str, wrong| Error::File { file: file.to_owned(), message: format!("{url}: {wrong}") };
    let urls =
        urls.into_iter().map(|url| url.parse::<Url>().map_err(|why| wrong(url, why))).collect::<Result<_, _>>()?;
    Ok(TargetChoice { urls, target_of, notes })
}

/// Targets at `urls` with the settings of `base`, without those that conflict with their address: the first one, which
/// has no name, and the others, which are named after their hosts.
pub(crate) fn targets_at(base: &Target, urls: &[Url]) -> (Target, Vec<Target>) {
    let target_at = |url: &Url| drop_conflicting_options(base.clone().with_url(url.clone()));
    let mut names = UniqueNames::default();
    let others = urls[1..].iter().map(|url| target_at(url).with_name(names.take(&target_name(url)))).collect();
    (target_at(&urls[0]), others)
}

/// A name for the target with this URL: its host, and its port if it is not the usual one.
pub(crate) fn target_name(url: &Url) -> String {
    url.to_string().split('/').nth(2).unwrap_or_default().to_owned()
}

/// A target with default settings at [`DEFAULT_URL`].
pub(crate) fn default_target() -> Target {
    Target::new(DEFAULT_URL.parse().expect("is a URL"))
}

/// Removes settings that conflict with the address, such as TLS options for a plain HTTP URL.
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

/// Makes a path fit for a request line: adds a leading `/` and percent-encodes blanks and non-ASCII bytes. If the path
/// begins with a variable, no `/` is added.
pub(crate) fn encode_path(path: &Text) -> Text {
    let brings = !path.is_empty() && path.leading_literal().is_empty();
    let mut encoded = Text::from(if brings || path.leading_literal().starts_with('/') { "" } else { "/" });
    encoded.push(&path.map_literals(percent_encode));
    encoded
}

/// Percent-encodes blanks, control characters and non-ASCII bytes.
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

/// Encodes a text as `application/x-www-form-urlencoded`.
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

/// Encodes a text as a segment of a path: as in a form, with `%20` for a blank.
pub(crate) fn encode_segment(text: &str) -> String {
    form_encode(text).replace('+', "%20")
}

/// Adds a parameter to the query of a path, encoded as in a form.
pub(crate) fn add_parameter(path: &mut Text, name: &str, value: &Text) {
    path.push_str(if path.literal_contains(|c| c == '?') { "&" } else { "?" });
    path.push_str(&form_encode(name));
    path.push_str("=");
    path.push(&value.map_literals(form_encode));
}

/// Decodes a form-encoded text as Java's `URLDecoder` does; `None` if it is not valid.
pub(crate) fn form_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, others @ ..] = rest {
        rest = others;
        match first {
            b'%' => {
                let digits = std::str::from_utf8(others.get(..2)?).ok()?;
                bytes.push(u8::from_str_radix(digits, 16).ok()?);
                rest = &others[2..];
            }
            b'+' => bytes.push(b' '),
            first => bytes.push(*first),
        }
    }
    // Java replaces invalid UTF-8.
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Whether the name is an HTTP token and the value contains no control characters.
pub(crate) fn is_valid_header(name: &str, value: &Text) -> bool {
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !name.is_empty() && name.bytes().all(token) && !value.literal_contains(|c| c.is_ascii_control())
}

/// The note about a header that a request cannot have.
pub(crate) fn header_left_out(name: &str) -> String {
    format!("the header `{name}` is set by the generator itself or is not valid; left out")
}

/// Headers that the generator sets itself.
pub(crate) fn is_reserved_header(name: &str) -> bool {
    ["content-length", "transfer-encoding", "connection"].iter().any(|preferred| name.eq_ignore_ascii_case(preferred))
}
