//! Names that say that what they name is a secret.

/// Parts of names whose values are secrets: of headers, fields of forms, parameters, members of JSON and variables.
const SECRET: [&str; 9] =
    ["authorization", "cookie", "credential", "passphrase", "passwd", "password", "pwd", "secret", "token"];
/// Those that are secrets when a name ends so: `api-key`, `X-Amz-Signature`, `client_key`.
const SECRET_AT_END: [&str; 5] = ["api-key", "apikey", "_key", "-key", "signature"];

/// Whether what has this name is a secret.
pub fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET.iter().any(|part| name.contains(part)) || SECRET_AT_END.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::is_secret;

    #[test]
    fn a_name_tells_a_secret_and_most_names_tell_none() {
        for name in ["password", "X-Amz-Signature", "access_token", "ApiKey", "client_key", "set-cookie", "csrfToken"] {
            assert!(is_secret(name), "{name}");
        }
        for name in ["page", "monkey", "user", "keyword", "Accept", "session"] {
            assert!(!is_secret(name), "{name}");
        }
    }
}
