//! The address of a database as libpq writes it: `postgres://user:password@host:port/database?sslmode=require`.

use std::fmt;
use std::str::FromStr;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::address::Address;
use offered_base::{InvalidValue, nearest};

const PORT: u16 = 5432;
/// The prefix of the port in the name of a Unix socket.
const SOCKET: &str = "/.s.PGSQL.";
/// Characters that are percent-encoded in a URL.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// User, password, database and connection settings from the URL of a database.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    /// The user.
    pub user: String,
    /// The password; `None`: the URL has none.
    pub password: Option<String>,
    /// The database.
    pub database: String,
    /// Whether connections are encrypted.
    pub encryption: Encryption,
    /// Further parameters of the startup message: `application_name`, `options`.
    pub settings: Vec<(String, String)>,
}

/// Whether connections to a database are encrypted: libpq's `sslmode`. Connections over a Unix socket are never
/// encrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encryption {
    /// `disable`: no encryption.
    Disabled,
    /// `prefer`: TLS if the server supports it, without checking its certificate. Determined once, before the run.
    #[default]
    Preferred,
    /// `require`: TLS, without checking the server's certificate.
    Required,
    /// `verify-full`: TLS, with a certificate that is valid for the server's name.
    Verified,
}

const MODES: [(&str, Encryption); 4] = [
    ("disable", Encryption::Disabled),
    ("prefer", Encryption::Preferred),
    ("require", Encryption::Required),
    ("verify-full", Encryption::Verified),
];

impl FromStr for Encryption {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let names = MODES.map(|(name, _)| name);
        let known = MODES.into_iter().find(|(name, _)| *name == text).map(|(_, mode)| mode);
        known.ok_or_else(|| {
            InvalidValue::new(format!("sslmode `{text}` is not one of {}{}", names.join(", "), nearest(text, &names)))
        })
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let password = self.password.as_ref().map(|_| "...");
        f.debug_struct("Login")
            .field("user", &self.user)
            .field("password", &password)
            .field("database", &self.database)
            .field("encryption", &self.encryption)
            .field("settings", &self.settings)
            .finish()
    }
}

/// The URL behind `postgres://`.
pub(super) fn parse(rest: &str) -> Result<(Address, Login), InvalidValue> {
    let parts = Parts::parse(rest)?;
    if parts.user.is_empty() {
        return Err(wrong("the URL has no user"));
    }
    if parts.texts().any(|text| text.contains('\0')) {
        return Err(wrong("the URL contains a zero byte"));
    }
    let Parts { user, password, host, port, mut database, encryption, settings } = parts;
    let port = match port.as_deref() {
        None | Some("") => PORT,
        Some(port) => {
            port.parse().ok().filter(|port| *port > 0).ok_or_else(|| wrong(&format!("`{port}` is not a port")))?
        }
    };
    if database.is_empty() {
        database.clone_from(&user);
    }
    let address = if host.starts_with('/') {
        if !matches!(encryption, None | Some(Encryption::Disabled | Encryption::Preferred)) {
            return Err(wrong("a Unix socket cannot be encrypted; remove sslmode"));
        }
        Address::Unix(format!("{host}{SOCKET}{port}"))
    } else if host.is_empty() {
        return Err(wrong("the URL has no host"));
    } else {
        Address::Tcp { host, port }
    };
    let encryption = encryption.unwrap_or_default();
    Ok((address, Login { user, password, database, encryption, settings }))
}

/// The error of an invalid URL.
fn wrong(why: &str) -> InvalidValue {
    InvalidValue::new(format!(
        "{why}; write for example postgres://user@127.0.0.1:5432/shop or postgres://user@/shop?host=/run/postgresql"
    ))
}

fn percent_decoded(text: &str) -> Result<String, InvalidValue> {
    percent_decode_str(text)
        .decode_utf8()
        .map(std::borrow::Cow::into_owned)
        .map_err(|_| wrong("a percent-encoded part of the URL is not UTF-8"))
}

/// The parts of a URL, percent-decoded. Parameters of the query override the parts before it, as in libpq.
struct Parts {
    user: String,
    password: Option<String>,
    host: String,
    port: Option<String>,
    database: String,
    encryption: Option<Encryption>,
    settings: Vec<(String, String)>,
}

impl Parts {
    fn parse(rest: &str) -> Result<Self, InvalidValue> {
        let (rest, query) = rest.split_once('?').map_or((rest, ""), |(rest, query)| (rest, query));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (credentials, place) = authority.rsplit_once('@').map_or(("", authority), |(who, place)| (who, place));
        if place.contains(',') {
            return Err(wrong("several hosts are not supported; write one host"));
        }
        let (name, password) =
            credentials.split_once(':').map_or((credentials, None), |(name, password)| (name, Some(password)));
        let (host, port) = match place.strip_prefix('[').and_then(|inside| inside.split_once(']')) {
            Some((host, after)) => (host, after.strip_prefix(':')),
            None => place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port))),
        };
        let mut parts = Self {
            user: percent_decoded(name)?,
            password: password.map(percent_decoded).transpose()?,
            host: percent_decoded(host)?,
            port: port.map(str::to_owned),
            database: percent_decoded(path)?,
            encryption: None,
            settings: Vec::new(),
        };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').ok_or_else(|| wrong(&format!("`{pair}` has no =")))?;
            parts.set(key, percent_decoded(value)?)?;
        }
        Ok(parts)
    }

    /// User, password, database and settings.
    fn texts(&self) -> impl Iterator<Item = &String> {
        let settings = self.settings.iter().map(|(_, value)| value);
        [&self.user, &self.database].into_iter().chain(&self.password).chain(settings)
    }

    /// Applies a parameter of the query.
    fn set(&mut self, key: &str, value: String) -> Result<(), InvalidValue> {
        match key {
            "host" => self.host = value,
            "port" => self.port = Some(value),
            "user" => self.user = value,
            "password" => self.password = Some(value),
            "dbname" => self.database = value,
            "sslmode" => self.encryption = Some(value.parse()?),
            "application_name" | "options" => self.settings.push((key.to_owned(), value)),
            "connect_timeout" => {
                return Err(InvalidValue::new(
                    "connect_timeout belongs in the workload file: target.connect_timeout = \"5s\"",
                ));
            }
            "sslrootcert" | "sslcert" | "sslkey" => {
                return Err(InvalidValue::new(format!(
                    "{key} belongs in the workload file: target.tls = {{ roots = \"ca.pem\" }}, `certificate`, `key`"
                )));
            }
            _ => return Err(wrong(&format!("unknown parameter `{key}` in the URL"))),
        }
        Ok(())
    }
}

/// The URL as text, with its password or without.
pub(super) fn written(address: &Address, login: &Login, with_password: bool) -> String {
    let encoded = |text: &str| utf8_percent_encode(text, ENCODED).to_string();
    let password = login.password.as_deref().filter(|_| with_password);
    let password = password.map(|password| format!(":{}", encoded(password).replace('/', "%2F"))).unwrap_or_default();
    let user = encoded(&login.user).replace('/', "%2F");
    let mut query: Vec<(&str, String)> = Vec::new();
    let place = match address {
        Address::Tcp { host, port } => {
            let host = if host.contains(':') { format!("[{host}]") } else { encoded(host) };
            if *port == PORT { host } else { format!("{host}:{port}") }
        }
        Address::Unix(socket) => {
            let (folder, port) = socket.rsplit_once(SOCKET).unwrap_or((socket, "5432"));
            query.push(("host", folder.to_owned()));
            query.extend((port != "5432").then(|| ("port", port.to_owned())));
            String::new()
        }
    };
    let mode = MODES.into_iter().find(|(_, mode)| *mode == login.encryption && *mode != Encryption::default());
    query.extend(mode.map(|(name, _)| ("sslmode", name.to_owned())));
    query.extend(login.settings.iter().map(|(key, value)| (key.as_str(), value.clone())));
    let query: Vec<String> = query.iter().map(|(key, value)| format!("{key}={}", encoded(value))).collect();
    let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
    format!("postgres://{user}{password}@{place}/{}{query}", encoded(&login.database))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Url;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Url, String> {
        text.parse().map_err(|wrong: InvalidValue| wrong.to_string())
    }

    #[test]
    fn it_is_read_as_libpq_reads_it() {
        let tcp = |host: &str, port| Address::Tcp { host: host.to_owned(), port };
        let unix = |socket: &str| Address::Unix(socket.to_owned());
        for (text, address, user, password, database, secure) in [
            ("postgres://me@db.example/shop", tcp("db.example", 5432), "me", None, "shop", true),
            (
                "postgresql://me:p%40ss@[::1]:6000/a%2Fb?sslmode=disable",
                tcp("::1", 6000),
                "me",
                Some("p@ss"),
                "a/b",
                false,
            ),
            ("postgres://me@/shop?host=/run/pg&port=7", unix("/run/pg/.s.PGSQL.7"), "me", None, "shop", false),
            ("postgres://me@%2Frun%2Fpg", unix("/run/pg/.s.PGSQL.5432"), "me", None, "me", false),
            ("postgres://127.0.0.1?user=u&password=x&dbname=d", tcp("127.0.0.1", 5432), "u", Some("x"), "d", true),
        ] {
            let url = read(text).unwrap();
            let login = url.login.clone().unwrap();
            let message = (login.user.as_str(), login.password.as_deref(), login.database.as_str());
            assert_eq!((&url.address, message, url.secure), (&address, (user, password, database), secure), "{text}");
            assert_eq!(read(&url.written()).unwrap(), url);
            assert!(!password.is_some_and(|password| format!("{url} {url:?}").contains(password)), "{url:?}");
        }
    }

    #[test]
    fn unknown_parameters_are_refused() {
        for (text, why) in [
            ("postgres://localhost/shop", "has no user"),
            ("postgres://me@/shop", "has no host"),
            ("postgres://me@a,b/shop", "several hosts"),
            ("postgres://me@a/shop?sslmode=verify-ful", "did you mean `verify-full`"),
            ("postgres://me@a/shop?sslmode=allow", "not one of disable, prefer"),
            ("postgres://me@/shop?host=/run&sslmode=require", "Unix socket"),
            ("postgres://me@a/shop?target_session_attrs=any", "`target_session_attrs`"),
            ("postgres://me@a/shop?sslrootcert=ca.pem", "target.tls"),
            ("postgres://me@a:0/shop", "not a port"),
            ("postgres://me@a/%00", "a zero"),
        ] {
            let message = read(text).unwrap_err();
            assert!(message.contains(why), "{text}: {message}");
        }
    }

    proptest! {
        #[test]
        fn a_written_value_is_read_back(
            user in "[^\0]{1,8}", password in prop::option::of("[^\0]{0,8}"), database in "[^\0]{1,8}",
            mode in 0..4_usize, name in prop::option::of("[^\0]{0,8}"), port in 1..u16::MAX,
        ) {
            let login = Login {
                user, password, database, encryption: MODES[mode].1,
                settings: name.into_iter().map(|name| ("application_name".to_owned(), name)).collect(),
            };
            let address = Address::Tcp { host: "db.example".to_owned(), port };
            let url = Url { address, path: "/".to_owned(), secure: mode > 0, login: Some(Box::new(login)) };
            prop_assert_eq!(read(&url.written()).unwrap(), url);
        }
    }
}
