//! Access tokens of OAuth 2.0: token requests (RFC 6749), their responses, and the tokens of a run (RFC 6750).

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use offered_base::{Instant, Nanos};
use offered_events::{Event, Outcome, Reason};
use offered_workload::script::{ClientAuth, OAuth2 as Keys, TokenScope};
use offered_workload::template::in_form;
use serde_json::Value;

use super::value::{Fresh, MissingValue, Text, Values};
use super::{Credentials, RequestContext, Script, SessionState};
use crate::message::{OWN_HEADERS, OutgoingRequest, Response};

/// A token is renewed when a tenth of its lifetime is left, at most this time before its end.
const MAX_RENEWAL_TIME: Nanos = Nanos::from_secs(30);
/// Longer lifetimes, in seconds, count as this one (30 years).
const MAX_LIFETIME_S: f64 = 1e9;
/// Maximum number of stored bytes of the response to a token request.
const MAX_RESPONSE_BYTES: usize = 1 << 20;

/// Compiled keys of OAuth 2.0.
#[derive(Debug)]
pub(super) struct OAuth2 {
    token_url: Text,
    client_id: Text,
    client_secret: Option<Text>,
    client_auth: ClientAuth,
    /// The parameters of the first token request.
    grant: Vec<(&'static str, Text)>,
    /// Parameters of all token requests.
    parameters: Vec<(String, Text)>,
    per: TokenScope,
    /// The first token request as a text, if all sessions have the same values; otherwise `None`.
    is_constant: bool,
    constant: OnceLock<Arc<str>>,
}

/// Identifies a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TokenKey {
    /// The session that has it alone.
    session: Option<u64>,
    /// The first token request as a text, without the values that are new in each request.
    request: Arc<str>,
}

/// A request to a token endpoint.
#[derive(Debug)]
pub(crate) struct TokenRequest {
    pub(crate) key: TokenKey,
    pub(crate) outgoing: OutgoingRequest,
    /// Whether it uses a refresh token that the server gave.
    pub(crate) is_refresh: bool,
}

/// What a request needs before it is sent.
#[derive(Debug)]
pub(crate) enum Access {
    /// The session waits for nothing: it has its token, or needs none.
    Ready,
    /// The session needs a token, for which this request is sent first.
    Request(Box<TokenRequest>),
    /// The session waits for a token that another request has already requested. Holds the earlier number of failures.
    Wait(TokenKey, u64),
}

/// Why there is no token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TokenFailure {
    pub(crate) outcome: Outcome,
    pub(crate) reason: Reason,
}

/// The tokens of all threads.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    by_session: Mutex<BySession>,
    /// Number of token requests that have ended.
    ended_requests: AtomicU64,
}

/// The tokens of each session that has tokens of its own, and (`None`) those of the run, by token request.
type BySession = HashMap<Option<u64>, HashMap<Arc<str>, Entry>>;

/// A token, and the requests for it.
#[derive(Debug, Default)]
struct Entry {
    token: Option<Token>,
    /// Whether a request for a token is in flight.
    is_requested: bool,
    /// Number of failed requests for a token, and the reason of the last failure.
    failures: u64,
    failure: Option<TokenFailure>,
}

#[derive(Clone, Debug)]
struct Token {
    access: Box<str>,
    refresh: Option<Box<str>>,
    /// The instant from which the next request renews the token; not after its end.
    renewal: Instant,
    end: Instant,
}

impl Tokens {
    fn lock(&self) -> MutexGuard<'_, BySession> {
        self.by_session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `with` with the entry of `key`.
    fn with<T>(&self, key: &TokenKey, with: impl FnOnce(&mut Entry) -> T) -> T {
        let mut all = self.lock();
        let of_session = all.entry(key.session).or_default();
        if !of_session.contains_key(&key.request) {
            of_session.insert(key.request.clone(), Entry::default());
        }
        with(of_session.get_mut(&key.request).expect("just inserted"))
    }

    /// Calls `with` with the entry of `key` after its token request has ended.
    fn end_request(&self, key: &TokenKey, with: impl FnOnce(&mut Entry)) {
        self.with(key, with);
        self.ended_requests.fetch_add(1, Ordering::Release);
    }

    /// Removes the tokens that only `session` uses.
    fn forget(&self, session: u64) {
        self.lock().remove(&Some(session));
    }
}

impl OAuth2 {
    pub(super) fn new(keys: &Keys, values: &Values) -> Self {
        let optional = [
            ("username", &keys.username),
            ("password", &keys.password),
            ("refresh_token", &keys.refresh_token),
            ("scope", &keys.scope),
            ("audience", &keys.audience),
        ];
        let optional = optional.into_iter().filter_map(|(name, text)| Some((name, values.text(text.as_ref()?))));
        let grant_type = values.text(&offered_workload::Template::literal(keys.grant.name()));
        let grant: Vec<_> = std::iter::once(("grant_type", grant_type)).chain(optional).collect();
        let parameters: Vec<_> = keys.parameters.iter().map(|(name, text)| (name.clone(), values.text(text))).collect();
        let (token_url, client_id) = (values.text(&keys.token_url), values.text(&keys.client_id));
        let client_secret = keys.client_secret.as_ref().map(|secret| values.text(secret));
        let is_constant = [&token_url, &client_id]
            .into_iter()
            .chain(&client_secret)
            .chain(grant.iter().map(|(_, text)| text))
            .chain(parameters.iter().map(|(_, text)| text))
            .all(|text| text.constant().is_some());
        Self {
            token_url,
            client_id,
            client_secret,
            client_auth: keys.client_auth,
            grant,
            parameters,
            per: keys.per,
            is_constant,
            constant: OnceLock::new(),
        }
    }
}

impl Script {
    /// What request `label` needs before it is sent at `now`. A [`TokenRequest`] is promised to be sent.
    ///
    /// # Errors
    /// A value for the token request is missing.
    pub(crate) fn access(
        &self,
        label: u16,
        context: RequestContext,
        state: Option<&SessionState>,
        now: Instant,
    ) -> Result<Access, MissingValue> {
        let Some(Credentials::OAuth2(oauth2)) = &self.requests[usize::from(label)].auth else {
            return Ok(Access::Ready);
        };
        if self.leaves_target(label, context, state)? {
            return Ok(Access::Ready);
        }
        let key = self.token_key(oauth2, label, context, state)?;
        let found = self.tokens.with(&key, |entry| {
            // A token that another request renews is used to its end.
            let until = |token: &Token| if entry.is_requested { token.end } else { token.renewal };
            if entry.token.as_ref().is_some_and(|token| now < until(token)) {
                return Err(Access::Ready);
            }
            if entry.is_requested {
                return Err(Access::Wait(key.clone(), entry.failures));
            }
            entry.is_requested = true;
            Ok(entry.token.as_ref().and_then(|token| token.refresh.clone()))
        });
        let refresh = match found {
            Ok(refresh) => refresh,
            Err(access) => return Ok(access),
        };
        let request = self.token_request(oauth2, refresh.as_deref(), &Fresh::default(), label, context, state);
        let outgoing = request.inspect_err(|_| self.tokens.with(&key, |entry| entry.is_requested = false))?;
        Ok(Access::Request(Box::new(TokenRequest { key, outgoing, is_refresh: refresh.is_some() })))
    }

    /// The token request of request `label` by its grant, if it has one: after a refresh token was refused.
    ///
    /// # Errors
    /// A value is missing.
    pub(crate) fn first_token_request(
        &self,
        label: u16,
        context: RequestContext,
        state: Option<&SessionState>,
    ) -> Result<Option<OutgoingRequest>, MissingValue> {
        match &self.requests[usize::from(label)].auth {
            Some(Credentials::OAuth2(oauth2)) => {
                self.token_request(oauth2, None, &Fresh::default(), label, context, state).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The token request of request `label` as it would be sent first, if it needs a token, and the key of the token; like
    /// [`for_preview`](Self::for_preview).
    ///
    /// # Errors
    /// A value is missing.
    pub(crate) fn token_for_preview(
        &self,
        label: u16,
        context: RequestContext,
    ) -> Result<Option<(TokenKey, OutgoingRequest)>, MissingValue> {
        let request = &self.requests[usize::from(label)];
        let Some(Credentials::OAuth2(oauth2)) = &request.auth else { return Ok(None) };
        let state = self.values.for_preview();
        // The action of a form is unknown before its page is received.
        if request.form.is_none() && self.leaves_target(label, context, Some(&state))? {
            return Ok(None);
        }
        let key = self.token_key(oauth2, label, context, Some(&state))?;
        let outgoing = self.token_request(oauth2, None, &Fresh::default(), label, context, Some(&state))?;
        Ok(Some((key, outgoing)))
    }

    /// The key of the token of request `label`.
    fn token_key(
        &self,
        oauth2: &OAuth2,
        label: u16,
        context: RequestContext,
        state: Option<&SessionState>,
    ) -> Result<TokenKey, MissingValue> {
        let session = (oauth2.per == TokenScope::Session).then_some(context.session);
        if let Some(request) = oauth2.constant.get() {
            return Ok(TokenKey { session, request: request.clone() });
        }
        let first = self.token_request(oauth2, None, &Fresh::fixed(), label, context, state)?;
        let OutgoingRequest { path, target, headers, body, .. } = &first;
        let body = String::from_utf8_lossy(body.as_deref().unwrap_or_default());
        let mut request = Arc::from(format!("{target} {path} {headers:?} {body}"));
        if oauth2.is_constant {
            request = oauth2.constant.get_or_init(|| request).clone();
        }
        Ok(TokenKey { session, request })
    }

    /// The request for a token, by the refresh token `refresh` or by the grant.
    fn token_request(
        &self,
        oauth2: &OAuth2,
        refresh: Option<&str>,
        fresh: &Fresh,
        label: u16,
        context: RequestContext,
        state: Option<&SessionState>,
    ) -> Result<OutgoingRequest, MissingValue> {
        let plain = |text: &Text| self.values.plain_at(fresh, text, context, state);
        let target = self.requests[usize::from(label)].target;
        let location = self.location(target, &oauth2.token_url, fresh, context, state)?;
        let mut body = String::new();
        let mut add = |name: &str, value: &str| {
            let separator = if body.is_empty() { "" } else { "&" };
            let _ = write!(body, "{separator}{}={}", in_form(name), in_form(value));
        };
        match refresh {
            Some(refresh) => {
                add("grant_type", "refresh_token");
                add("refresh_token", refresh);
            }
            None => oauth2.grant.iter().try_for_each(|(name, text)| plain(text).map(|value| add(name, &value)))?,
        }
        for (name, text) in &oauth2.parameters {
            add(name, &plain(text)?);
        }
        let mut headers = vec![
            ("Content-Type".to_owned(), "application/x-www-form-urlencoded".to_owned()),
            ("Accept".to_owned(), "application/json".to_owned()),
            (OWN_HEADERS[0].0.to_owned(), OWN_HEADERS[0].1.to_owned()),
        ];
        let id = plain(&oauth2.client_id)?;
        match &oauth2.client_secret {
            Some(secret) if oauth2.client_auth == ClientAuth::Basic => {
                // Both are form-encoded first (RFC 6749, section 2.3.1).
                let pair = format!("{}:{}", in_form(&id), in_form(plain(secret)?));
                headers.push(("Authorization".to_owned(), format!("Basic {}", STANDARD.encode(pair))));
            }
            secret => {
                add("client_id", &id);
                if let Some(secret) = secret {
                    add("client_secret", &plain(secret)?);
                }
            }
        }
        Ok(OutgoingRequest {
            method: "POST".to_owned(),
            path: location.path,
            target: location.target,
            client: self.origins.client(location.target, false),
            headers,
            body: Some(body.into()),
            body_limit: MAX_RESPONSE_BYTES,
            ..OutgoingRequest::default()
        })
    }

    /// Takes the token in the response to a token request.
    ///
    /// # Errors
    /// The response contains no token.
    pub(crate) fn take_token(&self, key: &TokenKey, status: u16, reply: &Response, now: Instant) -> Result<(), String> {
        let token = token(status, &Self::decoded_body(reply), now)?;
        self.tokens.end_request(key, |entry| {
            let earlier = entry.token.take().and_then(|token| token.refresh);
            let refresh = token.refresh.or(earlier);
            *entry = Entry { token: Some(Token { refresh, ..token }), failures: entry.failures, ..Entry::default() };
        });
        Ok(())
    }

    /// The request for a token has failed.
    pub(crate) fn fail_token(&self, key: &TokenKey, failure: TokenFailure) {
        self.tokens.end_request(key, |entry| {
            entry.is_requested = false;
            entry.failures += 1;
            entry.failure = Some(failure);
        });
    }

    /// Forgets a refresh token that the server refused.
    pub(crate) fn forget_refresh_token(&self, key: &TokenKey) {
        self.tokens.with(key, |entry| {
            if let Some(token) = &mut entry.token {
                token.refresh = None;
            }
        });
    }

    /// The result of another request's token request, `failures` before it; `None`: it is in flight.
    pub(crate) fn awaited_token(&self, key: &TokenKey, failures: u64) -> Option<Result<(), TokenFailure>> {
        self.tokens.with(key, |entry| match &entry.failure {
            Some(failure) if entry.failures > failures => Some(Err(failure.clone())),
            _ if entry.is_requested => None,
            _ => Some(Ok(())),
        })
    }

    /// Number of token requests of all threads that have ended. While it stays the same, so does each
    /// [`awaited_token`](Self::awaited_token) that is in flight.
    pub(crate) fn ended_token_requests(&self) -> u64 {
        self.tokens.ended_requests.load(Ordering::Acquire)
    }

    /// The patience of the user of a request that timed out with `event`, if that was the reason.
    pub(crate) fn gave_up(&self, event: &Event) -> Option<Nanos> {
        self.limits.as_ref()?.gave_up(event)
    }

    /// Why the request of `event` has no token, if it has waited for that of another one to its [`deadline`](Self::deadline), when it was done.
    pub(crate) fn late_token(&self, event: &Event) -> TokenFailure {
        let timeout = self.requests[usize::from(event.label)].timeout;
        let late = || Reason::from(format!("no access token within {timeout} (requested by another request)"));
        let reason = self.gave_up(event).map_or_else(late, Reason::GaveUp);
        TokenFailure { outcome: Outcome::AuthError, reason }
    }

    /// Whether the response to `outgoing` says that its token is not valid (RFC 6750, section 3.1). Then the token is not used again.
    pub(crate) fn rejects_token(
        &self,
        label: u16,
        context: RequestContext,
        outgoing: &OutgoingRequest,
        status: u16,
        reply: &Response,
        state: &SessionState,
    ) -> bool {
        if status != 401 {
            return false;
        }
        let Some(Credentials::OAuth2(oauth2)) = &self.requests[usize::from(label)].auth else { return false };
        let used = outgoing.headers.iter().find(|(name, _)| name == "Authorization");
        let Some(used) = used.and_then(|(_, value)| value.strip_prefix("Bearer ")) else { return false };
        let says_so = |(name, value): &(String, Vec<u8>)| {
            let value = String::from_utf8_lossy(value).to_ascii_lowercase();
            name.eq_ignore_ascii_case("www-authenticate")
                && value.trim_start().starts_with("bearer")
                && value.contains("invalid_token")
        };
        if !reply.headers.iter().any(says_so) {
            return false;
        }
        let Ok(key) = self.token_key(oauth2, label, context, Some(state)) else { return false };
        self.tokens.with(&key, |entry| {
            // Another request may have renewed it since.
            if let Some(token) = entry.token.as_mut().filter(|token| *token.access == *used) {
                (token.renewal, token.end) = (Instant::ZERO, Instant::ZERO);
            }
        });
        true
    }

    /// Adds the token of request `label` to `outgoing`.
    pub(super) fn add_token(
        &self,
        oauth2: &OAuth2,
        label: u16,
        outgoing: &mut OutgoingRequest,
        context: RequestContext,
        state: Option<&SessionState>,
    ) -> Result<(), MissingValue> {
        outgoing.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("authorization"));
        let key = self.token_key(oauth2, label, context, state)?;
        let token =
            self.tokens.with(&key, |entry| entry.token.as_ref().map(|token| format!("Bearer {}", token.access)));
        outgoing.headers.extend(token.map(|token| ("Authorization".to_owned(), token)));
        Ok(())
    }

    /// Forgets the tokens of a session that is over.
    pub(crate) fn forget_tokens(&self, session: u64) {
        if self.has_session_tokens {
            self.tokens.forget(session);
        }
    }

    /// Where the token endpoint of `outgoing` is, for messages.
    pub(crate) fn endpoint(&self, outgoing: &OutgoingRequest) -> String {
        let path = outgoing.path.split('?').next().unwrap_or_default();
        format!("{}{path}", self.origins.get(outgoing.target).url)
    }
}

impl Credentials {
    /// Whether each session has a token of its own.
    pub(super) fn are_per_session(&self) -> bool {
        matches!(self, Self::OAuth2(oauth2) if oauth2.per == TokenScope::Session)
    }
}

/// The token in the response to a token request that was read at `now` (RFC 6749, sections 5.1 and 5.2).
fn token(status: u16, body: &[u8], now: Instant) -> Result<Token, String> {
    let json: Value = serde_json::from_slice(body).unwrap_or_default();
    let text = |name: &str| json[name].as_str().filter(|text| !text.is_empty());
    if !(200..300).contains(&status) {
        let error = text("error").map_or_else(String::new, |error| format!(", {error}"));
        let description = text("error_description").map_or_else(String::new, |text| format!(": {text}"));
        return Err(format!("status {status}{error}{description}"));
    }
    let access = text("access_token").ok_or("the response has no access_token")?;
    if access.bytes().any(|byte| !byte.is_ascii_graphic()) {
        return Err("the access_token has characters that a header cannot have".to_owned());
    }
    if let Some(other) = text("token_type").filter(|kind| !kind.eq_ignore_ascii_case("bearer")) {
        return Err(format!("the token_type is {other}; only Bearer is supported"));
    }
    // Some servers write a number as a text.
    let seconds = json["expires_in"].as_f64().or_else(|| json["expires_in"].as_str()?.parse().ok());
    let lifetime = seconds.map(|seconds| Nanos::from_secs_f64(seconds.clamp(0.0, MAX_LIFETIME_S)));
    let (renewal, end) = match lifetime {
        None => (Instant::MAX, Instant::MAX),
        Some(lifetime) => {
            let margin = Nanos(lifetime.0 / 10).min(MAX_RENEWAL_TIME);
            (now + Nanos(lifetime.0 - margin.0), now + lifetime)
        }
    };
    Ok(Token { access: access.into(), refresh: text("refresh_token").map(Into::into), renewal, end })
}
