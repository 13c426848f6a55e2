//! Hiding secrets in exchanges that are shown or recorded.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use offered_workload::secret::{SCHEMES, SecretNames};
use offered_workload::template::{Escaping, in_form, in_url};
use percent_encoding::percent_decode_str;
use regex::Regex;

/// Replaces a secret.
pub(crate) const REDACTED: &str = "***";
/// Shorter values are not treated as secrets: redacting every `1` would leave nothing to read.
const MIN_CHARS: usize = 4;

/// `name=value` of a query or a form, and `"name": value` of JSON. The first group is the name, the second the value.
static NAMED: LazyLock<[Regex; 2]> = LazyLock::new(|| {
    let parameter = r#"(?:^|[?&;\s"'])([^=&;\s?"'<>{}]{1,100})=([^&\s#"'<>]+)"#;
    let member = r#""((?:[^"\\]|\\.){1,100})"\s*:\s*(?:"((?:[^"\\]|\\.)+)"|(?<number>-?[0-9][0-9.eE+-]*))"#;
    [parameter, member].map(|pattern| Regex::new(pattern).expect("a pattern"))
});

/// The ranges in `text` of the values of parameters and JSON members with secret names, in order. Placeholders such as
/// `{{token}}` are not included.
pub fn secrets_in(text: &str, names: &SecretNames) -> Vec<Range<usize>> {
    let of = |pattern: &Regex| -> Vec<Range<usize>> {
        let secret = |found: regex::Captures<'_>| {
            let value = found.get(2).or_else(|| found.name("number"))?;
            let name = percent_decode_str(&found[1]).decode_utf8_lossy().into_owned();
            let place = value.as_str().starts_with("{{") && value.as_str().ends_with("}}");
            // `code=500` of a text is no parameter.
            let start = found.get(0)?.start();
            let is_parameter = matches!(text.as_bytes().get(start), Some(b'?' | b'&'))
                || start == 0 && text.as_bytes().get(value.start() - 1) == Some(&b'=');
            let is_secret = if is_parameter { names.contains_parameter(&name) } else { names.contains(&name) };
            (is_secret && !place).then(|| value.range())
        };
        pattern.captures_iter(text).filter_map(secret).collect()
    };
    let mut all: Vec<Range<usize>> = NAMED.iter().flat_map(of).collect();
    all.sort_by_key(|range| range.start);
    all.dedup_by(|later, first| later.start < first.end);
    all
}

/// Secret names, and secret texts in all encodings in which they may appear.
#[derive(Debug)]
pub(crate) struct Redactor<'n> {
    names: &'n SecretNames,
    texts: Vec<String>,
}

impl<'n> Redactor<'n> {
    /// A redactor that hides these values, and the values of these names.
    pub(crate) fn new<'a>(names: &'n SecretNames, values: impl IntoIterator<Item = &'a str>) -> Self {
        let mut redactor = Self { names, texts: Vec::new() };
        for value in values {
            redactor.add(value);
        }
        redactor
    }

    /// Hides this value, too.
    fn add(&mut self, value: &str) {
        if value.chars().count() < MIN_CHARS {
            return;
        }
        let json = Escaping::Json.apply(value);
        let ascii = [in_ascii(&json, false), in_ascii(&json, true)];
        let slashes = ascii.each_ref().map(|text| text.replace('/', "\\/"));
        let escapings = [
            value.to_owned(),
            in_url("", value),
            in_url("?=", value),
            in_form(value),
            json.replace('/', "\\/"),
            json.into_owned(),
            Escaping::Xml.apply(value).into_owned(),
        ];
        let escapings = escapings.into_iter().chain(ascii).chain(slashes);
        self.texts.extend(escapings.filter(|escaping| escaping.chars().count() >= MIN_CHARS));
        // The longest first: if one secret is a prefix of another, the rest of the longer one would remain.
        self.texts.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        self.texts.dedup();
    }

    /// Hides the credentials and cookies in a header line, wherever else they appear.
    pub(crate) fn learn_header(&mut self, line: &str) {
        let Some((name, value)) = line.split_once(": ") else { return };
        let hidden: Vec<&str> = match name.to_ascii_lowercase().as_str() {
            "cookie" => value.split("; ").filter_map(|pair| pair.split_once('=')).map(|(_, value)| value).collect(),
            "set-cookie" => value
                .split(';')
                .next()
                .and_then(|pair| pair.split_once('='))
                .map(|(_, value)| value)
                .into_iter()
                .collect(),
            name if self.names.contains(name) => vec![without_scheme(value).1],
            _ => Vec::new(),
        };
        for value in hidden {
            self.add(value);
        }
    }

    /// Adds the values of parameters and JSON members in `text` with secret names, to hide them in other places
    /// too.
    pub(crate) fn learn_named(&mut self, text: &str) {
        for range in secrets_in(text, self.names) {
            let value = &text[range];
            self.add(value);
            self.add(&percent_decode_str(value).decode_utf8_lossy());
            if let Ok(plain) = serde_json::from_str::<String>(&format!("\"{value}\"")) {
                self.add(&plain);
            }
        }
    }

    /// `text` without secrets, and without the values of parameters and JSON members with secret names.
    pub(crate) fn redact(&self, text: &str) -> String {
        let known = self.texts.iter().fold(Cow::Borrowed(text), |text, secret| match text.contains(secret.as_str()) {
            true => Cow::Owned(text.replace(secret.as_str(), REDACTED)),
            false => text,
        });
        let mut redacted = known.clone().into_owned();
        for range in secrets_in(&known, self.names).into_iter().rev() {
            redacted.replace_range(range, REDACTED);
        }
        redacted
    }

    /// A header line without secrets, credentials and cookies.
    pub(crate) fn redact_line(&self, line: &str) -> String {
        let Some((name, value)) = line.split_once(": ") else { return self.redact(line) };
        match name.to_ascii_lowercase().as_str() {
            "cookie" => {
                let pairs =
                    value.split("; ").map(|pair| format!("{}={REDACTED}", pair.split('=').next().unwrap_or_default()));
                format!("{name}: {}", pairs.collect::<Vec<_>>().join("; "))
            }
            "set-cookie" => {
                let (pair, attributes) = value.split_at(value.find(';').unwrap_or(value.len()));
                format!("{name}: {}={REDACTED}{}", pair.split('=').next().unwrap_or_default(), self.redact(attributes))
            }
            known if self.names.contains(known) => format!("{name}: {}{REDACTED}", without_scheme(value).0),
            _ => self.redact(line),
        }
    }
}

/// The authentication scheme at the start of a header's value, with the blank after it, and the rest of the value.
fn without_scheme(value: &str) -> (&str, &str) {
    let is_scheme = |scheme: &str| SCHEMES.iter().any(|known| known.eq_ignore_ascii_case(scheme));
    match value.find(' ') {
        Some(end) if is_scheme(&value[..end]) => value.split_at(end + 1),
        _ => ("", value),
    }
}

/// A JSON text with all non-ASCII characters escaped (RFC 8259, section 7), as many libraries write it.
fn in_ascii(json: &str, upper: bool) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            c if c.is_ascii() => text.push(c),
            c => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    text += &if upper { format!("\\u{unit:04X}") } else { format!("\\u{unit:04x}") };
                }
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    static NAMES: SecretNames = SecretNames::NONE_ADDED;

    #[test]
    fn secrets_are_redacted_in_every_encoding() {
        let redactor = Redactor::new(&NAMES, ["p\u{e4} \"ss&", "abc", "p\u{e4} \"ss&word", "key/\u{1f511}9"]);
        for text in [
            "p\u{e4} \"ss&",
            "p%C3%A4%20%22ss%26",
            "p%C3%A4+%22ss%26",
            "p\u{e4} \\\"ss&",
            "p\u{e4} \"ss&word",
            "p\\u00e4 \\\"ss&word",
            "p\\u00E4 \\\"ss&",
            "key\\/\\ud83d\\udd119",
            "key/\\uD83D\\uDD119",
        ] {
            assert_eq!(redactor.redact(&format!("a={text};abc")), "a=***;abc", "{text}");
        }
    }

    #[test]
    fn escaped_json_values_are_redacted_everywhere() {
        let mut redactor = Redactor::new(&NAMES, []);
        redactor.learn_named(r#"{"pass": "p\u00e4sswort9"}"#);
        assert_eq!(redactor.redact("p\u{e4}sswort9 p\\u00E4sswort9"), "*** ***");
    }

    #[test]
    fn values_with_secret_names_are_redacted_at_any_length() {
        let redactor = Redactor::new(&NAMES, []);
        for (text, redacted) in [
            ("GET /in?api_key=abc&page=2&Password=x%26y HTTP/1.1", "GET /in?api_key=***&page=2&Password=*** HTTP/1.1"),
            ("user=ann&password=pw&keep=1", "user=ann&password=***&keep=1"),
            (
                r#"{"user": "ann", "password" : "p\"w", "deep": [{"access_token":"t"}], "secret": 17, "n": 1}"#,
                r#"{"user": "ann", "password" : "***", "deep": [{"access_token":"***"}], "secret": ***, "n": 1}"#,
            ),
            ("/a?token={{token}}&t=1", "/a?token={{token}}&t=1"),
            ("/a?token={token}", "/a?token=***"),
            (r#"{"token": null, "password": ""}"#, r#"{"token": null, "password": ""}"#),
            ("a monkey=1 in ?the=zoo", "a monkey=1 in ?the=zoo"),
            ("GET /cb?code=ab1&sig=x9 HTTP/1.1", "GET /cb?code=***&sig=*** HTTP/1.1"),
            ("code=ab1&state=2", "code=***&state=2"),
            ("it ended with code=500", "it ended with code=500"),
            (r#"{"code": 404, "pin": 1234, "otp": "99"}"#, r#"{"code": 404, "pin": ***, "otp": "***"}"#),
        ] {
            assert_eq!(redactor.redact(text), redacted);
        }
        assert_eq!(redactor.redact_line("X-Csrf-Token: abc"), "X-Csrf-Token: ***");
    }

    #[test]
    fn sent_values_with_secret_names_are_redacted_everywhere() {
        let mut redactor = Redactor::new(&NAMES, []);
        redactor.learn_named("GET /in?n=1&signature=a%2Fbcd HTTP/1.1");
        redactor.learn_named("password=hunter22");
        assert_eq!(redactor.redact("<p>a/bcd, a%2Fbcd, hunter22</p>"), "<p>***, ***, ***</p>");
    }

    #[test]
    fn credentials_in_headers_are_redacted_everywhere() {
        let mut redactor = Redactor::new(&NAMES, []);
        let lines = [
            ("Authorization: Bearer t0ken.1", "Authorization: Bearer ***"),
            ("authorization: secretly", "authorization: ***"),
            ("Proxy-Authorization: Basic bWU6c2VjcmV0", "Proxy-Authorization: Basic ***"),
            ("Cookie: sid=12345; b=c", "Cookie: sid=***; b=***"),
            ("Set-Cookie: sid=67890; Path=/; HttpOnly", "Set-Cookie: sid=***; Path=/; HttpOnly"),
            ("X-Auth: user2 pass2", "X-Auth: ***"),
            ("Access-Control-Allow-Credentials: true", "Access-Control-Allow-Credentials: true"),
            ("Sec-WebSocket-Key: dGhlIHNhbXBsZQ==", "Sec-WebSocket-Key: dGhlIHNhbXBsZQ=="),
            ("Accept: */*", "Accept: */*"),
            ("GET / HTTP/1.1", "GET / HTTP/1.1"),
        ];
        for (line, redacted) in lines {
            redactor.learn_header(line);
            assert_eq!(redactor.redact_line(line), redacted);
        }
        assert_eq!(
            redactor.redact("t0ken.1 bWU6c2VjcmV0 12345 67890 secretly Bearer c"),
            "*** *** *** *** *** Bearer c"
        );
    }
}
