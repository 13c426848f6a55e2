//! URLs of requests (`postman-collection`, `lib/collection/url.js` and `query-param.js`).

use crate::address::{MissingValue, Server};
use crate::data::Data;
use crate::text::Text;

use super::Reader;

impl<'d> Reader<'d> {
    /// The server and the path of a URL, given as a string or as its parts. Postman uses the parts, whatever `raw` says.
    pub(super) fn url(&mut self, url: &'d Data, element: &str) -> Option<(Server, Text)> {
        let whole = match url {
            Data::Text(raw) => raw.clone(),
            url if url.get("host").is() || url.get("path").is() => of_parts(url),
            url => {
                let raw = url.get("raw").text();
                if url.get("query").list().iter().any(|pair| pair.get("disabled").yes()) {
                    let base = raw.split(['?', '#']).next().unwrap_or_default();
                    with_query(base.to_owned(), url.get("query"))
                } else {
                    raw.to_owned()
                }
            }
        };
        if whole.trim().is_empty() {
            return None;
        }
        let begins = whole.find("://").map_or(0, |at| at + 3);
        let (path, query) = whole.split_at(whole[begins..].find(['?', '#']).map_or(whole.len(), |at| begins + at));
        let (scheme, rest) = path.split_at(begins.min(path.len()));
        let own = url.get("variable").list();
        let path: Vec<String> = rest
            .split('/')
            .enumerate()
            .map(|(at, part)| if at == 0 { part.to_owned() } else { segment(part, own) })
            .collect();
        let whole = self.resolve(&format!("{scheme}{}{query}", path.join("/")), element);
        self.used_preset = false;
        self.resolve(&path[0], element);
        let lack = |name: &str| {
            self.undefined.get(name).map(|wanted| MissingValue { is_property: false, name: wanted.clone() })
        };
        let (server, path) = Server::parse_text(&whole, lack)?;
        if self.used_preset && self.preset_server.is_none() {
            self.preset_server = Some(server.clone());
        }
        Some((server, path))
    }
}

/// A segment of the path. `:id`, up to a dot, is a path variable; a path variable without a value becomes `{{id}}`.
fn segment(segment: &str, variables: &[Data]) -> String {
    let Some(name) = segment.strip_prefix(':').filter(|name| !name.is_empty()) else { return segment.to_owned() };
    let (name, rest) = name.split_at(name.find('.').unwrap_or(name.len()));
    let is_wanted = |variable: &&Data| variable.get("key").text() == name || variable.get("id").text() == name;
    let value = variables.iter().find(is_wanted).map(|variable| variable.get("value").plain());
    let value = value.filter(|value| !value.is_empty()).unwrap_or_else(|| format!("{{{{{name}}}}}"));
    value + rest
}

/// The URL as Postman builds it from the parts.
fn of_parts(url: &Data) -> String {
    let joined = |part: &Data, by: &str| match part {
        Data::List(parts) => parts.iter().map(Data::plain).collect::<Vec<_>>().join(by),
        other => other.plain(),
    };
    let mut whole = match url.get("protocol").plain() {
        protocol if protocol.is_empty() || protocol.ends_with("://") => protocol,
        protocol => protocol + "://",
    };
    whole += &joined(url.get("host"), ".");
    let port = url.get("port").plain();
    if !port.is_empty() {
        whole += &format!(":{port}");
    }
    let path = url.get("path");
    if path.is() {
        // A path that is a text may begin with the slash.
        let slash = if path.text().starts_with('/') { "" } else { "/" };
        whole += slash;
        whole += &joined(path, "/");
    }
    with_query(whole, url.get("query"))
}

/// Appends the parameters of a query that are not disabled.
fn with_query(url: String, query: &Data) -> String {
    let query: Vec<String> = match query {
        Data::Map(pairs) => pairs.iter().map(|(key, value)| pair(&Data::Text(key.clone()), value)).collect(),
        Data::Text(query) => vec![query.clone()],
        pairs => enabled(pairs).map(|one| pair(one.get("key"), one.get("value"))).collect(),
    };
    if query.is_empty() { url } else { format!("{url}?{}", query.join("&")) }
}

/// The elements of a list that are not disabled.
pub(super) fn enabled(list: &Data) -> impl Iterator<Item = &Data> {
    list.list().iter().filter(|one| !one.get("disabled").yes())
}

/// A parameter of the query; `#` and `&` in it are encoded, also `=` in its name.
fn pair(key: &Data, value: &Data) -> String {
    let key = outside_placeholders(&key.plain(), |text| encoded(text).replace('=', "%3D"));
    match value {
        Data::Null => key,
        value => format!("{key}={}", outside_placeholders(&value.plain(), encoded)),
    }
}

fn encoded(text: &str) -> String {
    text.replace('&', "%26").replace('#', "%23")
}

/// Changes the text outside `{{...}}`.
fn outside_placeholders(text: &str, change: impl Fn(&str) -> String) -> String {
    let (mut changed, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, after)) = after.split_once("}}") else { break };
        changed += &change(before);
        changed += &format!("{{{{{name}}}}}");
        rest = after;
    }
    changed + &change(rest)
}
