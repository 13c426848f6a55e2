//! What is asked.

use super::script::{Auth, Body, Check, Content, Extraction, Objects, OnFailure};
use super::sql::Sql;
use super::target::Target;
use crate::catalogue::OneOf;
use crate::template::{Format, Piece, Template};
use offered_base::{InvalidValue, Nanos};
use offered_distributions::Distribution;

/// What stands for the path of a request that asks for the files of a catalogue, where all of them are meant.
const ANY_FILE: &str = "/*";

/// One kind of request.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub(super) name: String,
    pub(super) call: Call,
    pub(super) method: String,
    pub(super) path: Template,
    /// Of many files, which has its path and work.
    pub(super) one_of: Option<OneOf>,
    pub(super) weight: f64,
    pub(super) headers: Vec<(String, Template)>,
    pub(super) body: Body,
    pub(super) auth: Option<Auth>,
    pub(super) extract: Vec<Extraction>,
    pub(super) checks: Vec<Check>,
    pub(super) on_failure: OnFailure,
    pub(super) objects: Option<Objects>,
    pub(super) service: Option<Distribution>,
}

impl Request {
    /// `GET path`, named after it.
    pub fn get(path: &str) -> Self {
        Self::of("GET".to_owned(), Template::literal(path))
    }

    /// What kind of text its body is, sent to `target`: by its `Content-Type`, else by how it begins. A call is said in JSON.
    pub fn format(&self, target: Option<&Target>) -> Format {
        let mut headers = self.headers.iter().chain(target.into_iter().flat_map(|target| &target.headers));
        let said = headers.find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        match (&self.call, self.body.text()) {
            (Call::Grpc, _) => Format::Json,
            (_, Some(text)) => Format::of(said.map(|(_, value)| value.as_str()), text),
            (_, None) => Format::Plain,
        }
    }

    /// A request of this method and path, named after the path, without anything else.
    ///
    /// # Errors
    /// A method that is not in capital letters; a path that begins neither with `/` nor with a place, or has spaces.
    pub fn new(method: &str, path: Template) -> Result<Self, InvalidValue> {
        check_method(method)?;
        check_path(&path)?;
        Ok(Self::of(method.to_owned(), path))
    }

    /// What is said to a database, named after its statements.
    pub fn sql(sql: Sql) -> Self {
        let name = sql.statements.iter().map(|statement| &*statement.text).collect::<Vec<_>>().join("; ");
        Self { name, call: Call::Sql(sql), ..Self::of("SQL".to_owned(), Template::literal("/")) }
    }

    /// What the trace of a replay asks for.
    pub(super) fn of_trace(method: String, path: &str) -> Self {
        Self { name: format!("{method} {path}"), ..Self::of(method, Template::literal(path)) }
    }

    /// One that asks for the files of a catalogue, named after their class, or where they have none after the catalogue.
    pub(super) fn of_files(method: String, one_of: OneOf) -> Self {
        let name = one_of.class().unwrap_or(one_of.catalogue().file()).to_owned();
        let service = one_of.distribution().cloned();
        Self { name, service, one_of: Some(one_of), ..Self::of(method, Template::literal(ANY_FILE)) }
    }

    pub(super) fn of(method: String, path: Template) -> Self {
        Self {
            name: path.as_str().to_owned(),
            call: Call::Http,
            method,
            path,
            one_of: None,
            weight: 1.0,
            headers: Vec::new(),
            body: Body::None,
            auth: None,
            extract: Vec::new(),
            checks: Vec::new(),
            on_failure: OnFailure::Continue,
            objects: None,
            service: None,
        }
    }

    /// The same under another name.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// The same, with this done where it fails.
    #[must_use]
    pub fn with_on_failure(self, on_failure: OnFailure) -> Self {
        Self { on_failure, ..self }
    }

    /// The same, chosen so often against the others.
    #[must_use]
    pub fn with_weight(self, weight: f64) -> Self {
        Self { weight, ..self }
    }

    /// The same with these headers of its own.
    #[must_use]
    pub fn with_headers(self, headers: Vec<(String, Template)>) -> Self {
        Self { headers, ..self }
    }

    /// The same, carrying this.
    #[must_use]
    pub fn with_body(self, body: Body) -> Self {
        Self { body, ..self }
    }

    /// The same, asked by these.
    #[must_use]
    pub fn with_auth(self, auth: Option<Auth>) -> Self {
        Self { auth, ..self }
    }

    /// The same, from whose answer this is taken.
    #[must_use]
    pub fn with_extract(self, extract: Vec<Extraction>) -> Self {
        Self { extract, ..self }
    }

    /// The same, whose answer is held against these.
    #[must_use]
    pub fn with_checks(self, checks: Vec<Check>) -> Self {
        Self { checks, ..self }
    }

    /// The same, with what is fetched with it.
    #[must_use]
    pub fn with_objects(self, objects: Option<Objects>) -> Self {
        Self { objects, ..self }
    }

    /// Its label.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What kind of exchange it is.
    pub fn call(&self) -> &Call {
        &self.call
    }

    /// `GET`, `POST`, ...
    pub fn method(&self) -> &str {
        &self.method
    }

    /// Path and query; where it begins with a place, that may bring a whole URL of the target. One of a catalogue has its files' instead.
    pub fn path(&self) -> &Template {
        &self.path
    }

    /// The files of a catalogue that it asks for, in the stead of its [path](Self::path).
    pub fn one_of(&self) -> Option<&OneOf> {
        self.one_of.as_ref()
    }

    /// How often it is chosen, against the others.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// Sent besides the target's headers.
    pub fn headers(&self) -> &[(String, Template)] {
        &self.headers
    }

    /// What it carries.
    pub fn body(&self) -> &Body {
        &self.body
    }

    /// Who asks; `None`: as the target says.
    pub fn auth(&self) -> Option<&Auth> {
        self.auth.as_ref()
    }

    /// What is taken out of the answer.
    pub fn extract(&self) -> &[Extraction] {
        &self.extract
    }

    /// What the answer must be.
    pub fn checks(&self) -> &[Check] {
        &self.checks
    }

    /// What becomes of the session when it does not go well.
    pub fn on_failure(&self) -> OnFailure {
        self.on_failure
    }

    /// What is fetched with it, as a browser does.
    pub fn objects(&self) -> Option<&Objects> {
        self.objects.as_ref()
    }

    /// The distribution of its service demand on the modelled server, where it has its own.
    pub fn service(&self) -> Option<&Distribution> {
        self.service.as_ref()
    }
}

/// What kind of exchange a request is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Call {
    /// One of HTTP.
    #[default]
    Http,
    /// A unary call of gRPC: the path names service and method, the body is its message in JSON.
    Grpc,
    /// Something said on the session's own WebSocket: the path is where that is opened, the body what is said.
    WebSocket(Chat),
    /// What a database is asked; method and path say nothing.
    Sql(Sql),
}

/// What is said on a WebSocket, and what is awaited there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chat {
    /// Whether the body is hexadecimal digits, and said as a binary message.
    pub binary: bool,
    /// A regular expression that an answer matches, values being put in as they are; `None`: any message is one.
    pub awaited: Option<Template>,
    /// So many answers are awaited, at least one; `None`: one, or with `listen` as many as come.
    pub count: Option<u32>,
    /// It is over after this time, above zero, whatever has come.
    pub listen: Option<Nanos>,
}

impl Chat {
    /// Whether the open connection is all that is wanted where nothing is `said`.
    pub fn only_connects(&self, said: bool) -> bool {
        !said && self.awaited.is_none() && self.count.is_none() && self.listen.is_none()
    }
}

/// The bytes that hexadecimal digits say, white space between them aside.
///
/// # Errors
/// What is none, or half a byte.
pub fn bytes_of_hex(text: &str) -> Result<Vec<u8>, InvalidValue> {
    let wrong = || InvalidValue::new("is not said in hexadecimal digits; write two for each byte, such as 01 ff");
    let digits: Option<Vec<u8>> =
        text.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_digit(16).map(|digit| digit as u8)).collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2)).ok_or_else(wrong)?;
    Ok(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

impl Request {
    /// The headers it is sent with to `target`: its own, each in the stead of the target's of the same name.
    pub fn headers_to<'a>(
        &'a self,
        target: impl Into<Option<&'a Target>>,
    ) -> impl Iterator<Item = &'a (String, Template)> {
        let own = |name: &str| self.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
        let shared = target.into().into_iter().flat_map(|target| &target.headers);
        shared.filter(move |(name, _)| !own(name)).chain(&self.headers)
    }

    /// Who asks `target` by it; `None`: nobody, or a header says so already.
    pub fn auth_to<'a>(&'a self, target: &'a Target) -> Option<&'a Auth> {
        let auth = self.auth.as_ref().or(target.auth.as_ref()).filter(|auth| !matches!(auth, Auth::Nobody));
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
            Some(Auth::Basic(text) | Auth::Bearer(text)) => text.text().is_some(),
            Some(Auth::Nobody) | None => true,
        };
        let mut headers = target.into_iter().flat_map(|target| &target.headers).chain(&self.headers);
        let plain_call = match &self.call {
            Call::Sql(sql) => sql.templates().all(Template::is_plain),
            Call::WebSocket(chat) => chat.awaited.as_ref().is_none_or(Template::is_plain),
            Call::Http | Call::Grpc => true,
        };
        let says = !plain_call
            || !self.path.is_plain()
            || !plain_body
            // What is held back until an answer wants it takes who listens to answers.
            || headers.any(|(name, value)| !value.is_plain() || name.eq_ignore_ascii_case("expect"))
            || !plain_auth;
        let hears = !self.extract.is_empty() || !self.checks.is_empty() || self.objects.is_some();
        says || hears || self.on_failure != OnFailure::Continue
    }
}

/// A method of HTTP is in capital letters.
pub(super) fn check_method(name: &str) -> Result<(), InvalidValue> {
    if name.is_empty() || !name.bytes().all(|b| b.is_ascii_uppercase() || b == b'-') {
        return Err(InvalidValue::new(format!("`{name}` is not a method; write capital letters, for example \"GET\"")));
    }
    Ok(())
}

/// A path begins with `/`, or with a place that brings one.
pub(super) fn check_path(path: &Template) -> Result<(), InvalidValue> {
    let text = path.as_str();
    let begins = text.starts_with('/') || matches!(path.pieces().first(), Some(Piece::Value(_)));
    let blank = |piece: &Piece| matches!(piece, Piece::Text(text) if text.bytes().any(|b| b <= b' ' || b == 0x7f));
    if !begins || path.pieces().iter().any(blank) {
        return Err(InvalidValue::new(format!(
            "`{text}` is not a path; it starts with / and has no spaces, for example \"/Home.aspx\""
        )));
    }
    Ok(())
}

/// Names of a table of texts, of which none is there twice, and the texts.
pub(super) fn check_once(names: &[(String, Template)]) -> Result<(), InvalidValue> {
    let twice = names.iter().enumerate().find(|(at, (name, _))| names[..*at].iter().any(|(other, _)| other == name));
    match twice {
        Some((_, (name, _))) => Err(InvalidValue::new(format!("a second `{name}`; each stands there once"))),
        None => Ok(()),
    }
}

/// Headers that can be sent.
pub(super) fn check_headers(headers: &[(String, Template)]) -> Result<(), InvalidValue> {
    headers.iter().try_for_each(|(name, content)| check_header(name, content.as_str()))?;
    check_once(headers)
}

/// Refuses what would break the request apart.
fn check_header(name: &str, content: &str) -> Result<(), InvalidValue> {
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    if name.is_empty() || !name.bytes().all(token) {
        return Err(InvalidValue::new(format!("`{name}` is not a header name")));
    }
    if content.bytes().any(|b| b.is_ascii_control() && b != b'\t') {
        return Err(InvalidValue::new(format!("the value of header `{name}` has a control character")));
    }
    if ["content-length", "transfer-encoding", "connection"].contains(&name.to_ascii_lowercase().as_str()) {
        return Err(InvalidValue::new(format!(
            "the header `{name}` is offered's own: it follows from the body and `reuse`"
        )));
    }
    Ok(())
}
