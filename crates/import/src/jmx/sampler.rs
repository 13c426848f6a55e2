//! HTTP samplers, with the defaults and headers of their scope.

use offered_model::Nanos;

use super::Reader;
use super::node::Node;
use crate::jmx::tree::Element;

/// Headers of a request at most.
const MOST_HEADERS: usize = 200;
/// Arguments of a request at most.
const MOST_ARGUMENTS: usize = 1000;

/// What samplers of a scope have in common, the nearest scope first.
#[derive(Clone, Debug, Default)]
pub(super) struct Defaults<'e> {
    /// The elements of HTTP request defaults, from the outermost to the nearest.
    pub(super) requests: Vec<&'e Element>,
    /// Headers of header managers.
    pub(super) headers: Vec<(String, String)>,
}

/// A request as a sampler makes it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Asked {
    pub(super) line: usize,
    pub(super) element: String,
    pub(super) name: String,
    /// `http://host:port/`, or nothing where the plan does not say.
    pub(super) origin: String,
    pub(super) method: String,
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Option<String>,
    pub(super) connect_timeout: Option<Nanos>,
    pub(super) response_timeout: Option<Nanos>,
    pub(super) keepalive: bool,
}

impl<'e> Reader<'e> {
    /// The request of sampler `node`.
    pub(super) fn sampler(&mut self, node: &Node<'e>, defaults: &Defaults<'e>) -> Asked {
        let element = node.element;
        let mut text = |name: &str| {
            let own = std::iter::once(&element).chain(defaults.requests.iter().rev());
            let said = own.map(|element| element.text_of(name)).find(|text| !text.trim().is_empty());
            self.resolve(node, said.unwrap_or("").trim())
        };
        let (mut scheme, mut host, mut port) =
            (text("HTTPSampler.protocol"), text("HTTPSampler.domain"), text("HTTPSampler.port"));
        let (mut path, method) = (text("HTTPSampler.path"), text("HTTPSampler.method").to_lowercase());
        let (connect, response) = (text("HTTPSampler.connect_timeout"), text("HTTPSampler.response_timeout"));
        if let Some((own, rest)) = path.split_once("://").filter(|(own, _)| ["http", "https"].contains(own)) {
            // A whole URL in the path: it counts alone.
            let end = rest.find(['/', '?']).unwrap_or(rest.len());
            let (authority, tail) = rest.split_at(end);
            let (own_host, own_port) = authority.split_once(':').unwrap_or((authority, ""));
            (scheme, host, port) = (own.to_owned(), own_host.to_owned(), own_port.to_owned());
            path = tail.to_owned();
        }
        if scheme.eq_ignore_ascii_case("https") {
            self.note(
                node,
                "https: this version speaks plain http only, so the workload asks the same host in plain http",
            );
            if port == "443" {
                port.clear();
            }
        }
        let method = match method.as_str() {
            "" => "get".to_owned(),
            "get" | "post" | "put" | "delete" | "head" | "patch" | "options" => method,
            other => {
                self.note(node, format!("the method {} is none of a workload's; get instead", other.to_uppercase()));
                "get".to_owned()
            }
        };
        let mut headers = defaults.headers.clone();
        let body = self.content(node, defaults, &method, &mut path, &mut headers);
        self.asides(node);
        let time = |text: &str| text.parse().ok().filter(|ms| *ms > 0).map(Nanos::from_millis);
        Asked {
            line: element.line,
            element: format!("{} `{}`", node.class(), node.name()),
            name: node.name().trim().to_owned(),
            origin: origin(&host, &port),
            method,
            path: sendable(&path),
            headers,
            body,
            connect_timeout: time(&connect),
            response_timeout: time(&response),
            keepalive: element.text_of("HTTPSampler.use_keepalive") != "false",
        }
    }

    /// The body; arguments of a request without one go to its `path`.
    fn content(
        &mut self,
        node: &Node<'e>,
        defaults: &Defaults<'e>,
        method: &str,
        path: &mut String,
        headers: &mut Vec<(String, String)>,
    ) -> Option<String> {
        let raw = node.element.text_of("HTTPSampler.postBodyRaw") == "true";
        let all = defaults.requests.iter().copied().chain([node.element]);
        let mut arguments: Vec<&Element> = all
            .filter_map(|element| element.property("HTTPsampler.Arguments"))
            .flat_map(|arguments| arguments.entries("Arguments.arguments"))
            .collect();
        if arguments.len() > MOST_ARGUMENTS {
            self.note(node, format!("more than {MOST_ARGUMENTS} arguments; the others are left out"));
            arguments.truncate(MOST_ARGUMENTS);
        }
        if raw {
            let values: Vec<String> =
                arguments.iter().map(|argument| self.resolve(node, argument.text_of("Argument.value"))).collect();
            return Some(values.concat()).filter(|body| !body.is_empty());
        }
        let mut pairs = Vec::new();
        for argument in arguments {
            let name = match argument.text_of("Argument.name") {
                "" => argument.attribute("name"),
                name => name,
            };
            let (name, value) = (self.resolve(node, name), self.resolve(node, argument.text_of("Argument.value")));
            let encoded = argument.text_of("HTTPArgument.always_encode") != "false";
            let written = |text: &str| if encoded { form(text) } else { text.to_owned() };
            let bare = name.is_empty() || (value.is_empty() && argument.text_of("HTTPArgument.use_equals") == "false");
            pairs.push(if bare {
                written(&(name + &value))
            } else {
                format!("{}={}", written(&name), written(&value))
            });
        }
        if pairs.is_empty() {
            return None;
        }
        if ["post", "put", "patch"].contains(&method) {
            if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
                headers.push(("Content-Type".to_owned(), "application/x-www-form-urlencoded".to_owned()));
            }
            return Some(pairs.join("&"));
        }
        path.push(if path.contains('?') { '&' } else { '?' });
        path.push_str(&pairs.join("&"));
        None
    }

    /// What a sampler does besides asking.
    fn asides(&mut self, node: &Node<'e>) {
        let element = node.element;
        let told = |name: &str| element.text_of(name) == "true";
        if told("HTTPSampler.follow_redirects") || told("HTTPSampler.auto_redirects") {
            self.note(node, "would follow redirects; a launch is one request, and a redirect is its answer");
        }
        if told("HTTPSampler.image_parser") {
            self.note(node, "would fetch what the page embeds");
        }
        if told("HTTPSampler.DO_MULTIPART_POST") {
            self.note(node, "would send its arguments as multipart; here they are a form");
        }
        let files = element.property("HTTPsampler.Files");
        if files.is_some_and(|files| !files.entries("HTTPFileArgs.files").is_empty()) {
            self.note(node, "would send files; write their text as `body`");
        }
    }

    /// Adds the headers of a header manager; one nearer to the sampler replaces its namesake.
    pub(super) fn headers(&mut self, manager: &Node<'e>, headers: &mut Vec<(String, String)>) {
        for entry in manager.element.entries("HeaderManager.headers") {
            let name = self.resolve(manager, entry.text_of("Header.name").trim());
            let value = self.resolve(manager, entry.text_of("Header.value").trim());
            let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
            let own =
                ["content-length", "transfer-encoding", "connection"].contains(&name.to_ascii_lowercase().as_str());
            let fit = !name.is_empty() && name.bytes().all(token) && !value.bytes().any(|b| b.is_ascii_control());
            if own || !fit {
                self.note(manager, format!("the header `{name}` is offered's own or cannot be sent; left out"));
                continue;
            }
            if headers.len() == MOST_HEADERS {
                self.note(manager, format!("more than {MOST_HEADERS} headers; the others are left out"));
                return;
            }
            headers.retain(|(other, _)| !other.eq_ignore_ascii_case(&name));
            headers.push((name, value));
        }
    }
}

fn origin(host: &str, port: &str) -> String {
    let host = if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host.to_owned() };
    let url =
        if port.is_empty() || port == "80" { format!("http://{host}/") } else { format!("http://{host}:{port}/") };
    let fit = !url.contains("${") && url.parse::<offered_model::workload::Url>().is_ok();
    if fit { url } else { String::new() }
}

/// A path as it can be sent: from `/` on, without blanks and what is not ASCII.
fn sendable(path: &str) -> String {
    let mut sendable = if path.starts_with('/') { String::new() } else { "/".to_owned() };
    for byte in path.bytes() {
        match byte {
            0x21..=0x7e => sendable.push(char::from(byte)),
            _ => sendable.push_str(&format!("%{byte:02X}")),
        }
    }
    sendable
}

/// A text as a form sends it; placeholders stay.
fn form(text: &str) -> String {
    let mut coded = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        if let Some(kept) = ["{session}", "{sequence}"].into_iter().find(|kept| rest.starts_with(*kept)) {
            coded.push_str(kept);
            rest = &rest[kept.len()..];
            continue;
        }
        // What has no value yet must stay findable.
        if rest.starts_with("${")
            && let Some(end) = rest.find('}')
        {
            coded.push_str(&rest[..=end]);
            rest = &rest[end + 1..];
            continue;
        }
        let c = rest.chars().next().expect("not empty");
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '*' | '-' | '.' | '_' => coded.push(c),
            ' ' => coded.push('+'),
            c => c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| coded.push_str(&format!("%{byte:02X}"))),
        }
        rest = &rest[c.len_utf8()..];
    }
    coded
}
