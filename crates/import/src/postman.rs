//! Reads Postman collections (formats 2.0 and 2.1): each folder with requests becomes a flow.

mod auth;
mod body;
mod url;

use std::collections::HashMap;

use offered_workload::script::Per;

use crate::address::{Server, add_parameter, default_target, encode_path, header_left_out};
use crate::data::Data;
use crate::note::Note;
use crate::plan::{Plan, Request, ValueSource, Variable};
use crate::request_list::{DefaultArrivals, PlannedRequest, RequestList, Targets, Visit, default_name};
use crate::text::{self, Text};
use crate::{Error, ImportOptions};
use auth::Login;

/// Maximum number of redirects that Postman follows.
const REDIRECTS: u32 = 10;
/// Maximum nesting depth of folders.
const MAX_DEPTH: usize = 30;
/// Maximum depth of variables in values of variables.
const MAX_VALUE_DEPTH: usize = 8;
/// Maximum number of bytes substituted for variables in the whole collection.
const MAX_SUBSTITUTED_BYTES: usize = 16 << 20;

/// The headers that newman adds to every request (`postman-runtime`, `lib/requester/core.js`), besides a random Postman-Token.
const SYSTEM_HEADERS: [(&str, &str); 2] = [("Accept-Encoding", "gzip, deflate, br"), ("Cache-Control", "no-cache")];

/// Dynamic variables that are the present time, and the placeholders that are the same.
const TIMES: [(&str, &str); 2] = [("$timestamp", "now|unix"), ("$isoTimestamp", "now")];

/// Methods whose bodies Postman does not send by default.
const BODYLESS_METHODS: [&str; 5] = ["get", "copy", "head", "purge", "unlock"];

/// The plan of `collection`, the content of `file`.
pub(crate) fn read(collection: &Data, file: &str, options: &ImportOptions) -> Result<Plan, Error> {
    let mut reader = Reader::default();
    for variable in collection.get("variable").list() {
        let key = [variable.get("key"), variable.get("id")].into_iter().find(|key| !key.text().is_empty());
        if let Some(key) = key.filter(|_| !variable.get("disabled").yes()) {
            reader.values.insert(key.text(), variable.get("value").plain());
        }
    }
    for (name, value) in options.variables.into_iter().flatten() {
        reader.preset.insert(name.clone(), value.clone());
    }
    let info = collection.get("info");
    let called = info.get("name").text();
    reader.scripts(collection, "the collection");
    let auth = reader.auth(collection.get("auth"), "the collection").flatten();
    reader.folder(
        collection.get("item").list(),
        if called.is_empty() { "collection" } else { called },
        auth.as_ref(),
        Profile::default().within(collection),
        0,
    );
    if reader.requests.is_empty() {
        let message = "the Postman collection contains no HTTP request".to_owned();
        return Err(Error::File { file: file.to_owned(), message });
    }
    reader.into_request_list().into_plan(file)
}

/// Settings of requests (`protocolProfileBehavior`). Folders inherit them from the collection, and requests from their folder.
#[derive(Clone, Copy)]
struct Profile {
    /// Whether requests with one of [`BODYLESS_METHODS`] keep their bodies.
    keeps_bodies: bool,
    follows_redirects: bool,
}

impl Default for Profile {
    fn default() -> Self {
        Self { keeps_bodies: false, follows_redirects: true }
    }
}

impl Profile {
    /// The settings of `element`, which is in an element with the settings `self`.
    fn within(self, element: &Data) -> Self {
        let set = |key: &str, inherited: bool| match element.at(&["protocolProfileBehavior", key]) {
            Data::Bool(own) => *own,
            _ => inherited,
        };
        Self {
            keeps_bodies: set("disableBodyPruning", self.keeps_bodies),
            follows_redirects: set("followRedirects", self.follows_redirects),
        }
    }
}

#[derive(Default)]
struct Reader<'d> {
    /// Variables of the collection.
    values: HashMap<&'d str, String>,
    /// Variables set by the user, which override those of the collection.
    preset: HashMap<String, String>,
    /// Whether a variable set by the user was substituted.
    used_preset: bool,
    /// The first server whose name contains a variable set by the user.
    preset_server: Option<Server>,
    /// Workload variables for names without a value, with their names in the collection.
    undefined: HashMap<String, String>,
    substituted_bytes: usize,
    variables: Vec<Variable>,
    requests: Vec<PlannedRequest>,
    visits: Vec<Visit>,
    notes: Vec<Note>,
}

impl<'d> Reader<'d> {
    fn note(&mut self, element: &str, message: impl Into<String>) {
        self.notes.push(Note { line: 0, element: element.to_owned(), message: message.into() });
    }

    /// Adds a flow for the requests of a folder, and further flows for its subfolders.
    fn folder(&mut self, items: &'d [Data], called: &str, auth: Option<&Login>, profile: Profile, depth: usize) {
        if depth == MAX_DEPTH {
            self.note(
                &format!("folder `{called}`"),
                format!("folders are nested deeper than {MAX_DEPTH} levels; left out"),
            );
            return;
        }
        let begins = self.requests.len();
        for item in items.iter().filter(|item| item.get("request").is()) {
            self.item(item, called, auth, profile.within(item));
        }
        let steps: Vec<_> = (begins..self.requests.len()).map(|at| (at, None)).collect();
        if !steps.is_empty() {
            self.visits.push(Visit { name: called.to_owned(), steps });
        }
        for item in items.iter().filter(|item| item.get("item").is()) {
            let name = item.get("name").text();
            let inner = if depth == 0 { name.to_owned() } else { format!("{called} / {name}") };
            let element = format!("folder `{inner}`");
            self.scripts(item, &element);
            let own = self.auth(item.get("auth"), &element).unwrap_or_else(|| auth.cloned());
            self.folder(item.get("item").list(), &inner, own.as_ref(), profile.within(item), depth + 1);
        }
    }

    fn item(&mut self, item: &'d Data, folder: &str, auth: Option<&Login>, profile: Profile) {
        let element = format!("request `{} / {}`", folder, item.get("name").text());
        self.scripts(item, &element);
        let source = item.get("request");
        // A request may be a plain URL.
        let url = if source.text().is_empty() { source.get("url") } else { source };
        let Some((server, mut path)) = self.url(url, &element) else {
            self.note(&element, "is not an HTTP request; left out");
            return;
        };
        let login = self.auth(source.get("auth"), &element).unwrap_or_else(|| auth.cloned());
        if let Some(Login::Query(key, value)) = &login {
            add_parameter(&mut path, key, value);
        }
        let method = match source.get("method").text() {
            "" => "get",
            method => method,
        };
        let mut request = Request::new(method, encode_path(&path));
        request.name = match item.get("name").text() {
            "" => default_name(&request),
            called => called.to_owned(),
        };
        self.headers(source.get("header"), &element, &mut request);
        for (name, value) in SYSTEM_HEADERS {
            if request.header(name).is_none() {
                request.add_header(name, Text::from(value));
            }
        }
        if profile.keeps_bodies || !BODYLESS_METHODS.contains(&request.method.as_str()) {
            request.body = self.body(source.get("body"), &element, &mut request.headers).unwrap_or_default();
        }
        match login {
            Some(Login::Auth(auth)) => {
                request.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("authorization"));
                request.auth = Some(auth);
            }
            Some(Login::Header(key, value)) => {
                request.headers.retain(|(name, _)| !name.eq_ignore_ascii_case(&key));
                request.add_header(&key, value);
            }
            Some(Login::Query(..)) | None => {}
        }
        request.redirects = (!profile.follows_redirects).then_some(0);
        self.requests.push(PlannedRequest { line: 0, element, server, request });
    }

    fn headers(&mut self, source: &'d Data, element: &str, request: &mut Request) {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for line in source.text().lines() {
            let (name, value) = line.split_once(':').unwrap_or((line, ""));
            pairs.push((name.trim().to_owned(), value.trim().to_owned()));
        }
        for pair in source.list().iter().filter(|pair| !pair.get("disabled").yes()) {
            pairs.push((pair.get("key").plain(), pair.get("value").plain()));
        }
        for (name, value) in pairs {
            let (name, value) = (self.resolve(&name, element).to_display(), self.resolve(&value, element));
            if !request.add_header(&name, value) && !name.is_empty() {
                self.note(element, header_left_out(&name));
            }
        }
    }

    /// Notes the scripts of an element.
    fn scripts(&mut self, item: &'d Data, element: &str) {
        for event in item.get("event").list() {
            let exec = event.at(&["script", "exec"]);
            let lines: Vec<&str> = match exec {
                Data::List(lines) => lines.iter().map(Data::text).collect(),
                one => vec![one.text()],
            };
            let script = lines.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
            if script.is_empty() {
                continue;
            }
            let begins: String = script.chars().take(80).collect();
            let when = match event.get("listen").text() {
                "prerequest" => "before the request",
                _ => "on the response",
            };
            self.note(element, format!("runs a script {when} (use `extract` and `check` instead): {begins}"));
        }
    }

    /// Parses `text`, in which `{{name}}` are variables.
    fn resolve(&mut self, text: &str, element: &str) -> Text {
        let mut resolved = Text::default();
        self.substitute(text, element, MAX_VALUE_DEPTH, &mut resolved);
        resolved
    }

    fn substitute(&mut self, text: &str, element: &str, depth: usize, resolved: &mut Text) {
        let mut rest = text;
        while let Some(end) = rest.find("}}") {
            // The innermost of nested placeholders is one.
            let Some(start) = rest[..end].rfind("{{") else {
                resolved.push_str(&rest[..end + 2]);
                rest = &rest[end + 2..];
                continue;
            };
            resolved.push_str(&rest[..start]);
            let wanted = rest[start + 2..end].trim();
            let whole = &rest[start..end + 2];
            rest = &rest[end + 2..];
            if wanted.contains(['{', '\n']) || wanted.is_empty() || wanted.len() > 200 {
                resolved.push_str(whole);
            } else if let Some((_, source)) = TIMES.iter().find(|(name, _)| *name == wanted) {
                resolved.push(&Text::variable(source));
            } else if let Some(value) = self.preset.get(wanted).or_else(|| self.values.get(wanted)).cloned() {
                self.used_preset |= self.preset.contains_key(wanted);
                self.substituted_bytes += value.len() + 1;
                if depth == 0 || self.substituted_bytes > MAX_SUBSTITUTED_BYTES {
                    resolved.push_str(whole);
                } else {
                    self.substitute(&value, element, depth - 1, resolved);
                }
            } else {
                let name = self.variable(wanted, element);
                resolved.push(&Text::variable(&name));
            }
        }
        resolved.push_str(rest);
    }

    /// The workload variable for `wanted`, which has no value in the collection.
    fn variable(&mut self, wanted: &str, element: &str) -> String {
        let name = text::variable_name(wanted.trim_start_matches('$'));
        if self.variables.iter().any(|variable| variable.name == name) {
            return name;
        }
        let value = match wanted {
            "$guid" | "$randomUUID" => ValueSource::Uuid,
            "$randomInt" => ValueSource::UniformInteger(0, 1000),
            _ => {
                let message = match wanted.strip_prefix('$') {
                    Some(_) => format!(
                        "`{{{{{wanted}}}}}` is a random value of Postman; replace the constant in its [variables] entry"
                    ),
                    None => format!(
                        "`{{{{{wanted}}}}}` has no value in the collection (an environment or a script sets it); set it under [variables] or extract it from a response"
                    ),
                };
                self.note(element, message);
                self.undefined.insert(name.clone(), wanted.to_owned());
                ValueSource::Constant(wanted.trim_start_matches('$').to_owned())
            }
        };
        self.variables.push(Variable { name: name.clone(), value, per: Per::Request });
        name
    }

    fn into_request_list(self) -> RequestList {
        RequestList {
            origin: "a Postman collection",
            remark: "A collection specifies neither rate nor users: here one visit to a folder starts per second.",
            keep_flows: self.visits.len() > 1,
            visits: self.visits,
            requests: self.requests,
            targets: Targets::One(self.preset_server),
            target: default_target().with_cookies(true).with_redirects(REDIRECTS),
            variables: self.variables,
            arrivals_default: DefaultArrivals::OnePerSecond,
            notes: self.notes,
        }
    }
}
