//! Building requests.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use offered_base::Instant;
use offered_workload::template::in_url;

use super::cookies::MAX_COOKIES_PER_RESPONSE;
use super::form::FormRequest;
use super::origin::Location;
use super::signing::Challenge;
use super::value::{Fresh, MissingValue, Text};
use super::{Credentials, Path, RequestContext, Script, SessionState};
use crate::message::{MAX_BODY_BYTES, OutgoingRequest, Response};

impl Script {
    /// Builds request `label`.
    ///
    /// # Errors
    /// A value is missing, or is not valid at its position.
    pub(crate) fn request(
        &self,
        label: u16,
        context: RequestContext,
        state: Option<&SessionState>,
        now: Instant,
    ) -> Result<OutgoingRequest, MissingValue> {
        let request = &self.requests[usize::from(label)];
        if let Some(form) = &request.form {
            return self.submission(label, form, context, state, now);
        }
        let body = request.body.bytes(&self.values, context, state)?;
        let expected = ["POST", "PUT", "PATCH"].contains(&request.method.as_str());
        let Location { target, path } = self.destination(label, context, state)?;
        let mut outgoing = OutgoingRequest {
            method: request.method.clone(),
            path,
            target,
            client: self.origins.client(target, request.is_socket),
            left_target: target != request.target,
            headers: self.headers(label, target, context, state)?,
            body: body.or_else(|| expected.then(Bytes::new)),
            lane: 0,
            body_limit: if request.reads_body { MAX_BODY_BYTES } else { 0 },
            awaited: match &request.awaited {
                Some(pattern) => {
                    // A value is matched literally.
                    let put = |pattern: &mut String, value: &str| pattern.push_str(&regex::escape(value));
                    Some(self.values.render(pattern, context, state, put)?)
                }
                None => None,
            },
            parameters: self.parameters(&request.parameters, context, state)?,
            prompt_tokens: request
                .stream
                .as_ref()
                .and_then(|_| request.body.prompt_tokens(&self.values, context, state)),
            stream: request.stream.clone(),
        };
        if let Some(kind) = request.body.media_type()
            && !has(&outgoing.headers, "content-type")
        {
            outgoing.headers.push(("Content-Type".to_owned(), kind));
        }
        self.add_cookies(&mut outgoing, state, now);
        self.authorize(label, &mut outgoing, context, state)?;
        Ok(outgoing)
    }

    /// Adds the `Authorization` header of request `label` that depends on the whole request, or on a token, if `outgoing` is for its target.
    pub(crate) fn authorize(
        &self,
        label: u16,
        outgoing: &mut OutgoingRequest,
        context: RequestContext,
        state: Option<&SessionState>,
    ) -> Result<(), MissingValue> {
        if outgoing.left_target {
            return Ok(());
        }
        match &self.requests[usize::from(label)].auth {
            Some(Credentials::Digest(pair)) => {
                outgoing.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("authorization"));
                if let Some(challenge) = state.and_then(|state| state.challenges.get(&outgoing.target)) {
                    let user = self.values.plain(pair, context, state)?;
                    let cnonce = self.values.nonce(context);
                    let answer = challenge.answer(&user, &outgoing.method, &outgoing.path, &cnonce);
                    outgoing.headers.push(("Authorization".to_owned(), answer));
                }
            }
            Some(Credentials::Aws(aws)) => {
                outgoing.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("authorization"));
                let host = self.origins.get(outgoing.target).authority();
                aws.sign(outgoing, host, offered_io::unix_now(), &self.values, context, state)?;
            }
            Some(Credentials::OAuth2(oauth2)) => self.add_token(oauth2, label, outgoing, context, state)?,
            Some(Credentials::Basic(_) | Credentials::Bearer(_)) | None => {}
        }
        Ok(())
    }

    /// The same request with an answer to the digest challenge of its response; `None`: the response has none for it.
    pub(crate) fn answer_challenge(
        &self,
        label: u16,
        context: RequestContext,
        outgoing: &OutgoingRequest,
        status: u16,
        reply: &Response,
        state: &mut SessionState,
    ) -> Option<OutgoingRequest> {
        let uses_digest = matches!(self.requests[usize::from(label)].auth, Some(Credentials::Digest(_)));
        if status != 401 || outgoing.left_target || !uses_digest {
            return None;
        }
        let mut challenges = reply.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("www-authenticate"));
        let challenge = challenges.find_map(|(_, value)| Challenge::parse(&String::from_utf8_lossy(value)))?;
        state.challenges.insert(outgoing.target, challenge);
        let mut answer = outgoing.clone();
        self.authorize(label, &mut answer, context, Some(state)).ok()?;
        Some(answer)
    }

    /// Builds request `label`, which submits `form` as the page contained it.
    fn submission(
        &self,
        label: u16,
        form: &FormRequest,
        context: RequestContext,
        state: Option<&SessionState>,
        now: Instant,
    ) -> Result<OutgoingRequest, MissingValue> {
        let request = &self.requests[usize::from(label)];
        let served = form.served(label, state)?;
        let Location { target, path } = self.destination(label, context, state)?;
        let mut outgoing = OutgoingRequest {
            method: if served.is_post { "POST" } else { "GET" }.to_owned(),
            path,
            target,
            client: self.origins.client(target, false),
            left_target: target != request.target,
            headers: self.headers(label, target, context, state)?,
            body_limit: if request.reads_body { MAX_BODY_BYTES } else { 0 },
            ..OutgoingRequest::default()
        };
        form.fill(served, &mut outgoing, &self.values, context, state)?;
        // Applications check where a form comes from.
        let origin = &self.origins.get(served.page.target).url;
        if !has(&outgoing.headers, "referer") {
            // To another origin a browser names only the origin of the page.
            let path = if target == served.page.target { &served.page.path } else { "/" };
            outgoing.headers.push(("Referer".to_owned(), format!("{origin}{path}")));
        }
        if served.is_post && !has(&outgoing.headers, "origin") {
            outgoing.headers.push(("Origin".to_owned(), origin.clone()));
        }
        self.add_cookies(&mut outgoing, state, now);
        self.authorize(label, &mut outgoing, context, state)?;
        Ok(outgoing)
    }

    /// Request `label` before its form was served, for display: with the fields that the workload sets.
    pub(super) fn unserved_form(
        &self,
        label: u16,
        form: &FormRequest,
        context: RequestContext,
        state: &SessionState,
    ) -> Result<OutgoingRequest, MissingValue> {
        let mut outgoing = OutgoingRequest {
            method: "POST".to_owned(),
            path: "{{action}}".to_owned(),
            headers: self.headers(label, self.requests[usize::from(label)].target, context, Some(state))?,
            ..OutgoingRequest::default()
        };
        form.fill(&form.unserved(), &mut outgoing, &self.values, context, Some(state))?;
        Ok(outgoing)
    }

    /// Builds the request for object `object` (from 1) of request `label`, over connection `lane`.
    ///
    /// # Errors
    /// A value is missing, or the path is on another host.
    pub(crate) fn object(
        &self,
        (label, object): (u16, u16),
        lane: u8,
        context: RequestContext,
        state: Option<&SessionState>,
        now: Instant,
    ) -> Result<OutgoingRequest, MissingValue> {
        let request = &self.requests[usize::from(label)];
        let path = &request.paths[usize::from(object) - 1];
        let Location { target, path } = self.location(request.target, path, &Fresh::default(), context, state)?;
        let mut outgoing = OutgoingRequest {
            method: "GET".to_owned(),
            path,
            target,
            client: self.origins.client(target, false),
            left_target: target != request.target,
            headers: self.headers(label, target, context, state)?,
            lane,
            ..OutgoingRequest::default()
        };
        // The content type describes the body of the page.
        outgoing.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
        self.add_cookies(&mut outgoing, state, now);
        self.authorize(label, &mut outgoing, context, state)?;
        Ok(outgoing)
    }

    /// The request that follows from a redirect, as a browser sends it; `None` if the response is not a redirect.
    ///
    /// # Errors
    /// The location is on another host.
    pub(crate) fn redirect(
        &self,
        (label, context): (u16, RequestContext),
        outgoing: &OutgoingRequest,
        status: u16,
        reply: &Response,
        state: Option<&SessionState>,
        now: Instant,
    ) -> Result<Option<OutgoingRequest>, String> {
        if !matches!(status, 301 | 302 | 303 | 307 | 308) {
            return Ok(None);
        }
        let location = reply.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("location"));
        let Some((_, location)) = location else { return Ok(None) };
        let location = in_url("", without_fragment(&String::from_utf8_lossy(location)));
        let Location { target, path } = self.origins.resolve((outgoing.target, &outgoing.path), &location)?;
        let client = self.origins.client(target, false);
        let left_target = outgoing.left_target || target != outgoing.target;
        let mut next = OutgoingRequest { path, target, client, left_target, ..outgoing.clone() };
        let drops =
            status == 303 && outgoing.method != "HEAD" || matches!(status, 301 | 302) && outgoing.method == "POST";
        if drops {
            "GET".clone_into(&mut next.method);
            next.body = None;
            next.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
        }
        if left_target {
            next.headers.retain(|(name, _)| !is_credential(name));
        } else if self.keeps_cookies(target) {
            next.headers.retain(|(name, _)| !name.eq_ignore_ascii_case(COOKIE));
            next.headers.extend(self.own_header(label, COOKIE, context, state));
        }
        if target != outgoing.target {
            let host = self.own_header(label, HOST, context, state);
            next.headers.retain(|(name, _)| !name.eq_ignore_ascii_case(HOST));
            next.headers.extend(host.filter(|_| target == self.requests[usize::from(label)].target));
        }
        self.add_cookies(&mut next, state, now);
        self.authorize(label, &mut next, context, state).map_err(|_| "a value for its signature is missing")?;
        Ok(Some(next))
    }

    /// Whether sessions store the cookies of `target`.
    fn keeps_cookies(&self, target: u16) -> bool {
        self.origins.get(target).cookies
    }

    /// Stores the cookies of the response to `outgoing`, if sessions keep them.
    pub(crate) fn store_cookies(
        &self,
        outgoing: &OutgoingRequest,
        reply: &Response,
        state: &mut SessionState,
        now: Instant,
    ) {
        let origin = self.origins.get(outgoing.target);
        let cookies = reply.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie"));
        cookies.filter(|_| origin.cookies).take(MAX_COOKIES_PER_RESPONSE).for_each(|(_, line)| {
            state.jar.set(line, &origin.host, origin.secure, &outgoing.path, now, offered_io::unix_now);
        });
    }

    /// The header `name` that the workload specifies for a request.
    fn own_header(
        &self,
        label: u16,
        name: &str,
        context: RequestContext,
        state: Option<&SessionState>,
    ) -> Option<(String, String)> {
        let mut headers = self.requests[usize::from(label)].headers.iter();
        let (name, value) = headers.find(|(given, _)| given.eq_ignore_ascii_case(name))?;
        Some((name.clone(), self.values.plain(value, context, state).ok()?))
    }

    /// Adds the cookies of the session, after those that the workload specifies.
    fn add_cookies(&self, outgoing: &mut OutgoingRequest, state: Option<&SessionState>, now: Instant) {
        let origin = self.origins.get(outgoing.target);
        let state = state.filter(|_| origin.cookies);
        let cookies = state.and_then(|state| state.jar.header(&origin.host, origin.secure, &outgoing.path, now));
        let Some(cookies) = cookies else { return };
        match outgoing.headers.iter_mut().find(|(name, _)| name.eq_ignore_ascii_case(COOKIE)) {
            Some((_, given)) => {
                given.push_str("; ");
                given.push_str(&cookies);
            }
            None => outgoing.headers.push((COOKIE.to_owned(), cookies)),
        }
    }

    fn parameters(
        &self,
        given: &[Option<Text>],
        context: RequestContext,
        state: Option<&SessionState>,
    ) -> Result<Vec<Option<String>>, MissingValue> {
        let value = |text: &Option<Text>| text.as_ref().map(|text| self.values.plain(text, context, state)).transpose();
        given.iter().map(value).collect()
    }

    /// Where request `label` is sent: the path of the workload, or the action of its form, without the entries of the form.
    fn destination(
        &self,
        label: u16,
        context: RequestContext,
        state: Option<&SessionState>,
    ) -> Result<Location, MissingValue> {
        let request = &self.requests[usize::from(label)];
        let Some(form) = &request.form else {
            return match &request.path {
                Path::Text(path) => self.location(request.target, path, &Fresh::default(), context, state),
                Path::OneOf(one_of) => {
                    Ok(Location { target: request.target, path: self.values.path(one_of, context).to_owned() })
                }
            };
        };
        let served = form.served(label, state)?;
        let page = (served.page.target, served.page.path.as_str());
        let action = in_url("", without_fragment(&served.action));
        let location = match &served.base {
            Some(base) if !action.is_empty() => {
                let base = self.origins.resolve(page, base).map_err(MissingValue::Value)?;
                self.origins.resolve((base.target, &base.path), &action)
            }
            _ => self.origins.resolve(page, &action),
        };
        location.map_err(MissingValue::Value)
    }

    /// Whether a value or a form leads request `label` to another target than its own, which does not get its credentials.
    pub(super) fn leaves_target(
        &self,
        label: u16,
        context: RequestContext,
        state: Option<&SessionState>,
    ) -> Result<bool, MissingValue> {
        Ok(self.destination(label, context, state)?.target != self.requests[usize::from(label)].target)
    }

    /// Where a path leads that is on `target`, unless it is a URL of another one.
    pub(super) fn location(
        &self,
        target: u16,
        text: &Text,
        fresh: &Fresh,
        context: RequestContext,
        state: Option<&SessionState>,
    ) -> Result<Location, MissingValue> {
        let put = |path: &mut String, value: &str| {
            // A value that begins the path is a URL.
            let value = in_url(path, if path.is_empty() { without_fragment(value) } else { value });
            path.push_str(&value);
        };
        let path = self.values.render_at(fresh, text, context, state, put)?;
        if text.begins_with('/') {
            return Ok(Location { target, path });
        }
        // Only a value can make the path a relative URL, which refers to the response that the value is from.
        let base = text.first_slot().zip(state).and_then(|(slot, state)| state.bases.get(&slot));
        let base = base.map_or((target, "/"), |base| (base.target, &base.path));
        self.origins.resolve(base, &path).map_err(MissingValue::Value)
    }

    /// The headers of request `label`, sent to `target`. To another target than its own it has neither credentials nor the `Host` of its own.
    fn headers(
        &self,
        label: u16,
        target: u16,
        context: RequestContext,
        state: Option<&SessionState>,
    ) -> Result<Vec<(String, String)>, MissingValue> {
        let request = &self.requests[usize::from(label)];
        let mut headers = Vec::with_capacity(request.headers.len() + 4);
        let is_own = target == request.target;
        let is_for_target = |name: &str| is_own || !is_credential(name) && !name.eq_ignore_ascii_case(HOST);
        for (name, value) in request.headers.iter().filter(|(name, _)| is_for_target(name)) {
            headers.push((name.clone(), self.values.plain(value, context, state)?));
        }
        let auth = match request.auth.as_ref().filter(|_| is_own) {
            Some(Credentials::Basic(pair)) => {
                Some(format!("Basic {}", STANDARD.encode(self.values.plain(pair, context, state)?)))
            }
            Some(Credentials::Bearer(token)) => Some(format!("Bearer {}", self.values.plain(token, context, state)?)),
            // They depend on the whole request.
            Some(Credentials::Digest(_) | Credentials::Aws(_) | Credentials::OAuth2(_)) | None => None,
        };
        headers.extend(auth.map(|auth| ("Authorization".to_owned(), auth)));
        if let Some((name, _)) =
            headers.iter().find(|(_, value)| value.bytes().any(|b| b.is_ascii_control() && b != b'\t'))
        {
            return Err(MissingValue::Value(format!("the value for the header {name} has a control character")));
        }
        headers.extend(request.own_headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        Ok(headers)
    }
}

/// The spelling of the generator's own cookie header; a header of the workload keeps its spelling.
const COOKIE: &str = "Cookie";
/// The name of the header with the name of the server.
const HOST: &str = "host";

/// Whether a header is for the server that the workload gives it for, and for no other (WHATWG Fetch, section 4.4). The session token of AWS is
/// part of the credentials of a signature.
fn is_credential(name: &str) -> bool {
    ["authorization", COOKIE, "x-amz-security-token"].iter().any(|credential| name.eq_ignore_ascii_case(credential))
}

fn has(headers: &[(String, String)], name: &str) -> bool {
    headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name))
}

/// A URL without its fragment, which is not sent (RFC 9110, section 4.2.5).
fn without_fragment(url: &str) -> &str {
    url.split('#').next().unwrap_or_default()
}
