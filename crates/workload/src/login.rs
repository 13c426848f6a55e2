//! The address of a database as libpq writes it: `postgres://user:password@host:port/database?sslmode=require`.

use std::fmt;
use std::str::FromStr;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::address::Address;
use offered_base::{InvalidValue, nearest};

const PORT: u16 = 5432;
/// What stands in front of the port in the name of a Unix socket.
const SOCKET: &str = "/.s.PGSQL.";
/// What may stand in a URL as it is.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// Who logs in to a database, and where.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    /// The user.
    pub user: String,
    /// The password, where one is written.
    pub password: Option<String>,
    /// The database.
    pub database: String,
    /// Whether connections are encrypted.
    pub encryption: Encryption,
    /// What is said besides when a connection begins: `application_name`, `options`.
    pub settings: Vec<(String, String)>,
}

/// Whether connections to a database are encrypted: libpq's `sslmode`. Over a Unix socket they never are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encryption {
    /// `disable`: they are not.
    Disabled,
    /// `prefer`: if the server can, whatever its certificate. It is asked once, before the run.
    #[default]
    Preferred,
    /// `require`: they are, whatever the server's certificate.
    Required,
    /// `verify-full`: they are, and the server's certificate holds for its name.
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
    let wrong = |why: &str| {
        InvalidValue::new(format!(
            "{why}; write for example postgres://user@127.0.0.1:5432/shop or postgres://user@/shop?host=/run/postgresql"
        ))
    };
    let decoded = |text: &str| {
        percent_decode_str(text)
            .decode_utf8()
            .map(std::borrow::Cow::into_owned)
            .map_err(|_| wrong("a % in the URL stands for no text (UTF-8)"))
    };
    let (rest, query) = rest.split_once('?').map_or((rest, ""), |(rest, query)| (rest, query));
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (who, place) = authority.rsplit_once('@').map_or(("", authority), |(who, place)| (who, place));
    if place.contains(',') {
        return Err(wrong("several hosts are several targets"));
    }
    let (name, password) = who.split_once(':').map_or((who, None), |(name, password)| (name, Some(password)));
    let (host, port) = match place.strip_prefix('[').and_then(|inside| inside.split_once(']')) {
        Some((host, after)) => (host, after.strip_prefix(':')),
        None => place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port))),
    };
    let (mut user, mut password) = (decoded(name)?, password.map(decoded).transpose()?);
    let (mut host, mut port) = (decoded(host)?, port.map(str::to_owned));
    let (mut database, mut encryption, mut settings) = (decoded(path)?, None, Vec::new());
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').ok_or_else(|| wrong(&format!("`{pair}` has no =")))?;
        let value = decoded(value)?;
        match key {
            "host" => host = value,
            "port" => port = Some(value),
            "user" => user = value,
            "password" => password = Some(value),
            "dbname" => database = value,
            "sslmode" => encryption = Some(value.parse()?),
            "application_name" | "options" => settings.push((key.to_owned(), value)),
            "connect_timeout" => {
                return Err(InvalidValue::new(
                    "connect_timeout is said beside the url: target.connect_timeout = \"5s\"",
                ));
            }
            "sslrootcert" | "sslcert" | "sslkey" => {
                return Err(InvalidValue::new(format!(
                    "{key} is said beside the url: target.tls = {{ roots = \"ca.pem\" }}, `certificate`, `key`"
                )));
            }
            _ => return Err(wrong(&format!("the URL asks for `{key}`, which is not known here"))),
        }
    }
    if user.is_empty() {
        return Err(wrong("the URL says no user"));
    }
    if [&user, &database]
        .into_iter()
        .chain(password.as_ref())
        .chain(settings.iter().map(|(_, value)| value))
        .any(|text| text.contains('\0'))
    {
        return Err(wrong("the URL has a zero in it"));
    }
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
            return Err(wrong("over a Unix socket nothing is encrypted; take sslmode out"));
        }
        Address::Unix(format!("{host}{SOCKET}{port}"))
    } else if host.is_empty() {
        return Err(wrong("the URL says no host"));
    } else {
        Address::Tcp { host, port }
    };
    let encryption = encryption.unwrap_or_default();
    Ok((address, Login { user, password, database, encryption, settings }))
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
            let told = (login.user.as_str(), login.password.as_deref(), login.database.as_str());
            assert_eq!((&url.address, told, url.secure), (&address, (user, password, database), secure), "{text}");
            assert_eq!(read(&url.written()).unwrap(), url);
            assert!(!password.is_some_and(|password| format!("{url} {url:?}").contains(password)), "{url:?}");
        }
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for (text, why) in [
            ("postgres://localhost/shop", "says no user"),
            ("postgres://me@/shop", "says no host"),
            ("postgres://me@a,b/shop", "several hosts"),
            ("postgres://me@a/shop?sslmode=verify-ful", "did you mean `verify-full`"),
            ("postgres://me@a/shop?sslmode=allow", "not one of disable, prefer"),
            ("postgres://me@/shop?host=/run&sslmode=require", "Unix socket"),
            ("postgres://me@a/shop?target_session_attrs=any", "`target_session_attrs`"),
            ("postgres://me@a/shop?sslrootcert=ca.pem", "target.tls"),
            ("postgres://me@a:0/shop", "not a port"),
            ("postgres://me@a/%00", "a zero"),
        ] {
            let told = read(text).unwrap_err();
            assert!(told.contains(why), "{text}: {told}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_as_what_it_was(
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
