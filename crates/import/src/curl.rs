//! Reads curl commands, typed by hand or copied from a browser.

mod data;
mod options;
pub(crate) mod url;

use offered_base::Nanos;
use offered_workload::script::{Auth, AwsAuth, Body, Part, Per};
use offered_workload::{Identity, Protocol, Proxy, Target, Tls};

use crate::address::{MissingValue, Server, default_target, encode_path, header_left_out, percent_encode};
use crate::body;
use crate::note::Note;
use crate::plan::{Plan, Request, ValueSource, Variable};
use crate::request_list::{DefaultArrivals, PlannedRequest, RequestList, Targets, Visit, default_name};
use crate::shell::{self, Command, Input, Word};
use crate::text::{self, Text};
use crate::{Error, ImportOptions};
use data::Data;
use options::{takes_value, time};

/// Maximum number of redirects that curl follows with `-L`.
const REDIRECTS: u32 = 50;

/// Maximum number of words of all commands.
const MAX_WORDS: usize = 200_000;

/// Whether a line of `text` has a command that starts with curl.
pub(crate) fn has_command(text: &str) -> bool {
    let is_command = |part: &str| {
        let mut words = part.split_whitespace().skip_while(|word| COMMAND_PREFIXES.contains(word));
        words.next().is_some_and(is_curl)
    };
    text.lines().take(10_000).any(|line| line.split(['|', ';', '&']).any(is_command))
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
    let name = text::file_name(word);
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
    let mut commands = commands.into_iter().peekable();
    while let Some(command) = commands.next() {
        let is_read = commands.peek().is_some_and(|next| next.piped);
        reader.command(command, is_read).map_err(|(line, message)| at(line, &message))?;
    }
    if reader.requests.is_empty() {
        return Err(at(1, "no curl command with an HTTP URL"));
    }
    reader.into_request_list().into_plan(file)
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
    /// Options whose presence changes the request, such as `--json`.
    flags: Vec<&'static str>,
    parts: Vec<Part>,
    upload: Option<String>,
    user_agent: Option<Text>,
    referer: Option<Text>,
    /// The text that the command reads from standard input.
    input: Option<Input>,
    /// Name and password, joined by a colon.
    login: Option<Text>,
    bearer: Option<Text>,
    /// The value of `--aws-sigv4`.
    aws: Option<String>,
    target: Option<Text>,
    socket: Option<String>,
    /// Files of the client certificate and its key.
    own: (Option<String>, Option<String>),
    /// Maximum number of redirects with `-L`.
    max_redirects: u32,
}

impl CommandOptions {
    fn new(line: usize, input: Option<&Input>) -> Self {
        Self { line, input: input.cloned(), max_redirects: REDIRECTS, ..Self::default() }
    }

    fn has(&self, flag: &str) -> bool {
        self.flags.contains(&flag)
    }
}

/// Appends a part to the query of a path. If the query ends with an ampersand, no other one is added (`lib/urlapi.c`,
/// `CURLU_APPENDQUERY`).
fn append_to_query(path: &mut Text, part: &Text) {
    let before = path.to_display();
    path.push_str(match before.contains('?') {
        true if before.ends_with(['?', '&']) => "",
        true => "&",
        false => "?",
    });
    path.push(&part.map_literals(percent_encode));
}

#[derive(Default)]
struct Reader {
    connect_timeout: Option<Nanos>,
    response_timeout: Option<Nanos>,
    tls: Tls,
    protocol: Protocol,
    proxy: Option<Proxy>,
    /// Number of requests whose commands keep cookies.
    with_cookies: usize,
    /// Shell variables that the user has set; assignments in the script do not change them.
    preset: Vec<String>,
    /// Shell variables assigned so far.
    assigned: Vec<(String, Text)>,
    variables: Vec<Variable>,
    requests: Vec<PlannedRequest>,
    /// The output of the previous command, if the next command reads it.
    piped_input: Option<Input>,
    /// For each request, the names of the headers that its command removes.
    omitted: Vec<Vec<String>>,
    notes: Vec<Note>,
}

impl Reader {
    fn note(&mut self, line: usize, element: &str, message: impl Into<String>) {
        self.notes.push(Note { line, element: element.to_owned(), message: message.into() });
    }

    /// Reads a command. `is_read` is true if the next command reads its output.
    fn command(&mut self, command: Command, is_read: bool) -> LineResult {
        let written = if is_read { data::output_of(&command) } else { None };
        let piped = std::mem::replace(&mut self.piped_input, written).filter(|_| command.piped);
        let mut words = command.words.into_iter().peekable();
        while words.next_if(|word| COMMAND_PREFIXES.contains(&word.as_literal())).is_some() {}
        while let Some((name, value)) = words.peek().and_then(Word::assignment) {
            let word = words.next().expect("was peeked at");
            if word.is_substituted {
                self.note(
                    word.line,
                    &name,
                    "is set to the output of a command; set the environment variable before the run",
                );
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
            if !["done", "fi", "set", "esac"].contains(&first.as_literal())
                && !command.piped
                && self.piped_input.is_none()
            {
                let shown: String = first.text.to_display().chars().take(60).collect();
                self.note(first.line, &shown, "is not a curl command; left out");
            }
            return Ok(());
        }
        let input = match command.input.or(piped) {
            Some(Input::Text(text)) => Some(Input::Text(self.substitute_assigned(&text))),
            other => other,
        };
        let mut options = CommandOptions::new(first.line, input.as_ref());
        while let Some(word) = words.next() {
            self.note_substituted(&word);
            let begins = word.text.leading_literal();
            if word.as_literal() == "--next" || word.as_literal() == "-:" {
                let before = std::mem::replace(&mut options, CommandOptions::new(word.line, input.as_ref()));
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

    fn note_substituted(&mut self, word: &Word) {
        if word.is_substituted {
            let message = format!("`{}` contains the output of a command; sent unchanged", word.text.to_display());
            self.note(word.line, "", message);
        }
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

    /// Handles one option. `value` is its value, if it takes one and the command does not end before.
    fn option(&mut self, command: &mut CommandOptions, written: &str, line: usize, value: Option<Word>) -> LineResult {
        let option = options::long_name(written);
        if takes_value(option) && value.is_none() {
            return Err((
                line,
                format!("the command ends after {written}, which needs a value; it is truncated; copy it again"),
            ));
        }
        if let Some(word) = value.as_ref().filter(|_| !options::affects_only_output(option)) {
            self.note_substituted(word);
        }
        let value = value.map(|word| self.substitute_assigned(&word.text)).unwrap_or_default();
        let shown = value.to_display();
        if let Some(flag) = options::flag(option) {
            command.flags.push(flag);
            return Ok(());
        }
        match option {
            "--request" => command.method = Some(shown),
            "--url" => command.urls.push((line, value)),
            "--header" => self.header(command, line, value),
            "--data" | "--data-ascii" | "--data-binary" | "--json" => self.add_data(command, line, written, value),
            "--data-raw" => command.data.push(Data::Text(value)),
            "--data-urlencode" => command.data.extend(self.encoded(line, written, &value).map(Data::Text)),
            "--url-query" if value.leading_literal().starts_with('+') => command.query.push(value.skip_bytes(1)),
            "--url-query" => command.query.extend(self.encoded(line, written, &value)),
            "--form" => self.part(command, line, value, true),
            "--form-string" => self.part(command, line, value, false),
            "--user" => {
                let whole = shown.contains(':');
                if !whole {
                    self.note(line, written, "has no password, which curl would ask for; here the password is empty");
                }
                let mut both = value;
                both.push_str(if whole { "" } else { ":" });
                command.login = Some(both);
            }
            "--oauth2-bearer" => command.bearer = Some(value),
            "--basic" => command.flags.retain(|flag| *flag != "--digest"),
            "--aws-sigv4" => command.aws = Some(shown),
            "--user-agent" => command.user_agent = Some(value),
            "--referer" => command.referer = Some(shown.strip_suffix(";auto").map_or(value.clone(), Text::from)),
            "--range" => {
                let until = if shown.contains('-') { "" } else { "-" };
                command.headers.push(("Range".to_owned(), Text::from(format!("bytes={shown}{until}"))));
            }
            "--cookie" => self.add_cookies(command, line, value),
            "--upload-file" => {
                self.note_unknown_file(line, written, &value);
                command.upload = Some(shown);
            }
            "--location-trusted" => command.flags.push("--location"),
            "--max-redirs" => self.max_redirects(command, line, &shown),
            "--request-target" => command.target = Some(value),
            "--unix-socket" => command.socket = Some(shown),
            "--max-time" => self.response_timeout = time(&shown).max(self.response_timeout),
            "--connect-timeout" => self.connect_timeout = time(&shown).max(self.connect_timeout),
            "--insecure" => self.tls.insecure = true,
            "--cacert" => self.tls.roots = Some(shown.into()),
            "--cert" => command.own.0 = Some(shown),
            "--key" => command.own.1 = Some(shown),
            "--http2-prior-knowledge" => self.protocol = Protocol::Http2,
            "--proxy" => self.proxy(line, &shown),
            "--http1.1" => {}
            _ if options::affects_only_output(option) => {}
            _ if takes_value(option) => self.note(line, "", format!("{written} {shown}: not translated")),
            _ => self.note(line, "", format!("{written}: not translated")),
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

    fn max_redirects(&mut self, command: &mut CommandOptions, line: usize, value: &str) {
        let Some(most) = options::redirects(value) else { return };
        if most > Target::MOST_REDIRECTS {
            let message = format!("--max-redirs {value}: at most {} redirects are followed", Target::MOST_REDIRECTS);
            self.note(line, "", message);
        }
        command.max_redirects = most.min(Target::MOST_REDIRECTS);
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
            if command.has("--http2") {
                self.protocol = Protocol::Auto;
                if server.url().starts_with("http:") {
                    self.note(line, &element, "curl asks for a change to HTTP/2 (Upgrade: h2c); here HTTP/1.1 is sent");
                }
            }
            let mut request = self.request(&command, line, path);
            self.sign_in(&command, line, login, &mut request);
            let mut omitted = command.without.clone();
            // `-A ''` removes the header.
            if command.user_agent.as_ref().is_some_and(Text::is_empty) && request.header("User-Agent").is_none() {
                omitted.push("User-Agent".to_owned());
            }
            self.omitted.push(omitted);
            self.with_cookies += usize::from(command.has("--cookie-jar"));
            request.redirects = Some(if command.has("--location") { command.max_redirects } else { 0 });
            request.name = default_name(&request);
            self.requests.push(PlannedRequest { line, element, server, request });
        }
    }

    fn request(&mut self, command: &CommandOptions, line: usize, path: Text) -> Request {
        let mut path = if command.has("--path-as-is") { path } else { url::without_dots(&path) };
        if let Some(file) = command.upload.as_deref().filter(|file| !data::is_standard_input(file)) {
            url::add_file_name(&mut path, file);
        }
        let mut request = Request::new("get", encode_path(command.target.as_ref().unwrap_or(&path)));
        for (name, value) in &command.headers {
            if !request.add_header(name, value.clone()) {
                self.note(line, "", header_left_out(name));
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
        for part in &query {
            append_to_query(&mut request.path, part);
        }
        let mut kind = None;
        if !command.parts.is_empty() {
            body = Body::Multipart(command.parts.clone());
            // curl adds the boundary to a media type that the command gives.
            request.headers.retain(|(name, value)| {
                !name.eq_ignore_ascii_case("content-type")
                    || !value.leading_literal().starts_with("multipart/form-data")
            });
        } else if command.has("--json") {
            kind = Some("application/json");
        } else if body != Body::None {
            kind = Some("application/x-www-form-urlencoded");
        }
        request.method = match &command.method {
            Some(method) => {
                if method.bytes().any(|b| b.is_ascii_lowercase()) {
                    self.note(line, method, "is a method in lower case; here it is sent in upper case");
                }
                method.to_lowercase()
            }
            None if command.has("--head") => "head".to_owned(),
            None if command.upload.is_some() => "put".to_owned(),
            None if body != Body::None => "post".to_owned(),
            None => "get".to_owned(),
        };
        if let Some(file) = &command.upload {
            body = self.upload(command, line, file);
        }
        let of_flag = |flag: &str, value: &str| command.has(flag).then(|| Text::from(value));
        // curl sends its own header only if the command gives none of this name (`Curl_checkheaders`).
        for (name, value) in [
            ("Content-Type", kind.map(Text::from)),
            ("Accept", of_flag("--json", "application/json")),
            ("Accept-Encoding", of_flag("--compressed", "deflate, gzip, br, zstd")),
            ("User-Agent", command.user_agent.clone()),
            ("Referer", command.referer.clone()),
        ] {
            if let Some(value) = value.filter(|value| !value.is_empty() && request.header(name).is_none()) {
                request.headers.push((name.to_owned(), value));
            }
        }
        request.headers.retain(|(name, _)| !command.without.iter().any(|without| without.eq_ignore_ascii_case(name)));
        if command.upload.is_some() {
            self.note(line, "", "curl may send Expect: 100-continue before an upload; here it is not sent");
        } else if body == Body::None && ["post", "put", "patch"].contains(&request.method.as_str()) {
            self.note(line, "", "curl sends no Content-Length without a body; here it is 0");
        }
        request.body = body;
        request
    }

    /// Sets the authentication of the request; `login` has the name and the password of its URL, joined by a colon.
    fn sign_in(&mut self, command: &CommandOptions, line: usize, login: Option<Text>, request: &mut Request) {
        if request.header("Authorization").is_some() {
            return; // curl sends the header that the command gives
        }
        let login = command.login.clone().or(login);
        request.auth = match (&command.aws, &command.bearer, login) {
            (Some(provider), _, Some(login)) => self.aws(line, provider, &login, request),
            (_, Some(token), _) => Some(Auth::Bearer(token.template())),
            (_, _, Some(login)) if command.has("--digest") => Some(Auth::Digest(login.template())),
            (_, _, Some(login)) => Some(Auth::Basic(login.template())),
            (_, _, None) => None,
        };
    }

    /// The signature of `--aws-sigv4 aws:amz:REGION:SERVICE`.
    fn aws(&mut self, line: usize, provider: &str, login: &Text, request: &mut Request) -> Option<Auth> {
        let parts: Vec<&str> = provider.split(':').collect();
        let ["aws", _, region, service] = parts[..] else {
            let message = format!(
                "--aws-sigv4 {provider}: only aws:amz:REGION:SERVICE is translated; the request is not signed; set `auth.aws`"
            );
            self.note(line, "", message);
            return None;
        };
        let (access_key, secret_key) = login.split_once(':')?;
        let is_token = |name: &str| name.eq_ignore_ascii_case("x-amz-security-token");
        let token = request.headers.iter().position(|(name, _)| is_token(name)).map(|at| request.headers.remove(at).1);
        Some(Auth::Aws(Box::new(AwsAuth {
            region: region.to_owned(),
            service: service.to_owned(),
            access_key: access_key.template(),
            secret_key: secret_key.template(),
            token: token.map(|token| token.template()),
        })))
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

    /// The generator's own headers that the commands remove.
    fn omit_headers(&mut self) -> Vec<String> {
        let mut omit = Vec::new();
        for name in Target::OWN_HEADERS {
            let removed =
                self.omitted.iter().filter(|names| names.iter().any(|one| one.eq_ignore_ascii_case(name))).count();
            if removed == self.omitted.len() {
                omit.push(name.to_owned());
            } else if removed > 0 {
                self.note(0, "", format!("only some commands remove the header {name}; here all requests without this header send the default of the generator"));
            }
        }
        omit
    }

    fn into_request_list(mut self) -> RequestList {
        let omit = self.omit_headers();
        let followed = self.requests.iter().filter_map(|planned| planned.request.redirects).max().unwrap_or(0);
        for planned in &mut self.requests {
            planned.request.redirects = planned.request.redirects.filter(|own| *own != followed);
        }
        if self.with_cookies > 0 && self.with_cookies < self.requests.len() {
            self.note(0, "", "only some commands keep cookies (-b FILE, -c); here all requests keep them");
        }
        let mut target = default_target()
            .with_cookies(self.with_cookies > 0)
            .with_omit_headers(omit)
            .with_redirects(followed)
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
            targets: Targets::One(None),
            keep_flows: false,
            target,
            variables: self.variables,
            arrivals_default: DefaultArrivals::OnePerSecond,
            notes: self.notes,
        }
    }
}
