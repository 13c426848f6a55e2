//! Reads `OpenAPI` 3 descriptions (JSON or YAML): each operation becomes a flow with a step for each example.
//!
//! The result is a sketch: a description contains neither the order and frequency of requests nor their data.

mod combination;
mod example;
mod pattern;
mod references;
mod validation;

use offered_workload::script::{Auth, Body, Check, Test};

use crate::address::{
    MissingValue, Server, add_parameter, default_target, encode_path, encode_segment, header_left_out, is_valid_header,
};
use crate::body;
use crate::data::{self, Data};
use crate::note::Note;
use crate::plan::{Plan, Request, ValueSource, Variable};
use crate::request_list::{DefaultArrivals, PlannedRequest, RequestList, Targets, Visit};
use crate::text::{self, Text};
use crate::{Error, ImportOptions};
use example::Examples;

const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];
/// Maximum number of operations.
const MAX_OPERATIONS: usize = 2_000;
/// Maximum number of examples of an operation.
const MAX_EXAMPLES: usize = 10;
/// Maximum number of names in a note.
const MAX_NAMES: usize = 8;

/// Whether `text`, which is not JSON, contains a line with the top-level key `openapi` or `swagger`.
pub(crate) fn looks_like(text: &str) -> bool {
    text.lines().take(10_000).any(has_key)
}

/// Whether the first line of `text`, comments and directives of YAML aside, has the key `openapi` or `swagger`.
pub(crate) fn starts_with_key(text: &str) -> bool {
    let skipped = |line: &&str| {
        let line = line.trim();
        line.is_empty() || line == "---" || line.starts_with(['#', '%'])
    };
    text.lines().find(|line| !skipped(line)).is_some_and(has_key)
}

/// Whether the whole `text` is a YAML document with the key `openapi` or `swagger`.
pub(crate) fn is_description(text: &str, file: &str) -> bool {
    data::yaml(text, file).is_ok_and(|api| api.get("openapi").is() || api.get("swagger").is())
}

fn has_key(line: &str) -> bool {
    let line = line.trim_start_matches(['"', '\'']);
    ["openapi", "swagger"].iter().any(|key| {
        line.strip_prefix(key).is_some_and(|rest| rest.trim_start_matches(['"', '\'']).trim_start().starts_with(':'))
    })
}

/// The plan of `api`, the content of `file`.
pub(crate) fn read<'d>(api: &'d Data, file: &str, options: &ImportOptions<'d>) -> Result<Plan, Error> {
    let refused = |message: String| Error::File { file: file.to_owned(), message };
    let mut reader = Reader {
        api,
        options: *options,
        examples: Examples::new(api),
        variables: Vec::new(),
        requests: Vec::new(),
        visits: Vec::new(),
        notes: Vec::new(),
    };
    let mut operations = 0;
    for (path, item) in api.get("paths").entries() {
        let item = reader.follow(item);
        for method in METHODS {
            let operation = item.get(method);
            if !operation.is() {
                continue;
            }
            operations += 1;
            if operations > MAX_OPERATIONS {
                return Err(refused(format!("more than {MAX_OPERATIONS} operations; split the file")));
            }
            reader.operation(path, method, item, operation);
        }
    }
    for (part, message) in [
        ("webhooks", "requests that the server sends to others; left out"),
        ("x-webhooks", "requests that the server sends to others; left out"),
    ] {
        if api.get(part).is() {
            reader.note(part, message);
        }
    }
    if reader.requests.is_empty() {
        return Err(refused("the OpenAPI description has no operations in `paths`".to_owned()));
    }
    reader.into_request_list().into_plan(file)
}

struct Reader<'d> {
    api: &'d Data,
    options: ImportOptions<'d>,
    examples: Examples<'d>,
    variables: Vec<Variable>,
    requests: Vec<PlannedRequest>,
    visits: Vec<Visit>,
    notes: Vec<Note>,
}

impl<'d> Reader<'d> {
    fn note(&mut self, element: &str, message: impl Into<String>) {
        self.notes.push(Note { line: 0, element: element.to_owned(), message: message.into() });
    }

    /// What `data` refers to, or `data` itself; `Null` if the target is in another file.
    fn follow(&self, data: &'d Data) -> &'d Data {
        self.examples.references.follow(data)
    }

    fn operation(&mut self, path: &str, method: &str, item: &'d Data, operation: &'d Data) {
        let element = format!("{} {path}", method.to_uppercase());
        let servers = [operation, item, self.api].map(|place| place.get("servers").list());
        let server = servers.into_iter().find_map(|servers| servers.first());
        let (server, base) = self.server(server, &element);
        let mut given: Vec<&'d Data> = Vec::new();
        for parameter in operation.get("parameters").list().iter().chain(item.get("parameters").list()) {
            let parameter = self.follow(parameter);
            let same =
                |other: &&Data| other.get("name") == parameter.get("name") && other.get("in") == parameter.get("in");
            if !parameter.is() {
                self.note(&element, "a parameter is defined in another file; left out");
            } else if !given.iter().any(same) {
                given.push(parameter);
            }
        }
        let mut request = Request::new(method, Text::default());
        let whole = self.path(&base, path, &given, &element);
        request.path = encode_path(&whole);
        self.parameters(&given, &element, &mut request);
        self.security(operation, &element, &mut request);
        request.check = Self::check(operation);
        let called = match operation.get("operationId").text() {
            "" => element.clone(),
            id => id.to_owned(),
        };
        if operation.get("callbacks").is() {
            self.note(&element, "callbacks, which the server sends to others; left out");
        }
        let body = self.follow(operation.get("requestBody"));
        let mut bodies = self.bodies(body, &element);
        if bodies.is_empty() {
            bodies.push((String::new(), None, Body::None));
        }
        let begins = self.requests.len();
        for (example, kind, body) in bodies {
            let mut request = request.clone();
            if let Some(kind) = kind {
                request.headers.push(("Content-Type".to_owned(), Text::from(kind)));
            }
            request.body = body;
            request.name = if example.is_empty() { called.clone() } else { format!("{called}, {example}") };
            self.requests.push(PlannedRequest { line: 0, element: element.clone(), server: server.clone(), request });
        }
        let steps = (begins..self.requests.len()).map(|at| (at, None)).collect();
        self.visits.push(Visit { name: called, steps });
    }

    /// The server and the common prefix of all paths.
    fn server(&mut self, server: Option<&'d Data>, element: &str) -> (Server, String) {
        let Some(server) = server else { return (Server::default(), String::new()) };
        // `{{name}}` is Postman's spelling.
        let mut url = server.get("url").text().replace("{{", "{").replace("}}", "}");
        for (name, variable) in server.get("variables").entries().iter().take(100) {
            let default = variable.get("default").plain();
            url = url.replace(&format!("{{{name}}}"), self.options.variable(name).unwrap_or(&default));
        }
        let host = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest).split('/').next().unwrap_or_default();
        if let Some((name, _)) = host.split_once('{').and_then(|(_, rest)| rest.split_once('}')) {
            let name = name.to_owned();
            if let Some(value) = self.options.variable(&name) {
                url = url.replace(&format!("{{{name}}}"), value);
            } else {
                return (Server::Unresolved(MissingValue { is_property: false, name }), String::new());
            }
        }
        let trimmed = |path: &str| path.split('?').next().unwrap_or_default().trim_end_matches('/').to_owned();
        match Server::parse(&url) {
            Some((server, base)) => (server, trimmed(&base)),
            None if url.starts_with('/') || url.is_empty() => (Server::default(), trimmed(&url)),
            None => {
                self.note(element, format!("the server URL `{url}` is not an HTTP URL"));
                (Server::Unspecified, String::new())
            }
        }
    }

    /// The path, with a variable for each path parameter.
    fn path(&mut self, base: &str, path: &str, given: &[&'d Data], element: &str) -> Text {
        let mut whole = Text::from(base);
        let mut rest = path;
        while let Some((before, after)) = rest.split_once('{') {
            let Some((name, after)) = after.split_once('}') else { break };
            whole.push_str(before);
            let parameter = given.iter().find(|p| p.get("in").text() == "path" && p.get("name").text() == name);
            let value = parameter.map(|parameter| self.value(parameter));
            let (value, made) = value.unwrap_or_else(|| (Data::Text(name.to_owned()), true));
            let variable = self.variable(name, encode_segment(&value.plain()));
            if made {
                self.note(
                    element,
                    format!("`{{{name}}}` has no example; the variable {variable} has a generated value"),
                );
            }
            whole.push(&Text::variable(&variable));
            rest = after;
        }
        whole.push_str(rest);
        whole
    }

    fn variable(&mut self, wanted: &str, value: String) -> String {
        let plain = text::variable_name(wanted);
        let names = std::iter::once(plain.clone()).chain((2..).map(|n: u32| format!("{plain}_{n}")));
        for name in names {
            match self.variables.iter().find(|variable| variable.name == name) {
                Some(Variable { value: ValueSource::Constant(same), .. }) if *same == value => return name,
                Some(_) => {}
                None => {
                    self.variables.push(Variable::constant(&name, value));
                    return name;
                }
            }
        }
        plain
    }

    /// Adds the query, header and cookie parameters that are required or have an example.
    fn parameters(&mut self, given: &[&'d Data], element: &str, request: &mut Request) {
        let mut cookies: Vec<String> = Vec::new();
        for parameter in given {
            let (name, place) = (parameter.get("name").text(), parameter.get("in").text());
            if place == "path" {
                continue;
            }
            let (value, made) = self.value(parameter);
            if made && !parameter.get("required").yes() {
                continue;
            }
            if made {
                self.note(
                    element,
                    format!(
                        "the {place} parameter `{name}` has no example; the value `{}` was generated",
                        value.plain()
                    ),
                );
            }
            match place {
                "query" => {
                    let values: Vec<Data> = match value {
                        // The default style: `form` with `explode`.
                        Data::List(values) if parameter.get("explode") != &Data::Bool(false) => values,
                        Data::List(values) => {
                            vec![Data::Text(values.iter().map(Data::plain).collect::<Vec<_>>().join(","))]
                        }
                        value => vec![value],
                    };
                    for value in values {
                        add_parameter(&mut request.path, name, &Text::from(value.plain()));
                    }
                }
                "header" => {
                    let text = Text::from(value.plain());
                    if !["accept", "content-type", "authorization"].contains(&name.to_ascii_lowercase().as_str())
                        && !request.add_header(name, text)
                    {
                        self.note(element, header_left_out(name));
                    }
                }
                "cookie" => cookies.push(format!("{name}={}", value.plain())),
                other => {
                    self.note(element, format!("the parameter `{name}` has the unknown location `{other}`; left out"));
                }
            }
        }
        if !cookies.is_empty() {
            request.add_header("Cookie", Text::from(cookies.join("; ")));
        }
    }

    /// A value of a parameter, and whether it was generated.
    fn value(&mut self, parameter: &'d Data) -> (Data, bool) {
        let named = parameter.get("examples").entries().first().map(|(_, example)| self.follow(example).get("value"));
        if let Some(example) = [Some(parameter.get("example")), named].into_iter().flatten().find(|data| data.is()) {
            return (example.clone(), false);
        }
        let content = parameter.get("content").entries().first().map(|(_, media)| media.get("schema"));
        let schema = self.follow(content.unwrap_or(parameter.get("schema")));
        let own = [schema.get("example"), schema.get("default"), schema.get("const")];
        if let Some(example) = own.into_iter().chain(schema.get("examples").list().first()).find(|data| data.is()) {
            return (example.clone(), false);
        }
        (self.examples.of(schema), schema.get("enum").list().is_empty())
    }

    /// The examples of a body: name, media type if a header is needed, and body.
    fn bodies(&mut self, body: &'d Data, element: &str) -> Vec<(String, Option<String>, Body)> {
        let content = body.get("content").entries();
        let json = |kind: &str| kind.contains("json");
        let found = content.iter().find(|(kind, _)| json(kind)).or_else(|| content.first());
        let Some((kind, media)) = found else { return Vec::new() };
        if content.len() > 1 {
            let others: Vec<&str> = content
                .iter()
                .filter(|(other, _)| other != kind)
                .map(|(other, _)| other.as_str())
                .take(MAX_NAMES)
                .collect();
            self.note(element, format!("sends {kind}; other media types: {}", others.join(", ")));
        }
        let schema = media.get("schema");
        let mut examples: Vec<(String, Data)> = Vec::new();
        for (name, example) in media.get("examples").entries() {
            let example = self.follow(example);
            if examples.len() == MAX_EXAMPLES {
                self.note(element, format!("more than {MAX_EXAMPLES} examples; the rest is left out"));
                break;
            }
            match example.get("value") {
                Data::Null => self.note(element, format!("the example `{name}` is in another file; left out")),
                value => examples.push((name.clone(), value.clone())),
            }
        }
        if examples.len() == 1 {
            examples[0].0.clear();
        }
        if examples.is_empty() {
            let example = match media.get("example") {
                Data::Null => self.example(schema, element),
                example => example.clone(),
            };
            examples.push((String::new(), example));
        }
        let kind_fits = is_valid_header("Content-Type", &Text::from(kind.as_str())) && !kind.contains('*');
        let said = kind_fits.then(|| kind.clone());
        examples
            .into_iter()
            .map(|(name, example)| {
                let pairs = |example: &Data| -> Vec<(String, Text)> {
                    example.entries().iter().map(|(name, value)| (name.clone(), Text::from(value.plain()))).collect()
                };
                if kind.starts_with("application/x-www-form-urlencoded") && !example.entries().is_empty() {
                    let mut headers = Vec::new();
                    let body = body::form(&pairs(&example), &mut headers);
                    return (name, (!headers.is_empty()).then(|| kind.clone()), body);
                }
                if kind.starts_with("multipart/") && !example.entries().is_empty() {
                    let pairs = pairs(&example);
                    let part = |(name, value): &(String, Text)| body::field(name, value, None);
                    return (name, None, Body::Multipart(pairs.iter().map(part).collect()));
                }
                let text = match &example {
                    Data::Text(text) if !json(kind) => text.clone(),
                    // Some write an object as the text of its JSON.
                    Data::Text(text)
                        if self.follow(schema).get("type").text() != "string" && data::json(text, "").is_ok() =>
                    {
                        text.clone()
                    }
                    example => example.json(),
                };
                (name, said.clone(), body::text(&Text::from(text)))
            })
            .collect()
    }

    /// A body for `schema`: its example if it is valid, or else a generated one, noted.
    fn example(&mut self, schema: &'d Data, element: &str) -> Data {
        self.examples.take_unsupported_pattern();
        let mut value = self.examples.of(schema);
        let empty = Data::Map(Vec::new());
        let valid = |value: &Data| self.examples.check(value, &[schema]).is_ok();
        if value == Data::Null && (valid(&empty) || !valid(&value)) {
            value = empty;
        }
        let fault = self.examples.check(&value, &[schema]).err();
        let left_out = std::mem::take(&mut self.examples.left_out);
        let own = [self.follow(schema).get("example"), self.follow(schema).get("default")];
        let own = own.into_iter().find(|example| example.is());
        let is_value = |own: &Data| *own == value || data::json(own.text(), "").is_ok_and(|own| own == value);
        match (own, &fault) {
            (Some(own), None) if is_value(own) => {}
            (Some(_), None) => {
                self.note(element, "the example of the body does not fit its schema; a valid body was generated");
            }
            (None, None) => self.note(element, "the body has no example; one was generated from its schema"),
            (_, Some(fault)) => self.note(
                element,
                format!(
                    "no valid body was found for its schema, which may have no valid value: {fault}; edit the body"
                ),
            ),
        }
        if fault.is_none() && !left_out.is_empty() {
            let names: Vec<String> = left_out.iter().take(MAX_NAMES).map(|name| format!("`{name}`")).collect();
            self.note(
                element,
                format!(
                    "no valid body was found with these optional properties, which are left out: {}",
                    names.join(", ")
                ),
            );
        }
        if let Some(pattern) = self.examples.take_unsupported_pattern() {
            let pattern: String = pattern.chars().take(100).collect();
            self.note(
                element,
                format!("a value may not match the pattern `{pattern}`, which is not supported; edit the body"),
            );
        }
        value
    }

    /// A check for the described success statuses.
    fn check(operation: &Data) -> Vec<Check> {
        let good: Vec<&str> = operation
            .get("responses")
            .entries()
            .iter()
            .map(|(status, _)| status.as_str())
            .filter(|status| status.starts_with(['2', '3']))
            .collect();
        let statuses: Vec<u16> =
            good.iter().filter_map(|status| status.parse().ok()).filter(|s| (200..400).contains(s)).collect();
        let statuses = match statuses.as_slice() {
            _ if good.iter().any(|status| status.ends_with(['X', 'x'])) => vec![(200, 299)],
            [] => return Vec::new(),
            some => some.iter().map(|status| (*status, *status)).collect(),
        };
        vec![Check::of(Test::Status(statuses))]
    }

    /// Adds authentication, with variables for the credentials.
    fn security(&mut self, operation: &'d Data, element: &str, request: &mut Request) {
        let needed = match operation.get("security") {
            Data::List(own) => own.as_slice(),
            _ => self.api.get("security").list(),
        };
        // One alternative is enough; an empty one means that no login is needed.
        let Some(first) = needed.first().filter(|_| needed.iter().all(|one| !one.entries().is_empty())) else { return };
        for (name, _) in first.entries().iter().take(10) {
            let scheme = self.follow(self.api.at(&["components", "securitySchemes", name]));
            let secret = |reader: &mut Self, wanted: &str| {
                let variable = reader.variable(wanted, wanted.to_owned());
                reader.note(element, format!("needs a login (`{name}`); set the variable {variable}"));
                Text::variable(&variable)
            };
            match (scheme.get("type").text(), scheme.get("scheme").text().to_ascii_lowercase().as_str()) {
                ("http", "basic") => {
                    let mut both = secret(self, "user");
                    both.push_str(":");
                    both.push(&secret(self, "password"));
                    request.auth = Some(Auth::Basic(both.template()));
                }
                ("http", "bearer") | ("oauth2" | "openIdConnect", _) => {
                    request.auth = Some(Auth::Bearer(secret(self, "token").template()));
                }
                ("apiKey", _) => {
                    let (key, place) = (scheme.get("name").text(), scheme.get("in").text());
                    let value = secret(self, key);
                    match place {
                        "query" => add_parameter(&mut request.path, key, &value),
                        "cookie" => {
                            let mut cookie = Text::from(format!("{key}="));
                            cookie.push(&value);
                            request.add_header("Cookie", cookie);
                        }
                        _ => {
                            request.add_header(key, value);
                        }
                    }
                }
                _ => self.note(element, format!("needs a login (`{name}`) of an unsupported kind")),
            }
        }
    }

    fn into_request_list(self) -> RequestList {
        RequestList {
            origin: "an OpenAPI description",
            remark: "A draft: an OpenAPI description contains neither the order and frequency of requests nor their data.",
            requests: self.requests,
            targets: Targets::One(None),
            visits: self.visits,
            keep_flows: true,
            target: default_target(),
            variables: self.variables,
            arrivals_default: DefaultArrivals::OnePerSecond,
            notes: self.notes,
        }
    }
}
