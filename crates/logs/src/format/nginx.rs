//! Compiles nginx's `log_format` strings.

use super::pattern::{Field, Pattern};

/// Compiles a string such as `$remote_addr - $remote_user [$time_local] "$request"`.
pub(crate) fn compile(format: &str, user: Option<&str>) -> Result<Pattern, String> {
    let mut pattern = Pattern::default();
    let mut rest = format;
    while let Some((literal, variable)) = rest.split_once('$') {
        if !literal.is_empty() {
            pattern.literal(literal.as_bytes());
        }
        let (name, after) = if let Some(braced) = variable.strip_prefix('{') {
            braced.split_once('}').ok_or_else(|| format!("`${variable}` has no closing }}"))?
        } else {
            let end = variable.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(variable.len());
            variable.split_at(end)
        };
        pattern.field(field(name), user == Some(name));
        rest = after;
    }
    if !rest.is_empty() {
        pattern.literal(rest.as_bytes());
    }
    pattern.checked(user)
}

fn field(name: &str) -> Field {
    match name {
        "time_local" | "time_iso8601" | "msec" => Field::Time,
        "remote_addr" | "binary_remote_addr" | "realip_remote_addr" | "http_x_forwarded_for" | "http_x_real_ip" => {
            Field::Client
        }
        "http_user_agent" => Field::Agent,
        "request" => Field::Request,
        "request_method" => Field::Method,
        "request_uri" | "uri" => Field::Target,
        "status" => Field::Status,
        "body_bytes_sent" | "bytes_sent" => Field::Bytes,
        "request_time" => Field::Duration(1_000_000_000),
        _ => Field::Ignored,
    }
}
