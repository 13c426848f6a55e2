//! Reading the connection settings of a target: TLS, proxy, HTTP version.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::shape;
use crate::source::{Mistake, Table, Value};
use crate::template::Template;
use crate::{Address, Call, Chat, Descriptors, Identity, Protocol, Proxy, Tls, Url, bytes_of_hex};
use offered_base::{InvalidValue, Nanos};

/// `tls`, `proxy` and `protocol` of a `[target]`, with files in `folder`.
pub(super) fn reach(table: &Table<'_>, folder: &Path) -> Result<(Tls, Option<Proxy>, Protocol), Mistake> {
    let tls = table.get("tls").map_or(Ok(Tls::default()), |value| tls(&value, folder))?;
    let proxy = table.get("proxy").map(|value| value.parsed()).transpose()?;
    Ok((tls, proxy, table.named("protocol")?.unwrap_or_default()))
}

/// `descriptors = "file.binpb"` or `reflection = true`.
pub(super) fn descriptors(table: &Table<'_>, folder: &Path) -> Result<Option<Descriptors>, Mistake> {
    let file = table.get("descriptors").map(|v| v.text().map(|name| folder.join(name))).transpose()?;
    match (file, table.get("reflection").map_or(Ok(false), |v| v.truth())?) {
        (Some(_), true) => Err(table.mistake("`descriptors` cannot be combined with `reflection`; remove one")),
        (Some(file), false) => Ok(Some(Descriptors::File(file))),
        (None, true) => Ok(Some(Descriptors::Reflection)),
        (None, false) => Ok(None),
    }
}

/// The kind of exchange of a `[[request]]`; for a WebSocket also the message.
pub(super) fn call(table: &Table<'_>) -> Result<(Call, Option<Template>), Mistake> {
    let (grpc, websocket) = (table.get("grpc"), table.get("websocket"));
    if let (Some(grpc), Some(_)) = (&grpc, &websocket) {
        return Err(grpc.mistake("cannot be combined with websocket; remove one"));
    }
    if let Some(grpc) = grpc {
        let name = grpc.text()?;
        let is_name = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        return match name.split_once('/') {
            Some((service, method)) if service.split('.').all(is_name) && is_name(method) => Ok((Call::Grpc, None)),
            _ => Err(grpc.mistake(format!("`{name}` is not a method; write for example \"shop.Orders/Place\""))),
        };
    }
    let Some(websocket) = websocket else { return Ok((Call::Http, None)) };
    let own = websocket.table(&shape::WEBSOCKET)?;
    let text = |key| own.get(key).map(|value| value.text().map(Template::new)).transpose();
    let (send, hex) = (text("send")?, text("send_hex")?);
    if let (Some(_), Some(value)) = (&send, own.get("send_hex")) {
        return Err(value.mistake("cannot be combined with send; a request sends one message"));
    }
    if let (Some(value), Some(plain)) = (own.get("send_hex"), hex.as_ref().and_then(Template::text)) {
        bytes_of_hex(plain).map_err(|why| value.mistake(format!("`{plain}` {why}")))?;
    }
    let count = own.get("count").map(|value| value.count().map(|count| u32::try_from(count).unwrap_or(u32::MAX)));
    let listen = own.get("listen");
    let chat = Chat {
        binary: hex.is_some(),
        awaited: text("await")?,
        count: count.transpose()?,
        listen: own.parsed("listen")?,
    };
    if let Some(value) = listen.filter(|_| chat.listen == Some(Nanos::ZERO)) {
        return Err(value.mistake("expected a time above zero"));
    }
    Ok((Call::WebSocket(chat), send.or(hex)))
}

/// Reads `[target.tls]`; its files are in `folder`.
fn tls(value: &Value<'_>, folder: &Path) -> Result<Tls, Mistake> {
    let table = value.table(&shape::TLS)?;
    let file = |key| table.get(key).map(|v| v.text().map(|name| folder.join(name))).transpose();
    let flag = |key| table.get(key).map_or(Ok(false), |v| v.truth());
    let (insecure, roots) = (flag("insecure")?, file("roots")?);
    let identity = match (file("certificate")?, file("key")?) {
        (Some(certificate), Some(key)) => Some(Identity { certificate, key }),
        (None, None) => None,
        _ => return Err(table.mistake("a client certificate needs both `certificate` and `key`")),
    };
    let server_name = table.get("server_name").map(|v| v.text().map(str::to_owned)).transpose()?;
    Ok(Tls { insecure, roots, identity, server_name, resume: flag("resume")? })
}

/// As [`FromStr`] reads it.
impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("http://")?;
        if let Some(user) = &self.user {
            // The colon between name and password is not encoded: some proxies need it, and a name contains none.
            let parts: Vec<String> =
                user.split(':').map(|part| utf8_percent_encode(part, NON_ALPHANUMERIC).to_string()).collect();
            write!(f, "{}@", parts.join(":"))?;
        }
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

impl FromStr for Proxy {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let wrong = |why: &str| {
            InvalidValue::new(format!(
                "{why}; write for example http://127.0.0.1:3128 or http://user:password@host:3128"
            ))
        };
        let rest = text.strip_prefix("http://").ok_or_else(|| wrong("the URL of a proxy must begin with http://"))?;
        // A password may contain any character except those that end it.
        let (user, place) = rest.rsplit_once('@').map_or((None, rest), |(user, place)| (Some(user), place));
        let url: Url = format!("http://{place}").parse().map_err(|_| wrong("this is not the URL of a proxy"))?;
        match url {
            Url { address: Address::Tcp { host, port }, path, .. } if path == "/" => Ok(Self {
                host,
                port,
                user: user.map(|user| percent_decode_str(user).decode_utf8_lossy().into_owned()),
            }),
            _ => Err(wrong("the URL of a proxy cannot have a path")),
        }
    }
}
