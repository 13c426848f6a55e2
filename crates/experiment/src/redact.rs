//! Redacting the copy of a workload in a run directory.
//!
//! Passwords, tokens and keys in the text are replaced by `(blanked)`. Values from the environment or from files (`{{token}}` with
//! `token = { env = "TOKEN" }`) are not part of the text. Everything else stays unchanged, including comments.

use offered_run::secrets_in;
use offered_workload::secret::{SCHEMES, SecretNames, with_password};
use toml_edit::{DocumentMut, Item, TableLike, Value};

/// Replaces a secret.
pub(crate) const REDACTED: &str = "(blanked)";

/// Keys with values that are sent: bodies, WebSocket messages, and paths with their queries.
const SENT: [&str; 10] = ["body", "send", "path", "get", "post", "put", "delete", "head", "patch", "options"];

/// Redacts the secrets in the text of a workload. Redacting twice gives the same text.
pub fn redact(text: &str) -> String {
    let Ok(mut document) = text.parse::<DocumentMut>() else { return text.to_owned() };
    let added = document.get("secret_names").and_then(Item::as_array).into_iter().flatten();
    let names = SecretNames::with(added.filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>());
    table(document.as_table_mut(), false, &names);
    document.to_string()
}

/// The workload `text` without the directory of its files, so that a run does not depend on where they are.
pub(crate) fn without_location(text: &str) -> String {
    let Ok(mut document) = text.parse::<DocumentMut>() else { return text.to_owned() };
    if let Some(files) = document.get_mut("files").and_then(Item::as_table_like_mut) {
        files.remove("from");
    }
    document.to_string()
}

/// Redacts a table. `named` is true if its keys are names that the author of the workload chose. The key `name` of a
/// form part or an extraction also has such a name as its value.
fn table(table: &mut dyn TableLike, named: bool, names: &SecretNames) {
    let own = table.get("name").and_then(Item::as_str).is_some_and(|name| names.contains_parameter(name));
    for (key, item) in table.iter_mut() {
        let key = key.get().to_owned();
        let is_secret = named && names.contains_parameter(&key) || own && ["value", "default"].contains(&&*key);
        if let Some(value) = item.as_value_mut() {
            self::value(&key, value, is_secret, names);
        } else if let Some(inner) = item.as_table_like_mut() {
            self::table(inner, is_named(&key), names);
        } else if let Some(tables) = item.as_array_of_tables_mut() {
            tables.iter_mut().for_each(|inner| self::table(inner, is_named(&key), names));
        }
    }
}

fn value(name: &str, value: &mut Value, is_secret: bool, names: &SecretNames) {
    match value {
        Value::String(text) => {
            let shown = match name {
                _ if is_secret => blanked(text.value()),
                "basic" | "digest" => without_password(text.value()),
                "bearer" | "access_key" | "secret_key" | "token" | "client_secret" | "password" | "refresh_token" => {
                    blanked(text.value())
                }
                "url" | "token_url" => in_text(&with_password(text.value(), REDACTED), names),
                "proxy" => with_password(text.value(), REDACTED).into_owned(),
                _ if SENT.contains(&name) => in_text(text.value(), names),
                _ => return,
            };
            if shown != *text.value() {
                let decor = text.decor().clone();
                *value = shown.into();
                *value.decor_mut() = decor;
            }
        }
        Value::Integer(_) | Value::Float(_) if is_secret => {
            let decor = value.decor().clone();
            *value = REDACTED.into();
            *value.decor_mut() = decor;
        }
        Value::InlineTable(inner) => table(inner, is_named(name), names),
        Value::Array(values) => values.iter_mut().for_each(|inner| self::value(name, inner, is_secret, names)),
        _ => {}
    }
}

/// Whether the keys of a table are names chosen by the author.
fn is_named(table: &str) -> bool {
    ["headers", "form", "variables", "fields", "add", "parameters"].contains(&table)
}

/// Redacts a secret but keeps its authentication scheme. A secret that is only a template stays.
fn blanked(text: &str) -> String {
    let is_scheme = |end: &usize| SCHEMES.contains(&&text[..*end]);
    let scheme = text.find(' ').filter(is_scheme).map_or("", |end| &text[..=end]);
    match &text[scheme.len()..] {
        "" => text.to_owned(),
        rest if rest.starts_with('{') && rest.ends_with('}') => text.to_owned(),
        _ => format!("{scheme}{REDACTED}"),
    }
}

/// Redacts the values of parameters and JSON members with secret names.
fn in_text(text: &str, names: &SecretNames) -> String {
    let mut text = text.to_owned();
    for range in secrets_in(&text, names).into_iter().rev() {
        text.replace_range(range, REDACTED);
    }
    text
}

/// Redacts the password in `user:password`.
fn without_password(text: &str) -> String {
    text.split_once(':').map_or_else(|| text.to_owned(), |(user, password)| format!("{user}:{}", blanked(password)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"seed = 1 # a remark
duration = "1s"
arrivals.open.rate = "1/s"
[target]
url = "postgres://me:hunter2@db/shop"
proxy = "http://me:hunter2@proxy:3128"   # of the house
auth = { basic = "me:hunter2" }
headers = { Authorization = "Bearer hunter2", Accept = "text/html", X-Api-Key = "hunter2", Cookie = "{cookie}" }
[variables]
token = { env = "TOKEN" }
cookie = "hunter2"
page = "7"
pin = 1234
jwt = "hunter2"
[[request]]
post = "/login?page={page}"
form = { user = "me", password = "hunter2" }
auth.bearer = "{{token}}"
[[request]]
post = "/session?token=hunter2&page=1"
body = "user=me&password=hunter2&next=%2F"
[[request]]
put = "/me"
body = '{"user": "me", "password": "hunter2", "token": "{{token}}", "page": 1}'
[[request]]
get = "/"
[request.headers]
authorization = "hunter2"
"#;

    #[test]
    fn secrets_are_redacted_and_nothing_else_changes() {
        let kept = redact(TEXT);
        let expected = TEXT
            .replace("Bearer hunter2", "Bearer (blanked)")
            .replace("hunter2@", "(blanked)@")
            .replace(":hunter2\"", ":(blanked)\"")
            .replace("\"hunter2\"", "\"(blanked)\"")
            .replace("=hunter2&", "=(blanked)&")
            .replace("pin = 1234", "pin = \"(blanked)\"");
        assert_eq!(kept, expected);
        assert!(!kept.contains("hunter2"));
        assert_eq!(redact(&kept), kept);
    }

    #[test]
    fn parts_of_forms_defaults_and_names_of_the_workload_are_redacted() {
        let text = "secret_names = [\"shop\"]\n[[request]]\npost = \"/?Shop=1&code=2&n=3\"\n\
                    multipart = [{ name = \"password\", value = \"x\" }, { name = \"a\", value = \"y\" }]\n\
                    extract = [{ name = \"jwt\", json = \"$.t\", default = \"z\" }]\nheaders.shop = \"w\"\n";
        let expected = text.replace("Shop=1&code=2", "Shop=(blanked)&code=(blanked)").replace("\"x\"", "\"(blanked)\"");
        let expected = expected.replace("\"z\"", "\"(blanked)\"").replace("\"w\"", "\"(blanked)\"");
        assert_eq!(redact(text), expected);
    }

    #[test]
    fn secrets_of_token_requests_are_redacted() {
        let text = "[target]\nurl = \"http://a/\"\nauth.oauth2 = { token_url = \"/t?code=x1\", client_id = \"me\", client_secret = \"x2\", \
                    password = \"x3\", refresh_token = \"x4\", scope = \"all\", parameters = { otp = \"x5\", resource = \"r\" } }\n";
        let expected = (1..=5)
            .fold(text.replace("=x1", "=(blanked)"), |text, n| text.replace(&format!("\"x{n}\""), "\"(blanked)\""));
        assert_eq!(redact(text), expected);
    }

    #[test]
    fn templates_and_workloads_without_secrets_stay_unchanged() {
        let text = "arrivals.open.rate = \"1/s\"\n[target]\nurl = \"http://a/?x=b:c@d\"\nauth.basic = \"{{user}}:{{password}}\"\n\
                    headers.X-Token = \"{{token}}\"\nheaders.Proxy-Authorization = \"Basic {{both}}\" # said so\n";
        assert_eq!(redact(text), text);
    }
}
