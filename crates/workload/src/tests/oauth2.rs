//! Access tokens of OAuth 2.0 in a workload file.

use super::parse;
use crate::script::{Auth, ClientAuth, Grant, TokenScope};

const BEGIN: &str = "duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[target]\nurl = \"http://h/\"\n";

#[test]
fn the_keys_of_oauth2_are_read_and_written() {
    let short = format!("{BEGIN}auth.oauth2 = {{ token_url = \"/token\", client_id = \"me\" }}\n");
    let long = format!(
        "{BEGIN}auth.oauth2 = {{ token_url = \"http://h/token?x=1\", grant = \"password\", client_id = \"{{{{id}}}}\", client_secret = \"s\", \
         username = \"u{{{{session}}}}\", password = \"p\", scope = \"a b\", audience = \"api\", client_auth = \"body\", \
         parameters = {{ resource = \"https://api/\" }}, per = \"session\" }}\n[variables]\nid = \"me\"\n"
    );
    for text in [&short, &long] {
        let workload = parse(text).unwrap_or_else(|mistake| panic!("{mistake}"));
        let written = workload.to_string();
        assert_eq!(parse(&written).unwrap_or_else(|mistake| panic!("{mistake}\n{written}")), workload, "{written}");
        assert!(workload.is_scripted());
    }
    let workload = parse(&long).unwrap();
    let Some(Auth::OAuth2(oauth2)) = workload.target().unwrap().auth() else { panic!("keys") };
    assert_eq!(
        (oauth2.grant, oauth2.client_auth, oauth2.per),
        (Grant::Password, ClientAuth::Body, TokenScope::Session)
    );
    assert_eq!(oauth2.client_id.text(), Some("me"), "a constant is filled in");
}

#[test]
fn mistakes_are_named() {
    for (keys, parts) in [
        ("client_id = \"me\"", &["`token_url` is missing"][..]),
        ("token_url = \"/t\"", &["`client_id` is missing"]),
        ("token_url = \"token\", client_id = \"me\"", &["`token` is not a token endpoint", "\"/oauth/token\""]),
        ("token_url = \"/t\", client_id = \"me\", client_auth = \"header\"", &["`header` is not one of basic, body"]),
        ("token_url = \"/t\", client_id = \"me\", grant = \"password\", username = \"u\"", &["needs `password`"]),
        ("token_url = \"/t\", client_id = \"me\", refresh_token = \"r\"", &["`refresh_token` cannot be combined with"]),
        ("token_url = \"/t\", client_id = \"me\", parameters = { scope = \"a\" }", &["`scope` is a key of its own"]),
        (
            "token_url = \"https://id.test/t\", client_id = \"me\"",
            &["https://id.test, which is not a target", "add [[target]] with a name and url = \"https://id.test\""],
        ),
        ("token_url = \"/t\", client_id = \"{{me}}\"", &["{{me}}"]),
    ] {
        let mistake = parse(&format!("{BEGIN}auth.oauth2 = {{ {keys} }}\n")).unwrap_err().to_string();
        assert!(parts.iter().all(|part| mistake.contains(part)), "{keys}: {mistake}");
    }
    let call = "duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[target]\nurl = \"http://h/\"\nprotocol = \"h2\"\nreflection = true\n\
                auth.oauth2 = { token_url = \"/t\", client_id = \"me\" }\n[[request]]\ngrpc = \"a.B/C\"\nbody = '{}'\n";
    assert!(parse(call).unwrap_err().to_string().contains("need a [[target]] each"));
}
