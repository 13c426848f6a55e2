//! Reads curl commands, typed by hand or copied from a browser.

mod options;
mod url;

use offered_base::Nanos;
use offered_workload::script::{Auth, Body, Part, Per};
use offered_workload::{Identity, Protocol, Proxy, Target, Tls};

use crate::address::{MissingValue, Server, default_target, encode_path, form_encode, percent_encode};
use crate::body;
use crate::note::Note;
use crate::plan::{Plan, Request, ValueSource, Variable};
use crate::request_list::{DefaultArrivals, PlannedRequest, RequestList, Visit, default_name};
use crate::shell::{self, Command, Word};
use crate::text::{self, Text};
use crate::{Error, ImportOptions};
use options::{takes_value, time};

/// Maximum number of redirects that curl follows with `-L`.
const REDIRECTS: u32 = 50;

/// Maximum number of words of all commands.
const MAX_WORDS: usize = 200_000;

/// Whether a line of `text` starts with curl.
pub(crate) fn has_command(text: &str) -> bool {
    text.lines().take(10_000).any(|line| {
        let mut words = line.split_whitespace().skip_while(|word| COMMAND_PREFIXES.contains(word));
        words.next().is_some_and(is_curl)
    })
}

/// Whether a line of `text` starts with curl in its first column.
pub(crate) fn has_unindented_command(text: &str) -> bool {
    text.lines().take(10_000).any(|line| line.split(' ').next().is_some_and(is_curl))
}

/// Words that may precede a command.
const COMMAND_PREFIXES: [&str; 8] = ["$", ">", "%", "sudo", "time", "do", "then", "exec"];

/// Success, or a line number and an error message.
type LineResult = Result<(), (usize, String)>;

fn is_curl(word: &str) -> bool {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    name == "curl" || name.eq_ignore_ascii_case("curl.exe")
}

/// The plan of `text`, the content of `file`.
pub(crate) fn read(text: &str, file: &str, options: &ImportOptions) -> Result<Plan, Error> {
    let at = |line, message: &str| Error::Line { file: file.to_owned(), line, message: message.to_owned() };
    let commands = shell::commands(text).map_err(|line| at(line, "unclosed quote; the command is truncated"))?;
    if commands.iter().map(|command| command.words.len()).sum::<usize>() > MAX_WORDS {
        return Err(at(1, &format!("more than {MAX_WORDS} words")));
    }
    let mut reader = Reader::default();
    for (name, value) in options.variables.into_iter().flatten() {
        reader.assigned.push((name.clone(), Text::from(value.as_str())));
        reader.preset.push(name.clone());
    }
    for command in commands {
        reader.command(command).map_err(|(line, message)| at(line, &message))?;
    }
    if reader.requests.is_empty() {
        return Err(at(1, "no curl command with an HTTP URL"));
    }
    reader.into_request_list().into_plan(file)
}

/// One part of the request data, from `-d` and similar options.
enum Data {
    Text(Text),
    File(String),
}

/// Options of one curl command.
#[derive(Default)]
struct CommandOptions {
    line: usize,
    method: Option<String>,
    urls: Vec<(usize, Text)>,
    headers: Vec<(String, Text)>,
    without: Vec<String>,
    data: Vec<Data>,
    query: Vec<Text>,
    /// Options without a value that change the request, such as `--json`.
    flags: Vec<&'static str>,
    parts: Vec<Part>,
    upload: Option<String>,
    auth: Option<Auth>,
    target: Option<Text>,
    socket: Option<String>,
    /// Files of the client certificate and its key.
    own: (Option<String>, Option<String>),
}

impl CommandOptions {
    fn has(&self, flag: &str) -> bool {
        self.flags.contains(&flag)
    }
}

#[derive(Default)]
struct Reader {
    connect_timeout: Option<Nanos>,
    response_timeout: Option<Nanos>,
    cookies: bool,
    tls: Tls,
    protocol: Protocol,
    proxy: Option<Proxy>,
    max_redirects: Option<u32>,
    follows: bool,
    /// Shell variables that the user has set; assignments in the script do not change them.
    preset: Vec<String>,
    /// Shell variables assigned so far.
    assigned: Vec<(String, Text)>,
    variables: Vec<Variable>,
    requests: Vec<PlannedRequest>,
    /// For each request, the names of the headers that its command removes.
    omitted: Vec<Vec<String>>,
    notes: Vec<Note>,
}

impl Reader {
    fn note(&mut self, line: usize, element: &str, message: impl Into<String>) {
        self.notes.push(Note { line, element: element.to_owned(), message: message.into() });
    }

    fn command(&mut self, command: Command) -> LineResult {
        let mut words = command.words.into_iter().peekable();
        while words.next_if(|word| COMMAND_PREFIXES.contains(&word.as_literal())).is_some() {}
        while let Some((name, value)) = words.peek().and_then(Word::assignment) {
            let word = words.next().expect("was peeked at");
            if word.is_substituted {
                self.note(word.line, &name, "is the output of a command; set the environment variable before the run");
            } else {
                let value = self.substitute_assigned(&value);
                if self.preset.contains(&name) {
                    continue;
                }
                self.assigned.retain(|(other, _)| *other != name);
                self.assigned.push((name, value));
            }
        }
        let Some(first) = words.next() else { return Ok(()) };
        if !is_curl(first.as_literal()) {
            if !["done", "fi", "set", "esac"].contains(&first.as_literal()) && !command.piped {
                let shown: String = first.text.to_display().chars().take(60).collect();
                self.note(first.line, &shown, "is not a curl command; left out");
            }
            return Ok(());
        }
        let mut options = CommandOptions { line: first.line, ..CommandOptions::default() };
        while let Some(word) = words.next() {
            if word.is_substituted {
                let message = format!("`{}` contains the output of a command; sent unchanged", word.text.to_display());
                self.note(word.line, "", message);
            }
            let begins = word.text.leading_literal();
            if word.as_literal() == "--next" || word.as_literal() == "-:" {
                let next = CommandOptions { line: word.line, ..CommandOptions::default() };
                let before = std::mem::replace(&mut options, next);
                self.add_requests(before);
            } else if begins.starts_with("--") && begins.len() > 2 {
                let value = if takes_value(word.as_literal()) { words.next() } else { None };
                self.option(&mut options, &word.text.to_display(), word.line, value)?;
            } else if begins.starts_with('-') && begins.len() > 1 {
                self.short(&mut options, &word, &mut words)?;
            } else {
                let url = self.substitute_assigned(&word.text);
                options.urls.push((word.line, url));
            }
        }
        self.add_requests(options);
        Ok(())
    }

    /// Short options such as `-sSXPOST`; the last one may have its value attached or in the next word.
    fn short(
        &mut self,
        command: &mut CommandOptions,
        word: &Word,
        words: &mut impl Iterator<Item = Word>,
    ) -> LineResult {
        let letters = word.text.leading_literal();
        for (at, letter) in letters.char_indices().skip(1) {
            let option = format!("-{letter}");
            if takes_value(&option) {
                let rest = word.text.skip_bytes(at + letter.len_utf8());
                let value = if rest.is_empty() { words.next() } else { Some(Word { text: rest, ..word.clone() }) };
                return self.option(command, &option, word.line, value);
            }
            self.option(command, &option, word.line, None)?;
        }
        Ok(())
    }

    /// Adds the data of `--data`, `--data-ascii`, `--data-binary` or `--json`.
    fn add_data(&mut self, command: &mut CommandOptions, line: usize, written: &str, value: Text) {
        let option = options::long_name(written);
        if option == "--json" {
            command.flags.push("--json");
        }
        match value.to_display().strip_prefix('@') {
            Some("-") => self.note(line, written, "reads the body from standard input; left out"),
            Some(file) => {
                if option != "--data-binary" && option != "--json" {
                    let message = format!("curl removes line breaks from `{file}`; here the file is sent unchanged");
                    self.note(line, written, message);
                }
                command.data.push(Data::File(file.to_owned()));
            }
            None => command.data.push(Data::Text(value)),
        }
    }

    /// Handles one option. `value` is its value, if it takes one and the command does not end before.
    fn option(&mut self, command: &mut CommandOptions, written: &str, line: usize, value: Option<Word>) -> LineResult {
        let option = options::long_name(written);
        if takes_value(option) && value.is_none() {
            return Err((
                line,
                format!("the command ends after {written}, which needs a value; it is truncated; copy it again"),
            ));
        }
        let value = value.map(|word| self.substitute_assigned(&word.text)).unwrap_or_default();
        let shown = value.to_display();
        match option {
            "--request" => command.method = Some(shown),
            "--url" => command.urls.push((line, value)),
            "--header" => self.header(command, line, value),
            "--data" | "--data-ascii" | "--data-binary" | "--json" => self.add_data(command, line, written, value),
            "--data-raw" => command.data.push(Data::Text(value)),
            "--data-urlencode" => self.encoded(command, line, value),
            "--url-query" => command.query.push(value),
            "--form" => self.part(command, line, value, true),
            "--form-string" => self.part(command, line, value, false),
            "--user" => {
                let whole = shown.contains(':');
                if !whole {
                    self.note(line, written, "has no password, which curl would ask for; here the password is empty");
                }
                let mut both = value;
                both.push_str(if whole { "" } else { ":" });
                command.auth = Some(Auth::Basic(both.template()));
            }
            "--oauth2-bearer" => command.auth = Some(Auth::Bearer(value.template())),
            "--user-agent" => command.headers.push(("User-Agent".to_owned(), value)),
            "--referer" => {
                let plain = shown.strip_suffix(";auto").map_or(value.clone(), Text::from);
                command.headers.push(("Referer".to_owned(), plain));
            }
            "--range" => command.headers.push(("Range".to_owned(), Text::from(format!("bytes={shown}")))),
            "--cookie" if shown.contains('=') => command.headers.push(("Cookie".to_owned(), value)),
            "--cookie" | "--cookie-jar" => self.cookies = true,
            "--compressed" => {
                command.headers.push(("Accept-Encoding".to_owned(), Text::from("deflate, gzip, br, zstd")));
            }
            "--get" => command.flags.push("--get"),
            "--head" => command.flags.push("--head"),
            "--globoff" => command.flags.push("--globoff"),
            "--path-as-is" => command.flags.push("--path-as-is"),
            "--upload-file" => command.upload = Some(shown),
            "--location" | "--location-trusted" => self.follows = true,
            "--max-redirs" => self.max_redirects(line, written, &shown),
            "--request-target" => command.target = Some(value),
            "--unix-socket" => command.socket = Some(shown),
            "--max-time" => self.response_timeout = time(&shown).max(self.response_timeout),
            "--connect-timeout" => self.connect_timeout = time(&shown).max(self.connect_timeout),
            "--insecure" => self.tls.insecure = true,
            "--cacert" => self.tls.roots = Some(shown.into()),
            "--cert" => command.own.0 = Some(shown),
            "--key" => command.own.1 = Some(shown),
            "--http2" => self.protocol = Protocol::Auto,
            "--http2-prior-knowledge" => self.protocol = Protocol::Http2,
            "--proxy" => self.proxy(line, &shown),
            "--http1.1" | "--basic" => {}
            _ if options::affects_only_output(option) => {}
            _ => {
                let message = match takes_value(option) {
                    true => format!("{written} {shown}: not translated"),
                    false => format!("{written}: not translated"),
                };
                self.note(line, "", message);
            }
        }
        Ok(())
    }

    /// Handles `-H`: `Name: value` adds a header, `Name;` adds an empty one, `Name:` removes one, `@file` reads headers
    /// from a file.
    fn header(&mut self, command: &mut CommandOptions, line: usize, value: Text) {
        let begins = value.leading_literal();
        if begins.starts_with('@') {
            self.note(line, "", format!("-H {}: reads headers from a file; left out", value.to_display()));
        } else if let Some((name, rest)) = value.split_once(':') {
            let rest = rest.skip_bytes(rest.leading_literal().len() - rest.leading_literal().trim_start().len());
            let name = name.to_display().trim().to_owned();
            if rest.is_empty() {
                command.without.push(name);
            } else {
                command.headers.push((name, rest));
            }
        } else if let Some(name) = value.as_literal().and_then(|value| value.strip_suffix(';')) {
            command.headers.push((name.to_owned(), Text::default()));
        } else {
            self.note(line, "", format!("-H {}: not a valid header; left out", value.to_display()));
        }
    }

    /// Handles `--data-urlencode`: `content`, `=content`, `name=content`, `@file` or `name@file`.
    fn encoded(&mut self, command: &mut CommandOptions, line: usize, value: Text) {
        let begins = value.leading_literal();
        let (name, content) = match begins.find(['=', '@']) {
            Some(at) if begins[at..].starts_with('@') => {
                let message = format!("--data-urlencode {}: sends an encoded file; left out", value.to_display());
                self.note(line, "", message);
                return;
            }
            Some(at) => (begins[..at].to_owned(), value.skip_bytes(at + 1)),
            None => (String::new(), value.clone()),
        };
        let mut both = Text::from(if name.is_empty() { name } else { name + "=" });
        both.push(&content.map_literals(form_encode));
        command.data.push(Data::Text(both));
    }

    /// Handles `-F` and `--form-string`: `name=value`, `name=@file;type=...`.
    fn part(&mut self, command: &mut CommandOptions, line: usize, value: Text, special: bool) {
        let Some((name, content)) = value.split_once('=') else {
            self.note(line, "", format!("-F {}: expected `name=value`; left out", value.to_display()));
            return;
        };
        let name = name.to_display();
        let begins = content.leading_literal();
        if special && begins.starts_with('<') {
            let file = content.to_display();
            let message =
                format!("-F {name}={file}: takes the value of the field from a file; left out; write the value itself");
            self.note(line, "", message);
            return;
        }
        if special && begins.starts_with('@') {
            let shown = content.to_display();
            let mut said_of = shown[1..].split(';');
            let file = said_of.next().unwrap_or_default().trim_matches('"');
            let mut media_type = None;
            for more in said_of {
                match more.trim().strip_prefix("type=") {
                    Some(kind) => media_type = Some(kind),
                    None => self.note(line, "", format!("-F {shown}: `{}` not translated", more.trim())),
                }
            }
            command.parts.push(body::upload(&name, file, media_type.or(url::media_type(file))));
        } else if special && let Some((value, kind)) = content.as_literal().and_then(|value| value.split_once(";type="))
        {
            command.parts.push(body::field(&name, &Text::from(value), Some(kind)));
        } else {
            command.parts.push(body::field(&name, &content, None));
        }
    }

    /// Handles `--max-redirs`; a negative number means no limit.
    fn max_redirects(&mut self, line: usize, written: &str, value: &str) {
        let most = match value.parse::<i64>() {
            Ok(0..) => value.parse::<u32>().unwrap_or(u32::MAX),
            Ok(_) => u32::MAX,
            Err(_) => return,
        };
        if most > Target::MOST_REDIRECTS {
            let message = format!("{written} {value}: at most {} redirects are followed", Target::MOST_REDIRECTS);
            self.note(line, "", message);
        }
        self.max_redirects = Some(most.min(Target::MOST_REDIRECTS));
    }

    fn proxy(&mut self, line: usize, value: &str) {
        let url = if value.contains("://") { value.to_owned() } else { format!("http://{value}") };
        match url.trim_end_matches('/').parse() {
            Ok(proxy) => self.proxy = Some(proxy),
            Err(_) => self.note(line, "", format!("-x {value}: unsupported kind of proxy; left out")),
        }
    }

    /// Adds the requests of a command, one for each URL.
    fn add_requests(&mut self, command: CommandOptions) {
        if let (Some(certificate), key) = &command.own {
            // One file may contain both.
            let key = key.as_ref().unwrap_or(certificate);
            self.tls.identity = Some(Identity { certificate: certificate.into(), key: key.into() });
        }
        let urls = command.urls.clone();
        if urls.is_empty() {
            self.note(command.line, "curl", "has no URL; left out");
        }
        for (line, url) in urls {
            let (login, url) = url::split_credentials(&url);
            let element = format!("`{}`", url.to_display().chars().take(100).collect::<String>());
            if !command.has("--globoff") && url.as_literal().is_some_and(url::is_glob) {
                self.note(
                    line,
                    &element,
                    "curl expands braces and brackets to several URLs; here they are sent unchanged",
                );
            }
            let lack = |name: &str| {
                let environment = |variable: &&Variable| variable.name == name;
                match self.variables.iter().find(environment).map(|variable| &variable.value) {
                    Some(ValueSource::Env(wanted)) => Some(MissingValue { is_property: false, name: wanted.clone() }),
                    _ => None,
                }
            };
            let Some((mut server, path)) = Server::parse_text(&url, lack) else {
                self.note(line, &element, "is not an HTTP URL; left out");
                continue;
            };
            if let Some(socket) = &command.socket {
                server = Server::Known(format!("unix:{socket}:/"));
            }
            let mut request = self.request(&command, line, path);
            request.auth = request.auth.or_else(|| Some(Auth::Basic(login?.template())));
            self.omitted.push(command.without.clone());
            request.name = default_name(&request);
            self.requests.push(PlannedRequest { line, element, server, request });
        }
    }

    fn request(&mut self, command: &CommandOptions, line: usize, path: Text) -> Request {
        let path = path.split_once('#').map_or(path, |(before, _)| before);
        let path = if command.has("--path-as-is") { path } else { url::without_dots(&path) };
        let mut request = Request::new("get", encode_path(command.target.as_ref().unwrap_or(&path)));
        for (name, value) in &command.headers {
            if !request.add_header(name, value.clone()) {
                self.note(
                    line,
                    "",
                    format!("the header `{name}` is set by the generator itself or is not valid; left out"),
                );
            }
        }
        let mut query = command.query.clone();
        let mut body = match self.data(command, line) {
            Some(Data::Text(data)) if command.has("--get") => {
                query.push(data);
                Body::None
            }
            Some(Data::Text(data)) => body::text(&data),
            Some(Data::File(file)) => body::file(file),
            None => Body::None,
        };
        for part in query {
            request.path.push_str(if request.path.literal_contains(|c| c == '?') { "&" } else { "?" });
            request.path.push(&part.map_literals(percent_encode));
        }
        let mut kind = None;
        if !command.parts.is_empty() {
            body = Body::Multipart(command.parts.clone());
        } else if command.has("--json") {
            kind = Some("application/json");
        } else if body != Body::None {
            kind = Some("application/x-www-form-urlencoded");
        }
        request.method = match &command.method {
            Some(method) => method.to_lowercase(),
            None if command.has("--head") => "head".to_owned(),
            None if command.upload.is_some() => "put".to_owned(),
            None if body != Body::None => "post".to_owned(),
            None => "get".to_owned(),
        };
        if let Some(file) = &command.upload {
            body = body::file(file);
        }
        let mut otherwise = |name: &str, value: &str| {
            if request.header(name).is_none() {
                request.headers.push((name.to_owned(), Text::from(value)));
            }
        };
        if let Some(kind) = kind {
            otherwise("Content-Type", kind);
        }
        if command.has("--json") {
            otherwise("Accept", "application/json");
        }
        request.headers.retain(|(name, _)| !command.without.iter().any(|without| without.eq_ignore_ascii_case(name)));
        if command.upload.is_some() {
            self.note(line, "", "curl may send Expect: 100-continue before an upload; here it is not sent");
        } else if body == Body::None && ["post", "put", "patch"].contains(&request.method.as_str()) {
            self.note(line, "", "curl sends no Content-Length without a body; here it is 0");
        }
        request.body = body;
        request.auth.clone_from(&command.auth);
        request
    }

    /// The request data of `-d` and similar options.
    fn data(&mut self, command: &CommandOptions, line: usize) -> Option<Data> {
        let mut text = Text::default();
        let mut several = false;
        for data in &command.data {
            match data {
                Data::File(file) if command.data.len() == 1 => return Some(Data::File(file.clone())),
                Data::File(file) => {
                    self.note(line, "", format!("a body cannot combine a file with other data: `{file}` is left out"));
                }
                Data::Text(part) => {
                    // curl concatenates the parts of --json without a separator.
                    text.push_str(if several && !command.has("--json") { "&" } else { "" });
                    text.push(part);
                    several = true;
                }
            }
        }
        several.then_some(Data::Text(text))
    }

    /// Replaces variables that the script has assigned; all others become environment variables.
    fn substitute_assigned(&mut self, text: &Text) -> Text {
        let mut known = Text::default();
        let mut rest = text.clone();
        while !rest.is_empty() {
            let begins = rest.leading_literal().to_owned();
            known.push_str(&begins);
            rest = rest.skip_bytes(begins.len());
            let Some(wanted) = rest.variable_names().next().map(str::to_owned) else { break };
            match self.assigned.iter().find(|(name, _)| *name == wanted) {
                Some((_, value)) => known.push(value),
                None => {
                    let name = text::variable_name(&wanted);
                    if !self.variables.iter().any(|variable| variable.name == name) {
                        self.variables.push(Variable {
                            name: name.clone(),
                            value: ValueSource::Env(wanted.clone()),
                            per: Per::Session,
                        });
                    }
                    known.push(&Text::variable(&name));
                }
            }
            rest = rest.skip_piece();
        }
        known
    }

    /// The headers of the generator itself that the commands remove.
    fn omit_headers(&mut self) -> Vec<String> {
        let mut omit = Vec::new();
        for name in Target::OWN_HEADERS {
            let removed =
                self.omitted.iter().filter(|names| names.iter().any(|one| one.eq_ignore_ascii_case(name))).count();
            if removed == self.omitted.len() {
                omit.push(name.to_owned());
            } else if removed > 0 {
                self.note(0, "", format!("only some commands remove the header {name}; here all requests without it send the generator's own"));
            }
        }
        omit
    }

    fn into_request_list(mut self) -> RequestList {
        let omit = self.omit_headers();
        let followed = self.max_redirects.unwrap_or(REDIRECTS);
        let mut target = default_target()
            .with_cookies(self.cookies)
            .with_omit_headers(omit)
            .with_redirects(if self.follows { followed } else { 0 })
            .with_tls(self.tls)
            .with_protocol(self.protocol)
            .with_proxy(self.proxy);
        if let Some(time) = self.connect_timeout {
            target = target.with_connect_timeout(time);
        }
        if let Some(time) = self.response_timeout {
            target = target.with_response_timeout(time);
        }
        let visit =
            Visit { name: "commands".to_owned(), steps: (0..self.requests.len()).map(|at| (at, None)).collect() };
        RequestList {
            origin: "curl",
            remark: "The file does not specify rate or users: here one visit starts per second.",
            visits: vec![visit],
            requests: self.requests,
            preferred_server: None,
            keep_flows: false,
            target,
            variables: self.variables,
            arrivals_default: DefaultArrivals::OnePerSecond,
            notes: self.notes,
        }
    }
}
