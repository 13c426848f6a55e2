//! Writes `[target]`.

use std::net::IpAddr;
use std::path::Path;

use super::pairs::{Pair, Pairs, inline, list, one, template, templates};
use crate::script::{Auth, ClientAuth, Grant, OAuth2, TokenScope};
use crate::target::{CONNECT_TIMEOUT, RESPONSE_TIMEOUT};
use crate::toml_text::{toml_key, toml_text};
use crate::{Descriptors, Protocol, Resolve, Reuse, Target, Tls};

/// The keys of `[target]`.
pub(super) fn of_target(target: &Target) -> Vec<Pair> {
    let Target {
        folder,
        name,
        url,
        reuse,
        connections,
        in_flight,
        connect_timeout,
        response_timeout,
        sources,
        resolve_every,
        resolve,
        headers,
        omit_headers,
        auth,
        cookies,
        redirects,
        retry,
        breaker,
        patience,
        resend,
        tls,
        proxy,
        protocol,
        descriptors,
        pools,
        on_connect,
        hook,
    } = target;
    let keys = Pairs::default().maybe(name.as_ref(), |keys, name| keys.text("name", name)).text("url", url.written());
    let keys = keys.when(*reuse != Reuse::Pool, |keys| keys.text("reuse", reuse));
    let keys = keys.maybe(connections.as_ref(), |keys, most| keys.raw("connections", most));
    let keys = keys.maybe(in_flight.as_ref(), |keys, most| keys.raw("in_flight", most));
    let keys = keys.when(*connect_timeout != CONNECT_TIMEOUT, |keys| keys.text("connect_timeout", *connect_timeout));
    let keys =
        keys.when(*response_timeout != RESPONSE_TIMEOUT, |keys| keys.text("response_timeout", *response_timeout));
    let keys = keys.maybe(resolve_every.as_ref(), |keys, every| keys.text("resolve_every", every));
    let keys = keys.when(*resolve != Resolve::default(), |keys| keys.text("resolve", resolve));
    let keys = keys.when(!sources.is_empty(), |keys| keys.raw("sources", addresses(sources)));
    let keys = keys.when(!headers.is_empty(), |keys| keys.raw("headers", templates(headers)));
    let keys = keys.when(!omit_headers.is_empty(), |keys| keys.raw("omit_headers", list(omit_headers, toml_text)));
    let keys = keys.maybe(auth.as_ref(), |keys, who| keys.raw("auth", credentials(who)));
    let keys = keys.when(*cookies, |keys| keys.raw("cookies", true));
    let keys = keys.when(*redirects > 0, |keys| keys.raw("redirects", *redirects));
    let keys = keys.maybe(breaker.as_ref(), |keys, own| keys.raw("circuit_breaker", super::retry::breaker(own)));
    let keys = keys.maybe(retry.as_ref(), |keys, policy| keys.raw("retry", super::retry::retry(policy)));
    let keys = keys.maybe(patience.as_ref(), |keys, distribution| keys.raw("patience", distribution));
    let keys = keys.when(!resend, |keys| keys.raw("resend", false));
    let keys = keys.maybe(proxy.as_ref(), |keys, proxy| keys.text("proxy", proxy));
    let keys = keys.when(*protocol != Protocol::default(), |keys| keys.text("protocol", protocol));
    let keys = match descriptors {
        None => keys,
        Some(Descriptors::Reflection) => keys.raw("reflection", true),
        Some(Descriptors::File(file)) => keys.text("descriptors", relative_name(file, folder)),
    };
    let keys = keys.when(!pools.is_empty(), |keys| {
        let pairs: Vec<Pair> = pools.iter().map(|pool| (toml_key(&pool.name), pool.connections.to_string())).collect();
        keys.raw("pools", inline(&pairs))
    });
    let keys = keys.when(!on_connect.is_empty(), |keys| keys.raw("on_connect", list(on_connect, toml_text)));
    let keys = keys.when(!hook.is_empty(), |keys| keys.raw("hook", list(hook, toml_text)));
    keys.when(*tls != Tls::default(), |keys| keys.raw("tls", security(tls, folder))).0
}

/// The name of a file relative to the folder of the workload.
fn relative_name<'f>(file: &'f Path, folder: &Path) -> std::path::Display<'f> {
    file.strip_prefix(folder).unwrap_or(file).display()
}

fn security(tls: &Tls, folder: &Path) -> String {
    let keys = Pairs::default().when(tls.insecure, |keys| keys.raw("insecure", true));
    let keys = keys.maybe(tls.roots.as_ref(), |keys, file| keys.text("roots", relative_name(file, folder)));
    let keys = keys.maybe(tls.identity.as_ref(), |keys, own| {
        keys.text("certificate", relative_name(&own.certificate, folder)).text("key", relative_name(&own.key, folder))
    });
    let keys = keys.maybe(tls.server_name.as_ref(), |keys, name| keys.text("server_name", name));
    keys.when(tls.resume, |keys| keys.raw("resume", true)).table()
}

/// Addresses; consecutive ones are written as a range.
fn addresses(all: &[IpAddr]) -> String {
    let follows = |(before, after): (&IpAddr, &IpAddr)| match (before, after) {
        (IpAddr::V4(before), IpAddr::V4(after)) => before.to_bits().checked_add(1) == Some(after.to_bits()),
        (IpAddr::V6(before), IpAddr::V6(after)) => before.to_bits().checked_add(1) == Some(after.to_bits()),
        _ => false,
    };
    list(all.chunk_by(|before, after| follows((before, after))), |range| match range {
        [first, .., last] => format!("\"{first}-{last}\""),
        range => list_of_one(range),
    })
}

fn list_of_one(range: &[IpAddr]) -> String {
    range.iter().map(|address| format!("\"{address}\"")).collect()
}

/// The value of `auth`.
pub(super) fn credentials(auth: &Auth) -> String {
    match auth {
        Auth::Basic(text) => one("basic", template(text)),
        Auth::Bearer(text) => one("bearer", template(text)),
        Auth::Digest(text) => one("digest", template(text)),
        Auth::Aws(aws) => {
            let keys = Pairs::default().text("region", &aws.region).text("service", &aws.service);
            let keys = keys.raw("access_key", template(&aws.access_key)).raw("secret_key", template(&aws.secret_key));
            one("aws", keys.maybe(aws.token.as_ref(), |keys, token| keys.raw("token", template(token))).table())
        }
        Auth::OAuth2(oauth2) => one("oauth2", self::oauth2(oauth2)),
        Auth::None => "false".to_owned(),
    }
}

fn oauth2(oauth2: &OAuth2) -> String {
    let OAuth2 { token_url, grant, client_id, client_auth, parameters, per, .. } = oauth2;
    let keys = Pairs::default().raw("token_url", template(token_url));
    let keys = keys.when(*grant != Grant::default(), |keys| keys.text("grant", grant));
    let mut keys = keys.raw("client_id", template(client_id));
    for (key, value) in [
        ("client_secret", &oauth2.client_secret),
        ("username", &oauth2.username),
        ("password", &oauth2.password),
        ("refresh_token", &oauth2.refresh_token),
        ("scope", &oauth2.scope),
        ("audience", &oauth2.audience),
    ] {
        keys = keys.maybe(value.as_ref(), |keys, value| keys.raw(key, template(value)));
    }
    let keys = keys.when(*client_auth != ClientAuth::default(), |keys| keys.text("client_auth", client_auth));
    let keys = keys.when(!parameters.is_empty(), |keys| keys.raw("parameters", templates(parameters)));
    keys.when(*per != TokenScope::default(), |keys| keys.text("per", per)).table()
}
