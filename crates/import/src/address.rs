//! Where requests go: the parts of a URL, and the one server of a workload.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use offered_model::workload::{Address, Protocol, Target, Tls, Url};

use crate::note::Note;
use crate::text::Text;
use crate::{Error, Kind};

/// Written where a plan names no server.
const NOWHERE: &str = "http://127.0.0.1:8080/";

/// A server, as far as a plan tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Server {
    /// None is named.
    #[default]
    Unnamed,
    /// `http://host:port/`.
    At(String),
    /// One whose name has something in it that has no value.
    Unknown(Lack),
    /// One whose name is only known while it runs.
    Later,
}

/// Something in a server's name that has no value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Lack {
    /// Whether it is a property; else a variable.
    pub(crate) property: bool,
    pub(crate) name: String,
}

impl Server {
    /// The server of a scheme, a host and a port (or nothing).
    pub(crate) fn of(scheme: &str, host: &str, port: &str) -> Self {
        let (scheme, usual) = if scheme.eq_ignore_ascii_case("https") { ("https", "443") } else { ("http", "80") };
        let host = if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host.to_owned() };
        let port = if port == usual || port.is_empty() { String::new() } else { format!(":{port}") };
        let url = format!("{scheme}://{host}{port}/");
        let fit = !url.contains(['{', '}', '$']) && url.parse::<Url>().is_ok();
        if fit { Self::At(url) } else { Self::Unnamed }
    }

    /// Its URL, or nothing where that is not known.
    pub(crate) fn url(&self) -> &str {
        if let Self::At(url) = self { url } else { "" }
    }

    /// The server of a whole URL, and the path and query asked of it; `None`: it is no URL of a web server.
    pub(crate) fn split(url: &str) -> Option<(Self, String)> {
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
        Some((Self::of(scheme, host, port), path.to_owned()))
    }

    /// The same of a URL with variables in it: where they stand in its server, `lack` says which of those names has no value
    /// at all. Where it has no scheme, it is `http`.
    pub(crate) fn split_text(url: &Text, lack: impl Fn(&str) -> Option<Lack>) -> Option<(Self, Text)> {
        let begins = url.begins();
        let whole = match begins.find("://") {
            Some(_) => url.clone(),
            None => {
                let mut whole = Text::from("http://");
                whole.push(url);
                whole
            }
        };
        let begins = whole.begins();
        let host = begins.find("://").map_or(0, |at| at + 3);
        let known = begins[host..].find(['/', '?']).map(|at| host + at);
        if let Some(end) = known.or_else(|| whole.said().map(str::len)) {
            let (server, _) = Self::split(&begins[..end])?;
            return Some((server, whole.after(end)));
        }
        let behind = whole.after(host);
        let (authority, path) = match behind.split_once('/') {
            Some((authority, path)) => (authority, path),
            None => (behind, Text::default()),
        };
        Some((authority.names().find_map(lack).map_or(Self::Later, Self::Unknown), path))
    }
}

/// A request's server and its place in the file.
pub(crate) struct Goal<'g> {
    pub(crate) server: &'g Server,
    pub(crate) line: usize,
    pub(crate) element: &'g str,
    /// How often it is asked.
    pub(crate) times: usize,
}

/// Where requests go.
pub(crate) struct Chosen {
    /// The one target.
    pub(crate) url: Url,
    /// Which requests go to it.
    pub(crate) kept: Vec<bool>,
    /// What is to be said of the others.
    pub(crate) notes: Vec<Note>,
}

/// The target of requests to these servers: that which is `own`, or else is asked most, of equals the first. A request goes where
/// its own URL says or nowhere; only where no URL names a server at all, this machine stands for it.
///
/// # Errors
/// The first that goes to a server whose name is not known, the content of `file`; one that no workload can ask.
pub(crate) fn choose<'g>(
    goals: impl Iterator<Item = Goal<'g>> + Clone,
    own: Option<&Server>,
    file: &str,
) -> Result<Chosen, Error> {
    let mut often: BTreeMap<&Server, (usize, Reverse<usize>)> = BTreeMap::new();
    for (at, goal) in goals.clone().enumerate() {
        match goal.server {
            Server::At(_) => often.entry(goal.server).or_insert((0, Reverse(at))).0 += goal.times,
            Server::Unknown(Lack { property, name }) => {
                let line = if goal.line == 0 { String::new() } else { format!("line {}: ", goal.line) };
                return Err(Error::Unnamed {
                    file: file.to_owned(),
                    element: format!("{line}{}", goal.element),
                    kind: if *property { Kind::Property } else { Kind::Variable },
                    name: name.clone(),
                });
            }
            Server::Unnamed | Server::Later => {}
        }
    }
    let most = often.iter().max_by_key(|(_, often)| **often).map(|(server, _)| *server);
    let chosen = own.filter(|own| often.contains_key(own)).or(most).cloned().unwrap_or_default();
    let mut notes = Vec::new();
    let kept = goals.map(|goal| {
        let (kept, what) = match goal.server {
            Server::Unnamed if chosen == Server::Unnamed => {
                (true, format!("names no server; the target {NOWHERE} stands for it"))
            }
            server if *server == chosen => return true,
            Server::At(url) => (
                false,
                format!(
                    "goes to another server, {url}; a workload has one target, so it is left out, but for its wait"
                ),
            ),
            Server::Later => {
                (false, "goes to a server that is only known while it runs; left out, but for its wait".to_owned())
            }
            _ => (false, "names no server; left out, but for its wait".to_owned()),
        };
        notes.push(Note { line: goal.line, element: goal.element.to_owned(), what });
        kept
    });
    let kept = kept.collect();
    let url = if let Server::At(url) = &chosen { url } else { NOWHERE };
    let url = url.parse().map_err(|wrong| Error::File { file: file.to_owned(), what: format!("{url}: {wrong}") })?;
    Ok(Chosen { url, kept, notes })
}

/// A target of which nothing is known yet: on this machine.
pub(crate) fn nowhere() -> Target {
    Target::new(NOWHERE.parse().expect("is a URL"))
}

/// Without what does not go with its address.
pub(crate) fn consistent(mut target: Target) -> Target {
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
pub(crate) fn sendable(path: &Text) -> Text {
    let brings = !path.is_empty() && path.begins().is_empty();
    let mut sendable = Text::from(if brings || path.begins().starts_with('/') { "" } else { "/" });
    sendable.push(&path.map(fit));
    sendable
}

/// What is said without blanks and what is not ASCII.
pub(crate) fn fit(said: &str) -> String {
    let mut fit = String::with_capacity(said.len());
    for byte in said.bytes() {
        match byte {
            0x21..=0x7e => fit.push(char::from(byte)),
            _ => fit.push_str(&format!("%{byte:02X}")),
        }
    }
    fit
}

/// What is said as a form or a query sends it.
pub(crate) fn form(said: &str) -> String {
    let mut coded = String::with_capacity(said.len());
    for c in said.chars() {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '*' | '-' | '.' | '_' => coded.push(c),
            ' ' => coded.push('+'),
            c => c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| coded.push_str(&format!("%{byte:02X}"))),
        }
    }
    coded
}

/// Whether this can be a header: its name a token, nothing in its value that ends a line.
pub(crate) fn header(name: &str, value: &Text) -> bool {
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !name.is_empty() && name.bytes().all(token) && !value.says_any(|c| c.is_ascii_control())
}

/// Headers that are offered's own affair.
pub(crate) fn own_header(name: &str) -> bool {
    ["content-length", "transfer-encoding", "connection"].iter().any(|own| name.eq_ignore_ascii_case(own))
}
