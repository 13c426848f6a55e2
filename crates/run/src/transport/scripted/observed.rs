//! Converts an exchange to the form that an observer receives.

use offered_base::Nanos;
use offered_events::{Event, Exchange, FailedCheck, Message, Outcome};

use super::QUICK_EVALUATION;
use crate::message::{OutgoingRequest, Response};
use crate::observer::ExchangeObserver;
use crate::script::{REDACTED, Received, Redactor, RequestContext, Script, SessionState};
use crate::transport::protocol_client::{ProtocolClient, RequestText};

/// What is known of a completed exchange.
pub(super) struct ObservedExchange<'a> {
    pub(super) context: RequestContext,
    pub(super) redirects: u32,
    /// Whether it is a token request.
    pub(super) is_token: bool,
    /// The slots of the values that the response had, if its redirect was followed.
    pub(super) followed: Option<&'a [u16]>,
    pub(super) outgoing: Option<&'a OutgoingRequest>,
    pub(super) event: &'a Event,
    /// The service time of the request so far, redirects included.
    pub(super) service: Nanos,
    pub(super) response: Option<&'a Response>,
    pub(super) state: Option<&'a SessionState>,
}

impl ObservedExchange<'_> {
    /// Forwards the exchange to `observer`, if it is wanted.
    pub(super) fn observe(
        &self,
        observer: &ExchangeObserver,
        script: &Script,
        client: &(impl ProtocolClient + ?Sized),
    ) {
        if !observer.accepts(self.event) {
            return;
        }
        let Self { context, redirects, is_token, followed, outgoing, event, response, state, service: _ } = *self;
        let mut redactor = script.redactor(context, state);
        let request_text =
            outgoing.filter(|_| event.sent.is_some()).map(|outgoing| client.request_text(outgoing, event));
        let head = |(name, value): &(String, Vec<u8>)| format!("{name}: {}", String::from_utf8_lossy(value));
        let response_head = response.map(|response| response.headers.iter().map(head).collect::<Vec<String>>());
        if let Some(request_text) = &request_text {
            learn_secrets(&mut redactor, request_text);
        }
        for line in
            request_text.iter().flat_map(|request_text| &request_text.head).chain(response_head.iter().flatten())
        {
            redactor.learn_header(line);
        }
        let reason = event.error.as_ref().map(ToString::to_string);
        let own_response = response.filter(|_| event.object == 0);
        let extracted = own_response.map_or_else(Vec::new, |_| script.extracted(event.label, state, followed));
        let failed = match (own_response, &reason, outgoing) {
            (Some(reply), Some(reason), Some(outgoing)) if event.outcome == Outcome::CheckFailed => {
                let (status, path, target) = (event.status, outgoing.path.as_str(), outgoing.target);
                let received = Received { status, reply, service: self.service, path, target, found: &[] };
                let end = client.now() + QUICK_EVALUATION;
                let time_left = || client.now().until(end);
                script.failures(context, received, state, reason, &time_left)
            }
            _ => Vec::new(),
        };
        let redact = |text: String| redactor.redact(&text);
        let redacted = |failed: FailedCheck| FailedCheck {
            check: failed.check,
            expected: redact(failed.expected),
            found: failed.found.map(redact),
        };
        observer.record(Exchange {
            request: script.name(event.label).to_owned(),
            session: event.session,
            step: event.step,
            object: event.object,
            redirects,
            token_request: is_token,
            outcome: event.outcome.name().to_owned(),
            status: event.status,
            reason: reason.map(redact),
            service_ms: event.service().map(|service| service.as_secs_f64() * 1e3),
            reused: event.reused,
            sent: request_text.map(|request_text| sent_text(&request_text, &redactor, observer.shown_bytes())),
            received: response.map(|response| {
                let whole = Script::decoded_body(response);
                let (body, cut) = text(&whole, &redactor, observer.shown_bytes());
                let head = response_head.unwrap_or_default().iter().map(|line| redactor.redact_line(line)).collect();
                Message { head, body, bytes: response.size, truncated: cut || !response.is_complete() }
            }),
            extracted: extracted
                .into_iter()
                .map(|(name, value)| {
                    let is_secret = script.is_secret_extraction(&name);
                    let value = value.map(|value| if is_secret { REDACTED.to_owned() } else { redact(value) });
                    (name, value)
                })
                .collect(),
            failed_checks: failed.into_iter().map(redacted).collect(),
        });
    }
}

/// Adds the values in a request whose names suggest a secret to the redactor: in its query, form or JSON.
pub(crate) fn learn_secrets(redactor: &mut Redactor<'_>, request_text: &RequestText) {
    request_text.head.iter().for_each(|line| redactor.learn_named(line));
    redactor.learn_named(&String::from_utf8_lossy(&request_text.body));
}

/// The text of a request, without secrets.
pub(crate) fn sent_text(request_text: &RequestText, redactor: &Redactor<'_>, most: usize) -> Message {
    let (body, cut) = text(&request_text.body, redactor, most);
    let head = request_text.head.iter().map(|line| redactor.redact_line(line)).collect();
    Message { head, body, bytes: request_text.body.len() as u64, truncated: cut }
}

/// The first `most` bytes as a text without secrets, and whether there are more. `None` if the body is binary.
fn text(bytes: &[u8], redactor: &Redactor<'_>, most: usize) -> (Option<String>, bool) {
    // Text encodings in use on the web have no zero bytes.
    let shown_bytes = &bytes[..bytes.len().min(most)];
    let text = (!shown_bytes.contains(&0)).then(|| {
        // Redact before truncating: a truncated secret would not be recognised.
        let mut text = redactor.redact(&String::from_utf8_lossy(bytes));
        let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or(0));
        text
    });
    (text, bytes.len() > most)
}
