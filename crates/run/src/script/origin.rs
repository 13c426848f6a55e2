//! The servers that requests can be sent to, and the resolution of URLs to them (RFC 3986, section 5.2).

use offered_workload::{Target, Workload};

/// A URL on one of the targets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Location {
    /// The index of the target.
    pub(crate) target: u16,
    /// Path and query.
    pub(crate) path: String,
}

/// A target.
#[derive(Debug)]
pub(super) struct Origin {
    /// The scheme and the authority, as in `https://shop.test`.
    pub(super) url: String,
    /// The host alone.
    pub(super) host: String,
    pub(super) secure: bool,
    /// Whether sessions keep its cookies.
    pub(super) cookies: bool,
    authority: String,
    /// The protocol client for requests to this server, and the client for its WebSocket messages.
    client: u16,
    socket: u16,
}

/// All targets, by index.
#[derive(Debug)]
pub(super) struct Origins(Vec<Origin>);

impl Origins {
    /// The targets of `workload`.
    pub(super) fn new(workload: &Workload) -> Self {
        let clients = workload.clients();
        let client = |wanted: (u16, bool)| clients.iter().position(|client| *client == wanted).unwrap_or(0) as u16;
        let origin = |(target, own): (u16, &Target)| {
            let authority = own.url().host();
            let host = match authority.rsplit_once(':') {
                Some((host, _)) if !authority.ends_with(']') => host,
                _ => &authority,
            };
            Origin {
                url: own.url().origin(),
                host: host.trim_matches(['[', ']']).to_owned(),
                secure: own.url().secure,
                cookies: own.cookies(),
                authority,
                client: client((target, false)),
                socket: client((target, true)),
            }
        };
        Self((0u16..).zip(workload.targets()).map(origin).collect())
    }

    /// A target.
    pub(super) fn get(&self, target: u16) -> &Origin {
        &self.0[usize::from(target)]
    }

    /// The protocol client for a request to `target`.
    pub(super) fn client(&self, target: u16, is_socket: bool) -> u16 {
        let origin = self.get(target);
        if is_socket { origin.socket } else { origin.client }
    }

    /// Resolves `location` relative to `path` on target `base`: an absolute or relative path, or a whole URL of any target.
    ///
    /// # Errors
    /// It is on another host.
    pub(super) fn resolve(&self, (base, path): (u16, &str), location: &str) -> Result<Location, String> {
        let scheme = location.find("://").filter(|at| location[..*at].bytes().all(|b| b.is_ascii_alphanumeric()));
        if let Some(scheme) = scheme {
            let rest = &location[scheme + 3..];
            let end = rest.find(['/', '?']).unwrap_or(rest.len());
            let found = self.0.iter().position(|origin| origin.is(&location[..scheme], &rest[..end]));
            return match found {
                Some(target) => Ok(Location { target: target as u16, path: with_leading_slash(&rest[end..]) }),
                None => Err(self.of_other(location)),
            };
        }
        if has_scheme(location) {
            return Err(self.of_other(location));
        }
        if let Some(rest) = location.strip_prefix("//") {
            let scheme = if self.get(base).secure { "https" } else { "http" };
            return self.resolve((base, path), &format!("{scheme}://{rest}"));
        }
        let directory = path.split('?').next().unwrap_or(path);
        let path = match location.as_bytes().first() {
            None => path.to_owned(),
            Some(b'/') => location.to_owned(),
            Some(b'?') => format!("{directory}{location}"),
            Some(_) => remove_dot_segments(&format!("{}{location}", &directory[..=directory.rfind('/').unwrap_or(0)])),
        };
        Ok(Location { target: base, path })
    }

    fn of_other(&self, location: &str) -> String {
        let urls: Vec<&str> = self.0.iter().map(|origin| origin.url.as_str()).collect();
        format!("{location} is on another server than {}", urls.join(" or "))
    }
}

impl Origin {
    /// The host, with its port unless that is the default.
    pub(super) fn authority(&self) -> &str {
        &self.authority
    }

    /// Whether it has this scheme and authority.
    fn is(&self, scheme: &str, authority: &str) -> bool {
        let (own, usual) = if self.secure { ("https", ":443") } else { ("http", ":80") };
        let short = |authority: &str| authority.strip_suffix(usual).unwrap_or(authority).to_ascii_lowercase();
        scheme.eq_ignore_ascii_case(own) && short(authority) == short(&self.authority)
    }
}

/// Whether a URL begins with a scheme (RFC 3986, section 3.1): valid characters before the first colon.
fn has_scheme(location: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    location.split_once(':').is_some_and(|(scheme, _)| {
        scheme.as_bytes().first().is_some_and(u8::is_ascii_alphabetic) && scheme.bytes().all(fits)
    })
}

/// A path that begins with `/`.
fn with_leading_slash(path: &str) -> String {
    if path.starts_with('/') { path.to_owned() } else { format!("/{path}") }
}

/// A path without `.` and `..` segments (RFC 3986, section 5.2.4); the query is unchanged.
fn remove_dot_segments(path: &str) -> String {
    let (path, query) = path.split_at(path.find('?').unwrap_or(path.len()));
    let mut segments: Vec<&str> = Vec::new();
    let mut pieces = path.split('/').skip(1).peekable();
    while let Some(piece) = pieces.next() {
        let last = pieces.peek().is_none();
        match piece {
            "." | ".." => {
                if piece == ".." {
                    segments.pop();
                }
                if last {
                    segments.push("");
                }
            }
            piece => segments.push(piece),
        }
    }
    format!("/{}{query}", segments.join("/"))
}
