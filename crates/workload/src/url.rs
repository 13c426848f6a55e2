//! The target's address: `http://host:port/path`, `https://...`, `unix:/run/app.sock` with an optional `:/path`, or
//! `postgres://user@host/database`.

use std::fmt;
use std::str::FromStr;

use super::address::Address;
use super::login::{self, Encryption, Login};
use super::secret::with_password;
use offered_base::InvalidValue;

/// The URL of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// The address.
    pub address: Address,
    /// The default path of requests; begins with `/`.
    pub path: String,
    /// Whether the target uses TLS.
    pub secure: bool,
    /// User and connection settings of a database; `None`: not a database.
    pub login: Option<Box<Login>>,
}

impl Url {
    fn default_port(&self) -> u16 {
        if self.secure { 443 } else { 80 }
    }

    /// As it is read again: as it is shown, and with its password.
    pub(super) fn written(&self) -> String {
        self.login.as_ref().map_or_else(|| self.to_string(), |login| login::written(&self.address, login, true))
    }

    /// Whether an absolute URL begins with this origin, in any case and with or without the default port.
    pub fn has_origin(&self, origin: &str) -> bool {
        let usual = if self.secure { ":443" } else { ":80" };
        let short = |origin: &str| {
            let lower = origin.to_ascii_lowercase();
            lower.strip_suffix(usual).unwrap_or(&lower).to_owned()
        };
        self.login.is_none() && short(origin) == short(&self.origin())
    }

    /// The scheme and the value of the `Host` header, as in `https://shop.test`.
    pub fn origin(&self) -> String {
        format!("http{}://{}", if self.secure { "s" } else { "" }, self.host())
    }

    /// The value of the `Host` header.
    pub fn host(&self) -> String {
        match &self.address {
            Address::Unix(_) => "localhost".to_owned(),
            Address::Tcp { host, port } => {
                let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
                if *port == self.default_port() { host } else { format!("{host}:{port}") }
            }
        }
    }
}

impl FromStr for Url {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let wrong = |why: &str| {
            let shown = with_password(text, "***");
            InvalidValue::new(format!(
                "`{shown}` is not a URL that offered can test{why}; write for example http://127.0.0.1:8080/"
            ))
        };
        if text.bytes().any(|b| b.is_ascii_control() || b == b' ') {
            return Err(wrong(" (it has a space or control character; write %20 for a space)"));
        }
        if let Some(rest) = text.strip_prefix("unix:") {
            let (socket, path) = rest.split_once(":/").map_or((rest, String::new()), |(s, p)| (s, p.to_owned()));
            if socket.is_empty() {
                return Err(wrong(" (unix: needs the path of a socket)"));
            }
            return Ok(Self {
                address: Address::Unix(socket.to_owned()),
                path: format!("/{path}"),
                secure: false,
                login: None,
            });
        }
        let (secure, rest) = match text.split_once("://") {
            Some(("http", rest)) => (false, rest),
            Some(("https", rest)) => (true, rest),
            Some(("postgres" | "postgresql", rest)) => {
                let (address, login) = login::parse(rest)?;
                let secure = matches!(address, Address::Tcp { .. }) && login.encryption != Encryption::Disabled;
                return Ok(Self { address, path: "/".to_owned(), secure, login: Some(Box::new(login)) });
            }
            Some((scheme @ ("ws" | "wss"), _)) => {
                let http = scheme.replace("ws", "http");
                return Err(wrong(&format!(" (write {http}:// and a [[request]] with `websocket`)")));
            }
            Some((scheme, _)) => return Err(wrong(&format!(" (unknown scheme `{scheme}`)"))),
            None => return Err(wrong(" (it has no scheme)")),
        };
        let rest = rest.split_once('#').map_or(rest, |(before, _)| before);
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        if authority.contains('@') {
            return Err(wrong(" (no user or password in a URL: use a header)"));
        }
        let (host, port) = if let Some(inside) = authority.strip_prefix('[') {
            let (host, after) = inside.split_once(']').ok_or_else(|| wrong(" (unclosed `[`)"))?;
            if host.parse::<std::net::Ipv6Addr>().is_err() {
                return Err(wrong(" (the text in brackets is not an IPv6 address)"));
            }
            (host, after.strip_prefix(':'))
        } else {
            authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port)))
        };
        if host.is_empty() {
            return Err(wrong(" (it has no host)"));
        }
        let port = match port {
            None if secure => 443,
            None => 80,
            Some(port) => {
                port.parse().ok().filter(|p| *p > 0).ok_or_else(|| wrong(&format!(" (`{port}` is not a port)")))?
            }
        };
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Ok(Self { address: Address::Tcp { host: host.to_owned(), port }, path, secure, login: None })
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(login) = &self.login {
            return f.write_str(&login::written(&self.address, login, false));
        }
        match &self.address {
            Address::Unix(socket) => write!(f, "unix:{socket}:{}", self.path),
            Address::Tcp { .. } => {
                write!(f, "http{}://{}{}", if self.secure { "s" } else { "" }, self.host(), self.path)
            }
        }
    }
}
