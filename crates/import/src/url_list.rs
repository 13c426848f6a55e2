//! Reads lists of URLs: those of siege (`urls.txt`) and targets of vegeta.
//!
//! Sources: `src/cfg.c` and `src/url.c` of siege 4.1, `lib/targets.go` of vegeta 12.

use offered_distributions::Distribution;
use offered_workload::script::{Auth, Body};

use crate::address::{Server, default_target, encode_path};
use crate::body;
use crate::curl::url::split_credentials;
use crate::note::Note;
use crate::plan::{Plan, Request};
use crate::request_list::{DefaultArrivals, PlannedRequest, RequestList, Targets, Visit, default_name};
use crate::text::Text;
use crate::{Error, ImportOptions, ParameterKind};

/// Maximum number of URLs.
const MAX_URLS: usize = 2_000;
/// Time between the requests of a user, in seconds: a list has none.
const THINK_S: f64 = 1.0;
/// Maximum number of redirects that both tools follow.
const REDIRECTS: u32 = 10;
/// Methods that siege knows after a URL.
const METHODS_AFTER: [&str; 5] = [" POST", " PUT", " PATCH", " OPTIONS", " DELETE"];

/// Whether the first line of `text` that is neither a comment nor an assignment is a URL, maybe with a method before it.
pub(crate) fn looks_like(text: &str) -> bool {
    let mut names: Vec<&str> = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match assignment(line) {
            Some((name, _)) => names.push(name),
            None => {
                let is_variable =
                    |name: &&str| [format!("$({name})"), format!("${{{name}}}")].iter().any(|at| line.starts_with(at));
                return is_url(method_before(line).1) || names.iter().any(is_variable);
            }
        }
    }
    false
}

/// The plan of `text`, the content of `file`.
pub(crate) fn read(text: &str, file: &str, options: &ImportOptions) -> Result<Plan, Error> {
    let mut reader = Reader { file, options, assigned: Vec::new(), requests: Vec::new(), notes: Vec::new() };
    // Whether headers and a body of vegeta may follow.
    let mut is_open = false;
    // siege stores cookies; the client of vegeta has no cookie jar (`lib/attack.go`).
    let mut has_cookies = true;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        let (method, url) = method_before(line);
        if line.is_empty() || line.starts_with('#') {
            is_open &= !line.is_empty();
        } else if let (Some(method), true) = (method, is_url(url)) {
            reader.request(number, method, url, Body::None, None);
            (is_open, has_cookies) = (true, false);
        } else if is_open && !is_url(line) {
            if !reader.belongs_to_last(line) {
                reader.note(number, "is not a valid header; left out");
            }
        } else if let Some((name, value)) = assignment(line) {
            if options.variable(name).is_none() {
                reader.assigned.retain(|(other, _)| other != name);
                reader.assigned.push((name.to_owned(), value.to_owned()));
            }
        } else {
            reader.siege(number, line)?;
        }
        if reader.requests.len() > MAX_URLS {
            let message = format!(
                "more than {MAX_URLS} URLs; write their paths to a CSV file with the header `path`, and use it as the `catalogue` of a request"
            );
            return Err(Error::File { file: file.to_owned(), message });
        }
    }
    for PlannedRequest { request, .. } in &mut reader.requests {
        let is_set = |name: &str| request.header(name).is_some();
        let accepted = match has_cookies {
            // As in the configuration that siege installs.
            true => Some("gzip, deflate"),
            // `net/http` of Go.
            false => (!is_set("Range") && request.method != "head").then_some("gzip"),
        };
        if let Some(encodings) = accepted.filter(|_| !is_set("Accept-Encoding")) {
            request.headers.push(("Accept-Encoding".to_owned(), Text::from(encodings)));
        }
    }
    // The client of vegeta sends no Accept.
    let omitted = if has_cookies { Vec::new() } else { vec!["Accept".to_owned()] };
    let steps = (0..reader.requests.len()).map(|at| (at, None)).collect();
    RequestList {
        origin: "a list of URLs",
        remark: "A list specifies neither rate nor users: one user requests the URLs in order, and waits a second after each.",
        visits: vec![Visit { name: "list".to_owned(), steps }],
        requests: reader.requests,
        targets: Targets::One(None),
        keep_flows: false,
        target: default_target()
            .with_cookies(has_cookies)
            .with_redirects(REDIRECTS)
            .with_omit_headers(omitted),
        variables: Vec::new(),
        arrivals_default: DefaultArrivals::OneUser(Distribution::constant(THINK_S).expect("a second is a constant")),
        notes: reader.notes,
    }
    .into_plan(file)
}

struct Reader<'t> {
    file: &'t str,
    options: &'t ImportOptions<'t>,
    /// Variables of siege.
    assigned: Vec<(String, String)>,
    requests: Vec<PlannedRequest>,
    notes: Vec<Note>,
}

impl Reader<'_> {
    fn note(&mut self, line: usize, message: impl Into<String>) {
        self.notes.push(Note { line, element: String::new(), message: message.into() });
    }

    /// Adds a header or the body of vegeta to the last request. Returns whether the line is one of them.
    fn belongs_to_last(&mut self, line: &str) -> bool {
        let Some(PlannedRequest { request, .. }) = self.requests.last_mut() else { return false };
        match (line.strip_prefix('@'), line.split_once(':')) {
            (Some(file), _) => {
                request.body = body::file(file.trim());
                true
            }
            (None, Some((name, value))) => request.add_header(name.trim(), Text::from(value.trim())),
            (None, None) => false,
        }
    }

    /// A line of siege: a URL, maybe with a method and data.
    fn siege(&mut self, line: usize, text: &str) -> Result<(), Error> {
        let text = self.expand(line, text)?;
        let after = METHODS_AFTER.iter().filter_map(|method| Some((text.find(method)?, method))).min();
        let Some((at, method)) = after else {
            self.request(line, "get", &text, Body::None, None);
            return Ok(());
        };
        let data = text[at + method.len()..].trim();
        let form = Some("application/x-www-form-urlencoded");
        let (body, media_type) = match data.strip_prefix('<') {
            Some(file) => {
                self.note(line, "siege derives the Content-Type from the name of the file; add the header");
                (body::file(file.trim()), None)
            }
            None if data.starts_with("-T") => {
                self.note(
                    line,
                    "sets a Content-Type by -T; the data is left out; write the data as `body`, with the header",
                );
                (Body::None, None)
            }
            None if data.is_empty() => (Body::None, None),
            None => (body::text(&Text::from(data)), form),
        };
        self.request(line, method.trim(), text[..at].trim(), body, media_type);
        Ok(())
    }

    /// Replaces `$(NAME)`, `${NAME}` and `$NAME`.
    fn expand(&self, line: usize, text: &str) -> Result<String, Error> {
        let (mut expanded, mut rest) = (String::new(), text);
        while let Some((before, after)) = rest.split_once('$') {
            if let Some(before) = before.strip_suffix('\\') {
                expanded += before;
                expanded.push('$');
                rest = after;
                continue;
            }
            expanded += before;
            let bare = after.trim_start_matches(['(', '{']);
            let name = &bare[..bare.find(['/', ')', '}']).unwrap_or(bare.len())];
            let assigned = || self.assigned.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str());
            let unset = || Error::Unresolved {
                file: self.file.to_owned(),
                element: format!("line {line}"),
                kind: ParameterKind::Variable,
                name: name.to_owned(),
            };
            expanded += self.options.variable(name).or_else(assigned).ok_or_else(unset)?;
            rest = bare[name.len()..].trim_start_matches([')', '}']);
        }
        Ok(expanded + rest)
    }

    fn request(&mut self, line: usize, method: &str, url: &str, body: Body, media_type: Option<&str>) {
        let element = format!("`{}`", url.chars().take(100).collect::<String>());
        let (login, url) = split_credentials(&Text::from(url));
        let Some((server, path)) = Server::parse_text(&url, |_| None) else {
            self.notes.push(Note { line, element, message: "is not an HTTP URL; left out".to_owned() });
            return;
        };
        let mut request = Request::new(method, encode_path(&path));
        request.name = default_name(&request);
        request.auth = login.map(|login| Auth::Basic(login.template()));
        request.body = body;
        request.headers.extend(media_type.map(|kind| ("Content-Type".to_owned(), Text::from(kind))));
        self.requests.push(PlannedRequest { line, element, server, request });
    }
}

fn is_url(text: &str) -> bool {
    text.starts_with("http://") || text.starts_with("https://")
}

/// A method at the start of a line, and the rest of the line.
fn method_before(line: &str) -> (Option<&str>, &str) {
    match line.split_once(char::is_whitespace) {
        Some((word, rest)) if !word.is_empty() && word.bytes().all(|b| b.is_ascii_uppercase()) => {
            (Some(word), rest.trim_start())
        }
        _ => (None, line),
    }
}

/// The name and the value of `NAME = value`.
fn assignment(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once('=')?;
    let name = name.trim_end();
    let fits = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    fits.then(|| (name, value.trim_start()))
}
