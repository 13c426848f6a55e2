//! HTTP samplers with the defaults and headers of their scope.

use offered_base::Nanos;
use offered_workload::script::{Auth, Body, Check, Extraction, Part};

use super::Reader;
use super::arguments::Argument;
use super::node::Node;
use crate::address::{self, MissingValue, Server, encode_path};
use crate::body;
use crate::jmx::tree::Element;
use crate::text::Text;

/// Maximum number of headers of a request.
const MAX_HEADERS: usize = 200;
/// Maximum number of arguments of a request.
const MAX_ARGUMENTS: usize = 1000;

/// Whether a class is a sampler of HTTP requests.
pub(super) fn is_http(class: &str) -> bool {
    ["HTTPSamplerProxy", "HTTPSampler", "HTTPSampler2"].contains(&class)
}

/// Settings that the samplers of a scope share.
#[derive(Clone, Debug, Default)]
pub(super) struct Defaults<'e> {
    /// HTTP Request Defaults elements, outermost first.
    pub(super) requests: Vec<&'e Element>,
    /// Headers of the header managers.
    pub(super) headers: Vec<(String, Text)>,
    /// Logins with their base URLs, nearest last.
    pub(super) logins: Vec<(String, Auth)>,
    /// Whether there is a cookie manager.
    pub(super) cookies: bool,
    /// Extractions.
    pub(super) extract: Vec<Extraction>,
    /// Checks.
    pub(super) check: Vec<Check>,
}

/// The body of a request, and the query that is added to its path.
struct RequestContent {
    body: Body,
    query: Option<Text>,
}

impl From<Body> for RequestContent {
    fn from(body: Body) -> Self {
        Self { body, query: None }
    }
}

/// The request of a sampler.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SamplerRequest {
    pub(super) line: usize,
    pub(super) element: String,
    pub(super) name: String,
    pub(super) server: Server,
    /// Number of its target, once they are chosen; `None` if it goes to none.
    pub(super) target: Option<u16>,
    pub(super) method: String,
    pub(super) path: Text,
    pub(super) headers: Vec<(String, Text)>,
    pub(super) body: Body,
    pub(super) auth: Option<Auth>,
    pub(super) extract: Vec<Extraction>,
    pub(super) check: Vec<Check>,
    pub(super) cookies: bool,
    pub(super) follows: bool,
    pub(super) connect_timeout: Option<Nanos>,
    pub(super) response_timeout: Option<Nanos>,
    pub(super) keepalive: bool,
}

impl<'e> Reader<'e, '_> {
    /// Translates the sampler `node`.
    pub(super) fn sampler(&mut self, node: &Node<'e>, defaults: &Defaults<'e>) -> SamplerRequest {
        let element = node.element;
        let mut text = |name: &str| {
            let own = std::iter::once(&element).chain(defaults.requests.iter().rev());
            let value = own.map(|element| element.text_of(name)).find(|text| !text.trim().is_empty());
            self.resolve(node, value.unwrap_or("").trim())
        };
        let (mut path, written) = (text("HTTPSampler.path"), text("HTTPSampler.method").to_display());
        let method = written.to_lowercase();
        let (connect, response) =
            (text("HTTPSampler.connect_timeout").to_display(), text("HTTPSampler.response_timeout").to_display());
        let whole = path.leading_literal().starts_with("http://") || path.leading_literal().starts_with("https://");
        let mut server = self.server_of(node, defaults);
        if whole {
            // An absolute URL in the path overrides the server.
            let missing = |name: &str| self.variables.missing_value(name);
            if let Some((own, rest)) = Server::parse_text(&path, missing) {
                (server, path) = (own, rest);
            }
        }
        // A path that begins with a variable may be a whole URL.
        let first = path.variable_names().next().filter(|_| path.leading_literal().is_empty());
        if let Some(missing) = first.and_then(|name| self.variables.missing_value(name)) {
            server = Server::Unresolved(missing);
        }
        let fit = !method.is_empty() && method.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
        if fit && written == method {
            self.note(
                node,
                format!("JMeter sends the method `{method}` as it is written; here it is sent in upper case"),
            );
        }
        let method = match method.as_str() {
            "" => "get".to_owned(),
            _ if fit => method,
            other => {
                self.note(node, format!("{} is not a valid HTTP method; replaced by get", other.to_uppercase()));
                "get".to_owned()
            }
        };
        let mut headers = defaults.headers.clone();
        let content = self.content(node, defaults, &method, &mut headers);
        add_port(&server, &mut headers);
        // JMeter ignores the arguments of a request whose path is a whole URL.
        if let Some(query) = content.query.filter(|_| !whole) {
            path.push_str(if path.literal_contains(|c| c == '?') { "&" } else { "?" });
            path.push(&query);
        }
        // As in `java.net.URL`, a fragment is no part of the request.
        let path = path.split_once('#').map_or(path, |(before, _)| before);
        self.note_url(node, &path);
        self.note_other_settings(node);
        let time = |text: &str| text.parse().ok().filter(|ms| *ms > 0).map(Nanos::from_millis);
        let url = format!("{}{}", server.url().trim_end_matches('/'), path.to_display());
        let login = defaults.logins.iter().rev().find(|(under, _)| url.starts_with(under) || server.url().is_empty());
        let is_true = |name: &str| element.text_of(name) == "true";
        SamplerRequest {
            line: element.line,
            element: format!("{} `{}`", node.class(), node.name()),
            name: node.name().trim().to_owned(),
            server,
            target: None,
            method,
            path: encode_path(&path),
            headers,
            body: content.body,
            auth: login.map(|(_, auth)| auth.clone()),
            extract: defaults.extract.clone(),
            check: defaults.check.clone(),
            cookies: defaults.cookies,
            follows: is_true("HTTPSampler.follow_redirects") || is_true("HTTPSampler.auto_redirects"),
            connect_timeout: time(&connect),
            response_timeout: time(&response),
            keepalive: element.text_of("HTTPSampler.use_keepalive") == "true",
        }
    }

    /// The server from scheme, host and port, each with the nearest default.
    fn server_of(&mut self, node: &Node<'e>, defaults: &Defaults<'e>) -> Server {
        let mut texts = [Text::default(), Text::default(), Text::default()];
        for (text, name) in texts.iter_mut().zip(["HTTPSampler.protocol", "HTTPSampler.domain", "HTTPSampler.port"]) {
            let own = std::iter::once(&node.element).chain(defaults.requests.iter().rev());
            let value = own.map(|element| element.text_of(name)).find(|text| !text.trim().is_empty());
            let (resolved, _) = self.variables.resolve(value.unwrap_or("").trim());
            let property = self.variables.properties_without_default.first().filter(|_| name != "HTTPSampler.protocol");
            if let Some(name) = property {
                return Server::Unresolved(MissingValue { is_property: true, name: name.clone() });
            }
            if let Some(missing) = resolved.variable_names().find_map(|name| self.variables.missing_value(name)) {
                return Server::Unresolved(missing);
            }
            if resolved.as_literal().is_none() {
                return Server::Runtime;
            }
            if let Some((_, name)) = resolved.leading_literal().split_once("${") {
                let name = name.split('}').next().unwrap_or_default().to_owned();
                return Server::Unresolved(MissingValue { is_property: false, name });
            }
            *text = resolved;
        }
        let [scheme, host, port] = texts.map(|text| text.to_display());
        Server::from_parts(scheme.trim(), host.trim(), port.trim())
    }

    /// The enabled arguments of a sampler and then those of its defaults, the nearest first.
    fn argument_elements(&mut self, node: &Node<'e>, defaults: &Defaults<'e>) -> Vec<&'e Element> {
        let all = std::iter::once(node.element).chain(defaults.requests.iter().copied().rev());
        let mut arguments: Vec<&Element> = all
            .filter_map(|element| element.property("HTTPsampler.Arguments"))
            .flat_map(|arguments| arguments.entries("Arguments.arguments"))
            .filter(|argument| argument.attribute("enabled") != "false")
            .collect();
        if arguments.len() > MAX_ARGUMENTS {
            self.note(node, format!("more than {MAX_ARGUMENTS} arguments; the rest is left out"));
            arguments.truncate(MAX_ARGUMENTS);
        }
        arguments
    }

    /// The body and the query that JMeter builds from the arguments and files of a sampler
    /// (`HTTPHC4Impl.setupHttpEntityEnclosingRequestData` and `HTTPSamplerBase.getUrl`).
    fn content(
        &mut self,
        node: &Node<'e>,
        defaults: &Defaults<'e>,
        method: &str,
        headers: &mut Vec<(String, Text)>,
    ) -> RequestContent {
        let elements = self.argument_elements(node, defaults);
        let files = node.element.property("HTTPsampler.Files");
        let files = files.map_or(&[][..], |files| files.entries("HTTPFileArgs.files"));
        let files: Vec<&Element> = files.iter().filter(|file| !file.text_of("File.path").is_empty()).collect();
        let has_body = !["get", "head", "options", "trace"].contains(&method);
        let charset = self.charset(node);
        // A single file without a parameter name is the body, if there are no arguments; else it is not sent.
        let file = files.first().filter(|file| files.len() == 1 && file.text_of("File.paramname").is_empty());
        if has_body
            && elements.is_empty()
            && let Some(file) = file
        {
            let kind = file.text_of("File.mimetype");
            if !kind.is_empty() {
                body::set_default_type(headers, kind);
            }
            return body::file(self.resolve(node, file.text_of("File.path")).to_display()).into();
        }
        let arguments = self.arguments(node, &elements);
        let in_parts = node.element.text_of("HTTPSampler.DO_MULTIPART_POST") == "true";
        if has_body && (in_parts || !files.is_empty() && file.is_none()) {
            return self.parts(node, &arguments, &files, &charset, headers).into();
        }
        let raw = node.element.text_of("HTTPSampler.postBodyRaw") == "true";
        // Without any name JMeter sends the values as the body, with GET as well.
        let is_body = raw || !arguments.is_empty() && arguments.iter().all(|argument| argument.name.is_empty());
        if is_body && (has_body || method == "get") {
            body::set_default_type(headers, &format!("text/plain; charset={charset}"));
            let mut body = Text::default();
            for argument in &arguments {
                body.push(&argument.value_as_body());
            }
            return body::text(&body).into();
        }
        let query = if ["get", "delete", "options"].contains(&method) { self.query(node, &arguments) } else { None };
        // DELETE has the arguments in its query and in its body.
        let body = match has_body && (method != "delete" || !arguments.is_empty()) {
            true => self.form(node, &arguments, &charset, headers),
            false => Body::None,
        };
        RequestContent { body, query }
    }

    /// The character encoding of a sampler's content; only UTF-8 is supported.
    fn charset(&mut self, node: &Node<'e>) -> String {
        let charset = self.resolve(node, node.element.text_of("HTTPSampler.contentEncoding").trim()).to_display();
        if ["", "utf-8", "utf8"].iter().any(|known| charset.eq_ignore_ascii_case(known)) {
            return "UTF-8".to_owned();
        }
        self.note(node, format!("encodes its content as {charset}; here it is encoded as UTF-8"));
        charset
    }

    /// A multipart body. A Content-Type of the header managers is replaced.
    fn parts(
        &mut self,
        node: &Node<'e>,
        arguments: &[Argument],
        files: &[&Element],
        charset: &str,
        headers: &mut Vec<(String, Text)>,
    ) -> Body {
        headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
        let kind = format!("text/plain; charset={charset}");
        let named = arguments.iter().filter(|argument| !argument.has_blank_name());
        let mut parts: Vec<Part> =
            named.map(|argument| body::field(&argument.name.to_display(), &argument.value, Some(&kind))).collect();
        for file in files {
            let kind = Some(file.text_of("File.mimetype")).filter(|kind| !kind.is_empty());
            let (path, name) = (file.text_of("File.path"), file.text_of("File.paramname"));
            let (path, name) = (self.resolve(node, path).to_display(), self.resolve(node, name).to_display());
            parts.push(body::upload(&name, &path, kind));
        }
        if parts.is_empty() {
            return Body::None;
        }
        self.note(node, "JMeter adds Content-Transfer-Encoding to each part; here it is not sent");
        Body::Multipart(parts)
    }

    /// Adds a note if JMeter does not accept the URL.
    fn note_url(&mut self, node: &Node<'e>, path: &Text) {
        if let Some(invalid) = path.literal_parts().flat_map(str::chars).find(|c| "\"<>\\^`{|}".contains(*c)) {
            self.note(
                node,
                format!(
                    "JMeter does not send this request, because `{invalid}` is not valid in a URL; here it is sent"
                ),
            );
        }
    }

    /// Adds notes on settings of a sampler that are not translated.
    fn note_other_settings(&mut self, node: &Node<'e>) {
        let element = node.element;
        if element.text_of("HTTPSampler.image_parser") == "true" {
            self.note(node, "fetches embedded resources; list them in `objects`");
        }
        if !element.text_of("HTTPSampler.proxyHost").is_empty() {
            self.note(node, "uses a proxy; set `proxy` in [target]");
        }
    }

    /// Adds the headers of a header manager; a header nearer to the sampler replaces one of the same name.
    pub(super) fn headers(&mut self, manager: &Node<'e>, headers: &mut Vec<(String, Text)>) {
        let mut own: Vec<(String, Text)> = Vec::new();
        for entry in manager.element.entries("HeaderManager.headers") {
            let name = self.resolve(manager, entry.text_of("Header.name").trim()).to_display();
            let value = self.resolve(manager, entry.text_of("Header.value").trim());
            if address::is_reserved_header(&name) || !address::is_valid_header(&name, &value) {
                self.note(manager, address::header_left_out(&name));
                continue;
            }
            if headers.len() + own.len() == MAX_HEADERS {
                self.note(manager, format!("more than {MAX_HEADERS} headers; the rest is left out"));
                break;
            }
            if let Some((_, before)) = own.iter_mut().find(|(other, _)| other.eq_ignore_ascii_case(&name)) {
                self.note(
                    manager,
                    format!("has the header `{name}` several times; here it is one header with all values"),
                );
                before.push_str(", ");
                before.push(&value);
            } else {
                own.push((name, value));
            }
        }
        headers.retain(|(name, _)| !own.iter().any(|(other, _)| other.eq_ignore_ascii_case(name)));
        headers.extend(own);
    }
}

/// Adds the port of the server to a header Host without one, as JMeter does (`HTTPHC4Impl.getPortFromHostHeader`).
fn add_port(server: &Server, headers: &mut [(String, Text)]) {
    let authority = server.url().split("://").nth(1).unwrap_or_default().trim_end_matches('/');
    let Some((_, port)) = authority.rsplit_once(':').filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()))
    else {
        return;
    };
    for (_, value) in headers.iter_mut().filter(|(name, _)| name.eq_ignore_ascii_case("host")) {
        if value.as_literal().is_some_and(|host| !host.is_empty() && !host.contains(':')) {
            value.push_str(&format!(":{port}"));
        }
    }
}
