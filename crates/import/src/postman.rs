//! Reads Postman collections (formats 2.0 and 2.1): each folder with requests becomes a flow.

use std::collections::HashMap;

use offered_workload::script::{Auth, Body, ClientAuth, Grant, OAuth2, Per, TokenScope};
use offered_workload::{Template, Url};

use crate::address::{MissingValue, Server, default_target, encode_path, form_encode, is_valid_header};
use crate::body;
use crate::data::Data;
use crate::note::Note;
use crate::plan::{Plan, Request, ValueSource, Variable};
use crate::request_list::{DefaultArrivals, PlannedRequest, RequestList, Visit, default_name};
use crate::text::{self, Text};
use crate::{Error, ImportOptions};

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
    reader.keeps_bodies = keeps_bodies(collection).unwrap_or(false);
    let info = collection.get("info");
    let called = info.get("name").text();
    reader.scripts(collection, "the collection");
    let auth = reader.auth(collection.get("auth"), "the collection").flatten();
    reader.folder(
        collection.get("item").list(),
        if called.is_empty() { "collection" } else { called },
        auth.as_ref(),
        0,
    );
    if reader.requests.is_empty() {
        let message = "the Postman collection contains no HTTP request".to_owned();
        return Err(Error::File { file: file.to_owned(), message });
    }
    reader.into_request_list().into_plan(file)
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
    /// Whether GET requests and the like keep their bodies (`protocolProfileBehavior` of the collection).
    keeps_bodies: bool,
    /// Workload variables for names without a value, with their names in the collection.
    undefined: HashMap<String, String>,
    substituted_bytes: usize,
    variables: Vec<Variable>,
    requests: Vec<PlannedRequest>,
    visits: Vec<Visit>,
    notes: Vec<Note>,
}

/// Authentication of an element; `None` if it is inherited.
type AuthSetting = Option<Option<Login>>;

/// Authentication of a request.
#[derive(Clone)]
enum Login {
    Auth(Auth),
    Header(String, Text),
    Query(String, Text),
}

impl<'d> Reader<'d> {
    fn note(&mut self, element: &str, message: impl Into<String>) {
        self.notes.push(Note { line: 0, element: element.to_owned(), message: message.into() });
    }

    /// Adds a flow for the requests of a folder, and further flows for its subfolders.
    fn folder(&mut self, items: &'d [Data], called: &str, auth: Option<&Login>, depth: usize) {
        if depth == MAX_DEPTH {
            self.note(
                &format!("folder `{called}`"),
                format!("folders are nested deeper than {MAX_DEPTH} levels; left out"),
            );
            return;
        }
        let begins = self.requests.len();
        for item in items.iter().filter(|item| item.get("request").is()) {
            self.item(item, called, auth);
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
            self.folder(item.get("item").list(), &inner, own.as_ref(), depth + 1);
        }
    }

    fn item(&mut self, item: &'d Data, folder: &str, auth: Option<&Login>) {
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
            path.push_str(if path.literal_contains(|c| c == '?') { "&" } else { "?" });
            path.push_str(&format!("{}=", form_encode(key)));
            path.push(&value.map_literals(form_encode));
        }
        let method = match source.get("method").text() {
            "" => "get",
            method => method,
        };
        let path = path.split_once('#').map_or(path, |(before, _)| before);
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
        let prunes =
            BODYLESS_METHODS.contains(&request.method.as_str()) && !keeps_bodies(item).unwrap_or(self.keeps_bodies);
        if !prunes {
            request.body = self.body(source.get("body"), &element, &mut request.headers).unwrap_or_default();
        }
        match login {
            Some(Login::Auth(auth)) => request.auth = Some(auth),
            Some(Login::Header(key, value)) => {
                request.add_header(&key, value);
            }
            Some(Login::Query(..)) | None => {}
        }
        if item.at(&["protocolProfileBehavior", "followRedirects"]) == &Data::Bool(false) {
            self.note(&element, "does not follow redirects; here all requests do");
        }
        self.requests.push(PlannedRequest { line: 0, element, server, request });
    }

    /// The server and the path of a URL, given as a string or as its parts.
    fn url(&mut self, url: &'d Data, element: &str) -> Option<(Server, Text)> {
        let raw = match url {
            Data::Text(raw) => raw.clone(),
            url if !url.get("raw").text().is_empty() => enabled_query(url),
            url => {
                let joined = |part: &Data, by: &str| match part {
                    Data::List(parts) => parts.iter().map(Data::plain).collect::<Vec<_>>().join(by),
                    other => other.plain(),
                };
                let protocol = joined(url.get("protocol"), "");
                let scheme = if protocol.is_empty() { String::new() } else { format!("{protocol}://") };
                let port = joined(url.get("port"), "");
                let port = if port.is_empty() { port } else { format!(":{port}") };
                let query: Vec<String> = url
                    .get("query")
                    .list()
                    .iter()
                    .filter(|pair| !pair.get("disabled").yes())
                    .map(|pair| format!("{}={}", pair.get("key").plain(), pair.get("value").plain()))
                    .collect();
                let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
                format!("{scheme}{}{port}/{}{query}", joined(url.get("host"), "."), joined(url.get("path"), "/"))
            }
        };
        if raw.trim().is_empty() {
            return None;
        }
        // `:id` in the path is a path variable.
        let own = url.get("variable").list();
        let begins = raw.find("://").map_or(0, |at| at + 3);
        let (path, query) = raw.split_at(raw[begins..].find('?').map_or(raw.len(), |at| begins + at));
        let segment = |segment: &str| match segment.strip_prefix(':').filter(|name| !name.is_empty()) {
            Some(name) => own
                .iter()
                .find(|variable| variable.get("key").text() == name)
                .map(|variable| variable.get("value").plain())
                .filter(|value| !value.is_empty())
                .unwrap_or_else(|| format!("{{{{{name}}}}}")),
            None => segment.to_owned(),
        };
        let (scheme, rest) = path.split_at(begins.min(path.len()));
        let path: Vec<String> = rest
            .split('/')
            .enumerate()
            .map(|(at, part)| if at == 0 { part.to_owned() } else { segment(part) })
            .collect();
        let whole = self.resolve(&format!("{scheme}{}{query}", path.join("/")), element);
        self.used_preset = false;
        self.resolve(&path[0], element);
        let lack = |name: &str| {
            self.undefined.get(name).map(|wanted| MissingValue { is_property: false, name: wanted.clone() })
        };
        let (server, path) = Server::parse_text(&whole, lack)?;
        if self.used_preset && self.preset_server.is_none() {
            self.preset_server = Some(server.clone());
        }
        Some((server, path))
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
                self.note(
                    element,
                    format!("the header `{name}` is set by the generator itself or is not valid; left out"),
                );
            }
        }
    }

    fn body(&mut self, source: &'d Data, element: &str, headers: &mut Vec<(String, Text)>) -> Option<Body> {
        if source.get("disabled").yes() {
            return None;
        }
        let kind = |headers: &mut Vec<(String, Text)>, kind: &str| {
            if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
                headers.push(("Content-Type".to_owned(), Text::from(kind)));
            }
        };
        match source.get("mode").text() {
            "" => None,
            "raw" => {
                match source.at(&["options", "raw", "language"]).text() {
                    "json" => kind(headers, "application/json"),
                    "xml" => kind(headers, "application/xml"),
                    "html" => kind(headers, "text/html"),
                    "javascript" => kind(headers, "application/javascript"),
                    _ if !source.get("raw").text().is_empty() => kind(headers, "text/plain"),
                    _ => {}
                }
                Some(self.resolve(source.get("raw").text(), element))
                    .filter(|text| !text.is_empty())
                    .map(|text| body::text(&text))
            }
            "urlencoded" => {
                let pairs = self.pairs(source.get("urlencoded").list(), element);
                headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
                Some(body::form(&pairs, headers))
            }
            "formdata" => {
                headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
                let mut parts = Vec::new();
                for field in source.get("formdata").list().iter().filter(|field| !field.get("disabled").yes()) {
                    let name = self.resolve(&field.get("key").plain(), element).to_display();
                    let kind = Some(field.get("contentType").text()).filter(|kind| !kind.is_empty());
                    let src = field.get("src");
                    let files: Vec<&Data> =
                        if let Data::List(files) = src { files.iter().collect() } else { vec![src] };
                    if field.get("type").text() == "file" {
                        for file in files.into_iter().filter(|file| file.is()) {
                            parts.push(body::upload(&name, &file.plain(), kind));
                        }
                    } else {
                        let value = self.resolve(&field.get("value").plain(), element);
                        parts.push(body::field(&name, &value, kind));
                    }
                }
                (!parts.is_empty()).then_some(Body::Multipart(parts))
            }
            "file" => {
                let file =
                    [source.at(&["file", "src"]), source.get("file")].into_iter().find(|file| !file.text().is_empty());
                if file.is_none() {
                    self.note(element, "sends a file without a name; left out");
                }
                file.map(|file| body::file(file.text()))
            }
            "graphql" => {
                kind(headers, "application/json");
                let graphql = source.get("graphql");
                let mut text = Text::from("{\"query\": ");
                text.push(&self.resolve(&Data::Text(graphql.get("query").text().to_owned()).json(), element));
                let variables = match graphql.get("variables") {
                    Data::Text(variables) => variables.trim().to_owned(),
                    other if other.is() => other.json(),
                    _ => String::new(),
                };
                if !variables.is_empty() {
                    text.push_str(", \"variables\": ");
                    text.push(&self.resolve(&variables, element));
                }
                text.push_str("}");
                Some(body::text(&text))
            }
            other => {
                self.note(element, format!("the body mode `{other}` is not supported; left out"));
                None
            }
        }
    }

    fn pairs(&mut self, pairs: &'d [Data], element: &str) -> Vec<(String, Text)> {
        let used = pairs.iter().filter(|pair| !pair.get("disabled").yes());
        used.map(|pair| {
            let name = self.resolve(&pair.get("key").plain(), element).to_display();
            (name, self.resolve(&pair.get("value").plain(), element))
        })
        .collect()
    }

    /// Authentication of an element; `None` if it is inherited.
    fn auth(&mut self, source: &'d Data, element: &str) -> AuthSetting {
        let kind = source.get("type").text();
        let inside = source.get(kind);
        // A list of key-value pairs in 2.1, a map in 2.0.
        let value = |key: &str| match inside {
            Data::List(pairs) => pairs
                .iter()
                .find(|pair| pair.get("key").text() == key)
                .map_or(String::new(), |pair| pair.get("value").plain()),
            map => map.get(key).plain(),
        };
        match kind {
            "" => None,
            "noauth" => Some(None),
            "basic" => {
                let both = format!("{}:{}", value("username"), value("password"));
                Some(Some(Login::Auth(Auth::Basic(self.resolve(&both, element).template()))))
            }
            "bearer" => Some(Some(Login::Auth(Auth::Bearer(self.resolve(&value("token"), element).template())))),
            "oauth2" => Some(Some(self.oauth2(&value, element))),
            "apikey" => {
                let (key, text) =
                    (self.resolve(&value("key"), element).to_display(), self.resolve(&value("value"), element));
                if value("in") == "query" {
                    return Some(Some(Login::Query(key, text)));
                }
                if !is_valid_header(&key, &text) {
                    self.note(element, format!("the header `{key}` of the API key is not valid; left out"));
                    return Some(None);
                }
                Some(Some(Login::Header(key, text)))
            }
            other => {
                self.note(
                    element,
                    format!("authenticates with {other}, which is not supported; set `auth` or a header"),
                );
                Some(None)
            }
        }
    }

    /// The keys of OAuth 2.0, as far as a grant needs no browser. `value`: the value of a key.
    fn oauth2(&mut self, value: &dyn Fn(&str) -> String, element: &str) -> Login {
        let of = |reader: &mut Self, key: &str| {
            let text = value(key);
            (!text.is_empty()).then(|| reader.resolve(&text, element).template())
        };
        let token_url = of(self, "accessTokenUrl");
        let is_url = |url: &&Template| url.text().is_none_or(|url| url.parse::<Url>().is_ok());
        let grant = match value("grant_type").as_str() {
            "client_credentials" => Some(Grant::ClientCredentials),
            "password_credentials" => Some(Grant::Password),
            _ => None,
        };
        let (Some(grant), Some(token_url)) = (grant, token_url.filter(|url| is_url(&url))) else {
            self.note(
                element,
                "authenticates by OAuth 2.0 with a token that it does not fetch itself, or through a browser; set `auth.bearer`, or `auth.oauth2` with another grant",
            );
            let token = value("accessToken");
            let token = if token.is_empty() { "{{token}}" } else { &token };
            return Login::Auth(Auth::Bearer(self.resolve(token, element).template()));
        };
        if value("addTokenTo") == "queryParams" {
            self.note(element, "sends its access token in the query; here it is in the header Authorization");
        }
        let needed = |text: Option<Template>| text.unwrap_or_else(|| Template::literal(""));
        let with_user = |reader: &mut Self, key| (grant == Grant::Password).then(|| needed(of(reader, key)));
        let oauth2 = OAuth2 {
            token_url,
            grant,
            client_id: needed(of(self, "clientId")),
            client_secret: of(self, "clientSecret"),
            client_auth: if value("client_authentication") == "body" { ClientAuth::Body } else { ClientAuth::Basic },
            username: with_user(self, "username"),
            password: with_user(self, "password"),
            refresh_token: None,
            scope: of(self, "scope"),
            audience: of(self, "audience"),
            parameters: of(self, "resource").map(|text| ("resource".to_owned(), text)).into_iter().collect(),
            per: TokenScope::Run,
        };
        Login::Auth(Auth::OAuth2(Box::new(oauth2)))
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
        while let Some(start) = rest.find("{{") {
            resolved.push_str(&rest[..start]);
            rest = &rest[start..];
            let Some(end) = rest.find("}}") else { break };
            let wanted = rest[2..end].trim();
            let whole = &rest[..end + 2];
            rest = &rest[end + 2..];
            if wanted.contains(['{', '\n']) || wanted.is_empty() || wanted.len() > 200 {
                resolved.push_str(whole);
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
            preferred_server: self.preset_server,
            target: default_target().with_cookies(true).with_redirects(REDIRECTS),
            variables: self.variables,
            arrivals_default: DefaultArrivals::OnePerSecond,
            notes: self.notes,
        }
    }
}

/// Whether an element keeps the bodies of requests such as GET; `None` if it does not say.
fn keeps_bodies(element: &Data) -> Option<bool> {
    match element.at(&["protocolProfileBehavior", "disableBodyPruning"]) {
        Data::Bool(keeps) => Some(*keeps),
        _ => None,
    }
}

/// The raw URL. If some query parameters are disabled, its query is replaced by the enabled ones.
fn enabled_query(url: &Data) -> String {
    let raw = url.get("raw").text();
    let query = url.get("query").list();
    if !query.iter().any(|pair| pair.get("disabled").yes()) {
        return raw.to_owned();
    }
    let enabled: Vec<String> = query
        .iter()
        .filter(|pair| !pair.get("disabled").yes())
        .map(|pair| match pair.get("value") {
            Data::Null => pair.get("key").plain(),
            value => format!("{}={}", pair.get("key").plain(), value.plain()),
        })
        .collect();
    let base = raw.split(['?', '#']).next().unwrap_or_default();
    if enabled.is_empty() { base.to_owned() } else { format!("{base}?{}", enabled.join("&")) }
}
