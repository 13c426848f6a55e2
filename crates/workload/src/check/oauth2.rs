//! Checks that requests can get their access tokens.

use crate::misfit::{Misfit, Place};
use crate::oauth2::{Grant, OAuth2};
use crate::script::Auth;
use crate::{Call, Draft, Request, Target};
use offered_base::InvalidValue;

/// Parameters of a token request that have keys of their own.
const OWN_PARAMETERS: [&str; 8] =
    ["grant_type", "client_id", "client_secret", "username", "password", "refresh_token", "scope", "audience"];

/// Checks that there are the values of the grant, and no others.
pub(super) fn check_oauth2(oauth2: &OAuth2) -> Result<(), InvalidValue> {
    let grant = oauth2.grant;
    for (key, is_given, is_needed) in [
        ("username", oauth2.username.is_some(), grant == Grant::Password),
        ("password", oauth2.password.is_some(), grant == Grant::Password),
        ("refresh_token", oauth2.refresh_token.is_some(), grant == Grant::RefreshToken),
    ] {
        match (is_given, is_needed) {
            (false, true) => return Err(InvalidValue::new(format!("grant = \"{grant}\" needs `{key}`"))),
            (true, false) => {
                return Err(InvalidValue::new(format!("`{key}` cannot be combined with grant = \"{grant}\"")));
            }
            _ => {}
        }
    }
    if let Some((name, _)) = oauth2.parameters.iter().find(|(name, _)| OWN_PARAMETERS.contains(&name.as_str())) {
        return Err(InvalidValue::new(format!("`{name}` is a key of its own; remove it from parameters")));
    }
    match oauth2.token_url.text() {
        Some(url) if !url.starts_with('/') && origin(url).is_none() => Err(InvalidValue::new(format!(
            "`{url}` is not a token endpoint; write a path such as \"/oauth/token\", or a URL on one of the targets"
        ))),
        _ => Ok(()),
    }
}

/// Checks that the token endpoint of each request is on a target.
pub(super) fn check_token_endpoints(draft: &Draft) -> Result<(), Misfit> {
    for (number, request) in draft.requests.iter().enumerate() {
        let Some(target) = draft.target_of(request) else { continue };
        if let Some(Auth::OAuth2(oauth2)) = request.auth_to(target) {
            check_token_endpoint(oauth2, request, target, draft)
                .or_else(|why| Place::Request(number).wrong(format!("request `{}`: {why}", request.name)))?;
        }
    }
    Ok(())
}

fn check_token_endpoint(oauth2: &OAuth2, request: &Request, target: &Target, draft: &Draft) -> Result<(), String> {
    let Some(url) = oauth2.token_url.text() else { return Ok(()) };
    let mut targets = draft.target.iter().chain(&draft.more_targets);
    let found = match origin(url) {
        None => target,
        Some(origin) => targets.find(|target| target.url.has_origin(origin)).ok_or_else(|| {
            format!(
                "the token endpoint is on {origin}, which is not a target; add [[target]] with a name and url = \"{origin}\""
            )
        })?,
    };
    match request.call {
        Call::Grpc if found.url == target.url => {
            Err("a gRPC request and its token endpoint need a [[target]] each".to_owned())
        }
        _ => Ok(()),
    }
}

/// The scheme and authority of a URL.
fn origin(url: &str) -> Option<&str> {
    let (scheme, rest) = url.split_once("://").filter(|(scheme, _)| ["http", "https"].contains(scheme))?;
    Some(&url[..scheme.len() + 3 + rest.find(['/', '?']).unwrap_or(rest.len())])
}
