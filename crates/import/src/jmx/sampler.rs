//! HTTP samplers with the defaults and headers of their scope.

use offered_base::Nanos;
use offered_workload::script::{Auth, Body, Check, Extraction, Part};

use super::Reader;
use super::node::Node;
use crate::address::{self, MissingValue, Server, encode_path};
use crate::body;
use crate::jmx::tree::Element;
use crate::text::Text;

/// Maximum number of headers of a request.
const MAX_HEADERS: usize = 200;
/// Maximum number of arguments of a request.
const MAX_ARGUMENTS: usize = 1000;

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

/// The request of a sampler.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SamplerRequest {
    pub(super) line: usize,
    pub(super) element: String,
    pub(super) name: String,
    pub(super) server: Server,
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
        let (mut path, method) = (text("HTTPSampler.path"), text("HTTPSampler.method").to_display().to_lowercase());
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
        let method = match method.as_str() {
            "" => "get".to_owned(),
            _ if fit => method,
            other => {
                self.note(node, format!("{} is not a valid HTTP method; replaced by get", other.to_uppercase()));
                "get".to_owned()
            }
        };
        let mut headers = defaults.headers.clone();
        let body = self.body(node, defaults, &method, &mut path, &mut headers);
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
            method,
            path: encode_path(&path),
            headers,
            body,
            auth: login.map(|(_, auth)| auth.clone()),
            extract: defaults.extract.clone(),
            check: defaults.check.clone(),
            cookies: defaults.cookies,
            follows: is_true("HTTPSampler.follow_redirects") || is_true("HTTPSampler.auto_redirects"),
            connect_timeout: time(&connect),
            response_timeout: time(&response),
            keepalive: element.text_of("HTTPSampler.use_keepalive") != "false",
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

    /// The body; arguments of a request without one go to its `path`.
    fn body(
        &mut self,
        node: &Node<'e>,
        defaults: &Defaults<'e>,
        method: &str,
        path: &mut Text,
        headers: &mut Vec<(String, Text)>,
    ) -> Body {
        let raw = node.element.text_of("HTTPSampler.postBodyRaw") == "true";
        let all = defaults.requests.iter().copied().chain([node.element]);
        let mut arguments: Vec<&Element> = all
            .filter_map(|element| element.property("HTTPsampler.Arguments"))
            .flat_map(|arguments| arguments.entries("Arguments.arguments"))
            .filter(|argument| argument.attribute("enabled") != "false")
            .collect();
        if arguments.len() > MAX_ARGUMENTS {
            self.note(node, format!("more than {MAX_ARGUMENTS} arguments; the rest is left out"));
            arguments.truncate(MAX_ARGUMENTS);
        }
        let files = node.element.property("HTTPsampler.Files");
        let files = files.map_or(&[][..], |files| files.entries("HTTPFileArgs.files"));
        let files: Vec<&Element> = files.iter().filter(|file| !file.text_of("File.path").is_empty()).collect();
        let has_body = !["get", "head", "delete", "options", "trace"].contains(&method);
        let typed =
            |headers: &[(String, Text)]| headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        if has_body
            && let [file] = files.as_slice()
            && file.text_of("File.paramname").is_empty()
        {
            let kind = file.text_of("File.mimetype");
            if !kind.is_empty() && !typed(headers) {
                headers.push(("Content-Type".to_owned(), Text::from(kind)));
            }
            return body::file(self.resolve(node, file.text_of("File.path")).to_display());
        }
        if raw {
            let mut body = Text::default();
            for argument in arguments {
                body.push(&self.resolve(node, argument.text_of("Argument.value")));
            }
            return if body.is_empty() { Body::None } else { body::text(&body) };
        }
        let arguments = self.arguments(node, &arguments);
        let in_parts = node.element.text_of("HTTPSampler.DO_MULTIPART_POST") == "true";
        if has_body && (in_parts || !files.is_empty()) {
            let named = arguments.iter().filter(|argument| !argument.has_blank_name());
            let mut parts: Vec<Part> =
                named.map(|argument| body::field(&argument.name.to_display(), &argument.value, None)).collect();
            for file in files {
                let kind = Some(file.text_of("File.mimetype")).filter(|kind| !kind.is_empty());
                let (path, name) = (file.text_of("File.path"), file.text_of("File.paramname"));
                let (path, name) = (self.resolve(node, path).to_display(), self.resolve(node, name).to_display());
                parts.push(body::upload(&name, &path, kind));
            }
            return if parts.is_empty() { Body::None } else { Body::Multipart(parts) };
        }
        // Without any name JMeter sends the values as the body, with GET as well.
        if (has_body || method == "get") && arguments.iter().all(|argument| argument.name.is_empty()) {
            let mut body = Text::default();
            for argument in &arguments {
                body.push(&argument.value_as_body());
            }
            return if body.is_empty() { Body::None } else { body::text(&body) };
        }
        if has_body {
            return self.form(node, &arguments, headers);
        }
        if let Some(query) = self.query(node, &arguments) {
            path.push_str(if path.literal_contains(|c| c == '?') { "&" } else { "?" });
            path.push(&query);
        }
        Body::None
    }

    /// Notes settings of a sampler that are not translated.
    fn note_other_settings(&mut self, node: &Node<'e>) {
        let element = node.element;
        let is_true = |name: &str| element.text_of(name) == "true";
        if is_true("HTTPSampler.image_parser") {
            self.note(node, "fetches embedded resources; list them in `objects`");
        }
        if !element.text_of("HTTPSampler.proxyHost").is_empty() {
            self.note(node, "uses a proxy; set `proxy` in [target]");
        }
    }

    /// Adds the headers of a header manager; a header nearer to the sampler replaces one of the same name.
    pub(super) fn headers(&mut self, manager: &Node<'e>, headers: &mut Vec<(String, Text)>) {
        for entry in manager.element.entries("HeaderManager.headers") {
            let name = self.resolve(manager, entry.text_of("Header.name").trim()).to_display();
            let value = self.resolve(manager, entry.text_of("Header.value").trim());
            if address::is_reserved_header(&name) || !address::is_valid_header(&name, &value) {
                self.note(
                    manager,
                    format!("the header `{name}` is set by the generator itself or is not valid; left out"),
                );
                continue;
            }
            if headers.len() == MAX_HEADERS {
                self.note(manager, format!("more than {MAX_HEADERS} headers; the rest is left out"));
                return;
            }
            headers.retain(|(other, _)| !other.eq_ignore_ascii_case(&name));
            headers.push((name, value));
        }
    }
}
