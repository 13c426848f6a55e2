//! Workloads without a script over a protocol client. Requests are prepared before the run, except for `{{session}}`
//! and `{{sequence}}`.

use std::fmt::Write as _;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use offered_base::{Instant, Nanos, Seed};
use offered_events::Event;
use offered_schedule::Launch;
use offered_workload::catalogue::OneOf;
use offered_workload::script::{Auth, Body, Content};
use offered_workload::template::{Piece, Template};
use offered_workload::{Call, Request, Target, Workload};

use super::protocol_client::{Completion, ProtocolClient};
use super::{Client, Transport, new_event};
use crate::Error;
use crate::message::{OWN_HEADERS, OutgoingRequest};

/// The requests of a workload without a script, by label.
pub(crate) type Requests = Arc<[PreparedRequest]>;

/// One request, as templates without variables.
#[derive(Debug)]
pub(crate) struct PreparedRequest {
    method: String,
    path: Template,
    /// The catalogue from which each request draws its path, with the seed.
    one_of: Option<(Seed, OneOf)>,
    headers: Vec<(String, Template)>,
    body: Option<Content>,
    parameters: Vec<Option<Template>>,
    /// The pattern that a response must match, if it depends on the request.
    awaited: Option<Template>,
    /// The request, if it is the same each time.
    fixed: Option<Arc<OutgoingRequest>>,
}

/// Prepares the requests of `workload`, which has no script.
///
/// # Errors
/// No target, or an unreadable body file.
pub(crate) fn prepare_requests(workload: &Workload) -> Result<Requests, Error> {
    let target = workload.target().ok_or(Error::NoTarget)?;
    workload.requests().iter().map(|request| PreparedRequest::new(request, target, workload.seed())).collect()
}

impl PreparedRequest {
    fn new(request: &Request, target: &Target, seed: Seed) -> Result<Self, Error> {
        let mut headers: Vec<_> = request.headers_to(target).cloned().collect();
        let auth = request.auth_to(target).and_then(|auth| match auth {
            Auth::Basic(pair) => Some(format!("Basic {}", STANDARD.encode(pair.text()?))),
            Auth::Bearer(token) => Some(format!("Bearer {}", token.text()?)),
            // Others need a script.
            Auth::Digest(_) | Auth::Aws(_) | Auth::OAuth2(_) | Auth::None => None,
        });
        let own = OWN_HEADERS.into_iter().filter(|(name, _)| !target.omits_header(name));
        let own = own.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()));
        for (name, value) in own.chain(auth.map(|auth| ("authorization".to_owned(), auth))) {
            if !headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(&name)) {
                headers.push((name, Template::literal(&value)));
            }
        }
        let body = match request.body() {
            Body::File { file, content: Err(reason), .. } => {
                let reason = format!("cannot read {file}: {reason}");
                return Err(Error::Request { name: request.name().to_owned(), reason });
            }
            Body::File { content: Ok(content), .. } => Some(content.clone()),
            Body::Text(text) => Some(Content::Text(text.clone())),
            _ => None,
        };
        let body_is_fixed = match &body {
            Some(Content::Text(text)) => text.text().is_some(),
            _ => true,
        };
        let parameters: Vec<Option<Template>> = match request.call() {
            Call::Sql(sql) => sql.statements.iter().flat_map(|statement| &statement.parameters).cloned().collect(),
            Call::Http | Call::Grpc | Call::WebSocket(_) => Vec::new(),
        };
        let awaited = match request.call() {
            Call::WebSocket(chat) => chat.awaited.clone().filter(|pattern| pattern.text().is_none()),
            _ => None,
        };
        let is_fixed = parameters.iter().flatten().all(|value| value.text().is_some())
            && body_is_fixed
            && awaited.is_none()
            && request.one_of().is_none()
            && request.path().text().is_some()
            && headers.iter().all(|(_, value)| value.text().is_some());
        let plainly = Self {
            method: request.method().to_owned(),
            path: request.path().clone(),
            one_of: request.one_of().map(|one_of| (seed, one_of.clone())),
            headers,
            body,
            parameters,
            awaited,
            fixed: None,
        };
        Ok(Self { fixed: is_fixed.then(|| Arc::new(plainly.outgoing(0, 0, 0))), ..plainly })
    }

    fn outgoing(&self, session: u64, step: u32, sequence: u64) -> OutgoingRequest {
        let text = |template: &Template| fill(template, session, sequence);
        OutgoingRequest {
            method: self.method.clone(),
            path: match &self.one_of {
                Some((seed, one_of)) => one_of.drawn(*seed, session, step).path.to_owned(),
                None => text(&self.path),
            },
            headers: self.headers.iter().map(|(name, value)| (name.clone(), text(value))).collect(),
            body: self.body.as_ref().map(|body| match body {
                Content::Text(body) => text(body).into(),
                Content::Raw(bytes) => Bytes::from_owner(bytes.clone()),
            }),
            awaited: self.awaited.as_ref().map(text),
            parameters: self.parameters.iter().map(|value| value.as_ref().map(text)).collect(),
            ..OutgoingRequest::default()
        }
    }
}

fn fill(template: &Template, session: u64, sequence: u64) -> String {
    let mut text = String::new();
    for piece in template.pieces() {
        let _ = match piece {
            Piece::Text(piece) => text.write_str(piece),
            Piece::Session => write!(text, "{session}"),
            Piece::Sequence => write!(text, "{sequence}"),
            other => text.write_str(&other.written()),
        };
    }
    text
}

/// Sends the requests over a protocol client and reports only their events.
pub(crate) struct Unscripted<C> {
    client: C,
    requests: Requests,
    worker: u16,
    completions: Vec<Completion>,
}

impl<C: ProtocolClient> Unscripted<C> {
    /// The requests of `worker` over `client`.
    pub(crate) fn new(client: C, requests: Requests, worker: u16) -> Self {
        Self { client, requests, worker, completions: Vec::new() }
    }

    fn collect_events(&mut self, events: &mut Vec<Event>) {
        events.extend(self.completions.drain(..).filter_map(|completions| match completions {
            Completion::Done(event, _) => Some(event),
            Completion::FirstByte { .. } => None,
        }));
    }
}

impl<C: ProtocolClient> Client<Vec<Event>> for Unscripted<C> {
    fn now(&self) -> Instant {
        self.client.now()
    }

    fn wait(&mut self, deadline: Instant, events: &mut Vec<Event>) {
        self.client.wait(deadline, &mut self.completions);
        self.collect_events(events);
    }

    fn close_session(&mut self, session: u64) {
        self.client.close_session(session);
    }

    fn cancel_all(&mut self, events: &mut Vec<Event>) {
        self.client.cancel_all(&mut self.completions);
        self.collect_events(events);
    }

    fn in_flight_since(&mut self, instant: Instant) -> Option<Event> {
        self.client.in_flight_since(instant)
    }

    fn finish(&mut self) {
        self.client.finish();
    }

    fn idle(&self) -> Nanos {
        self.client.idle()
    }
}

impl<C: ProtocolClient> Transport for Unscripted<C> {
    fn send(&mut self, launch: Launch, label: u16, sequence: u64, events: &mut Vec<Event>) -> Instant {
        let (request, event) = (&self.requests[usize::from(label)], new_event(launch, label, self.worker));
        let sent = match &request.fixed {
            Some(outgoing) => self.client.begin(outgoing, event, &mut self.completions),
            None => self.client.begin(
                &Arc::new(request.outgoing(launch.session, launch.step, sequence)),
                event,
                &mut self.completions,
            ),
        };
        self.collect_events(events);
        sent
    }
}
