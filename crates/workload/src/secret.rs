//! The names of fields with secret values. One table is used for all outputs: recorded workloads, exchanges, reports
//! and messages.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::script::{Auth, Body};
use super::{Request, Submit, Template, Workload};
use crate::composed::expanded;
use crate::template::Name;

/// A word of a name that contains one of these marks a secret: `X-Amz-Credential`, `clientsecret`.
const PARTS: [&str; 9] =
    ["authorization", "cookie", "credential", "passphrase", "passwd", "password", "pwd", "samlresponse", "secret"];
/// Words that mark a secret: `user_pin`, `jwt`.
const WORDS: [&str; 11] = ["assertion", "cvc", "cvv", "jwt", "otp", "pass", "passcode", "pin", "pw", "sig", "totp"];
/// Ends of names that mark a secret: `csrfToken`, `X-Amz-Signature`. So does the last word `auth`: `X-Auth`.
const ENDS: [&str; 3] = ["apikey", "signature", "token"];
/// Words before `code` that mark a secret: `access_code`.
const CODES: [&str; 5] = ["access", "auth", "reset", "security", "verification"];
/// Words before `key` that mark no secret: `primary_key`. All other keys are secrets: `X-Api-Key`, `client_key`.
const PLAIN_KEYS: [&str; 9] =
    ["cache", "foreign", "idempotency", "partition", "primary", "public", "sort", "surrogate", "unique"];
/// Last words of names that describe a secret without telling it: `token_type`, `password_length`.
const DESCRIPTIONS: [&str; 11] =
    ["count", "endpoint", "expires", "expiry", "expiration", "length", "lifetime", "policy", "type", "uri", "url"];
/// Headers that begin so are part of a protocol: `Access-Control-Allow-Credentials`, `Sec-WebSocket-Key`.
const PROTOCOL: [&str; 2] = ["access-control-", "sec-websocket-"];
/// Headers that are secrets by no word of their names.
const HEADERS: [&str; 1] = ["authentication-info"];

/// Authentication schemes, which precede a secret and are not part of it (IANA's registry, AWS and Azure).
pub const SCHEMES: [&str; 9] =
    ["Basic", "Bearer", "Digest", "DPoP", "Hawk", "Negotiate", "AWS4-HMAC-SHA256", "SharedKey", "Token"];

/// Names of fields with secret values: the table above, and names that a workload adds (`secret_names`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretNames(Vec<String>);

impl SecretNames {
    /// The names of the built-in table, without added names.
    pub const NONE_ADDED: Self = Self(Vec::new());

    /// The names of the built-in table and these names; names are case-insensitive.
    pub fn with(more: impl IntoIterator<Item = String>) -> Self {
        Self(more.into_iter().collect())
    }

    /// The names that were added.
    pub fn added(&self) -> &[String] {
        &self.0
    }

    /// Whether the value of a header, field, JSON member or variable with this name is a secret.
    pub fn contains(&self, name: &str) -> bool {
        if self.0.iter().any(|added| added.eq_ignore_ascii_case(name)) {
            return true;
        }
        let lower = name.to_ascii_lowercase();
        if PROTOCOL.iter().any(|start| lower.starts_with(start)) {
            return false;
        }
        let words = words(name);
        let (last, before) = match &words[..] {
            [] => return false,
            [only] => (only.as_str(), None),
            [.., before, last] => (last.as_str(), Some(before.as_str())),
        };
        if before.is_some() && DESCRIPTIONS.contains(&last) {
            return false;
        }
        let marks = |word: &String| WORDS.contains(&word.as_str()) || PARTS.iter().any(|part| word.contains(part));
        HEADERS.contains(&lower.as_str())
            || words.iter().any(marks)
            || last == "auth"
            || ENDS.iter().any(|end| last.ends_with(end))
            || before.is_some_and(|before| {
                last == "key" && !PLAIN_KEYS.contains(&before) || last == "code" && CODES.contains(&before)
            })
    }

    /// Whether a parameter of a query or a field of a form is secret. There, `code` is the authorization code of OAuth
    /// (RFC 6749, section 4.1.2); elsewhere it is an error code.
    pub fn contains_parameter(&self, name: &str) -> bool {
        name.eq_ignore_ascii_case("code") || self.contains(name)
    }
}

/// The words of a name, in lower case: `X-Api-Key`, `api_key`, `apiKey`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || c.is_uppercase() && was_lower {
            words.push(String::new());
        }
        if c.is_alphanumeric() {
            words.last_mut().expect("at least one").extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase() || c.is_numeric();
    }
    words.retain(|word| !word.is_empty());
    words
}

impl Workload {
    /// The placeholders in secret positions: in `auth`, in headers, and in forms.
    pub fn secret_placeholders(&self) -> BTreeSet<&str> {
        self.requests().iter().flat_map(|request| self.secrets_of(request)).collect()
    }

    /// The same of one request.
    fn secrets_of<'w>(&'w self, request: &'w Request) -> impl Iterator<Item = &'w str> {
        let names = self.secret_names();
        let auth = auth(request, self).into_iter().flat_map(move |auth| credentials(auth, names));
        let fields: &[(String, Template)] = match &request.body {
            Body::Form(fields) => fields,
            _ => &[],
        };
        let target = self.target_of(request).into_iter().flat_map(|target| &target.headers);
        let named = request.headers.iter().chain(target).chain(fields);
        let named = named.map(|(name, text)| (name.as_str(), text));
        let submitted = request.submit.iter().flat_map(Submit::templates);
        let secret = named.chain(submitted).filter(|(name, _)| names.contains(name)).map(|(_, text)| text);
        let names = auth.chain(secret).flat_map(Template::names);
        names.flat_map(|name| expanded(name, self.variables())).map(|name: &Name| &*name.variable)
    }
}

/// The templates of an authentication whose values are secrets.
fn credentials<'a>(auth: &'a Auth, names: &SecretNames) -> Vec<&'a Template> {
    let Auth::OAuth2(oauth2) = auth else { return auth.templates() };
    let named = oauth2.parameters.iter().filter(|(name, _)| names.contains(name)).map(|(_, text)| text);
    let own = [&oauth2.client_secret, &oauth2.password, &oauth2.refresh_token];
    own.into_iter().flatten().chain(named).collect()
}

fn auth<'a>(request: &'a Request, workload: &'a Workload) -> Option<&'a Auth> {
    request.auth.as_ref().or_else(|| workload.target_of(request).and_then(|target| target.auth.as_ref()))
}

/// `url` with `password` in place of the password in `scheme://user:password@host`.
pub fn with_password<'u>(url: &'u str, password: &str) -> Cow<'u, str> {
    let Some((scheme, rest)) = url.split_once("://") else { return Cow::Borrowed(url) };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let port = rest[..end].rsplit_once(':').map_or("", |(_, port)| port);
    // A password may itself hold a slash, where it was not encoded; then this is no port.
    let is_whole = rest[..end].contains('@') || port.bytes().all(|b| b.is_ascii_digit());
    let authority = if is_whole { &rest[..end] } else { rest };
    match authority.rsplit_once('@').and_then(|(login, _)| Some((login, login.split_once(':')?.0))) {
        Some((login, user)) => Cow::Owned(format!("{scheme}://{user}:{password}{}", &rest[login.len()..])),
        None => Cow::Borrowed(url),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_names_are_recognised() {
        let names = SecretNames::with(["X-Tenant".to_owned()]);
        for name in [
            "password",
            "X-Amz-Signature",
            "access_token",
            "ApiKey",
            "client_key",
            "set-cookie",
            "csrfToken",
            "X-Auth",
            "sig",
            "pass",
            "userPass",
            "pin",
            "otp",
            "credentials",
            "pw",
            "db-pw",
            "jwt",
            "X-Auth-Token",
            "APIKEY",
            "verification_code",
            "Authentication-Info",
            "x-tenant",
            "X-Amz-Credential",
            "PASSWORD",
        ] {
            assert!(names.contains(name) && names.contains_parameter(name), "{name}");
        }
        for name in [
            "page",
            "monkey",
            "user",
            "keyword",
            "Accept",
            "session",
            "Access-Control-Allow-Credentials",
            "Sec-WebSocket-Key",
            "Sec-WebSocket-Accept",
            "primary_key",
            "Surrogate-Key",
            "Idempotency-Key",
            "token_type",
            "total_tokens",
            "passed",
            "pinned",
            "design",
            "author",
            "oauth_signature_type",
            "key",
            "zip_code",
        ] {
            assert!(!names.contains(name) && !names.contains_parameter(name), "{name}");
        }
        assert!(names.contains_parameter("code") && !names.contains("code"));
    }

    #[test]
    fn passwords_in_urls_are_replaced() {
        for (url, expected) in [
            ("http://bob:p%40ss@host/a?x=b:c@d", "http://bob:***@host/a?x=b:c@d"),
            ("http://bob:a/b@host/", "http://bob:***@host/"),
            ("postgres://me:p:w@db/shop", "postgres://me:***@db/shop"),
            ("http://bob@host/", "http://bob@host/"),
            ("http://host/a:b", "http://host/a:b"),
            ("http://host:80/?x=b:c@d", "http://host:80/?x=b:c@d"),
            ("no url", "no url"),
        ] {
            assert_eq!(with_password(url, "***"), expected);
        }
    }

    #[test]
    fn placeholders_that_are_sent_as_secrets_are_secrets() {
        let text = "duration = \"1s\"\narrivals.open.rate = \"1/s\"\nsecret_names = [\"shop\"]\n\
                    [variables]\na.uuid = true\nb.uuid = true\nc.uuid = true\nd.uuid = true\n\
                    [target]\nurl = \"http://h/\"\nauth = { bearer = \"{{a}}\" }\n\
                    [[request]]\npost = \"/{{d}}\"\nform = { otp = \"{{b}}\", n = \"{{d}}\" }\nheaders = { Shop = \"{{c}}\" }\n";
        let workload = crate::write::tests::read(text);
        assert_eq!(workload.secret_placeholders().into_iter().collect::<Vec<_>>(), ["a", "b", "c"]);
        let text = text.replace(
            "{ bearer = \"{{a}}\" }",
            "{ oauth2 = { token_url = \"/{{d}}\", client_id = \"{{d}}\", client_secret = \"{{a}}\" } }",
        );
        let oauth2 = crate::write::tests::read(&text);
        assert_eq!(oauth2.secret_placeholders().into_iter().collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!(workload.secret_names().added(), ["shop"]);
    }
}
