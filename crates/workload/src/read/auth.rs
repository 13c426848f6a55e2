//! Reads `auth`.

use super::script::templates;
use crate::check::parts::check_auth;
use crate::script::{Auth, AwsAuth, OAuth2};
use crate::shape;
use crate::source::{Mistake, Table, Value};
use crate::template::Template;

/// `{ basic = "user:password" }`, `{ bearer = "{{token}}" }`, ..., or `false`.
pub(super) fn auth(value: &Value<'_>) -> Result<Auth, Mistake> {
    if let Ok(wanted) = value.truth() {
        return match wanted {
            false => Ok(Auth::None),
            true => Err(value.mistake("write { basic = \"user:password\" } or { bearer = \"token\" }")),
        };
    }
    let (kind, content) = value.table(&shape::AUTH)?.the_one("{ basic = \"user:password\" }")?;
    let auth = match kind {
        "aws" => Auth::Aws(Box::new(aws(&content.table(&shape::AWS)?)?)),
        "oauth2" => Auth::OAuth2(Box::new(oauth2(&content.table(&shape::OAUTH2)?)?)),
        "basic" => Auth::Basic(Template::new(content.text()?)),
        "digest" => Auth::Digest(Template::new(content.text()?)),
        _ => Auth::Bearer(Template::new(content.text()?)),
    };
    content.checked(check_auth(&auth))?;
    Ok(auth)
}

fn aws(table: &Table<'_>) -> Result<AwsAuth, Mistake> {
    Ok(AwsAuth {
        region: table.need("region", "\"...\"")?.text()?.to_owned(),
        service: table.need("service", "\"...\"")?.text()?.to_owned(),
        access_key: needed(table, "access_key", "\"...\"")?,
        secret_key: needed(table, "secret_key", "\"...\"")?,
        token: optional(table, "token")?,
    })
}

fn oauth2(table: &Table<'_>) -> Result<OAuth2, Mistake> {
    Ok(OAuth2 {
        token_url: needed(table, "token_url", "\"/oauth/token\"")?,
        grant: table.named("grant")?.unwrap_or_default(),
        client_id: needed(table, "client_id", "\"{{id}}\"")?,
        client_secret: optional(table, "client_secret")?,
        client_auth: table.named("client_auth")?.unwrap_or_default(),
        username: optional(table, "username")?,
        password: optional(table, "password")?,
        refresh_token: optional(table, "refresh_token")?,
        scope: optional(table, "scope")?,
        audience: optional(table, "audience")?,
        parameters: table.get("parameters").map_or(Ok(Vec::new()), |value| templates(&value))?,
        per: table.named("per")?.unwrap_or_default(),
    })
}

fn needed(table: &Table<'_>, key: &str, example: &str) -> Result<Template, Mistake> {
    table.need(key, example)?.text().map(Template::new)
}

fn optional(table: &Table<'_>, key: &str) -> Result<Option<Template>, Mistake> {
    table.get(key).map(|value| value.text().map(Template::new)).transpose()
}
