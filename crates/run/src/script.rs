//! The compiled script of a workload: its requests, the state of its sessions, and the checks of its responses.
//!
//! This module needs neither sockets nor a clock: [`Script`] builds requests and evaluates responses.
//! [`Scripted`](crate::transport::Scripted) sends and receives them.

mod body;
mod charset;
mod checks;
mod condition;
mod cookies;
mod decode;
mod form;
mod hashes;
mod locator;
mod numbering;
mod oauth2;
mod origin;
mod received;
mod redactor;
mod request;
mod served_form;
mod signing;
mod value;

pub(crate) use checks::Rejection;
pub(crate) use cookies::CookieJar;
pub(crate) use oauth2::{Access, TokenFailure, TokenKey};
pub(crate) use received::Received;
pub use redactor::secrets_in;
pub(crate) use redactor::{REDACTED, Redactor};
pub(crate) use value::MissingValue;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use offered_base::{Instant, Nanos};
use offered_events::{Event, RunId};
use offered_io::unix_now;
use offered_workload::Template;
use offered_workload::catalogue::OneOf;
use offered_workload::retry::TimeLimits;
use offered_workload::script::{Auth, Objects, OnFailure, Per, Source, Variable};
use offered_workload::template::Function;
use offered_workload::{Call, Target, Workload};

use self::body::Body;
use self::checks::{Check, Extraction};
use self::condition::Condition;
use self::form::FormRequest;
use self::oauth2::{OAuth2, Tokens};
use self::origin::{Location, Origins};
use self::served_form::Form;
use self::signing::{Aws, Challenge};
use self::value::{Text, Values};
use crate::Error;
use crate::event_stream::ExpectedStream;
use crate::message::{OWN_HEADERS, OutgoingRequest};

/// The requests of a workload, with their checks and extractions.
#[derive(Debug)]
pub(crate) struct Script {
    values: Values,
    requests: Vec<ScriptedRequest>,
    conditions: Vec<Condition>,
    /// The slots of extracted values at the beginning of a path; these values may be relative URLs.
    url_slots: HashSet<u16>,
    /// Whether at least one value depends on the number of the visit.
    counts_visits: bool,
    origins: Origins,
    tokens: Tokens,
    /// Whether sessions have access tokens of their own.
    has_session_tokens: bool,
    /// The time limits of requests that have their own.
    limits: Option<TimeLimits>,
}

/// One request of the script.
#[derive(Debug)]
struct ScriptedRequest {
    name: String,
    /// The index of its target.
    target: u16,
    /// Whether it is a WebSocket message.
    is_socket: bool,
    /// Maximum number of consecutive redirects to follow.
    redirects: u32,
    /// Timeout of an attempt.
    timeout: Nanos,
    method: String,
    path: Path,
    headers: Vec<(String, Text)>,
    /// Default headers of the generator that neither the request nor the target sets or omits.
    own_headers: Vec<(&'static str, &'static str)>,
    auth: Option<Credentials>,
    body: Body,
    /// For SQL: the parameters of the statements.
    parameters: Vec<Option<Text>>,
    /// For a WebSocket message: the pattern that its response must match, if it depends on the request.
    awaited: Option<Text>,
    checks: Vec<Check>,
    extract: Vec<Extraction>,
    /// Whether a check or an extraction reads the body.
    reads_body: bool,
    /// The form that it submits.
    form: Option<FormRequest>,
    /// The requests that submit a form of its response.
    forms: Vec<u16>,
    on_failure: OnFailure,
    objects: Option<Objects>,
    paths: Vec<Text>,
    stream: Option<Arc<ExpectedStream>>,
    /// The variables of its body that are conversations.
    conversations: Vec<u16>,
}

impl ScriptedRequest {
    /// A request to `target`; `forms`: the requests that submit a form of its response.
    fn new(
        request: &offered_workload::Request,
        target: &Target,
        forms: Vec<u16>,
        values: &Values,
    ) -> Result<Self, Error> {
        let invalid = |reason: String| Error::Request { name: request.name().to_owned(), reason };
        let headers: Vec<(String, Text)> =
            request.headers_to(target).map(|(name, value)| (name.clone(), values.text(value))).collect();
        let is_set = |name: &str| headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
        let own_headers =
            OWN_HEADERS.into_iter().filter(|(name, _)| !is_set(name) && !target.omits_header(name)).collect();
        let auth = match request.auth_to(target) {
            Some(Auth::Basic(pair)) => Some(Credentials::Basic(values.text(pair))),
            Some(Auth::Bearer(token)) => Some(Credentials::Bearer(values.text(token))),
            Some(Auth::Digest(pair)) => Some(Credentials::Digest(values.text(pair))),
            Some(Auth::Aws(aws)) => Some(Credentials::Aws(Aws::new(aws, values))),
            Some(Auth::OAuth2(oauth2)) => Some(Credentials::OAuth2(OAuth2::new(oauth2, values))),
            Some(Auth::None) | None => None,
        };
        let checks: Vec<Check> =
            request.checks().iter().map(|c| Check::new(c, values)).collect::<Result<_, _>>().map_err(invalid)?;
        let extract: Vec<Extraction> =
            request.extract().iter().map(|e| Extraction::new(e, values)).collect::<Result<_, _>>().map_err(invalid)?;
        let paths = request.objects().into_iter().flat_map(|objects| &objects.paths);
        let body = Body::new(request.body(), request.format(Some(target)), values).map_err(invalid)?;
        let conversations = body.conversations(values);
        let stream = request.stream().map(|stream| ExpectedStream::new(stream, !conversations.is_empty()));
        Ok(Self {
            name: request.name().to_owned(),
            target: request.target(),
            is_socket: matches!(request.call(), Call::WebSocket(_)),
            redirects: request.redirects_to(target),
            timeout: request.attempts().timeout.unwrap_or(target.response_timeout()),
            method: request.method().to_owned(),
            path: match request.one_of() {
                Some(one_of) => Path::OneOf(one_of.clone()),
                None => Path::Text(values.text(request.path())),
            },
            headers,
            own_headers,
            auth,
            body,
            parameters: match request.call() {
                Call::Sql(sql) => {
                    let given = sql.statements.iter().flat_map(|statement| &statement.parameters);
                    given.map(|value| value.as_ref().map(|value| values.text(value))).collect()
                }
                Call::Http | Call::Grpc | Call::WebSocket(_) => Vec::new(),
            },
            awaited: match request.call() {
                Call::WebSocket(chat) => {
                    let own = chat.awaited.as_ref().filter(|pattern| pattern.text().is_none());
                    own.map(|pattern| values.text(pattern))
                }
                _ => None,
            },
            reads_body: checks.iter().any(Check::reads_body)
                || extract.iter().any(Extraction::reads_body)
                || !forms.is_empty(),
            form: request.submit().map(|form| FormRequest::new(form, values)).transpose().map_err(invalid)?,
            forms,
            checks,
            extract,
            on_failure: request.on_failure(),
            paths: paths.map(|path: &Template| values.text(path)).collect(),
            objects: request.objects().cloned(),
            stream: stream.transpose().map_err(invalid)?,
            conversations,
        })
    }
}

impl ScriptedRequest {
    /// The value of its `traceparent` header, if it is the result of `traceparent()` alone.
    fn trace_context(&self) -> Option<&Text> {
        let (_, text) = self.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("traceparent"))?;
        Some(text).filter(|text| text.is_call(Function::Traceparent))
    }
}

/// The path of a request.
#[derive(Debug)]
enum Path {
    Text(Text),
    /// A file of a catalogue, drawn for each request.
    OneOf(OneOf),
}

/// Credentials of a request.
#[derive(Debug)]
enum Credentials {
    Basic(Text),
    Bearer(Text),
    Digest(Text),
    Aws(Aws),
    OAuth2(OAuth2),
}

/// The state of a session from its responses: cookies and extracted values.
#[derive(Debug, Default)]
pub(crate) struct SessionState {
    /// Extracted values, by slot.
    values: Vec<Option<Box<str>>>,
    /// The URL of the response that a value was extracted from, by slot; only for values at the beginning of a path.
    bases: HashMap<u16, Location>,
    /// The forms of pages, or the reason why a form is missing, by the request that submits them.
    forms: HashMap<u16, Result<Form, String>>,
    /// The last digest challenge of each target.
    challenges: HashMap<u16, Challenge>,
    /// The conversations so far, by the number of their variable.
    conversations: HashMap<u16, value::Conversation>,
    pub(crate) jar: CookieJar,
}

/// Identifies the request for which a text is rendered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestContext {
    /// The session.
    pub(crate) session: u64,
    /// The number of the request in its session.
    pub(crate) step: u32,
    /// The number of the visit in its session, where visits are counted; else 0.
    pub(crate) visit: u32,
    /// The number of the request in the whole run.
    pub(crate) sequence: u64,
    /// Which request of the workload it is.
    pub(crate) label: u16,
}

/// Checks that all `variables` have values.
///
/// # Errors
/// An environment variable that is not set, or a file that cannot be read.
pub(crate) fn check_variables(variables: &[Variable]) -> Result<(), Error> {
    for variable in variables {
        let reason = match &variable.source {
            Source::Constant(Err(reason)) => reason.clone(),
            Source::Feeder(feeder) => match &feeder.rows {
                Err(reason) => format!("{}: {reason}", feeder.file),
                Ok(_) => continue,
            },
            _ => continue,
        };
        return Err(Error::Variable { name: variable.name.clone(), reason });
    }
    Ok(())
}

/// Checks that no name of a value is in single braces, an earlier notation for placeholders, because it would be sent as
/// text. Only runs check this: existing recordings remain readable.
///
/// # Errors
/// There is such a name.
pub(crate) fn check_single_braces(workload: &Workload) -> Result<(), Error> {
    match workload.singles().into_iter().find(|single| !single.may_be_literal()) {
        Some(single) => Err(Error::SingleBraces(single)),
        None => Ok(()),
    }
}

impl Script {
    /// Compiles the script of `workload` for `target`, with a run ID derived from the current time; see
    /// [`in_run`](Self::in_run).
    ///
    /// # Errors
    /// An invalid regular expression, JSON path or CSS selector, or a body file that cannot be read.
    pub(crate) fn new(workload: &Workload, target: &Target) -> Result<Self, Error> {
        check_variables(workload.variables())?;
        Self::compile(workload, target)
    }

    /// The same; variables may lack their values.
    ///
    /// # Errors
    /// The others of [`new`](Self::new).
    pub(crate) fn compile(workload: &Workload, target: &Target) -> Result<Self, Error> {
        let values = Values::new(workload, RunId::of(unix_now()));
        let mut forms: Vec<Vec<u16>> = vec![Vec::new(); workload.requests().len()];
        for submitted in 0..forms.len() {
            workload.form_pages(submitted).into_iter().for_each(|page| forms[page].push(submitted as u16));
        }
        let requests = workload.requests().iter().zip(forms).map(|(request, forms)| {
            ScriptedRequest::new(request, workload.target_of(request).unwrap_or(target), forms, &values)
        });
        let requests = requests.collect::<Result<Vec<_>, Error>>()?;
        let conditions: Result<Vec<_>, String> =
            workload.conditions().iter().map(|condition| Condition::new(condition, &values)).collect();
        let own = requests.iter().filter_map(|request| match &request.path {
            Path::Text(path) => Some(path),
            Path::OneOf(_) => None,
        });
        let paths = own.chain(requests.iter().flat_map(|request| &request.paths));
        Ok(Self {
            url_slots: paths.filter_map(Text::first_slot).collect(),
            counts_visits: workload.renews()
                || (values.has_users() && workload.variables().iter().any(|variable| variable.per == Per::Visit)),
            conditions: conditions.map_err(|reason| Error::Condition { reason })?,
            has_session_tokens: requests.iter().filter_map(|one| one.auth.as_ref()).any(Credentials::are_per_session),
            values,
            requests,
            origins: Origins::new(workload),
            tokens: Tokens::default(),
            limits: workload.time_limits(),
        })
    }

    /// Sets the ID of the run.
    pub(crate) fn in_run(&mut self, run: RunId) {
        self.values.in_run(run);
    }

    /// When the exchange of `event`, sent at `sent`, is out of time, or its user gives up.
    pub(crate) fn deadline(&self, event: &Event, sent: Instant) -> Instant {
        let timeout = self.requests[usize::from(event.label)].timeout;
        self.limits.as_ref().map_or(sent + timeout, |limits| limits.deadline(event, sent, timeout))
    }

    /// Whether some request has a header [`trace_context`](Self::trace_context).
    pub(crate) fn sends_trace_contexts(&self) -> bool {
        self.requests.iter().any(|request| request.trace_context().is_some())
    }

    /// The `traceparent` header of a request, if it is the result of `traceparent()` alone.
    pub(crate) fn trace_context(&self, context: RequestContext) -> Option<String> {
        let text = self.requests.get(usize::from(context.label))?.trace_context()?;
        self.values.plain(text, context, None).ok()
    }

    /// Request `label` as it would be sent, for display. A value that a response would provide is its name in braces.
    ///
    /// # Errors
    /// Another value is missing.
    pub(crate) fn for_preview(&self, label: u16, context: RequestContext) -> Result<OutgoingRequest, MissingValue> {
        let state = self.values.for_preview();
        if let Some(form) = &self.requests[usize::from(label)].form {
            return self.unserved_form(label, form, context, &state);
        }
        let mut outgoing = self.request(label, context, Some(&state), Instant::ZERO)?;
        if !outgoing.left_target && matches!(self.requests[usize::from(label)].auth, Some(Credentials::OAuth2(_))) {
            outgoing.headers.push(("Authorization".to_owned(), "Bearer {{access_token}}".to_owned()));
        }
        for name in self.values.names() {
            // Paths have the braces percent-encoded.
            outgoing.path = outgoing.path.replace(&format!("%7B%7B{name}%7D%7D"), &format!("{{{{{name}}}}}"));
        }
        Ok(outgoing)
    }

    /// Adds the turn of request `label` to the conversations in its body. `text`: the text of its response, as between quotes in JSON.
    pub(crate) fn add_turn(
        &self,
        label: u16,
        context: RequestContext,
        text: &str,
        event: &Event,
        state: &mut SessionState,
    ) {
        let counted = event.stream.as_deref();
        let tokens = counted.and_then(|stream| Some(stream.tokens_in? + stream.tokens_out?));
        for number in &self.requests[usize::from(label)].conversations {
            self.values.add_turn(*number, context, text, tokens, state);
        }
    }

    /// Whether the visits of `session` are counted: values depend on them, and it may make more than one.
    pub(crate) fn counts_visits_of(&self, session: u64) -> bool {
        self.counts_visits && self.values.is_user(session)
    }

    /// Whether flows have conditions.
    pub(crate) fn has_conditions(&self) -> bool {
        !self.conditions.is_empty()
    }

    /// The maximum number of consecutive redirects that request `label` follows.
    pub(crate) fn redirects(&self, label: u16) -> u32 {
        self.requests[usize::from(label)].redirects
    }

    /// The name of request `label`.
    pub(crate) fn name(&self, label: u16) -> &str {
        &self.requests[usize::from(label)].name
    }

    /// What a session does after request `label` fails.
    pub(crate) fn on_failure(&self, label: u16) -> OnFailure {
        self.requests[usize::from(label)].on_failure
    }

    /// The objects that are fetched with request `label`.
    pub(crate) fn objects(&self, label: u16) -> Option<&Objects> {
        self.requests[usize::from(label)].objects.as_ref()
    }
}

#[cfg(test)]
mod tests;
