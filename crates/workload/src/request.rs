//! Requests.

use super::retry::AttemptSettings;
use super::script::{Auth, Body, Check, Content, Extraction, IfMissing, Objects, OnFailure};
use super::sql::Sql;
use super::submit::Submit;
use super::target::Target;
use crate::EventStream;
use crate::catalogue::OneOf;
use crate::template::{Format, Piece, Template};
use offered_base::{InvalidValue, Nanos};
use offered_distributions::Distribution;

/// The path in figures for all files of a catalogue together.
const ANY_FILE: &str = "/*";

/// One kind of request.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub(super) name: String,
    /// The index of its target.
    pub(super) target: u16,
    pub(super) call: Call,
    pub(super) method: String,
    pub(super) path: Template,
    /// The files of a catalogue, which replace `path` and `service`.
    pub(super) one_of: Option<OneOf>,
    pub(super) weight: f64,
    pub(super) headers: Vec<(String, Template)>,
    pub(super) body: Body,
    /// The form that it submits, which replaces method, `path` and `body`.
    pub(super) submit: Option<Submit>,
    pub(super) auth: Option<Auth>,
    pub(super) extract: Vec<Extraction>,
    pub(super) checks: Vec<Check>,
    pub(super) on_failure: OnFailure,
    pub(super) objects: Option<Objects>,
    pub(super) stream: Option<EventStream>,
    pub(super) service: Option<Distribution>,
    pub(super) attempts: AttemptSettings,
}

impl Request {
    /// `GET path`, with the path as its name.
    pub fn get(path: &str) -> Self {
        Self::of("GET".to_owned(), Template::literal(path))
    }

    /// The format of the request's body, by the `Content-Type` of the request or of `target`, otherwise by its first character. gRPC
    /// messages are JSON.
    pub fn format(&self, target: Option<&Target>) -> Format {
        let mut headers = self.headers.iter().chain(target.into_iter().flat_map(|target| &target.headers));
        let said = headers.find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        match (&self.call, self.body.text()) {
            (Call::Grpc, _) => Format::Json,
            (_, Some(text)) => Format::of(said.map(|(_, value)| value.as_str()), text),
            (_, None) => Format::Plain,
        }
    }

    /// A request with this method and path, named after the path, without any other settings.
    ///
    /// # Errors
    /// A method that is not in capital letters; a path that begins neither with `/` nor with a placeholder, or has
    /// spaces.
    pub fn new(method: &str, path: Template) -> Result<Self, InvalidValue> {
        check_method(method)?;
        check_path(&path)?;
        Ok(Self::of(method.to_owned(), path))
    }

    /// A request with these SQL statements, named after them.
    pub fn sql(sql: Sql) -> Self {
        let name = sql.statements.iter().map(|statement| &*statement.text).collect::<Vec<_>>().join("; ");
        Self { name, call: Call::Sql(sql), ..Self::of("SQL".to_owned(), Template::literal("/")) }
    }

    /// A request of the trace of a replay.
    pub(super) fn of_trace(method: String, path: &str) -> Self {
        Self { name: format!("{method} {path}"), ..Self::of(method, Template::literal(path)) }
    }

    /// A request for the files of a catalogue, named after their class, or without classes after the catalogue.
    pub(super) fn of_files(method: String, one_of: OneOf) -> Self {
        let name = one_of.class().unwrap_or(one_of.catalogue().file()).to_owned();
        let service = one_of.distribution().cloned();
        Self { name, service, one_of: Some(one_of), ..Self::of(method, Template::literal(ANY_FILE)) }
    }

    pub(super) fn of(method: String, path: Template) -> Self {
        Self {
            name: path.as_str().to_owned(),
            target: 0,
            call: Call::Http,
            method,
            path,
            one_of: None,
            weight: 1.0,
            headers: Vec::new(),
            body: Body::None,
            submit: None,
            auth: None,
            extract: Vec::new(),
            checks: Vec::new(),
            on_failure: OnFailure::Continue,
            objects: None,
            stream: None,
            service: None,
            attempts: AttemptSettings::default(),
        }
    }

    /// Sets the name.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// Sets the behaviour of the session if the request fails.
    #[must_use]
    pub fn with_on_failure(self, on_failure: OnFailure) -> Self {
        Self { on_failure, ..self }
    }

    /// Sets the weight in a random mix.
    #[must_use]
    pub fn with_weight(self, weight: f64) -> Self {
        Self { weight, ..self }
    }

    /// Sets the target, by its index in [`Workload::targets`](crate::Workload::targets).
    #[must_use]
    pub fn with_target(self, target: u16) -> Self {
        Self { target, ..self }
    }

    /// Sets the maximum number of consecutive redirects; `None`: the maximum of the target applies.
    #[must_use]
    pub fn with_redirects(self, redirects: Option<u32>) -> Self {
        Self { attempts: AttemptSettings { redirects, ..self.attempts }, ..self }
    }

    /// Sets the headers, in addition to those of the target.
    #[must_use]
    pub fn with_headers(self, headers: Vec<(String, Template)>) -> Self {
        Self { headers, ..self }
    }

    /// Sets the body.
    #[must_use]
    pub fn with_body(self, body: Body) -> Self {
        Self { body, ..self }
    }

    /// Sets the authentication; `None`: that of the target applies.
    #[must_use]
    pub fn with_auth(self, auth: Option<Auth>) -> Self {
        Self { auth, ..self }
    }

    /// Sets the values that are extracted from the response.
    #[must_use]
    pub fn with_extract(self, extract: Vec<Extraction>) -> Self {
        Self { extract, ..self }
    }

    /// Sets the checks of the response.
    #[must_use]
    pub fn with_checks(self, checks: Vec<Check>) -> Self {
        Self { checks, ..self }
    }

    /// Sets the embedded objects that are fetched with the request.
    #[must_use]
    pub fn with_objects(self, objects: Option<Objects>) -> Self {
        Self { objects, ..self }
    }

    /// Sets the stream in the response; `None`: the response is read as a whole.
    #[must_use]
    pub fn with_stream(self, stream: Option<EventStream>) -> Self {
        Self { stream, ..self }
    }

    /// The label.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The index of its target among [`Workload::targets`](crate::Workload::targets).
    pub fn target(&self) -> u16 {
        self.target
    }

    /// The origin of its path, if that is a whole URL with a host that is known before the run.
    pub(crate) fn absolute_origin(&self) -> Option<String> {
        let Some(Piece::Text(text)) = self.path.pieces().first() else { return None };
        let (scheme, rest) = text.split_once("://").filter(|(scheme, _)| is_http(scheme))?;
        let end = rest.find(['/', '?'])?;
        Some(format!("{scheme}://{}", &rest[..end]))
    }

    /// The kind of exchange.
    pub fn call(&self) -> &Call {
        &self.call
    }

    /// `GET`, `POST`, ...
    pub fn method(&self) -> &str {
        &self.method
    }

    /// Path and query. If it begins with a placeholder, the value may be a whole URL of the target. A request for a
    /// catalogue has the paths of the files instead.
    pub fn path(&self) -> &Template {
        &self.path
    }

    /// The files of a catalogue, which replace its [path](Self::path).
    pub fn one_of(&self) -> Option<&OneOf> {
        self.one_of.as_ref()
    }

    /// The weight in a random mix.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// Headers, in addition to those of the target.
    pub fn headers(&self) -> &[(String, Template)] {
        &self.headers
    }

    /// The body.
    pub fn body(&self) -> &Body {
        &self.body
    }

    /// The form that the request submits, which replaces method, path and body.
    pub fn submit(&self) -> Option<&Submit> {
        self.submit.as_ref()
    }

    /// The authentication; `None`: that of the target.
    pub fn auth(&self) -> Option<&Auth> {
        self.auth.as_ref()
    }

    /// The names of the metrics: numbers in the response that are results.
    pub fn metrics(&self) -> impl Iterator<Item = &str> {
        let measured = self.extract.iter().filter(|extraction| extraction.if_missing == IfMissing::NotMeasured);
        measured.map(|extraction| extraction.name.as_str())
    }

    /// The values that are extracted from the response, and metrics.
    pub fn extract(&self) -> &[Extraction] {
        &self.extract
    }

    /// The checks of the response.
    pub fn checks(&self) -> &[Check] {
        &self.checks
    }

    /// What the session does if the request fails.
    pub fn on_failure(&self) -> OnFailure {
        self.on_failure
    }

    /// The embedded objects that are fetched with the request, as in a browser.
    pub fn objects(&self) -> Option<&Objects> {
        self.objects.as_ref()
    }

    /// The stream in its response; `None`: the response is read as a whole.
    pub fn stream(&self) -> Option<&EventStream> {
        self.stream.as_ref()
    }

    /// The distribution of its service demand on the modelled server, if it has its own.
    pub fn service(&self) -> Option<&Distribution> {
        self.service.as_ref()
    }
}

/// The kind of exchange of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Call {
    /// An HTTP request.
    #[default]
    Http,
    /// A unary call of gRPC: the path names service and method, the body is its message in JSON.
    Grpc,
    /// A message on the WebSocket of the session: the path opens the WebSocket, the body is the message.
    WebSocket(Chat),
    /// Statements for a database; method and path are unused.
    Sql(Sql),
}

/// A message on a WebSocket, and the messages that it waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chat {
    /// Whether the body is hexadecimal digits, sent as a binary message.
    pub binary: bool,
    /// A regular expression for the awaited messages, with values inserted unescaped; `None`: any message.
    pub awaited: Option<Template>,
    /// Number of awaited messages, at least one; `None`: one, or with `listen` unlimited.
    pub count: Option<u32>,
    /// Maximum duration of the request, above zero; it ends then with the messages received so far.
    pub listen: Option<Nanos>,
}

impl Chat {
    /// Whether the request only opens the connection, because it neither sends nor awaits a message.
    pub fn only_connects(&self, said: bool) -> bool {
        !said && self.awaited.is_none() && self.count.is_none() && self.listen.is_none()
    }
}

/// Parses hexadecimal digits; white space between them is ignored.
///
/// # Errors
/// Another character, or an odd number of digits.
pub fn bytes_of_hex(text: &str) -> Result<Vec<u8>, InvalidValue> {
    let wrong = || InvalidValue::new("must be hexadecimal digits, two for each byte, such as 01 ff");
    let digits: Option<Vec<u8>> =
        text.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_digit(16).map(|digit| digit as u8)).collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2)).ok_or_else(wrong)?;
    Ok(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

impl Request {
    /// The headers of this request to `target`: its own headers, and those of the target without a header of the same
    /// name here.
    pub fn headers_to<'a>(
        &'a self,
        target: impl Into<Option<&'a Target>>,
    ) -> impl Iterator<Item = &'a (String, Template)> {
        let own = |name: &str| self.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
        let shared = target.into().into_iter().flat_map(|target| &target.headers);
        shared.filter(move |(name, _)| !own(name)).chain(&self.headers)
    }

    /// The authentication of this request to `target`; `None`: no authentication, or the request has that header.
    pub fn auth_to<'a>(&'a self, target: &'a Target) -> Option<&'a Auth> {
        let auth = self.auth.as_ref().or(target.auth.as_ref()).filter(|auth| !matches!(auth, Auth::None));
        let said = self.headers_to(target).any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        auth.filter(|_| !said)
    }

    pub(super) fn is_scripted(&self, target: Option<&Target>) -> bool {
        let plain_body = match &self.body {
            Body::None => true,
            Body::Text(text) => text.is_plain(),
            Body::File { content: Ok(Content::Text(text)), .. } => text.is_plain(),
            _ => false,
        };
        let plain_auth = match self.auth.as_ref().or_else(|| target.and_then(|target| target.auth.as_ref())) {
            Some(auth) => !auth.is_computed() && auth.templates().iter().all(|text| text.text().is_some()),
            None => true,
        };
        let mut headers = target.into_iter().flat_map(|target| &target.headers).chain(&self.headers);
        let plain_call = match &self.call {
            Call::Sql(sql) => sql.templates().all(Template::is_plain),
            Call::WebSocket(chat) => chat.awaited.as_ref().is_none_or(Template::is_plain),
            Call::Http | Call::Grpc => true,
        };
        let says = !plain_call
            || self.submit.is_some()
            || !self.path.is_plain()
            || !self.path.as_str().starts_with('/')
            || !plain_body
            // A body that is sent only after a 100 response needs a script.
            || headers.any(|(name, value)| !value.is_plain() || name.eq_ignore_ascii_case("expect"))
            || !plain_auth;
        let hears =
            !self.extract.is_empty() || !self.checks.is_empty() || self.objects.is_some() || self.stream.is_some();
        says || hears || self.on_failure != OnFailure::Continue || self.attempts.redirects.is_some_and(|most| most > 0)
    }
}

fn is_http(scheme: &str) -> bool {
    ["http", "https"].iter().any(|known| known.eq_ignore_ascii_case(scheme))
}

/// A method of HTTP is in capital letters.
pub(super) fn check_method(name: &str) -> Result<(), InvalidValue> {
    if name.is_empty() || !name.bytes().all(|b| b.is_ascii_uppercase() || b == b'-') {
        return Err(InvalidValue::new(format!("`{name}` is not a method; write capital letters, for example \"GET\"")));
    }
    Ok(())
}

/// Checks that a path begins with `/` or a placeholder.
pub(super) fn check_path(path: &Template) -> Result<(), InvalidValue> {
    let text = path.as_str();
    let begins = text.starts_with('/')
        || text.split_once("://").is_some_and(|(scheme, rest)| is_http(scheme) && rest.contains('/'))
        || matches!(path.pieces().first(), Some(Piece::Value(_)));
    let blank = |piece: &Piece| matches!(piece, Piece::Text(text) if text.bytes().any(|b| b <= b' ' || b == 0x7f));
    if !begins || path.pieces().iter().any(blank) {
        return Err(InvalidValue::new(format!(
            "`{text}` is not a path: a path starts with / and has no spaces, for example \"/Home.aspx\""
        )));
    }
    Ok(())
}

/// Checks that no name of a table of texts is a duplicate.
pub(super) fn check_once(names: &[(String, Template)]) -> Result<(), InvalidValue> {
    let twice = names.iter().enumerate().find(|(at, (name, _))| names[..*at].iter().any(|(other, _)| other == name));
    match twice {
        Some((_, (name, _))) => Err(InvalidValue::new(format!("duplicate `{name}`; write it once"))),
        None => Ok(()),
    }
}

/// Headers that can be sent.
pub(super) fn check_headers(headers: &[(String, Template)]) -> Result<(), InvalidValue> {
    headers.iter().try_for_each(|(name, content)| check_header(name, content.as_str()))?;
    check_once(headers)
}

/// Refuses characters that would split the request.
fn check_header(name: &str, content: &str) -> Result<(), InvalidValue> {
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    if name.is_empty() || !name.bytes().all(token) {
        return Err(InvalidValue::new(format!("`{name}` is not a header name")));
    }
    if content.bytes().any(|b| b.is_ascii_control() && b != b'\t') {
        return Err(InvalidValue::new(format!("the value of header `{name}` has a control character")));
    }
    if ["content-length", "transfer-encoding", "connection"].contains(&name.to_ascii_lowercase().as_str()) {
        return Err(InvalidValue::new(format!("offered sets the header `{name}` itself, from the body and `reuse`")));
    }
    Ok(())
}
