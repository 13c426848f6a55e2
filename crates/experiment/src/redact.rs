//! Redacting the copy of a workload in a run directory.
//!
//! Passwords, tokens and keys in the text are replaced by `(blanked)`. Values from the environment or from files (`{{token}}` with
//! `token = { env = "TOKEN" }`) are not part of the text. Everything else stays unchanged, including comments.

use offered_run::secrets_in;
use offered_workload::secret::is_secret;
use toml_edit::{DocumentMut, Item, TableLike, Value};

/// Replaces a secret.
pub(crate) const REDACTED: &str = "(blanked)";

/// Authentication schemes, which precede a secret and are kept.
const SCHEMES: [&str; 4] = ["Basic ", "Bearer ", "Digest ", "Token "];

/// Keys whose values are sent: bodies, WebSocket messages, and paths with their queries.
const SENT: [&str; 10] = ["body", "send", "path", "get", "post", "put", "delete", "head", "patch", "options"];

/// Redacts the secrets in the text of a workload. Redacting twice gives the same text.
pub fn redact(text: &str) -> String {
    let Ok(mut document) = text.parse::<DocumentMut>() else { return text.to_owned() };
    table(document.as_table_mut(), false);
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

/// Redacts a table. `named`: its keys are names chosen by the author.
fn table(table: &mut dyn TableLike, named: bool) {
    for (key, item) in table.iter_mut() {
        let name = key.get().to_owned();
        if let Some(value) = item.as_value_mut() {
            self::value(&name, value, named);
        } else if let Some(inner) = item.as_table_like_mut() {
            self::table(inner, is_named(&name));
        } else if let Some(tables) = item.as_array_of_tables_mut() {
            tables.iter_mut().for_each(|inner| self::table(inner, is_named(&name)));
        }
    }
}

fn value(name: &str, value: &mut Value, named: bool) {
    match value {
        Value::String(text) => {
            let shown = match name {
                _ if named && is_secret(name) => blanked(text.value()),
                "basic" => without_password(text.value()),
                "bearer" => blanked(text.value()),
                "url" => in_text(&url(text.value())),
                "proxy" => url(text.value()),
                _ if SENT.contains(&name) => in_text(text.value()),
                _ => return,
            };
            if shown != *text.value() {
                let decor = text.decor().clone();
                *value = shown.into();
                *value.decor_mut() = decor;
            }
        }
        Value::InlineTable(inner) => table(inner, is_named(name)),
        Value::Array(values) => values.iter_mut().for_each(|inner| self::value(name, inner, named)),
        _ => {}
    }
}

/// Whether the keys of a table are names chosen by the author.
fn is_named(table: &str) -> bool {
    ["headers", "form", "variables"].contains(&table)
}

/// Redacts a secret but keeps its authentication scheme. A secret that is only a template stays.
fn blanked(text: &str) -> String {
    let scheme = SCHEMES.iter().find(|scheme| text.starts_with(**scheme)).copied().unwrap_or_default();
    match &text[scheme.len()..] {
        "" => text.to_owned(),
        rest if rest.starts_with('{') && rest.ends_with('}') => text.to_owned(),
        _ => format!("{scheme}{REDACTED}"),
    }
}

/// Redacts the values of parameters and JSON members whose names mark them as secret.
fn in_text(text: &str) -> String {
    let mut text = text.to_owned();
    for range in secrets_in(&text).into_iter().rev() {
        text.replace_range(range, REDACTED);
    }
    text
}

/// Redacts the password in `user:password`.
fn without_password(text: &str) -> String {
    text.split_once(':').map_or_else(|| text.to_owned(), |(user, password)| format!("{user}:{}", blanked(password)))
}

/// Redacts the password in `scheme://user:password@host`.
fn url(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    match authority.rsplit_once('@') {
        Some((login, _)) => format!("{scheme}://{}{}", without_password(login), &rest[login.len()..]),
        None => text.to_owned(),
    }
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
            .replace("=hunter2&", "=(blanked)&");
        assert_eq!(kept, expected);
        assert!(!kept.contains("hunter2"));
        assert_eq!(redact(&kept), kept);
    }

    #[test]
    fn templates_and_workloads_without_secrets_stay_unchanged() {
        let text = "arrivals.open.rate = \"1/s\"\n[target]\nurl = \"http://a/?x=b:c@d\"\nauth.basic = \"{{user}}:{{password}}\"\n\
                    headers.X-Token = \"{{token}}\"\nheaders.Proxy-Authorization = \"Basic {{both}}\" # said so\n";
        assert_eq!(redact(text), text);
    }
}
