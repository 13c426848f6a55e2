//! What must not be read by those who look at an exchange.

use offered_model::template::{Way, in_form, in_url};

/// Stands for what is not shown.
pub(crate) const BLANK: &str = "***";
/// What is shorter is no secret: blanking every `1` would leave nothing to read.
const SHORTEST: usize = 4;

/// Headers whose values say who somebody is.
const CREDENTIALS: [&str; 6] =
    ["authorization", "proxy-authorization", "x-api-key", "api-key", "x-auth-token", "authentication-info"];

/// Texts that are blanked wherever they stand, in the ways in which values are written.
#[derive(Debug, Default)]
pub(crate) struct Secrets(Vec<String>);

impl Secrets {
    /// These.
    pub(crate) fn new<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let mut secrets = Self::default();
        for value in values {
            secrets.hide(value);
        }
        secrets
    }

    /// Hides this too.
    fn hide(&mut self, value: &str) {
        if value.chars().count() < SHORTEST {
            return;
        }
        let ways = [
            value.to_owned(),
            in_url("", value),
            in_url("?=", value),
            in_form(value),
            Way::Json.written(value).into_owned(),
            Way::Xml.written(value).into_owned(),
        ];
        self.0.extend(ways.into_iter().filter(|way| way.chars().count() >= SHORTEST));
        // Of two that begin alike the longer one goes first: else its end would stay.
        self.0.sort_by_key(|way| std::cmp::Reverse(way.len()));
        self.0.dedup();
    }

    /// Hides what a line of a head says of somebody, wherever it stands.
    pub(crate) fn learn(&mut self, line: &str) {
        let Some((name, value)) = line.split_once(": ") else { return };
        let name = name.to_ascii_lowercase();
        let hidden: Vec<&str> = match name.as_str() {
            "cookie" => value.split("; ").filter_map(|pair| pair.split_once('=')).map(|(_, value)| value).collect(),
            "set-cookie" => value
                .split(';')
                .next()
                .and_then(|pair| pair.split_once('='))
                .map(|(_, value)| value)
                .into_iter()
                .collect(),
            // `Bearer`, `Basic`, or no word before it.
            name if CREDENTIALS.contains(&name) => {
                vec![value.split_once(' ').map_or(value, |(_, credentials)| credentials)]
            }
            _ => Vec::new(),
        };
        for value in hidden {
            self.hide(value);
        }
    }

    /// `text` without them.
    pub(crate) fn blanked(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), BLANK))
    }

    /// A line of a head without them, and without what it says of somebody.
    pub(crate) fn line(&self, line: &str) -> String {
        let Some((name, value)) = line.split_once(": ") else { return self.blanked(line) };
        match name.to_ascii_lowercase().as_str() {
            "cookie" => {
                let pairs =
                    value.split("; ").map(|pair| format!("{}={BLANK}", pair.split('=').next().unwrap_or_default()));
                format!("{name}: {}", pairs.collect::<Vec<_>>().join("; "))
            }
            "set-cookie" => {
                let (pair, attributes) = value.split_at(value.find(';').unwrap_or(value.len()));
                format!("{name}: {}={BLANK}{}", pair.split('=').next().unwrap_or_default(), self.blanked(attributes))
            }
            known if CREDENTIALS.contains(&known) => match value.split_once(' ') {
                Some((scheme, _)) => format!("{name}: {scheme} {BLANK}"),
                None => format!("{name}: {BLANK}"),
            },
            _ => self.blanked(line),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_blanked_in_every_way_it_is_written() {
        let secrets = Secrets::new(["p\u{e4} \"ss&", "abc", "p\u{e4} \"ss&word"]);
        for text in ["p\u{e4} \"ss&", "p%C3%A4%20%22ss%26", "p%C3%A4+%22ss%26", "p\u{e4} \\\"ss&", "p\u{e4} \"ss&word"]
        {
            assert_eq!(secrets.blanked(&format!("a={text};abc")), "a=***;abc", "{text}");
        }
    }

    #[test]
    fn what_heads_say_of_somebody_is_blanked_and_then_everywhere() {
        let mut secrets = Secrets::default();
        let lines = [
            ("Authorization: Bearer t0ken.1", "Authorization: Bearer ***"),
            ("authorization: secretly", "authorization: ***"),
            ("Proxy-Authorization: Basic bWU6c2VjcmV0", "Proxy-Authorization: Basic ***"),
            ("Cookie: sid=12345; b=c", "Cookie: sid=***; b=***"),
            ("Set-Cookie: sid=67890; Path=/; HttpOnly", "Set-Cookie: sid=***; Path=/; HttpOnly"),
            ("Accept: */*", "Accept: */*"),
            ("GET / HTTP/1.1", "GET / HTTP/1.1"),
        ];
        for (line, blanked) in lines {
            secrets.learn(line);
            assert_eq!(secrets.line(line), blanked);
        }
        assert_eq!(
            secrets.blanked("t0ken.1 bWU6c2VjcmV0 12345 67890 secretly Bearer c"),
            "*** *** *** *** *** Bearer c"
        );
    }
}
