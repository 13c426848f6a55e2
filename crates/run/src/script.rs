//! The compiled script of a workload: its requests, the state of its sessions, and the checks of its responses.
//!
//! This module needs neither sockets nor a clock: [`Script`] builds requests and evaluates responses.
//! [`Scripted`](crate::transport::Scripted) sends and receives them.

mod body;
mod charset;
mod checks;
mod cookies;
mod decode;
mod locator;
mod redactor;
mod request;
mod value;

pub(crate) use checks::{Received, Rejection};
pub(crate) use cookies::CookieJar;
pub use redactor::secrets_in;
pub(crate) use redactor::{REDACTED, Redactor};
pub(crate) use value::MissingValue;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use offered_base::Instant;
use offered_events::RunId;
use offered_io::unix_now;
use offered_workload::Template;
use offered_workload::catalogue::OneOf;
use offered_workload::script::{Auth, Objects, OnFailure, Per, Source, Variable};
use offered_workload::{Call, Target, Workload};

use self::body::Body;
use self::checks::{Check, Extraction};
use self::value::{Text, Values};
use crate::Error;
use crate::event_stream::ExpectedStream;
use crate::message::OutgoingRequest;

/// The requests of a workload, with their checks and extractions.
#[derive(Debug)]
pub(crate) struct Script {
    values: Values,
    requests: Vec<ScriptedRequest>,
    /// The slots of extracted values that begin a path, so that they may be relative URLs.
    url_slots: HashSet<u16>,
    /// Whether some value depends on the visit of its user.
    pub(crate) counts_visits: bool,
    /// Whether sessions keep cookies.
    pub(crate) cookies: bool,
    /// `http` or `https`, the `host:port`, and the host alone.
    scheme: &'static str,
    authority: String,
    host: String,
}

/// One request of the script.
#[derive(Debug)]
struct ScriptedRequest {
    name: String,
    method: String,
    path: Path,
    headers: Vec<(String, Text)>,
    auth: Option<Credentials>,
    body: Body,
    /// For SQL: the parameters of the statements.
    parameters: Vec<Option<Text>>,
    /// For a WebSocket message: the pattern that its response must match, where it depends on the request.
    awaited: Option<Text>,
    checks: Vec<Check>,
    extract: Vec<Extraction>,
    /// Whether a check or an extraction reads the body.
    reads_body: bool,
    on_failure: OnFailure,
    /// Maximum number of consecutive redirects to follow.
    redirects: u32,
    objects: Option<Objects>,
    paths: Vec<Text>,
    stream: Option<Arc<ExpectedStream>>,
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
}

/// The state of a session from its responses: cookies and extracted values.
#[derive(Debug, Default)]
pub(crate) struct SessionState {
    /// Extracted values, by slot.
    values: Vec<Option<Box<str>>>,
    /// The path and query of the response that a value was extracted from, by slot; only of values that begin a path.
    bases: HashMap<u16, Box<str>>,
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
        let values = Values::new(workload, RunId::of(unix_now()));
        let requests = workload.requests().iter().map(|request| {
            let invalid = |reason: String| Error::Request { name: request.name().to_owned(), reason };
            let sets_cookies = request.headers_to(target).any(|(name, _)| name.eq_ignore_ascii_case("cookie"));
            if target.cookies() && sets_cookies {
                let reason = "has a Cookie header, and target.cookies = true; remove one of the two";
                return Err(invalid(reason.to_owned()));
            }
            let headers = request.headers_to(target).map(|(name, value)| (name.clone(), values.text(value))).collect();
            let auth = match request.auth_to(target) {
                Some(Auth::Basic(pair)) => Some(Credentials::Basic(values.text(pair))),
                Some(Auth::Bearer(token)) => Some(Credentials::Bearer(values.text(token))),
                Some(Auth::None) | None => None,
            };
            let checks: Vec<Check> =
                request.checks().iter().map(|c| Check::new(c, &values)).collect::<Result<_, _>>().map_err(invalid)?;
            let extract: Vec<Extraction> = request
                .extract()
                .iter()
                .map(|e| Extraction::new(e, &values))
                .collect::<Result<_, _>>()
                .map_err(invalid)?;
            let paths = request.objects().into_iter().flat_map(|objects| &objects.paths);
            Ok(ScriptedRequest {
                name: request.name().to_owned(),
                method: request.method().to_owned(),
                path: match request.one_of() {
                    Some(one_of) => Path::OneOf(one_of.clone()),
                    None => Path::Text(values.text(request.path())),
                },
                headers,
                auth,
                body: Body::new(request.body(), request.format(Some(target)), &values).map_err(invalid)?,
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
                reads_body: checks.iter().any(Check::reads_body) || extract.iter().any(Extraction::reads_body),
                checks,
                extract,
                on_failure: request.on_failure(),
                redirects: request.redirects_to(target),
                paths: paths.map(|path: &Template| values.text(path)).collect(),
                objects: request.objects().cloned(),
                stream: request.stream().map(ExpectedStream::new).transpose().map_err(invalid)?,
            })
        });
        let requests = requests.collect::<Result<Vec<_>, Error>>()?;
        let host = target.url().host();
        let own = requests.iter().filter_map(|request| match &request.path {
            Path::Text(path) => Some(path),
            Path::OneOf(_) => None,
        });
        let paths = own.chain(requests.iter().flat_map(|request| &request.paths));
        Ok(Self {
            url_slots: paths.filter_map(Text::first_slot).collect(),
            counts_visits: workload.renews()
                || (values.users() > 0 && workload.variables().iter().any(|variable| variable.per == Per::Visit)),
            values,
            requests,
            cookies: target.cookies(),
            scheme: if target.url().secure { "https" } else { "http" },
            authority: host.clone(),
            host: host.rsplit_once(':').map_or(host.as_str(), |(name, _)| name).trim_matches(['[', ']']).to_owned(),
        })
    }

    /// Sets the ID of the run.
    pub(crate) fn in_run(&mut self, run: RunId) {
        self.values.in_run(run);
    }

    /// Request `label` as it would be sent, for display. A value that a response would provide is its name in braces.
    ///
    /// # Errors
    /// Another value is missing.
    pub(crate) fn for_preview(&self, label: u16, context: RequestContext) -> Result<OutgoingRequest, MissingValue> {
        let mut outgoing = self.request(label, context, Some(&self.values.for_preview()), Instant::ZERO)?;
        for name in self.values.names() {
            // Paths have the braces percent-encoded.
            outgoing.path = outgoing.path.replace(&format!("%7B%7B{name}%7D%7D"), &format!("{{{{{name}}}}}"));
        }
        Ok(outgoing)
    }

    /// The name of request `label`.
    pub(crate) fn name(&self, label: u16) -> &str {
        &self.requests[usize::from(label)].name
    }

    /// What a session does after request `label` fails.
    pub(crate) fn on_failure(&self, label: u16) -> OnFailure {
        self.requests[usize::from(label)].on_failure
    }

    /// Maximum number of consecutive redirects of request `label` to follow.
    pub(crate) fn redirects(&self, label: u16) -> u32 {
        self.requests[usize::from(label)].redirects
    }

    /// The objects that are fetched with request `label`.
    pub(crate) fn objects(&self, label: u16) -> Option<&Objects> {
        self.requests[usize::from(label)].objects.as_ref()
    }
}

#[cfg(test)]
mod tests;
