//! Requests that need an access token: the token request is sent first, instead of the request. Other requests that
//! need the same token wait for it.

use std::sync::Arc;

use offered_base::Instant;
use offered_events::{Event, Outcome, Reason};

use super::outcome::missing_value_event;
use super::{Page, Scripted};
use crate::message::{OutgoingRequest, Response};
use crate::script::{Access, MissingValue, RequestContext, TokenFailure, TokenKey};
use crate::transport::new_event;
use crate::transport::protocol_client::ProtocolClient;

/// An access token that a page waits for.
#[derive(Clone)]
pub(super) struct SignIn {
    key: TokenKey,
    source: TokenSource,
    /// The request that is sent again with the new token; `None`: the request was not sent yet.
    again: Option<Arc<OutgoingRequest>>,
}

/// The requests that wait for a token for which another request has sent the token request.
#[derive(Default)]
pub(super) struct WaitingRequests {
    /// The session and the deadline of each waiting request.
    requests: Vec<(u64, Instant)>,
    /// An instant that is not later than the first of these deadlines.
    deadline: Instant,
    /// The number of token requests that had ended when the waiting requests were checked last.
    ended_token_requests: u64,
}

impl WaitingRequests {
    fn push(&mut self, session: u64, deadline: Instant) {
        self.requests.push((session, deadline));
        self.deadline = self.deadline.min(deadline);
    }

    /// Removes and returns the waiting requests, if the wait of one may be over at `now`. The caller adds again those
    /// that still wait.
    fn take_due(&mut self, now: Instant, ended_token_requests: u64) -> Vec<(u64, Instant)> {
        if now < self.deadline && ended_token_requests == self.ended_token_requests {
            return Vec::new();
        }
        (self.deadline, self.ended_token_requests) = (Instant::MAX, ended_token_requests);
        std::mem::take(&mut self.requests)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.requests.clear();
    }
}

/// Which response has the token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TokenSource {
    /// The response to a request of this page, by the grant of the workload.
    Grant,
    /// The same, by a refresh token.
    Refresh,
    /// The response to a request of another page; the number of earlier failures.
    Other(u64),
}

impl SignIn {
    /// The first exchange that `access` requires, and the token that it is for. `None`: it requires none.
    fn of(access: Access, again: Option<Arc<OutgoingRequest>>) -> Option<(OutgoingRequest, Self)> {
        match access {
            Access::Ready => None,
            Access::Wait(key, failures) => {
                Some((OutgoingRequest::default(), Self { key, source: TokenSource::Other(failures), again }))
            }
            Access::Request(request) => {
                let source = if request.is_refresh { TokenSource::Refresh } else { TokenSource::Grant };
                Some((request.outgoing, Self { key: request.key, source, again }))
            }
        }
    }

    /// Whether the page itself sends the token request.
    pub(super) fn is_sent(&self) -> bool {
        !matches!(self.source, TokenSource::Other(_))
    }
}

impl<C: ProtocolClient + ?Sized> Scripted<C> {
    /// The first exchange of a request, and the token that it is for.
    pub(super) fn first_exchange(
        &self,
        label: u16,
        context: RequestContext,
        now: Instant,
    ) -> Result<(OutgoingRequest, Option<SignIn>), MissingValue> {
        let state = self.session_states.get(&context.session);
        match SignIn::of(self.script.access(label, context, state, now)?, None) {
            Some((outgoing, sign_in)) => Ok((outgoing, Some(sign_in))),
            None => Ok((self.script.request(label, context, state, now)?, None)),
        }
    }

    /// Lets a page wait for the token of another one. Returns the time, at which its request counts as sent, as if it were queued for a connection.
    pub(super) fn wait_for_token(&mut self, page: &mut Page) -> Instant {
        let now = self.client.now();
        page.request.sent.get_or_insert(now);
        self.waiting.push(page.launch.session, self.script.deadline(&page.request, now));
        now
    }

    /// The response to the token request of `session` is complete, or has failed.
    pub(super) fn on_token(
        &mut self,
        session: u64,
        exchange_event: Option<Event>,
        response: Option<&Response>,
        events: &mut Vec<Event>,
    ) {
        let Some(page) = self.pages.get_mut(&session) else { return };
        let Some(SignIn { key, source, again }) = page.sign_in.clone() else { return };
        let (outgoing, now) = (page.outgoing.clone(), self.client.now());
        let Event { outcome, status, .. } = page.request;
        // After a request that was refused, the outcome of a token request that was not sent is merged into `reset`; the reason stays.
        let had_no_connection = matches!(
            page.request.error,
            Some(Reason::ConnectTimeout(_) | Reason::PoolTimeout(_) | Reason::Connections(_) | Reason::Streams(_))
        );
        if had_no_connection || matches!(outcome, Outcome::Unsent | Outcome::Refused | Outcome::Dns | Outcome::Tls) {
            page.token_requests -= 1;
            page.request.token_requests = page.token_requests;
        }
        let reason = |why: &str| Reason::from(format!("token endpoint {}: {why}", self.script.endpoint(&outgoing)));
        let result = match response {
            Some(response) => self
                .script
                .take_token(&key, status, response, now)
                .map_err(|why| TokenFailure { outcome: Outcome::AuthError, reason: reason(&why) }),
            None => {
                let gave_up = self.script.gave_up(&page.request).filter(|_| outcome == Outcome::Timeout);
                let why = page.request.error.as_ref().map_or_else(|| outcome.name().to_owned(), ToString::to_string);
                let outcome =
                    if matches!(outcome, Outcome::Cut | Outcome::Unsent) { outcome } else { Outcome::AuthError };
                Err(TokenFailure { outcome, reason: gave_up.map_or_else(|| reason(&why), Reason::GaveUp) })
            }
        };
        if let Some(event) = exchange_event {
            let event = match &result {
                Ok(()) => event,
                Err(TokenFailure { outcome, reason }) => {
                    Event { outcome: *outcome, error: Some(reason.clone()), ..event }
                }
            };
            self.observe(&outgoing, &event, response, Some(&[]));
        }
        self.pages.entry(session).and_modify(|page| page.sign_in = None);
        // A refresh token may have expired: the grant of the workload gives another one.
        let is_refused = source == TokenSource::Refresh && (400..500).contains(&status) && result.is_err();
        if is_refused && self.begin_grant(session, &key, again.clone()) {
            return;
        }
        if let Err(failure) = &result {
            self.script.fail_token(&key, failure.clone());
        }
        self.after_token(session, again, result, events);
        self.resume_waiting(events);
    }

    /// Sends the token request of the workload's grant after a refresh token was refused. Returns whether there is one.
    fn begin_grant(&mut self, session: u64, key: &TokenKey, again: Option<Arc<OutgoingRequest>>) -> bool {
        let Some(page) = self.pages.get_mut(&session) else { return false };
        self.script.forget_refresh_token(key);
        let state = self.session_states.get(&session);
        let Ok(Some(outgoing)) = self.script.first_token_request(page.label, page.context, state) else { return false };
        let sign_in = SignIn { key: key.clone(), source: TokenSource::Grant, again };
        self.begin_sign_in(session, outgoing, sign_in);
        true
    }

    /// The response to the request of `session` says that its token is not valid: gets another one, and sends the request again.
    pub(super) fn renew_token(
        &mut self,
        session: u64,
        exchange_event: Option<Event>,
        response: &Response,
        events: &mut Vec<Event>,
    ) {
        let Some(page) = self.pages.get_mut(&session) else { return };
        let outgoing = page.outgoing.clone();
        page.is_answer = true;
        page.redirects += 1;
        if let Some(event) = exchange_event {
            self.observe(&outgoing, &event, Some(response), Some(&[]));
        }
        self.get_token(session, Some(outgoing), events);
    }

    /// Gets a token for the request of `session`, and then sends the request; `again` if it was sent before.
    fn get_token(&mut self, session: u64, again: Option<Arc<OutgoingRequest>>, events: &mut Vec<Event>) {
        let Some(page) = self.pages.get(&session) else { return };
        let state = self.session_states.get(&session);
        let access = self.script.access(page.label, page.context, state, self.client.now());
        match access.map(|access| SignIn::of(access, again.clone())) {
            Ok(Some((request, sign_in))) => self.begin_sign_in(session, request, sign_in),
            // Another request has got it. A value that is missing here is missing in the request, too.
            Ok(None) | Err(_) => self.after_token(session, again, Ok(()), events),
        }
    }

    /// Sends a token request for `session`, or lets it wait for the token request of another session.
    fn begin_sign_in(&mut self, session: u64, request: OutgoingRequest, sign_in: SignIn) {
        let Some(page) = self.pages.get_mut(&session) else { return };
        if sign_in.is_sent() {
            page.token_requests += 1;
            page.outgoing = Arc::new(request);
            let (outgoing, event) = (page.outgoing.clone(), new_event(page.launch, page.label, self.worker));
            self.client.begin(&outgoing, event, &mut self.completions);
        } else {
            let deadline = self.script.deadline(&page.request, self.client.now());
            self.waiting.push(session, deadline);
        }
        if let Some(page) = self.pages.get_mut(&session) {
            page.sign_in = Some(sign_in);
        }
    }

    /// Sends the waiting requests that have their token now. Ends those without one: the token request failed, or they waited too long.
    pub(super) fn resume_waiting(&mut self, events: &mut Vec<Event>) {
        if self.waiting.is_empty() {
            return;
        }
        let now = self.client.now();
        for (session, deadline) in self.waiting.take_due(now, self.script.ended_token_requests()) {
            let Some(page) = self.pages.get_mut(&session) else { continue };
            let Some(SignIn { key, source: TokenSource::Other(failures), .. }) = &page.sign_in else { continue };
            let awaited = self.script.awaited_token(key, *failures);
            if awaited.is_none() && now < deadline {
                self.waiting.push(session, deadline);
                continue;
            }
            let again = page.sign_in.take().and_then(|sign_in| sign_in.again);
            match awaited {
                Some(Ok(())) => self.after_token(session, again, Ok(()), events),
                // The user of the token request gave up, not this one.
                Some(Err(TokenFailure { reason: Reason::GaveUp(_), .. })) => self.get_token(session, again, events),
                Some(Err(failure)) => {
                    page.request.done = Some(now);
                    self.after_token(session, again, Err(failure), events);
                }
                None => {
                    page.request.done = Some(now);
                    let failure = self.script.late_token(&page.request);
                    self.after_token(session, again, Err(failure), events);
                }
            }
        }
    }

    /// The wait of `session` for a token is over: sends its request, or ends it if there is no token.
    fn after_token(
        &mut self,
        session: u64,
        again: Option<Arc<OutgoingRequest>>,
        result: Result<(), TokenFailure>,
        events: &mut Vec<Event>,
    ) {
        let Some(page) = self.pages.get(&session) else { return };
        let (label, context, now) = (page.label, page.context, self.client.now());
        let next = result.map(|()| {
            let state = self.session_states.get(&session);
            match again {
                None => self.script.request(label, context, state, now),
                Some(again) => {
                    let mut outgoing = Arc::unwrap_or_clone(again);
                    self.script.authorize(label, &mut outgoing, context, state).map(|()| outgoing)
                }
            }
        });
        let next = match next {
            Ok(Ok(outgoing)) => Ok(self.with_observer_limit(outgoing)),
            Ok(Err(missing)) => {
                let event = missing_value_event(Event::at(now), missing, &self.halt);
                Err((event.outcome, event.error))
            }
            Err(TokenFailure { outcome: Outcome::Cut, .. }) => Err((Outcome::Cut, Some(Reason::Stopped))),
            Err(TokenFailure { outcome, reason }) => Err((outcome, Some(reason))),
        };
        let Some(page) = self.pages.get_mut(&session) else { return };
        match next {
            Ok(outgoing) => {
                page.outgoing = outgoing;
                let (outgoing, event) = (page.outgoing.clone(), new_event(page.launch, page.label, self.worker));
                self.client.begin(&outgoing, event, &mut self.completions);
            }
            Err((outcome, error)) => {
                // The request itself has no response.
                (page.request.outcome, page.request.error, page.request.status) = (outcome, error, 0);
                (page.request.first_byte, page.request.reading_lateness) = (None, None);
                page.request.done.get_or_insert(now);
                if matches!(outcome, Outcome::Unsent | Outcome::NoValue) {
                    (page.request.sent, page.request.done) = (None, None);
                }
                self.on_judged(session, None, None, events);
            }
        }
    }
}
